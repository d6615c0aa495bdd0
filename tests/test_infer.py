"""Requests from a thread, and what comes back."""

from __future__ import annotations

import gc
import os
import queue
import signal
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CANCEL, StartServer, add_echo, answer, lacks, needs_cancel, write_identity

import triton_inprocess as ti


@pytest.fixture
def echo(server: ti.Server) -> ti.Model:
    return add_echo(server)


def array(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


# -- answers -----------------------------------------------------------------------------------------------------------


def test_the_answer_is_the_models(server: ti.Server) -> None:
    model = server.add_model(
        lambda x: x * 2 + 1, name="line", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))}
    )
    (response,) = model.infer(inputs={"x": array(1, 2, 3)})
    assert response.outputs["y"].numpy().tolist() == [3, 5, 7]
    assert response.final
    assert response.error is None


def test_a_backend_in_c_answers(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, dims=(-1, 2), data_type="INT32")
    sent = np.arange(6, dtype=np.int32).reshape(3, 2)
    received = answer(start_identity().model("identity"), "OUTPUT0", INPUT0=sent)
    np.testing.assert_array_equal(received, sent)
    assert received.dtype == sent.dtype


def test_inputs_may_be_given_alone(echo: ti.Model) -> None:
    (response,) = echo.infer({"x": array(1, 2)})
    assert response.outputs["y"].numpy().tolist() == [1, 2]


def test_a_request_object_may_be_given(echo: ti.Model) -> None:
    request = echo.create_request(inputs={"x": array(1, 2)}, request_id="seven")
    (response,) = echo.infer(request)
    assert (response.request_id, response.outputs["y"].numpy().tolist()) == ("seven", [1, 2])


def test_several_inputs_and_outputs_keep_apart(server: ti.Server) -> None:
    model = server.add_model(
        lambda a, b: (a + b, a - b),
        name="both",
        inputs={"a": (np.int32, (-1,)), "b": (np.int32, (-1,))},
        outputs={"sum": (np.int32, (-1,)), "difference": (np.int32, (-1,))},
    )
    (response,) = model.infer(inputs={"b": np.array([1, 2], np.int32), "a": np.array([10, 20], np.int32)})
    assert {name: tensor.numpy().tolist() for name, tensor in response.outputs.items()} == {
        "sum": [11, 22],
        "difference": [9, 18],
    }


def test_iteration_ends_after_the_final_response_and_stays_ended(echo: ti.Model) -> None:
    responses = echo.infer(inputs={"x": array(1)})
    assert iter(responses) is responses
    assert next(responses).final
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(responses)


def test_requests_need_not_be_received_in_the_order_they_were_sent(echo: ti.Model) -> None:
    sent = [echo.infer(inputs={"x": array(number)}) for number in range(20)]
    received = [next(responses).outputs["y"].numpy()[0] for responses in reversed(sent)]
    assert received == list(range(19, -1, -1))


def test_the_name_of_an_output_need_not_be_an_identifier(server: ti.Server) -> None:
    name = 'größe "x" / 1'
    model = server.add_model(
        lambda **inputs: {name: inputs[name]},
        name="model with 'quotes\" and ünïcode",
        inputs={name: (np.float32, (-1,))},
        outputs={name: (np.float32, (-1,))},
    )
    assert answer(model, name, **{name: array(1, 2)}).tolist() == [1, 2]


def test_outputs_are_the_same_dictionary_each_time(echo: ti.Model) -> None:
    (response,) = echo.infer(inputs={"x": array(1)})
    assert response.outputs is response.outputs
    assert response.outputs["y"] is response.outputs["y"]


# -- memory ------------------------------------------------------------------------------------------------------------


def test_outputs_are_writable_and_nobody_elses(echo: ti.Model) -> None:
    sent = array(1, 2, 3)
    first, second = answer(echo, x=sent), answer(echo, x=sent)
    first[:] = 0
    assert sent.tolist() == [1, 2, 3]
    assert second.tolist() == [1, 2, 3]


def test_changing_the_input_afterwards_changes_no_output(echo: ti.Model) -> None:
    sent = array(1, 2, 3)
    received = answer(echo, x=sent)
    sent[:] = 0
    assert received.tolist() == [1, 2, 3]


def test_outputs_stay_valid_while_others_come_and_go(echo: ti.Model) -> None:
    kept = [answer(echo, x=np.full(1000, number, np.float32)) for number in range(50)]
    for number in range(50):
        answer(echo, x=np.full(1000, -number, np.float32))
    assert all((each == number).all() for number, each in enumerate(kept))


def test_the_input_is_let_go_when_the_answer_has_come(echo: ti.Model) -> None:
    sent = array(1, 2, 3)
    references = sys.getrefcount(sent)
    kept = list(echo.infer(inputs={"x": sent}))
    answer(echo, x=array(0))
    assert sys.getrefcount(sent) == references
    assert kept[0].outputs["y"].numpy().tolist() == [1, 2, 3]


