"""TRITONSERVER_Server of triton_inprocess.capi: every method, the stop, and that what blocks releases the GIL."""

from __future__ import annotations

import copy
import json
import pickle
import queue
import re
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import identity_config, write_identity, write_model
from helpers_capi_inference import (
    FLOATS,
    PATIENCE,
    Gate,
    Memory,
    Told,
    X,
    answer,
    content,
    explicit_options,
    filled,
    next_response,
    run_capi_script,
    seconds_of,
)
from helpers_lifetime import ensemble_config, wait_until

import triton_inprocess as ti
from triton_inprocess import capi

Start = Callable[..., capi.TRITONSERVER_Server]

WARM_UP = """model_warmup [ {
  name: "zeros" batch_size: 1
  inputs { key: "INPUT0" value { data_type: TYPE_FP32 dims: [ 4 ] zero_data: true } }
} ]"""


@pytest.fixture
def start(identity_backend: Path, repository: Path) -> Iterator[Start]:
    """Starts servers on `repository`; they are stopped after the test."""
    servers: list[capi.TRITONSERVER_Server] = []

    def start(*models: str, **options: Any) -> capi.TRITONSERVER_Server:
        server = capi.TRITONSERVER_Server(explicit_options(repository, identity_backend, **options))
        servers.append(server)
        for model in models:
            server.load_model(model)
        return server

    yield start
    for server in reversed(servers):
        server.stop()


def decoded(message: capi.TRITONSERVER_Message) -> Any:
    return json.loads(message.serialize_to_json())


def index_of(server: capi.TRITONSERVER_Server, flags: int = 0) -> dict[str, str | None]:
    return {entry["name"]: entry.get("state") for entry in decoded(server.model_index(flags))}


# -- every method ------------------------------------------------------------------------------------------------------


def test_a_server_says_what_it_is(start: Start) -> None:
    server = start()
    assert server.is_live() is True
    assert server.is_ready() is True
    metadata = decoded(server.metadata())
    assert metadata["name"] == "triton"
    assert metadata["version"].startswith("2.")
    assert "statistics" in metadata["extensions"]


def test_a_server_says_what_its_models_are(start: Start, repository: Path) -> None:
    write_identity(repository, "plain", versions=(1, 3))
    write_identity(repository, "batching", max_batch_size=4)
    write_identity(repository, "stream", decoupled=True)
    server = start("plain", "batching", "stream")
    assert server.model_is_ready("plain", -1) is True
    assert server.model_is_ready("plain", 3) is True
    assert server.model_is_ready("plain", 2) is False
    assert server.model_is_ready("none", -1) is False
    batch, transaction = capi.TRITONSERVER_ModelBatchFlag, capi.TRITONSERVER_ModelTxnPropertyFlag
    assert server.model_batch_properties("plain", -1) == (batch.UNKNOWN, 0)
    assert server.model_batch_properties("batching", 1) == (batch.FIRST_DIM, 0)
    assert server.model_transaction_properties("plain", -1) == (transaction.ONE_TO_ONE, 0)
    assert server.model_transaction_properties("stream", 1) == (transaction.DECOUPLED, 0)
    metadata = decoded(server.model_metadata("batching", -1))
    assert metadata["name"] == "batching"
    assert metadata["inputs"] == [{"name": "INPUT0", "datatype": "FP32", "shape": [-1, -1]}]
    assert decoded(server.model_config("batching", -1, 1))["max_batch_size"] == 4
    (statistics,) = decoded(server.model_statistics("plain", 3))["model_stats"]
    assert statistics["inference_count"] == 0
    answer(server, filled(server, "plain"))
    # It is counted a moment after the response.
    wait_until(lambda: decoded(server.model_statistics("plain", 3))["model_stats"][0]["inference_count"] == 1)
    assert len(decoded(server.model_statistics("", -1))["model_stats"]) == 3


def test_the_index_lists_models_or_only_ready_ones(start: Start, repository: Path) -> None:
    write_identity(repository, "loaded")
    write_identity(repository, "waiting")
    server = start("loaded")
    assert index_of(server) == {"loaded": "READY", "waiting": None}
    ready = capi.TRITONSERVER_ModelIndexFlag.READY
    assert index_of(server, ready) == index_of(server, 1) == {"loaded": "READY"}


