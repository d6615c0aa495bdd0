"""The end of servers and of the interpreter with capi's objects in whatever state; each in a process of its own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from conftest import write_identity, write_model
from helpers_lifetime import Result, finish, interpreters, run_script, start_script

USABLE, _ = interpreters()


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


CAPI = """
import concurrent.futures, ctypes
from triton_inprocess import capi
ti.runtime.open_forwarder()
CPU, FP32 = capi.TRITONSERVER_MemoryType.CPU, capi.TRITONSERVER_DataType.FP32
Level = capi.TRITONSERVER_InferenceTraceLevel

def options(*models, exit_timeout=10):
    made = capi.TRITONSERVER_ServerOptions()
    made.set_model_repository_path(os.environ["TEST_REPOSITORY"])
    made.set_backend_directory(os.environ["TEST_BACKENDS"])
    made.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.EXPLICIT)
    for model in models:
        made.set_startup_model(model)
    made.set_exit_timeout(exit_timeout)
    made.set_metrics(False)
    made.set_log_info(False)
    made.set_log_warn(False)
    made.set_log_error(False)
    return made

def serve(*models, **more):
    return capi.TRITONSERVER_Server(options(*(models or ("fast", "slow")), **more))

def make(server, model="slow", name="INPUT0"):
    request = capi.TRITONSERVER_InferenceRequest(server, model, -1)
    request.add_input(name, FP32, X.shape)
    request.append_input_data(name, X.ctypes.data, X.nbytes, CPU, 0)
    return request

def send(server, model="slow", trace=None, name="INPUT0"):
    request = make(server, model, name)
    server.infer_async(request, trace)
    return request

def future_of(request):
    future = concurrent.futures.Future()
    request.get_next_response(future)
    return future

def result_of(request):
    response, flags = future_of(request).result(20)
    response.throw_if_response_error()
    (_, _, shape, address, size, *_) = response.output(0)
    return np.frombuffer(ctypes.string_at(address, size), np.float32).reshape(shape)

def tracer(user=None, log=None):
    note = (lambda *arguments: None) if log is None else (lambda *arguments: log.append(len(arguments)))
    return capi.TRITONSERVER_InferenceTrace(Level.TIMESTAMPS | Level.TENSORS, 0, note, note, note, user)

blocks = {}
def allocate(allocator, name, size, memory_type, memory_type_id, user):
    block = ctypes.create_string_buffer(max(size, 1))
    blocks[ctypes.addressof(block)] = block
    return ctypes.addressof(block), None, CPU, 0
def free(allocator, address, user, size, memory_type, memory_type_id):
    del blocks[address]
def allocator_of():
    return capi.TRITONSERVER_ResponseAllocator(allocate, free)
"""


# The oldest and the newest: test_shutdown.py looks at all of them.
CHOSEN = {version: USABLE[version] for version in sorted({min(USABLE, key=_number), max(USABLE, key=_number)})}


@pytest.fixture(params=list(CHOSEN.values()), ids=list(CHOSEN))
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", autouse=True)
def environment(identity_backend: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where the scripts find models: `fast`, `slow` (0.3 s), `long` (1.5 s), `stuck` (30 s), `stream` and `broken`."""
    repository = tmp_path_factory.mktemp("models")
    write_identity(repository, "fast")
    write_identity(repository, "slow", parameters={"delay_us": 300_000})
    write_identity(repository, "long", parameters={"delay_us": 1_500_000})
    write_identity(repository, "stuck", parameters={"delay_us": 30_000_000})
    write_identity(repository, "stream", parameters={"delay_us": 50_000, "responses": 4}, decoupled=True)
    write_model(repository, "broken", 'name: "broken" backend: "there is none"')
    return {"TEST_REPOSITORY": str(repository), "TEST_BACKENDS": str(identity_backend)}


@pytest.fixture
def run(python: str, environment: dict[str, str]) -> Script:
    return Script(python, environment)


@pytest.fixture
def run_here(environment: dict[str, str]) -> Script:
    """For what does not depend on the version of Python."""
    return Script(next(iter(USABLE.values())), environment)


class Script:
    def __init__(self, python: str, environment: dict[str, str]) -> None:
        self.python = python
        self.environment = environment

    def __call__(self, source: str, timeout: float = 20.0) -> Result:
        return run_script(CAPI + source, self.python, environment=self.environment, timeout=timeout)


