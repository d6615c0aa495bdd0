"""The examples run, and print what they say."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import PROJECT, needs_cancel


def run_example(name: str) -> list[str]:
    """The lines that an example prints; it must not warn."""
    result = subprocess.run(
        [sys.executable, "-W", "error", str(PROJECT / "examples" / f"{name}.py")],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.usefixtures("runtime")
@needs_cancel
@pytest.mark.needs("TRITONSERVER_InferenceRequestSetIntParameter")
def test_streaming_tokens() -> None:
    assert run_example("streaming_tokens") == [
        "brown fox jumps ",
        "brown fox jumps over the …",
        "the generator was closed: True",
    ]


@pytest.mark.usefixtures("runtime")
def test_ensemble() -> None:
    assert [line.split()[-1] for line in run_example("ensemble")] == ["east", "north", "west"]


@pytest.mark.usefixtures("runtime")
def test_digits() -> None:
    pytest.importorskip("sklearn")
    trained, right, calls = run_example("digits")
    assert trained.endswith("is trained")
    count = right.split()
    assert int(count[0]) > 0.85 * int(count[2])
    assert calls.startswith(f"{count[2]} images in ")
    assert int(calls.split()[3]) < int(count[2])


@pytest.mark.usefixtures("runtime")
def test_existing_repository() -> None:
    assert run_example("existing_repository/serve") == [
        "scaled: [[2.5, 10.0, 5.0], [20.0, 0.0, 10.0]]",
        "largest: value 1 value 0",
    ]


@pytest.mark.usefixtures("runtime")
def test_torch_model() -> None:
    pytest.importorskip("torch")
    assert run_example("torch_model") == [
        "type: torch.bfloat16",
        "equal to the module's own answer: True",
        "the model saw the caller's memory: True",
    ]


@pytest.mark.usefixtures("runtime")
def test_onnx_model() -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    assert run_example("onnx_model") == [
        "largest difference from numpy: 0.0",
        "inputs: [('x', 'FP32', [-1, 4])]",
    ]
