"""What lives how long: servers, models, requests, responses, the callers' memory, the private files."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import (
    CANCEL,
    StartServer,
    answer,
    if_supported,
    needs_cancel,
    write_identity,
    write_model,
)
from helpers_gate import Gate
from helpers_lifetime import (
    FloatArray,
    add,
    ensemble_config,
    finish,
    four,
    longest_stop,
    run_script,
    start_script,
    stop_in_time,
    wait_until,
)

import triton_inprocess as ti
from triton_inprocess import capi


def double(x: FloatArray) -> FloatArray:
    return x * 2


def fill(request: capi.TRITONSERVER_InferenceRequest, array: FloatArray, name: str = "x") -> None:
    """Give a request an input; the array must stay until the request is completed."""
    request.add_input(name, capi.TRITONSERVER_DataType.FP32, array.shape)
    request.append_input_data(name, array.ctypes.data, array.nbytes, capi.TRITONSERVER_MemoryType.CPU, 0)


# -- the stop ----------------------------------------------------------------------------------------------------------


def test_outputs_that_are_kept_do_not_delay_the_stop(server: ti.Server) -> None:
    model = add(server, double)
    kept: list[Any] = []
    for i in range(10):
        (response,) = model.infer(inputs={"x": four(i)})
        kept += [response, response.outputs["y"], response.outputs["y"].numpy(), response.outputs["y"].memory_buffer]
        kept += [np.from_dlpack(response.outputs["y"]), response.outputs["y"].__dlpack__()]
    stop_in_time(server)
    assert (kept[-4] == four(9) * 2).all()
    assert (kept[-2] == four(9) * 2).all()
    assert (kept[1].numpy() == four(0) * 2).all()
    assert kept[0].model_version == 1
    kept.clear()


def test_outputs_of_a_backend_in_c_do_not_delay_the_stop(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    server = start_identity()
    (response,) = server.model("identity").infer(inputs={"INPUT0": four(3)})
    stop_in_time(server)
    assert (response.outputs["OUTPUT0"].numpy() == four(3)).all()


def test_responses_that_were_never_fetched_do_not_delay_the_stop(server: ti.Server) -> None:
    model = add(server, double)
    iterators = [model.infer(inputs={"x": four(i)}) for i in range(10)]
    answer(model, x=four())  # the one instance has answered the others by now
    stop_in_time(server)
    for i, iterator in enumerate(iterators):
        (response,) = iterator
        assert (response.outputs["y"].numpy() == four(i) * 2).all()


def test_a_stream_that_was_read_by_half_does_not_delay_the_stop(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 100})
    server = start_identity()
    iterator = server.model("identity").infer(inputs={"INPUT0": four()})
    next(iterator)
    stop_in_time(server)
    assert sum(1 for response in iterator if response.outputs) == 99


@pytest.mark.parametrize(
    "fields",
    [
        {"inputs": {"wrong": four()}},
        {"inputs": {}},
        {"inputs": {"x": np.zeros(5, np.float32)}},
        {"inputs": {"x": np.zeros(4, np.float64)}},
        {"inputs": {"x": four(), "more": four()}},
        {"inputs": {"x": four()}, "requested_outputs": ["wrong"]},
    ],
)
def test_a_request_that_was_refused_does_not_delay_the_stop(server: ti.Server, fields: dict[str, Any]) -> None:
    model = add(server, double)
    with pytest.raises(ti.InvalidArgumentError) as refusal:
        list(model.infer(**fields))
    stop_in_time(server)
    assert traceback.format_exception(refusal.value)  # the exception was kept until here


@pytest.mark.parametrize("filled", [False, True])
def test_a_request_that_was_never_sent_does_not_delay_the_stop(server: ti.Server, filled: bool) -> None:
    add(server, double)
    request = capi.TRITONSERVER_InferenceRequest(server.capi, "m", -1)
    array = four()
    if filled:
        fill(request, array)
    stop_in_time(server)
    with pytest.raises(ti.UnavailableError):
        fill(request, array)


def test_an_idle_server_is_stopped_although_nothing_may_be_waited_for(start_server: StartServer) -> None:
    server = start_server(exit_timeout=0)
    answer(add(server, double), x=four())
    stop_in_time(server)


def test_stop_waits_for_requests_in_flight(server: ti.Server, gate: Gate) -> None:
    model = add(server, gate)
    iterators = [model.infer(inputs={"x": four(i)}) for i in range(3)]
    gate.wait()
    threading.Timer(0.3, gate.opened.set).start()
    stop_in_time(server, 3)
    # What was accepted is answered: by the model, or by saying that the server was stopped.
    (response,) = iterators[0]
    assert (response.outputs["y"].numpy() == four(0) * 2).all()
    for i, iterator in enumerate(iterators[1:], 1):
        (response,) = iterator
        assert (response.outputs["y"].numpy() == four(i) * 2).all()


def test_stop_while_threads_infer(server: ti.Server) -> None:
    model = add(server, double)
    counts = [0] * 4
    errors: list[BaseException] = []

    def hammer(index: int) -> None:
        try:
            while True:
                assert (answer(model, x=four(index)) == four(index) * 2).all()
                counts[index] += 1
        except ti.UnavailableError:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=hammer, args=(index,)) for index in range(len(counts))]
    for thread in threads:
        thread.start()
    wait_until(lambda: min(counts) > 100)
    stop_in_time(server)
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
    assert errors == []


def test_stop_while_a_loop_infers(server: ti.Server) -> None:
    model = add(server, double)

    async def hammer() -> None:
        while True:
            async for response in model.async_infer(inputs={"x": four()}):
                assert (response.outputs["y"].numpy() == four() * 2).all()

    async def main() -> None:
        tasks = [asyncio.ensure_future(hammer()) for _ in range(8)]
        await asyncio.sleep(0.1)
        await asyncio.get_running_loop().run_in_executor(None, server.stop)
        results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
        assert {type(result) for result in results} == {ti.UnavailableError}

    asyncio.run(main())


def test_stop_while_another_thread_adds_models(runtime: ti.runtime.Runtime) -> None:
    for _ in range(5):
        server = ti.Server(exit_timeout=10)
        server.start()
        added = [0]

        def work(server: ti.Server = server, added: list[int] = added) -> None:
            try:
                while True:
                    add(server, double, "n")
                    added[0] += 1
                    server.remove_model("n")
            except (ti.UnavailableError, ti.NotFoundError):
                pass

        thread = threading.Thread(target=work)
        thread.start()
        wait_until(lambda added=added: added[0] > 2)  # type: ignore[misc]
        stop_in_time(server)
        thread.join(5)
        assert not thread.is_alive()


def test_stop_from_several_threads_at_once(server: ti.Server, gate: Gate) -> None:
    model = add(server, gate)
    iterator = model.infer(inputs={"x": four()})
    gate.wait()
    threads = [threading.Thread(target=server.stop) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    gate.opened.set()
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()
    assert len(list(iterator)) == 1


def test_stop_takes_no_longer_than_exit_timeout_and_says_that_the_server_stays() -> None:
    source = """
