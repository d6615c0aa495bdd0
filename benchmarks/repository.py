"""The model repository that every side serves."""

from __future__ import annotations

from pathlib import Path

from .measurement import SMALL_ELEMENTS

MODEL_NAME = "identity"
LARGE_MODEL_NAME = "large"
INPUT_NAME = "INPUT0"
OUTPUT_NAME = "OUTPUT0"

_CONFIGURATION = """\
name: "{name}"
backend: "identity"
max_batch_size: 0
input [ {{ name: "{input}" data_type: TYPE_FP32 dims: [ {elements} ] }} ]
output [ {{ name: "{output}" data_type: TYPE_FP32 dims: [ {elements} ] }} ]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
"""


def write_repository(folder: Path) -> None:
    """Writes two models that copy into the existing `folder`: one for 16 floats, one for any number of them."""
    for name, elements in ((MODEL_NAME, SMALL_ELEMENTS), (LARGE_MODEL_NAME, -1)):
        model = folder / name
        (model / "1").mkdir(parents=True)
        configuration = _CONFIGURATION.format(name=name, input=INPUT_NAME, output=OUTPUT_NAME, elements=elements)
        (model / "config.pbtxt").write_text(configuration, encoding="utf-8")
