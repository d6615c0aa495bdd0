"""Where a runtime is looked for, in which order, and what is said when there is none."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from triton_inprocess import _native, runtime
from triton_inprocess.errors import InvalidArgumentError, NotFoundError

VARIABLE = "TRITON_INPROCESS_RUNTIME"


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no runtime is installed anywhere."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(runtime, "_SYSTEM_PREFIX", str(tmp_path / "opt" / "tritonserver"))
    real = importlib.metadata.distribution

    def no_wheel(name: str) -> importlib.metadata.Distribution:
        found = real(name)
        if name == "nvidia-pytriton" and not Path(str(found.locate_file(""))).is_relative_to(tmp_path):
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(importlib.metadata, "distribution", no_wheel)


def make_system_prefix(prefix: Path) -> Path:
    for name in ("lib", "backends", "caches", "repoagents"):
        (prefix / name).mkdir(parents=True)
    library = prefix / "lib" / "libtritonserver.so"
    library.touch()
    return library


def make_unpacked_wheel(prefix: Path) -> Path:
    for name in ("backends", "caches"):
        (prefix / "pytriton" / "tritonserver" / name).mkdir(parents=True)
    library = prefix / "nvidia_pytriton.libs" / "libtritonserver-0123abcd.so"
    library.parent.mkdir()
    library.touch()
    return library


def make_fetched(tmp_path: Path, version: str) -> Path:
    return make_unpacked_wheel(tmp_path / "cache" / "triton-inprocess" / "runtimes" / version)


def make_installed_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    library = make_unpacked_wheel(site)
    (site / "pytriton" / "__init__.py").write_text("raise AssertionError('pytriton was imported')")
    information = site / "nvidia_pytriton-0.5.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-pytriton\nVersion: 0.5.0\n")
    monkeypatch.syspath_prepend(str(site))
    return library


def test_each_place_gives_way_to_the_one_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_installed_wheel(tmp_path, monkeypatch)
    assert runtime.find() == wheel
    fetched = make_fetched(tmp_path, "0.7.0")
    assert runtime.find() == fetched
    system = make_system_prefix(tmp_path / "opt" / "tritonserver")
    assert runtime.find() == system
    from_environment = make_system_prefix(tmp_path / "environment")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "environment"))
    assert runtime.find() == from_environment
    given = make_system_prefix(tmp_path / "given")
    assert runtime.find(tmp_path / "given") == given


def test_the_newest_fetched_version_comes_first_and_unfinished_ones_are_no_versions(tmp_path: Path) -> None:
    make_fetched(tmp_path, "0.9.0")
    newest = make_fetched(tmp_path, "0.10.0")
    make_fetched(tmp_path, ".0.11.0.installing-abcd")
    assert runtime.find() == newest
    assert [each.version for each in runtime.installed()] == ["0.10.0", "0.9.0"]


def test_the_wheel_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_installed_wheel(tmp_path, monkeypatch)
    assert runtime.installed() == (runtime.InstalledRuntime("installed nvidia-pytriton wheel", library, "0.5.0"),)
    assert "pytriton" not in sys.modules


@pytest.mark.parametrize("make", [make_system_prefix, make_unpacked_wheel])
@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_or_a_prefix_may_be_given(
    tmp_path: Path,
    make: Callable[[Path], Path],
    kind: Callable[[Path], str | Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library = make(tmp_path / "prefix")
    assert runtime.find(kind(library)) == library
    assert runtime.find(kind(tmp_path / "prefix")) == library
    monkeypatch.setenv(VARIABLE, str(library))
    assert runtime.find() == library


def test_a_library_folder_named_lib64_will_do(tmp_path: Path) -> None:
    library = make_system_prefix(tmp_path / "prefix")
    library.parent.rename(tmp_path / "prefix" / "lib64")
    assert runtime.find(tmp_path / "prefix") == tmp_path / "prefix" / "lib64" / "libtritonserver.so"


def test_symbolic_links_are_followed(tmp_path: Path) -> None:
    library = make_system_prefix(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    assert runtime.find(tmp_path / "link") == library


@pytest.mark.parametrize("given", ["missing", "empty", "empty/../missing/lib"])
def test_a_given_path_without_a_library_is_an_error_at_once(tmp_path: Path, given: str) -> None:
    make_fetched(tmp_path, "0.7.0")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotFoundError, match="path: ") as caught:
        runtime.find(tmp_path / given)
    assert str(tmp_path / given) in str(caught.value)
    assert "libtritonserver.so" in str(caught.value)


def test_an_environment_without_a_library_is_an_error_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_fetched(tmp_path, "0.7.0")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    looks: list[Callable[[], object]] = [runtime.find, runtime.installed]
    for look in looks:
        with pytest.raises(NotFoundError) as caught:
            look()
        assert f"${VARIABLE}" in str(caught.value)
        assert f"'{tmp_path / 'missing'}' does not exist" in str(caught.value)


def test_an_empty_environment_variable_counts_as_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_fetched(tmp_path, "0.7.0")
    monkeypatch.setenv(VARIABLE, "")
    assert runtime.find() == library


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(NotFoundError, match="path: ''"):
        runtime.find("")


@pytest.mark.parametrize("given", [7, b"/opt/tritonserver", ["a"]])
def test_a_path_of_the_wrong_type_is_refused(given: object) -> None:
    with pytest.raises(TypeError, match=f"path: .*{type(given).__name__}"):
        runtime.find(given)  # type: ignore[arg-type]


def test_two_libraries_in_one_prefix_are_refused(tmp_path: Path) -> None:
    library = make_unpacked_wheel(tmp_path / "prefix")
    library.with_name("libtritonserver-4567cdef.so").touch()
    with pytest.raises(InvalidArgumentError, match=r"0123abcd\.so.*4567cdef\.so"):
        runtime.find(tmp_path / "prefix")
    assert runtime.find(library) == library


def test_the_error_lists_each_place_and_the_command_that_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native, "loaded_runtime", lambda: None)
    with pytest.raises(NotFoundError) as caught:
        runtime.load()
    message = str(caught.value)
    places = [
        f"${VARIABLE}: not set",
        f"{tmp_path / 'opt' / 'tritonserver'} (where Triton's containers have it): does not exist",
        f"{tmp_path / 'cache' / 'triton-inprocess' / 'runtimes'} (fetched by runtime install): does not exist",
        "installed nvidia-pytriton wheel: not installed in this environment",
        "python -m triton_inprocess runtime install",
    ]
    positions = [message.index(place) for place in places]
    assert positions == sorted(positions)


def test_places_that_exist_and_hold_no_library_are_named_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "opt" / "tritonserver").mkdir(parents=True)
    make_fetched(tmp_path, "0.7.0").unlink()
    make_installed_wheel(tmp_path, monkeypatch).unlink()
    with pytest.raises(NotFoundError) as caught:
        runtime.find()
    for place in ("opt/tritonserver", "cache/triton-inprocess/runtimes/0.7.0", "site"):
        assert any(
            str(tmp_path / place) in line and line.endswith("holds no libtritonserver")
            for line in str(caught.value).splitlines()
        )


def test_the_cache_folder_is_the_home_folders_without_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tmp_path / "home" / ".cache" / "triton-inprocess" / "runtimes"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert runtime.runtimes_directory() == expected
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert runtime.runtimes_directory() == expected


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(NotFoundError, match="neither \\$HOME nor \\$XDG_CACHE_HOME"):
        runtime.find()


def test_load_hands_the_library_over_and_tells_what_came_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = make_system_prefix(tmp_path / "prefix")
    loaded: list[str] = []

    def load_runtime(path: str) -> tuple[str, tuple[int, int], list[str]]:
        loaded.append(path)
        return path, (1, 17), ["TRITONSERVER_Absent"]

    monkeypatch.setattr(_native, "load_runtime", load_runtime)
    found = runtime.load(str(tmp_path / "prefix"))
    assert loaded == [str(library)]
    assert found == runtime.Runtime(
        path=library,
        api_version=(1, 17),
        backend_directories=(tmp_path / "prefix" / "backends",),
        missing_functions=("TRITONSERVER_Absent",),
        cache_directories=(tmp_path / "prefix" / "caches",),
        repo_agent_directories=(tmp_path / "prefix" / "repoagents",),
    )


def test_directories_of_an_unpacked_wheel_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_unpacked_wheel(tmp_path / "prefix")
    monkeypatch.setattr(_native, "load_runtime", lambda path: (path, (1, 34), []))
    found = runtime.load(tmp_path / "prefix")
    triton = tmp_path / "prefix" / "pytriton" / "tritonserver"
    assert found.backend_directories == (triton / "backends",)
    assert found.cache_directories == (triton / "caches",)
    assert found.repo_agent_directories == ()


def test_load_without_a_path_keeps_what_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_system_prefix(tmp_path / "loaded")
    make_fetched(tmp_path, "0.7.0")
    monkeypatch.setattr(_native, "loaded_runtime", lambda: (str(library), (1, 34), []))
    assert runtime.load().path == library


def test_the_forwarder_beside_the_package_is_opened_after_loading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = make_fetched(tmp_path, "0.7.0")
    calls: list[str] = []

    def load_runtime(path: str) -> tuple[str, tuple[int, int], list[str]]:
        calls.append(path)
        return path, (1, 34), []

    monkeypatch.setattr(_native, "loaded_runtime", lambda: None)
    monkeypatch.setattr(_native, "load_runtime", load_runtime)
    monkeypatch.setattr(_native, "open_forwarder", calls.append)
    runtime.open_forwarder()
    assert calls == [str(library), str(Path(runtime.__file__).parent / "libtriton_forwarder.so")]


def test_importing_the_module_brings_nothing_heavy() -> None:
    script = (
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import triton_inprocess.runtime\n"
        "heavy = {'rich', 'typer', 'subprocess', 'importlib.metadata', 'asyncio', 'zipfile', 'pathlib'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert outcome.stdout == "[]\n"
