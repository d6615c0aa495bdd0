"""The end of the interpreter, whatever the server is doing then, on every Python that the machine has."""

from __future__ import annotations

import time

import pytest
from helpers_lifetime import Result, finish, interpreters, longest_stop, run_script, start_script

USABLE, UNUSABLE = interpreters()

pytestmark = pytest.mark.usefixtures("runtime")


@pytest.fixture(params=USABLE.values(), ids=USABLE.keys())
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(("candidate", "reason"), UNUSABLE.items() or [("none", "")])
def test_every_python_of_the_machine_can_be_tested(candidate: str, reason: str) -> None:
    print("tested:", ", ".join(f"{version} ({path})" for version, path in USABLE.items()))
    if reason:
        pytest.skip(f"{candidate}: {reason}")
    assert USABLE


# -- nothing goes on ---------------------------------------------------------------------------------------------------


def test_exit_with_a_live_server(python: str) -> None:
    run_script("server, model = start(); assert (answer(model) == X * 2).all()", python).check(within=5)


def test_exit_with_two_live_servers(python: str) -> None:
    run_script("a, m = start(); b, n = start(); answer(m); answer(n)", python).check(within=6)


def test_exit_with_a_server_that_was_never_started(python: str) -> None:
    run_script("server = ti.Server()", python).check(within=5)


def test_exit_with_a_server_in_a_reference_cycle(python: str) -> None:
    source = """
def make():
    server, model = start()
    answer(model)
    server.myself = [server]
gc.disable()
make()
"""
    run_script(source, python).check(within=5)


def test_exit_with_a_server_that_its_own_function_refers_to(python: str) -> None:
    source = """
class Service:
    def __init__(self):
        self.server, self.model = start(self.double)
    def double(self, x):
        assert self.server is not None
        return x * 2
gc.disable()
answer(Service().model)
service = Service()
answer(service.model)
"""
    run_script(source, python).check(within=6)


def test_exit_with_only_a_model_left(python: str) -> None:
    run_script("model = start()[1]; answer(model)", python).check(within=5)


def test_exit_with_everything_kept(python: str) -> None:
    source = """
kept = []
def keep(x):
    kept.append(x)
    return x * 2
server, model = start(keep)
for _ in range(10):
    (response,) = model.infer(inputs={"x": X.copy()})
    kept += [response, response.outputs["y"], response.outputs["y"].numpy(), response.outputs]
kept.append(np.from_dlpack(response.outputs["y"]))
kept.append(response.outputs["y"].__dlpack__())
kept.append(model.create_request(inputs={"x": X}))
unread = model.infer(inputs={"x": X})
read = model.infer(inputs={"x": X})
list(read)
async def main():
    return model.async_infer(inputs={"x": X}), asyncio.get_running_loop()
kept.append(asyncio.run(main()))
"""
    run_script(source, python).check(within=6)


def test_exit_with_a_request_that_was_never_sent(python: str) -> None:
    source = """
from triton_inprocess import capi
server, model = start()
request = capi.TRITONSERVER_InferenceRequest(server.capi, "m", -1)
request.add_input("x", capi.TRITONSERVER_DataType.FP32, X.shape)
request.append_input_data("x", X.ctypes.data, X.nbytes, capi.TRITONSERVER_MemoryType.CPU, 0)
"""
    run_script(source, python).check(within=5)


def test_exit_after_a_start_that_failed(python: str) -> None:
    source = """
import pathlib, tempfile
with tempfile.TemporaryDirectory() as folder:
    model = pathlib.Path(folder, "broken", "1")
    model.mkdir(parents=True)
    model.parent.joinpath("config.pbtxt").write_text('backend: "there is none"')
    server = ti.Server(model_repository=folder)
    try:
        server.start()
    except ti.TritonError:
        pass
    else:
        raise AssertionError("started")
"""
    run_script(source, python).check(within=6)


def test_exit_with_log_callback(python: str) -> None:
    source = """
lines = []
server, model = start(log_callback=lambda level, text: lines.append(text), log_info=True)
answer(model)
"""
    run_script(source, python).check(within=6)


# -- status ------------------------------------------------------------------------------------------------------------


