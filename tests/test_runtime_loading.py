"""Loading a library: what is no libtritonserver is refused with a reason, and the process stays as it was."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import triton_inprocess as ti

ROOT = Path(__file__).resolve().parent.parent
NAMES = re.findall(r"^TRITON_FUNCTION\(\w+, (\w+),", (ROOT / "cpp" / "abi" / "functions.def").read_text(), re.MULTILINE)


def make_library(
    folder: Path,
    *,
    version: tuple[int, int] = (1, 34),
    without: tuple[str, ...] = (),
    name: str = "libtritonserver.so",
) -> Path:
    """A library that exports Triton's names; its functions do nothing, but errors and the version are real."""
    source = f"""
#include <cstdint>
#include <string>
struct TRITONSERVER_Error {{ int code; std::string message; }};
extern "C" {{
TRITONSERVER_Error* TRITONSERVER_ApiVersion(uint32_t* major, uint32_t* minor) {{
    *major = {version[0]}; *minor = {version[1]}; return nullptr;
}}
TRITONSERVER_Error* TRITONSERVER_ErrorNew(int code, const char* message) {{
    return new TRITONSERVER_Error{{code, message}};
}}
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error* error) {{ delete error; }}
int TRITONSERVER_ErrorCode(TRITONSERVER_Error* error) {{ return error->code; }}
const char* TRITONSERVER_ErrorMessage(TRITONSERVER_Error* error) {{ return error->message.c_str(); }}
TRITONSERVER_Error* TRITONSERVER_ServerOptionsNew(void** options) {{
    static int here; *options = &here; return nullptr;
}}
"""
    defined = set(re.findall(r"TRITONSERVER_\w+(?=\()", source))
    source += "".join(f"void* {each}() {{ return nullptr; }}\n" for each in NAMES if each not in defined) + "}\n"
    for each in without:
        source = re.sub(rf"\b{each}\b", f"absent_{each}", source)
    file = folder / "fake.cpp"
    file.write_text(source)
    library = folder / name
    subprocess.run(["g++", "-shared", "-fPIC", "-w", "-o", str(library), str(file)], check=True)
    return library


def load(path: Path, then: str = "") -> dict[str, Any]:
    """Load in a process of its own, which can have one runtime only."""
    code = f"""
import json, triton_inprocess as ti
try:
    runtime = ti.runtime.load({str(path)!r})
    result = dict(path=str(runtime.path), version=runtime.api_version, missing=runtime.missing_functions)
    {then or "pass"}
except ti.TritonError as error:
    result = dict(error=type(error).__name__, message=str(error))
print(json.dumps(result))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    value = json.loads(result.stdout.splitlines()[-1])
    assert isinstance(value, dict)
    return value


def test_a_whole_library_loads(tmp_path: Path) -> None:
    library = make_library(tmp_path)
    assert load(library) == {"path": str(library), "version": [1, 34], "missing": []}


def test_a_text_file_is_refused(tmp_path: Path) -> None:
    library = tmp_path / "libtritonserver.so"
    library.write_text("not a library")
    result = load(library)
    assert result["error"] == "InvalidArgumentError"
    assert str(library) in result["message"]


@pytest.mark.parametrize("part", [0.02, 0.3, 0.9])
def test_a_truncated_library_is_refused(tmp_path: Path, part: float) -> None:
    library = make_library(tmp_path)
    content = library.read_bytes()
    library.write_bytes(content[: int(len(content) * part)])
    result = load(library)
    assert result["error"] == "InvalidArgumentError"
    assert str(library) in result["message"]


def test_a_library_that_is_not_triton_is_refused(tmp_path: Path) -> None:
    library = make_library(tmp_path, without=("TRITONSERVER_ApiVersion",))
    result = load(library)
    assert result["error"] == "InvalidArgumentError"
    assert "not a libtritonserver" in result["message"]


@pytest.mark.parametrize("version", [(2, 0), (0, 9), (1, 16)])
def test_another_version_is_refused(tmp_path: Path, version: tuple[int, int]) -> None:
    result = load(make_library(tmp_path, version=version))
    assert result["error"] == "UnsupportedError"
    assert f"{version[0]}.{version[1]}" in result["message"]
    assert "1.17" in result["message"]


def test_a_missing_function_raises_when_it_is_called(tmp_path: Path) -> None:
    library = make_library(tmp_path, version=(1, 27), without=("TRITONSERVER_ServerOptionsSetModelConfigName",))
    result = load(library, then="ti._native.ServerOptions().set_model_config_name('x')")
    assert result["error"] == "UnsupportedError"
    for part in ("TRITONSERVER_ServerOptionsSetModelConfigName", str(library), "1.27", "1.31"):
        assert part in result["message"]


def test_missing_functions_are_listed(tmp_path: Path) -> None:
    absent = ("TRITONSERVER_ServerOptionsSetModelConfigName", "TRITONBACKEND_RequestTrace")
    assert load(make_library(tmp_path, without=absent))["missing"] == list(absent)


def test_a_library_without_an_indispensable_function_is_refused(tmp_path: Path) -> None:
    result = load(make_library(tmp_path, without=("TRITONSERVER_ErrorMessage",)))
    assert result["error"] == "InvalidArgumentError"
    assert "TRITONSERVER_ErrorMessage" in result["message"]


def test_after_a_refusal_another_library_loads(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    bad = make_library(tmp_path / "bad", version=(2, 0))
    good = make_library(tmp_path)
    code = f"""
