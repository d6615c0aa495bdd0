"""What a peer's process is told."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Settings:
    """Paths, as text: they go through a command line."""

    repository: str
    backend_directory: str
    model_name: str
    large_model_name: str
    input_name: str
    output_name: str
    server_program: str | None
    """Triton's own server, for the clients."""
    binding: str = "tritonserver"
    """The module that is the in-process binding."""

    def dump(self) -> str:
        """As text."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> Settings:
        """From text."""
        return cls(**json.loads(text))
