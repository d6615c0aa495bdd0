"""Callbacks in every order and at every time that Triton may choose; the fake aborts at a breach of ownership.

A process has one runtime, so each test runs an interpreter; the fake is commanded by `fake` there.
"""

from __future__ import annotations

import pytest
from fake import RunWithFake, fake_library, run_with_fake
from helpers_capi_faults import run_clean

__all__ = ["fake_library", "run_with_fake"]


def test_every_response_parameter_has_its_type_and_value(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
server = capi.TRITONSERVER_Server(options())
request = made_request(server, "parameters")
request.set_bool_parameter("bytes", False)
(response,) = complete(server, request)
Kind = capi.TRITONSERVER_ParameterType
found = [response.parameter(i) for i in range(response.parameter_count)]
assert found == [("string", Kind.STRING, "text"), ("int", Kind.INT, 1 << 40), ("bool", Kind.BOOL, True),
                 ("double", Kind.DOUBLE, 0.5)], found
assert [type(value) for *_, value in found] == [str, int, bool, float]
assert "parameter 4" in raised(ti.InvalidArgumentError, lambda: response.parameter(4))
assert response.output_count == 1

# The C API does not say how long bytes are: such a response cannot be read, and says why.
request.set_bool_parameter("bytes", True)
(response,) = complete(server, request)
assert "'bytes'" in raised(ti.UnsupportedError, response.throw_if_response_error)

request = made_request(server, "labels")
(response,) = complete(server, request)
assert [response.output_classification_label(0, i) for i in range(4)] == ["first", "second", "third", ""]
assert response.output_classification_label(0, 2**63 - 1) == ""
raised(ti.InvalidArgumentError, lambda: response.output_classification_label(1, 0))
del request, response
server.stop()
assert nothing_is_left() and fake.live("Server") == 0
""",
    )


def test_an_allocators_functions_are_asked_in_their_order(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
server = capi.TRITONSERVER_Server(options())
PINNED = capi.TRITONSERVER_MemoryType.CPU_PINNED
events, memory, user, buffer_users = [], Memory(), User(), {}

def start(allocator, given):
    events.append(("start", allocator is mine, given is user))

def query(allocator, given, name, byte_size, kind, number):
    events.append(("query", allocator is mine, given is user, name, byte_size, kind, number))
    return PINNED, 3

def alloc(allocator, name, byte_size, kind, number, given):
    events.append(("alloc", allocator is mine, given is user, name, byte_size, kind, number))
    buffer_users[name] = User()
    return memory.alloc(allocator, name, byte_size, kind, number, given)[0], buffer_users[name], CPU, 7

def attribute(allocator, name, attributes, given, buffer_user):
    events.append(("attributes", allocator is mine, given is user, name, attributes.byte_size, attributes.memory_type,
                   attributes.memory_type_id, buffer_user is buffer_users[name]))
    return attributes

def release(allocator, address, buffer_user, byte_size, kind, number):
    events.append(("release", allocator is mine, byte_size, kind, number))
    memory.release(allocator, address)

mine = capi.TRITONSERVER_ResponseAllocator(alloc, release, start)
mine.set_query_function(query)
mine.set_buffer_attributes_function(attribute)
request = made_request(server)
request.add_input("INPUT1", FP32, (0,))
done = [threading.Event(), threading.Event()]
responses = []
request.set_response_callback(mine, user, lambda *a: (events.append("response"), responses.append(a), done[0].set()),
                              None)
request.set_release_callback(lambda *a: done[1].set(), None)
server.infer_async(request)
assert all(each.wait(20) for each in done)
expected = [("start", True, True)]
for name, size in (("OUTPUT0", X.nbytes), ("OUTPUT1", 0)):
    expected += [("query", True, True, name, size, CPU, 0), ("alloc", True, True, name, size, PINNED, 3),
                 ("attributes", True, True, name, size, CPU, 7, True)]
assert events == [*expected, "response"], events
(response, flags, given), = responses
assert flags == FINAL and given is None
assert response.output(0)[6:] == (7, buffer_users["OUTPUT0"]), response.output(0)
del events[:], response, given, responses[:]
assert eventually(lambda: sorted(events) == sorted(("release", True, n, CPU, 7) for n in (X.nbytes, 0))), events

# Each may raise: the request fails, once, and is answered all the same.
def failing(*arguments):
    raise ti.NotFoundError("of mine")

for position in ("alloc", "start", "query", "attributes"):
    memory = Memory()
    made = capi.TRITONSERVER_ResponseAllocator(failing if position == "alloc" else memory.alloc, memory.release,
                                               failing if position == "start" else None)
    if position == "query":
        made.set_query_function(failing)
    if position == "attributes":
        made.set_buffer_attributes_function(failing)
    (response,) = complete(server, made_request(server), made)
    try:
        response.throw_if_response_error()
    except ti.TritonError as error:
        assert "of mine" in str(error), (position, error)
    else:
        raise AssertionError(position)
    del response, made
    assert eventually(lambda: memory.allocated == memory.released), position
del request, mine, failing
server.stop()
assert nothing_is_left() and fake.live("Server") == 0, left()
""",
    )