def quiet(result: Result, within: float = 6.0, status: int = 0) -> Result:
    """Asserts that a script ended well, in time and without a word."""
    result.check(status=status, within=within)
    assert complaints(result) == [], result.errors
    return result


def complaints(result: Result) -> list[str]:
    return [line for line in result.errors.splitlines() if "NVML" not in line]


# -- servers end while requests are in flight --------------------------------------------------------------------------


def test_stop_waits_for_requests_in_flight(run: Script) -> None:
    source = """
server = serve()
told = []
requests = [send(server) for _ in range(2)]
futures = [future_of(request) for request in requests]
trace = tracer(log=told)
requests.append(send(server, "fast", trace))
began = time.monotonic()
server.stop()
assert time.monotonic() - began < 5
for future in futures:
    response, flags = future.result(1)
    response.throw_if_response_error()
assert told.count(2) == 1
server.stop()
for use in (server.is_live, lambda: make(server), lambda: send(server), lambda: server.infer_async(requests[0])):
    try:
        use()
    except ti.UnavailableError:
        continue
    raise AssertionError(use)
print("done")
"""
    assert quiet(run(source)).output == "done\n"


def test_stop_that_takes_longer_than_the_exit_timeout(run: Script) -> None:
    source = """
server = serve("stuck", exit_timeout=1)
request = send(server, "stuck")
began = time.monotonic()
try:
    server.stop()
except ti.InternalError as error:
    print(time.monotonic() - began)
try:
    server.stop()
except ti.UnavailableError as error:
    print("left behind" in str(error))
"""
    result = quiet(run(source))
    assert float(result.output.split()[0]) < 4
    assert result.output.split()[1] == "True"


def test_the_last_reference_dropped_while_requests_are_in_flight(run: Script) -> None:
    source = """
server = serve("slow", "stream")
told = []
request = make(server)
request.set_response_callback(allocator_of(), 1, lambda response, flags, user: told.append((user, flags)), 2)
request.set_release_callback(lambda request, flags, user: told.append((user, flags)), 3)
server.infer_async(request, tracer(log=told))
other = send(server, "stream")
answers = [future_of(other) for _ in range(2)]
alive = weakref.finalize(server, told.append, "stopped")
del server
assert told[-1] == "stopped", told
assert (2, 1) in told and (3, 1) in told and told.count(2) == 1, told
assert all(answer.result(1)[0] is not None for answer in answers)
del request, other, answers
wait_until(lambda: not blocks)
print("done")
"""
    assert quiet(run(source)).output == "done\n"


def test_the_last_reference_dropped_while_a_request_is_stuck(run: Script) -> None:
    source = """
server = serve("stuck", exit_timeout=1)
request = send(server, "stuck", tracer())
del server, request
print("done")
"""
    result = run(source).check(within=6)
    assert result.output == "done\n"
    assert result.errors.count("RuntimeWarning") == 1, result.errors


def test_nothing_but_a_request_in_flight_is_left(run: Script) -> None:
    source = """
def start():
    server = serve()
    request = send(server)
    return future_of(request)
future = start()
assert future.result(10)[0].output_count == 1
"""
    quiet(run(source))


# -- the interpreter ends ----------------------------------------------------------------------------------------------

EVERYTHING = {
    "server": "serve('fast', 'slow', 'stream')",
    "second": "serve('fast')",
    "used": "options('fast')",
    "unsent": "make(server, 'fast')",
    "sent": "send(server, 'slow')",
    "half_read": "send(server, 'stream')",
    "waiting": "future_of(sent)",
    "kept": "future_of(send(server, 'fast')).result(10)[0]",
    "allocator": "allocator_of()",
    "with_allocator": "make(server, 'fast')",
    "trace": "tracer()",
    "traced": "send(server, 'slow', tracer([server] if SERVER_IN_TRACE else None))",
    "cyclic": "[]",
    "family": "capi.TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.COUNTER, 'a_counter', 'text')",
    "metric": "capi.TRITONSERVER_Metric(family, [capi.TRITONSERVER_Parameter('label', 'value')])",
    "parameter": "capi.TRITONSERVER_Parameter('a', b'bytes')",
    "message": "capi.TRITONSERVER_Message('{}')",
    "metadata": "server.metadata()",
    "attributes": "capi.TRITONSERVER_BufferAttributes()",
    "error": "ti.InternalError('kept')",
}