def test_models_are_loaded_and_unloaded(start: Start, repository: Path) -> None:
    write_identity(repository, "m")
    server = start()
    with pytest.raises(ti.NotFoundError, match="'m'"):
        capi.TRITONSERVER_InferenceRequest(server, "m", -1)
    server.load_model("m")
    assert (content(answer(server, filled(server, "m"))) == X).all()
    server.unload_model("m")
    wait_until(lambda: not index_of(server, 1))
    assert not server.model_is_ready("m", -1)
    server.load_model("m")
    assert server.model_is_ready("m", -1)


def test_a_model_is_loaded_with_parameters(start: Start, repository: Path) -> None:
    write_identity(repository, "m")
    server = start()
    config = json.loads(
        '{"backend": "identity", "max_batch_size": 8,'
        '"input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],'
        '"output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],'
        '"instance_group": [{"kind": "KIND_CPU"}]}'
    )
    server.load_model_with_parameters("m", [capi.TRITONSERVER_Parameter("config", json.dumps(config))])
    assert server.model_batch_properties("m", -1)[0] == capi.TRITONSERVER_ModelBatchFlag.FIRST_DIM
    server.load_model_with_parameters("m", ())
    with pytest.raises(ti.TritonError):
        server.load_model_with_parameters("m", [capi.TRITONSERVER_Parameter("config", "{")])
    for wrong in ([None], [1], [("config", "{}")], "config", None, 3):
        with pytest.raises(TypeError, match="parameters"):
            server.load_model_with_parameters("m", wrong)  # type: ignore[arg-type]
    assert server.model_is_ready("m", -1)


def test_a_model_is_unloaded_with_those_that_only_it_needs(start: Start, repository: Path) -> None:
    write_model(
        repository,
        "step",
        identity_config("step").replace("INPUT0", "x").replace("OUTPUT0", "y").replace("-1", "4"),
    )
    write_model(repository, "ensemble", ensemble_config("ensemble", "step"))
    server = start("ensemble")
    assert server.model_is_ready("step", -1)
    server.unload_model("ensemble")
    wait_until(lambda: index_of(server, 1) == {"step": "READY"})
    server.load_model("ensemble")
    server.unload_model_and_dependents("ensemble")
    wait_until(lambda: not index_of(server, 1))


def test_repositories_are_registered_and_unregistered(start: Start, tmp_path: Path) -> None:
    more = tmp_path / "more"
    write_identity(more, "m")
    server = start()
    server.register_model_repository(str(more), [])
    with pytest.raises(ti.AlreadyExistsError):
        server.register_model_repository(str(more), [])
    server.load_model("m")
    server.unload_model("m")
    wait_until(lambda: not index_of(server, 1))
    server.unregister_model_repository(str(more))
    assert "m" not in index_of(server)
    with pytest.raises(ti.InvalidArgumentError):
        server.unregister_model_repository(str(more))


def test_repositories_are_registered_under_other_names(start: Start, tmp_path: Path) -> None:
    more = tmp_path / "more"
    write_identity(more, "m")
    (more / "m" / "config.pbtxt").write_text(identity_config("m").replace('name: "m"\n', ""), encoding="utf-8")
    server = start()
    server.register_model_repository(str(more), [capi.TRITONSERVER_Parameter("m", "other")])
    server.load_model("other")
    assert index_of(server) == {"other": "READY"}
    assert (content(answer(server, filled(server, "other"))) == X).all()


def test_repositories_that_are_wrong_are_refused(start: Start, tmp_path: Path) -> None:
    server = start()
    with pytest.raises(ti.InvalidArgumentError, match="nowhere"):
        server.register_model_repository(str(tmp_path / "nowhere"), [])
    with pytest.raises(ti.InvalidArgumentError, match="string"):
        server.register_model_repository(str(tmp_path), [capi.TRITONSERVER_Parameter("m", 1)])
    with pytest.raises(TypeError, match="name_mapping"):
        server.register_model_repository(str(tmp_path), [None])  # type: ignore[list-item]
    with pytest.raises(ti.InvalidArgumentError, match="repository_path"):
        server.register_model_repository("a\0b", [])


def test_a_model_of_a_repository_that_is_gone_does_not_delay_the_stop(start: Start, tmp_path: Path) -> None:
    more = tmp_path / "more"
    write_identity(more, "m")
    server = start()
    server.register_model_repository(str(more), [])
    server.load_model("m")
    server.unregister_model_repository(str(more))
    assert seconds_of(server.stop) < 0.9


