"""TRITONSERVER_InferenceTrace: what it tells, what can be asked of it, and who lives for how long."""

from __future__ import annotations

import concurrent.futures
import ctypes
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import run_python, write_model
from helpers_lifetime import ensemble_config, resident_bytes, wait_until

import triton_inprocess as ti
from triton_inprocess import capi
from triton_inprocess.capi import TRITONSERVER_InferenceTrace as Trace
from triton_inprocess.capi import TRITONSERVER_InferenceTraceActivity as Activity
from triton_inprocess.capi import TRITONSERVER_InferenceTraceLevel as Level

SPECS: dict[str, Any] = {"inputs": {"x": (np.float32, (4,))}, "outputs": {"y": (np.float32, (4,))}}
X = np.arange(4, dtype=np.float32)

TIMESTAMPS = {
    Activity.REQUEST_START,
    Activity.QUEUE_START,
    Activity.COMPUTE_START,
    Activity.COMPUTE_INPUT_END,
    Activity.COMPUTE_OUTPUT_START,
    Activity.COMPUTE_END,
    Activity.REQUEST_END,
}

SPAWN = "TRITONSERVER_InferenceTraceSpawnChildTrace"
REPORT = "TRITONSERVER_InferenceTraceReportActivity"
CONTEXT = "TRITONSERVER_InferenceTraceContext"
REQUEST_ID = "TRITONSERVER_InferenceTraceRequestId"


class Log:
    """What the functions of traces were told; outlives their user object."""

    def __init__(self) -> None:
        self.activities: list[tuple[int, Activity, int]] = []
        self.models: dict[int, tuple[str, int]] = {}
        self.tensors: list[tuple[Any, ...]] = []
        self.releases: list[int] = []
        self.releases_at_death: int | None = None

    def told(self, trace_id: int) -> list[Activity]:
        return [activity for each, activity, _ in self.activities if each == trace_id]


class User:
    """A user object; what is to be remembered goes into its log."""

    def __init__(self) -> None:
        self.log = Log()


def on_activity(trace: Trace, activity: Activity, timestamp: int, user: User) -> None:
    user.log.activities.append((trace.id, activity, timestamp))
    user.log.models[trace.id] = (trace.model_name, trace.parent_id)


def on_tensor(trace: Trace, activity: Activity, *rest: Any) -> None:
    name, data_type, address, byte_size, shape, memory_type, memory_type_id, user = rest
    content = ctypes.string_at(address, byte_size)
    user.log.tensors.append(
        (trace.id, activity, name, data_type, content, byte_size, shape, memory_type, memory_type_id)
    )


def on_release(trace: Trace, user: User) -> None:
    user.log.releases.append(trace.id)


def make_trace(user: User, level: int = Level.TIMESTAMPS, parent_id: int = 0) -> Trace:
    return Trace(level, parent_id, on_activity, on_release, user)


def watched() -> tuple[User, Log, weakref.ref[User]]:
    """A user object, its log (which tells how many traces were released when it died), and a weak reference."""
    user = User()
    log = user.log

    def die() -> None:
        log.releases_at_death = len(log.releases)

    weakref.finalize(user, die).atexit = False
    return user, log, weakref.ref(user)


def make_request(server: ti.Server, model: str = "echo", names: tuple[str, ...] = ("x",)) -> Any:
    request = capi.TRITONSERVER_InferenceRequest(server.capi, model, -1)
    for name in names:
        request.add_input(name, capi.TRITONSERVER_DataType.FP32, X.shape)
        request.append_input_data(name, X.ctypes.data, X.nbytes, capi.TRITONSERVER_MemoryType.CPU, 0)
    return request


def response_to(request: Any) -> capi.TRITONSERVER_InferenceResponse:
    """The next response, which is no error."""
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    request.get_next_response(future)
    response, _flags = future.result(30)
    response.throw_if_response_error()
    return response  # type: ignore[no-any-return]


def infer(server: ti.Server, trace: Trace | None, model: str = "echo", name: str = "x") -> None:
    request = make_request(server, model, (name,))
    server.capi.infer_async(request, trace)
    response_to(request)


def require(function: str) -> None:
    """Skip where the runtime lacks the function; that it raises then is another test's affair."""
    if not capi.available(function):
        major, minor = capi.api_version()
        pytest.skip(f"{function} is not in this runtime of C API {major}.{minor}; it came with {SINCE[function]}")


SINCE = {SPAWN: "C API 1.24", REPORT: "C API 1.33", CONTEXT: "C API 1.29", REQUEST_ID: "C API 1.19"}


@pytest.fixture(scope="module")
def server(runtime: ti.runtime.Runtime, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ti.Server]:
    """A server with the function `echo` and an ensemble that runs it twice."""
    repository: Path = tmp_path_factory.mktemp("models")
    write_model(repository, "ensemble", ensemble_config("ensemble", "echo"))
    mode = ti.ModelControlMode.EXPLICIT
    with ti.Server(model_repository=repository, model_control_mode=mode, metrics=False) as running:
        running.add_model(lambda x: x + 0, name="echo", **SPECS)
        running.load("ensemble")
        yield running


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """What went to sys.unraisablehook."""
    caught: list[BaseException] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: caught.append(report.exc_value))
    return caught


@contextmanager
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# -- properties --------------------------------------------------------------------------------------------------------


