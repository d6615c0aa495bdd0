"""The command line: what it prints, where, and the status that it ends with."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from typer.testing import CliRunner

from triton_inprocess import _installer, runtime
from triton_inprocess.cli import doctor
from triton_inprocess.cli.app import app
from triton_inprocess.errors import NotFoundError, UnavailableError

VARIABLE = "TRITON_INPROCESS_RUNTIME"
RUNTIME = {"api_version": [1, 34], "missing_functions": [], "backend_directories": []}


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which no runtime is installed anywhere; its cache folder."""

    def not_installed(name: str) -> importlib.metadata.Distribution:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(runtime, "_SYSTEM_PREFIX", str(tmp_path / "opt"))
    monkeypatch.setattr(importlib.metadata, "distribution", not_installed)
    return tmp_path / "triton-inprocess" / "runtimes"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    # Wide enough for a path of any temporary folder, and without colours.
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("NO_COLOR", "1")
    return CliRunner()


def make_runtime(prefix: Path) -> Path:
    library = prefix / "lib" / "libtritonserver.so"
    library.parent.mkdir(parents=True)
    library.touch()
    return library


def test_path_prints_the_library_alone(bare_machine: Path, run: CliRunner) -> None:
    library = make_runtime(bare_machine / "0.7.0")
    result = run.invoke(app, ["runtime", "path"])
    assert (result.exit_code, result.stdout) == (0, f"{library}\n")