AFTERWARDS = """
with_allocator.set_response_callback(allocator, server, lambda *arguments: None, with_allocator)
with_allocator.set_release_callback(lambda *arguments: None, [allocator])
server.infer_async(with_allocator)
cyclic += [cyclic, server, sent, trace, allocator]
metric.increment(1)
"""


@pytest.mark.parametrize("order", ["as made", "reversed"])
@pytest.mark.parametrize("server_in_trace", [False, True])
def test_exit_with_everything_in_module_globals(run: Script, order: str, server_in_trace: bool) -> None:
    source = f"SERVER_IN_TRACE = {server_in_trace}\n"
    source += "".join(f"{name} = {value}\n" for name, value in EVERYTHING.items()) + AFTERWARDS
    if order == "reversed":
        # The interpreter clears a module's names in the order in which they were made.
        for name in reversed(EVERYTHING):
            source += f"moved = {name}; del {name}; {name} = moved; del moved\n"
    quiet(run(source), within=8)


def test_exit_with_everything_in_another_module_and_a_cycle(run: Script) -> None:
    source = "SERVER_IN_TRACE = True\n"
    source += "".join(f"{name} = {value}\n" for name, value in EVERYTHING.items()) + AFTERWARDS
    source += """
import types
other = types.ModuleType("other")
sys.modules["other"] = other
for name in list(globals()):
    if not name.startswith("__") and name not in ("other", "sys"):
        setattr(other, name, globals()[name])
        if name not in ("X", "blocks", "allocate", "free", "CPU", "ctypes"):
            del globals()[name]
other.myself = other
"""
    quiet(run(source), within=8)


def test_exit_with_two_stopped_and_one_live_server(run: Script) -> None:
    source = """
a, b, c = serve("fast"), serve("fast"), serve("fast")
requests = [make(each, "fast") for each in (a, b, c)]
b.stop()
a.stop()
c.infer_async(requests[2])
"""
    quiet(run(source))


@pytest.mark.parametrize("what", ["response", "release", "trace", "alloc"])
@pytest.mark.parametrize("how", ["time.sleep(0.5)", "threading.Event().wait()"], ids=["sleeps", "waits for ever"])
def test_exit_while_a_callback_is_blocked_on_a_thread_of_tritons(run: Script, what: str, how: str) -> None:
    source = f"""
server = serve(exit_timeout=1)
entered = threading.Event()
finished = []
def block(*arguments):
    if threading.current_thread() is threading.main_thread():
        return  # the beginning of a trace
    entered.set()
    {how}
    finished.append(1)
def nothing(*arguments):
    pass
def blocking_alloc(*arguments):
    block()
    return allocate(*arguments)
request = make(server)
WHAT = {what!r}
allocator = capi.TRITONSERVER_ResponseAllocator(blocking_alloc if WHAT == "alloc" else allocate, free)
request.set_response_callback(allocator, None, block if WHAT == "response" else nothing, None)
request.set_release_callback(block if WHAT == "release" else nothing, None)
trace = tracer()
if WHAT == "trace":
    trace = capi.TRITONSERVER_InferenceTrace(Level.TIMESTAMPS, 0, nothing, block, None)
server.infer_async(request, trace)
assert entered.wait(10)
"""
    result = run(source)
    if "sleep" in how:
        quiet(result)
    else:
        # What cannot be stopped is left behind, with a warning; a release that waits keeps nothing from ending.
        result.check(within=6)
        assert result.errors.count("RuntimeWarning") <= 1, result.errors
        assert all("RuntimeWarning" in line or line.startswith("  ") for line in complaints(result)), result.errors


def test_exit_while_callbacks_come_all_the_time(run: Script) -> None:
    source = """
server = serve("fast")
count = [0]
def again(request, flags, user):
    count[0] += 1
    threading.Thread(target=follow, args=(request,), daemon=True).start()
def follow(request):
    try:
        request.id = str(count[0])
        server.infer_async(request, tracer())
    except ti.UnavailableError:
        pass
for _ in range(4):
    request = make(server, "fast")
    request.set_response_callback(allocator_of(), None, lambda *arguments: None, None)
    request.set_release_callback(again, None)
    server.infer_async(request)
del request
wait_until(lambda: count[0] > 200)
"""
    for _ in range(3):
        quiet(run(source))