def test_properties_of_a_trace_that_was_not_sent(runtime: ti.runtime.Runtime) -> None:
    first, second = make_trace(User()), make_trace(User(), parent_id=2**64 - 1)
    assert first.id != second.id
    assert (first.parent_id, second.parent_id) == (0, 2**64 - 1)
    assert first.model_name == ""
    assert isinstance(first.model_version, int)


def test_properties_say_what_was_traced_and_stay_readable(server: ti.Server) -> None:
    user = User()
    trace = make_trace(user, parent_id=7)
    identity = trace.id
    request = make_request(server)
    request.id = "a request"
    server.capi.infer_async(request, trace)
    response_to(request)
    wait_until(lambda: user.log.releases)
    del request
    assert trace.id == identity
    assert trace.parent_id == 7
    assert trace.model_name == "echo"
    assert trace.model_version == 1
    if capi.available(REQUEST_ID):
        assert trace.request_id == "a request"


def test_properties_are_right_inside_the_functions(server: ti.Server) -> None:
    seen: list[tuple[Any, ...]] = []
    released = threading.Event()

    def read(trace: Trace) -> None:
        seen.append((trace.id, trace.parent_id, trace.model_name, trace.model_version))

    def release(trace: Trace, user: None) -> None:
        read(trace)
        released.set()

    trace = Trace(Level.TIMESTAMPS, 3, lambda trace, activity, timestamp, user: read(trace), release, None)
    infer(server, trace)
    assert released.wait(30)
    assert set(seen) == {(trace.id, 3, "echo", 1)}
    assert len(seen) == len(TIMESTAMPS) + 1


@pytest.mark.parametrize("attribute", ["id", "parent_id", "model_name", "model_version", "request_id"])
def test_properties_cannot_be_set(runtime: ti.runtime.Runtime, attribute: str) -> None:
    with pytest.raises(AttributeError):
        setattr(make_trace(User()), attribute, 1)


def test_the_context_is_kept(server: ti.Server) -> None:
    require(CONTEXT)
    user = User()
    trace = make_trace(user)
    assert trace.context == ""
    for text in ('{"traceparent": "00-aa-01"}', "", "é 日本", "x" * 100_000):
        trace.context = text
        assert trace.context == text
    with pytest.raises(ti.InvalidArgumentError):
        trace.context = "a\0b"
    with pytest.raises(TypeError):
        trace.context = b"bytes"  # type: ignore[assignment]
    infer(server, trace)
    wait_until(lambda: user.log.releases)
    assert trace.context == "x" * 100_000
    with pytest.raises(ti.UnavailableError, match="released"):
        trace.context = "too late"


def test_a_child_takes_over_the_context_or_starts_without(runtime: ti.runtime.Runtime) -> None:
    require(CONTEXT)
    trace = make_trace(User())
    trace.context = "handed on"
    child = trace.spawn_child_trace()
    assert child.context in ("handed on", "")
    child.context = "its own"
    assert (trace.context, child.context) == ("handed on", "its own")


# -- what the constructor takes ----------------------------------------------------------------------------------------


def test_names_of_the_arguments(runtime: ti.runtime.Runtime) -> None:
    user = User()
    trace = Trace(
        level=Level.TIMESTAMPS,
        parent_id=1,
        activity_function=on_activity,
        release_function=on_release,
        trace_userp=user,
    )
    assert trace.parent_id == 1
    trace = Trace(
        level=Level.TENSORS,
        parent_id=2,
        activity_function=on_activity,
        tensor_activity_function=on_tensor,
        release_function=on_release,
        trace_userp=user,
    )
    assert trace.parent_id == 2
    assert Trace(Level.DISABLED, 3, on_activity, on_release, None).parent_id == 3


@pytest.mark.parametrize("level", [16, 16 | 4, 1 << 31, 1 << 32, 1 << 64, -1])
def test_unknown_levels_are_refused(runtime: ti.runtime.Runtime, level: int) -> None:
    with pytest.raises((ti.InvalidArgumentError, OverflowError, ValueError)):
        make_trace(User(), level)


@pytest.mark.parametrize("level", ["TIMESTAMPS", None, 4.0, [4]])
def test_a_level_of_the_wrong_type_is_refused(runtime: ti.runtime.Runtime, level: Any) -> None:
    with pytest.raises(TypeError):
        make_trace(User(), level)


@pytest.mark.parametrize("parent_id", [-1, 1 << 64, "1", None])
def test_a_wrong_parent_id_is_refused(runtime: ti.runtime.Runtime, parent_id: Any) -> None:
    with pytest.raises((OverflowError, TypeError, ValueError, ti.InvalidArgumentError)):
        make_trace(User(), parent_id=parent_id)


@pytest.mark.parametrize("position", [2, 3, 4])
def test_what_is_no_function_is_refused(runtime: ti.runtime.Runtime, position: int) -> None:
    for wrong in (None, 1, "f"):
        arguments: list[Any] = [Level.TENSORS, 0, on_activity, on_tensor, on_release, None]
        arguments[position] = wrong
        with pytest.raises(TypeError):
            Trace(*arguments)


def test_a_refused_constructor_keeps_nothing(runtime: ti.runtime.Runtime) -> None:
    user, _, gone = watched()
    with pytest.raises(TypeError):
        Trace(Level.TIMESTAMPS, 0, on_activity, None, user)  # type: ignore[call-overload]
    del user
    wait_until(lambda: gone() is None, 2)