server, model = start(lambda x: time.sleep(100), exit_timeout=3)
iterator = model.infer(inputs={"x": X})
time.sleep(0.1)
began = time.monotonic()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    server.stop()
    server.stop()
print(time.monotonic() - began)
assert [str(each.category.__name__) for each in caught] == ["RuntimeWarning"], caught
assert "left behind" in str(caught[0].message)
try:
    answer(model)
except ti.UnavailableError:
    pass
other, m = start()
answer(m)
other.stop()
"""
    assert 2.5 < float(run_script(source).check(within=8).output) < longest_stop(3) + 1.3


def test_stopping_twice_and_before_the_start_does_nothing(server: ti.Server) -> None:
    ti.Server().stop()
    add(server, double)
    stop_in_time(server)
    stop_in_time(server, 0.01)
    with pytest.raises(ti.InvalidArgumentError, match="stopped server is not started again"):
        server.start()


def test_use_after_the_stop_is_an_error(server: ti.Server) -> None:
    model = add(server, double)
    request = model.create_request(inputs={"x": four()})
    native = server._running()
    native_request = capi.TRITONSERVER_InferenceRequest(native, "m", -1)
    array = four()
    fill(native_request, array)
    server.stop()
    uses: list[Callable[[], object]] = [
        lambda: model.infer(inputs={"x": four()}),
        lambda: model.infer(request),
        lambda: model.async_infer(inputs={"x": four()}),
        model.metadata,
        model.statistics,
        model.config,
        model.ready,
        model.batch_properties,
        model.transaction_properties,
        server.live,
        server.ready,
        server.metadata,
        server.metrics,
        server.models,
        lambda: server.model("m"),
        lambda: server.load("m"),
        lambda: server.unload("m"),
        lambda: server.unload(model, unload_dependents=True),
        lambda: add(server, double),
        lambda: server.remove_model("m"),
        lambda: server.register_model_repository("/tmp"),
        lambda: server.unregister_model_repository("/tmp"),
        server.poll_model_repository,
        lambda: native.address,
        lambda: capi.TRITONSERVER_InferenceRequest(native, "m", -1),
        lambda: fill(native_request, array),
        lambda: native_request.remove_input("x"),
        lambda: setattr(native_request, "id", "1"),
        lambda: native_request.id,
        lambda: native.infer_async(native_request),
    ]
    for use in uses:
        with pytest.raises(ti.UnavailableError):
            use()
    with if_supported(CANCEL):
        native_request.cancel()  # nothing to cancel
    server.stop()


def test_use_of_a_model_that_was_removed_is_an_error(server: ti.Server) -> None:
    model = add(server, double)
    answer(model, x=four())
    server.remove_model("m")
    for use in (lambda: list(model.infer(inputs={"x": four()})), model.metadata, model.config, model.statistics):
        with pytest.raises(ti.TritonError, match="m"):
            use()
    assert not model.ready()
    assert (answer(add(server, lambda x: x + 1), x=four()) == four() + 1).all()
    assert (answer(model, x=four()) == four() + 1).all()


def test_a_model_is_removed_while_requests_are_in_flight(server: ti.Server, gate: Gate) -> None:
    model = add(server, gate)
    iterators = [model.infer(inputs={"x": four(i)}) for i in range(3)]
    gate.wait()
    threading.Timer(0.2, gate.opened.set).start()
    server.remove_model("m")
    for i, iterator in enumerate(iterators):
        (response,) = iterator
        assert (response.outputs["y"].numpy() == four(i) * 2).all()


def test_a_model_may_be_removed_as_soon_as_it_was_added(runtime: ti.runtime.Runtime) -> None:
    # Triton destroys a model under its own thread when that has not yet left the initialisation.
    source = """
