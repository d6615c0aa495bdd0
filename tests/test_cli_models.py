"""`models`, `infer` and `bench` on the command line, with models of a module and of a repository."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import needs_cancel, write_identity, write_model

pytest.importorskip("typer")
pytest.importorskip("rich")

from click.testing import Result
from rich.console import Console
from typer.testing import CliRunner

from triton_inprocess.cli.app import app
from triton_inprocess.cli.levels_screen import LevelsScreen
from triton_inprocess.cli.load import Level, Load

MODELS = """
import numpy as np
import triton_inprocess as ti

def models(server):
    row = ("FP32", [-1])
    server.add_model(
        lambda x: x * 2, name="double", inputs={"x": row}, outputs={"y": row}, max_batch_size=8,
        batching=ti.Batching(),
    )
    def words(text):
        for word in text[0].split():
            yield np.array([word], object)
    server.add_model(words, name="words", inputs={"text": ("BYTES", [1])}, outputs={"word": ("BYTES", [1])})
    def fail(x):
        if x[0] == 7:
            raise ValueError("seven")
        return {"y": x, "z": x.sum(keepdims=True).astype(np.int32)}
    server.add_model(
        fail, name="picky", inputs={"x": ("FP32", [2])}, outputs={"y": ("FP32", [2]), "z": ("INT32", [1])}
    )
    calls = []
    def worn(x):
        calls.append(1)
        if len(calls) > 3:
            raise ValueError("worn out")
        return x
    server.add_model(worn, name="worn", inputs={"x": ("FP32", [2])}, outputs={"y": ("FP32", [2])})
