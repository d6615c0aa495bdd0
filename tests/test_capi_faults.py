"""Every function of the C API fails, once and for ever: the error arrives, and nothing is lost or kept.

A process has one runtime, so each test runs an interpreter; the fake is commanded by `fake` there.
"""

from __future__ import annotations

import pytest
from fake import RunWithFake, fake_library, run_with_fake
from helpers_capi_faults import FUNCTIONS, run_clean

__all__ = ["fake_library", "run_with_fake"]

#: Functions whose failure nobody can be told of, with what stays alive then.
DELETIONS = {
    "TRITONSERVER_BufferAttributesDelete": "BufferAttributes",
    "TRITONSERVER_InferenceRequestDelete": "InferenceRequest",
    "TRITONSERVER_InferenceResponseDelete": "InferenceResponse",
    "TRITONSERVER_InferenceTraceDelete": "InferenceTrace",
    "TRITONSERVER_MessageDelete": "Message",
    "TRITONSERVER_MetricArgsDelete": "MetricArgs",
    "TRITONSERVER_MetricDelete": "Metric",
    "TRITONSERVER_MetricFamilyDelete": "MetricFamily",
    "TRITONSERVER_MetricsDelete": "Metrics",
    "TRITONSERVER_ResponseAllocatorDelete": "ResponseAllocator",
    "TRITONSERVER_ServerDelete": "Server",
    "TRITONSERVER_ServerOptionsDelete": "ServerOptions",
}


def test_a_session_calls_every_function(run_with_fake: RunWithFake) -> None:
    names = sorted(FUNCTIONS)
    run_clean(
        run_with_fake,
        f"""
session()
assert nothing_is_left(), left()
assert fake.live("Server") == 0
never = [name for name in {names!r} if fake.calls(name) == 0]
assert not never, never
expected = (ti.InternalError, ti.UnavailableError, ti.UnsupportedError, ti.InvalidArgumentError, ti.NotFoundError)
assert all(isinstance(error, expected) for error in failures), failures
""",
    )


@pytest.mark.parametrize("early", [True, False])
def test_a_failed_submission_lets_go_of_everything(run_with_fake: RunWithFake, early: bool) -> None:
    run_clean(
        run_with_fake,
        f"""
EARLY = {early}
server = capi.TRITONSERVER_Server(options())
for with_trace in (True, False):
    fake.reset()
    log = []
    users = {{name: User() for name in ("release", "response", "allocator", "trace")}}
    gone = [weakref.ref(user) for user in users.values()]
    memory = Memory()
    allocator = memory.allocator()
    allocators = fake.live("ResponseAllocator")
    request = made_request(server)
    request.set_release_callback(lambda *a: log.append("release"), users["release"])
    request.set_response_callback(allocator, users["allocator"], lambda *a: log.append("response"), users["response"])
    trace = capi.TRITONSERVER_InferenceTrace(
        Level.TIMESTAMPS, 0, lambda *a: None, lambda *a: log.append("trace"), users["trace"]) if with_trace else None
    if EARLY:
        fake.fail("TRITONSERVER_ServerInferAsync", code=Code.UNAVAILABLE)
    else:
        fake.fail_enqueueing()
    message = raised(ti.UnavailableError, lambda: server.infer_async(request, trace))
    assert ("as told" if EARLY else "is full") in message
    assert log == (["trace"] if with_trace and not EARLY else []), log
    assert fake.live("InferenceTrace") == 0
    assert fake.calls("TRITONSERVER_InferenceTraceDelete") == int(with_trace)
    if with_trace:
        assert isinstance(trace.id, int)
        raised(ti.UnavailableError, lambda: server.infer_async(request, trace))
        raised(ti.UnavailableError, trace.spawn_child_trace)
    # It is as before: it can be changed, and sent again.
    request.id = "again"
    del log[:]
    server.infer_async(request)
    assert eventually(lambda: sorted(log) == ["release", "response"]), log
    # Nothing but the Python objects holds the rest.
    assert eventually(lambda: memory.allocated == memory.released == 1)
    del users, request, allocator, trace
    assert eventually(lambda: not any(each() for each in gone)), gone
    assert fake.live("InferenceRequest") == 0 and fake.live("ResponseAllocator") == allocators - 1
    assert fake.calls("TRITONSERVER_InferenceRequestDelete") == 1
    assert fake.calls("TRITONSERVER_ResponseAllocatorDelete") == 1
server.stop()
assert nothing_is_left() and fake.live("Server") == 0
""",
    )