# -- levels ------------------------------------------------------------------------------------------------------------


def told(server: ti.Server, level: int) -> Log:
    """What a trace of that level, of both functions, was told."""
    user = User()
    infer(server, Trace(level, 0, on_activity, on_tensor, on_release, user))
    wait_until(lambda: user.log.releases)
    return user.log


@pytest.mark.parametrize("level", [Level.TIMESTAMPS, Level.MIN, Level.MAX, Level.MIN | Level.MAX, 4, 1])
def test_timestamps_alone(server: ti.Server, level: int) -> None:
    log = told(server, level)
    (identity,) = log.releases
    assert set(log.told(identity)) == TIMESTAMPS
    assert len(log.activities) == len(TIMESTAMPS)
    assert log.tensors == []
    at = {activity: timestamp for _, activity, timestamp in log.activities}
    assert 0 < at[Activity.REQUEST_START] <= at[Activity.QUEUE_START] <= at[Activity.COMPUTE_START]
    assert at[Activity.COMPUTE_START] <= at[Activity.COMPUTE_INPUT_END] <= at[Activity.COMPUTE_OUTPUT_START]
    assert at[Activity.COMPUTE_OUTPUT_START] <= at[Activity.COMPUTE_END] <= at[Activity.REQUEST_END]


@pytest.mark.parametrize("level", [Level.TENSORS, 8])
def test_tensors_alone(server: ti.Server, level: int) -> None:
    log = told(server, level)
    assert log.activities == []
    assert len(log.releases) == 1
    assert {each[1] for each in log.tensors} >= {Activity.TENSOR_QUEUE_INPUT, Activity.TENSOR_BACKEND_OUTPUT}


@pytest.mark.parametrize("level", [Level.TIMESTAMPS | Level.TENSORS, 12, 15, Level.MIN | Level.TENSORS])
def test_both(server: ti.Server, level: int) -> None:
    log = told(server, level)
    assert {activity for _, activity, _ in log.activities} == TIMESTAMPS
    assert log.tensors


@pytest.mark.parametrize("level", [Level.DISABLED, 0])
def test_disabled_tells_only_of_the_release(server: ti.Server, level: int) -> None:
    log = told(server, level)
    assert (log.activities, log.tensors, len(log.releases)) == ([], [], 1)


def test_tensors_are_told_as_they_are(server: ti.Server) -> None:
    log = told(server, Level.TENSORS)
    cpu = capi.TRITONSERVER_MemoryType.CPU
    fp32 = capi.TRITONSERVER_DataType.FP32
    inputs = [each for each in log.tensors if each[1] == Activity.TENSOR_QUEUE_INPUT]
    outputs = [each for each in log.tensors if each[1] == Activity.TENSOR_BACKEND_OUTPUT]
    (identity,) = log.releases
    assert inputs == [(identity, Activity.TENSOR_QUEUE_INPUT, "x", fp32, X.tobytes(), 16, (4,), cpu, 0)]
    ((*first, memory_type, _memory_type_id),) = outputs
    assert first == [identity, Activity.TENSOR_BACKEND_OUTPUT, "y", fp32, X.tobytes(), 16, (4,)]
    assert memory_type in (cpu, capi.TRITONSERVER_MemoryType.CPU_PINNED)


def test_a_trace_without_tensor_function_may_have_that_level(runtime: ti.runtime.Runtime) -> None:
    # In a process of its own: Triton itself would call a null pointer.
    program = """
    import concurrent.futures, threading
    import numpy as np
    import triton_inprocess as ti
    from triton_inprocess import capi
    Level = capi.TRITONSERVER_InferenceTraceLevel
    X = np.arange(4, dtype=np.float32)
    told = []
    done = threading.Event()
    with ti.Server(metrics=False) as server:
        server.add_model(lambda x: x, name="m", inputs={"x": (np.float32, (4,))}, outputs={"y": (np.float32, (4,))})
        request = capi.TRITONSERVER_InferenceRequest(server.capi, "m", -1)
        request.add_input("x", capi.TRITONSERVER_DataType.FP32, X.shape)
        request.append_input_data("x", X.ctypes.data, X.nbytes, capi.TRITONSERVER_MemoryType.CPU, 0)
        server.capi.infer_async(request, capi.TRITONSERVER_InferenceTrace(
            Level.TENSORS | Level.TIMESTAMPS, 0, lambda *arguments: told.append(str(arguments[1])),
            lambda *arguments: done.set(), None))
        future = concurrent.futures.Future()
        request.get_next_response(future)
        future.result(30)[0].throw_if_response_error()
        assert done.wait(30)
        del request
    print(sorted(told))
    """
    result = run_python(program)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{sorted(map(str, TIMESTAMPS))}\n"


def test_each_trace_is_released_once(server: ti.Server) -> None:
    users = [User() for _ in range(50)]
    for user in users:
        infer(server, make_trace(user))
    infer(server, None)
    wait_until(lambda: all(user.log.releases for user in users))
    assert [len(user.log.releases) for user in users] == [1] * 50
    assert len({user.log.releases[0] for user in users}) == 50