def test_status_of_sys_exit_is_kept(python: str) -> None:
    run_script("server, model = start(); answer(model); sys.exit(3)", python).check(status=3, within=5)


def test_status_of_sys_exit_is_kept_when_the_server_is_left_behind(python: str) -> None:
    source = """
server, model = start(lambda x: time.sleep(60), exit_timeout=1)
iterator = model.infer(inputs={"x": X})
sys.exit(3)
"""
    result = run_script(source, python).check(status=3, within=6)
    assert result.errors.count("RuntimeWarning") == 1


def test_unhandled_exception_gives_status_1(python: str) -> None:
    result = run_script("server, model = start(); answer(model); raise KeyError('the reason')", python)
    assert "KeyError: 'the reason'" in result.check(status=1, within=5).errors


def test_output_before_the_end_is_not_lost(python: str) -> None:
    source = """
server, model = start(lambda x: time.sleep(60), exit_timeout=1)
unread = model.infer(inputs={"x": X})
sys.stdout.write("x" * 100_000)
sys.stderr.write("y" * 1_000)
"""
    result = run_script(source, python).check(within=6)
    assert result.output == "x" * 100_000
    assert "y" * 1_000 in result.errors


# -- requests in flight ------------------------------------------------------------------------------------------------

SLOW = """
started = threading.Event()
finished = []
def slow(x):
    started.set()
    time.sleep(0.5)
    finished.append(True)
    return x * 2
server, model = start(slow)
atexit.register(lambda: print("left", len(finished)))
"""

IN_FLIGHT = """
iterator = model.infer(inputs={"x": X})
started.wait()
"""


def test_exit_with_a_request_in_flight(python: str) -> None:
    run_script(SLOW + IN_FLIGHT, python).check(within=5)


def test_exit_with_a_request_in_flight_whose_iterator_is_gone(python: str) -> None:
    run_script(SLOW + IN_FLIGHT + "del iterator", python).check(within=5)


def test_exit_with_requests_in_the_queue(python: str) -> None:
    source = SLOW + "iterators = [model.infer(inputs={'x': X}) for _ in range(3)]"
    run_script(source, python).check(within=6)


def test_exit_by_an_exception_with_a_request_in_flight(python: str) -> None:
    run_script(SLOW + IN_FLIGHT + "raise KeyError", python).check(status=1, within=5)


BLOCKED = {
    "sleeping": "time.sleep(100)",
    "waiting for a lock": "lock = threading.Lock(); lock.acquire(); lock.acquire()",
    "waiting with a timeout": "threading.Event().wait(100)",
    "computing": "while True: pass",
    "catching everything": """
        while True:
            try:
                time.sleep(100)
            except BaseException:
                pass
            finally:
                time.sleep(100)""",
    "reading": "os.read(os.pipe()[0], 1)",
    "in a request of its own": "answer(server.model('other'))",
}


@pytest.mark.parametrize("what", BLOCKED)
def test_exit_with_a_function_that_is_blocked_longer_than_exit_timeout(python: str, what: str) -> None:
    source = f"""
started = threading.Event()
def blocked(x):
    started.set()
    {BLOCKED[what].strip()}
other_started = threading.Event()
def other(x):
    other_started.set()
    time.sleep(100)
server, model = start(blocked, exit_timeout=1)
server.add_model(other, name="other", **SPECS)
iterator = model.infer(inputs={{"x": X}})
started.wait()
if {"other" in BLOCKED[what]}:
    other_started.wait()  # a request that comes after the stop has begun is refused, and blocks nothing
"""
    result = run_script(source, python).check(within=6)
    assert result.errors.count("RuntimeWarning") == 1, result.errors


def test_exit_takes_no_longer_than_exit_timeout(python: str) -> None:
    source = """
started = threading.Event()
def blocked(x):
    started.set()
    time.sleep(100)
server, model = start(blocked, exit_timeout=4)
iterator = model.infer(inputs={"x": X})
started.wait()
"""
    # A second for the start and the looks that the library takes once a second.
    run_script(source, python).check(within=longest_stop(4) + 2.5)


