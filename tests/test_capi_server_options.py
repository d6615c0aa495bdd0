"""TRITONSERVER_ServerOptions: what each option takes, and what becomes of it."""

from __future__ import annotations

import copy
import json
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import write_identity, write_model
from helpers_lifetime import run_script

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

Options = capi.TRITONSERVER_ServerOptions
Server = capi.TRITONSERVER_Server
Mode = capi.TRITONSERVER_ModelControlMode
Group = capi.TRITONSERVER_InstanceGroupKind

TEXTS: list[Any] = ["text", "é日本🙂", "x" * 100_000]
NO_TEXTS: list[Any] = [None, 1, b"text", Path("text"), [], object(), "a\0b", "\ud800"]
BOOLS: list[Any] = [True, False]
NO_BOOLS: list[Any] = [None, "true", 2, 1.0, [], object()]


class Unruly:
    def __index__(self) -> int:
        raise RuntimeError("no number")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


def integers(bits: int, signed: bool) -> tuple[list[Any], list[Any]]:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    wrong = [None, "1", 1.0, np.float32(1), b"1", [], Unruly(), low - 1, high + 1, 1 << 1000, -(1 << 1000)]
    return [0, 1, np.int16(2)], wrong


UNSIGNED, NO_UNSIGNED = integers(32, signed=False)
SIZES, NO_SIZES = integers(64, signed=False)
NO_DEVICES = integers(32, signed=True)[1]

# The method, a right call, and for each argument (right values, wrong values).
ONE_ARGUMENT: dict[str, tuple[list[Any], list[Any]]] = {
    "set_server_id": (TEXTS, NO_TEXTS),
    "set_model_repository_path": (TEXTS, NO_TEXTS),
    "set_model_control_mode": (list(Mode), [None, "NONE", 99, -1, capi.TRITONSERVER_LogLevel.INFO]),
    "set_startup_model": ([*TEXTS, "*"], NO_TEXTS),
    "set_strict_model_config": (BOOLS, NO_BOOLS),
    "set_model_config_name": (TEXTS, NO_TEXTS),
    "set_rate_limiter_mode": (list(capi.TRITONSERVER_RateLimitMode), [None, "OFF", 99, Mode.NONE]),
    "set_pinned_memory_pool_byte_size": (SIZES, NO_SIZES),
    "set_response_cache_byte_size": (SIZES, NO_SIZES),
    "set_cache_directory": (TEXTS, NO_TEXTS),
    "set_min_supported_compute_capability": ([6, 6.0, -1.0, np.float32(7)], [None, "6", [], 1j, 10**400]),
    "set_exit_on_error": (BOOLS, NO_BOOLS),
    "set_strict_readiness": (BOOLS, NO_BOOLS),
    "set_exit_timeout": ([*UNSIGNED, (1 << 32) - 1], NO_UNSIGNED),
    "set_buffer_manager_thread_count": (UNSIGNED, [*NO_UNSIGNED, (1 << 32) - 1]),
    "set_model_load_thread_count": (UNSIGNED, [*NO_UNSIGNED, (1 << 32) - 1]),
    "set_model_load_retry_count": (UNSIGNED, NO_UNSIGNED),
    "set_model_namespacing": (BOOLS, NO_BOOLS),
    "set_enable_peer_access": (BOOLS, NO_BOOLS),
    "set_metrics": (BOOLS, NO_BOOLS),
    "set_gpu_metrics": (BOOLS, NO_BOOLS),
    "set_cpu_metrics": (BOOLS, NO_BOOLS),
    "set_metrics_interval": ([1, 2000], NO_SIZES),
    "set_backend_directory": (TEXTS, NO_TEXTS),
    "set_repo_agent_directory": (TEXTS, NO_TEXTS),
    # The log's settings act at once: test_capi_functions.py; here only what is refused.
    "set_log_file": ([], NO_TEXTS),
    "set_log_info": ([], NO_BOOLS),
    "set_log_warn": ([], NO_BOOLS),
    "set_log_error": ([], NO_BOOLS),
    "set_log_format": ([], [None, "DEFAULT", 99, Mode.NONE]),
    "set_log_verbose": ([], NO_DEVICES),
}

SEVERAL_ARGUMENTS: dict[str, tuple[list[Any], list[list[Any]]]] = {
    "add_rate_limiter_resource": (["resource", 1, 0], [NO_TEXTS, NO_SIZES, NO_DEVICES]),
    "set_cuda_memory_pool_byte_size": ([0, 1 << 20], [NO_DEVICES, NO_SIZES]),
    "set_cuda_virtual_address_size": ([0, 1 << 20], [NO_DEVICES, NO_SIZES]),
    "set_cache_config": (["local", '{"size": "1048576"}'], [NO_TEXTS, NO_TEXTS]),
    "set_model_load_device_limit": (
        [Group.GPU, 0, 0.5],
        [[None, "GPU", 99, Mode.NONE], NO_DEVICES, [None, "1", [], -0.1, 1.1, float("nan"), float("inf")]],
    ),
    "set_backend_config": (["backend", "setting", "value"], [NO_TEXTS] * 3),
    "set_host_policy": (["policy", "numa-node", "0"], [NO_TEXTS, [*NO_TEXTS, "unknown"], NO_TEXTS]),
    "set_metrics_config": (["", "counter_latencies", "true"], [NO_TEXTS] * 3),
}