server, model = start()
for _ in range(500):
    server.add_model(double, name="n", **SPECS)
    server.remove_model("n")
"""
    run_script(source).check(within=30)


def test_a_server_may_be_stopped_as_soon_as_a_model_was_added(runtime: ti.runtime.Runtime) -> None:
    source = """
for _ in range(300):
    server, model = start()
    server.stop()
"""
    run_script(source).check(within=30)


def test_a_function_may_add_a_model_while_its_own_is_removed() -> None:
    source = """
entered = threading.Event()
def function(x):
    entered.set()
    time.sleep(0.2)
    server.add_model(double, name="other", **SPECS)
    return x * 2
server, model = start(function)
iterator = model.infer(inputs={"x": X})
entered.wait()
server.remove_model("m")
(response,) = iterator
assert (answer(server.model("other")) == X * 2).all()
"""
    run_script(source, timeout=15).check(within=5)


def test_stop_takes_no_longer_while_another_thread_waits_for_a_model_to_be_removed() -> None:
    source = """
entered = threading.Event()
def blocked(x):
    entered.set()
    time.sleep(100)
server, model = start(blocked, exit_timeout=3)
iterator = model.infer(inputs={"x": X})
entered.wait()
def remove():
    try:
        server.remove_model("m")
    except ti.UnavailableError:
        pass