def test_repositories_are_polled(identity_backend: Path, repository: Path) -> None:
    write_identity(repository, "m")
    options = explicit_options(repository, identity_backend)
    options.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.POLL)
    server = capi.TRITONSERVER_Server(options)
    assert server.model_is_ready("m", -1)
    write_identity(repository, "n")
    server.poll_model_repository()
    assert server.model_is_ready("n", -1)
    with pytest.raises(ti.UnavailableError):
        server.load_model("n")
    server.stop()


def test_only_a_polling_server_polls(start: Start) -> None:
    with pytest.raises(ti.UnavailableError):
        start().poll_model_repository()


def test_metrics_are_told(start: Start, repository: Path) -> None:
    write_identity(repository, "m")
    server = start("m")
    answer(server, filled(server, "m"))
    metrics = server.metrics()

    def counted() -> bool:  # a moment after the response
        text = metrics.formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS)
        return re.search(r'nv_inference_count\{model="m",version="1"\} [1-9]', text) is not None

    wait_until(counted)
    server.stop()
    assert isinstance(metrics.formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS), str)


def test_metrics_that_are_off_are_nothing(identity_backend: Path, repository: Path) -> None:
    source = """
options = explicit_options(REPOSITORY, BACKEND)
options.set_metrics(False)
server = capi.TRITONSERVER_Server(options)
print(repr(server.metrics().formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS)))
"""
    result = run_capi_script(source, identity_backend, repository).check(within=10)
    assert result.output == "''\n"


def test_errors_are_of_their_class_and_name_their_cause(start: Start, repository: Path) -> None:
    write_identity(repository, "broken", parameters={"fail_to_load": 1})
    server = start()
    with pytest.raises(ti.InvalidArgumentError, match="fail_to_load"):
        server.load_model("broken")
    with pytest.raises(ti.TritonError, match="nothing"):
        server.load_model("nothing")
    with pytest.raises(ti.TritonError, match="nothing"):
        server.model_metadata("nothing", -1)
    with pytest.raises(ti.NotFoundError, match="nothing"):
        server.model_batch_properties("nothing", -1)
    for method in (server.load_model, server.unload_model, server.unload_model_and_dependents):
        with pytest.raises(ti.InvalidArgumentError, match="model_name"):
            method("a\0b")
        with pytest.raises(TypeError, match="model_name"):
            method(3)  # type: ignore[arg-type]
    for question in (
        server.model_is_ready,
        server.model_metadata,
        server.model_statistics,
        server.model_batch_properties,
        server.model_transaction_properties,
    ):
        with pytest.raises(ti.InvalidArgumentError, match="model_name"):
            question("a\0b", -1)
        with pytest.raises(TypeError, match="model_version"):
            question("a", "1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="flags"):
        server.model_index(-1)


@pytest.mark.parametrize("wrong", [None, 3, "request", object()])
def test_what_is_no_request_is_a_type_error_that_names_the_argument(start: Start, wrong: Any) -> None:
    with pytest.raises(TypeError, match="request"):
        start().infer_async(wrong)


def test_what_are_no_options_is_a_type_error(runtime: ti.runtime.Runtime) -> None:
    with pytest.raises(TypeError, match="options must be TRITONSERVER_ServerOptions, not dict"):
        capi.TRITONSERVER_Server({})  # type: ignore[arg-type]


def test_a_server_that_does_not_start_says_why(identity_backend: Path, repository: Path) -> None:
    write_identity(repository, "broken", parameters={"fail_to_load": 1})
    options = explicit_options(repository, identity_backend)
    options.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.NONE)
    for _ in range(2):
        with pytest.raises((ti.InternalError, ti.InvalidArgumentError)):
            capi.TRITONSERVER_Server(options)
    options.set_exit_on_error(False)
    server = capi.TRITONSERVER_Server(options)
    assert not server.model_is_ready("broken", -1)
    server.stop()


def test_a_server_cannot_be_copied_pickled_or_made_again(start: Start, repository: Path, tmp_path: Path) -> None:
    server = start()
    for action in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            action(server)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(TypeError):
            server.__init__(explicit_options(repository, tmp_path))  # type: ignore[misc]
    assert server.is_live()


def test_the_exit_timeout_is_set_or_unsupported(start: Start) -> None:
    server = start()
    if not capi.available("TRITONSERVER_ServerSetExitTimeout"):
        with pytest.raises(ti.UnsupportedError, match="TRITONSERVER_ServerSetExitTimeout"):
            server.set_exit_timeout(5)
        return
    server.set_exit_timeout(5)
    for wrong in (-1, 2**32, "5", 1.5, None):
        with pytest.raises(TypeError):
            server.set_exit_timeout(wrong)  # type: ignore[arg-type]