def c_function(method: str) -> str:
    verb, *words = method.split("_")
    return "TRITONSERVER_ServerOptions" + verb.capitalize() + "".join(word.capitalize() for word in words)


def refuse(method: str, *arguments: Any) -> None:
    """Asserts that an older library's lack is told with the function and the version."""
    name = c_function(method)
    with pytest.raises(ti.UnsupportedError, match=rf"{name}.*\b1\.\d+"):
        getattr(Options(), method)(*arguments)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    return folder


def explicit(repository: Path) -> capi.TRITONSERVER_ServerOptions:
    options = Options()
    options.set_model_repository_path(str(repository))
    options.set_model_control_mode(Mode.EXPLICIT)
    options.set_log_error(False)
    return options


@pytest.fixture(autouse=True)
def log_as_before() -> Iterator[None]:
    levels = capi.TRITONSERVER_LogLevel
    before = {level: capi.TRITONSERVER_LogIsEnabled(level) for level in levels}
    yield
    options = Options()
    options.set_log_info(before[levels.INFO])
    options.set_log_warn(before[levels.WARN])
    options.set_log_error(before[levels.ERROR])


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_every_option_is_tested() -> None:
    methods = {name for name in dir(Options) if name.startswith(("set_", "add_"))}
    assert methods == set(ONE_ARGUMENT) | set(SEVERAL_ARGUMENTS)


@pytest.mark.parametrize("method", ONE_ARGUMENT)
def test_right_values(method: str) -> None:
    for value in ONE_ARGUMENT[method][0]:
        if capi.available(c_function(method)):
            getattr(Options(), method)(value)
        else:
            refuse(method, value)


@pytest.mark.parametrize("method", ONE_ARGUMENT)
def test_wrong_values(method: str) -> None:
    options = Options()
    for value in ONE_ARGUMENT[method][1]:
        with pytest.raises((TypeError, ValueError, OverflowError, RuntimeError)):
            getattr(options, method)(value)


@pytest.mark.parametrize("method", SEVERAL_ARGUMENTS)
def test_several_values(method: str) -> None:
    right, wrong = SEVERAL_ARGUMENTS[method]
    options = Options()
    if capi.available(c_function(method)):
        getattr(options, method)(*right)
    else:
        refuse(method, *right)
    for position, values in enumerate(wrong):
        for value in values:
            arguments = [*right[:position], value, *right[position + 1 :]]
            with pytest.raises((TypeError, ValueError, OverflowError, RuntimeError, ti.UnsupportedError)):
                getattr(options, method)(*arguments)


@pytest.mark.parametrize("method", [*ONE_ARGUMENT, *SEVERAL_ARGUMENTS])
def test_wrong_numbers_of_arguments(method: str) -> None:
    for arguments in ((), (1, 2, 3, 4, 5)):
        with pytest.raises(TypeError):
            getattr(Options(), method)(*arguments)
    with pytest.raises(TypeError):
        getattr(Options(), method)(nonsense=1)


@pytest.mark.parametrize("text", ['{"a":' * 100_000, "[" * 1_000_000, "[" * 1_000_000 + "]" * 1_000_000], ids=range(3))
def test_a_cache_configuration_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises((ti.InvalidArgumentError, ti.UnsupportedError)):
        Options().set_cache_config("local", text)


def test_options_cannot_be_copied_or_made_twice() -> None:
    options = Options()
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            duplicate(options)
    with pytest.raises(TypeError):
        Options(1)  # type: ignore[call-arg]


@pytest.mark.parametrize("options", [None, 1, "options", {}, ti.Options(), Options], ids=range(6))
def test_a_server_takes_only_options(options: Any) -> None:
    with pytest.raises(TypeError):
        Server(options)


# -- what becomes of them ----------------------------------------------------------------------------------------------


def test_options_serve_two_servers_and_may_be_dropped_before_them(repository: Path) -> None:
    options = explicit(repository)
    options.set_server_id("first")
    one = Server(options)
    options.set_server_id("second")
    two = Server(options)
    del options
    names = [json.loads(each.metadata().serialize_to_json())["name"] for each in (one, two)]
    assert names == ["first", "second"]
    one.stop()
    assert two.is_live()
    two.stop()


def test_options_may_be_dropped_unused() -> None:
    for _ in range(100):
        Options().set_server_id("never started")


def test_a_server_without_a_repository_is_an_error() -> None:
    with pytest.raises(ti.TritonError):
        Server(Options())