threading.Thread(target=remove, daemon=True).start()
time.sleep(0.2)
began = time.monotonic()
server.stop()
print(time.monotonic() - began)
"""
    assert float(run_script(source).check(within=9).output) < longest_stop(3) + 1.3


def test_a_function_is_let_go_when_its_model_is_removed(server: ti.Server) -> None:
    class Function:
        def __call__(self, x: FloatArray) -> FloatArray:
            return x

    function = Function()
    gone = weakref.ref(function)
    answer(add(server, function), x=four())
    server.remove_model("m")
    del function
    assert gone() is None


def test_a_function_is_let_go_when_its_server_is_stopped(server: ti.Server) -> None:
    class Function:
        def __call__(self, x: FloatArray) -> FloatArray:
            return x

    function = Function()
    gone = weakref.ref(function)
    model = add(server, function)
    answer(model, x=four())
    server.stop()
    del function
    assert gone() is None


# -- two servers -------------------------------------------------------------------------------------------------------


def test_one_of_two_servers_is_stopped_and_the_other_goes_on(start_server: StartServer, repository: Path) -> None:
    write_model(repository, "twice", ensemble_config("twice", "m"))
    first = start_server()
    second = start_server(model_repository=repository, exit_on_error=False)
    (one, two) = add(first, double), add(second, double)
    ensemble = second.load("twice")
    assert (answer(one, x=four()) == four() * 2).all()
    stop_in_time(first)
    del first, one
    gc.collect()
    for i in range(200):
        assert (answer(two, x=four(i)) == four(i) * 2).all()
        assert (answer(ensemble, "OUT", IN=four(i)) == four(i) * 4).all()
    stop_in_time(second)


def test_servers_come_and_go_beside_one_that_stays(server: ti.Server, start_server: StartServer) -> None:
    model = add(server, double)
    for i in range(5):
        other = start_server()
        assert (answer(add(other, double, "other"), x=four(i)) == four(i) * 2).all()
        stop_in_time(other)
        assert (answer(model, x=four(i)) == four(i) * 2).all()


def test_models_of_the_same_name_on_two_servers_are_two(start_server: StartServer) -> None:
    first, second = start_server(), start_server()
    one, two = add(first, lambda x: x + 1), add(second, lambda x: x + 2)
    assert (answer(one, x=four()) == four() + 1).all()
    assert (answer(two, x=four()) == four() + 2).all()


def test_a_function_may_ask_another_server(start_server: StartServer) -> None:
    inner = add(start_server(), double)
    outer = add(start_server(), lambda x: answer(inner, x=x) + 1)
    assert (answer(outer, x=four()) == four() * 2 + 1).all()


# -- a failing model ---------------------------------------------------------------------------------------------------


def test_a_failing_model_at_the_start_is_an_error_at_once(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, "broken", parameters={"fail_to_load": 1})
    began = time.monotonic()
    with pytest.raises(ti.TritonError, match="broken"):
        start_identity()
    assert time.monotonic() - began < 5


def test_a_failing_model_may_be_tolerated_at_the_start(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, "broken", parameters={"fail_to_load": 1})
    write_identity(repository)
    began = time.monotonic()
    server = start_identity(exit_on_error=False, strict_readiness=False)
    assert time.monotonic() - began < 5
    assert server.models()["broken"].state == "UNAVAILABLE"
    assert "fail_to_load" in str(server.models()["broken"].reason)
    assert (answer(server.model("identity"), "OUTPUT0", INPUT0=four()) == four()).all()
    with pytest.raises(ti.TritonError, match="broken"):
        server.model("broken").infer(inputs={"INPUT0": four()})
    with pytest.raises(ti.TritonError, match="broken"):
        server.load("broken")
    stop_in_time(server)


def test_after_a_start_that_failed_another_server_starts(start_identity: StartServer, repository: Path) -> None:
    folder = write_identity(repository, "broken", parameters={"fail_to_load": 1})
    for _ in range(3):
        with pytest.raises(ti.TritonError):
            start_identity()
    (folder / "config.pbtxt").unlink()
    (folder / "1").rmdir()
    folder.rmdir()
    write_identity(repository)
    assert (answer(start_identity().model("identity"), "OUTPUT0", INPUT0=four()) == four()).all()


# -- the callers' memory -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")
def test_an_input_that_the_function_keeps_outlives_its_caller(server: ti.Server) -> None:
    kept: list[FloatArray] = []
    model = server.add_model(
        lambda x: kept.append(x) or x.sum(keepdims=True),
        name="keep",
        inputs={"x": (np.float32, (-1,))},
        outputs={"y": (np.float32, (1,))},
    )
    for i in range(20):
        array = np.full(100_000, i, np.float32)
        address = array.ctypes.data
        gone = weakref.ref(array)
        answer(model, x=array)
        assert kept[-1].ctypes.data == address, "it was to be the caller's memory"
        del array
        assert gone() is not None
    for i, array in enumerate(kept):
        assert (array == i).all()
        assert not array.flags.writeable
    stop_in_time(server)
    assert (kept[7] == 7).all()
    kept.clear()
    gc.collect()


@pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")
def test_a_kept_input_lets_go_of_the_callers_memory_when_it_goes(server: ti.Server) -> None:
    kept: list[FloatArray] = []
    model = add(server, lambda x: kept.append(x) or x * 2)
    array = four(1)
    gone = weakref.ref(array)
    answer(model, x=array)
    del array
    assert gone() is not None
    kept.clear()
    answer(model, x=four())
    assert gone() is None


@pytest.mark.filterwarnings("ignore:model .* keeps an input:RuntimeWarning")
def test_an_input_that_is_kept_from_a_batch_stays(server: ti.Server, gate: Gate) -> None:
    kept: list[FloatArray] = []

    def function(x: FloatArray) -> FloatArray:
        gate(x)
        kept.append(x)
        return x

    model = add(server, function, max_batch_size=8, batching=ti.Batching(max_queue_delay_us=1000))
    iterators = [model.infer(inputs={"x": four(i)[None]}) for i in range(5)]
    gate.opened.set()
    for iterator in iterators:
        list(iterator)
    rows = np.concatenate(kept)
    for _ in range(100):
        answer(model, x=four(100)[None])
    assert (rows == np.stack([four(i) for i in range(5)])).all()
    assert (np.concatenate(kept)[:5] == rows).all()


def test_the_callers_memory_is_kept_for_a_request_that_nobody_waits_for(server: ti.Server, gate: Gate) -> None:
    seen: list[float] = []

    def function(x: FloatArray) -> FloatArray:
        gate(x)
        seen.append(float(x.sum()))
        return x[:1]

    specs: dict[str, Any] = {"inputs": {"x": (np.float32, (-1,))}, "outputs": {"y": (np.float32, (1,))}}
    model = server.add_model(function, name="m", instances=3, **specs)
    for _ in range(3):
        iterator = model.infer(inputs={"x": np.ones(1_000_000, np.float32)})
        gate.wait()
        del iterator
    gc.collect()
    garbage = [np.full(1_000_000, 7, np.float32) for _ in range(5)]
    gate.opened.set()
    wait_until(lambda: len(seen) == 3)
    assert seen == [1e6] * 3
    del garbage


def test_the_callers_memory_of_a_request_that_nobody_waits_for_is_let_go(server: ti.Server, gate: Gate) -> None:
    # Nothing is called between the end of the request and the look: the memory may be large, and the process idle.
    model = add(server, gate)
    array = four(1)
    gone = weakref.ref(array)
    iterator = model.infer(inputs={"x": array})
    del array
    gate.wait()
    del iterator
    gate.opened.set()
    wait_until(lambda: gone() is None, 3)


def test_the_callers_memory_of_a_request_that_is_dropped_before_it_begins_is_let_go(
    server: ti.Server, gate: Gate
) -> None:
    model = add(server, gate)
    first = model.infer(inputs={"x": four(1)})
    gate.wait()
    array = four(2)
    gone = weakref.ref(array)
    model.infer(inputs={"x": array})
    del array
    gate.opened.set()
    list(first)
    wait_until(lambda: gone() is None, 3)


def test_memory_of_a_backend_in_c_is_let_go_without_another_call(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    model = start_identity().model("identity")
    for _ in range(300):  # the backend releases a request after it has answered
        array = four(1)
        gone = weakref.ref(array)
        assert (answer(model, "OUTPUT0", INPUT0=array) == four(1)).all()
        del array
        if gone() is not None:
            wait_until(lambda gone=gone: gone() is None, 3)  # type: ignore[misc]


# -- cycles ------------------------------------------------------------------------------------------------------------


class Service:
    """A server and a model function that refer to each other."""

    def __init__(self) -> None:
        self.server = ti.Server().start()
        self.model = add(self.server, self.function)
        self.kept: list[Any] = []

    def function(self, x: FloatArray) -> FloatArray:
        assert self.server is not None
        return x * 2


def keep_nothing(service: Service) -> None:
    answer(service.model, x=four())


def keep_response(service: Service) -> None:
    service.kept = list(service.model.infer(inputs={"x": four()}))
    assert service.kept[0].outputs["y"].numpy() is not None


def keep_iterator(service: Service) -> None:
    service.kept = [service.model.infer(inputs={"x": four()})]
    next(service.kept[0])


def keep_unread_iterator(service: Service) -> None:
    service.kept = [service.model.infer(inputs={"x": four()})]


def keep_async_iterator(service: Service) -> None:
    async def main() -> None:
        service.kept = [service.model.async_infer(inputs={"x": four()}), asyncio.current_task()]
        await service.kept[0].__anext__()

    asyncio.run(main())


def keep_request(service: Service) -> None:
    service.kept = [service.model.create_request(inputs={"x": four()}), service.server.models()]


def keep_native_request(service: Service) -> None:
    request = capi.TRITONSERVER_InferenceRequest(service.server.capi, "m", -1)
    array = four()
    fill(request, array)
    service.server.capi.infer_async(request)
    service.kept = [request, array]


def keep_owner_of_input(service: Service) -> None:
    class Array(np.ndarray):  # type: ignore[type-arg]
        service: Service

    array = four().view(Array)
    array.service = service
    buffer = ti.MemoryBuffer(array.ctypes.data, ti.MemoryType.CPU, 0, array.nbytes, array)
    answer(service.model, x=ti.Tensor(ti.DataType.FP32, [4], buffer))


@pytest.mark.parametrize(
    "keep",
    [
        keep_nothing,
        keep_response,
        keep_iterator,
        keep_unread_iterator,
        keep_async_iterator,
        keep_request,
        keep_native_request,
        keep_owner_of_input,
    ],
)
def test_a_server_in_a_cycle_with_its_function_is_collected_and_stopped(
    runtime: ti.runtime.Runtime, keep: Callable[[Service], None]
) -> None:
    service = Service()
    keep(service)
    native, folder = service.server._running(), service.server._files
    assert folder is not None
    gone = weakref.ref(service), weakref.ref(service.server)
    del service
    gc.collect()
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    assert not native.running
    assert not Path(folder.root).exists()


def test_dropping_the_last_reference_stops(runtime: ti.runtime.Runtime) -> None:
    server = ti.Server().start()
    native = server._running()
    model = add(server, double)
    del server
    assert (answer(model, x=four()) == four() * 2).all()  # the model keeps it
    del model
    assert not native.running


def test_a_dropped_server_waits_for_requests_in_flight(runtime: ti.runtime.Runtime, gate: Gate) -> None:
    server = ti.Server().start()
    iterator = add(server, gate).infer(inputs={"x": four()})
    gate.wait()
    threading.Timer(0.2, gate.opened.set).start()
    del server
    (response,) = iterator
    assert (response.outputs["y"].numpy() == four() * 2).all()


# -- private files -----------------------------------------------------------------------------------------------------


def private_folders(folder: Path) -> list[Path]:
    return sorted(folder.glob("triton-inprocess-server-*"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of this process and its children."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_private_files_are_gone_after_the_stop(start_server: StartServer, temporary: Path) -> None:
    server = start_server()
    assert len(private_folders(temporary)) == 1
    add(server, double)
    server.stop()
    assert list(temporary.iterdir()) == []


def test_private_files_are_gone_after_a_start_that_failed(
    start_identity: StartServer, repository: Path, temporary: Path
) -> None:
    write_identity(repository, "broken", parameters={"fail_to_load": 1})
    with pytest.raises(ti.TritonError):
        start_identity()
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("end", "status"),
    [("", 0), ("sys.exit(3)", 3), ("1 / 0", 1), ("os.kill(os.getpid(), signal.SIGINT); time.sleep(9)", -2)],
)
def test_private_files_are_gone_at_exit(runtime: ti.runtime.Runtime, temporary: Path, end: str, status: int) -> None:
    run_script("server, model = start(); answer(model)\n" + end).check(status=status, within=5)
    assert private_folders(temporary) == []


def test_private_files_are_gone_at_exit_with_a_server_left_behind(runtime: ti.runtime.Runtime, temporary: Path) -> None:
    source = "server, model = start(lambda x: time.sleep(99), exit_timeout=1)\nleft = model.infer(inputs={'x': X})"
    run_script(source).check(within=6)
    assert private_folders(temporary) == []


def test_private_files_of_killed_processes_are_removed_at_the_next_start(
    start_server: StartServer, temporary: Path
) -> None:
    source = "server, model = start(); answer(model); print('up', flush=True); time.sleep(60)"
    with ExitStack() as stack:
        processes = [stack.enter_context(start_script(source)) for _ in range(3)]
        stack.callback(lambda: [process.kill() for process in processes])
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
        assert len(private_folders(temporary)) == 3
        for process in processes[:2]:
            process.kill()
            process.wait()
        server = start_server()
        # Those of the process that lives and the server's own are left.
        assert len(private_folders(temporary)) == 2
        server.stop()
        assert len(private_folders(temporary)) == 1
    start_server().stop()
    assert private_folders(temporary) == []


def test_servers_that_start_at_once_do_not_take_each_others_files_for_stale(
    runtime: ti.runtime.Runtime, temporary: Path
) -> None:
    source = """
