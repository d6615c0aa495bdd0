"""The peers: a table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from .client import Client
from .in_process import in_process
from .network import GRPC, HTTP
from .pytriton import pytriton
from .settings import Settings


@dataclass(frozen=True)
class Peer:
    """How a peer is opened in its process, and how much fewer inferences than ours it has time for."""

    title: str
    open: Callable[[Settings], AbstractContextManager[Client]]
    slowness: int


PEERS = {
    "tritonserver": Peer("tritonserver", in_process, 5),
    "http": Peer("tritonclient HTTP", HTTP, 20),
    "grpc": Peer("tritonclient gRPC", GRPC, 20),
    "pytriton": Peer("nvidia-pytriton", pytriton, 200),
}
