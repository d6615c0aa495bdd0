"""A model repository of Triton Python models, as Triton's own python backend serves it, in this process.

    python examples/existing_repository/serve.py

Nothing in `models/` knows of this package: the models import `triton_python_backend_utils`, one asks the other, and
one has its configuration from its code. The option `python_models` is all that is new.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import triton_inprocess as ti


def main() -> None:
    """Ask the model that asks the other."""
    repository = Path(__file__).parent / "models"
    with ti.Server(model_repository=repository, python_models="in-process") as server:
        outputs = server.model("pipeline")(VALUES=np.array([[1, 4, 2], [8, 0, 4]], np.float32))
        print("scaled:", outputs["SCALED"].tolist())
        print("largest:", *(outputs["LARGEST"].to_string_array().ravel()))


if __name__ == "__main__":
    main()
