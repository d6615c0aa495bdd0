"""Under what circumstances results came about."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import numpy as np

import triton_inprocess as ti
from triton_inprocess.runtime import Runtime

DISTRIBUTION = "triton-inprocess"


@dataclass(frozen=True)
class Environment:
    """Machine, versions and settings."""

    command: str
    date: str
    processor: str
    cores: int
    system: str
    python: str
    numpy: str
    package: str
    runtime: str
    api_version: str
    pinned_to_core: int | None
    inferences: int
    repetitions: int
    missing_peers: dict[str, str] = field(default_factory=dict)

    @property
    def pinning(self) -> str:
        """The pinning in words."""
        if self.pinned_to_core is None:
            return "not pinned: wake-ups between cores are included, and vary"
        return f"all sides pinned to core {self.pinned_to_core}"

    def lines(self) -> list[str]:
        """All of it in words, without the peers that are missing."""
        return [
            f"Command: {self.command}",
            f"Medians and extremes of {self.repetitions} repetitions, interleaved, each of {self.inferences:,} "
            f"inferences of 16 floats (fewer of what is slower); {self.pinning}.",
            f"{self.date}; {self.processor}, {self.cores} cores, {self.system}; Python {self.python}, "
            f"numpy {self.numpy}, Triton C API {self.api_version}, {self.runtime}; triton_inprocess: {self.package}.",
        ]


def describe(
    runtime: Runtime,
    *,
    module: str,
    pinned_to_core: int | None,
    inferences: int,
    repetitions: int,
    missing_peers: dict[str, str],
) -> Environment:
    """This process's."""
    return Environment(
        command=command_line(module),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        processor=processor(Path("/proc/cpuinfo")),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        numpy=np.__version__,
        package=package(Path(ti.__file__).resolve().parent),
        runtime=str(runtime.path),
        api_version=".".join(map(str, runtime.api_version)),
        pinned_to_core=pinned_to_core,
        inferences=inferences,
        repetitions=repetitions,
        missing_peers=missing_peers,
    )


def command_line(module: str) -> str:
    """What has to be typed to do this again."""
    return shlex.join(["python", "-m", module, *sys.argv[1:]])


def processor(cpuinfo: Path) -> str:
    """The processor's name as Linux tells it, or the architecture."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def package(folder: Path) -> str:
    """Whether that folder is an installed package (of which version) or a source tree."""
    try:
        distribution = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return f"the source tree at {folder}"
    if Path(str(distribution.locate_file(folder.name))).resolve() == folder:
        return f"the installed wheel, {distribution.version}"
    return f"the source tree at {folder}"