def test_the_server_of_the_high_level_interface(server: ti.Server) -> None:
    assert isinstance(server.capi, capi.TRITONSERVER_Server)
    assert server.capi is server.capi is server._server
    assert server.capi.address == server._ptr() != 0
    server.add_model(lambda INPUT0: INPUT0 * 2, name="m", **FLOATS)
    assert server.capi.model_is_ready("m", -1)
    assert index_of(server.capi) == {"m": "READY"}
    assert (content(answer(server.capi, filled(server.capi, "m"))) == X * 2).all()
    kept = server.capi
    server.stop()
    with pytest.raises(ti.UnavailableError):
        kept.is_live()


def test_the_server_of_the_high_level_interface_may_be_stopped_itself(server: ti.Server) -> None:
    server.add_model(lambda INPUT0: INPUT0 * 2, name="m", **FLOATS)
    assert seconds_of(server.capi.stop) < 2
    with pytest.raises(ti.UnavailableError):
        server.metadata()
    assert seconds_of(server.stop) < 2


# -- the stop ----------------------------------------------------------------------------------------------------------


def uses_of(server: capi.TRITONSERVER_Server, request: capi.TRITONSERVER_InferenceRequest) -> list[Callable[[], Any]]:
    return [
        server.is_live,
        server.is_ready,
        server.metadata,
        server.metrics,
        server.poll_model_repository,
        lambda: server.address,
        lambda: server.model_is_ready("m", -1),
        lambda: server.model_batch_properties("m", -1),
        lambda: server.model_transaction_properties("m", -1),
        lambda: server.model_metadata("m", -1),
        lambda: server.model_statistics("m", -1),
        lambda: server.model_config("m", -1, 1),
        lambda: server.model_index(0),
        lambda: server.load_model("m"),
        lambda: server.load_model_with_parameters("m", []),
        lambda: server.unload_model("m"),
        lambda: server.unload_model_and_dependents("m"),
        lambda: server.register_model_repository("/tmp", []),
        lambda: server.unregister_model_repository("/tmp"),
        lambda: server.set_exit_timeout(1),
        lambda: server.infer_async(request),
        lambda: capi.TRITONSERVER_InferenceRequest(server, "m", -1),
    ]


def test_use_after_the_stop_is_an_error(start: Start, repository: Path) -> None:
    write_identity(repository, "m")
    server = start("m")
    request = filled(server, "m")
    assert seconds_of(server.stop) < 1
    for use in uses_of(server, request):
        with pytest.raises(ti.UnavailableError, match="stopped"):
            use()