def test_a_failed_submission_holds_nothing_when_all_is_dropped_before(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
server = capi.TRITONSERVER_Server(options())

def send(early):
    users = [User() for _ in range(4)]
    request = made_request(server)
    request.set_release_callback(lambda *a: None, users[0])
    request.set_response_callback(Memory().allocator(), users[1], lambda *a: None, users[2])
    trace = capi.TRITONSERVER_InferenceTrace(Level.TIMESTAMPS, 0, lambda *a: None, lambda *a: None, users[3])
    if early:
        fake.fail("TRITONSERVER_ServerInferAsync", code=Code.UNAVAILABLE)
    else:
        fake.fail_enqueueing()
    raised(ti.UnavailableError, lambda: server.infer_async(request, trace))
    return [weakref.ref(user) for user in users]

for early in (True, False):
    gone = send(early)
    assert not any(each() for each in gone), gone
    assert left() == {}, left()
server.stop()
assert fake.live("Server") == 0
""",
    )


def test_codes_are_classes(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
classes = [ti.errors.UnknownError, ti.InternalError, ti.NotFoundError, ti.InvalidArgumentError, ti.UnavailableError,
           ti.UnsupportedError, ti.AlreadyExistsError, ti.CancelledError]
spellings = ["Unknown", "Internal", "Not found", "Invalid argument", "Unavailable", "Unsupported", "Already exists",
             "Cancelled"]
server = capi.TRITONSERVER_Server(options())
for code, kind, spelling in zip(Code, classes, spellings, strict=True):
    for function, use in {"MessageNewFromSerializedJson": lambda: capi.TRITONSERVER_Message("{}"),
                          "ServerMetadata": server.metadata,
                          "InferenceRequestNew": lambda: made_request(server)}.items():
        fake.fail(f"TRITONSERVER_{function}", code=code, message=f"{function} says \u00e9")
        assert raised(kind, use) == f"{function} says \u00e9"
    assert capi.TRITONSERVER_ErrorCodeString(kind("x")) == spelling
    assert capi.TRITONSERVER_ErrorCodeString(capi.TRITONSERVER_Error_Code(int(code))) == spelling
# A code that is none of these is not the process's end.
fake.fail("TRITONSERVER_ServerMetadata", code=99, message="odd")
try:
    server.metadata()
except ti.TritonError as error:
    assert "odd" in str(error)
else:
    raise AssertionError("no error")
server.stop()
assert nothing_is_left() and fake.live("Server") == 0
""",
    )


#: They have tests of their own: nothing works without a version, and a server that is not stopped stays.
UNFIT_FOR_EVER = {"TRITONSERVER_ApiVersion", "TRITONSERVER_ServerStop"}

#: What is asked for the package's own use, when it is not the first time.
SILENT_IF_REPEATED = {
    *(f"TRITONSERVER_InferenceTrace{each}" for each in ("Context", "Id", "ModelName", "ModelVersion", "ParentId")),
    "TRITONSERVER_InferenceTraceRequestId",  # these: what a trace that goes will still tell
    "TRITONSERVER_MessageSerializeToJson",
    "TRITONSERVER_ServerModelIndex",
    "TRITONSERVER_ServerModelStatistics",
    "TRITONSERVER_ServerUnloadModel",  # these: a stop unloads the models before
}


@pytest.mark.parametrize(("first", "count"), [(1, 1), (2, 1), (1, 0)], ids=["once", "later", "for_ever"])
def test_every_function_may_fail(run_with_fake: RunWithFake, first: int, count: int) -> None:
    names = sorted(
        name
        for name, returns in FUNCTIONS.items()
        if returns == "TRITONSERVER_Error*" and name not in DELETIONS and name not in UNFIT_FOR_EVER
    )
    assert len(names) + len(DELETIONS) + len(UNFIT_FOR_EVER) == sum(
        each == "TRITONSERVER_Error*" for each in FUNCTIONS.values()
    )
    silent = {"TRITONSERVER_ErrorNew", *(SILENT_IF_REPEATED if first > 1 else ())}
    run_clean(
        run_with_fake,
        f"""
classes = [ti.errors.UnknownError, ti.InternalError, ti.NotFoundError, ti.InvalidArgumentError, ti.UnavailableError,
           ti.UnsupportedError, ti.AlreadyExistsError, ti.CancelledError]
silent, slow = [], []
for number, name in enumerate({names!r}):
    code = list(Code)[(number + 3) % len(Code)]
    failures.clear()
    assert fake.fail(name, first={first}, count={count}, code=code, message=f"{{name}} as told"), name
    begin = time.monotonic()
    session()
    assert nothing_is_left(), (name, left())
    assert fake.live("Server") == 0, name
    if time.monotonic() - begin > 3:
        slow.append(name)
    told = [error for error in failures if f"{{name}} as told" in str(error)]
    # The fake, like Triton, gives a response the message of what an allocator's function says, not its code.
    kinds = {{classes[code], ti.InternalError}} if "BufferAttributes" in name else {{classes[code]}}
    assert {{type(error) for error in told}} <= kinds, (name, code, told)
    # As often as it was called, but for what is asked for the package's own use.
    if not told and fake.calls(name) >= {first}:
        silent.append(name)
    fake.reset()
assert not slow, slow
assert set(silent) <= {silent!r}, silent
""",
        timeout=110,
    )