"""

Run = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a folder with a module of models; it must not end in a traceback."""
    (tmp_path / "served.py").write_text(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "served", raising=False)

    def run(*arguments: str, module: str | None = "served:models", stdin: str | None = None) -> Result:
        result = CliRunner().invoke(app, [*arguments, *(["--from", module] if module else [])], input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


def test_models_of_a_module(run: Run) -> None:
    listed = run("models", "list")
    assert listed.exit_code == 0
    assert [line.split()[:3] for line in listed.stdout.splitlines()][1] == ["double", "1", "ready"]
    entries = json.loads(run("models", "list", "--json").stdout)
    assert {entry["name"]: entry["state"] for entry in entries} == dict.fromkeys(
        ("double", "picky", "words", "worn"), "READY"
    )
    assert json.loads(run("models", "config", "double").stdout)["max_batch_size"] == 8
    assert json.loads(run("models", "metadata", "picky").stdout)["inputs"] == [
        {"name": "x", "datatype": "FP32", "shape": [2]}
    ]
    (statistics,) = json.loads(run("models", "statistics", "double").stdout)["model_stats"]
    assert (statistics["name"], statistics["inference_count"]) == ("double", 0)


def test_models_of_a_repository(run: Run, tmp_path: Path, identity_backend: Path) -> None:
    models = tmp_path / "models"
    write_identity(models, "good")
    write_model(models, "broken", 'backend: "nowhere"\n')
    where = ("--model-repository", str(models), "--backend-directory", str(identity_backend))
    listed = run("models", "list", *where, module=None)
    assert listed.exit_code == 0
    assert listed.stdout.count("not loaded") == 2
    loaded = run("models", "list", "--load", "--json", *where, module=None)
    states = {entry["name"]: entry["state"] for entry in json.loads(loaded.stdout)}
    assert (loaded.exit_code, states["good"], states["broken"]) == (1, "READY", "UNAVAILABLE")
    answer = run("infer", "good", "-i", "INPUT0=[1, 2.5]", *where, module=None)
    assert answer.stdout == "OUTPUT0 (FP32, [2]): [1. , 2.5]\n"
    broken = run("infer", "broken", *where, module=None)
    assert broken.exit_code == 1
    assert broken.stderr.startswith("error: ")
    assert "nowhere" in broken.stderr


def test_infer_takes_values_files_and_the_standard_input(run: Run, tmp_path: Path) -> None:
    assert run("infer", "double", "-i", "x=[[1, 2]]").stdout == "y (FP32, [1, 2]): [[2., 4.]]\n"
    np.save(tmp_path / "x.npy", np.array([[3, 4]], np.float32))
    assert run("infer", "double", "--input", "x=@x.npy").stdout == "y (FP32, [1, 2]): [[6., 8.]]\n"
    (tmp_path / "x.json").write_text("[[5, 6]]")
    assert run("infer", "double", "--input", "x=@x.json").stdout == "y (FP32, [1, 2]): [[10., 12.]]\n"
    answer = run("infer", "picky", "--inputs", "-", "--json", "--request-id", "me", stdin='{"x": [1, 2]}')
    told = json.loads(answer.stdout)
    assert (told["model"], told["request_id"]) == ("picky", "me")
    assert told["outputs"]["z"] == {"datatype": "INT32", "shape": [1], "data": [3]}


def test_infer_prints_each_response_of_a_stream_and_writes_files(run: Run, tmp_path: Path) -> None:
    answer = run("infer", "words", "-i", r'text=["a \u00e9"]', "--json", "--output-folder", "out")
    assert [json.loads(line)["outputs"]["word"]["data"] for line in answer.stdout.splitlines()] == [["a"], ["é"]]
    assert [np.load(tmp_path / "out" / f"word.{number}.npy").tolist() for number in (1, 2)] == [[b"a"], ["é".encode()]]
    run("infer", "picky", "-i", "x=[1, 2]", "--output-folder", "out")
    assert np.load(tmp_path / "out" / "y.npy").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["infer", "nobody"], 1, "there is no model 'nobody'; there are: double, picky, words, worn"),
        (["infer", "picky", "-i", "x=[7, 1]"], 1, "ValueError: seven"),
        (["infer", "picky"], 1, "input 'x' of model 'picky' is missing"),
        (["infer", "picky", "-i", "x=seven"], 2, "--input x is not JSON"),
        (["infer", "picky", "-i", "x"], 2, "--input must be NAME=VALUE, not 'x'"),
        (["infer", "picky", "-i", "x=@none.npy"], 2, "none.npy cannot be read"),
        (["infer", "picky", "--inputs", "none.json"], 2, "none.json cannot be read"),
        (["infer", "picky", "--inputs", "-"], 2, "must hold a JSON object"),
        (["infer", "picky", "-p", "x"], 2, "--parameter must be NAME=VALUE"),
        (["bench", "double"], 2, "say one by --shape x=SIZE"),
        (["bench", "double", "--shape", "x=a"], 2, "--shape must be NAME=SIZE"),
        (["bench", "double", "--shape", "y=3"], 2, "the model has no input 'y'"),
        (["bench", "picky", "-b", "2"], 2, "model 'picky' takes no batches"),
        (["bench", "picky", "-c", "0"], 2, "--concurrency must be numbers from 1 on"),
        (["bench", "picky", "-i", "x=[7, 1]"], 1, "ValueError: seven"),
        (["bench", "picky", "--plot", "no/where.png"], 2, "--plot"),
    ],
)
def test_a_mistake_is_a_message_and_a_status(run: Run, arguments: list[str], status: int, message: str) -> None:
    result = run(*arguments, stdin="[]")
    assert (result.exit_code, message in " ".join(result.output.split())) == (status, True), result.output
    assert "Traceback" not in result.output


def test_no_models_to_work_with_is_a_mistake(run: Run) -> None:
    result = run("models", "list", module=None)
    assert result.exit_code == 2
    assert "give --model-repository, or --from module:name" in result.output


