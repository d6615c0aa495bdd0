"""Progress of loads, while they run, and of starts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import StartServer, answer, write_identity, write_model
from test_capi_server import WARM_UP
from test_model_repositories import ENSEMBLE

import triton_inprocess as ti

X = np.arange(3, dtype=np.float32)
SLOW_US = 200_000


class Recorder:
    """A callback that writes down what it is told, and where and when."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.calls: list[tuple[str, int, str, str]] = []
        self.threads: set[int] = set()
        self.then = then

    def __call__(self, name: str, version: int, state: str, reason: str) -> None:
        self.calls.append((name, version, state, reason))
        self.threads.add(threading.get_ident())
        self.then()

    def states(self, name: str) -> list[str]:
        return [state for each, _, state, _ in self.calls if each == name]


def write_slow(repository: Path, name: str = "slow", delay_us: int = SLOW_US) -> None:
    """A model that takes so long to be loaded, because it is warmed up."""
    write_identity(repository, name, parameters={"delay_us": delay_us}, more=WARM_UP)


@pytest.fixture
def server(start_identity: StartServer, repository: Path) -> ti.Server:
    write_slow(repository)
    write_identity(repository, "fast")
    write_identity(repository, "failing", parameters={"fail_to_load": 1})
    return start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)


def test_a_load_tells_of_it_while_it_runs(server: ti.Server) -> None:
    ready: list[bool] = []
    recorder = Recorder(lambda: ready.append(server.model("slow").ready()))
    assert server.load("slow", progress=recorder).ready()
    assert recorder.calls == [("slow", 1, "LOADING", ""), ("slow", 1, "READY", "")]
    assert ready == [False, True]
    assert recorder.threads == {threading.get_ident()}


def test_a_load_with_parameters_tells_of_it_too(server: ti.Server) -> None:
    recorder = Recorder()
    config = {
        "backend": "identity",
        "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
        "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
        "instance_group": [{"kind": "KIND_CPU"}],
    }
    server.load("fast", config=config, progress=recorder)
    assert recorder.states("fast")[-1] == "READY"


def test_a_reload_tells_of_it_at_least_once(server: ti.Server) -> None:
    server.load("fast")
    recorder = Recorder()
    server.load("fast", progress=recorder)
    assert recorder.states("fast")[-1] == "READY"


def test_what_has_not_changed_is_not_told(server: ti.Server) -> None:
    server.load("fast")
    recorder = Recorder()
    server.load("slow", progress=recorder)
    assert recorder.states("fast") == recorder.states("failing") == []


def test_the_models_of_an_ensemble_are_told_of(start_identity: StartServer, repository: Path) -> None:
    write_slow(repository, "step", 50_000)
    write_model(repository, "whole", ENSEMBLE)
    recorder = Recorder()
    start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT).load("whole", progress=recorder)
    assert recorder.states("step")[-1] == recorder.states("whole")[-1] == "READY"


def test_a_load_that_fails(server: ti.Server) -> None:
    recorder = Recorder()
    with pytest.raises(ti.InvalidArgumentError, match="failing"):
        server.load("failing", progress=recorder)
    (*_, (name, version, state, reason)) = recorder.calls
    assert (name, version, state) == ("failing", 1, "UNAVAILABLE")
    assert "refuses to load" in reason


def test_what_the_callback_raises_comes_after_the_load(server: ti.Server) -> None:
    def fail() -> None:
        raise KeyError("mine")

    recorder = Recorder(fail)
    with pytest.raises(KeyError, match="mine"):
        server.load("slow", progress=recorder)
    assert server.model("slow").ready()
    assert len(recorder.calls) == 1  # it is not called again


def test_a_load_that_fails_goes_before_a_callback_that_fails(server: ti.Server) -> None:
    def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(ti.InvalidArgumentError) as raised:
        server.load("failing", progress=Recorder(fail))
    assert isinstance(raised.value.__context__, KeyError)


def test_the_callback_may_use_the_server(server: ti.Server) -> None:
    server.load("fast")
    answers = []
    server.load("slow", progress=Recorder(lambda: answers.append(answer(server.model("fast"), "OUTPUT0", INPUT0=X))))
    assert len(answers) == 2
    assert all((each == X).all() for each in answers)


def test_the_callback_may_stop_the_server(server: ti.Server) -> None:
    with pytest.raises(ti.UnavailableError, match="stopped"):
        server.load("slow", progress=Recorder(server.stop))


def test_other_threads_go_on_during_a_load(server: ti.Server) -> None:
    counts = []
    done = threading.Event()

    def count() -> None:
        number = 0
        while not done.is_set():
            number += 1
        counts.append(number)

    thread = threading.Thread(target=count)
    thread.start()
    server.load("slow", progress=Recorder())
    done.set()
    thread.join()
    assert counts[0] > 10_000


