"""Makes an environment with the wheel for every Python of this machine: `pythons.py ENVIRONMENTS DIST`.

Prints the interpreters, separated as in PATH; those that cannot be used are named on standard error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

MINOR_VERSIONS = range(10, 16)

# The only Python that NVIDIA's front end is for, and what its tests need beside it (tests/test_native_endpoints.py).
FRONT_END_VERSION = "3.12"
FRONT_END_TESTS = ["pytest", "pytest-timeout", "hypothesis", "pydantic", "starlette", "uvicorn", "httptools"]
FRONT_END_TESTS += ["tritonclient[grpc,http]"]


def interpreters() -> dict[str, str]:
    """A working interpreter of each version, from PATH and from pyenv."""
    found = {}
    for minor in MINOR_VERSIONS:
        version = f"3.{minor}"
        candidates = [shutil.which(f"python{version}"), *_pyenv(version)]
        working = next((path for path in candidates if path is not None and _works(path, version)), None)
        if working is not None:
            found[version] = working
    return found


def _pyenv(version: str) -> list[str]:
    versions = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))) / "versions"
    return [str(path) for path in sorted(versions.glob(f"{version}.*/bin/python3"))]


def _works(path: str, version: str) -> bool:
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    result = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return result.returncode == 0 and result.stdout.strip() == version


def make_environment(interpreter: str, folder: Path, wheel: Path) -> Path:
    """An environment with the wheel and what it needs."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, str(wheel)], check=True, stdout=sys.stderr)
    subprocess.run([*install, "--force-reinstall", "--no-deps", str(wheel)], check=True, stdout=sys.stderr)
    return python


def install_front_end(python: Path) -> None:
    """Install NVIDIA's front end, whose own requirements are not to be had, and what its tests need."""
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for arguments in (FRONT_END_TESTS, ["--no-deps", "tritonfrontend"]):
        subprocess.run([*install, *arguments], check=True, stdout=sys.stderr)


def main() -> None:
    """Make the environments and print their interpreters."""
    environments, dist = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    (wheel,) = dist.glob("*.whl")
    made = []
    for version, interpreter in interpreters().items():
        try:
            python = make_environment(interpreter, environments / version, wheel)
        except subprocess.CalledProcessError as error:
            print(f"Python {version} ({interpreter}) is left out: {error}", file=sys.stderr)
            continue
        made.append(str(python))
        if version == FRONT_END_VERSION:
            try:
                install_front_end(python)
            except subprocess.CalledProcessError as error:
                print(f"the tests of gRPC are left out: {error}", file=sys.stderr)
    print(os.pathsep.join(made))


if __name__ == "__main__":
    main()
