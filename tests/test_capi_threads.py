"""The functions given to capi run on Triton's threads: whose thread state they have, and that nobody waits for ever."""

from __future__ import annotations

import concurrent.futures
import ctypes
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, write_identity
from helpers_lifetime import Result, run_script, wait_until

import triton_inprocess as ti
from triton_inprocess import capi

CPU, FP32 = capi.TRITONSERVER_MemoryType.CPU, capi.TRITONSERVER_DataType.FP32
X = np.arange(4, dtype=np.float32)


def nothing(*_arguments: Any) -> None:
    pass


def make(server: ti.Server, model: str = "identity") -> Any:
    request = capi.TRITONSERVER_InferenceRequest(server.capi, model, -1)
    request.add_input("INPUT0", FP32, X.shape)
    request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, CPU, 0)
    return request


def send_and_wait(server: ti.Server, function: Callable[..., Any], model: str = "identity", times: int = 1) -> None:
    """Sends a request whose response callback is `function`, so many times, one after another."""
    request = make(server, model)
    done = threading.Semaphore(0)

    def respond(*arguments: Any) -> None:
        try:
            function(*arguments)
        finally:
            done.release()

    request.set_response_callback(None, None, respond, None)
    for _ in range(times):
        server.capi.infer_async(request)
        assert done.acquire(timeout=30)


def thread_states() -> int:
    """How many thread states the interpreter has."""
    api = ctypes.pythonapi
    for name in ("PyInterpreterState_Get", "PyInterpreterState_ThreadHead", "PyThreadState_Next"):
        getattr(api, name).restype = ctypes.c_void_p
    api.PyInterpreterState_ThreadHead.argtypes = [ctypes.c_void_p]
    api.PyThreadState_Next.argtypes = [ctypes.c_void_p]
    count = 0
    state = api.PyInterpreterState_ThreadHead(api.PyInterpreterState_Get())
    while state:
        count += 1
        state = api.PyThreadState_Next(state)
    return count


class Token:
    """Something to see the end of."""


@pytest.fixture
def identity(start_identity: StartServer, repository: Path) -> ti.Server:
    """A server with the identity backend's model, where no Python runs but callbacks."""
    write_identity(repository)
    return start_identity(metrics=False)


@contextmanager
def switch_interval(seconds: float) -> Iterator[None]:
    """How long a thread keeps the GIL from others that want it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


# -- thread states -----------------------------------------------------------------------------------------------------


def test_callbacks_run_on_another_thread_with_a_state_that_stays(identity: ti.Server) -> None:
    local = threading.local()
    seen: list[tuple[int, int]] = []

    def respond(*_arguments: Any) -> None:
        local.count = getattr(local, "count", 0) + 1
        seen.append((threading.get_ident(), local.count))

    send_and_wait(identity, respond, times=100)
    assert {ident for ident, _ in seen} == {seen[0][0]}
    assert seen[0][0] != threading.get_ident()
    assert [count for _, count in seen] == list(range(1, 101))
    assert not hasattr(local, "count")


def test_a_threads_locals_are_freed_when_the_thread_ends(identity: ti.Server) -> None:
    local = threading.local()
    gone: list[weakref.ref[Token]] = []

    def respond(*_arguments: Any) -> None:
        if not hasattr(local, "token"):
            local.token = Token()
            gone.append(weakref.ref(local.token))

    send_and_wait(identity, respond, times=5)
    (reference,) = gone
    assert reference() is not None
    identity.unload("identity", wait_until_unloaded=True)
    wait_until(lambda: reference() is None)


def test_the_number_of_thread_states_does_not_grow(identity: ti.Server) -> None:
    send_and_wait(identity, nothing, times=5)
    before = thread_states()
    send_and_wait(identity, nothing, times=200)
    assert thread_states() == before
    for _ in range(5):
        identity.unload("identity", wait_until_unloaded=True)
        identity.load("identity")
        send_and_wait(identity, nothing, times=5)
    wait_until(lambda: thread_states() <= before)


def test_callbacks_of_one_request_share_a_thread_state(identity: ti.Server) -> None:
    local = threading.local()
    seen: list[tuple[str, int, int]] = []
    blocks: dict[int, Any] = {}

    def note(what: str) -> None:
        local.count = getattr(local, "count", 0) + 1
        seen.append((what, threading.get_ident(), local.count))

    def allocate(*arguments: Any) -> Any:
        note("alloc")
        block = ctypes.create_string_buffer(arguments[2])
        blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block), None, CPU, 0

    def free(_allocator: Any, address: int, *_rest: Any) -> None:
        note("free")
        del blocks[address]

    released = threading.Event()

    def release(*_arguments: Any) -> None:
        note("release")
        released.set()

    request = make(identity)
    allocator = capi.TRITONSERVER_ResponseAllocator(allocate, free, lambda *_: note("start"))
    request.set_response_callback(allocator, None, lambda *_: note("response"), None)
    request.set_release_callback(release, None)
    for _ in range(20):
        released.clear()
        identity.capi.infer_async(request)
        assert released.wait(30)
    wait_until(lambda: not blocks)
    counts: dict[int, list[int]] = {}
    for _what, ident, count in seen:
        counts.setdefault(ident, []).append(count)
    assert all(each == list(range(1, len(each) + 1)) for each in counts.values()), "a thread lost its state"
    assert {what for what, _, _ in seen} == {"start", "alloc", "response", "release", "free"}


def test_callbacks_inside_the_submitting_call_run_on_its_thread(identity: ti.Server) -> None:
    local = threading.local()
    local.mine = True
    seen: list[bool] = []
    released = threading.Event()

    def activity(trace: Any, activity: Any, timestamp: int, user: Any) -> None:
        if activity == capi.TRITONSERVER_InferenceTraceActivity.REQUEST_START:
            seen.append(getattr(local, "mine", False))

    trace = capi.TRITONSERVER_InferenceTrace(
        capi.TRITONSERVER_InferenceTraceLevel.TIMESTAMPS, 0, activity, lambda *_: released.set(), None
    )
    identity.capi.infer_async(make(identity), trace)
    assert released.wait(30)
    assert seen == [True]
    assert thread_states() >= 2


# -- the GIL -----------------------------------------------------------------------------------------------------------


def test_a_callback_has_the_gil_while_other_threads_compute(identity: ti.Server) -> None:
    counter = [0]
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            counter[0] += 1

    def respond(*_arguments: Any) -> None:
        for _ in range(50):
            before = counter[0]
            counter[0] = before  # nothing comes between, for no call is made
            assert sys._getframe().f_code.co_name == "respond"

    threads = [threading.Thread(target=compute) for _ in range(2)]
    with switch_interval(1e-5):
        for thread in threads:
            thread.start()
        try:
            send_and_wait(identity, respond, times=50)
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def test_a_sub_interpreter_does_not_confuse_callbacks(runtime: ti.runtime.Runtime) -> None:
    source = """
