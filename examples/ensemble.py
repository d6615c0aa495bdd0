"""Two functions as one model: Triton hands the tensors from the first to the second.

python examples/ensemble.py
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt

import triton_inprocess as ti

Vectors = npt.NDArray[np.float32]
Names = npt.NDArray[np.object_]


def main() -> None:
    """Normalize vectors, then find which of three directions each is nearest to."""
    with ti.Server() as server:

        @server.model(max_batch_size=8)
        def normalize(
            vector: Annotated[Vectors, ti.Spec("FP32", ["batch", 2])],
        ) -> Annotated[Vectors, ti.Spec("FP32", ["batch", 2], name="unit")]:
            lengths: Vectors = np.linalg.norm(vector, axis=1, keepdims=True)
            return vector / lengths

        @server.model(max_batch_size=8)
        def nearest(
            unit: Annotated[Vectors, ti.Spec("FP32", ["batch", 2])],
        ) -> Annotated[Names, ti.Spec("BYTES", ["batch", 1], name="direction")]:
            names: Names = np.array([b"east", b"north", b"west"], object)
            directions = np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
            nearest_one: npt.NDArray[np.intp] = (unit @ directions.T).argmax(axis=1)
            return names[nearest_one][:, None]

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
