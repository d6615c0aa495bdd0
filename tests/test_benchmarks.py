"""The benchmarks: every measurement of every side, with few inferences, and what is made of the numbers."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import PROJECT, StartServer
from helpers_lifetime import wait_until

import triton_inprocess as ti
from benchmarks import __main__ as command
from benchmarks import environment, fresh_interpreters, memory, percentiles, soak, sync_calls
from benchmarks.artifacts import Artifacts
from benchmarks.errors import BenchmarkError
from benchmarks.floor_side import floor_program, floor_side
from benchmarks.line_process import LineProcess
from benchmarks.markdown import BEGIN, END, as_markdown, write_between_markers
from benchmarks.measurement import MEASUREMENTS, TIMES, Goal, Measurement, Quantity, Subject
from benchmarks.own_models import own_models
from benchmarks.peer_sides import PeerSides
from benchmarks.peers.client import Client
from benchmarks.peers.server_program import find_server_program
from benchmarks.peers.settings import Settings
from benchmarks.peers.table import PEERS
from benchmarks.report import as_document, goal_text
from benchmarks.repository import INPUT_NAME, LARGE_MODEL_NAME, MODEL_NAME, OUTPUT_NAME, write_repository
from benchmarks.results import Results, measure, steps
from benchmarks.target import Target

FEW = 40
NAMES = [measurement.name for measurement in MEASUREMENTS]
QUICK = [name for name in NAMES if name not in ("start", "import")]


@pytest.fixture
def benchmark_repository(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmark_models"
    folder.mkdir()
    write_repository(folder)
    return folder


@pytest.fixture
def floor(
    runtime: ti.runtime.Runtime, identity_backend: Path, benchmark_repository: Path
) -> Iterator[tuple[LineProcess, Subject]]:
    artifacts = Artifacts(identity_backend.parent)

    def start() -> LineProcess:
        return floor_program(artifacts, Path(runtime.path), benchmark_repository)

    with start() as program:
        yield program, floor_side(program, start)


@pytest.fixture
def own(start_server: StartServer, identity_backend: Path, benchmark_repository: Path) -> list[Subject]:
    server = start_server(model_repository=benchmark_repository, backend_directory=identity_backend)
    return own_models(server, benchmark_repository, identity_backend)


@pytest.fixture
def target(start_server: StartServer, identity_backend: Path, benchmark_repository: Path) -> Target:
    server = start_server(model_repository=benchmark_repository, backend_directory=identity_backend)
    return Target(server.model(MODEL_NAME), np.arange(16, dtype=np.float32), INPUT_NAME, OUTPUT_NAME)


def settings(repository: Path, backend_directory: Path, binding: str) -> Settings:
    return Settings(
        repository=str(repository),
        backend_directory=str(backend_directory),
        model_name=MODEL_NAME,
        large_model_name=LARGE_MODEL_NAME,
        input_name=INPUT_NAME,
        output_name=OUTPUT_NAME,
        server_program=None,
        binding=binding,
    )


def sequence(name: str, values: list[float]) -> Subject:
    """A side that yields these values for the measurement 'made', one each time."""
    pending = iter(values)
    return Subject(name, {"made": lambda _: (next(pending),)})


def made(base: list[float], ours: list[float], **measurement: str) -> Results:
    """What is made of these values, of which the first of each is the round that does not count."""
    what = Measurement("made", (Quantity("made up", TIMES, Goal(2.0)),), **measurement)  # type: ignore[arg-type]
    subjects = [sequence("base", base), sequence("ours", ours)]
    return measure(subjects, [what], repetitions=len(base) - 1, inferences=1, advance=lambda: None)


def made_environment(**fields: object) -> environment.Environment:
    values: dict[str, object] = {
        "command": "python -m benchmarks",
        "date": "2026-12-03",
        "processor": "a processor",
        "cores": 2,
        "system": "Linux",
        "python": "3.11",
        "numpy": "2.0",
        "package": "the source tree",
        "runtime": "/lib",
        "api_version": "1.34",
        "pinned_to_core": 0,
        "inferences": 1,
        "repetitions": 2,
    }
    return environment.Environment(**{**values, **fields})  # type: ignore[arg-type]


def test_every_side_can_do_every_measurement(floor: tuple[LineProcess, Subject], own: list[Subject]) -> None:
    assert set(floor[1].calls) == set(NAMES)
    assert set(own[0].calls) == set(NAMES)
    assert set(own[1].calls) == set(QUICK)


def test_measures_everything(floor: tuple[LineProcess, Subject], own: list[Subject]) -> None:
    subjects = [floor[1], *own]
    advanced: list[None] = []
    results = measure(subjects, MEASUREMENTS, repetitions=1, inferences=FEW, advance=lambda: advanced.append(None))
    assert len(advanced) == steps(subjects, MEASUREMENTS, 1) == 2 * (len(NAMES) * 2 + len(QUICK))
    for measurement, quantity in results.rows():
        for subject in subjects:
            cell = results.cell(subject.name, measurement, quantity)
            if measurement.name in subject.calls:
                assert cell is not None
                assert len(cell.values) == 1
                assert all(math.isfinite(value) and value > 0 for value in cell.values), (subject.name, quantity.title)
                assert (cell.comparison is None) == (subject.name == "floor")
            else:
                assert cell is None


def test_the_floor_says_what_is_wrong_and_goes_on(floor: tuple[LineProcess, Subject]) -> None:
    program = floor[0]
    for question, message in (
        ("latency", "got 'latency'; expected 'latency COUNT', 'rate IN_FLIGHT COUNT'"),
        ("latency 0", "COUNT is '0'; expected a whole number from 1 to"),
        ("rate 2000 1", "IN_FLIGHT is '2000'; expected a whole number from 1 to 1024"),
        ("threads x 1", "THREADS is 'x'; expected a whole number"),
        ("nothing 1", "got 'nothing 1'; expected"),
    ):
        with pytest.raises(BenchmarkError, match=re.escape(message)):
            program.ask(question)
        assert program.ask("latency 3")["count"] == 3


def test_a_program_that_ends_is_told_with_what_it_wrote(tmp_path: Path) -> None:
    ending = "import sys; print('no memory', file=sys.stderr); sys.exit(3)"
    with pytest.raises(BenchmarkError, match=r"(?s)the program ended with status 3:.*no memory"):
        LineProcess("the program", [sys.executable, "-c", ending])
    with pytest.raises(BenchmarkError, match="cannot start the program"):
        LineProcess("the program", [tmp_path / "none"])


def test_a_program_that_ends_in_between(tmp_path: Path) -> None:
    code = "print('{}', flush=True); input(); raise SystemExit(4)"
    with LineProcess("the program", [sys.executable, "-c", code]) as program:
        assert program.ready == {}
        with pytest.raises(BenchmarkError, match="status 4"):
            program.ask("go")


def test_a_model_that_answers_with_something_else_is_not_measured(server: ti.Server) -> None:
    spec = {"x": (np.float32, (-1,))}
    model = server.add_model(lambda x: x + 1, name="other", inputs=spec, outputs={"y": (np.float32, (-1,))})
    with pytest.raises(BenchmarkError, match="'other' does not answer with its input"):
        Target(model, np.zeros(3, np.float32), "x", "y").check()


def inferences(target: Target) -> int:
    """Counted a moment after the answer."""
    return int(target.model.statistics()["model_stats"][0]["inference_count"])


def test_threads_share_the_inferences(target: Target) -> None:
    sync_calls.in_threads(target, 4, 10)
    wait_until(lambda: inferences(target) == 10)


def test_submissions_are_all_answered(target: Target) -> None:
    assert sync_calls.submit(target, 300) > 0
    wait_until(lambda: inferences(target) == 300)


def test_percentiles() -> None:
    values = [float(number) for number in range(1000, 0, -1)]
    assert percentiles.tail_of(values) == (501.0, 991.0, 1000.0, 1000.0 / 501.0)
    assert percentiles.tail_of([2.0]) == (2.0, 2.0, 2.0, 1.0)


def test_ratios_are_those_of_the_same_repetition() -> None:
    results = made([99.0, 1.0, 10.0, 100.0], [99.0, 2.0, 10.0, 50.0])
    *_, cell = results.cells()
    assert cell.compared == [2.0, 1.0, 0.5]
    assert cell.summary.median == 10.0
    assert cell.comparison is not None
    assert (cell.comparison.median, cell.comparison.minimum, cell.comparison.maximum) == (1.0, 0.5, 2.0)


def test_differences() -> None:
    results = made([9.0, 1.0, 2.0], [9.0, 4.0, 4.0], comparison="difference")
    *_, cell = results.cells()
    assert cell.compared == [3.0, 2.0]
    assert goal_text(cell) == "at most + 2: missed"


@pytest.mark.parametrize(("ours", "verdict"), [(2.0, "reached"), (2.5, "missed")])
def test_goals(ours: float, verdict: str) -> None:
    *_, cell = made([1.0, 1.0], [1.0, ours]).cells()
    assert goal_text(cell) == f"at most x 2: {verdict}"


def test_fewer_inferences_of_what_is_slower() -> None:
    measurement = Measurement("made", (), divisor=10)
    assert measurement.count(1000, Subject("ours", {})) == 100
    assert measurement.count(1000, Subject("slow", {}, slowness=20)) == 5
    assert measurement.count(1, Subject("slow", {}, slowness=20)) == 1


def test_the_document_holds_every_value() -> None:
    document = as_document(made([9.0, 1.0, 2.0], [9.0, 4.0, 4.0]), made_environment())
    assert json.loads(json.dumps(document)) == document
    assert document["environment"]["command"] == "python -m benchmarks"
    first, second = document["results"]
    assert (first["subject"], first["values"], first["comparison"]) == ("base", [1.0, 2.0], None)
    assert second["comparison"] == {"kind": "ratio", "median": 3.0, "minimum": 2.0, "maximum": 4.0}


def test_markdown_replaces_what_is_between_the_markers(tmp_path: Path) -> None:
    text = as_markdown(made([9.0, 1.0, 2.0], [9.0, 4.0, 4.0]), made_environment(), goals_of="ours")
    assert (
        "| made up (x) | 1.50 (1.00-2.00) | 4.00 (4.00-4.00)<br>**x 3.00** (2.00-4.00) | at most x 2: missed |" in text
    )
    assert "`python -m benchmarks`" in text
    file = tmp_path / "page.md"
    file.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    for _ in range(2):
        write_between_markers(file, text)
    assert file.read_text(encoding="utf-8") == f"before\n{BEGIN}\n\n{text}\n{END}\nafter\n"


def test_goals_are_for_pinned_runs() -> None:
    results = made([9.0, 1.0], [9.0, 4.0])
    assert "missed" in as_markdown(results, made_environment(), goals_of="ours")
    assert "missed" not in as_markdown(results, made_environment(pinned_to_core=None), goals_of="ours")


def test_markdown_needs_the_markers(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    for text in ("", BEGIN, f"{END} {BEGIN}"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(BenchmarkError, match="expected a line"):
            write_between_markers(file, "text")
        assert file.read_text(encoding="utf-8") == text
    with pytest.raises(BenchmarkError, match="No such file"):
        write_between_markers(tmp_path / "none.md", "text")


def test_the_page_has_the_markers() -> None:
    text = (PROJECT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert 0 < text.index(BEGIN) < text.index(END)


def test_whether_the_package_is_installed(tmp_path: Path) -> None:
    assert environment.package(tmp_path) == f"the source tree at {tmp_path}"


def test_the_processor(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("flags : a\nmodel name\t: Fast One\nmodel name\t: Fast One\n", encoding="utf-8")
    assert environment.processor(file) == "Fast One"
    assert environment.processor(tmp_path / "none") == os.uname().machine


def test_a_fresh_interpreter_that_fails() -> None:
    with pytest.raises(BenchmarkError, match=r"(?s)status 1.*no_such_module"):
        fresh_interpreters.import_seconds("no_such_module")


def test_fresh_interpreters_keep_what_they_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "compiled_once.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert fresh_interpreters.import_seconds("compiled_once") > 0
    assert list((tmp_path / "__pycache__").iterdir())


def test_slope() -> None:
    assert memory.slope([1, 2, 3], [10, 14, 18]) == pytest.approx(4.0)
    assert memory.slope([10, 20, 30], [5, 5, 5]) == 0
    with pytest.raises(ValueError, match="two places"):
        memory.slope([1], [1])


def test_resident_memory_of_this_process() -> None:
    before = memory.resident_bytes(os.getpid())
    block = np.ones(32 << 20, dtype=np.uint8)
    assert memory.resident_bytes(os.getpid()) - before > block.nbytes / 2


def test_growth_is_told_beside_the_floor() -> None:
    taken: list[bytearray] = []
    leaking = soak.Kind("leaking", os.getpid(), lambda count: taken.extend(bytearray(100_000) for _ in range(count)))
    leak = soak.soak(leaking, 500, lambda: None)
    assert len(taken) == leak.requests[-1] == 500
    assert leak.bytes_per_request == pytest.approx(100_000, rel=0.2)
    floor = soak.Growth("floor", list(range(1, 26)), [1000 * number for number in range(25)])
    assert soak.excess([floor, leak]) == {"leaking": leak.bytes_per_request - 1000.0}


def test_soaks(identity_backend: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "soak.json"
    words = ["--requests", "100", "--no-pin", "--json", str(file), "--build-directory", str(identity_backend.parent)]
    assert soak.main(words) == 0
    kinds = {entry["kind"]: entry for entry in json.loads(file.read_text(encoding="utf-8"))}
    assert set(kinds) == {"floor", "sync", "asyncio", "refused"}
    assert all(resident > 1 << 20 for entry in kinds.values() for resident in entry["resident"])
    assert "asyncio" in capsys.readouterr().out


def test_soak_fails_at_the_limit(
    identity_backend: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter(range(0, 10**9, 4096))
    monkeypatch.setattr(soak, "resident_bytes", lambda _: next(sizes))
    words = ["--requests", "25", "--no-pin", "--kinds", "sync", "--build-directory", str(identity_backend.parent)]
    assert soak.main([*words, "--limit", "5000"]) == 0
    assert soak.main([*words, "--limit", "4000"]) == 1
    assert "'sync' grows by 4096.000 bytes per request" in capsys.readouterr().err


def test_the_command(
    identity_backend: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--inferences", "20", "--repetitions", "1", "--only", "result", "async.*", "--peers", "--no-pin"]
    file = tmp_path / "results.json"
    words += ["--json", str(file), "--build-directory", str(identity_backend.parent)]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    assert command.main() == 0
    document = json.loads(file.read_text(encoding="utf-8"))
    assert {entry["measurement"] for entry in document["results"]} == {"result", "async.1", "async.16", "async.64"}
    assert shlex.join(["python", "-m", "benchmarks", *words]) in capsys.readouterr().out
    assert document["environment"]["missing_peers"] == {}


def test_the_command_says_what_is_wrong(identity_backend: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = ["--build-directory", str(identity_backend.parent)]
    assert command.main([*built, "--no-pin", "--only", "resalt"]) == 1
    assert "--only resalt: there is no such measurement; expected one of result, iterator" in capsys.readouterr().err
    assert command.main([*built, "--pin", "4096"]) == 1
    assert "--pin 4096: this process may use the cores" in capsys.readouterr().err


def test_a_plot_needs_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.plot import write_plot

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BenchmarkError, match="pip install matplotlib"):
        write_plot(made([9.0, 1.0], [9.0, 4.0]), "title", tmp_path / "plot.png")


def test_a_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from benchmarks.plot import write_plot

    write_plot(made([9.0, 1.0, 2.0], [9.0, 4.0, 4.0]), "title", tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_peers_that_are_not_installed_are_named(benchmark_repository: Path, identity_backend: Path) -> None:
    nothing = settings(benchmark_repository, identity_backend, binding="no_such_binding")
    with PeerSides(Path(sys.executable), nothing, ["tritonserver"]) as peers:
        assert peers.subjects == []
        assert "no_such_binding" in peers.missing["tritonserver"]


@pytest.mark.needs("TRITONBACKEND_RequestIsCancelled")  # for which only our own forwarder stands in
def test_a_peer_is_measured_in_its_own_process(benchmark_repository: Path, identity_backend: Path) -> None:
    """This package stands in for `tritonserver`, whose names it has."""
    binding = settings(benchmark_repository, identity_backend, binding="triton_inprocess")
    with PeerSides(Path(sys.executable), binding, ["tritonserver"]) as peers:
        assert peers.missing == {}
        (peer,) = peers.subjects
        assert set(peer.calls) == {"result", "percentiles", "large", "async.1", "async.16", "async.64"}
        for name, call in peer.calls.items():
            numbers = list(call(4))
            assert len(numbers) == (4 if name == "percentiles" else 1)
            assert all(number > 0 for number in numbers)


def test_what_a_peer_cannot_do_is_told() -> None:
    def fail(_: object) -> object:
        raise MemoryError("too large")

    client = Client(lambda array: array, fail)
    client.check()
    assert client.lacking == {"large": "MemoryError: too large"}
    assert set(client.calls()) == {"result", "percentiles"}


def test_a_peer_that_answers_wrongly_is_not_measured() -> None:
    with pytest.raises(RuntimeError, match="does not answer with its input"):
        Client(lambda array: array + 1, lambda array: array).check()


def test_the_server_program_beside_a_runtime(tmp_path: Path) -> None:
    library = tmp_path / "nvidia_pytriton.libs" / "libtritonserver.so"
    program = tmp_path / "pytriton" / "tritonserver" / "bin" / "tritonserver"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o644)
    assert find_server_program(library) is None  # it cannot be run
    program.chmod(0o755)
    assert find_server_program(library) == program


def test_the_table_of_peers() -> None:
    assert set(PEERS) == {"tritonserver", "http", "grpc", "pytriton"}
