"""An ONNX file as a model, run by onnxruntime within the caller's process.

    pip install onnx onnxruntime
    python examples/onnx_model.py

The file is made here; types and shapes of inputs and outputs are those that the file has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import triton_inprocess as ti

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


def onnx_file() -> bytes:
    """A small model: y = relu(x @ WEIGHTS - 10)."""
    nodes = [
        helper.make_node("MatMul", ["x", "weights"], ["product"]),
        helper.make_node("Sub", ["product", "ten"], ["difference"]),
        helper.make_node("Relu", ["difference"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "example",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [onnx.numpy_helper.from_array(WEIGHTS, "weights"), onnx.numpy_helper.from_array(np.float32(10), "ten")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    content: bytes = model.SerializeToString()
    return content


def specs(values: Any) -> list[ti.TensorSpec]:
    """The inputs or outputs of a session, without the batch dimension."""
    return [
        ti.TensorSpec(
            value.name, TYPES[value.type], [size if isinstance(size, int) else -1 for size in value.shape[1:]]
        )
        for value in values
    ]


def add_onnx_model(server: ti.Server, name: str, content: bytes) -> ti.Model:
    """Serve an ONNX file whose first dimension is the batch."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    outputs = [value.name for value in session.get_outputs()]

    def run(**inputs: Any) -> dict[str, Any]:
        return dict(zip(outputs, session.run(outputs, inputs), strict=True))

    return server.add_model(
        run,
        name=name,
        inputs=specs(session.get_inputs()),
        outputs=specs(session.get_outputs()),
        max_batch_size=32,
        batching=ti.Batching(max_queue_delay_us=500),
    )


def main() -> None:
    """Compare the model's answers with numpy's."""
    with ti.Server() as server:
        model = add_onnx_model(server, "example", onnx_file())
        rows = np.random.default_rng(0).random((64, 1, 4), np.float32)
        answers = [each.outputs["y"].numpy() for each in model.infer_many({"x": row} for row in rows)]
        expected = np.maximum(rows @ WEIGHTS - 10, 0)
        print("largest difference from numpy:", round(float(np.abs(np.array(answers) - expected).max()), 3))
        print("inputs:", [(each["name"], each["datatype"], each["shape"]) for each in model.metadata()["inputs"]])


if __name__ == "__main__":
    main()