def test_exit_with_a_blocked_function_where_warnings_are_errors(python: str) -> None:
    source = """
server, model = start(lambda x: time.sleep(100), exit_timeout=1)
iterator = model.infer(inputs={"x": X})
other, m = start()
time.sleep(0.1)
"""
    result = run_script(source, python, ["-W", "error"])
    # The interpreter reports what an exit handler raises; that must not cost the rest of the clean-up.
    assert result.status == 0, result.errors
    assert "Fatal" not in result.errors
    assert "nanobind" not in result.errors
    assert result.seconds < 8


def test_exit_with_a_daemon_thread_that_waits_in_infer(python: str) -> None:
    source = (
        SLOW
        + """
threading.Thread(target=answer, args=(model,), daemon=True).start()
started.wait()
"""
    )
    run_script(source, python).check(within=5)


def test_exit_with_a_daemon_thread_that_waits_for_a_blocked_function(python: str) -> None:
    source = """
started = threading.Event()
def blocked(x):
    started.set()
    time.sleep(100)
server, model = start(blocked, exit_timeout=1)
threading.Thread(target=answer, args=(model,), daemon=True).start()
started.wait()
"""
    run_script(source, python).check(within=6)


def test_exit_while_daemon_threads_infer(python: str) -> None:
    source = """
server, model = start()
count = [0]
def hammer():
    try:
        while True:
            answer(model)
            count[0] += 1
    except ti.UnavailableError:
        pass
for _ in range(8):
    threading.Thread(target=hammer, daemon=True).start()
wait_until(lambda: count[0] > 1000)
"""
    for _ in range(3):
        run_script(source, python).check(within=6)


def test_exit_while_a_daemon_thread_starts_and_stops_servers(python: str) -> None:
    source = """
count = [0]
def hammer():
    while True:
        try:
            server, model = start()
        except ti.UnavailableError:
            return
        count[0] += 1
        try:
            answer(model)
            server.stop()
        except ti.UnavailableError:
            pass
threading.Thread(target=hammer, daemon=True).start()
wait_until(lambda: count[0] > 1)
time.sleep(0.0017 * (os.getpid() % 10))
"""
    for _ in range(5):
        run_script(source, python).check(within=6)


def test_exit_while_a_daemon_thread_adds_and_removes_models(python: str) -> None:
    source = """
server, model = start()
count = [0]
def hammer():
    try:
        while True:
            answer(server.add_model(double, name="n", **SPECS))
            server.remove_model("n")
            count[0] += 1
    except ti.TritonError:
        pass
threading.Thread(target=hammer, daemon=True).start()
wait_until(lambda: count[0] > 1)
"""
    for _ in range(3):
        run_script(source, python).check(within=6)


def test_exit_while_a_daemon_thread_stops_the_server(python: str) -> None:
    source = (
        SLOW
        + IN_FLIGHT
        + """
threading.Thread(target=server.stop, daemon=True).start()
time.sleep(0.05)
"""
    )
    run_script(source, python).check(within=5)


# -- asyncio -----------------------------------------------------------------------------------------------------------


def test_exit_after_asyncio(python: str) -> None:
    source = """
server, model = start()
async def main():
    async for response in model.async_infer(inputs={"x": X}):
        assert (response.outputs["y"].numpy() == X * 2).all()
asyncio.run(main())
"""
    run_script(source, python).check(within=5)


ASYNC_IN_FLIGHT = (
    SLOW
    + """
async def wait():
    async for response in model.async_infer(inputs={"x": X}):
        pass
async def main():
    tasks = [asyncio.ensure_future(wait()) for _ in range(2)]
    await asyncio.sleep(0.05)
"""
)


def test_exit_from_inside_asyncio(python: str) -> None:
    run_script(ASYNC_IN_FLIGHT + "    sys.exit(0)\nasyncio.run(main())", python).check(within=6)


def test_status_of_sys_exit_inside_asyncio(python: str) -> None:
    run_script(ASYNC_IN_FLIGHT + "    sys.exit(3)\nasyncio.run(main())", python).check(status=3, within=6)


