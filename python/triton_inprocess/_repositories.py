"""Arguments that name model repositories."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ._native import TRITONSERVER_Parameter
from .errors import InvalidArgumentError

__all__ = ["mapping_parameters", "path_text", "repository_path"]


def path_text(path: object) -> str:
    """The text of a path; raises TypeError or ValueError for what is none."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise TypeError(f"path must be a str or a path of str, not {type(path).__name__}")
    if not text or "\0" in text:
        raise ValueError(f"path must not be empty or contain a NUL character, not {text!r}")
    return text


def repository_path(path: object) -> str:
    """The text of the path of a folder; raises InvalidArgumentError for what is no folder."""
    text = path_text(path)
    if not Path(text).is_dir():
        raise InvalidArgumentError(f"path '{text}' is not a folder")
    return text


def mapping_parameters(path: str, name_mapping: object) -> list[TRITONSERVER_Parameter]:
    """The parameters for a mapping of folders in `path` to model names, checked."""
    if name_mapping is None:
        return []
    if not isinstance(name_mapping, Mapping):
        raise TypeError(f"name_mapping must be a dict of folder to model name, not {type(name_mapping).__name__}")
    for folder, name in name_mapping.items():
        _check("each folder of name_mapping", folder)
        _check(f"name_mapping[{folder!r}]", name)
        # Triton passes over what is not there, and the model keeps its name.
        if Path(folder).name != folder or not (Path(path) / folder).is_dir():
            raise InvalidArgumentError(f"name_mapping has {folder!r}, which is no folder in '{path}'")
    names = list(name_mapping.values())
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgumentError(f"name_mapping gives two folders the name {twice!r}")
    return [TRITONSERVER_Parameter(folder, name) for folder, name in name_mapping.items()]


def _check(argument: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a str, not {type(value).__name__}")
    if not value or "\0" in value:
        raise ValueError(f"{argument} must not be empty or contain a NUL character, not {value!r}")
