"""Two functions as one model: Triton hands the tensors from the first to the second.

python examples/ensemble.py
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import triton_inprocess as ti

Vectors = np.ndarray[Any, Any]


def main() -> None:
    """Normalize vectors, then find which of three directions each is nearest to."""
    with ti.Server() as server:

        @server.model(max_batch_size=8)
        def normalize(
            vector: Annotated[Vectors, ti.Spec("FP32", ["batch", 2])],
        ) -> Annotated[Vectors, ti.Spec("FP32", ["batch", 2], name="unit")]:
            return vector / np.linalg.norm(vector, axis=1, keepdims=True)

        @server.model(max_batch_size=8)
        def nearest(
            unit: Annotated[Vectors, ti.Spec("FP32", ["batch", 2])],
        ) -> Annotated[Vectors, ti.Spec("BYTES", ["batch", 1], name="direction")]:
            names = np.array([b"east", b"north", b"west"], object)
            directions = np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
            return names[(unit @ directions.T).argmax(axis=1)][:, None]

        compass = server.add_ensemble(
            "compass",
            [
                ti.EnsembleStep("normalize", inputs={"vector": "vector"}, outputs={"unit": "unit"}),
                ti.EnsembleStep("nearest", inputs={"unit": "unit"}, outputs={"direction": "direction"}),
            ],
        )
        vectors = np.array([[3, 1], [0.1, 9], [-5, 2]], np.float32)
        for vector, direction in zip(
            vectors, compass(vector=vectors)["direction"].to_string_array()[:, 0], strict=True
        ):
            print(vector, direction)


if __name__ == "__main__":
    main()