def test_the_input_is_kept_until_the_answer_has_come(server: ti.Server) -> None:
    go_on = threading.Event()

    def wait(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        go_on.wait(10)
        return x

    model = server.add_model(wait, name="wait", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    responses = model.infer(inputs={"x": np.full(100_000, 7, np.float32)})
    others = [np.zeros(100_000, np.float32) for _ in range(5)]
    go_on.set()
    (response,) = responses
    assert (response.outputs["y"].numpy() == 7).all()
    del others


def test_a_response_dies_without_the_garbage_collector(echo: ti.Model) -> None:
    gc.collect()
    gc.disable()
    try:
        received = answer(echo, x=array(1))
        death = weakref.ref(received)
        del received
        assert death() is None
    finally:
        gc.enable()


def test_outputs_outlive_the_server(start_server: StartServer) -> None:
    server = start_server()
    (response,) = add_echo(server).infer(inputs={"x": array(1, 2)}, request_id="one")
    tensor = response.outputs["y"]
    view = tensor.numpy()
    server.stop()
    assert view.tolist() == [1, 2]
    assert tensor.numpy().tolist() == [1, 2]
    assert (response.request_id, response.model.name) == ("one", "echo")


# -- errors ------------------------------------------------------------------------------------------------------------


def raising(server: ti.Server, error: BaseException) -> ti.Model:
    def fail(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        raise error

    return server.add_model(fail, name="fail", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})


def test_an_error_is_raised_and_ends_the_iteration(server: ti.Server) -> None:
    responses = raising(server, RuntimeError("no more coffee")).infer(inputs={"x": array(1)})
    with pytest.raises(ti.InternalError, match="no more coffee"):
        next(responses)
    with pytest.raises(StopIteration):
        next(responses)


def test_an_error_may_be_handed_out_instead(server: ti.Server) -> None:
    model = raising(server, RuntimeError("no more coffee"))
    (response,) = model.infer(inputs={"x": array(1)}, raise_on_error=False, request_id="one")
    assert isinstance(response.error, ti.InternalError)
    assert "no more coffee" in str(response.error)
    assert (response.outputs, response.final, response.request_id) == ({}, True, "one")


@pytest.mark.parametrize(
    "error",
    [
        ti.UnknownError,
        ti.InternalError,
        ti.NotFoundError,
        ti.InvalidArgumentError,
        ti.UnavailableError,
        ti.UnsupportedError,
        ti.AlreadyExistsError,
        ti.CancelledError,
    ],
)
def test_the_models_own_error_class_comes_through(server: ti.Server, error: type[ti.TritonError]) -> None:
    responses = raising(server, error("nothing to see")).infer(inputs={"x": array(1)})
    with pytest.raises(ti.TritonError, match="nothing to see") as caught:
        next(responses)
    # A code that a library does not know yet is as good as none to it.
    unknown = error is ti.CancelledError and lacks(CANCEL)
    assert type(caught.value) is (ti.UnknownError if unknown else error)


def test_after_an_error_the_model_goes_on(server: ti.Server) -> None:
    def fail_on_negative(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if x[0] < 0:
            raise ValueError("negative")
        return x

    model = server.add_model(
        fail_on_negative, name="model", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))}
    )
    for _ in range(20):
        with pytest.raises(ti.TritonError, match="negative"):
            answer(model, x=array(-1))
        assert answer(model, x=array(1)).tolist() == [1]


# -- models ------------------------------------------------------------------------------------------------------------


def test_a_receiving_changes_no_model(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, versions=(2, 5), more="version_policy { all {} }")
    server = start_identity()
    latest, second = server.model("identity"), server.model("identity", 2)
    for model, version in ((latest, 5), (second, 2), (latest, 5)):
        before = model.version
        (response,) = model.infer(inputs={"INPUT0": array(1)})
        assert response.model_version == version
        assert response.model is model
        assert model.version == before
    assert (latest.version, second.version) == (-1, 2)


def test_statistics_count_requests(server: ti.Server) -> None:
    model = add_echo(server)
    for _ in range(3):
        answer(model, x=array(1))
    (statistics,) = model.statistics()["model_stats"]
    assert (statistics["inference_count"], statistics["execution_count"]) == (3, 3)
    assert statistics["inference_stats"]["success"]["count"] == 3
    assert statistics["inference_stats"]["fail"]["count"] == 0


def test_statistics_count_failures(server: ti.Server) -> None:
    model = raising(server, ValueError("no"))
    list(model.infer(inputs={"x": array(1)}, raise_on_error=False))
    (statistics,) = model.statistics()["model_stats"]
    assert statistics["inference_stats"]["fail"]["count"] == 1
    assert statistics["inference_stats"]["success"]["count"] == 0


def test_metadata_and_configuration(server: ti.Server) -> None:
    model = server.add_model(
        lambda x: x,
        name="model",
        inputs={"x": (np.float16, (-1, 2))},
        outputs={"y": (str, (3,))},
        max_batch_size=4,
    )
    metadata = model.metadata()
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP16", "shape": [-1, -1, 2]}]
    assert metadata["outputs"] == [{"name": "y", "datatype": "BYTES", "shape": [-1, 3]}]
    assert model.config()["max_batch_size"] == 4
    assert model.ready()
    assert model.batch_properties() is ti.ModelBatchFlag.FIRST_DIM
    assert model.transaction_properties() is ti.ModelTxnPropertyFlag.ONE_TO_ONE


