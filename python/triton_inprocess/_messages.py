"""What the C API tells in messages, which are JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._native import TRITONSERVER_Message

__all__ = ["list_of", "object_of"]


def object_of(message: TRITONSERVER_Message) -> dict[str, Any]:
    """The object that a message holds (TRITONSERVER_MessageSerializeToJson)."""
    value = _value_of(message)
    assert isinstance(value, dict)
    return value


def list_of(message: TRITONSERVER_Message) -> list[Any]:
    """The list that a message holds (TRITONSERVER_MessageSerializeToJson)."""
    value = _value_of(message)
    assert isinstance(value, list)
    return value


def _value_of(message: TRITONSERVER_Message) -> object:
    # The import of the package goes without; a server that starts has read it.
    import json

    return json.loads(message.serialize_to_json())