def test_exception_inside_asyncio(python: str) -> None:
    run_script(ASYNC_IN_FLIGHT + "    raise KeyError\nasyncio.run(main())", python).check(status=1, within=6)


def test_exit_after_asyncio_with_a_request_in_flight(python: str) -> None:
    run_script(ASYNC_IN_FLIGHT + "asyncio.run(main())", python).check(within=6)


def test_exit_with_a_loop_that_was_never_closed(python: str) -> None:
    source = (
        ASYNC_IN_FLIGHT
        + """
loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""
    )
    result = run_script(source, python)
    assert result.status == 0, result.errors  # asyncio itself complains of the tasks
    assert "nanobind" not in result.errors
    assert "Fatal" not in result.errors
    assert result.seconds < 6


def test_exit_with_an_event_loop_in_a_daemon_thread(python: str) -> None:
    source = (
        SLOW
        + """
async def wait():
    while True:
        async for response in model.async_infer(inputs={"x": X}):
            pass
threading.Thread(target=lambda: asyncio.run(wait()), daemon=True).start()
started.wait()
"""
    )
    result = run_script(source, python)
    assert result.status == 0, result.errors
    assert "nanobind" not in result.errors
    assert result.seconds < 6


def test_server_used_as_context_manager_inside_asyncio(python: str) -> None:
    source = """
async def main():
    with ti.Server() as server:
        model = server.add_model(double, name="m", **SPECS)
        async for response in model.async_infer(inputs={"x": X}):
            sys.exit(3)
asyncio.run(main())
"""
    run_script(source, python).check(status=3, within=5)


# -- the last reference ------------------------------------------------------------------------------------------------


STOPPED = """
import glob, tempfile
folders = glob.glob(tempfile.gettempdir() + f"/triton-inprocess-server-*")
print("folders", len(folders))
print("done")
"""


def run_alone(source: str, python: str, folder: object) -> Result:
    return run_script(source, python, environment={"TMPDIR": str(folder)})


def test_dropping_the_last_reference_stops_the_server(python: str, tmp_path: object) -> None:
    result = run_alone("server, model = start(); answer(model); del server, model" + STOPPED, python, tmp_path)
    assert "folders 0\ndone" in result.check(within=5).output


def test_dropping_the_last_reference_with_a_request_in_flight(python: str, tmp_path: object) -> None:
    result = run_alone(SLOW + IN_FLIGHT + "del iterator, server, model" + STOPPED, python, tmp_path)
    assert "folders 0\ndone" in result.check(within=5).output


def test_dropping_the_last_reference_with_a_blocked_function(python: str) -> None:
    source = """
started = threading.Event()
def blocked(x):
    started.set()
    time.sleep(100)
server, model = start(blocked, exit_timeout=1)
iterator = model.infer(inputs={"x": X})
started.wait()
del server, model, iterator
print("done")
"""
    assert "done" in run_script(source, python).check(within=6).output


def test_server_dropped_inside_a_generator(python: str, tmp_path: object) -> None:
    source = (
        """
def generate():
    server, model = start()
    while True:
        yield answer(model)
generator = generate()
next(generator)
del generator
"""
        + STOPPED
        + """
generator = generate()
next(generator)
"""
    )
    assert "folders 0\ndone" in run_alone(source, python, tmp_path).check(within=5).output


def test_server_dropped_inside_a_coroutine(python: str, tmp_path: object) -> None:
    source = (
        """
async def main():
    server, model = start()
    async for response in model.async_infer(inputs={"x": X}):
        pass
async def endless():
    server, model = start()
    async for response in model.async_infer(inputs={"x": X}):
        await asyncio.sleep(100)
async def both():
    await main()
    task = asyncio.ensure_future(endless())
    await asyncio.sleep(0.1)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
asyncio.run(both())
gc.collect()
"""
        + STOPPED
    )
    assert "folders 0\ndone" in run_alone(source, python, tmp_path).check(within=6).output


def test_server_dropped_by_its_own_function(python: str) -> None:
    # The last reference goes away on one of Triton's threads, which the stop would wait for.
    source = """
holder = {}
begun, alone, dropped = (threading.Event() for _ in range(3))
def drop(x):
    begun.set()
    assert alone.wait(10)
    holder.clear()
    dropped.set()
    return x
holder["server"], model = start(drop, exit_timeout=2)
iterator = model.infer(inputs={"x": X})
assert begun.wait(10)
del model, iterator
alone.set()
assert dropped.wait(10)
print("done")
"""
    result = run_script(source, python)
    assert "done" in result.check(within=6).output


def test_server_collected_during_its_own_function(python: str) -> None:
    source = """
begun, collected = threading.Event(), threading.Event()
def collect(x):
    begun.set()
    time.sleep(0.2)
    gc.collect()
    collected.set()
    return x
gc.disable()
def make():
    server, model = start(collect, exit_timeout=2)
    server.myself = server
    iterator = model.infer(inputs={"x": X})
    assert begun.wait(10)
make()
assert collected.wait(20)
print("done")
"""
    result = run_script(source, python)
    assert "done" in result.check(within=6).output


# -- exit handlers -----------------------------------------------------------------------------------------------------


def test_exit_handler_can_still_infer(python: str) -> None:
    source = """
server, model = start()
atexit.register(lambda: print(answer(model)[1]))
"""
    assert run_script(source, python).check(within=5).output == "2.0\n"


def test_exit_handler_from_before_the_import_finds_a_stopped_server(python: str) -> None:
    source = """
import subprocess
code = '''
import atexit
def late():
    try:
        model.infer(inputs={"x": X})
    except ti.UnavailableError as error:
        print(error)
atexit.register(late)
'''
prelude = PRELUDE_TEXT
exec(compile(code + prelude, "script", "exec"))
server, model = start()
"""
    source = source.replace("PRELUDE_TEXT", repr(_prelude()))
    # The import of the prelude has registered the package's handler already: a fresh interpreter is needed.
    result = run_script("sys.exit(__import__('subprocess').call([sys.executable, '-c', " + repr(source) + "]))", python)
    assert "stopped" in result.check(within=8).output


def test_exit_handler_from_before_the_import_can_join_a_thread_that_infers(python: str) -> None:
    source = (
        """
import atexit, threading
threads = []
atexit.register(lambda: [thread.join() for thread in threads])
"""
        + _prelude()
        + """
server, model = start()
def work():
    try:
        while True:
            answer(model)
    except ti.UnavailableError:
        pass
threads.append(threading.Thread(target=work, daemon=True))
threads[0].start()
time.sleep(0.05)
"""
    )
    # The import of the prelude has registered the package's handler already: a fresh interpreter is needed.
    result = run_script(
        "sys.exit(__import__('subprocess').call([sys.executable, '-c', " + repr(source) + "]))", python, timeout=20
    )
    result.check(within=8)


def _prelude() -> str:
    from helpers_lifetime import PRELUDE

    return PRELUDE


# -- signals and forks -------------------------------------------------------------------------------------------------


def interrupt(source: str, python: str, signal_number: int, timeout: float = 30.0) -> Result:
    """Runs a script that prints a line when it wants the signal; the time counts from there."""
    with start_script(source, python) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n", process.communicate()[1]
        time.sleep(0.2)  # for the script to come from the print to the wait
        started = time.monotonic()
        process.send_signal(signal_number)
        return finish(process, started, timeout)


def test_interrupt_ends_a_blocking_wait(python: str) -> None:
    source = """
def slow(x):
    time.sleep(1.5)
    return x
server, model = start(slow)
iterator = model.infer(inputs={"x": X})
began = time.monotonic()
print("now", flush=True)
try:
    next(iterator)
except KeyboardInterrupt:
    print("took", time.monotonic() - began)
    (response,) = iterator
    assert (response.outputs["y"].numpy() == X).all()
"""
    result = interrupt(source, python, 2).check(within=5)
    assert float(result.output.split()[-1]) < 0.5


def test_unhandled_interrupt_with_a_request_in_flight(python: str) -> None:
    source = (
        SLOW
        + """
print("now", flush=True)
answer(model)
"""
    )
    result = interrupt(source, python, 2)
    assert result.status == -2, result.errors  # as every Python program that Ctrl-C ends
    assert "nanobind" not in result.errors
    assert result.seconds < 4


def test_interrupt_during_the_stop(python: str) -> None:
    source = """
server, model = start(lambda x: time.sleep(100), exit_timeout=2)
iterator = model.infer(inputs={"x": X})
time.sleep(0.1)
print("now", flush=True)
try:
    server.stop()
except KeyboardInterrupt:
    print("interrupted")
"""
    result = interrupt(source, python, 2)
    assert result.status == 0, result.errors
    assert "nanobind" not in result.errors
    assert result.seconds < 8


def test_interrupt_during_the_exit(python: str) -> None:
    source = """
server, model = start(lambda x: time.sleep(100), exit_timeout=2)
iterator = model.infer(inputs={"x": X})
time.sleep(0.1)
print("now", flush=True)
"""
    result = interrupt(source, python, 2)
    assert result.status in (0, -2), result.errors
    assert "nanobind" not in result.errors
    assert "Fatal" not in result.errors
    assert result.seconds < 8


def test_terminate_ends_at_once(python: str) -> None:
    source = SLOW + IN_FLIGHT + "print('now', flush=True); time.sleep(30)"
    assert interrupt(source, python, 15).seconds < 2


FORKED = """
server, model = start()
answer(model)
(response,) = model.infer(inputs={"x": X})
tensor = response.outputs["y"]
folder = str(server._files.root)
warnings.simplefilter("ignore", DeprecationWarning)
child = os.fork()
if child == 0:
    CHILD
else:
    _, status = os.waitpid(child, 0)
    print("child ended with", os.waitstatus_to_exitcode(status))
    assert os.path.isdir(folder + "/models/m"), "the child removed the parent's files"
    assert (answer(model) == X * 2).all()
    assert (answer(server.add_model(double, name="n", **SPECS)) == X * 2).all()
"""


def test_exit_of_a_forked_child_leaves_the_parent_alone(python: str) -> None:
    result = run_script(FORKED.replace("CHILD", "sys.exit(7)"), python, timeout=20)
    assert "child ended with 7" in result.check(within=8).output


@pytest.mark.parametrize(
    "use",
    [
        "model.infer(inputs={'x': X})",
        "list(model.infer(inputs={'x': X}))",
        "server.metadata()",
        "server.models()",
        "server.add_model(double, name='child', **SPECS)",
        "server.unload('m')",
        "server.load('m')",
        "model.statistics()",
        "server.ready()",
        "server.metrics()",
        "server.poll_model_repository()",
        "model.ready()",
        "model.config()",
    ],
)
def test_use_in_a_forked_child_is_an_error(use: str) -> None:
    child = f"""
    try:
        {use}
    except ti.TritonError as error:
        print(type(error).__name__, error)
        assert "fork" in str(error)
        sys.exit(0)
    sys.exit(1)
"""
    result = run_script(FORKED.replace("CHILD", child.strip()), timeout=20)
    assert "child ended with 0" in result.check(within=8).output


def test_objects_dropped_in_a_forked_child_leave_the_parent_alone(python: str) -> None:
    child = "del server, model, response, tensor; gc.collect(); os._exit(7)"
    result = run_script(FORKED.replace("CHILD", child), python, timeout=20)
    assert "child ended with 7" in result.check(within=8).output


def test_outputs_can_be_read_in_a_forked_child(python: str) -> None:
    child = "assert (tensor.numpy() == X * 2).all(); os._exit(7)"
    result = run_script(FORKED.replace("CHILD", child), python, timeout=20)
    assert "child ended with 7" in result.check(within=8).output


def test_multiprocessing_by_fork_beside_a_live_server(python: str) -> None:
    source = """
import multiprocessing
server, model = start()
answer(model)
warnings.simplefilter("ignore", DeprecationWarning)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, -2, -3]) == [1, 2, 3]
assert (answer(model) == X * 2).all()
"""
    run_script(source, python).check(within=8)


def test_subprocess_beside_a_live_server(python: str) -> None:
    source = """
import subprocess
server, model = start()
answer(model)
assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True).stdout == b"1\\n"
assert (answer(model) == X * 2).all()
"""
    run_script(source, python).check(within=8)
