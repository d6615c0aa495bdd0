"""Makes what is published: `release.py [--sdist] DIST`, the source distribution and from it the manylinux wheel.

The wheel is built from the source distribution, so that this one is complete, and without a network, so that the build
needs nothing but its requirements. The build folder is kept: what has not changed is not compiled again.
"""

from __future__ import annotations

import filecmp
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import sysroot

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "manylinux"
POLICY = f"manylinux_2_28_{platform.machine()}"

# In a network of its own a process reaches nobody. Where it may not have one, no index still means no download.
ALONE = ["unshare", "--map-root-user", "--net"]


def alone() -> list[str]:
    """What keeps a command off the network, where the system lets it."""
    allowed = (
        shutil.which(ALONE[0]) and subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0
    )
    return ALONE if allowed else []


def make_sdist(dist: Path) -> Path:
    """The source distribution of the working tree."""
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(dist), str(ROOT)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    (made,) = dist.glob("*.tar.gz")
    return made


def unpack(sdist: Path) -> Path:
    """The folder with the sources, always the same one. Its files have the times at which they have last changed.

    The archive gives one time to all of them, so that a build tool would take what has changed for what it knows.
    """
    kept, unpacked = FOLDER / "sources", FOLDER / "sources.new"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked)
    (inside,) = unpacked.iterdir()
    for file in inside.rglob("*"):
        if file.is_file() and not file.is_symlink():
            before = kept / file.relative_to(inside)  # without the version, which is a part of the archive's path
            if before.is_file() and filecmp.cmp(before, file, shallow=False):
                os.utime(file, ns=(before.stat().st_mtime_ns, before.stat().st_mtime_ns))
            else:
                os.utime(file)
    shutil.rmtree(kept, ignore_errors=True)
    inside.rename(kept)
    unpacked.rmdir()
    return kept


def build(sources: Path, compiler: Path) -> Path:
    """The wheel as it was compiled, which says nothing yet about where it runs."""
    built = FOLDER / "wheels"
    shutil.rmtree(built, ignore_errors=True)
    options = ["--quiet", "--no-build-isolation", "--no-index", "--no-deps", "--wheel-dir", str(built)]
    settings = ["--config-settings", f"build-dir={FOLDER / 'objects'}"]
    environment = {
        **os.environ,
        "CXX": str(compiler),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = [*alone(), sys.executable, "-m", "pip", "wheel", *options, *settings, str(sources)]
    subprocess.run(command, env=environment, check=True)
    (made,) = built.glob("*.whl")
    return made


def label(wheel: Path, dist: Path) -> Path:
    """The wheel under the name of the policy that it keeps; that it does is checked first."""
    command = [sys.executable, "-m", "auditwheel", "repair", "--plat", POLICY, "--only-plat", "--wheel-dir", str(dist)]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([*command, str(wheel)], env=environment, stdout=subprocess.DEVNULL, check=True)
    (made,) = dist.glob(f"*{POLICY}.whl")
    return made


def main() -> None:
    """Make them and name them."""
    *options, folder = sys.argv[1:]
    dist = Path(folder).resolve()
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir(parents=True)
    everything = [make_sdist(dist)]
    if "--sdist" not in options:
        everything.append(label(build(unpack(everything[0]), sysroot.make(FOLDER / "compiler")), dist))
    for made in everything:
        print(f"{made.relative_to(Path.cwd()) if made.is_relative_to(Path.cwd()) else made}: {made.stat().st_size:,} B")


if __name__ == "__main__":
    main()