@pytest.mark.parametrize("raised", ["SystemExit(3)", "KeyboardInterrupt()", "ValueError('mine')"])
def test_exceptions_in_callbacks_do_not_end_the_process(run: Script, raised: str) -> None:
    source = f"""
caught = []
sys.unraisablehook = lambda report: caught.append(type(report.exc_value).__name__)
server = serve("fast")
def fail(*arguments):
    raise {raised}
request = make(server, "fast")
request.set_response_callback(None, None, fail, None)
request.set_release_callback(fail, None)
server.infer_async(request, capi.TRITONSERVER_InferenceTrace(Level.TENSORS, 0, fail, fail, fail, None))
wait_until(lambda: len(caught) >= 5)
request = make(server, "fast")
request.set_response_callback(
    capi.TRITONSERVER_ResponseAllocator(fail, fail, fail), None, lambda *arguments: caught.append(arguments[0]), None)
server.infer_async(request)
wait_until(lambda: not isinstance(caught[-1], str))
try:
    caught.pop().throw_if_response_error()
except ti.TritonError as error:
    print(error)
assert set(caught) == {{type({raised}).__name__}}, caught
assert (result_of(send(server, "fast")) == X).all()
"""
    assert quiet(run(source)).output.strip()


def test_status_of_the_main_threads_sys_exit_is_kept(run: Script) -> None:
    quiet(run("server = serve(); request = send(server, 'slow', tracer()); sys.exit(3)"), status=3)


def test_os_exit_ends_at_once(run: Script) -> None:
    source = """
server = serve("stuck", "slow")
requests = [send(server, "stuck", tracer()), send(server)]
sys.stdout.write("before")
sys.stdout.flush()
os._exit(4)
"""
    assert quiet(run(source), within=4, status=4).output == "before"


def test_os_exit_inside_a_callback(run: Script) -> None:
    source = """
server = serve("fast")
request = make(server, "fast")
request.set_response_callback(None, None, lambda *arguments: os._exit(5), None)
server.infer_async(request)
time.sleep(20)
"""
    quiet(run(source), within=4, status=5)


def test_daemon_threads_infer_at_exit(run: Script) -> None:
    source = """
server = serve("fast")
count = [0]
def hammer():
    request = make(server, "fast")
    try:
        while True:
            server.infer_async(request, tracer())
            future_of(request).result(10)
            count[0] += 1
    except ti.UnavailableError:
        pass
for _ in range(6):
    threading.Thread(target=hammer, daemon=True).start()
wait_until(lambda: count[0] > 300)
"""
    for _ in range(3):
        quiet(run(source))


def test_a_daemon_thread_waits_for_a_stuck_request_at_exit(run: Script) -> None:
    source = """
server = serve("stuck", exit_timeout=1)
sent = threading.Event()
def wait():
    future = future_of(send(server, "stuck"))
    sent.set()
    future.result()
threading.Thread(target=wait, daemon=True).start()
assert sent.wait(10)
"""
    result = run(source).check(within=6)
    assert result.errors.count("RuntimeWarning") == 1, result.errors


def test_exit_with_an_event_loop_that_waits(run: Script) -> None:
    source = """
server = serve()
async def main():
    futures = []
    for model in ("slow", "fast"):
        futures.append(asyncio.get_running_loop().create_future())
        send(server, model).get_next_response(futures[-1])
    assert (await futures[1])[0].output_count == 1
    futures[0].cancel()
asyncio.run(main())
"""
    quiet(run(source))


# -- forks -------------------------------------------------------------------------------------------------------------

FORK = """
warnings.simplefilter("ignore", DeprecationWarning)
server, slow = serve(), None
allocator, trace, used = allocator_of(), tracer(), options("fast")
response = future_of(send(server, "fast")).result(10)[0]
mine = make(server, "fast")
mine.set_response_callback(allocator, None, lambda *arguments: None, None)
family = capi.TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.COUNTER, "a_counter", "text")
metric = capi.TRITONSERVER_Metric(family, [])
message = server.metadata()
unsent = make(server, "fast")
sent = send(server, "slow", tracer())
future = future_of(sent)
child = os.fork()
if child == 0:
    CHILD
    sys.stdout.flush()
    ENDING
_, status = os.waitpid(child, 0)
print("child ended with", os.waitstatus_to_exitcode(status))
future.result(10)[0].throw_if_response_error()
assert (result_of(send(server, "fast")) == X).all()
assert (server.infer_async(unsent), (result_of(unsent) == X).all())[1]
server.stop()
print("parent fine")
"""