def test_the_functions_get_the_very_user_object(server: ti.Server) -> None:
    marker = object()
    seen: list[Any] = []
    done = threading.Event()

    def release(trace: Trace, user: Any) -> None:
        seen.append(user)
        done.set()

    trace = Trace(Level.TIMESTAMPS, 0, lambda trace, activity, timestamp, user: seen.append(user), release, marker)
    infer(server, trace)
    assert done.wait(30)
    assert len(seen) == len(TIMESTAMPS) + 1
    assert all(each is marker for each in seen)


# -- activities of the user's own --------------------------------------------------------------------------------------


def test_an_activity_of_ones_own_in_flight(server: ti.Server) -> None:
    require(REPORT)
    user = User()
    trace = make_trace(user)

    def report(x: Any) -> Any:
        trace.report_activity(12345, "from the function")
        return x

    server.add_model(report, name="reports", **SPECS)
    infer(server, trace, "reports")
    wait_until(lambda: user.log.releases)
    server.remove_model("reports")
    assert [entry for entry in user.log.activities if entry[1] == Activity.CUSTOM_ACTIVITY] == [
        (trace.id, Activity.CUSTOM_ACTIVITY, 12345)
    ]
    with pytest.raises(ti.UnavailableError, match="released"):
        trace.report_activity(1, "too late")


def test_an_activity_reported_inside_a_callback(server: ti.Server) -> None:
    require(REPORT)
    seen: list[Activity] = []
    released = threading.Event()

    def activity(trace: Trace, activity: Activity, timestamp: int, user: Any) -> None:
        seen.append(activity)
        if activity in (Activity.REQUEST_START, Activity.COMPUTE_END):
            trace.report_activity(timestamp, "nested")

    def release(trace: Trace, user: Any) -> None:
        trace.report_activity(1, "the last one")
        released.set()

    infer(server, Trace(Level.TIMESTAMPS, 0, activity, release, None))
    assert released.wait(30)
    assert seen.count(Activity.CUSTOM_ACTIVITY) == 3
    assert seen[:2] == [Activity.REQUEST_START, Activity.CUSTOM_ACTIVITY]


def test_wrong_arguments_of_report_activity(runtime: ti.runtime.Runtime) -> None:
    trace = make_trace(User())
    for arguments in ((-1, "a"), (1 << 64, "a"), ("1", "a"), (1, 2), (1,)):
        with pytest.raises((TypeError, OverflowError, ValueError)):
            trace.report_activity(*arguments)
    with pytest.raises((ti.InvalidArgumentError, ti.UnsupportedError)):
        trace.report_activity(1, "a\0b")


# In a process of its own: it corrupts memory where it is wrong.
REPORT_BEFORE_SENDING = """
import threading, time, weakref
import numpy as np
import triton_inprocess as ti
from triton_inprocess import capi
class User(list): pass
def wait_until(condition):
    end = time.monotonic() + 3
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
def trace(user):
    return capi.TRITONSERVER_InferenceTrace(
        capi.TRITONSERVER_InferenceTraceLevel.TIMESTAMPS, 0,
        lambda trace, activity, timestamp, user: user.append((trace.id, str(activity))),
        lambda trace, user: done.set(), user)
SPECS = {"inputs": {"x": (np.float32, (4,))}, "outputs": {"y": (np.float32, (4,))}}
X = np.arange(4, dtype=np.float32)
done = threading.Event()
def expired():
    try:
        first.report_activity(1, "is it released?")
    except ti.UnavailableError:
        return True
    return False
with ti.Server(metrics=False) as server:
    server.add_model(lambda x: x, name="m", **SPECS)
    request = capi.TRITONSERVER_InferenceRequest(server.capi, "m", -1)
    request.add_input("x", capi.TRITONSERVER_DataType.FP32, X.shape)
    request.append_input_data("x", X.ctypes.data, X.nbytes, capi.TRITONSERVER_MemoryType.CPU, 0)
    user = User()
    gone = weakref.ref(user)
    first = trace(user)
    number = first.id
    BEFORE
    assert user[0] == (TOLD, "CUSTOM_ACTIVITY"), user
    del user
    if SENT:
        server.capi.infer_async(request, first)
        assert done.wait(30)
        wait_until(expired)
        others = [trace(None) for _ in range(100)]  # they take the memory of what is freed
        assert (first.id, first.model_name) == (number, "m"), (first.id, first.model_name)
        del others
    del first
    AFTER
    wait_until(lambda: gone() is None)
    del request
print("fine")
"""


@pytest.mark.parametrize("sent", [False, True], ids=["dropped", "sent"])
@pytest.mark.parametrize("which", ["root", "child"])
def test_an_activity_reported_before_the_trace_is_sent(runtime: ti.runtime.Runtime, which: str, sent: bool) -> None:
    require(REPORT)
    if which == "root":
        before, told_of, after = "first.report_activity(5, 'mine')", "number", ""
    else:
        before, told_of, after = (
            "child = first.spawn_child_trace(); other = child.id; child.report_activity(5, 'mine')",
            "other",
            "assert child.id == other; del child",
        )
        if sent:  # the user object lives until the child is gone, too
            before, after = before + "; del child", ""
    program = REPORT_BEFORE_SENDING
    for word, text in {"BEFORE": before, "TOLD": told_of, "SENT": str(sent), "AFTER": after}.items():
        program = program.replace(word, text)
    result = run_python(program)
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


