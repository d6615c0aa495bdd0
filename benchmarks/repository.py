"""The model repository that both sides serve."""

from __future__ import annotations

from pathlib import Path

MODEL_NAME = "identity"
INPUT_NAME = "INPUT0"
OUTPUT_NAME = "OUTPUT0"
ELEMENT_COUNT = 16

_CONFIGURATION = f"""\
name: "{MODEL_NAME}"
backend: "identity"
max_batch_size: 0
input [ {{ name: "{INPUT_NAME}" data_type: TYPE_FP32 dims: [ {ELEMENT_COUNT} ] }} ]
output [ {{ name: "{OUTPUT_NAME}" data_type: TYPE_FP32 dims: [ {ELEMENT_COUNT} ] }} ]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
"""


def write_repository(folder: Path) -> None:
    """Writes a repository with the identity model, which copies 16 floats, into the existing `folder`."""
    model = folder / MODEL_NAME
    (model / "1").mkdir(parents=True)
    (model / "config.pbtxt").write_text(_CONFIGURATION, encoding="utf-8")