IN_CHILD = """
    refused = {
        "infer_async": lambda: server.infer_async(unsent),
        "infer_async with a trace": lambda: server.infer_async(unsent, trace),
        "infer_async in flight": lambda: server.infer_async(sent),
        "is_live": server.is_live, "is_ready": server.is_ready, "metadata": server.metadata,
        "model_is_ready": lambda: server.model_is_ready("fast", -1),
        "model_metadata": lambda: server.model_metadata("fast", -1),
        "model_statistics": lambda: server.model_statistics("fast", -1),
        "model_config": lambda: server.model_config("fast", -1, 1),
        "model_index": lambda: server.model_index(0),
        "model_batch_properties": lambda: server.model_batch_properties("fast", -1),
        "model_transaction_properties": lambda: server.model_transaction_properties("fast", -1),
        "metrics": server.metrics,
        "load_model": lambda: server.load_model("fast"),
        "load_model_with_parameters": lambda: server.load_model_with_parameters("fast", []),
        "unload_model": lambda: server.unload_model("fast"),
        "unload_model_and_dependents": lambda: server.unload_model_and_dependents("fast"),
        "register_model_repository": lambda: server.register_model_repository("/tmp", []),
        "unregister_model_repository": lambda: server.unregister_model_repository("/tmp"),
        "poll_model_repository": server.poll_model_repository,
        "new request": lambda: make(server, "fast"),
        "id": lambda: unsent.id, "set id": lambda: setattr(unsent, "id", "x"),
        "id in flight": lambda: sent.id,
        "add_input": lambda: unsent.add_input("y", FP32, (1,)),
        "remove_all_inputs": unsent.remove_all_inputs,
        "set_release_callback": lambda: unsent.set_release_callback(print, None),
        "set_response_callback": lambda: unsent.set_response_callback(None, None, print, None),
    }
    for name, use in refused.items():
        try:
            use()
        except ti.UnavailableError as error:
            if "fork" not in str(error) and not (name.endswith("in flight") and "in flight" in str(error)):
                print(name, "says", error)
        except ti.UnsupportedError:
            pass
        except BaseException as error:
            print(name, "raised", type(error), error)
        else:
            print(name, "raised nothing")
    harmless = [
        lambda: response.model, lambda: response.id, lambda: response.output(0), response.throw_if_response_error,
        lambda: ctypes.string_at(*response.output(0)[3:5]) == X.tobytes() or print("wrong bytes"),
        lambda: trace.id, lambda: trace.model_name, lambda: trace.context, trace.spawn_child_trace,
        lambda: message.serialize_to_json(), lambda: metric.value, lambda: metric.increment(1), lambda: metric.kind,
        sent.cancel, unsent.cancel, sent.is_cancelled, lambda: sent.get_next_response(concurrent.futures.Future()),
        lambda: allocator.set_query_function(lambda *arguments: (CPU, 0)), lambda: used.set_server_id("child"),
        lambda: tracer(), allocator_of, lambda: capi.TRITONSERVER_Message("{}"), capi.api_version,
        lambda: server.set_exit_timeout(1), server.stop,
    ]
    for use in harmless:
        try:
            use()
        except ti.TritonError:
            pass
        except BaseException as error:
            print("raised", type(error), error)
"""


@pytest.mark.parametrize("ending", ["sys.exit(7)", "os._exit(7)"])
def test_everything_touched_in_a_forked_child(run: Script, ending: str) -> None:
    result = quiet(run(FORK.replace("    CHILD", IN_CHILD).replace("ENDING", ending)))
    assert result.output == "child ended with 7\nparent fine\n"


def test_everything_dropped_in_a_forked_child(run: Script) -> None:
    child = """
    del server, allocator, trace, used, response, mine, family, metric, message, unsent, sent, future
    gc.collect()
"""
    result = quiet(run(FORK.replace("    CHILD", child).replace("ENDING", "sys.exit(7)")))
    assert result.output == "child ended with 7\nparent fine\n"


def test_multiprocessing_by_fork_beside_live_servers(run: Script) -> None:
    source = """
import multiprocessing
warnings.simplefilter("ignore", DeprecationWarning)
server = serve()
sent = send(server, "slow", tracer())
kept = future_of(send(server, "fast")).result(10)[0]
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2, -3]) == [1, 2, 3]
    pool.close()
    pool.join()
assert (result_of(sent) == X).all()
assert (result_of(send(server, "fast")) == X).all()
"""
    quiet(run(source), within=8)