def test_activities_reported_while_the_trace_is_released(runtime: ti.runtime.Runtime) -> None:
    require(REPORT)
    program = """
    import concurrent.futures, sys, threading
    import numpy as np
    import triton_inprocess as ti
    from triton_inprocess import capi
    wrong = []
    sys.unraisablehook = lambda report: wrong.append(report.exc_value)
    SPECS = {"inputs": {"x": (np.float32, (4,))}, "outputs": {"y": (np.float32, (4,))}}
    X = np.arange(4, dtype=np.float32)
    def report(trace):
        try:
            while True:
                trace.report_activity(1, "x")
        except ti.UnavailableError:
            pass
    with ti.Server(metrics=False) as server:
        server.add_model(lambda x: x, name="m", **SPECS)
        request = capi.TRITONSERVER_InferenceRequest(server.capi, "m", -1)
        request.add_input("x", capi.TRITONSERVER_DataType.FP32, X.shape)
        request.append_input_data("x", X.ctypes.data, X.nbytes, capi.TRITONSERVER_MemoryType.CPU, 0)
        for _ in range(200):
            released = threading.Event()
            trace = capi.TRITONSERVER_InferenceTrace(
                capi.TRITONSERVER_InferenceTraceLevel.TIMESTAMPS, 0,
                lambda trace, activity, timestamp, user: user.count(1), lambda trace, user: released.set(), [])
            server.capi.infer_async(request, trace)
            threads = [threading.Thread(target=report, args=(trace,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            future = concurrent.futures.Future()
            request.get_next_response(future)
            future.result(30)
            assert released.wait(30)
            for thread in threads:
                thread.join(30)
            number = trace.id
            assert trace.model_name == "m"
    assert not wrong, (len(wrong), wrong[0])
    print("fine")
    """
    result = run_python(program)
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


# -- children ----------------------------------------------------------------------------------------------------------


def test_a_child_shares_the_functions_and_the_user_object(server: ti.Server) -> None:
    require(SPAWN)
    user = User()
    root = make_trace(user)
    child = root.spawn_child_trace()
    assert child.parent_id == root.id
    assert child.id != root.id
    infer(server, child)
    wait_until(lambda: user.log.releases)
    assert user.log.releases == [child.id]
    assert set(user.log.told(child.id)) == TIMESTAMPS
    assert user.log.told(root.id) == []
    infer(server, root)
    wait_until(lambda: len(user.log.releases) == 2)
    assert set(user.log.told(root.id)) == TIMESTAMPS
    assert child.parent_id == root.id


def test_a_child_of_a_trace_with_tensors_tells_of_them(server: ti.Server) -> None:
    require(SPAWN)
    user = User()
    root = Trace(Level.TENSORS, 0, on_activity, on_tensor, on_release, user)
    infer(server, root.spawn_child_trace())
    wait_until(lambda: user.log.releases)
    assert user.log.tensors
    assert user.log.activities == []


def test_a_child_of_a_child(server: ti.Server) -> None:
    require(SPAWN)
    user, log, gone = watched()
    root = make_trace(user)
    child = root.spawn_child_trace()
    grandchild = child.spawn_child_trace()
    assert grandchild.parent_id == child.id
    ids = [grandchild.id, child.id, root.id]
    for trace in (grandchild, child, root):
        infer(server, trace)
    wait_until(lambda: len(log.releases) == 3)
    assert sorted(log.releases) == sorted(ids)
    del user
    wait_until(lambda: gone() is None)  # the names of released traces keep nothing


def test_a_child_that_is_never_sent(server: ti.Server) -> None:
    require(SPAWN)
    user, log, gone = watched()
    root = make_trace(user)
    del user
    child = root.spawn_child_trace()
    number = root.id
    infer(server, root)
    wait_until(lambda: log.releases)
    assert gone() is not None, "the child can still be sent"
    assert child.parent_id == number
    del child
    wait_until(lambda: gone() is None)
    assert len(log.releases) == 1


def test_the_parent_dropped_before_the_child_is_sent(server: ti.Server) -> None:
    require(SPAWN)
    user, log, gone = watched()
    root = make_trace(user)
    del user
    child = root.spawn_child_trace()
    number = root.id
    del root
    assert gone() is not None
    grandchild = child.spawn_child_trace()
    infer(server, child)
    wait_until(lambda: log.releases)
    assert child.parent_id == number
    assert gone() is not None
    infer(server, grandchild)
    del grandchild, child
    wait_until(lambda: gone() is None)
    assert log.releases_at_death == 2


def test_children_dropped_unsent_in_any_order(runtime: ti.runtime.Runtime) -> None:
    require(SPAWN)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        user, log, gone = watched()
        root = make_trace(user)
        del user
        family: list[Trace | None] = [root, root.spawn_child_trace(), None]
        family[2] = family[1].spawn_child_trace()  # type: ignore[union-attr]
        del root
        with no_collector():
            for position in order:
                assert gone() is not None
                family[position] = None
            assert gone() is None
        assert log.releases == []


