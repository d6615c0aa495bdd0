"""Looks at what is to be published: `check_wheel.py DIST`, a folder with a source distribution and wheels.

What a wheel shows and holds is checked here; the stable ABI, the platform, the metadata and the source distribution by
the tools that there are for them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1_000_000  # bytes
PACKAGE = "triton_inprocess/"
LIBRARIES = {f"{PACKAGE}_native.abi3.so", f"{PACKAGE}_native.abi3t.so", f"{PACKAGE}libtriton_forwarder.so"}
#: What must be there for type checkers, and for those who ask what it is and whose.
NEEDED = {f"{PACKAGE}py.typed", f"{PACKAGE}_native.pyi", f"{PACKAGE}__init__.py"}
#: What the native module shows to Python (the second one to a free-threaded Python), and to Triton.
INIT_FUNCTIONS = {"PyInit__native", "PyModExport__native"}
ENTRY_POINT = "TRITONBACKEND_ModelInstanceExecute"
#: What the forwarder shows besides Triton's C API: where to find that.
FORWARDER_TABLE = {"triton_inprocess_forwarder_table"}


def exported(library: bytes) -> set[str]:
    """The names that a shared library shows to others."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(library)
        file.flush()
        # It reads the libraries of every architecture; nm may not.
        command = ["readelf", "--dyn-syms", "--wide", file.name]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # Number, value, size, type, binding, visibility, section, name.
    symbols = [line.split() for line in lines if line.split()[:1] and line.split()[0].rstrip(":").isdecimal()]
    defined = [each for each in symbols if len(each) >= 8 and each[6] != "UND" and each[4] != "LOCAL"]
    return {each[7].split("@")[0] for each in defined}


def wrong_exports(name: str, library: bytes) -> list[str]:
    """The names that a library of ours shows and should not."""
    names = exported(library)
    if "_native" not in name:  # the forwarder: Triton's C API and nothing else, but what it is told where that lies
        return sorted(
            each for each in names if not each.startswith(("TRITONSERVER_", "TRITONBACKEND_", "triton_inproc"))
        )
    if not any(each.startswith("PyInit_") or each.startswith("PyModExport_") for each in names):
        return ["no init function"]
    entry_points = {"TRITONBACKEND_ModelInstanceExecute"}
    if not entry_points <= names:
        return ["no entry points of the backend"]
    return sorted(
        each for each in names if not each.startswith(("PyInit__native", "PyModExport__native", "TRITONBACKEND_"))
    )


def faults_of(wheel: Path) -> list[str]:
    """What is wrong with a wheel."""
    faults = []
    size = wheel.stat().st_size
    if size >= LIMIT:
        faults.append(f"it has {size:,} bytes, {LIMIT:,} is the limit")
    with zipfile.ZipFile(wheel) as archive:
        names = {each.filename for each in archive.infolist() if not each.is_dir()}
        faults += [f"it lacks {name}" for name in sorted(NEEDED - names)]
        libraries = {name for name in names if ".so" in Path(name).name}
        faults += [f"it holds a library that is not ours: {name}" for name in sorted(libraries - LIBRARIES)]
        if len(libraries & LIBRARIES) != 2:
            faults.append("it holds the native module and the forwarder not once each")
        if not any(name.endswith("/licenses/LICENSE") for name in names):
            faults.append("it lacks the licence")
        strange = [name for name in names if not name.startswith((PACKAGE, "triton_inprocess-"))]
        faults += [f"it installs something outside the package: {name}" for name in sorted(strange)]
        for name in sorted(libraries & LIBRARIES):
            faults += [f"{name} shows {symbol}" for symbol in wrong_exports(name, archive.read(name))]
    return faults


def wrong_platform(wheel: Path) -> list[str]:
    """Whether the wheel runs only on newer systems than its name says, or needs a library that they may lack."""
    command = [sys.executable, "-m", "auditwheel", "show", "--json", str(wheel)]
    audit = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    faults = [f"it needs {name}" for name in audit["external_libs"]]
    needed, promised = glibc(audit["overall_tag"]), glibc(wheel.stem)
    if needed is None or promised is None or needed > promised:
        faults.append(f"auditwheel says that it is {audit['overall_tag']}")
    return faults


def glibc(tag: str) -> tuple[int, ...] | None:
    """The version of the C library in a tag of manylinux."""
    found = re.search(r"manylinux_(\d+)_(\d+)_", tag)
    return tuple(map(int, found.groups())) if found else None


def tools(dist: Path, wheels: list[Path]) -> list[list[str]]:
    """The tools of others."""
    module = [sys.executable, "-m"]
    everything = [str(path) for path in sorted(dist.iterdir())]
    checks = [[*module, "twine", "check", "--strict", *everything]]
    for wheel in wheels:
        # It knows the stable ABI with a GIL only.
        if "abi3t" not in wheel.name:
            checks.append([*module, "abi3audit", "--strict", "--summary", str(wheel)])
    if any(dist.glob("*.tar.gz")):
        checks.append([*module, "check_sdist", "--no-isolation", "--inject-junk", "--source-dir", str(ROOT)])
    return checks


def main() -> int:
    """Check everything, however early something is wrong."""
    dist = Path(sys.argv[1])
    wheels = sorted(dist.glob("*.whl"))
    if not wheels:
        raise SystemExit(f"there is no wheel in {dist}")
    failed = 0
    for wheel in wheels:
        faults = [*faults_of(wheel), *wrong_platform(wheel)]
        print(f"-- {wheel.name}: {wheel.stat().st_size:,} B, {'; '.join(faults) or 'well'}", flush=True)
        failed += bool(faults)
    for command in tools(dist, wheels):
        print(f"-- {' '.join(command[2:4])} ...", flush=True)
        failed += subprocess.run(command, cwd=ROOT, check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