# -- threads, loops, signals -------------------------------------------------------------------------------------------


def test_two_threads_and_an_event_loop_infer_on_one_model_at_once(run: Script) -> None:
    source = """
server = serve("fast")
wrong = []
def hammer():
    try:
        for number in range(200):
            assert (result_of(send(server, "fast", tracer())) == X).all()
    except BaseException as error:
        wrong.append(error)
async def one():
    request = send(server, "fast")
    future = asyncio.get_running_loop().create_future()
    request.get_next_response(future)
    response, flags = await future
    response.throw_if_response_error()
async def main():
    for _ in range(20):
        await asyncio.gather(*(one() for _ in range(10)))
threads = [threading.Thread(target=hammer) for _ in range(2)]
for thread in threads:
    thread.start()
asyncio.run(main())
for thread in threads:
    thread.join()
assert not wrong, wrong
"""
    quiet(run(source), within=8)


@pytest.mark.parametrize("own", [True, False], ids=["of its own", "of another process"])
def test_an_interrupt_ends_the_wait_for_a_future(python: str, environment: dict[str, str], own: bool) -> None:
    source = f"""
server = serve("long", "fast")
future = future_of(send(server, "long"))
if {own}:
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
print("now", flush=True)
began = time.monotonic()
try:
    future.result()
except KeyboardInterrupt:
    print(time.monotonic() - began < 1, (result_of(send(server, "fast")) == X).all(), flush=True)
assert future.result(10)[0].output_count == 1
"""
    with start_script(CAPI + source, python, environment=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n", process.communicate()[1]
        if not own:
            time.sleep(0.1)  # for the script to come from the print to the wait
            process.send_signal(2)
        result = finish(process, time.monotonic(), 20)
    assert quiet(result).output == "True True\n"


def test_an_interrupt_during_a_stop(python: str, environment: dict[str, str]) -> None:
    source = """
server = serve("stuck", exit_timeout=2)
request = send(server, "stuck")
print("now", flush=True)
try:
    server.stop()
except (KeyboardInterrupt, ti.InternalError) as error:
    print("ended")
try:
    time.sleep(0)
except KeyboardInterrupt:
    pass
"""
    with start_script(CAPI + source, python, environment=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n", process.communicate()[1]
        time.sleep(0.2)
        process.send_signal(2)
        result = finish(process, time.monotonic(), 20)
    assert result.status in (0, 1, -2), result.errors
    assert "Fatal" not in result.errors
    assert "nanobind" not in result.errors
    assert result.seconds < 8


# -- servers and callbacks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["response", "release", "trace", "alloc", "free", "future"])
def test_the_last_reference_to_a_server_dropped_inside_a_callback(run: Script, where: str) -> None:
    source = f"""
WHERE = {where!r}
holder = [serve()]
dropped = threading.Event()
gone = weakref.ref(holder[0])
def drop(*arguments):
    holder.clear()
    dropped.set()
def nothing(*arguments):
    pass
def dropping_alloc(*arguments):
    drop()
    return allocate(*arguments)
def dropping_free(*arguments):
    free(*arguments)
    drop()
request = make(holder[0])
if WHERE == "future":
    future = future_of(request)
    future.add_done_callback(drop)
    del future
else:
    allocator = capi.TRITONSERVER_ResponseAllocator(
        dropping_alloc if WHERE == "alloc" else allocate, dropping_free if WHERE == "free" else free)
    request.set_response_callback(allocator, None, drop if WHERE == "response" else nothing, None)
    request.set_release_callback(drop if WHERE == "release" else nothing, None)
trace = None
if WHERE == "trace":
    trace = capi.TRITONSERVER_InferenceTrace(Level.TIMESTAMPS, 0, nothing, drop, None)
holder[0].infer_async(request, trace)
del request, trace
assert dropped.wait(10)
wait_until(lambda: gone() is None)
other = serve("fast")
assert (result_of(send(other, "fast")) == X).all()
print("done")
"""
    assert quiet(run(source)).output == "done\n"


@pytest.mark.parametrize("kind", ["capi", "high level"])
def test_a_callback_cannot_stop_a_server(run_here: Script, kind: str) -> None:
    source = f"""
outer = ti.Server(metrics=False, exit_timeout=1).start()
outer.add_model(double, name="m", **SPECS)
server, stop = outer.capi, outer.stop
if {kind == "capi"}:
    server, stop = serve("fast"), None
    stop = server.stop
MODEL, NAME = ("fast", "INPUT0") if {kind == "capi"} else ("m", "x")
told = []
def attempt(where):
    def function(*arguments):
        try:
            stop()
            told.append((where, "stopped"))
        except ti.UnavailableError as error:
            told.append((where, "refused"))
        except BaseException as error:
            told.append((where, error))
        if where == "alloc":
            return allocate(*arguments)
    return function
request = make(server, MODEL, NAME)
request.set_response_callback(
    capi.TRITONSERVER_ResponseAllocator(attempt("alloc"), attempt("free"), attempt("start")), None,
    attempt("response"), None)
request.set_release_callback(attempt("release"), None)
trace = capi.TRITONSERVER_InferenceTrace(
    Level.TIMESTAMPS | Level.TENSORS, 0, attempt("activity"), attempt("tensor"), attempt("traced"), None)
server.infer_async(request, trace)
wait_until(lambda: {{where for where, _ in told}} == {{
    "alloc", "free", "start", "response", "release", "activity", "tensor", "traced"}})
assert {{how for _, how in told}} == {{"refused"}}, told
request = make(server, MODEL, NAME)
future = future_of(request)
future.add_done_callback(attempt("future"))
server.infer_async(request)
wait_until(lambda: told[-1][0] == "future")
assert told[-1][1] == "refused", told[-1]
assert server.is_live()
stop()
print("done")
"""
    assert quiet(run_here(source)).output == "done\n"


def test_the_last_reference_to_a_high_level_server_dropped_inside_a_callback(run_here: Script) -> None:
    source = """
holder = [start(exit_timeout=5, metrics=False)[0]]
gone = weakref.ref(holder[0])
dropped = threading.Event()
took = []
def drop(*arguments):
    began = time.monotonic()
    holder.clear()
    took.append(time.monotonic() - began)
    dropped.set()
request = make(holder[0].capi, "m", "x")
request.set_response_callback(None, None, drop, None)
holder[0].capi.infer_async(request)
del request
assert dropped.wait(10)
assert took[0] < 1, took
wait_until(lambda: gone() is None)
"""
    quiet(run_here(source))


@pytest.mark.parametrize("order", ["012", "021", "102", "120", "201", "210"])
def test_servers_of_both_levels_stopped_in_every_order(run_here: Script, order: str) -> None:
    source = f"""
high, m = start(metrics=False)
servers = [high, serve("fast"), serve("fast", "slow")]
natives = [high.capi, *servers[1:]]
kept = [future_of(send(servers[1], "fast")).result(10)[0], m.infer(inputs={{"x": X}}), send(servers[2])]
unsent = [make(servers[1], "fast"), make(high.capi, "m", "x")]
stopped = []
for number in {list(map(int, order))}:
    servers[number].stop()
    stopped.append(servers[number])
    for other, native in zip(servers, natives):
        try:
            assert native.is_live() and other not in stopped
        except ti.UnavailableError:
            assert other in stopped
assert ctypes.string_at(*kept[0].output(0)[3:5]) == X.tobytes()
again = serve("fast")
assert (result_of(send(again, "fast")) == X).all()
print("done")
"""
    assert quiet(run_here(source)).output == "done\n"


def test_the_capi_server_of_a_high_level_one_stopped_by_itself(run_here: Script) -> None:
    source = """
high, m = start(metrics=False)
native = high.capi
assert (answer(m) == X * 2).all()
native.stop()
for use in (native.is_live, lambda: answer(m), high.metadata):
    try:
        use()
    except ti.TritonError:
        continue
    raise AssertionError(use)
high.stop()
del high, m
native.stop()
"""
    quiet(run_here(source))


def test_a_high_level_server_dropped_while_its_capi_server_is_used(run_here: Script) -> None:
    source = """
high, m = start(metrics=False)
native = high.capi
del high, m
gc.collect()
try:
    print((result_of(send(native, "m", name="x")) == X * 2).all())
except ti.UnavailableError:
    print("stopped")
"""
    assert quiet(run_here(source)).output in ("True\n", "stopped\n")


# -- a start that fails ------------------------------------------------------------------------------------------------


def test_servers_that_do_not_start(run_here: Script) -> None:
    source = """
def refused(configure, *models):
    made = options(*models)
    configure(made)
    try:
        capi.TRITONSERVER_Server(made)
    except ti.TritonError as error:
        assert str(error), error
        return made
    raise AssertionError("it started")
refused(lambda made: made.set_model_repository_path("/there/is/none"))
refused(lambda made: made.set_startup_model("nowhere"))
broken = refused(lambda made: made.set_exit_on_error(True), "broken", "fast")
refused(lambda made: (made.set_rate_limiter_mode(capi.TRITONSERVER_RateLimitMode.EXEC_COUNT),
                      made.add_rate_limiter_resource("R", 1, -2), made.set_startup_model("broken")))
for wrong in (None, 1, "options"):
    try:
        capi.TRITONSERVER_Server(wrong)
    except TypeError:
        continue
    raise AssertionError(wrong)
server = capi.TRITONSERVER_Server.__new__(capi.TRITONSERVER_Server)
warnings.simplefilter("ignore", RuntimeWarning)
del server
gc.collect()
broken.set_exit_on_error(False)
server = capi.TRITONSERVER_Server(broken)
assert not server.model_is_ready("broken", -1)
assert (result_of(send(server, "fast")) == X).all()
assert server.is_live()
try:
    make(server, "broken")
except ti.TritonError:
    print("done")
"""
    assert quiet(run_here(source)).output == "done\n"


@pytest.mark.parametrize("exit_on_error", [True, False])
def test_exit_after_a_start_with_a_broken_model(run_here: Script, exit_on_error: bool) -> None:
    source = f"""
made = options("broken", "slow")
made.set_exit_on_error({exit_on_error})
try:
    server = capi.TRITONSERVER_Server(made)
    request = send(server)
except ti.TritonError:
    assert {exit_on_error}
else:
    assert not {exit_on_error}
"""
    quiet(run_here(source))


# -- Python code on Triton's threads while the interpreter ends, and the server is left behind -----------------------

LATE = """
begun = threading.Event()
def wait(*arguments):  # until the interpreter ends, and it no longer gives this thread the GIL
    begun.set()
    time.sleep(0.7)
    return False
class Slow:
    __del__ = __repr__ = __index__ = wait
class Late:  # dropped by the interpreter after it has begun to end, which gives the others time to come back
    def __del__(self, sleep=time.sleep):
        sleep(1.0)
sys.late = Late()
class Meta(type):
    __name__ = property(wait)
class OfMeta(metaclass=Meta):
    pass
class Mourned(capi.TRITONSERVER_InferenceRequest):
    __del__ = wait
def nothing(*arguments):
    pass
def collect(*arguments):
    request = make(server, "fast")
    request.set_release_callback(nothing, [request, Slow()])
    del request
    gc.collect()
def drop(*arguments):
    request = make(server, "fast")
    request.set_release_callback(nothing, Slow())
def answer(value):
    return lambda *arguments: value()
def address(value):
    return lambda *arguments: (value(), None, CPU, 0)
server = serve("fast", exit_timeout=0)
kind = (Mourned if WHERE == "request" else capi.TRITONSERVER_InferenceRequest)
request = kind(server, "fast", -1)
request.add_input("INPUT0", FP32, X.shape)
request.append_input_data("INPUT0", X.ctypes.data, X.nbytes, CPU, 0)
allocate_by = {"allocated": answer(Slow), "address": address(Slow),
               "class of the address": address(OfMeta)}.get(WHERE)
allocator = capi.TRITONSERVER_ResponseAllocator(allocate_by, nothing) if allocate_by else None
respond = {"response": answer(Slow), "collected": collect, "dropped": drop}.get(WHERE, nothing)
request.set_response_callback(allocator, None, respond, None)
if WHERE == "release":
    request.set_release_callback(answer(Slow), None)
trace = None
if WHERE == "trace":
    trace = capi.TRITONSERVER_InferenceTrace(Level.TIMESTAMPS, 0, answer(Slow), nothing, None)
server.infer_async(request, trace)
del request, trace, allocator
assert begun.wait(10)
"""


@pytest.mark.parametrize(
    "where",
    [
        "response",
        "release",
        "trace",
        "request",
        "allocated",
        "address",
        "class of the address",
        "collected",
        "dropped",
    ],
)
def test_python_code_on_a_thread_of_tritons_while_the_interpreter_ends(run_here: Script, where: str) -> None:
    result = run_here(f"WHERE = {where!r}\n{LATE}")
    result.check(within=8)
    assert "could not be stopped" in result.errors or not complaints(result)