import triton_inprocess as ti
try:
    ti.runtime.load({str(bad)!r})
except ti.UnsupportedError:
    print(ti.runtime.load({str(good)!r}).path)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(good)


def test_a_process_has_one_runtime(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = make_library(tmp_path), make_library(tmp_path / "other")
    result = load(first, then=f"ti.runtime.load({str(second)!r})")
    assert result["error"] == "AlreadyExistsError"
    assert str(first) in result["message"]
    assert str(second) in result["message"]


def test_dependencies_beside_the_library_are_opened_first(tmp_path: Path) -> None:
    (tmp_path / "dependency.cpp").write_text('extern "C" int answer() { return 42; }')
    dependency = tmp_path / "libdependency-1234.so"
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-o", str(dependency), str(tmp_path / "dependency.cpp"),
         f"-Wl,-soname,{dependency.name}"],
        check=True,
    )  # fmt: skip
    make_library(tmp_path)
    library = tmp_path / "libtritonserver.so"
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-w", "-Wl,--no-as-needed", "-o", str(library), str(tmp_path / "fake.cpp"),
         str(dependency)],
        check=True,
    )  # fmt: skip
    assert load(library)["version"] == [1, 34]


def test_the_process_keeps_its_own_libraries(runtime: ti.runtime.Runtime) -> None:
    code = """
import triton_inprocess as ti
ti.runtime.load()
import ssl, zlib, numpy
print(ssl.OPENSSL_VERSION, zlib.ZLIB_RUNTIME_VERSION, numpy.linalg.det(numpy.eye(3)))
"""
    plain = code.replace("ti.runtime.load()", "")
    outputs = [
        subprocess.run([sys.executable, "-c", each], capture_output=True, text=True, check=True).stdout
        for each in (code, plain)
    ]
    assert outputs[0] == outputs[1]


def test_the_forwarder_puts_the_names_into_the_global_scope(runtime: ti.runtime.Runtime) -> None:
    code = """
import ctypes, triton_inprocess as ti
runtime = ti.runtime.load()
everything = ctypes.CDLL(None)
assert not hasattr(everything, "TRITONSERVER_ApiVersion")
ti.runtime.open_forwarder()
ti.runtime.open_forwarder()
major, minor = ctypes.c_uint32(), ctypes.c_uint32()
everything.TRITONSERVER_ApiVersion.restype = ctypes.c_void_p
assert everything.TRITONSERVER_ApiVersion(ctypes.byref(major), ctypes.byref(minor)) is None
assert (major.value, minor.value) == runtime.api_version
assert hasattr(everything, "TRITONBACKEND_ResponseSend")
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