def test_stopping_again_does_nothing(start: Start) -> None:
    server = start()
    server.stop()
    assert seconds_of(server.stop) < 0.1
    threads = [threading.Thread(target=server.stop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_stop_from_several_threads_at_once_waits_for_requests_in_flight(start: Start, repository: Path) -> None:
    write_identity(repository, "slow", parameters={"delay_us": 300_000})
    server = start("slow")
    request = filled(server, "slow")
    server.infer_async(request)
    errors: list[BaseException] = []

    def stop() -> None:
        try:
            server.stop()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=stop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert errors == []
    response, _ = next_response(request)
    response.throw_if_response_error()
    assert (content(response) == X).all()


def test_a_server_that_is_dropped_is_stopped(identity_backend: Path, repository: Path) -> None:
    write_identity(repository, "m")
    server = capi.TRITONSERVER_Server(explicit_options(repository, identity_backend))
    server.load_model("m")
    request = filled(server, "m")
    response = answer(server, request)
    gone = weakref.ref(server)
    del server
    assert gone() is None
    with pytest.raises(ti.UnavailableError, match="stopped"):
        request.add_requested_output("OUTPUT0")
    assert (content(response) == X).all()


def test_a_server_that_is_dropped_with_a_request_in_flight_waits_for_it(
    identity_backend: Path, repository: Path
) -> None:
    write_identity(repository, "slow", parameters={"delay_us": 300_000})
    server = capi.TRITONSERVER_Server(explicit_options(repository, identity_backend))
    server.load_model("slow")
    request = filled(server, "slow")
    told = Told(request)
    server.infer_async(request)
    del server, request
    (response,) = told.complete()
    assert (content(response) == X).all()


def test_two_servers_are_independent(start: Start, repository: Path) -> None:
    write_identity(repository, "m")
    first, second = start("m"), start("m")
    request = filled(first, "m")
    with pytest.raises(ti.InvalidArgumentError, match="another server"):
        second.infer_async(request)
    assert (content(answer(first, request)) == X).all(), "a request that was refused is usable"
    first.stop()
    assert (content(answer(second, filled(second, "m"))) == X).all()
    assert second.is_live()


@pytest.mark.parametrize("order", ["12", "21", "1 and drop 2", "drop 1 and 2", "drop both", "the end"])
def test_servers_are_stopped_and_deleted_in_any_order(identity_backend: Path, repository: Path, order: str) -> None:
    ways = {
        "12": "first.stop(); second.stop()",
        "21": "second.stop(); first.stop()",
        "1 and drop 2": "first.stop(); del second",
        "drop 1 and 2": "del first; assert (content(answer(second, r2)) == X).all(); second.stop()",
        "drop both": "del first, second",
        "the end": "",
    }
    source = f"""
first, second = explicit("fast"), explicit("fast")
r1, r2 = filled(first), filled(second)
kept = [answer(first, r1), answer(second, r2), answer(first, r1)]
{ways[order]}
for response in kept:
    assert (content(response) == X).all()
"""
    run_capi_script(source, identity_backend, repository).check(within=10)


def test_a_stop_that_takes_too_long_raises_and_the_server_is_left_behind(
    identity_backend: Path, repository: Path
) -> None:
    source = """
server = explicit("slow", "fast", exit_timeout=1)
request = filled(server, "slow")
server.infer_async(request)
def stop():
    began = time.monotonic()
    try:
        server.stop()
    except ti.TritonError as error:
        return type(error), str(error), time.monotonic() - began
first = stop()
assert first[0] is ti.InternalError, first
assert 0.5 < first[2] < 3.5, first
second = stop()
assert second[0] is ti.UnavailableError and "left behind" in second[1] and second[2] < 0.1, second
assert stop()[0] is ti.UnavailableError
for use in (server.is_live, server.metadata, lambda: filled(server), lambda: server.infer_async(request)):
    try:
        use()
    except ti.UnavailableError:
        continue
    raise AssertionError("usable")
other = explicit("fast")
assert (content(answer(other, filled(other))) == X).all()
other.stop()
del server, request
print("done")
"""
    models = {"slow": {"parameters": {"delay_us": 1_000_000_000}}, "fast": {}}
    result = run_capi_script(source, identity_backend, repository, models).check(within=15)
    assert result.output == "done\n"


def test_the_end_of_the_interpreter_with_a_request_that_takes_too_long(
    identity_backend: Path, repository: Path
) -> None:
    source = """
server = explicit("slow", exit_timeout=1)
request = filled(server, "slow")
told = Told(request)
server.infer_async(request)
"""
    models = {"slow": {"parameters": {"delay_us": 1_000_000_000}}}
    result = run_capi_script(source, identity_backend, repository, models).check(within=10)
    assert result.errors.count("RuntimeWarning") == 1, result.errors
    assert "could not be stopped" in result.errors


def test_a_stop_in_a_signal_handler_while_the_server_is_being_stopped_does_not_hang(
    identity_backend: Path, repository: Path
) -> None:
    source = """
server = explicit("slow")
request = filled(server, "slow")
server.infer_async(request)
calls = []
def handler(number, frame):
    calls.append(number)
    try:
        server.stop()
    except ti.UnavailableError:  # one may say so, too
        pass
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.3)
server.stop()
assert calls
assert (content(next_response(request)[0]) == X).all()
"""
    models = {"slow": {"parameters": {"delay_us": 1_000_000}}}
    run_capi_script(source, identity_backend, repository, models, timeout=10).check(within=8)


def test_an_interrupted_stop_is_completed(identity_backend: Path, repository: Path) -> None:
    source = """
server = explicit("slow")
request = filled(server, "slow")
server.infer_async(request)
signal.setitimer(signal.ITIMER_REAL, 0.3)
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
try:
    server.stop()
except KeyboardInterrupt:
    print("interrupted")
server.stop()
try:
    server.is_live()
except ti.UnavailableError:
    print("stopped")
"""
    models = {"slow": {"parameters": {"delay_us": 1_000_000}}}
    result = run_capi_script(source, identity_backend, repository, models, timeout=20).check(within=10)
    assert result.output == "interrupted\nstopped\n"


# -- in callbacks ------------------------------------------------------------------------------------------------------


class StopAttempts:
    """Tries to stop a server wherever it is called."""

    def __init__(self, server: capi.TRITONSERVER_Server) -> None:
        self.server = server
        self.errors: queue.Queue[BaseException | None] = queue.Queue()

    def __call__(self, *_: Any) -> None:
        try:
            self.server.stop()
        except BaseException as error:
            self.errors.put(error)
        else:
            self.errors.put(None)

    def check(self) -> None:
        error = self.errors.get(timeout=PATIENCE)
        assert isinstance(error, ti.UnavailableError), error
        assert "wait for itself" in str(error)


@pytest.mark.parametrize("model", ["m", "function"])
def test_a_stop_inside_a_callback_is_refused(server: ti.Server, identity_backend: Path, model: str) -> None:
    host = server.capi
    server.add_model(lambda INPUT0: INPUT0, name=model, **FLOATS)
    attempts = StopAttempts(host)
    memory = Memory()

    def alloc(*arguments: Any) -> Any:
        attempts()
        return memory.alloc(*arguments)

    def release(*arguments: Any) -> None:
        attempts()
        memory.release(*arguments)

    allocator = capi.TRITONSERVER_ResponseAllocator(alloc, release, attempts)

    def describe(_allocator: Any, _name: str, attributes: Any, *_: Any) -> Any:
        attempts()
        return attributes

    allocator.set_buffer_attributes_function(describe)
    request = filled(host, model)
    request.set_response_callback(allocator, None, attempts, None)
    request.set_release_callback(attempts, None)
    host.infer_async(request)
    for _ in range(6):  # start, alloc, attributes, response, release of the request and of the memory
        attempts.check()
    assert host.is_live()
    host.stop()


def test_a_stop_inside_a_done_callback_of_a_future_is_refused(server: ti.Server) -> None:
    server.add_model(lambda INPUT0: INPUT0, name="m", **FLOATS)
    attempts = StopAttempts(server.capi)
    request = filled(server.capi, "m")
    future: Future[Any] = Future()
    future.add_done_callback(attempts)
    request.get_next_response(future)
    server.capi.infer_async(request)
    attempts.check()
    assert server.capi.is_live()


def test_a_stop_inside_a_trace_callback_and_a_model_is_refused(server: ti.Server) -> None:
    attempts = StopAttempts(server.capi)

    def function(INPUT0: Any) -> Any:
        attempts()
        return INPUT0

    server.add_model(function, name="m", **FLOATS)
    trace = capi.TRITONSERVER_InferenceTrace(
        capi.TRITONSERVER_InferenceTraceLevel.TIMESTAMPS, 0, lambda *_: None, attempts, None
    )
    request = filled(server.capi, "m")
    server.capi.infer_async(request, trace)
    attempts.check()
    attempts.check()
    next_response(request)


def test_a_server_whose_last_reference_goes_in_a_callback_is_stopped(identity_backend: Path, repository: Path) -> None:
    write_identity(repository, "m")
    server = capi.TRITONSERVER_Server(explicit_options(repository, identity_backend))
    server.load_model("m")
    gone = weakref.ref(server)
    held = [server]
    called = threading.Event()
    go_on = threading.Event()

    def respond(*_: Any) -> None:
        assert go_on.wait(PATIENCE)
        held.clear()
        called.set()

    request = filled(server, "m")
    request.set_response_callback(None, None, respond, None)
    server.infer_async(request)
    del server
    go_on.set()
    assert called.wait(PATIENCE)

    def stopped() -> bool:
        try:
            request.add_requested_output("OUTPUT0")
        except ti.UnavailableError as error:
            return "stopped" in str(error)
        return False

    wait_until(stopped)
    wait_until(lambda: gone() is None)


# -- the GIL -----------------------------------------------------------------------------------------------------------


@contextmanager
def ticks() -> Iterator[list[float]]:
    """The moments at which another Python thread could run."""
    moments: list[float] = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.002):
            moments.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield moments
    finally:
        done.set()
        thread.join()


def others_run_during(call: Callable[[], object], blocks_for: float) -> None:
    """Assert that other threads run in the midst of a call that blocks in C for at least so many seconds."""
    with ticks() as moments:
        began = time.monotonic()
        call()
        ended = time.monotonic()
    assert ended - began >= blocks_for * 0.9, "the call did not block: this tests nothing"
    # Before it calls C, the package may wait in Python for up to 50 ms.
    midst = [moment for moment in moments if began + 0.1 < moment < ended - 0.1]
    assert len(midst) >= 3, f"{len(moments)} ticks, {len(midst)} of them in the midst"


def write_slow_to_load(repository: Path, name: str = "warm") -> None:
    """A model that takes half a second to load."""
    write_identity(repository, name, parameters={"delay_us": 500_000}, more=WARM_UP)


def test_loading_releases_the_gil(start: Start, repository: Path) -> None:
    write_slow_to_load(repository)
    server = start()
    others_run_during(lambda: server.load_model("warm"), 0.5)
    config = decoded(server.model_config("warm", -1, 1))
    config["parameters"]["delay_us"]["string_value"] = "600000"
    parameter = capi.TRITONSERVER_Parameter("config", json.dumps(config))
    others_run_during(lambda: server.load_model_with_parameters("warm", [parameter]), 0.6)


def test_starting_and_polling_release_the_gil(identity_backend: Path, repository: Path) -> None:
    write_slow_to_load(repository)
    options = explicit_options(repository, identity_backend)
    options.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.POLL)
    servers: list[capi.TRITONSERVER_Server] = []
    others_run_during(lambda: servers.append(capi.TRITONSERVER_Server(options)), 0.5)
    write_slow_to_load(repository, "more")
    others_run_during(servers[0].poll_model_repository, 0.5)
    servers[0].stop()


