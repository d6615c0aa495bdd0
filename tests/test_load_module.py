"""load_module: the models that a module names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import answer
from helpers_functions import array

import triton_inprocess as ti

CODE = """
import numpy as np
import triton_inprocess as ti

def models(server):
    spec = {"x": (np.float32, (-1,))}
    server.add_model(lambda x: x, name="echo", inputs=spec, outputs={"y": (np.float32, (-1,))})

class Holder:
    models = staticmethod(models)

def broken(server):
    global made
    made = server
    raise RuntimeError("boom")

def wrong():
    pass

number = 5
server = ti.Server()
"""


@pytest.fixture
def module(runtime: ti.runtime.Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module of models."""
    (tmp_path / "models_of_a_test.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    yield "models_of_a_test"
    sys.modules.pop("models_of_a_test", None)


@pytest.mark.parametrize("name", ["models", "Holder.models"])
def test_a_function_adds_its_models(module: str, name: str) -> None:
    with ti.load_module(f"{module}:{name}") as server:
        assert answer(server.model("echo"), x=array(1)).tolist() == [1]


def test_a_server_of_the_callers_is_taken(module: str) -> None:
    mine = ti.Server()
    with ti.load_module(f"{module}:models", mine) as server:
        assert server is mine
        assert answer(server.model("echo"), x=array(1)).tolist() == [1]


def test_a_server_is_started(module: str) -> None:
    with ti.load_module(f"{module}:server") as server:
        assert server.live()
        with pytest.raises(ti.InvalidArgumentError, match="is a Server, which takes no models of another one"):
            ti.load_module(f"{module}:server", ti.Server())


def test_a_function_that_raises_leaves_no_server(module: str) -> None:
    with pytest.raises(RuntimeError, match="boom"):
        ti.load_module(f"{module}:broken")
    with pytest.raises(ti.UnavailableError, match="stopped"):
        sys.modules[module].made.live()


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        (5, TypeError, "target must be a str, not int"),
        ("module", ti.InvalidArgumentError, "the target must be module:name, not 'module'"),
        ("no_such_module:x", ti.InvalidArgumentError, "there is no module 'no_such_module'"),
        ("models_of_a_test:none", ti.InvalidArgumentError, "module 'models_of_a_test' has no 'none'"),
        ("models_of_a_test:number", ti.InvalidArgumentError, "neither a Server nor a function, but a int"),
        ("models_of_a_test:wrong", ti.InvalidArgumentError, "must take one argument, the Server to add models to"),
    ],
)
@pytest.mark.usefixtures("module")
def test_what_is_wrong_with_a_target_is_said(target: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ti.load_module(target)