import ctypes, concurrent.futures
from triton_inprocess import capi
# As an embedding program does: CPython's own check of the GIL says yes to everybody from then on.
ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
ctypes.pythonapi.Py_NewInterpreter.restype = ctypes.c_void_p
ctypes.pythonapi.PyThreadState_Swap.argtypes = [ctypes.c_void_p]
main = ctypes.pythonapi.PyThreadState_Get()
ctypes.pythonapi.Py_NewInterpreter()
ctypes.pythonapi.PyThreadState_Swap(main)
server, model = start(metrics=False)
request = capi.TRITONSERVER_InferenceRequest(server.capi, "m", -1)
request.add_input("x", capi.TRITONSERVER_DataType.FP32, X.shape)
request.append_input_data("x", X.ctypes.data, X.nbytes, capi.TRITONSERVER_MemoryType.CPU, 0)
told = []
request.set_release_callback(lambda *arguments: told.append(1), None)
for number in range(500):
    trace = capi.TRITONSERVER_InferenceTrace(4, 0, lambda *a: told.append(2), lambda *a: told.append(3), [])
    server.capi.infer_async(request, trace)
    future = concurrent.futures.Future()
    request.get_next_response(future)
    future.result(10)[0].throw_if_response_error()
wait_until(lambda: told.count(1) == told.count(3) == 500)
print("fine", flush=True)
os._exit(0)  # ending the interpreters is the embedding program's affair
"""
    result = run_script(source, timeout=30)
    assert (result.status, result.output) == (0, "fine\n"), result.errors


def test_properties_are_read_while_a_callback_waits_for_the_gil(identity: ti.Server) -> None:
    request = make(identity)
    request.id = "mine"
    request.flags = 1
    request.timeout_microseconds = 30_000_000
    request.correlation_id = 5
    answers: list[bool] = []
    released = threading.Event()
    request.set_response_callback(None, None, lambda response, *_: answers.append(response.id == "mine"), None)
    request.set_release_callback(lambda *_: released.set(), None)
    cancel = capi.available("TRITONSERVER_InferenceRequestCancel")
    with switch_interval(0.05):
        for _ in range(15):
            released.clear()
            identity.capi.infer_async(request)
            # Long enough for the answer to come, and to wait for the GIL.
            for _ in range(5_000):
                assert (request.id, request.flags) == ("mine", 1)
                assert (request.timeout_microseconds, request.correlation_id) == (30_000_000, 5)
            if cancel:
                request.is_cancelled()
            assert released.wait(30)
    assert answers == [True] * 15


def test_changes_and_cancellation_while_a_callback_waits_for_the_gil(identity: ti.Server) -> None:
    request = make(identity)
    refusals: set[str] = set()
    cancel = capi.available("TRITONSERVER_InferenceRequestCancel")
    for number in range(30):
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        identity.capi.infer_async(request)
        request.get_next_response(future)
        with switch_interval(0.02):
            for _ in range(2_000):
                try:
                    request.id = str(number)
                    break
                except ti.UnavailableError as error:
                    refusals.add(str(error))
            if cancel:
                request.cancel()
        future.result(30)
        request.id = str(number)  # answered: the release is waited for
    assert all("in flight" in each for each in refusals)


# -- locks -------------------------------------------------------------------------------------------------------------

LOCKED = """
import concurrent.futures, ctypes, faulthandler
faulthandler.dump_traceback_later(9, exit=True)  # a deadlock ends with the line that it is in
from triton_inprocess import capi
ti.runtime.open_forwarder()
CPU, FP32 = capi.TRITONSERVER_MemoryType.CPU, capi.TRITONSERVER_DataType.FP32
def make(model="fast"):
    request = capi.TRITONSERVER_InferenceRequest(server, model, -1)
    request.add_input("INPUT0", FP32, X.shape)
    request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, CPU, 0)
    return request
