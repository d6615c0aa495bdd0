"""What Triton Python models import, without a model: tensors, responses, configurations, types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer

import triton_inprocess as ti
from triton_inprocess import pb_utils


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("values", [np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True]), np.zeros((0, 2))])
def test_a_tensor_is_over_the_arrays_memory(values: Any) -> None:
    tensor = pb_utils.Tensor("t", values)
    assert tensor.as_numpy() is values
    assert (tensor.name(), tensor.shape(), tensor.is_cpu()) == ("t", list(values.shape), True)
    again = pb_utils.Tensor.from_dlpack("again", tensor)
    assert again.as_numpy().tolist() == values.tolist()
    if values.size:
        assert again.as_numpy().ctypes.data == values.ctypes.data


def test_a_tensor_takes_strides_and_text() -> None:
    strided = np.arange(6, dtype=np.int64).reshape(2, 3).T
    assert pb_utils.Tensor("t", strided).as_numpy().tolist() == strided.tolist()
    text = pb_utils.Tensor("t", np.array(["a", "ä"]))
    assert text.triton_dtype() is ti.DataType.BYTES
    assert text.as_numpy().tolist() == [b"a", "ä".encode()]


def test_tensors_come_and_go_by_dlpack() -> None:
    values = np.arange(3, dtype=np.float64)
    tensor = pb_utils.Tensor.from_dlpack("t", values)
    assert np.from_dlpack(tensor).ctypes.data == values.ctypes.data
    capsule = tensor.to_dlpack()  # cannot say that the memory is read-only, so that it is a copy's
    assert pb_utils.Tensor.from_dlpack("u", capsule).as_numpy().tolist() == [0, 1, 2]
    assert pb_utils.Tensor.from_dlpack("u", tensor.to_dlpack()).as_numpy().ctypes.data != values.ctypes.data
    assert tensor.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pb_utils.Tensor("t", [1]), TypeError, "numpy_array of tensor 't' must be a numpy array, not list"),
        (lambda: pb_utils.Tensor(1, np.zeros(1)), TypeError, "name must be a str, not int"),
        (lambda: pb_utils.Tensor("t", np.zeros(1, complex)), TypeError, "complex128"),
        (lambda: pb_utils.InferenceResponse([1]), TypeError, "output_tensors must hold pb_utils.Tensor"),
        (lambda: pb_utils.InferenceResponse(error="no"), TypeError, "error must be a pb_utils.TritonError"),
        (lambda: pb_utils.InferenceResponse(parameters={"a": []}), TypeError, r"parameters\['a'\] must be a str"),
        (lambda: pb_utils.InferenceResponse(parameters={"a": 2**63}), ValueError, "must fit into 64 bits"),
        (lambda: pb_utils.InferenceResponse([_tensor(), _tensor()]), ValueError, "two of one name"),
        (lambda: pb_utils.TritonError("m", 8), ValueError, "code must be from 0 to 7, not 8"),
        (lambda: pb_utils.InferenceRequest(inputs=[]), TypeError, "model_name must be the name"),
        (lambda: pb_utils.InferenceRequest(model_name="m", inputs=[1]), TypeError, "inputs must hold pb_utils.Tensor"),
        (lambda: pb_utils.InferenceRequest(model_name="m", timeout=-1), ValueError, "timeout must be from 0"),
        (lambda: pb_utils.PreferredMemory("gpu"), TypeError, "preferred_memory_type must be a MemoryType, not str"),
        (lambda: _request().set_release_flags(1), pb_utils.TritonModelException, "requests that execute has got"),
        (lambda: _request().get_response_sender(), pb_utils.TritonModelException, "requests that execute has got"),
        (lambda: pb_utils.triton_to_numpy_type(99), ValueError, "data_type must be one that numpy has, not 99"),
        (lambda: pb_utils.triton_string_to_numpy("TYPE_X"), ValueError, "such as TYPE_FP32, not 'X'"),
        (lambda: pb_utils.serialize_byte_tensor(np.zeros(1)), TypeError, "must hold bytes or str, not float64"),
        (lambda: pb_utils.deserialize_bytes_tensor(b"\5\0\0\0ab"), ValueError, "the element that begins at byte 0"),
        (pb_utils.get_model_dir, pb_utils.TritonModelException, "methods of a TritonPythonModel"),
    ],
)
def test_what_is_wrong_is_said(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def _tensor() -> pb_utils.Tensor:
    return pb_utils.Tensor("t", np.zeros(1))


def _request() -> pb_utils.InferenceRequest:
    return pb_utils.InferenceRequest(model_name="m")


def test_a_response_keeps_what_it_was_given() -> None:
    error = pb_utils.TritonError("no", pb_utils.TritonError.CANCELLED)
    response = pb_utils.InferenceResponse([_tensor()], error, {"a": 1})
    assert (error.code(), error.message(), str(error)) == (7, "no", "no")
    assert response.has_error()
    assert response.error() is error
    assert response.parameters() == '{"a": 1}'
    assert pb_utils.get_output_tensor_by_name(response, "t") is response.output_tensors()[0]
    assert pb_utils.get_output_tensor_by_name(response, "u") is None
    assert pb_utils.TritonError("m").code() == pb_utils.TritonError.INTERNAL


def test_a_request_keeps_what_it_was_given() -> None:
    memory = pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU_PINNED, 0)
    request = pb_utils.InferenceRequest("r", "c", [_tensor()], ["y"], "m", 2, 1, 9, memory, None, {"a": True}, 3)
    assert (request.request_id(), request.correlation_id(), request.requested_output_names()) == ("r", "c", ["y"])
    assert (request.model_name(), request.model_version(), request.timeout(), request.priority()) == ("m", 2, 9, 3)
    assert request.parameters() == '{"a": true}'
    assert request.preferred_memory() is memory
    assert request.trace().get_context() is None
    assert not request.is_cancelled()
    request.set_flags(pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END)
    assert request.flags() == 2


@pytest.mark.parametrize("name", [each for each in ti.DataType.__members__ if each not in ("INVALID", "BF16")])
def test_types_go_both_ways(name: str) -> None:
    triton = ti.DataType[name]
    numpy = pb_utils.triton_to_numpy_type(int(triton))
    assert pb_utils.triton_to_numpy_type(triton) is numpy
    assert pb_utils.triton_string_to_numpy(f"TYPE_{name if name != 'BYTES' else 'STRING'}") is numpy
    assert pb_utils.numpy_to_triton_type(numpy) == int(triton)


def test_bytes_go_both_ways() -> None:
    elements = np.array([[b"", "ä"], [b"\0\xff", "x" * 300]], np.object_)
    encoded = pb_utils.serialize_byte_tensor(elements)
    assert pb_utils.deserialize_bytes_tensor(encoded).tolist() == [b"", "ä".encode(), b"\0\xff", b"x" * 300]
    assert pb_utils.deserialize_bytes_tensor(b"").shape == (0,)


def test_a_configuration_is_looked_up() -> None:
    config = {"input": [{"name": "x", "dims": ["1"]}], "output": [{"name": "y"}]}
    assert pb_utils.get_input_config_by_name(config, "x") == {"name": "x", "dims": ["1"]}
    assert pb_utils.get_output_config_by_name(config, "x") is None
    assert not pb_utils.using_decoupled_model_transaction_policy(config)
    assert pb_utils.using_decoupled_model_transaction_policy({"model_transaction_policy": {"decoupled": True}})


def test_a_configuration_is_completed() -> None:
    config = pb_utils.ModelConfig({"name": "m", "max_batch_size": 0, "input": [{"name": "x", "dims": []}]})
    config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [-1], "optional": True})
    config.add_output({"name": "y", "data_type": "TYPE_INT8", "dims": [2]})
    config.set_max_batch_size(8)
    config.set_max_batch_size(16)  # what is there stays, if it is less
    config.set_dynamic_batching()
    config.set_model_transaction_policy({"decoupled": True})
    assert config.as_dict() == {
        "name": "m",
        "max_batch_size": 8,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1], "optional": True}],
        "output": [{"name": "y", "data_type": "TYPE_INT8", "dims": [2]}],
        "dynamic_batching": {},
        "model_transaction_policy": {"decoupled": True},
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda config: config.set_max_batch_size(2), "has max_batch_size 4, and auto_complete_config sets 2"),
        (lambda config: config.add_input({"name": "x", "data_type": "TYPE_INT8", "dims": [1]}), "has data_type TYPE"),
        (lambda config: config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [2]}), r"has dims \['1'\]"),
        (lambda config: config.add_output({"name": "y", "dims": [1]}), "must have 'data_type'"),
        (lambda config: config.add_output({"name": "y", "shape": [1]}), "must not have 'shape'"),
        (lambda config: config.set_dynamic_batching(), "has sequence_batching"),
        (lambda config: config.set_model_transaction_policy({"x": 1}), "the key 'decoupled' only"),
    ],
)
def test_what_contradicts_a_configuration_is_said(call: Callable[[Any], None], message: str) -> None:
    said = {"name": "x", "data_type": "TYPE_FP32", "dims": ["1"]}
    config = pb_utils.ModelConfig({"name": "m", "max_batch_size": 4, "input": [said], "sequence_batching": {}})
    before = config.as_dict()
    with pytest.raises(ValueError, match=message):
        call(config)
    assert config.as_dict() == before


def test_metrics_are_tritons(server: ti.Server) -> None:
    family = pb_utils.MetricFamily(name="pb_total", description="Of a test.", kind=pb_utils.MetricFamily.COUNTER)
    metric = family.Metric(labels={"of": "test"})
    metric.increment(2)
    assert metric.value() == 2
    gauge = pb_utils.MetricFamily("pb_level", "Of a test.", pb_utils.MetricFamily.GAUGE).Metric()
    gauge.set(1.5)
    assert gauge.value() == 1.5
    assert 'pb_total{of="test"} 2' in server.metrics()


def test_the_logger_is_tritons(start_server: StartServer, tmp_path: Path) -> None:
    start_server(log_file=tmp_path / "log", log_info=True, log_warn=True, log_error=True, log_verbose=1)
    pb_utils.Logger.log("plain")
    pb_utils.Logger.log("warned", pb_utils.Logger.WARNING)
    pb_utils.Logger.log_info("informed")
    pb_utils.Logger.log_warn("warned again")
    pb_utils.Logger.log_error("failed")
    pb_utils.Logger.log_verbose("told")
    lines = (tmp_path / "log").read_text().splitlines()
    said = [line for line in lines if "test_pb_utils.py" in line]
    assert [line.rsplit("] ", 1)[-1].strip('"') for line in said] == [
        "plain",
        "warned",
        "informed",
        "warned again",
        "failed",
        "told",
    ]
    with pytest.raises(TypeError, match="message must be a str, not int"):
        pb_utils.Logger.log_info(1)  # type: ignore[arg-type]


def test_without_a_server_nobody_can_be_asked() -> None:
    from triton_inprocess._model_servers import servers

    if not servers:  # another test's may run
        response = _request().exec()
        assert response.has_error()
        assert "0 are there" in str(response.error())
