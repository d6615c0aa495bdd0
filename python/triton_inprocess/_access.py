"""Who may ask an endpoint, and for what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Access", "access_of"]


@dataclass(frozen=True)
class Access:
    """Who may ask, and for what; see create_app."""

    token: str | None = None
    allow_model_control: bool = False
    allow_model_upload: bool = False
    allow_shared_memory: bool = False
    allow_log_settings: bool = False
    allow_origins: frozenset[str] = field(default=frozenset())

    def require(self, switch: str) -> None:
        """Raises HttpError 403 unless `switch` is on."""
        if not getattr(self, switch):
            from .asgi._errors import HttpError

            raise HttpError(403, f"this is switched off; {switch}=True of create_app or Server.serve switches it on")


def access_of(**arguments: Any) -> Access:
    """The arguments of create_app that are about access, checked."""
    token = arguments.get("token")
    if token is not None and not isinstance(token, str):
        raise TypeError(f"token must be a str or None, not {type(token).__name__}")
    if token is not None and not (token and token.isascii() and token.isprintable() and " " not in token):
        raise ValueError("token must be of printable ASCII characters without spaces, and not empty")
    for name, value in arguments.items():
        if name.startswith("allow_") and name != "allow_origins" and not isinstance(value, bool):
            raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    origins = arguments.pop("allow_origins", ())
    if isinstance(origins, str) or not all(isinstance(each, str) for each in origins):
        raise TypeError("allow_origins must be a collection of str")
    if arguments.get("allow_model_upload") and not arguments.get("allow_model_control"):
        raise ValueError("allow_model_upload needs allow_model_control: models are brought along when they are loaded")
    return Access(allow_origins=frozenset(origins), **arguments)