def test_a_deletion_may_fail(run_with_fake: RunWithFake) -> None:
    assert {n for n, r in FUNCTIONS.items() if r == "TRITONSERVER_Error*" and n.endswith("Delete")} == set(DELETIONS)
    # A request or a response that stays holds up the stop, a metric its family: these are for the next tests.
    others = ("InferenceRequest", "InferenceResponse", "Metric")
    kinds = {n: kind for n, kind in DELETIONS.items() if kind not in others}
    run_clean(
        run_with_fake,
        f"""
def counts():
    return {{kind: fake.live(kind) for kind in [*OBJECTS, "Server"]}}

session()
assert nothing_is_left(), left()
before = counts()
for name, kind in {kinds!r}.items():
    failures.clear()
    fake.fail(name, message=f"{{name}} as told")
    session()
    before[kind] += 1
    assert eventually(lambda: counts() == before), (name, before, counts())
    assert not [error for error in failures if "as told" in str(error)], name
    fake.reset()
""",
    )


def test_a_metric_that_cannot_be_deleted_keeps_its_family(run_with_fake: RunWithFake) -> None:
    # To delete a family before its metrics is against the rules.
    run_clean(
        run_with_fake,
        """
family = capi.TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.GAUGE, "a", "b")
metric = capi.TRITONSERVER_Metric(family, [])
fake.fail("TRITONSERVER_MetricDelete")
del metric
assert fake.calls("TRITONSERVER_MetricDelete") == 1 and fake.live("Metric") == 1
del family
assert fake.live("MetricFamily") == 1 and fake.calls("TRITONSERVER_MetricFamilyDelete") == 0
""",
    )


@pytest.mark.parametrize("kind", ["InferenceRequest", "InferenceResponse"])
def test_what_cannot_be_deleted_holds_up_the_stop(run_with_fake: RunWithFake, kind: str) -> None:
    run_clean(
        run_with_fake,
        f"""
made = options()
made.set_exit_timeout(0)
server = capi.TRITONSERVER_Server(made)
fake.fail("TRITONSERVER_{kind}Delete")
complete(server, made_request(server), Memory().allocator())
assert eventually(lambda: fake.live("{kind}") == 1 and fake.calls("TRITONSERVER_{kind}Delete") == 1)
assert "xit timeout" in raised(ti.InternalError, server.stop)
raised(ti.UnavailableError, server.stop)
assert fake.live("Server") == 1 and fake.calls("TRITONSERVER_ServerDelete") == 0
""",
    )


def test_a_stop_may_fail(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
import warnings
server = capi.TRITONSERVER_Server(options())
request = made_request(server)
fake.fail("TRITONSERVER_ServerStop", code=Code.INTERNAL, message="stop as told")
assert raised(ti.InternalError, server.stop) == "stop as told"
raised(ti.UnavailableError, server.stop)
raised(ti.UnavailableError, server.is_live)
raised(ti.UnavailableError, lambda: server.infer_async(request))
del request
dropped = capi.TRITONSERVER_Server(options())
fake.fail("TRITONSERVER_ServerStop", code=Code.INTERNAL, message="stop as told")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    del dropped
assert [each.category for each in caught] == [RuntimeWarning], caught
assert "stop as told" in str(caught[0].message)
assert fake.live("Server") == 2 and fake.calls("TRITONSERVER_ServerDelete") == 0
""",
    )


@pytest.mark.parametrize("option", ["EnablePeerAccess", "ModelLoadRetryCount"])
def test_an_option_that_must_be_set_is_set(run_with_fake: RunWithFake, option: str) -> None:
    # The library leaves it to chance otherwise, and the fake ends the process of who does.
    run_clean(
        run_with_fake,
        f"""
fake.fail("TRITONSERVER_ServerOptionsSet{option}", code=Code.UNSUPPORTED, message="option as told")
assert raised(ti.UnsupportedError, options) == "option as told"
assert nothing_is_left(), left()
""",
    )


def test_a_version_that_cannot_be_told_is_no_end(run_with_fake: RunWithFake) -> None:
    run_clean(
        run_with_fake,
        """
for use in (capi.api_version, lambda: capi.available("TRITONSERVER_ServerNew"), options,
            lambda: capi.TRITONSERVER_DataTypeString(FP32)):
    fake.fail("TRITONSERVER_ApiVersion")
    assert "does not tell the version of its C API" in raised(ti.InternalError, use)
assert capi.api_version() == (1, 34)
session()
assert nothing_is_left() and fake.live("Server") == 0
""",
    )
