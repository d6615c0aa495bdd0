"""Peers as sides: those that are installed, each in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from .artifacts import PROJECT
from .errors import BenchmarkError
from .line_process import LineProcess
from .measurement import Call, Subject
from .peers.settings import Settings
from .peers.table import PEERS


class PeerSides:
    """The peers that could be started, and why the others could not; a context manager, which ends them."""

    def __init__(self, python: Path, settings: Settings, names: Iterable[str] = tuple(PEERS)) -> None:
        """Starts the peers of these names with that interpreter."""
        self.subjects: list[Subject] = []
        self.missing: dict[str, str] = {}
        with ExitStack() as stack:
            for name in names:
                self._start(name, python, settings, stack)
            self._stack = stack.pop_all()

    def __enter__(self) -> PeerSides:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, name: str, python: Path, settings: Settings, stack: ExitStack) -> None:
        peer = PEERS[name]
        paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
        command: list[str | Path] = [python, "-m", "benchmarks.peers.worker", name, settings.dump()]
        try:
            process = LineProcess(peer.title, command, {"PYTHONPATH": os.pathsep.join(paths)})
        except BenchmarkError as error:
            self.missing[peer.title] = str(error)
            return
        stack.enter_context(process)
        missing = process.ready.get("missing")
        if missing is not None:
            self.missing[peer.title] = str(missing)
            return
        for measurement, reason in process.ready["lacking"].items():
            self.missing[f"{peer.title}, {measurement}"] = str(reason)
        calls = {each: _call(process, each) for each in process.ready["calls"]}
        self.subjects.append(Subject(peer.title, calls, peer.slowness))


def _call(process: LineProcess, measurement: str) -> Call:
    return lambda count: [float(value) for value in process.ask(f"{measurement} {count}")["values"]]