def test_a_child_spawned_in_a_callback_and_kept(server: ti.Server) -> None:
    require(SPAWN)
    children: list[Trace] = []
    released: list[int] = []

    def activity(trace: Trace, activity: Activity, timestamp: int, user: Any) -> None:
        if activity == Activity.COMPUTE_START and not children:
            children.append(trace.spawn_child_trace())

    def release(trace: Trace, user: Any) -> None:
        if trace.parent_id == 0:
            children.append(trace.spawn_child_trace())
        released.append(trace.id)

    root = Trace(Level.TIMESTAMPS, 0, activity, release, None)
    infer(server, root)
    wait_until(lambda: released)
    assert len(children) == 2
    assert [child.parent_id for child in children] == [root.id, root.id]
    for child in children:
        infer(server, child)
    wait_until(lambda: len(released) == 3)
    with pytest.raises(ti.UnavailableError, match="released"):
        root.spawn_child_trace()


# -- trees -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [Level.TIMESTAMPS, Level.DISABLED])
def test_an_ensembles_children_share_the_user_object_which_dies_with_the_last(server: ti.Server, level: Level) -> None:
    with no_collector():
        user, log, gone = watched()
        trace = make_trace(user, level)
        number = trace.id
        del user
        infer(server, trace, "ensemble", "IN")
        del trace
        wait_until(lambda: gone() is None)
    assert len(log.releases) == 3
    assert len(set(log.releases)) == 3
    assert number in log.releases
    assert log.releases_at_death == 3
    if level == Level.DISABLED:
        assert log.activities == []
    else:
        assert sorted(log.models.values()) == [("echo", number), ("echo", number), ("ensemble", 0)]
        for child in set(log.releases) - {number}:
            assert set(log.told(child)) == TIMESTAMPS
        assert {Activity.REQUEST_START, Activity.REQUEST_END} <= set(log.told(number))


def test_the_tensors_of_an_ensembles_steps(server: ti.Server) -> None:
    user = User()
    infer(server, Trace(Level.TENSORS, 0, on_activity, on_tensor, on_release, user), "ensemble", "IN")
    wait_until(lambda: len(user.log.releases) == 3)
    assert {"x", "y", "IN"} <= {each[2] for each in user.log.tensors}
    assert all(each[4] == X.tobytes() for each in user.log.tensors)


def test_many_ensembles_at_once(server: ti.Server) -> None:
    logs: list[Log] = []
    gone: list[weakref.ref[User]] = []
    requests = []
    for _ in range(50):
        user, log, reference = watched()
        logs.append(log)
        gone.append(reference)
        requests.append(make_request(server, "ensemble", ("IN",)))
        server.capi.infer_async(requests[-1], make_trace(user, Level.DISABLED))
    del user
    for request in requests:
        response_to(request)
    wait_until(lambda: not any(reference() for reference in gone))
    assert [log.releases_at_death for log in logs] == [3] * 50


def test_a_function_sends_a_request_with_a_child_of_the_trace_in_progress(server: ti.Server) -> None:
    require(SPAWN)
    current: list[Trace] = []

    def call(x: Any) -> Any:
        request = make_request(server)
        server.capi.infer_async(request, current.pop().spawn_child_trace())
        address, size = response_to(request).output(0)[3:5]
        return np.frombuffer(ctypes.string_at(address, size), np.float32) + x

    server.add_model(call, name="caller", **SPECS)
    with no_collector():
        user, log, gone = watched()
        trace = make_trace(user)
        number = trace.id
        current.append(trace)
        del user
        infer(server, trace, "caller")
        del trace
        wait_until(lambda: gone() is None)
    server.remove_model("caller")
    assert log.releases_at_death == 2
    assert sorted(log.models.values()) == [("caller", 0), ("echo", number)]


# -- misuse and failures -----------------------------------------------------------------------------------------------


def test_a_trace_is_for_one_request(server: ti.Server) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        entered.set()
        go_on.wait(30)
        return x

    server.add_model(wait, name="waits", **SPECS)
    user = User()
    trace = make_trace(user)
    first, second = make_request(server, "waits"), make_request(server)
    try:
        server.capi.infer_async(first, trace)
        assert entered.wait(30)
        with pytest.raises(ti.UnavailableError):
            server.capi.infer_async(second, trace)
    finally:
        go_on.set()
    response_to(first)
    wait_until(lambda: user.log.releases)
    with pytest.raises(ti.UnavailableError):
        server.capi.infer_async(second, trace)
    server.capi.infer_async(second)  # it is as it was
    response_to(second)
    assert user.log.releases == [trace.id]
    assert set(user.log.told(trace.id)) == TIMESTAMPS
    del first
    server.remove_model("waits")


def test_a_trace_that_is_refused_with_a_request_in_flight_can_be_sent_with_another(server: ti.Server) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        entered.set()
        go_on.wait(30)
        return x

    server.add_model(wait, name="waits", **SPECS)
    user = User()
    trace = make_trace(user)
    request = make_request(server, "waits")
    try:
        server.capi.infer_async(request)
        assert entered.wait(30)
        with pytest.raises(ti.UnavailableError, match="in flight"):
            server.capi.infer_async(request, trace)
    finally:
        go_on.set()
    response_to(request)
    del request
    server.remove_model("waits")
    assert trace.parent_id == 0
    try:
        infer(server, trace)
    except ti.UnavailableError:  # "the trace is gone" is an answer, too
        return
    wait_until(lambda: user.log.releases)


def test_what_is_no_trace_is_refused(server: ti.Server) -> None:
    request = make_request(server)
    for wrong in (1, "trace", object(), request):
        with pytest.raises(TypeError):
            server.capi.infer_async(request, wrong)  # type: ignore[arg-type]
    server.capi.infer_async(request=request, trace=None)
    response_to(request)