@pytest.mark.parametrize("order", ["RESPONSE_FIRST", "RELEASE_FIRST", "TOGETHER"])
def test_many_threads_send_at_once(run_with_fake: RunWithFake, order: str) -> None:
    run_clean(
        run_with_fake,
        f"""
server = capi.TRITONSERVER_Server(options())
fake.order(Order.{order})
fake.respond_on_own_threads()
fake.reschedule()
memory = Memory()
allocator = memory.allocator()
failed = []

def send(model, count):
    try:
        request = made_request(server, model)
        for _ in range(15):
            log = []
            responses = complete(server, request, allocator, tracer(log))
            assert len(responses) == count, (model, len(responses))
            for response in responses:
                if response is not None:
                    response.throw_if_response_error()
                    _, _, shape, address, size, *_ = response.output(0)
                    assert shape == (3,) and ctypes.string_at(address, size) == X.tobytes()
            assert eventually(lambda: log.count("released") == (3 if model == "ensemble" else 1)), (model, log)
    except BaseException as error:
        failed.append(repr(error))

work = [("identity", 1), ("decoupled", 4), ("cached", 1), ("ensemble", 1), ("identity", 1)]
threads = [threading.Thread(target=send, args=each) for each in work]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failed, failed
assert eventually(lambda: memory.allocated == memory.released), (memory.allocated, memory.released)
server.stop()
del allocator
assert nothing_is_left() and fake.live("Server") == 0, left()
""",
    )


def test_a_release_before_the_response_is_told_first(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
server = capi.TRITONSERVER_Server(options())
fake.order(Order.RELEASE_FIRST)
fake.reschedule()
user, log, done = User(), [], threading.Event()
gone = weakref.ref(user)
request = made_request(server, "decoupled")

def respond(response, flags, given):
    log.append(("response", response is None, flags, type(given)))
    if flags & FINAL:
        done.set()

def release(which, flags, given):
    log.append(("release", which is request, flags, type(given)))
    if flags & ALL:
        # Its responses are still to come.
        raised(ti.UnavailableError, lambda: setattr(which, "id", "other"))
        raised(ti.UnavailableError, lambda: server.infer_async(which))

request.set_response_callback(None, None, respond, user)
request.set_release_callback(release, user)
server.infer_async(request)
assert done.wait(20)
releases = [("release", True, RESCHEDULE, User), ("release", True, ALL, User)]
assert log == [*releases, *[("response", False, 0, User)] * 3, ("response", True, FINAL, User)], log
request.set_response_callback(None, None, respond, None)
request.set_release_callback(release, None)
del user
assert eventually(lambda: gone() is None)
del request, release
server.stop()
assert nothing_is_left() and fake.live("Server") == 0
""",
    )


@pytest.mark.parametrize("order", ["RESPONSE_FIRST", "RELEASE_FIRST"])
def test_a_cached_response_comes_inside_the_call(run_with_fake: RunWithFake, order: str) -> None:
    # The last of the two callbacks may send again, at once; the first of them may not, and is told so without waiting.
    run_clean(
        run_with_fake,
        f"""
import gc
server = capi.TRITONSERVER_Server(options())
fake.order(Order.{order})
LAST = "release" if "{order}" == "RESPONSE_FIRST" else "response"
request = made_request(server, "cached")
memory = Memory()
log, left_to_send = [], [5]

def again(what):
    log.append((what, threading.get_ident()))
    if left_to_send[0] == 0:
        return
    if what != LAST:
        begin = time.monotonic()
        assert "in flight" in raised(ti.UnavailableError, lambda: server.infer_async(request))
        assert time.monotonic() - begin < 0.9
        return
    left_to_send[0] -= 1
    server.infer_async(request)

request.set_response_callback(memory.allocator(), None, lambda *a: again("response"), None)
request.set_release_callback(lambda *a: again("release"), None)
server.infer_async(request)
# All of that came inside this call.
order = ["response", "release"] if LAST == "release" else ["release", "response"]
assert [what for what, _ in log] == order * 6, log
assert {{thread for _, thread in log}} == {{threading.get_ident()}}
assert left_to_send == [0] and fake.calls("TRITONSERVER_ServerInferAsync") == 6
assert eventually(lambda: memory.allocated == memory.released == 6)

# The same with a future, which nobody waits for elsewhere.
import concurrent.futures
other = made_request(server, "cached")
future = concurrent.futures.Future()
other.get_next_response(future)
server.infer_async(other)
response, flags = future.result(20)
response.throw_if_response_error()
del other, response, request, again, future
gc.collect()  # again, request: a cycle of the test's own
server.stop()
assert nothing_is_left() and fake.live("Server") == 0, left()
""",
    )


def test_a_stop_inside_a_callback_is_refused(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
server = capi.TRITONSERVER_Server(options())
log = []
for model in ("identity", "cached"):
    request = made_request(server, model)
    done = threading.Event()
    request.set_response_callback(None, None, lambda *a: log.append(raised(ti.UnavailableError, server.stop)), None)
    request.set_release_callback(lambda *a: (log.append(raised(ti.UnavailableError, server.stop)), done.set()), None)
    server.infer_async(request)
    assert done.wait(20)
    assert eventually(lambda: len(log) == 2)
    del log[:]
del request
server.stop()
assert nothing_is_left() and fake.live("Server") == 0
""",
    )


