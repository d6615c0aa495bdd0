"""``serve`` on the command line, as a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

pytest.importorskip("typer")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

MODELS = """
import numpy as np
import triton_inprocess as ti

vector = {"x": (np.float32, (-1,))}

def models(server):
    server.add_model(lambda x: x, name="echo", inputs=vector, outputs={"y": vector["x"]})

def wrong():
    pass

server = ti.Server()
number = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(MODELS)
    return tmp_path


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the URL at which it serves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "triton_inprocess", "serve", "--http", "0", *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"serving at (\S+)", line):
                yield process, found[1]
                break
        else:
            raise AssertionError("it did not serve")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_function_s_models_are_served_until_a_signal(folder: Path, number: signal.Signals) -> None:
    with served(folder, "app:models") as (process, url):
        with urlopen(f"{url}/v2/models/echo", timeout=20) as answer:
            assert b'"echo"' in answer.read()
        process.send_signal(number)
        output = process.communicate(timeout=30)[1]
        assert process.returncode == 0
        assert '"GET /v2/models/echo" 200' in output


@pytest.mark.usefixtures("runtime")
def test_a_server_is_served(folder: Path) -> None:
    with served(folder, "app:server", "--no-access-log") as (process, url):
        with urlopen(f"{url}/v2", timeout=20) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        assert "GET" not in process.communicate(timeout=30)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give module:name, or --model-repository"),
        (["app"], "must be module:name"),
        (["none:models"], "there is no module"),
        (["app:none"], "has no 'none'"),
        (["app:number"], "neither a Server nor a function"),
        (["app:wrong"], "must take one argument"),
        (["app:models", "--http", "x"], "http must be"),
        (["app:models", "--engine", "x"], "engine must be"),
        (["app:models", "--grpc", "0"], "grpc needs the package tritonfrontend|allow_shared_memory"),
        (["app:models", "--allow-model-upload"], "allow_model_upload needs"),
        (["app:models", "--token-file", "none"], "none"),
    ],
)
@pytest.mark.usefixtures("runtime")
def test_wrong_targets_are_named(
    folder: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from triton_inprocess.cli.app import app

    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "app", raising=False)
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        result = CliRunner().invoke(app, ["serve", *arguments])
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    assert result.exit_code in (1, 2)
    assert re.search(message, result.output)