def test_stopping_releases_the_gil(identity_backend: Path, repository: Path) -> None:
    write_identity(repository, "slow", parameters={"delay_us": 500_000})
    options = explicit_options(repository, identity_backend)
    # In this mode the library's own stop waits; in explicit mode the package unloads the models before.
    options.set_model_control_mode(capi.TRITONSERVER_ModelControlMode.NONE)
    server = capi.TRITONSERVER_Server(options)
    request = filled(server, "slow")
    server.infer_async(request)
    others_run_during(server.stop, 0.45)


@pytest.mark.parametrize("mode", capi.TRITONSERVER_ModelControlMode)
def test_a_stop_comes_when_nothing_is_in_flight_and_tritons_threads_sleep(
    identity_backend: Path, repository: Path, monkeypatch: pytest.MonkeyPatch, mode: capi.TRITONSERVER_ModelControlMode
) -> None:
    """A model whose thread is still busy must not be unloaded, and the library's own stop does not mind."""
    write_identity(repository, "slow", parameters={"delay_us": 100_000})
    options = explicit_options(repository, identity_backend)
    options.set_model_control_mode(mode)
    server = capi.TRITONSERVER_Server(options)
    if mode == capi.TRITONSERVER_ModelControlMode.EXPLICIT:
        server.load_model("slow")
    seen: list[tuple[int, bool]] = []
    monkeypatch.setattr(
        "triton_inprocess._stopping.wait_for_triton_threads", lambda: seen.append((server.use_count, server.running))
    )
    request = filled(server, "slow")
    server.infer_async(request)
    server.stop()
    assert seen == [(0, True)]
    next_response(request)[0].throw_if_response_error()