def test_path_without_a_runtime_says_what_mends_it(bare_machine: Path, run: CliRunner) -> None:
    result = run.invoke(app, ["runtime", "path"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: no Triton runtime was found")
    assert str(bare_machine) in result.stderr
    assert "python -m triton_inprocess runtime install" in result.stderr


def test_list_marks_the_runtime_in_use(
    bare_machine: Path, tmp_path: Path, run: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer = make_runtime(bare_machine / "0.6.0"), make_runtime(bare_machine / "0.7.0")
    assert run.invoke(app, ["runtime", "list"]).stdout.splitlines()[:2] == [
        f"* 0.7.0 {newer}  (fetched by runtime install)",
        f"  0.6.0 {older}  (fetched by runtime install)",
    ]
    chosen = make_runtime(tmp_path / "chosen")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "chosen"))
    assert run.invoke(app, ["runtime", "list"]).stdout.splitlines()[0] == f"* {chosen}  (${VARIABLE})"


@pytest.mark.usefixtures("bare_machine")
def test_list_without_a_runtime_tells_what_can_be_fetched(run: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    result = run.invoke(app, ["runtime", "list"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "no runtime is installed",
        "can be fetched: 0.7.0, 0.6.0, 0.5.0, 0.4.2, 0.3.1, 0.1.5",
    ]


@pytest.mark.usefixtures("bare_machine")
def test_list_with_a_wrong_environment_is_an_error(run: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere")
    result = run.invoke(app, ["runtime", "list"])
    assert result.exit_code == 1
    assert f"${VARIABLE}: '/nowhere' does not exist" in result.stderr


@pytest.mark.parametrize("fresh", [True, False])
def test_install_prints_the_folder_alone_on_standard_output(
    tmp_path: Path, run: CliRunner, fresh: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def install(version: str, destination: Path | None, report: _installer.Report) -> _installer.Installation:
        report("downloading [something]")
        asked.extend([version, destination])
        return _installer.Installation(version, tmp_path, fresh)

    monkeypatch.setattr(_installer, "install", install)
    result = run.invoke(app, ["runtime", "install", "--version", "0.6.0", "--dest", str(tmp_path)])
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path}\n")
    assert asked == ["0.6.0", tmp_path]
    assert ("already installed" in result.stderr) is not fresh
    assert "0.6.0" in result.stderr


def test_install_takes_the_default_version_into_the_cache(run: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def install(version: str, destination: Path | None, report: _installer.Report) -> _installer.Installation:
        asked.extend([version, destination])
        return _installer.Installation(version, Path("/somewhere"), True)

    monkeypatch.setattr(_installer, "install", install)
    assert run.invoke(app, ["runtime", "install"]).exit_code == 0
    assert asked == ["0.7.0", None]


@pytest.mark.parametrize("error", [UnavailableError("no pip"), PermissionError(13, "Permission denied", "/opt/x")])
def test_a_failed_install_is_one_message(run: CliRunner, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(_installer, "install", install)
    result = run.invoke(app, ["runtime", "install"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"error: {error}" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.usefixtures("bare_machine")
def test_install_refuses_an_unknown_version(run: CliRunner) -> None:
    result = run.invoke(app, ["runtime", "install", "--version", "6.6.6"])
    assert result.exit_code == 1
    assert "'6.6.6' is not a known runtime" in result.stderr
    assert "0.7.0" in result.stderr


@pytest.mark.usefixtures("bare_machine")
def test_doctor_without_a_runtime_is_red_and_says_what_mends_it(run: CliRunner) -> None:
    result = run.invoke(app, ["doctor"])
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert verdict_of("runtime", lines) == "bad"
    assert verdict_of("inference", lines) == "bad"
    assert "mend it with: python -m triton_inprocess runtime install" in result.stdout


@pytest.mark.usefixtures("bare_machine")
def test_doctor_with_a_wrong_environment_says_to_unset_it(run: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/nowhere")
    result = run.invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert f"mend it with: unset {VARIABLE}" in result.stdout


def test_doctor_shows_an_older_runtime_as_working(
    bare_machine: Path, tmp_path: Path, run: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = make_runtime(bare_machine / "0.7.0")
    backend = tmp_path / "backends" / "onnxruntime" / "libtriton_onnxruntime.so"
    backend.parent.mkdir(parents=True)
    backend.touch()
    older = {
        "api_version": [1, 17],
        "missing_functions": ["A", "B", "C", "D"],
        "backend_directories": [str(tmp_path / "backends")],
    }
    monkeypatch.setattr(doctor, "examine", lambda path: doctor.Examination(older, 0.25))
    result = run.invoke(app, ["doctor"])
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert any(str(library) in line for line in lines)
    assert verdict_of("C API", lines) == "good"
    assert any("C API" in line and "1.17" in line for line in lines)
    assert verdict_of("functions", lines) == "note"
    assert any("4 missing" in line and "A, B, C, ..." in line for line in lines)
    assert any("backends" in line and "onnxruntime" in line for line in lines)
    assert verdict_of("inference", lines) == "good"


@pytest.mark.parametrize("loaded", [None, RUNTIME])
def test_doctor_is_red_when_inference_fails(
    bare_machine: Path,
    run: CliRunner,
    loaded: dict[str, object] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_runtime(bare_machine / "0.7.0")
    monkeypatch.setattr(doctor, "examine", lambda path: doctor.Examination(loaded, None, "it [broke] down"))
    result = run.invoke(app, ["doctor"])
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert verdict_of("inference", lines) == "bad"
    assert verdict_of("C API", lines) == ("bad" if loaded is None else "good")
    assert "it [broke] down" in result.stdout
    remedy = f"rm -r {bare_machine / '0.7.0'} && python -m" if loaded is None else "pip install --force-reinstall"
    assert remedy in result.stdout


def test_doctor_is_red_when_the_process_dies_after_inference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = (
        "import os, json\n"
        "print('noise')\n"
        "print(json.dumps({'runtime': {}}))\n"
        "print(json.dumps({'milliseconds': 1.0}), flush=True)\n"
        "os.abort()"
    )
    monkeypatch.setattr(doctor, "_TRIAL", script)
    examination = doctor.examine(tmp_path)
    assert examination.milliseconds == 1.0
    assert examination.error is not None
    assert "SIGABRT" in examination.error


def test_doctor_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_TRIAL", "import time; time.sleep(600)")
    monkeypatch.setattr(doctor, "_TRIAL_SECONDS", 1)
    assert doctor.examine(tmp_path).error == "no answer within 1 seconds"


def test_doctor_names_a_file_that_is_no_library(tmp_path: Path) -> None:
    library = tmp_path / "libtritonserver.so"
    library.write_text("not a library")
    examination = doctor.examine(library)
    assert examination.runtime is None
    assert examination.error is not None
    assert str(library) in examination.error


def test_doctor_is_green_where_a_runtime_is_installed(run: CliRunner) -> None:
    try:
        library = runtime.find()
    except NotFoundError as error:
        pytest.skip(str(error))
    result = run.invoke(app, ["doctor"])
    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.output
    assert any(str(library) in line for line in lines)
    for subject in ("Python", "runtime", "C API", "own backend", "inference"):
        assert verdict_of(subject, lines) == "good", result.output


def test_the_module_shows_its_commands_and_names_the_missing_extra() -> None:
    helped = subprocess.run(
        [sys.executable, "-m", "triton_inprocess", "--help"], capture_output=True, text=True, check=True
    )
    assert all(word in helped.stdout for word in ("runtime", "doctor", "demo"))
    for extra in ("typer", "rich"):
        script = f"import sys; sys.modules[{extra!r}] = None; from triton_inprocess.__main__ import main; main()"
        outcome = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
        assert outcome.returncode == 1
        assert outcome.stderr == (f"the command line needs {extra}: python -m pip install 'triton-inprocess[cli]'\n")


def test_the_demo_names_the_missing_extra() -> None:
    script = (
        "import sys; sys.modules['sklearn'] = None; sys.argv = ['x', 'demo']; "
        "from triton_inprocess.__main__ import main; main()"
    )
    outcome = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert outcome.returncode == 1
    assert outcome.stderr == "the demo needs sklearn: python -m pip install 'triton-inprocess[demo]'\n"


def verdict_of(subject: str, lines: list[str]) -> str:
    (line,) = [line for line in lines if line.split(maxsplit=1)[1:] and line.split(maxsplit=1)[1].startswith(subject)]
    return line.split()[0]


@pytest.mark.usefixtures("bare_machine")
def test_doctor_tells_it_as_json(run: CliRunner) -> None:
    result = run.invoke(app, ["doctor", "--json"])
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert told["inference_works"] is False
    (finding,) = [each for each in told["findings"] if each["subject"] == "runtime"]
    assert (finding["verdict"], finding["remedy"]) == ("bad", "python -m triton_inprocess runtime install")
