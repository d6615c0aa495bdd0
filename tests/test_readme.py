"""The README's Python blocks run as they stand, and print what stands below them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import triton_inprocess as ti

pytest.importorskip("sklearn")

README = Path(__file__).resolve().parent.parent / "README.md"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """A Python block, the line of the README that it begins at, and the output block after it, if there is one."""

    line: int
    code: str
    output: str | None


def examples() -> list[Example]:
    text = README.read_text(encoding="utf-8")
    blocks = list(FENCED.finditer(text))
    found: list[Example] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] != "python":
            continue
        belongs = (
            following is not None and following[1] in {"", "text"} and not text[block.end() : following.start()].strip()
        )
        output = following[2] if following is not None and belongs else None
        found.append(Example(text.count("\n", 0, block.start()) + 1, block[2], output))
    return found


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def test_examples_are_found() -> None:
    assert any(example.output is not None for example in examples())
    assert len(examples()) == README.read_text(encoding="utf-8").count("```python\n")


@pytest.mark.parametrize("example", examples(), ids=lambda example: f"line {example.line}")
def test_example_prints_what_the_readme_says(runtime: ti.runtime.Runtime, tmp_path: Path, example: Example) -> None:
    script = tmp_path / "example.py"
    script.write_text(example.code, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env={**os.environ, "TRITON_INPROCESS_RUNTIME": str(runtime.path), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    if example.output is not None:
        assert lines(result.stdout) == lines(example.output)
