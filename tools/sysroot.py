"""A compiler whose programs run on every manylinux_2_28 system, without Docker and without root: `sysroot.py FOLDER`.

It is g++ 10 of Debian 11 with that system's C and C++ libraries, unpacked into a folder and run from there: newer ones
name symbols that older systems lack. Debian's own apt-get fetches the packages, from the mirror that this machine uses,
and checks their signatures. Prints the compiler. A folder that is complete is left as it is.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

SUITE = "bullseye"
PACKAGES = ["g++-10"]
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MIRROR = "TRITON_INPROCESS_DEBIAN_MIRROR"
ARCHITECTURES = {"x86_64": ("amd64", "x86_64-linux-gnu"), "aarch64": ("arm64", "aarch64-linux-gnu")}

APT_CONFIGURATION = """
Dir::Etc "{folder}/etc";
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "-";
Dir::State "{folder}";
Dir::State::Lists "{folder}/lists";
Dir::State::Status "{folder}/status";
Dir::Cache "{folder}";
Dir::Cache::Archives "{folder}/archives";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "0";
APT::Sandbox::User "";
"""

# The compiler finds its own parts beside itself; its libraries must come first for it alone, not for what calls it.
WRAPPER = """#!/bin/sh
LD_LIBRARY_PATH='{root}/usr/lib/{triplet}' exec '{root}/usr/bin/{triplet}-g++-10' \\
  --sysroot='{root}' -B'{root}/usr/bin/' -idirafter '{headers}' "$@" -L'{libraries}' -l{backports}
"""

# Debian 11 is a little newer than manylinux_2_28 (glibc 2.31 and g++ 10 instead of 2.28 and 8). What has come in
# between and is used here is linked into the program, or done without, as with the compilers of the manylinux images.
BACKPORTS = "triton_inprocess_backports"
NEWER_OBJECTS = ["fs_dir.o", "fs_ops.o", "fs_path.o"]  # std::filesystem
NEWER_FUNCTIONS = ["COND_CLOCKWAIT", "MUTEX_CLOCKLOCK", "RWLOCK_CLOCKLOCK"]


def architecture() -> tuple[str, str]:
    """Debian's name of this machine's architecture, and the compiler's."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise SystemExit(f"there is no manylinux compiler for {machine}: only for {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[machine]


def mirror() -> str:
    """Where this machine gets Debian's packages."""
    named = os.environ.get(MIRROR)
    if named:
        return named
    command = ["apt-get", "indextargets", "Created-By: Packages", "Origin: Debian", "--format", "$(REPO_URI)"]
    mirrors = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if not mirrors:
        raise SystemExit(
            f"this machine has no mirror of Debian, or has not run 'apt-get update': name one in ${MIRROR}"
        )
    return mirrors[0]


def fetch(folder: Path) -> list[Path]:
    """The packages and all that they need, as if nothing were installed."""
    for name in "etc/apt.conf.d", "etc/preferences.d", "lists/partial", "archives/partial":
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    source = f"deb [signed-by={KEYRING}] {mirror()} {SUITE} main\n"
    (folder / "sources.list").write_text(source, encoding="utf-8")
    configuration = folder / "apt.conf"
    configuration.write_text(APT_CONFIGURATION.format(folder=folder, architecture=architecture()[0]), encoding="utf-8")
    environment = {**os.environ, "APT_CONFIG": str(configuration)}
    for command in ["update"], ["--yes", "--download-only", "install", *PACKAGES]:
        # Nothing but the compiler may land on standard output.
        subprocess.run(["apt-get", "--quiet", "--quiet", *command], env=environment, stdout=sys.stderr, check=True)
    return sorted((folder / "archives").glob("*.deb"))


def unpack(packages: list[Path], root: Path) -> None:
    """Lay the packages' files below `root`; links that are absolute are made to stay in there."""
    root.mkdir()
    for package in packages:
        subprocess.run(["dpkg-deb", "--extract", str(package), str(root)], check=True)
    for link in root.rglob("*"):
        if link.is_symlink() and link.readlink().is_absolute():
            target = root / link.readlink().relative_to("/")
            link.unlink()
            link.symlink_to(os.path.relpath(target, link.parent))


def hide_newer_functions(root: Path) -> None:
    """Tell the C++ library that its C library has no function that waits for another clock, of glibc 2.30."""
    header = root / "usr" / "include" / architecture()[1] / "c++" / "10" / "bits" / "c++config.h"
    text = header.read_text(encoding="utf-8")
    for function in NEWER_FUNCTIONS:
        definition = f"#define _GLIBCXX_USE_PTHREAD_{function} 1\n"
        if definition not in text:
            raise SystemExit(f"{header} does not define what was to be hidden: {definition}")
        text = text.replace(definition, "")
    header.write_text(text, encoding="utf-8")


def make_backports(folder: Path, root: Path) -> Path:
    """A library of those parts of the C++ library that a program must bring along. The compiler looks into it first."""
    triplet = architecture()[1]
    objects = folder / "objects"
    objects.mkdir()
    archive = root / "usr" / "lib" / "gcc" / triplet / "10" / "libstdc++.a"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(root / "usr" / "lib" / triplet)}
    archiver = str(root / "usr" / "bin" / f"{triplet}-ar")
    for command in ["x", str(archive), *NEWER_OBJECTS], ["rcs", f"lib{BACKPORTS}.a", *NEWER_OBJECTS]:
        subprocess.run([archiver, *command], env=environment, cwd=objects, check=True)
    return objects


def write_wrapper(folder: Path, root: Path, libraries: Path) -> Path:
    """The compiler as a program that needs no options."""
    triplet = architecture()[1]
    # Debian's own Python keeps a part of its headers where a compiler of Debian finds it, and this one would not.
    headers = folder / "headers"
    (headers / triplet).mkdir(parents=True)
    for python in sorted(Path("/usr/include", triplet).glob("python3.*")):
        (headers / triplet / python.name).symlink_to(python)
    compiler = folder / "g++"
    places = {"root": root, "headers": headers, "libraries": libraries}
    compiler.write_text(WRAPPER.format(triplet=triplet, backports=BACKPORTS, **places), encoding="utf-8")
    compiler.chmod(0o755)
    return compiler


def make(folder: Path) -> Path:
    """The compiler, which is fetched unless it is there."""
    compiler = folder / "g++"
    if compiler.exists():
        return compiler
    missing = [name for name in ("apt-get", "dpkg-deb") if shutil.which(name) is None]
    if missing or not KEYRING.exists():
        lacking = ", ".join([*missing, *([] if KEYRING.exists() else [str(KEYRING)])])
        raise SystemExit(f"the manylinux compiler needs {lacking}: use Debian, or build with cibuildwheel and Docker")
    shutil.rmtree(folder, ignore_errors=True)
    packages = fetch(folder / "apt")
    root = folder / "root"
    unpack(packages, root)
    hide_newer_functions(root)
    compiler = write_wrapper(folder, root, make_backports(folder, root))
    shutil.rmtree(folder / "apt")
    return compiler


if __name__ == "__main__":
    print(make(Path(sys.argv[1]).resolve()))
