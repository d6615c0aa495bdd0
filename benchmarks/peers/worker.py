"""`python -m benchmarks.peers.worker PEER SETTINGS`: a peer's process.

It writes what can be measured, or `{"missing": "..."}`, and then answers each line `MEASUREMENT COUNT` by the numbers.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from .client import Client
from .missing import MissingPeerError
from .settings import Settings
from .table import PEERS


def _own_output() -> TextIO:
    """Standard output for the answers alone: what libraries print there goes to standard error."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _write(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _serve(client: Client, answers: TextIO) -> None:
    client.check()
    calls = client.calls()
    _write(answers, {"calls": list(calls), "lacking": client.lacking})
    for line in sys.stdin:
        name, count = line.split()
        try:
            _write(answers, {"values": list(calls[name](int(count)))})
        except Exception as error:
            _write(answers, {"error": f"{type(error).__name__}: {error}"})


def main() -> None:
    """Opens the peer and serves the lines of standard input."""
    peer, settings = PEERS[sys.argv[1]], Settings.load(sys.argv[2])
    answers = _own_output()
    try:
        with peer.open(settings) as client:
            _serve(client, answers)
    except MissingPeerError as error:
        _write(answers, {"missing": str(error)})


if __name__ == "__main__":
    main()