from pathlib import Path
from triton_inprocess._private_files import PrivateFiles
sys.stdin.readline()
for _ in range(300):
    files = PrivateFiles("none", [])
    files.write_model("m", 1, "")
    assert Path(files.models, "m", "config.pbtxt").exists()
    files.remove()
"""
    with ExitStack() as stack:
        processes = [stack.enter_context(start_script(source)) for _ in range(4)]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        results = [finish(process, time.monotonic()) for process in processes]
    for result in results:
        result.check()
    assert private_folders(temporary) == []


@pytest.mark.parametrize("before", ["", "import tempfile; tempfile.tempdir = sys.argv[1] + '/set'"])
@pytest.mark.parametrize(
    "places",
    [
        {},
        {"TMPDIR": "", "TEMP": "{}/temp"},
        {"TMPDIR": "{}/temp", "TMP": "{}"},
        {"TMPDIR": "{}/link"},
        {"TMPDIR": "{}/nowhere", "TEMP": "{}/temp"},
        {"TMPDIR": "{}/file"},
        {"TMPDIR": "temp"},
    ],
)
def test_private_files_are_where_tempfile_has_its_own(tmp_path: Path, places: dict[str, str], before: str) -> None:
    for name in ("temp", "set"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("temp")
    source = f"""
import os, sys
{before}
from triton_inprocess._private_files import PrivateFiles
files = PrivateFiles("none", [])
import tempfile
assert os.path.dirname(files.root) == os.path.realpath(tempfile.gettempdir()), (files.root, tempfile.gettempdir())
files.remove()
"""
    environment = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "TEMP", "TMP")}
    environment |= {name: value.format(tmp_path) for name, value in places.items()}
    subprocess.run([sys.executable, "-c", source, str(tmp_path)], env=environment, cwd=tmp_path, check=True)


def test_folders_of_others_are_left_alone(start_server: StartServer, temporary: Path) -> None:
    (temporary / "triton-inprocess-server-notours").mkdir()
    (temporary / "triton-inprocess-server-file").write_text("")
    start_server().stop()
    assert len(list(temporary.iterdir())) == 2


def test_what_was_killed_while_it_made_or_removed_a_folder_is_removed_an_hour_later(
    start_server: StartServer, temporary: Path
) -> None:
    old, young = temporary / "triton-inprocess-server-old", temporary / "triton-inprocess-server-young"
    (old / "backends").mkdir(parents=True)
    young.mkdir()
    os.utime(old, (time.time() - 3700,) * 2)
    os.utime(young, (time.time() - 3500,) * 2)
    start_server().stop()
    assert list(temporary.iterdir()) == [young]


# -- waiting, threads, signals -----------------------------------------------------------------------------------------


def test_interrupt_ends_a_wait_in_the_main_thread(server: ti.Server, gate: Gate) -> None:
    model = add(server, gate)
    iterator = model.infer(inputs={"x": four()})
    gate.wait()
    main = threading.get_ident()
    sent: list[float] = []

    def send() -> None:
        sent.append(time.monotonic())
        signal.pthread_kill(main, signal.SIGINT)

    timer = threading.Timer(0.2, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    assert time.monotonic() - sent[0] < 0.3
    timer.join()
    gate.opened.set()
    (response,) = iterator
    assert (response.outputs["y"].numpy() == four() * 2).all()


def test_threads_and_an_event_loop_at_once(server: ti.Server) -> None:
    model = add(server, double, instances=2)
    done = threading.Event()
    errors: list[BaseException] = []
    counts = [0, 0]

    def thread(index: int) -> None:
        try:
            i = 0
            while not done.is_set():
                i += 1
                assert (answer(model, x=four(index * 1000 + i)) == four(index * 1000 + i) * 2).all()
                counts[index] = i
        except BaseException as error:
            errors.append(error)

    async def task(index: int) -> None:
        for i in range(300):
            async for response in model.async_infer(inputs={"x": four(index * 1000 + i)}):
                assert (response.outputs["y"].numpy() == four(index * 1000 + i) * 2).all()

    async def main() -> None:
        await asyncio.gather(*(task(index) for index in range(8)))

    threads = [threading.Thread(target=thread, args=(index,)) for index in range(2)]
    for each in threads:
        each.start()
    asyncio.run(main())
    wait_until(lambda: min(counts) > 10)
    done.set()
    for each in threads:
        each.join(5)
    assert errors == []


def test_two_threads_share_one_iterator(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 1000})
    model = start_identity().model("identity")
    for _ in range(5):
        shared = model.infer(inputs={"INPUT0": four()})
        indices: list[int] = []

        def read(shared: ti.ResponseIterator = shared, indices: list[int] = indices) -> None:
            for response in shared:
                if response.outputs:
                    indices.append(int(response.parameters["index"]))

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
        assert sorted(indices) == list(range(1000))


@pytest.mark.parametrize("error", ["SystemExit(3)", "KeyboardInterrupt", "GeneratorExit", "MemoryError"])
def test_whatever_the_function_raises_fails_its_request_only(server: ti.Server, error: str) -> None:
    def function(x: FloatArray) -> FloatArray:
        if x[0]:
            raise eval(error)
        return x

    model = add(server, function)
    for _ in range(3):
        with pytest.raises(ti.TritonError, match=error.split("(", maxsplit=1)[0]):
            answer(model, x=four(1))
        assert (answer(model, x=four()) == four()).all()


def test_verbose_log_and_a_slow_callback_do_not_lock_up() -> None:
    source = """