def test_properties_of_other_models(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True)
    model = start_identity().model("identity")
    assert model.batch_properties() is ti.ModelBatchFlag.UNKNOWN
    assert model.transaction_properties() is ti.ModelTxnPropertyFlag.DECOUPLED


# -- cancelling and waiting --------------------------------------------------------------------------------------------


@needs_cancel
def test_a_cancelled_request_ends_with_that(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, parameters={"delay_us": 100_000})
    responses = start_identity().model("identity").infer(inputs={"INPUT0": array(1)})
    responses.cancel()
    responses.cancel()
    with pytest.raises(ti.CancelledError):
        next(responses)
    responses.cancel()
    with pytest.raises(StopIteration):
        next(responses)


@needs_cancel
def test_a_request_that_waits_for_its_turn_can_be_cancelled(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, parameters={"delay_us": 200_000})
    model = start_identity().model("identity")
    first = model.infer(inputs={"INPUT0": array(1)})
    second = model.infer(inputs={"INPUT0": array(2)})
    second.cancel()
    (response,) = first
    assert response.outputs["OUTPUT0"].numpy().tolist() == [1]
    with pytest.raises(ti.CancelledError):
        list(second)


@needs_cancel
def test_cancelling_from_other_threads_does_no_harm(echo: ti.Model) -> None:
    stop = threading.Event()
    current: list[ti.ResponseIterator] = [echo.infer(inputs={"x": array(0)})]

    def cancel() -> None:
        while not stop.is_set():
            current[0].cancel()

    threads = [threading.Thread(target=cancel) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number in range(1000):
            current[0] = responses = echo.infer(inputs={"x": array(number)}, raise_on_error=False)
            (response,) = responses
            if response.error is None:
                assert response.outputs["y"].numpy().tolist() == [number]
            else:
                assert isinstance(response.error, ti.CancelledError)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_ctrl_c_ends_a_wait(server: ti.Server) -> None:
    go_on = threading.Event()

    def wait(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        go_on.wait(10)
        return x

    model = server.add_model(wait, name="wait", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    responses = model.infer(inputs={"x": array(1)})
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            next(responses)
        assert time.monotonic() - begin < 2
    finally:
        go_on.set()
        timer.join()
    (response,) = responses
    assert response.outputs["y"].numpy().tolist() == [1]


# -- threads -----------------------------------------------------------------------------------------------------------


def test_many_threads_on_one_model(echo: ti.Model) -> None:
    def use(number: int) -> bool:
        return all(answer(echo, x=array(number, turn)).tolist() == [number, turn] for turn in range(50))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(16)))


def test_an_iterator_may_go_to_another_thread(echo: ti.Model) -> None:
    with ThreadPoolExecutor(1) as pool:
        (response,) = pool.submit(list, echo.infer(inputs={"x": array(5)})).result()
    assert response.outputs["y"].numpy().tolist() == [5]


def test_waiting_holds_nobody_up(server: ti.Server) -> None:
    go_on = threading.Event()
    model = server.add_model(
        lambda x: go_on.wait(10) and x,
        name="wait",
        inputs={"x": (np.float32, (-1,))},
        outputs={"y": (np.float32, (-1,))},
    )
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(answer, model, x=array(1))
        assert answer(add_echo(server), x=array(2)).tolist() == [2]
        assert not waiting.done()
        go_on.set()
        assert waiting.result(10).tolist() == [1]


# -- response_queue ----------------------------------------------------------------------------------------------------


def test_responses_go_to_the_queue_too(echo: ti.Model) -> None:
    target: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    (response,) = echo.infer(inputs={"x": array(1, 2)}, request_id="one", response_queue=target)
    queued = target.get(timeout=5)
    assert response.outputs["y"].numpy().tolist() == [1, 2]
    assert (queued.request_id, queued.outputs["y"].numpy().tolist()) == ("one", [1, 2])
    assert queued.final
    assert target.empty()


def test_one_queue_for_many_requests(echo: ti.Model) -> None:
    target: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    for number in range(10):
        echo.infer(inputs={"x": array(number)}, request_id=str(number), response_queue=target)
    received = {
        response.request_id: response.outputs["y"].numpy()[0] for response in (target.get(timeout=5) for _ in range(10))
    }
    assert received == {str(number): number for number in range(10)}


def test_errors_go_to_the_queue_as_responses(server: ti.Server) -> None:
    target: queue.SimpleQueue[ti.InferenceResponse] = queue.SimpleQueue()
    model = raising(server, ValueError("no"))
    with pytest.raises(ti.TritonError, match="no"):
        list(model.infer(inputs={"x": array(1)}, response_queue=target))
    assert isinstance(target.get(timeout=5).error, ti.TritonError)