def test_a_load_from_another_thread(server: ti.Server) -> None:
    recorder = Recorder()
    thread = threading.Thread(target=server.load, args=("slow",), kwargs={"progress": recorder})
    thread.start()
    thread.join()
    assert recorder.states("slow") == ["LOADING", "READY"]
    assert recorder.threads == {thread.ident}


# -- start -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def make(identity_backend: Path, repository: Path) -> Callable[..., ti.Server]:
    def make(**options: object) -> ti.Server:
        return ti.Server(model_repository=repository, backend_directory=identity_backend, **options)

    return make


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["a", "b", "whole", "step"]),
        ({"startup_models": ["*"]}, ["a", "b", "whole", "step"]),
        ({"startup_models": ["b", "whole"]}, ["b", "whole", "step"]),
        ({"model_control_mode": ti.ModelControlMode.EXPLICIT, "startup_models": ["a"]}, ["a"]),
        ({"model_control_mode": ti.ModelControlMode.EXPLICIT}, []),
        ({"model_control_mode": ti.ModelControlMode.NONE}, ["a", "b", "whole", "step"]),
        ({"model_control_mode": ti.ModelControlMode.POLL}, ["a", "b", "whole", "step"]),
        ({"model_load_thread_count": 1}, ["a", "b", "whole", "step"]),
        ({"model_load_thread_count": 0}, ["a", "b", "whole", "step"]),
    ],
    ids=str,
)
def test_a_start_loads_the_same_models_with_a_callback(
    make: Callable[..., ti.Server], repository: Path, options: dict[str, object], names: list[str]
) -> None:
    for name in ("a", "b", "step"):
        write_slow(repository, name, 10_000)
    write_model(repository, "whole", ENSEMBLE)
    recorder = Recorder()
    with make(**options).start(progress=recorder) as server:
        assert {name for name in server.models(exclude_not_ready=True) if isinstance(name, str)} == set(names)
        assert {name for name, _, state, _ in recorder.calls if state == "READY"} == set(names)
        assert server.ready()
    with make(**options) as server:
        assert {name for name in server.models(exclude_not_ready=True) if isinstance(name, str)} == set(names)


def test_a_start_tells_of_models_while_it_loads_them(make: Callable[..., ti.Server], repository: Path) -> None:
    write_slow(repository)
    write_identity(repository, "fast")
    recorder = Recorder()
    with make().start(progress=recorder):
        assert recorder.states("slow") == ["LOADING", "READY"]
        assert recorder.states("fast")[-1] == "READY"
        assert recorder.calls[-1][0] == "slow"


@pytest.mark.parametrize("exit_on_error", [True, False])
def test_a_start_with_a_model_that_fails(make: Callable[..., ti.Server], repository: Path, exit_on_error: bool) -> None:
    write_identity(repository, "good")
    write_identity(repository, "failing", parameters={"fail_to_load": 1})
    recorder = Recorder()
    server = make(exit_on_error=exit_on_error, strict_readiness=False)
    if exit_on_error:
        with pytest.raises(ti.InternalError, match=r"'failing' failed to load: .*refuses to load"):
            server.start(progress=recorder)
    else:
        with server.start(progress=recorder):
            assert server.model("good").ready()
            assert not server.model("failing").ready()
    (reason,) = [reason for name, _, state, reason in recorder.calls if (name, state) == ("failing", "UNAVAILABLE")]
    assert "refuses to load" in reason


def test_a_start_whose_callback_fails(make: Callable[..., ti.Server], repository: Path) -> None:
    write_identity(repository, "good")

    def fail() -> None:
        raise KeyError("mine")

    server = make()
    with pytest.raises(KeyError, match="mine"):
        server.start(progress=Recorder(fail))
    with pytest.raises(ti.InvalidArgumentError, match="not started"):
        server.live()
    with server:  # it can be started
        assert server.model("good").ready()


def test_models_are_loaded_in_parallel(make: Callable[..., ti.Server], repository: Path) -> None:
    if ti.runtime.load().api_version < (1, 20):
        pytest.skip("loads one after the other")
    for name in ("a", "b", "c", "d"):
        write_slow(repository, name, 500_000)
    begin = time.monotonic()
    with make().start(progress=Recorder()):
        assert time.monotonic() - begin < 1.5


def test_a_callback_that_is_none(make: Callable[..., ti.Server]) -> None:
    with pytest.raises(TypeError, match="progress must be callable or None, not str"):
        make().start(progress="yes")  # type: ignore[arg-type]
