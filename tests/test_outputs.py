"""Where outputs go: into memory of the caller's, or into a kind of memory."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, write_identity
from helpers_functions import add_with_sum
from helpers_one_response import both

import triton_inprocess as ti

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def model(server: ti.Server) -> ti.Model:
    return add_with_sum(server)


@both
def test_an_output_is_written_to_the_callers_memory(model: ti.Model, ask: Any) -> None:
    target = np.zeros(4, np.float32)
    response = ask(model, inputs={"x": X}, outputs={"y": target})
    assert target.tolist() == X.tolist()
    assert response.outputs["y"].data_ptr == target.ctypes.data
    assert response.outputs["z"].tolist() == [6]
    response.outputs["y"].numpy()[0] = 7
    assert target[0] == 7


def test_a_tensor_and_shared_memory_may_be_written_to(model: ti.Model) -> None:
    tensor = ti.Tensor.from_any(np.zeros(4, np.float32), copy=True)
    with ti.SharedMemoryPool(byte_size=1 << 16) as pool:
        for target in (tensor, pool.empty("FP32", (4,))):
            model.infer({"x": X}, outputs={"y": target}).result()
            assert target.tolist() == X.tolist()
        del target


def test_a_part_of_an_array_may_be_written_to(model: ti.Model) -> None:
    rows = np.zeros((3, 4), np.float32)
    model.infer({"x": X}, outputs={"y": rows[1], "z": rows[2, 3:]}).result()
    assert rows.tolist() == [[0, 0, 0, 0], X.tolist(), [0, 0, 0, 6]]


def test_a_request_with_outputs_may_be_sent_again(model: ti.Model) -> None:
    target = np.zeros(4, np.float32)
    request = model.create_request(inputs={"x": X}, outputs={"y": target})
    for _ in range(3):
        target[:] = 0
        model.infer(request).result()
        assert target.tolist() == X.tolist()


def test_the_memory_is_kept_as_long_as_needed_and_no_longer(model: ti.Model) -> None:
    target = np.zeros(4, np.float32)
    gone = weakref.ref(target)
    response = model.infer({"x": X}, outputs={"y": target}).result()
    del target
    tensor = response.outputs["y"]
    del response
    assert gone() is not None
    assert tensor.tolist() == X.tolist()
    del tensor
    assert gone() is None


def test_a_batched_model_writes_each_requests_rows(server: ti.Server) -> None:
    specs: dict[str, Any] = {"inputs": {"x": (np.int64, (1,))}, "outputs": {"y": (np.int64, (1,))}}
    model = server.add_model(
        lambda x: x * 2, name="rows", max_batch_size=8, batching=ti.Batching(max_queue_delay_us=20000), **specs
    )
    targets = np.zeros((8, 1, 1), np.int64)
    pending = [model.infer({"x": [[i]]}, outputs={"y": target}) for i, target in enumerate(targets)]
    for responses in pending:
        responses.result()
    assert targets.ravel().tolist() == [2 * i for i in range(8)]


def test_a_model_in_c_writes_there_too(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    target = np.zeros(4, np.float32)
    start_identity().model("identity").infer({"INPUT0": X}, outputs={"OUTPUT0": target}).result()
    assert target.tolist() == X.tolist()


READ_ONLY = np.zeros(4, np.float32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("outputs", "error", "words"),
    [
        ({"nowhere": X}, ti.InvalidArgumentError, r"no output 'nowhere': it gives 'y' \(FP32, \[-1\]\), 'z'"),
        ({"y": np.zeros(4)}, ti.InvalidArgumentError, r"output 'y' of model 'm' is FP32 .*given for it is FP64"),
        ({"z": np.zeros(2, np.float32)}, ti.InvalidArgumentError, r"'z'.*shape \[1\], but .*shape \[2\]"),
        ({"y": np.zeros(3, np.float32)}, ti.InvalidArgumentError, r"'y' has 16 bytes.*FP32 of shape \[3\], has 12"),
        ({"y": READ_ONLY}, ValueError, "output 'y': the memory is read-only"),
        ({"y": ti.Tensor.from_any(X)}, ValueError, "output 'y': the memory is read-only"),
        ({"y": np.zeros(8, np.float32)[::2]}, ValueError, "output 'y': .*without a copy"),
        ({"y": np.zeros(4, ">f4")}, ValueError, "output 'y': .*without a copy"),
        ({"y": [0, 0, 0, 0]}, ValueError, "output 'y': .*without a copy"),
        ({"y": None}, TypeError, "output 'y': .*NoneType"),
        ({3: X}, TypeError, "the name of an output must be"),
        ([("y", X)], TypeError, "outputs must be a dict"),
    ],
)  # fmt: skip
@both
def test_what_cannot_be_written_to_is_told(
    model: ti.Model, ask: Any, outputs: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ask(model, inputs={"x": X}, outputs=outputs)
    assert model(x=X)["z"].tolist() == [6]


def test_the_shape_is_looked_at_too(server: ti.Server) -> None:
    specs: dict[str, Any] = {"inputs": {"x": (np.float32, (-1, -1))}, "outputs": {"y": (np.float32, (-1, -1))}}
    model = server.add_model(lambda x: x, name="m", **specs)
    with pytest.raises(ti.InvalidArgumentError, match=r"'y' is FP32 of shape \[2, 2\], but .* FP32 of shape \[4, 1\]"):
        model.infer({"x": X.reshape(2, 2)}, outputs={"y": np.zeros((4, 1), np.float32)}).result()


def test_strings_have_no_size_beforehand(server: ti.Server) -> None:
    model = add_echo(server, np.object_)
    with pytest.raises(ti.UnsupportedError, match=r"'y'.*BYTES"):
        model.infer({"x": ["a"]}, outputs={"y": ti.Tensor.from_any(["a"], copy=True)})


def test_an_output_that_was_not_asked_for_is_not_written(model: ti.Model) -> None:
    with pytest.raises(ti.InvalidArgumentError, match="has not sent output 'y'"):
        model.infer({"x": X}, requested_outputs=["z"], outputs={"y": np.zeros(4, np.float32)}).result()


def test_one_memory_holds_one_response(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 2})
    target = np.zeros(4, np.float32)
    responses = (
        start_identity().model("identity").infer({"INPUT0": X}, raise_on_error=False, outputs={"OUTPUT0": target})
    )
    first, *rest = responses
    assert first.outputs["OUTPUT0"].tolist() == X.tolist()
    assert any("a second time" in str(each.error) for each in rest)


def test_nothing_is_left_of_requests_that_fail(model: ti.Model) -> None:
    target = np.zeros(3, np.float32)
    gone = weakref.ref(target)
    for _ in range(20):
        with pytest.raises(ti.InvalidArgumentError):
            model.infer({"x": X}, outputs={"y": target}).result()
    del target
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("place", ["cpu", ti.MemoryType.CPU, (ti.MemoryType.CPU, 0), None])
def test_host_memory_is_the_rule(model: ti.Model, place: Any) -> None:
    assert model.infer({"x": X}, output_memory_type=place).result().outputs["y"].memory_type == ti.MemoryType.CPU


@pytest.mark.parametrize("place", ["disk", "gpu:x", 7])
def test_what_is_no_memory_is_told(model: ti.Model, place: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="output_memory_type: device must be"):
        model.infer({"x": X}, output_memory_type=place)