def test_the_directories_are_those_of_the_runtime(runtime: ti.runtime.Runtime, repository: Path) -> None:
    options = explicit(repository)
    seen: list[str] = []
    options.set_backend_directory = seen.append  # type: ignore[method-assign]
    options._complete()
    assert seen == [str(each) for each in runtime.backend_directories[:1]]


def test_a_directory_that_is_set_is_used(identity_backend: Path, repository: Path) -> None:
    write_identity(repository)
    options = explicit(repository)
    options.set_backend_directory(str(identity_backend))
    server = Server(options)
    try:
        server.load_model("identity")
        assert server.model_is_ready("identity", -1)
    finally:
        server.stop()


def test_a_failing_model_is_not_tried_for_ever(repository: Path) -> None:
    # The retry count is one of the two options that the library leaves uninitialised.
    write_model(repository, "broken", 'name: "broken"\nbackend: "there_is_none"\n')
    for _ in range(5):
        options = explicit(repository)
        server = Server(options)
        try:
            begun = time.monotonic()
            with pytest.raises(ti.TritonError):
                server.load_model("broken")
            assert time.monotonic() - begun < 5
        finally:
            server.stop()


def test_startup_models_and_exit_on_error(identity_backend: Path, repository: Path) -> None:
    write_identity(repository, "good")
    write_model(repository, "broken", 'name: "broken"\nbackend: "there_is_none"\n')
    options = explicit(repository)
    options.set_backend_directory(str(identity_backend))
    options.set_startup_model("good")
    options.set_startup_model("broken")
    with pytest.raises(ti.TritonError):
        Server(options)
    options.set_exit_on_error(False)
    options.set_strict_readiness(False)
    server = Server(options)
    try:
        assert server.model_is_ready("good", -1)
        assert not server.model_is_ready("broken", -1)
    finally:
        server.stop()


def test_a_start_that_fails_names_the_model_and_unloads_the_others_in_peace(
    identity_backend: Path, repository: Path
) -> None:
    # The library would unload "good" at once, as long as its thread may still be busy, and now and then crash.
    write_identity(repository, "good")
    write_model(repository, "broken", 'name: "broken"\nbackend: "there_is_none"\n')
    options = explicit(repository)
    options.set_backend_directory(str(identity_backend))
    options.set_startup_model("*")
    for _ in range(10):
        with pytest.raises(ti.InternalError, match=r"model 'broken' failed to load: .*there_is_none"):
            Server(options)


def test_a_mode_given_as_a_number_is_refused_or_is_that_mode(identity_backend: Path, repository: Path) -> None:
    # In explicit mode models are unloaded before the stop: what the package remembers of the mode must be what C got.
    options = explicit(repository)
    options.set_model_control_mode(Mode.NONE)
    try:
        options.set_model_control_mode(int(Mode.EXPLICIT))  # type: ignore[arg-type]
    except TypeError:
        return
    assert options._explicit


def test_a_refused_timeout_is_not_remembered(repository: Path) -> None:
    options = explicit(repository)
    options.set_exit_timeout(7)
    for value in NO_UNSIGNED:
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            options.set_exit_timeout(value)
    assert options._exit_timeout == 7
    Server(options).stop()


CACHE_CONFIGURATIONS = [
    "1",
    "[]",
    "null",
    '"text"',
    '{"size": {}}',
    '{"size": null}',
    '{"size": "x"}',
    '{"a": []}',
    "{",
]


@pytest.mark.parametrize("text", CACHE_CONFIGURATIONS)
def test_a_wrong_cache_configuration_does_not_end_the_process(text: str) -> None:
    source = f"""
import tempfile
from triton_inprocess import capi
options = capi.TRITONSERVER_ServerOptions()
folder = tempfile.TemporaryDirectory()
options.set_model_repository_path(folder.name)
options.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.EXPLICIT)
options.set_log_error(False)
try:
    options.set_cache_config("local", {text!r})
    server = capi.TRITONSERVER_Server(options)
except ti.TritonError as error:
    print(type(error).__name__)
else:
    server.stop()
    print("started")
"""
    assert run_script(source).check().output.strip() in {
        "InvalidArgumentError",
        "InternalError",
        "NotFoundError",
        "UnsupportedError",
    }


def test_options_changed_while_a_server_starts_do_not_end_the_process() -> None:
    source = """
import tempfile
from triton_inprocess import capi
options = capi.TRITONSERVER_ServerOptions()
folder = tempfile.TemporaryDirectory()
options.set_model_repository_path(folder.name)
options.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.EXPLICIT)
options.set_log_error(False)
for i in range(100_000):
    options.set_backend_config(f"b{i}", "k", "v")
ended = threading.Event()
def change():
    i = 0
    while not ended.is_set():
        options.set_backend_config(f"c{i % 100_000}", "k", "v" * 50)
        options.set_server_id("s" * (i % 1000))
        i += 1
thread = threading.Thread(target=change)
thread.start()
try:
    for _ in range(12):
        capi.TRITONSERVER_Server(options).stop()
finally:
    ended.set()
    thread.join()
print("done")
"""
    assert run_script(source).check().output.strip() == "done"