@pytest.mark.parametrize("order", ["RESPONSE_FIRST", "RELEASE_FIRST", "TOGETHER"])
def test_delayed_callbacks_find_what_was_dropped(run_with_fake: RunWithFake, order: str) -> None:
    run_clean(
        run_with_fake,
        f"""
server = capi.TRITONSERVER_Server(options())
fake.order(Order.{order})
fake.respond_on_own_threads()
fake.delay(150)
log, memory = [], Memory()

def send(model):
    users = [User() for _ in range(4)]
    request = made_request(server, model)
    request.set_release_callback(lambda which, flags, user: log.append(type(user)), users[0])
    request.set_response_callback(memory.allocator(), users[1],
                                  lambda response, flags, user: log.append(type(user)), users[2])
    trace = capi.TRITONSERVER_InferenceTrace(
        Level.TIMESTAMPS, 0, lambda *a: None, lambda trace, user: log.append(type(user)), users[3])
    server.infer_async(request, trace)
    return [weakref.ref(user) for user in users]

alive = send("identity") + send("ensemble")
assert all(each() for each in alive) and not log  # Triton will want them
assert eventually(lambda: len(log) == 2 * 3 + 2), log
assert set(log) == {{User}}
assert eventually(lambda: not any(each() for each in alive))
assert memory.allocated == memory.released == 2
assert nothing_is_left(), left()

# Also the server: who drops it waits for them.
alive = send("identity")
del server
assert len(log) == 8 + 3, log
assert eventually(lambda: not any(each() for each in alive))
assert nothing_is_left() and fake.live("Server") == 0, left()
""",
    )


@pytest.mark.parametrize("drop", ["FINAL_RESPONSE", "RELEASE"])
def test_callbacks_that_come_late(run_with_fake: RunWithFake, drop: str) -> None:
    # In time for the server's stop, and long after a stop that has failed.
    run_clean(
        run_with_fake,
        f"""
log = []

def send(server):
    user = User()
    request = made_request(server)
    request.set_release_callback(lambda which, flags, given: log.append(("release", type(given))), user)
    request.set_response_callback(Memory().allocator(), user,
                                  lambda response, flags, given: log.append(("response", type(given))), user)
    trace = capi.TRITONSERVER_InferenceTrace(Level.TIMESTAMPS, 0, lambda *a: None,
                                             lambda trace, given: log.append(("trace", type(given))), user)
    server.infer_async(request, trace)
    return request, weakref.ref(user)

dropped = {{"FINAL_RESPONSE": [("response", User)], "RELEASE": [("trace", User), ("release", User)]}}["{drop}"]
first = [("response", User), ("trace", User), ("release", User)]
first = [each for each in first if each not in dropped]
for in_time in (True, False):
    del log[:]
    made = options()
    made.set_exit_timeout(30 if in_time else 0)
    server = capi.TRITONSERVER_Server(made)
    del made
    fake.drop(Drop.{drop})
    request, alive = send(server)
    assert eventually(lambda: len(log) == len(first)) and log == first, log
    begin = time.monotonic()
    assert "in flight" in raised(ti.UnavailableError, lambda: setattr(request, "id", "x"))
    assert time.monotonic() - begin < 5
    if in_time:
        del request
    else:
        assert "xit timeout" in raised(ti.InternalError, server.stop)
        raised(ti.UnavailableError, server.stop)
        raised(ti.UnavailableError, request.remove_all_inputs)
        raised(ti.UnavailableError, lambda: capi.TRITONSERVER_InferenceRequest(server, "identity", -1))
        raised(ti.UnavailableError, server.is_live)
        del request
    assert alive() is not None and fake.live("InferenceRequest") == 1
    assert eventually(lambda: fake.deliver_dropped() == 1)
    assert sorted(map(str, log)) == sorted(map(str, first + dropped)), log
    assert eventually(lambda: alive() is None)
    assert nothing_is_left(), left()
    fake.drop(Drop.NOTHING)
    if in_time:
        server.stop()
        assert fake.live("Server") == 0
    del server
assert fake.live("Server") == 1  # the one that was left behind
""",
    )