def test_a_stop_waits_for_a_model_that_needs_the_gil(server: ti.Server) -> None:
    gate = Gate()
    server.add_model(gate, name="m", **FLOATS)
    request = filled(server.capi, "m")
    server.capi.infer_async(request)
    gate.wait()
    timer = threading.Timer(0.2, gate.opened.set)
    timer.start()
    assert seconds_of(server.capi.stop) < 5
    response, _ = next_response(request)
    response.throw_if_response_error()
    timer.join()


def test_calls_during_a_slow_load_release_the_gil(start: Start, repository: Path, tmp_path: Path) -> None:
    """Whatever waits for the lock that the load holds does not hold up the others."""
    write_slow_to_load(repository)
    write_identity(repository, "m")
    more = tmp_path / "more"
    more.mkdir()
    server = start("m")
    calls: list[Callable[[], object]] = [
        lambda: server.register_model_repository(str(more), []),
        lambda: server.unregister_model_repository(str(more)),
        lambda: server.unload_model("m"),
        lambda: server.model_index(0),
        lambda: server.model_statistics("", -1),
        lambda: server.metrics().formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS),
    ]

    def ask() -> None:
        for call in calls:
            call()

    asking = threading.Thread(target=ask)

    def load() -> None:
        asking.start()
        server.load_model("warm")

    others_run_during(load, 0.5)
    asking.join(PATIENCE)
    assert not asking.is_alive()