def slow(level, text):
    time.sleep(0.0002)
server, model = start(log_callback=slow, log_verbose=9, log_info=True, log_warn=True, log_error=True)
for _ in range(500):
    answer(model)
iterators = [model.infer(inputs={"x": X}) for _ in range(100)]
del iterators
server.stop()
"""
    run_script(source, timeout=60).check(within=45)


# -- responses of decoupled models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 100])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_each_response_of_a_decoupled_model_arrives_once(
    start_identity: StartServer, repository: Path, count: int, asynchronous: bool
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": count})
    model = start_identity().model("identity")

    async def collect() -> list[ti.InferenceResponse]:
        return [response async for response in model.async_infer(inputs={"INPUT0": four(count)})]

    for _ in range(20):
        responses = asyncio.run(collect()) if asynchronous else list(model.infer(inputs={"INPUT0": four(count)}))
        full = [response for response in responses if response.outputs]
        assert [response.parameters["index"] for response in full] == list(range(count))
        assert all((response.outputs["OUTPUT0"].numpy() == four(count)).all() for response in full)
        assert [response.final for response in responses] == [False] * (len(responses) - 1) + [True]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_error_in_the_middle_reaches_the_caller(
    start_identity: StartServer, repository: Path, asynchronous: bool
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 10, "fail_after": 3})
    server = start_identity()
    model = server.model("identity")
    received: list[int] = []

    def sync() -> None:
        for response in model.infer(inputs={"INPUT0": four()}):
            received.append(int(response.parameters["index"]))

    async def collect() -> None:
        async for response in model.async_infer(inputs={"INPUT0": four()}):
            received.append(int(response.parameters["index"]))

    with pytest.raises(ti.InternalError, match="fail_after"):
        asyncio.run(collect()) if asynchronous else sync()
    assert received == [0, 1, 2]
    stop_in_time(server)


def test_errors_in_the_middle_can_be_handed_out(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 10, "fail_after": 3})
    model = start_identity().model("identity")
    responses = list(model.infer(inputs={"INPUT0": four()}, raise_on_error=False))
    assert [index for index, response in enumerate(responses) if response.error is not None] == [3]
    assert [response.parameters["index"] for response in responses if response.outputs] == [0, 1, 2, *range(4, 10)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_iterator_dropped_half_read_leaks_nothing(
    start_identity: StartServer, repository: Path, asynchronous: bool
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 50})
    server = start_identity()
    model = server.model("identity")
    arrays = [four(i) for i in range(20)]
    gone = [weakref.ref(array) for array in arrays]

    async def first(array: FloatArray) -> None:
        await model.async_infer(inputs={"INPUT0": array}).__anext__()

    for array in arrays:
        if asynchronous:
            asyncio.run(first(array))
        else:
            next(model.infer(inputs={"INPUT0": array}))
    del arrays, array
    list(model.infer(inputs={"INPUT0": four()}))  # the one instance has answered the others by now
    wait_until(lambda: not any(reference() is not None for reference in gone), 3)
    assert server._running().use_count == 0
    stop_in_time(server)


# -- requests that are sent more than once -----------------------------------------------------------------------------


def test_a_description_can_be_sent_any_number_of_times_at_once(server: ti.Server) -> None:
    model = add(server, double)
    request = model.create_request(inputs={"x": four(3)})
    iterators = [model.infer(request) for _ in range(50)]
    for iterator in iterators:
        (response,) = iterator
        assert (response.outputs["y"].numpy() == four(3) * 2).all()


# -- cancellation ------------------------------------------------------------------------------------------------------


@needs_cancel
def test_cancel_before_during_after_and_twice(server: ti.Server, gate: Gate) -> None:
    model = add(server, gate)
    running = model.infer(inputs={"x": four(1)})
    gate.wait()
    waiting = model.infer(inputs={"x": four(2)})
    for _ in range(2):
        running.cancel()
        waiting.cancel()
    gate.opened.set()
    # The function has no way to look: what it has begun ends well, what waits in the queue is not begun.
    (response,) = running
    assert (response.outputs["y"].numpy() == four(1) * 2).all()
    with pytest.raises(ti.CancelledError):
        next(waiting)
    for _ in range(2):
        running.cancel()
        waiting.cancel()
    assert gate.calls == 1


@needs_cancel
def test_cancel_ten_thousand_times_from_another_thread(server: ti.Server) -> None:
    model = add(server, double, instances=2)
    box: list[ti.ResponseIterator | None] = [None]
    done = threading.Event()
    errors: list[BaseException] = []

    def cancel() -> None:
        try:
            while not done.is_set():
                iterator = box[0]
                if iterator is not None:
                    iterator.cancel()
                    iterator.cancel()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=cancel)
    thread.start()
    outcomes = {"answered": 0, "cancelled": 0}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for i in range(10_000):
            box[0] = iterator = model.infer(inputs={"x": four(i)})
            try:
                (response,) = iterator
            except ti.CancelledError:
                outcomes["cancelled"] += 1
            else:
                assert (response.outputs["y"].numpy() == four(i) * 2).all()
                outcomes["answered"] += 1
            iterator.cancel()
    finally:
        sys.setswitchinterval(interval)
        done.set()
        thread.join()
    assert errors == []
    assert sum(outcomes.values()) == 10_000
    stop_in_time(server)


@needs_cancel
def test_cancel_ends_a_stream(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 1000, "delay_us": 10_000})
    server = start_identity()
    iterator = server.model("identity").infer(inputs={"INPUT0": four()})
    next(iterator)
    began = time.monotonic()
    iterator.cancel()
    with pytest.raises(ti.CancelledError):
        for _ in iterator:
            pass
    list(iterator)
    assert time.monotonic() - began < 1
    stop_in_time(server)


# -- nothing of it crashes ---------------------------------------------------------------------------------------------


def test_native_objects_that_were_never_made_are_refused() -> None:
    code = """
