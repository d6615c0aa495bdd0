"""Configurations of models: put together as dicts, written as protobuf's text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["merged", "quoted", "to_text"]

# Where a text is the name of an enum's member, which is not quoted.
_ENUMS = ("data_type", "kind", "format", "timeout_action", "model_operations")

# Fields of the configuration that are maps: entries with a key and a value each.
_MAPS = (
    "cc_model_filenames",
    "input_map",
    "inputs",
    "metric_tags",
    "output_map",
    "parameters",
    "priority_queue_policy",
)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with what `over` says: dicts are merged, anything else takes the place of what was there."""
    result = dict(base)
    for key, value in over.items():
        present = result.get(key)
        result[key] = merged(present, value) if isinstance(present, Mapping) and isinstance(value, Mapping) else value
    return result


def to_text(config: Mapping[str, Any]) -> str:
    """The configuration as config.pbtxt has it. Raises TypeError for a value that no field can have."""
    return "".join(f"{line}\n" for line in _message(config, "config"))


def _message(config: Mapping[str, Any], path: str) -> list[str]:
    lines = []
    for key, value in config.items():
        if not isinstance(key, str) or not key.isidentifier():
            raise TypeError(f"{path} must have names of fields as its keys, not {key!r}")
        lines += _field(key, value, f"{path}[{key!r}]")
    return lines


def _field(key: str, value: Any, path: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, Mapping):
        if key in _MAPS:
            return [line for each, inner in value.items() for line in _entry(key, each, inner, path)]
        return [f"{key} {{", *(f"  {line}" for line in _message(value, path)), "}"]
    if isinstance(value, (list, tuple)):
        return [line for index, each in enumerate(value) for line in _field(key, each, f"{path}[{index}]")]
    return [f"{key}: {_scalar(key, value, path)}"]


def _entry(key: str, name: Any, value: Any, path: str) -> list[str]:
    inner = _field("value", value, f"{path}[{name!r}]")
    return [f"{key} {{", f"  key: {_scalar('key', name, path)}", *(f"  {line}" for line in inner), "}"]


def _scalar(key: str, value: Any, path: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        is_member = key in _ENUMS or (key == "priority" and value.startswith("PRIORITY_"))
        return value if is_member and value.isidentifier() else quoted(value)
    raise TypeError(f"{path} must be a text, a number, a bool, a dict or a list of those, not {type(value).__name__}")


def quoted(text: str) -> str:
    """A string of protobuf's text format; everything but plain ASCII as octal escapes."""
    plain = set(range(0x20, 0x7F)) - {ord('"'), ord("\\")}
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'
