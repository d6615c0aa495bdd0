"""What a model is loaded with instead of what its repository says: a configuration, and files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from ._native import TRITONSERVER_Parameter
from .errors import InvalidArgumentError

__all__ = ["FileContent", "LoadValue", "load_parameters"]

FileContent = bytes | bytearray | memoryview
LoadValue = str | bytes | bytearray | memoryview | Mapping[str, Any]

_CONFIG = "config"
_FILE = "file:"


def load_parameters(
    model: str,
    parameters: Mapping[str, LoadValue] | None,
    config: Mapping[str, Any] | str | None,
    files: Mapping[str, FileContent] | None,
) -> list[TRITONSERVER_Parameter]:
    """The parameters for TRITONSERVER_ServerLoadModelWithParameters, checked; none for a load from the repository."""
    contents = _files("files", files)
    argument = "config"
    for key, value in _mapping("parameters", parameters).items():
        if key == _CONFIG:
            if config is not None:
                raise TypeError("config was given twice: as an argument and in parameters")
            if value is None:
                raise TypeError("parameters['config'] must be a dict or JSON as a str, not None")
            argument, config = "parameters['config']", value
        elif isinstance(key, str) and key.startswith(_FILE):
            path, content = _file("parameters", key, value)
            if path in contents:
                raise TypeError(f"file {path!r} was given twice: in files and in parameters")
            contents[path] = content
        else:
            raise InvalidArgumentError(
                f"parameters has {key!r}; Triton takes 'config' and 'file:<version>/<name>' only"
            )
    if contents and config is None:
        raise InvalidArgumentError(
            f"files need a config: with files, here {', '.join(map(repr, contents))}, Triton takes nothing of model "
            f"{model!r} from the repository, so its configuration must be given, too"
        )
    if config is None:
        return []
    return [
        TRITONSERVER_Parameter(_CONFIG, _config_text(argument, model, config)),
        *(TRITONSERVER_Parameter(_FILE + path, content) for path, content in contents.items()),
    ]


def _mapping(argument: str, value: object) -> Mapping[Any, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{argument} must be a dict or None, not {type(value).__name__}")
    return value


def _config_text(argument: str, model: str, config: object) -> str:
    if isinstance(config, str):
        try:
            content = json.loads(config)
        except ValueError as error:
            raise ValueError(f"{argument} must be JSON, which this is not: {error}") from None
        except RecursionError:
            raise ValueError(f"{argument} must be JSON that is not nested so deeply") from None
        text = config
    elif isinstance(config, Mapping):
        content = dict(config)
        text = _json_of(argument, content)
    else:
        raise TypeError(f"{argument} must be a dict or JSON as a str, not {type(config).__name__}")
    if not isinstance(content, dict):
        raise ValueError(f"{argument} must be a JSON object, not a {type(content).__name__}")
    # Triton says no more than that it could not poll the model.
    if content.get("name", model) not in (model, ""):
        raise InvalidArgumentError(f"{argument} is for a model named {content['name']!r}, not for {model!r}")
    if "\0" in text:
        raise ValueError(f"{argument} must not contain a NUL character")
    return text


def _json_of(argument: str, config: dict[str, Any]) -> str:
    try:
        return json.dumps(config, allow_nan=False)
    except TypeError as error:
        raise TypeError(f"{argument} must hold what JSON can: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{argument} must hold what JSON can: {error}") from None


def _files(argument: str, files: object) -> dict[str, FileContent]:
    result: dict[str, FileContent] = {}
    for key, value in _mapping(argument, files).items():
        path, content = _file(argument, key, value)
        if path in result:
            raise ValueError(f"{argument} has {path!r} twice")
        result[path] = content
    return result


def _file(argument: str, key: object, value: object) -> tuple[str, FileContent]:
    if not isinstance(key, str):
        raise TypeError(f"each path of {argument} must be a str, not {type(key).__name__}")
    path = key[len(_FILE) :] if key.startswith(_FILE) else key  # as Triton's own Python models say it
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{argument}[{key!r}] must be bytes, not {type(value).__name__}")
    parts = PurePosixPath(path).parts
    version = parts[0] if parts else ""
    numbered = version.isascii() and version.isdigit() and int(version) > 0
    if "\0" in path or ".." in parts or len(parts) < 2 or not numbered:
        raise InvalidArgumentError(
            f"{argument} has {key!r}; Triton takes paths '<version>/<name>' within the model's folder, such as "
            "'1/model.onnx'"
        )
    return str(PurePosixPath(path)), value
