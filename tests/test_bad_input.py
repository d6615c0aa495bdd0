"""Wrong names, types, shapes, times and orders: an error that says what was wrong, never a crash."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, write_identity, write_model

import triton_inprocess as ti

Call = Callable[[ti.Server, ti.Model], Any]


def array(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def infer_async(model: ti.Model, **fields: Any) -> list[ti.InferenceResponse]:
    async def use() -> list[ti.InferenceResponse]:
        return [response async for response in model.async_infer(**fields)]

    return asyncio.run(use())


# -- a server that is not running --------------------------------------------------------------------------------------

CALLS: dict[str, Call] = {
    "live": lambda server, model: server.live(),
    "ready": lambda server, model: server.ready(),
    "metadata": lambda server, model: server.metadata(),
    "metrics": lambda server, model: server.metrics(),
    "model": lambda server, model: server.model("echo"),
    "models": lambda server, model: server.models(),
    "load": lambda server, model: server.load("echo"),
    "unload": lambda server, model: server.unload("echo"),
    "register": lambda server, model: server.register_model_repository("/tmp"),
    "unregister": lambda server, model: server.unregister_model_repository("/tmp"),
    "poll": lambda server, model: server.poll_model_repository(),
    "address": lambda server, model: server._ptr(),
    "add_model": lambda server, model: add_echo(server, name="other"),
    "remove_model": lambda server, model: server.remove_model("echo"),
}

MODEL_CALLS: dict[str, Call] = {
    "infer": lambda server, model: model.infer(inputs={"x": array(1)}),
    "async_infer": lambda server, model: infer_async(model, inputs={"x": array(1)}),
    "request": lambda server, model: model.infer(model.create_request(inputs={"x": array(1)})),
    "model ready": lambda server, model: model.ready(),
    "model metadata": lambda server, model: model.metadata(),
    "statistics": lambda server, model: model.statistics(),
    "config": lambda server, model: model.config(),
    "batch_properties": lambda server, model: model.batch_properties(),
    "transaction_properties": lambda server, model: model.transaction_properties(),
}


@pytest.mark.parametrize("call", CALLS)
def test_before_the_start_a_server_says_so(call: str) -> None:
    server = ti.Server()
    with pytest.raises(ti.InvalidArgumentError, match="not started"):
        CALLS[call](server, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", [*CALLS, *MODEL_CALLS])
def test_after_the_stop_a_server_says_so(start_server: StartServer, call: str) -> None:
    server = start_server()
    model = add_echo(server)
    answer(model, x=array(1))
    server.stop()
    with pytest.raises(ti.UnavailableError, match="stopped"):
        {**CALLS, **MODEL_CALLS}[call](server, model)


def test_a_server_is_started_once(start_server: StartServer) -> None:
    server = start_server()
    with pytest.raises(ti.InvalidArgumentError, match="started"):
        server.start()
    assert server.live()
    server.stop()
    with pytest.raises(ti.InvalidArgumentError, match="not started again"):
        server.start()


def test_stopping_twice_or_before_the_start_does_nothing(start_server: StartServer) -> None:
    ti.Server().stop()
    server = start_server()
    server.stop()
    server.stop()


def test_a_server_that_was_stopped_before_its_start_can_be_started() -> None:
    server = ti.Server()
    server.stop()
    with server:
        assert server.live()


def test_an_error_in_the_block_stops_the_server_and_comes_through() -> None:
    with pytest.raises(ZeroDivisionError), ti.Server() as server:
        raise ZeroDivisionError
    with pytest.raises(ti.UnavailableError):
        server.live()


def test_a_model_does_not_keep_a_stopped_server_alive(start_server: StartServer) -> None:
    first = start_server()
    model = add_echo(first)
    first.stop()
    second = start_server()
    add_echo(second)
    # The same name on another server is another model.
    with pytest.raises(ti.UnavailableError, match="stopped"):
        model.infer(inputs={"x": array(1)})


def test_several_threads_may_stop_a_server(start_server: StartServer) -> None:
    server = start_server()
    add_echo(server)
    threads = [threading.Thread(target=server.stop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    with pytest.raises(ti.UnavailableError, match="stopped"):
        server.live()


def test_stopping_while_others_send_ends_in_answers_or_that_error(start_server: StartServer) -> None:
    server = start_server()
    model = add_echo(server)
    others: list[BaseException] = []

    def send() -> None:
        try:
            while True:
                assert answer(model, x=array(1)).tolist() == [1]
        except ti.UnavailableError:
            pass
        except BaseException as error:
            others.append(error)

    threads = [threading.Thread(target=send) for _ in range(3)]
    for thread in threads:
        thread.start()
    server.stop()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert others == []


def test_a_server_that_is_dropped_without_a_stop_ends(runtime: ti.runtime.Runtime) -> None:
    server = ti.Server().start()
    responses = add_echo(server).infer(inputs={"x": array(1)})
    del server
    (response,) = responses
    assert response.outputs["y"].numpy().tolist() == [1]
    del responses, response
    gc.collect()


# -- models that are not there -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", MODEL_CALLS)
def test_an_unknown_model_is_named(server: ti.Server, call: str) -> None:
    model = server.model("nowhere")
    if call == "model ready":
        assert not model.ready()
        return
    with pytest.raises((ti.NotFoundError, ti.UnavailableError, ti.InvalidArgumentError), match="nowhere"):
        MODEL_CALLS[call](server, model)


@pytest.mark.parametrize("call", MODEL_CALLS)
def test_a_model_that_is_gone_is_named(server: ti.Server, call: str) -> None:
    model = add_echo(server)
    answer(model, x=array(1))
    server.remove_model("echo")
    if call == "model ready":
        assert not model.ready()
        return
    with pytest.raises((ti.NotFoundError, ti.UnavailableError, ti.InvalidArgumentError), match="echo"):
        MODEL_CALLS[call](server, model)


@pytest.mark.parametrize("call", MODEL_CALLS)
def test_a_model_that_is_unloaded_is_named(start_identity: StartServer, repository: Path, call: str) -> None:
    write_identity(repository, "echo")
    server = start_identity()
    model = server.model("echo")
    server.unload(model, wait_until_unloaded=True, polling_interval=0.001)
    if call == "model ready":
        assert not model.ready()
        return
    with pytest.raises((ti.NotFoundError, ti.UnavailableError, ti.InvalidArgumentError), match="echo"):
        MODEL_CALLS[call](server, model)


@pytest.mark.parametrize("version", [2, 2**62, 0])
def test_an_unknown_version_is_named(server: ti.Server, version: int) -> None:
    add_echo(server)
    model = server.model("echo", version)
    assert not model.ready()
    with pytest.raises(ti.TritonError, match=f"echo.*{version}"):
        model.infer(inputs={"x": array(1)})


@pytest.mark.parametrize("version", ["1", 1.0, None, True])
def test_a_version_is_a_number(server: ti.Server, version: Any) -> None:
    with pytest.raises(TypeError, match="version"):
        server.model("echo", version)


@pytest.mark.parametrize("version", [2**63, -(2**70)])
def test_a_version_fits_the_c_api(server: ti.Server, version: int) -> None:
    with pytest.raises((ValueError, OverflowError), match="version"):
        server.model("echo", version).infer(inputs={})


@pytest.mark.parametrize("name", [3, None, b"echo", ["echo"]])
def test_a_name_is_a_text(server: ti.Server, name: Any) -> None:
    for call in (server.model, server.load, server.remove_model):
        with pytest.raises(TypeError, match="name"):
            call(name)
    with pytest.raises(TypeError, match="model"):
        server.unload(name)


@pytest.mark.parametrize("name", ["nowhere", "", "../models", "a/b", "\0", "é", "*"])
def test_only_known_models_are_loaded(server: ti.Server, name: str) -> None:
    with pytest.raises((ti.TritonError, ValueError)):
        server.load(name)
    assert server.models(exclude_not_ready=True) == {}


def test_a_model_whose_configuration_is_broken_is_named(start_identity: StartServer, repository: Path) -> None:
    server = start_identity()
    write_model(repository, "broken", "nonsense {")
    with pytest.raises(ti.TritonError, match="broken"):
        server.load("broken")


def test_a_model_that_fails_to_load_says_why(start_identity: StartServer, repository: Path) -> None:
    server = start_identity()
    write_identity(repository, "bad", parameters={"fail_to_load": 1})
    for _ in range(2):
        with pytest.raises(ti.TritonError, match="fail_to_load"):
            server.load("bad")
    write_identity(repository, "good")
    assert server.load("good").ready()


def test_a_backend_that_does_not_exist_is_named(start_identity: StartServer, repository: Path) -> None:
    server = start_identity()
    write_model(repository, "model", 'name: "model" backend: "nowhere" max_batch_size: 0')
    with pytest.raises(ti.TritonError, match="nowhere"):
        server.load("model")


def test_a_model_of_our_backend_needs_a_function(start_identity: StartServer, repository: Path) -> None:
    server = start_identity()
    write_identity(repository, "model")
    config = repository / "model" / "config.pbtxt"
    config.write_text(config.read_text().replace('backend: "identity"', 'backend: "triton_inprocess"'))
    with pytest.raises(ti.TritonError, match="add_model"):
        server.load("model")


@pytest.mark.parametrize("parameters", ["text", 3, {"config": 3}])
def test_load_parameters_of_the_wrong_type_are_refused(server: ti.Server, parameters: Any) -> None:
    add_echo(server)
    with pytest.raises((TypeError, ti.UnsupportedError), match="parameters"):
        server.load("echo", parameters)


# -- inputs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def model(server: ti.Server) -> ti.Model:
    return server.add_model(
        lambda image, mask: image * mask,
        name="blend",
        inputs={"image": (np.float32, (2, -1)), "mask": (np.float32, (2, -1))},
        outputs={"out": (np.float32, (2, -1))},
    )


GOOD = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("send", [ti.Model.infer, infer_async], ids=["infer", "async_infer"])
@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"image": GOOD, "mask": GOOD, "nowhere": GOOD}, ["nowhere", "blend"]),
        ({"image": GOOD, "Mask": GOOD}, ["Mask", "'image' (FP32,[2,-1])", "blend"]),
        ({"image": GOOD}, ["mask", "missing", "blend"]),
        ({}, ["image", "missing", "blend"]),
        ({"image": GOOD, "mask": GOOD.astype(np.float64)}, ["mask", "FP64", "FP32", "blend"]),
        ({"image": GOOD, "mask": GOOD.astype(np.int32)}, ["mask", "INT32", "FP32", "blend"]),
        ({"image": GOOD, "mask": GOOD > 0}, ["mask", "BOOL", "FP32", "blend"]),
        ({"image": GOOD, "mask": np.full((2, 3), "a")}, ["mask", "BYTES", "FP32", "blend"]),
        ({"image": GOOD, "mask": GOOD[:1]}, ["mask", "[2,-1]", "[1,3]", "blend"]),
        ({"image": GOOD, "mask": GOOD[0]}, ["mask", "[2,-1]", "[3]", "blend"]),
        ({"image": GOOD, "mask": GOOD[None]}, ["mask", "[2,-1]", "[1,2,3]", "blend"]),
        ({"image": GOOD, "mask": np.float32(1)}, ["mask", "[2,-1]", "blend"]),
        ({"": GOOD, "image": GOOD, "mask": GOOD}, ["blend"]),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_input_is_named_with_what_was_expected(
    model: ti.Model, send: Any, inputs: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(ti.InvalidArgumentError) as caught:
        list(send(model, inputs=inputs))
    text = str(caught.value).replace(", ", ",")
    for word in words:
        assert word in text
    assert answer(model, "out", image=GOOD, mask=GOOD).tolist() == GOOD.tolist()


def test_lists_take_the_type_of_the_input(model: ti.Model) -> None:
    assert answer(model, "out", image=[[1, 2], [3, 4]], mask=((2.5, 2), [0, True])).tolist() == [[2.5, 4], [0, 4]]
    with pytest.raises(ValueError, match=r"input 'mask'.*out of the range of FP32"):
        model.infer(inputs={"image": GOOD, "mask": [[1e39] * 3] * 2})
    with pytest.raises(TypeError, match=r"input 'mask'.*str values cannot become FP32"):
        model.infer(inputs={"image": GOOD, "mask": [["a"] * 3] * 2})


def test_inputs_are_checked_against_the_model_that_is_loaded(server: ti.Server, model: ti.Model) -> None:
    assert answer(model, "out", image=GOOD, mask=GOOD).tolist() == GOOD.tolist()
    server.remove_model("blend")
    with pytest.raises(ti.TritonError, match="blend"):
        model.infer(inputs={"image": GOOD, "mask": GOOD})
    server.add_model(lambda x: x, name="blend", inputs={"x": (np.int8, (-1,))}, outputs={"y": (np.int8, (-1,))})
    assert answer(model, "y", x=[1, 2]).dtype == np.int8
    with pytest.raises(ti.InvalidArgumentError, match=r"no input 'image': it takes 'x' \(INT8"):
        model.infer(inputs={"image": GOOD, "mask": GOOD})


def test_a_batch_is_within_the_models(server: ti.Server) -> None:
    specs: dict[str, Any] = {"inputs": {"x": (np.int8, (-1,))}, "outputs": {"y": (np.int8, (-1,))}}
    model = server.add_model(lambda x: x, name="rows", max_batch_size=4, **specs)
    assert answer(model, "y", x=np.zeros((4, 1), np.int8)).shape == (4, 1)
    # Of which Triton sees the lower 32 bits.
    many = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (2**32 + 1, 0), (0, 1))
    for rows in (np.zeros((5, 1), np.int8), many):
        with pytest.raises(ti.InvalidArgumentError, match=rf"'x'.*'rows'.*batch of {len(rows)}.*max_batch_size is 4"):
            model.infer(inputs={"x": rows})
    with pytest.raises(
        ti.InvalidArgumentError, match=r"takes the shape \[-1, -1\], of which the first .* batch, not \[3"
    ):
        model.infer(inputs={"x": np.zeros(3, np.int8)})


def test_an_error_of_the_functions_own_says_what_it_was(model: ti.Model) -> None:
    with pytest.raises(ti.InternalError, match=r"ValueError.*broadcast"):
        answer(model, "out", image=GOOD, mask=np.ones((2, 4), np.float32))


@pytest.mark.parametrize("name", ["x\0", "\0"])
def test_names_of_inputs_hold_no_nul(model: ti.Model, name: str) -> None:
    with pytest.raises(ValueError, match="input"):
        model.infer(inputs={name: GOOD})


def test_the_first_dimension_of_a_batch_is_the_batch(server: ti.Server) -> None:
    model = add_echo(server, shape=(2,), max_batch_size=4)
    for wrong in (
        np.ones(2, np.float32),
        np.ones((1, 3), np.float32),
        np.ones((5, 2), np.float32),
        np.ones((1, 1, 2), np.float32),
    ):
        with pytest.raises(ti.InvalidArgumentError, match="echo"):
            model.infer(inputs={"x": wrong})
    assert answer(model, x=np.ones((4, 2), np.float32)).shape == (4, 2)


def test_the_inputs_of_one_request_have_one_batch_size(server: ti.Server) -> None:
    model = server.add_model(
        lambda a, b: a,
        name="model",
        inputs={"a": (np.float32, (1,)), "b": (np.float32, (1,))},
        outputs={"y": (np.float32, (1,))},
        max_batch_size=4,
    )
    with pytest.raises(ti.InvalidArgumentError, match="batch"):
        model.infer(inputs={"a": np.ones((1, 1), np.float32), "b": np.ones((2, 1), np.float32)})


def test_memory_that_is_too_short_is_refused(server: ti.Server) -> None:
    owner = np.ones(2, np.float32)
    buffer = ti.MemoryBuffer(owner.ctypes.data, ti.MemoryType.CPU, 0, owner.nbytes, owner)
    with pytest.raises(ti.InvalidArgumentError, match="8"):
        ti.Tensor(ti.DataType.FP32, (3,), buffer)


def test_memory_of_a_gpu_is_not_read_here(server: ti.Server) -> None:
    buffer = ti.MemoryBuffer(4096, ti.MemoryType.GPU, 0, 12, None)
    tensor = ti.Tensor(ti.DataType.FP32, (3,), buffer)
    assert tensor.memory_type is ti.MemoryType.GPU
    with pytest.raises(ti.UnsupportedError, match="GPU"):
        tensor.numpy()


# -- arguments of the server's own calls -------------------------------------------------------------------------------


@pytest.mark.parametrize("format_", ["PROMETHEUS", 0, None])
def test_a_format_of_metrics_is_one(server: ti.Server, format_: Any) -> None:
    with pytest.raises(TypeError, match="format"):
        server.metrics(format_)


@pytest.mark.parametrize("path", [3, None, ["/tmp"], b"/tmp"])
def test_a_path_of_a_repository_is_one(server: ti.Server, path: Any) -> None:
    for call in (server.register_model_repository, server.unregister_model_repository):
        with pytest.raises(TypeError, match="path"):
            call(path)


def test_a_repository_that_does_not_exist_is_named(server: ti.Server, tmp_path: Path) -> None:
    with pytest.raises(ti.TritonError, match="nowhere"):
        server.register_model_repository(tmp_path / "nowhere")
    with pytest.raises(ti.TritonError, match="nowhere"):
        server.unregister_model_repository(tmp_path / "nowhere")


@pytest.mark.parametrize("mapping", ["text", 3, {"folder": 3}, {3: "name"}, [("folder", "name")]])
def test_a_name_mapping_is_one(server: ti.Server, tmp_path: Path, mapping: Any) -> None:
    with pytest.raises(TypeError, match="name_mapping"):
        server.register_model_repository(tmp_path, mapping)


def test_waiting_until_ready_has_an_end(start_identity: StartServer, repository: Path, identity_backend: Path) -> None:
    write_identity(repository, "bad", parameters={"fail_to_load": 1})
    server = ti.Server(model_repository=repository, backend_directory=identity_backend, exit_on_error=False)
    try:
        with pytest.raises(ti.UnavailableError, match=r"ready.*0\.05"):
            server.start(wait_until_ready=True, polling_interval=0.01, timeout=0.05)
    finally:
        server.stop()


def test_waiting_until_unloaded_has_an_end(server: ti.Server) -> None:
    go_on = threading.Event()
    model = server.add_model(
        lambda x: go_on.wait(10) and x,
        name="slow",
        inputs={"x": (np.float32, (-1,))},
        outputs={"y": (np.float32, (-1,))},
    )
    responses = model.infer(inputs={"x": array(1)})
    try:
        with pytest.raises(ti.UnavailableError, match=r"slow.*0\.05"):
            server.unload("slow", wait_until_unloaded=True, polling_interval=0.01, timeout=0.05)
    finally:
        go_on.set()
    assert next(responses).outputs["y"].numpy().tolist() == [1]


@pytest.mark.parametrize("name", ["a", 3, None])
def test_specifications_are_checked(name: Any) -> None:
    if isinstance(name, str):
        assert ti.TensorSpec(name, "FP32", [1]).shape == (1,)
    else:
        with pytest.raises(TypeError, match="name"):
            ti.TensorSpec(name, "FP32", [1])


@pytest.mark.parametrize("path", [3, b"/tmp", ["x"]])
def test_a_path_of_a_runtime_is_one(path: Any) -> None:
    with pytest.raises(TypeError, match="path"):
        ti.runtime.load(path)


def test_a_runtime_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ti.NotFoundError, match="nowhere"):
        ti.runtime.load(tmp_path / "nowhere")


def test_enumerations_have_no_other_members() -> None:
    for enumeration in (ti.DataType, ti.MemoryType, ti.ModelControlMode, ti.LogLevel, ti.LogFormat, ti.RateLimitMode):
        with pytest.raises(ValueError, match="99"):
            enumeration(99)
