"""What holds for the project as a whole: layers, stubs, and an import that stays light."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Importing one of these with the package would cost every program that uses it.
HEAVY = ["asyncio", "rich", "typer", "sklearn", "importlib.metadata", "tempfile", "shutil", "subprocess", "ml_dtypes"]


def includes(folder: str) -> dict[Path, list[str]]:
    files = [*(ROOT / "cpp" / folder).glob("*.h"), *(ROOT / "cpp" / folder).glob("*.cpp")]
    assert files
    return {file: re.findall(r'^#include [<"]([^>"]+)[>"]', file.read_text(), re.MULTILINE) for file in files}


@pytest.mark.parametrize("folder", ["abi", "runtime", "tensor", "core"])
def test_no_python_header_below_the_bindings(folder: str) -> None:
    for file, names in includes(folder).items():
        python = [name for name in names if name == "Python.h" or name.startswith("nanobind/")]
        assert [name for name in python if name != "nanobind/intrusive/counter.h"] == [], file


def test_arrows_point_one_way() -> None:
    below = {
        "abi": {"abi"},
        "runtime": {"abi", "runtime"},
        "tensor": {"abi", "runtime", "tensor"},
        "core": {"abi", "runtime", "tensor", "core"},
    }
    for folder, allowed in below.items():
        for file, names in includes(folder).items():
            used = {name.split("/")[0] for name in names if "/" in name}
            assert used & {"abi", "runtime", "tensor", "core", "backend", "bindings"} <= allowed, file


def test_stub_is_current(tmp_path: Path) -> None:
    generated = tmp_path / "_native.pyi"
    subprocess.run([sys.executable, str(ROOT / "tools" / "stubs.py"), str(generated)], check=True)
    assert generated.read_text() == (ROOT / "stubs" / "triton_inprocess" / "_native.pyi").read_text(), (
        "the stub is not that of the native module: run 'make stubs'"
    )


def test_import_is_light() -> None:
    code = f"""
import sys, numpy
before = set(sys.modules)
import triton_inprocess
new = set(sys.modules) - before
print([name for name in {HEAVY!r} if name in new])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_version_is_the_distribution_s() -> None:
    import importlib.metadata

    import triton_inprocess

    assert triton_inprocess.__version__ == importlib.metadata.version("triton-inprocess")


def test_native_library_shows_only_its_entry_points() -> None:
    from triton_inprocess import _native

    result = subprocess.run(
        ["nm", "-D", "--defined-only", str(_native.__file__)], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1] for line in result.stdout.splitlines()}
    assert "PyInit__native" in names
    assert {name for name in names if not name.startswith("TRITONBACKEND_")} == {"PyInit__native"}
