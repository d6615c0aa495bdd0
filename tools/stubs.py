"""Generates the stub of the native module: `stubs.py [FILE]`, by default the one that is checked in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

STUB = Path(__file__).resolve().parent.parent / "stubs" / "triton_inprocess" / "_native.pyi"
PATTERNS = Path(__file__).resolve().parent / "stub_patterns.txt"


def generate(target: Path) -> None:
    """Write the stub of the installed native module to `target`."""
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "triton_inprocess._native", "-o", str(target)]
    subprocess.run([*command, "-p", str(PATTERNS)], check=True)


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else STUB)