def refused(function, *arguments):
    try:
        function(*arguments)
    except ti.TritonError:
        pass
options = capi.TRITONSERVER_ServerOptions()
options.set_model_repository_path(os.environ["TEST_REPOSITORY"])
options.set_backend_directory(os.environ["TEST_BACKENDS"])
options.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.EXPLICIT)
options.set_startup_model("fast")
options.set_startup_model("other")
options.set_metrics(False)
options.set_log_info(False)
options.set_log_error(False)
options.set_exit_timeout(1)
server = capi.TRITONSERVER_Server(options)
lock = threading.Lock()
WHAT = CALLBACK
waiting = threading.Event()
released, answered = threading.Event(), threading.Event()
def wait(what):
    def function(*arguments):
        if what == WHAT and threading.current_thread() is not threading.main_thread():
            waiting.set()
            with lock:
                pass
        if what == "alloc":
            block = ctypes.create_string_buffer(arguments[2])
            blocks[ctypes.addressof(block)] = block
            return ctypes.addressof(block), None, CPU, 0
        if what == "free":
            del blocks[arguments[1]]
        if what == "release":
            released.set()
        if what == "response":
            answered.set()
    return function
blocks = {}
request = make()
request.set_response_callback(
    capi.TRITONSERVER_ResponseAllocator(wait("alloc"), wait("free")), None, wait("response"), None)
request.set_release_callback(wait("release"), None)
trace = capi.TRITONSERVER_InferenceTrace(4, 0, wait("activity"), wait("traced"), None)
other = make("other")
took = {}
with lock:
    server.infer_async(request, trace)
    assert waiting.wait(10)
    actions = {
        "infer_async": lambda: server.infer_async(other),
        "infer_async on the same model": lambda: server.infer_async(make()),
        "infer_async again": lambda: refused(server.infer_async, request),
        "get_next_response": lambda: other.get_next_response(concurrent.futures.Future()),
        "get_next_response of the same": lambda: refused(request.get_next_response, concurrent.futures.Future()),
        "id": lambda: request.id,
        "set id": lambda: refused(setattr, request, "id", "x"),
        "remove_all_inputs": lambda: refused(other.remove_all_inputs),
        "set_release_callback": lambda: refused(request.set_release_callback, print, None),
        "cancel": lambda: refused(request.cancel),
        "is_cancelled": lambda: refused(request.is_cancelled),
        "trace": lambda: (trace.id, trace.model_name, trace.parent_id),
        "spawn": lambda: refused(trace.spawn_child_trace),
        "metadata": server.metadata,
        "model_statistics": lambda: server.model_statistics("fast", -1),
        "model_index": lambda: server.model_index(0),
        "is_ready": server.is_ready,
        "gc": gc.collect,
        "new request": make,
    }
    for name, action in actions.items():
        began = time.monotonic()
        action()
        took[name] = time.monotonic() - began
    ENDING
slow = {name: seconds for name, seconds in took.items() if seconds > 2}
assert not slow, slow
assert answered.wait(10) and released.wait(10)
wait_until(lambda: not blocks)
print("done", flush=True)
"""


@pytest.fixture(scope="module")
def locked(identity_backend: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Result]:
    repository = tmp_path_factory.mktemp("models")
    write_identity(repository, "fast")
    write_identity(repository, "other")
    environment = {"TEST_REPOSITORY": str(repository), "TEST_BACKENDS": str(identity_backend)}

    def run(callback: str, ending: str) -> Result:
        source = LOCKED.replace("CALLBACK", repr(callback)).replace("ENDING", ending)
        return run_script(source, environment=environment, timeout=20)

    return run


@pytest.mark.parametrize("callback", ["alloc", "response", "release", "activity", "traced"])
def test_a_callback_may_wait_for_a_lock_that_the_caller_holds(
    locked: Callable[[str, str], Result], callback: str
) -> None:
    result = locked(callback, "pass").check(within=12)
    assert result.output == "done\n"


@pytest.mark.parametrize("callback", ["alloc", "response", "release"])
def test_a_stop_ends_by_the_exit_timeout_while_a_callback_waits_for_the_callers_lock(
    locked: Callable[[str, str], Result], callback: str
) -> None:
    ending = """
    began = time.monotonic()
    refused(server.stop)
    assert time.monotonic() - began < 5
"""
    result = locked(callback, ending.strip()).check(within=12)
    assert result.output == "done\n"