@contextmanager
def others_run_only_when_let() -> Iterator[list[int]]:
    """Another thread counts in the list; it gets the GIL only where this one gives it up on its own."""
    interval = sys.getswitchinterval()
    count = [0]
    done = False

    def work() -> None:
        while not done:
            count[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: count[0] > 0)
    sys.setswitchinterval(1000)
    try:
        yield count
    finally:
        sys.setswitchinterval(interval)
        done = True
        thread.join()


def test_questions_release_the_gil(start: Start, repository: Path, tmp_path: Path) -> None:
    write_identity(repository, "m")
    server = start("m")
    metrics = server.metrics()
    names = [capi.TRITONSERVER_Parameter("other", "name")]
    here = str(repository)

    def register() -> None:
        with pytest.raises(ti.AlreadyExistsError):
            server.register_model_repository(here, names)

    questions: list[Callable[[], object]] = [
        server.is_live,
        server.is_ready,
        server.metadata,
        server.metrics,
        lambda: metrics.formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS),
        lambda: server.model_is_ready("m", -1),
        lambda: server.model_batch_properties("m", -1),
        lambda: server.model_transaction_properties("m", -1),
        lambda: server.model_metadata("m", -1),
        lambda: server.model_statistics("", -1),
        lambda: server.model_config("m", -1, 1),
        lambda: server.model_index(0),
        register,
    ]
    with others_run_only_when_let() as count:
        # The control: without a call that gives up the GIL nobody else runs.
        before = count[0]
        for _ in range(20_000):
            len(questions)
        assert count[0] == before
        for number, question in enumerate(questions):
            before = count[0]
            end = time.monotonic() + PATIENCE
            while count[0] == before:
                question()
                assert time.monotonic() < end, f"question {number} does not release the GIL"


def test_sending_and_cancelling_release_the_gil(start: Start, repository: Path) -> None:
    write_identity(repository, "m")
    server = start("m")
    request = filled(server, "m")
    request.set_response_callback(None, None, lambda *_: None, None)
    completed = threading.Event()
    request.set_release_callback(lambda *_: completed.set(), None)

    def send() -> None:
        completed.clear()
        server.infer_async(request)
        assert completed.wait(PATIENCE)

    send()
    empty = capi.TRITONSERVER_InferenceRequest(server, "m", -1)

    def send_in_vain() -> None:
        with pytest.raises(ti.InvalidArgumentError):
            server.infer_async(empty)

    def cancel() -> None:
        try:
            empty.cancel()
        except ti.UnsupportedError:
            assert not capi.available("TRITONSERVER_InferenceRequestCancel")

    with others_run_only_when_let() as count:
        for action in (send_in_vain, cancel):
            before = count[0]
            end = time.monotonic() + PATIENCE
            while count[0] == before:
                action()
                assert time.monotonic() < end, f"{action.__name__} does not release the GIL"


def test_threads_ask_while_others_infer_load_and_unload(start: Start, repository: Path) -> None:
    for name in ("m", "comes_and_goes"):
        write_identity(repository, name)
    server = start("m")
    errors: list[BaseException] = []
    done = threading.Event()

    def repeat(action: Callable[[], object]) -> None:
        try:
            while not done.is_set():
                action()
        except BaseException as error:
            errors.append(error)

    request = filled(server, "m")

    def load_and_unload() -> None:
        server.load_model("comes_and_goes")
        server.unload_model("comes_and_goes")

    def ask() -> None:
        server.model_index(0)
        server.model_statistics("m", -1)
        server.is_ready()
        server.model_is_ready("comes_and_goes", -1)
        server.metrics().formatted(capi.TRITONSERVER_MetricFormat.PROMETHEUS)

    threads = [
        threading.Thread(target=repeat, args=(action,))
        for action in (lambda: answer(server, request), load_and_unload, ask, ask)
    ]
    for thread in threads:
        thread.start()
    done.wait(0.5)
    done.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert errors == []
    assert seconds_of(server.stop) < 3


def test_a_request_is_not_sent_to_the_server_that_took_the_place_of_its_own(
    identity_backend: Path, repository: Path
) -> None:
    write_identity(repository, "m")
    options = explicit_options(repository, identity_backend)
    first = capi.TRITONSERVER_Server(options)
    first.load_model("m")
    request = filled(first, "m")
    first.stop()
    del first
    second = capi.TRITONSERVER_Server(options)
    second.load_model("m")
    with pytest.raises((ti.InvalidArgumentError, ti.UnavailableError)):
        second.infer_async(request)
    second.stop()