@pytest.mark.parametrize("names", [("wrong",), (), ("x", "another")], ids=["wrong name", "missing input", "one more"])
@pytest.mark.parametrize("callbacks", [False, True])
def test_a_failed_submission_deletes_the_trace_once(server: ti.Server, names: tuple[str, ...], callbacks: bool) -> None:
    with no_collector():
        user, log, gone = watched()
        other, other_log, other_gone = watched()
        request = make_request(server, names=names)
        if callbacks:
            request.set_release_callback(lambda *told: log.tensors.append(told), other)
            request.set_response_callback(None, other, lambda *told: log.tensors.append(told), other)
        trace = Trace(Level.TIMESTAMPS | Level.TENSORS, 5, on_activity, on_tensor, on_release, user)
        number = trace.id
        del user, other
        for _ in range(2):
            with pytest.raises(ti.InvalidArgumentError if _ == 0 else ti.UnavailableError):
                server.capi.infer_async(request, trace)
        wait_until(lambda: gone() is None)
        assert len(log.releases) <= 1
        assert (trace.id, trace.parent_id) == (number, 5)
        with pytest.raises((ti.UnavailableError, ti.UnsupportedError)):
            trace.report_activity(1, "x")
        with pytest.raises((ti.UnavailableError, ti.UnsupportedError)):
            trace.spawn_child_trace()
        del trace
        assert log.tensors == []
        if callbacks:
            assert other_gone() is not None
            del request
            wait_until(lambda: other_gone() is None)
    assert other_log.releases == []


def test_a_request_is_good_after_a_failed_submission_with_a_trace(server: ti.Server) -> None:
    user = User()
    request = make_request(server, names=("wrong",))
    for _ in range(100):
        with pytest.raises(ti.InvalidArgumentError):
            server.capi.infer_async(request, make_trace(User(), Level.DISABLED))
    request.remove_all_inputs()
    request.add_input("x", capi.TRITONSERVER_DataType.FP32, X.shape)
    request.append_input_data("x", X.ctypes.data, X.nbytes, capi.TRITONSERVER_MemoryType.CPU, 0)
    server.capi.infer_async(request, make_trace(user))
    response_to(request)
    wait_until(lambda: user.log.releases)


def test_a_failed_submission_of_a_child_leaves_its_parent_alone(server: ti.Server) -> None:
    require(SPAWN)
    user, log, gone = watched()
    root = make_trace(user)
    del user
    child = root.spawn_child_trace()
    with pytest.raises(ti.InvalidArgumentError):
        server.capi.infer_async(make_request(server, names=()), child)
    before = len(log.releases)
    assert gone() is not None
    infer(server, root)
    wait_until(lambda: gone() is None)
    assert log.releases[before:] == [root.id]


def test_a_stopped_server_refuses_a_trace_with_its_request(runtime: ti.runtime.Runtime) -> None:
    user, log, gone = watched()
    trace = make_trace(user)
    del user
    with ti.Server(metrics=False) as stopped:
        stopped.add_model(lambda x: x, name="echo", **SPECS)
        request, native = make_request(stopped), stopped.capi
    with pytest.raises(ti.UnavailableError):
        native.infer_async(request, trace)
    del trace
    wait_until(lambda: gone() is None)
    assert log.releases == []


# -- exceptions --------------------------------------------------------------------------------------------------------


def test_exceptions_of_the_functions_go_to_unraisablehook(server: ti.Server, unraisable: list[BaseException]) -> None:
    class Mine(Exception):
        pass

    def fail(*arguments: Any) -> None:
        raise Mine(len(arguments))

    infer(server, Trace(Level.TIMESTAMPS | Level.TENSORS, 0, fail, fail, fail, None))
    wait_until(lambda: any(error.args == (2,) for error in unraisable))
    assert all(isinstance(error, Mine) for error in unraisable)
    counts = [error.args[0] for error in unraisable]
    assert counts.count(4) == len(TIMESTAMPS)
    assert counts.count(10) >= 2
    assert counts.count(2) == 1
    infer(server, None)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_other_exceptions_do_not_end_the_process(
    server: ti.Server, unraisable: list[BaseException], error: type[BaseException]
) -> None:
    def fail(*arguments: Any) -> None:
        raise error

    infer(server, Trace(Level.TIMESTAMPS, 0, fail, fail, None))
    wait_until(lambda: len(unraisable) == len(TIMESTAMPS) + 1)
    assert {type(each) for each in unraisable} == {error}


def test_functions_of_the_wrong_arity(server: ti.Server, unraisable: list[BaseException]) -> None:
    infer(server, Trace(Level.TIMESTAMPS, 0, lambda: None, lambda: None, None))  # type: ignore[arg-type,misc]
    wait_until(lambda: len(unraisable) == len(TIMESTAMPS) + 1)
    assert {type(each) for each in unraisable} == {TypeError}


# -- lifetime ----------------------------------------------------------------------------------------------------------


def test_a_trace_that_was_never_sent_frees_its_functions(runtime: ti.runtime.Runtime) -> None:
    with no_collector():
        user, log, gone = watched()

        def function(*arguments: Any) -> None:
            log.releases.append(1)

        alive = weakref.ref(function)
        trace = Trace(Level.TIMESTAMPS, 0, function, function, function, user)
        del user, function
        assert gone() is not None
        del trace
        assert (gone(), alive()) == (None, None)
        assert log.releases == []