def test_a_delayed_request_can_be_cancelled(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
server = capi.TRITONSERVER_Server(options())
for model in ("identity", "decoupled", "ensemble"):
    fake.reset()
    request = made_request(server, model)
    request.cancel()  # nothing to cancel
    assert fake.calls("TRITONSERVER_InferenceRequestCancel") == 0 and not request.is_cancelled()
    fake.delay(60_000)
    threads = [threading.Timer(0.05, request.cancel) for _ in range(3)]
    for thread in threads:
        thread.start()
    begin = time.monotonic()
    (response,) = complete(server, request)
    raised(ti.CancelledError, response.throw_if_response_error)
    assert time.monotonic() - begin < 15
    assert response.output_count == 0 and request.is_cancelled()
    for thread in threads:
        thread.join()
    # The next time it is a new request.
    fake.delay(0)
    response = complete(server, request)[0]
    response.throw_if_response_error()
    assert not request.is_cancelled()
# Cancelled and dropped before it is executed, with a stop that waits for it.
fake.delay(60_000)
log = []
for _ in range(5):
    request = made_request(server)
    request.set_response_callback(None, None, lambda response, flags, user: log.append(response), None)
    server.infer_async(request)
    request.cancel()
    del request
begin = time.monotonic()
server.stop()
assert time.monotonic() - begin < 4
assert len(log) == 5
for each in log:
    raised(ti.CancelledError, each.throw_if_response_error)
del log[:], each, response
assert nothing_is_left() and fake.live("Server") == 0
""",
    )


def test_a_submission_that_returns_late(run_with_fake: RunWithFake) -> None:
    # Both callbacks have come, everything is dropped and the server is stopped while the call has not returned.
    run_clean(
        run_with_fake,
        """
server = capi.TRITONSERVER_Server(options())
fake.linger(400)
both, user = [threading.Event(), threading.Event()], User()
alive = weakref.ref(user)
request = made_request(server)
request.set_response_callback(None, None, lambda *a: both[0].set(), user)
request.set_release_callback(lambda *a: both[1].set(), user)
sender = threading.Thread(target=server.infer_async, args=(request,))
sender.start()
del request, user
assert all(each.wait(20) for each in both)
assert sender.is_alive()  # as told: or this shows nothing
server.stop()
sender.join()
assert eventually(lambda: alive() is None)
assert nothing_is_left(), left()

# The next one's end deletes both.
fake.linger(0)
other = capi.TRITONSERVER_Server(options())
complete(other, made_request(other))
other.stop()
assert fake.live("Server") == 0
""",
    )


@pytest.mark.parametrize("last", [False, True])
def test_an_ensembles_traces_tell_the_same_functions(run_with_fake: RunWithFake, last: bool) -> None:
    run_clean(
        run_with_fake,
        f"""
server = capi.TRITONSERVER_Server(options())
fake.release_child_traces_last({last})
for late in (False, True):
    fake.drop(Drop.RELEASE if late else Drop.NOTHING)
    user, released, activities = User(), [], []
    alive = weakref.ref(user)
    trace = capi.TRITONSERVER_InferenceTrace(
        Level.TIMESTAMPS, 0, lambda each, activity, at, given: activities.append((each.id, str(activity), type(given))),
        lambda each, given: released.append((each.id, each.parent_id, each.model_name, each.request_id, type(given))),
        user)
    root = trace.id
    del user
    request = made_request(server, "ensemble")
    request.id = "mine"
    done = threading.Event()
    request.set_response_callback(None, None, lambda *a: done.set(), None)
    server.infer_async(request, trace)
    del request, trace
    assert done.wait(20)
    if late:
        assert alive() is not None and not released
        assert eventually(lambda: fake.deliver_dropped() == 1)
    assert eventually(lambda: len(released) == 3), released
    of_root = [each for each in released if each[0] == root]
    children = [each for each in released if each[0] != root]
    assert of_root == [(root, 0, "ensemble", "mine", User)], released
    assert [each[1:] for each in children] == [(root, model, "mine", User) for model in ("identity", "labels")]
    assert released.index(of_root[0]) == (0 if {last} else 2), released
    assert {{each[0] for each in activities}} == {{each[0] for each in released}}
    assert {{each[2] for each in activities}} == {{User}}
    assert eventually(lambda: alive() is None)
    assert eventually(lambda: fake.live("InferenceTrace") == 0)
server.stop()
assert nothing_is_left() and fake.live("Server") == 0
""",
    )
