"""Triton Python models in a repository."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

__all__ = ["XY", "config_text", "write_python_model"]

XY = """
input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]
"""

_HEAD = """
import json, threading
import numpy as np
import triton_python_backend_utils as pb_utils

def x_of(request):
    return pb_utils.get_input_tensor_by_name(request, "x").as_numpy()

def y(values):
    return pb_utils.InferenceResponse([pb_utils.Tensor("y", np.asarray(values, np.float32))])

"""


def config_text(backend: str = "python", more: str = XY, instances: int = 1, max_batch_size: int = 0) -> str:
    group = f"instance_group [ {{ kind: KIND_CPU count: {instances} }} ]"
    return f'backend: "{backend}"\nmax_batch_size: {max_batch_size}\n{more}\n{group}\n'


def write_python_model(
    repository: Path,
    name: str,
    body: str,
    config: str | None = None,
    *,
    head: str = _HEAD,
    versions: Sequence[int] = (1,),
) -> Path:
    """Write a model whose class has the methods of `body`; returns its folder."""
    folder = repository / name
    code = f"{head}class TritonPythonModel:\n{textwrap.indent(textwrap.dedent(body), '    ')}"
    for version in versions:
        (folder / str(version)).mkdir(parents=True, exist_ok=True)
        (folder / str(version) / "model.py").write_text(code, encoding="utf-8")
    (folder / "config.pbtxt").write_text(config if config is not None else config_text(), encoding="utf-8")
    return folder