import enum
from triton_inprocess import capi
kinds = {value for module in (ti._native, capi) for value in vars(module).values() if isinstance(value, type)}
kinds = {kind for kind in kinds if not issubclass(kind, (enum.Enum, Exception))}
assert {ti._native.Server, capi.TRITONSERVER_Server, capi.TRITONSERVER_Metric, ti.Tensor} < kinds
for kind in sorted(kinds, key=repr):
    for make in (kind, lambda kind=kind: object.__new__(kind)):
        try:
            made = make()
        except TypeError:
            continue
        except ti.TritonError:
            continue
        repr(made)
        for attribute in dir(made):
            if not attribute.startswith("__"):
                try:
                    getattr(made, attribute)
                except (TypeError, ti.TritonError):
                    pass
        del made
        gc.collect()
"""
    run_script(code).check()


def test_the_end_of_a_process_that_only_imports_is_quick(runtime: ti.runtime.Runtime) -> None:
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import triton_inprocess"], check=True)
    assert time.monotonic() - began < 3


def test_a_server_that_was_stopped_by_its_capi_lets_go_of_its_files(runtime: ti.runtime.Runtime) -> None:
    server = ti.Server(exit_timeout=5).start()
    add(server, double)
    assert server._files is not None
    root = Path(server._files.root)
    server.capi.stop()
    server.stop()
    assert not root.exists()
    assert not server._functions