def test_cycles_through_the_user_object_are_collected(runtime: ti.runtime.Runtime) -> None:
    gone = []
    for make in (
        lambda user: Trace(0, 0, on_activity, on_release, user),
        lambda user: Trace(0, 0, lambda *_: user, on_release, None),
        lambda user: Trace(0, 0, on_activity, lambda *_: user, None),
        lambda user: Trace(0, 0, on_activity, lambda *_: user, on_release, None),
    ):
        user = User()
        user.trace = make(user)  # type: ignore[attr-defined,no-untyped-call]
        gone.append(weakref.ref(user))
    del user, make
    gc.collect()
    assert [reference() for reference in gone] == [None] * 4


def test_cycles_through_children_that_were_not_sent_are_collected(runtime: ti.runtime.Runtime) -> None:
    require(SPAWN)
    user = User()
    gone = weakref.ref(user)
    root = make_trace(user)
    user.traces = [root, root.spawn_child_trace()]  # type: ignore[attr-defined]
    del user, root
    gc.collect()
    assert gone() is None


def test_a_cycle_is_not_collected_in_flight_but_freed_by_the_release(server: ti.Server) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        entered.set()
        go_on.wait(30)
        return x

    server.add_model(wait, name="waits", **SPECS)
    user, log, gone = watched()
    trace = make_trace(user)
    user.trace = trace  # type: ignore[attr-defined]
    request = make_request(server, "waits")
    try:
        server.capi.infer_async(request, trace)
        del user, trace
        assert entered.wait(30)
        for _ in range(3):
            gc.collect()
        assert gone() is not None
    finally:
        go_on.set()
    response_to(request)
    with no_collector():
        wait_until(lambda: gone() is None)
    assert log.releases_at_death == 1
    assert set(log.told(log.releases[0])) == TIMESTAMPS
    del request
    server.remove_model("waits")


def test_a_released_trace_in_the_callbacks_own_hands(server: ti.Server) -> None:
    kept: list[Trace] = []
    released = threading.Event()

    def release(trace: Trace, user: Any) -> None:
        kept.append(trace)
        released.set()

    trace = Trace(Level.TIMESTAMPS, 9, lambda trace, *_: kept.append(trace), release, None)
    infer(server, trace)
    assert released.wait(30)
    assert {(each.id, each.parent_id, each.model_name) for each in kept} == {(trace.id, 9, "echo")}
    for each in kept:
        with pytest.raises(ti.UnavailableError):
            server.capi.infer_async(make_request(server), each)


def test_a_trace_cannot_be_copied_by_pickle(runtime: ti.runtime.Runtime) -> None:
    import copy
    import pickle

    trace = make_trace(User())
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            attempt(trace)


def test_a_trace_without_init_is_an_error(runtime: ti.runtime.Runtime) -> None:
    with pytest.raises((TypeError, RuntimeError)), pytest.warns(RuntimeWarning):
        Trace.__new__(Trace).id  # noqa: B018


# -- old runtimes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("use", "function"),
    [
        (lambda trace: trace.request_id, REQUEST_ID),
        (lambda trace: trace.spawn_child_trace(), SPAWN),
        (lambda trace: trace.context, CONTEXT),
        (lambda trace: setattr(trace, "context", "x"), "TRITONSERVER_InferenceTraceSetContext"),
        (lambda trace: trace.report_activity(1, "x"), REPORT),
    ],
)
@pytest.mark.parametrize("sent", [False, True])
def test_what_the_runtime_lacks(server: ti.Server, use: Callable[[Trace], object], function: str, sent: bool) -> None:
    user = User()
    trace = make_trace(user)
    if capi.available(function):
        assert function not in ti.runtime.load().missing_functions
        use(trace)
        return
    if sent:
        infer(server, trace)
        wait_until(lambda: user.log.releases)
        if function not in (REQUEST_ID, CONTEXT):
            with pytest.raises((ti.UnsupportedError, ti.UnavailableError)):
                use(trace)
            return
    with pytest.raises(ti.UnsupportedError, match=f"{function}.*C API"):
        use(trace)


# -- nothing grows -----------------------------------------------------------------------------------------------------


def test_two_thousand_traced_requests_from_four_threads(server: ti.Server) -> None:
    user = User()
    array = X
    released = [0]

    def count(trace: Trace, user: User) -> None:
        released[0] += 1

    def nothing(*arguments: Any) -> None:
        pass

    def hammer(number: int) -> None:
        request = make_request(server)
        for _ in range(number):
            level = Level.TIMESTAMPS | Level.TENSORS
            server.capi.infer_async(request, Trace(level, 0, nothing, nothing, count, user))
            response_to(request)

    def round_of(number: int) -> None:
        released[0] = 0
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(hammer, [number] * 4))
        wait_until(lambda: released[0] == 4 * number)

    round_of(100)
    with no_collector():
        wait_until(lambda: sys.getrefcount(user) == 2)  # the name and the argument
        counts = [sys.getrefcount(each) for each in (user, array, nothing, count)]
        before = resident_bytes()
        round_of(500)
        wait_until(lambda: [sys.getrefcount(each) for each in (user, array, nothing, count)] == counts, 5)
        assert resident_bytes() - before < 8 << 20