def test_bench_measures_each_load_and_batch_size(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    short = ("--seconds", "0.1", "--warm-up", "0", "--shape", "x=3")
    result = run("bench", "double", "-c", "1,4", "-b", "1,2", *short, "--json", "--plot", "levels.png")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert [(level["load"], level["batch_size"]) for level in told["levels"]] == [(1, 1), (4, 1), (1, 2), (4, 2)]
    for level in told["levels"]:
        assert level["requests"] > 0
        assert level["failures"] == 0
        assert 0 < level["p50_ms"] <= level["p90_ms"] <= level["p95_ms"] <= level["p99_ms"]
        assert level["inferences_per_second"] == pytest.approx(
            level["batch_size"] * level["requests"] / level["seconds"]
        )
    assert (tmp_path / "levels.png").read_bytes().startswith(b"\x89PNG")


def test_bench_counts_the_rows_of_given_inputs(run: Run) -> None:
    short = ("-i", "x=[[1], [2], [3]]", "-c", "1", "--seconds", "0.05", "--warm-up", "0")
    (level,) = json.loads(run("bench", "double", *short, "--json").stdout)["levels"]
    assert level["batch_size"] == 3
    result = run("bench", "double", *short, "-b", "2")
    assert (result.exit_code, "the inputs that were given have 3 rows" in result.output) == (2, True)


def test_bench_sends_at_a_rate(run: Run) -> None:
    result = run("bench", "picky", "--request-rate", "50", "--seconds", "0.2", "--warm-up", "0", "--json")
    (level,) = json.loads(result.stdout)["levels"]
    assert (level["requests"], level["load_kind"]) == (10, "requests per second sent")
    assert level["seconds"] > 0.17


def test_bench_of_a_model_that_fails_says_so(run: Run) -> None:
    result = run("bench", "worn", "-c", "1", "--seconds", "0.05", "--warm-up", "0")
    assert result.exit_code == 1
    assert "failed at 1 requests in flight: InternalError: ValueError: worn out" in result.stdout
    assert result.stdout.split("\n")[1].split()[:5] == ["in", "flight", "batch", "req/s", "inf/s"]
    assert [line.split()[:2] for line in result.stdout.splitlines() if line.strip()][2] == ["1", "1"]


def test_plot_without_matplotlib_is_said_before_anything_is_done(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for command in (["bench", "double"], ["demo"]):
        result = run(*command, "--plot", "x.png", module=None)
        assert (result.exit_code, result.stderr) == (
            1,
            "error: --plot needs matplotlib: python -m pip install matplotlib\n",
        )


@needs_cancel
def test_a_deadline_is_kept(run: Run, tmp_path: Path) -> None:
    (tmp_path / "served.py").write_text(
        "import time\ndef models(server):\n"
        "    server.add_model(lambda x: time.sleep(0.3) or x, name='slow', inputs={'x': ('FP32', [1])}, "
        "outputs={'y': ('FP32', [1])})\n"
    )
    result = run("infer", "slow", "-i", "x=[1]", "--deadline", "0.01")
    assert result.exit_code == 1
    assert "within the deadline of 0.01 s" in result.stderr


def test_the_table_grows_on_a_terminal() -> None:
    file = io.StringIO()
    screen = LevelsScreen("m[red]", Console(file=file, force_terminal=True, width=100), quiet=False)
    level = Level(Load(2, 4), seconds=2.0, latencies=[0.001] * 10)

    async def follow() -> None:
        following = asyncio.ensure_future(screen.follow(level))
        await asyncio.sleep(0)
        following.cancel()

    with screen:
        asyncio.run(follow())
        assert "   10 …" in file.getvalue()
        screen.add(level)
    last = file.getvalue().rpartition("model m[red]")[2]
    assert "…" not in last
    assert ["2", "4", "5", "20", "1.000"] in [line.split()[:5] for line in last.splitlines()]


def test_latencies_become_percentiles() -> None:
    level = Level(Load(2, 4), seconds=2.0, latencies=[each / 1000 for each in range(1, 101)])
    row = level.row()
    assert (row["requests_per_second"], row["inferences_per_second"]) == (50, 200)
    assert row["p50_ms"] == pytest.approx(50.5)
    assert row["p99_ms"] == pytest.approx(99.01)
    assert Level(Load(1, None)).row()["p50_ms"] is None


def test_completion_is_offered(run: Run) -> None:
    result = run("--help", module=None)
    assert "--install-completion" in result.stdout
