"""What is published: what the checks of it find, and that its workflows run what a person can run."""

from __future__ import annotations

import importlib
import io
import os
import re
import tarfile
import types
import zipfile
from pathlib import Path

import pytest
from conftest import PROJECT

from triton_inprocess import _native

TOOLS = PROJECT / "tools"
WORKFLOWS = sorted((PROJECT / ".github" / "workflows").glob("*.yml"))
NATIVE = Path(str(_native.__file__))
MODULE = "triton_inprocess/_native.abi3.so"
FORWARDER = "triton_inprocess/libtriton_forwarder.so"

needs_tools = pytest.mark.skipif(not TOOLS.exists(), reason="the tools are in the project's folder alone")
needs_workflows = pytest.mark.skipif(not WORKFLOWS, reason="the workflows are in the repository alone")


@pytest.fixture
def check_wheel(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("check_wheel")


@pytest.fixture
def wheel_tests(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("wheel_tests")


def write_wheel(path: Path, changes: dict[str, bytes | None]) -> Path:
    """A wheel with all that must be in there, and the changes; what is None is left out."""
    files = {
        "triton_inprocess/__init__.py": b"",
        "triton_inprocess/py.typed": b"",
        "triton_inprocess/_native.pyi": b"",
        MODULE: NATIVE.read_bytes(),
        FORWARDER: NATIVE.with_name("libtriton_forwarder.so").read_bytes(),
        "triton_inprocess-0.1.0.dist-info/licenses/LICENSE": b"",
        "triton_inprocess-0.1.0.dist-info/METADATA": b"",
        **changes,
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            if content is not None:
                archive.writestr(name, content)
    return path


@needs_tools
def test_a_good_wheel_is_well(check_wheel: types.ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_wheel(tmp_path / "good.whl", {})
    monkeypatch.setattr(check_wheel, "LIMIT", path.stat().st_size + 1)  # it is not compressed
    assert check_wheel.faults_of(path) == []
    monkeypatch.setattr(check_wheel, "LIMIT", path.stat().st_size)
    (fault,) = check_wheel.faults_of(path)
    assert "is the limit" in fault


@needs_tools
@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"triton_inprocess/py.typed": None}, "it lacks triton_inprocess/py.typed"),
        ({"triton_inprocess/_native.pyi": None}, "it lacks triton_inprocess/_native.pyi"),
        ({"triton_inprocess-0.1.0.dist-info/licenses/LICENSE": None}, "it lacks the licence"),
        ({"strange.py": b""}, "it installs something outside the package: strange.py"),
        ({FORWARDER: None}, "the native module and the forwarder not once each"),
        ({MODULE: NATIVE.with_name("libtriton_forwarder.so").read_bytes()}, f"{MODULE} shows no init function"),
        ({FORWARDER: NATIVE.read_bytes()}, f"{FORWARDER} shows PyInit__native"),
        ({"triton_inprocess/libtritonserver.so": b""}, "not ours: triton_inprocess/libtritonserver.so"),
        ({"triton_inprocess.libs/libstdc++.so.6": b""}, "not ours: triton_inprocess.libs/libstdc++.so.6"),
    ],
    ids=range(9),
)
def test_a_wrong_wheel_is_found_out(
    check_wheel: types.ModuleType, tmp_path: Path, changes: dict[str, bytes | None], fault: str
) -> None:
    assert any(fault in each for each in check_wheel.faults_of(write_wheel(tmp_path / "wrong.whl", changes)))


@needs_tools
def test_the_lowest_numpy_is_not_below_the_requirement(wheel_tests: types.ModuleType) -> None:
    def version(text: str) -> tuple[int, ...]:
        return tuple(map(int, text.split(".")))

    project = wheel_tests.requirements.load_project()
    (required,) = [each for each in project["project"]["dependencies"] if each.startswith("numpy")]
    floor = version(required.removeprefix("numpy>="))
    assert floor == version(min(wheel_tests.LOWEST_NUMPY.values(), key=version))[: len(floor)]


@needs_tools
def test_a_python_that_is_not_here_is_refused(wheel_tests: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"3.10": "/a", "3.12": "/b", "3.13": "/c"}
    monkeypatch.setattr(wheel_tests.pythons, "interpreters", lambda: here)
    assert wheel_tests.chosen_pythons(None) == here
    assert wheel_tests.chosen_pythons("3.13,3.10") == {"3.13": "/c", "3.10": "/a"}
    with pytest.raises(SystemExit, match=r"Python 3\.11: not on this machine, which has 3\.10, 3\.12, 3\.13"):
        wheel_tests.chosen_pythons("3.10,3.11")


@needs_tools
def test_one_wheel_is_tested_and_no_other(wheel_tests: types.ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="has 0 wheels for this machine"):
        wheel_tests.wheel_in(tmp_path)
    machine = wheel_tests.platform.machine()
    wheel = tmp_path / f"triton_inprocess-1.0.0-cp310-abi3-manylinux_2_28_{machine}.whl"
    wheel.touch()
    (tmp_path / "triton_inprocess-1.0.0-cp310-abi3-manylinux_2_28_other.whl").touch()
    assert wheel_tests.wheel_in(tmp_path) == wheel


@needs_tools
def test_sources_have_the_times_of_their_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(TOOLS)
    release = importlib.import_module("release")
    monkeypatch.setattr(release, "FOLDER", tmp_path / "build")

    def unpack(**files: str) -> Path:
        with tarfile.open(tmp_path / "sources.tar.gz", "w:gz") as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(f"triton_inprocess-1.0.0/{name}")
                member.size, member.mtime = len(content), 1_000_000_000
                archive.addfile(member, io.BytesIO(content.encode()))
        return release.unpack(tmp_path / "sources.tar.gz")

    folder = unpack(same="a", changed="b", gone="c")
    for file in folder.iterdir():
        os.utime(file, (2_000_000_000, 2_000_000_000))
    assert unpack(same="a", changed="B", new="d") == folder
    assert {file.name: file.read_text() for file in folder.iterdir()} == {"same": "a", "changed": "B", "new": "d"}
    times = {file.name: file.stat().st_mtime for file in folder.iterdir()}
    assert times["same"] == 2_000_000_000
    assert 1_000_000_000 not in times.values()
    assert 2_000_000_000 not in (times["changed"], times["new"])


@needs_workflows
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(workflow: Path) -> None:
    used = re.findall(r"^ *(?:- )?uses: (.*)$", workflow.read_text(), re.MULTILINE)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


@needs_workflows
def test_workflows_run_targets_that_there_are() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    assert phony
    targets = set(phony[1].replace("\\\n", " ").split())
    text = "\n".join(path.read_text() for path in WORKFLOWS)
    used = set(re.findall(r"run: make ([\w-]+)", text))
    (matrix,) = re.findall(r"target: \[(.*)\]", text)
    assert {"sdist", "check-wheel", "test-wheel"} <= used
    assert used | set(matrix.split(", ")) <= targets
    nightly = re.search(r"^nightly: (.*)$", makefile, re.MULTILINE)
    assert nightly
    assert sorted(nightly[1].split()) == sorted(matrix.split(", "))


@needs_workflows
def test_one_version_of_each_action() -> None:
    pins = set()
    for workflow in WORKFLOWS:
        pins |= set(re.findall(r"uses: ([^\s@]+)@(\w+)", workflow.read_text()))
    assert len({name for name, _ in pins}) == len(pins)
