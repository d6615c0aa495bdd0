"""Inputs of a request, as the command line says them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._native import Tensor

__all__ = ["InputOptions", "given_inputs", "made_inputs", "parameter_values", "parsed_shapes"]

InputOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="NAME=VALUE",
        help="An input: JSON such as x=[[1,2]], or a file, x=@file.npy or x=@file.json. May be given several times.",
        show_default=False,
    ),
]

_TEXT = b"a text of 24 characters."


def given_inputs(options: Sequence[str] | None, file: Path | None) -> dict[str, Any]:
    """The inputs that `--input` and `--inputs` give. Raises typer.BadParameter for what cannot be read."""
    inputs: dict[str, Any] = {}
    if file is not None:
        text = typer.get_text_stream("stdin").read() if str(file) == "-" else _text(file)
        whole = _json(text, f"--inputs {file}")
        if not isinstance(whole, dict):
            raise typer.BadParameter(f"--inputs {file} must hold a JSON object of input names and values")
        inputs.update(whole)
    for option in options or []:
        name, equals, value = option.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"--input must be NAME=VALUE, not {option!r}")
        inputs[name] = _from_file(name, Path(value[1:])) if value.startswith("@") else _json(value, f"--input {name}")
    return inputs


def parameter_values(options: Sequence[str] | None) -> dict[str, str | int | float | bool]:
    """What `--parameter` gives: JSON numbers and booleans are those, everything else is text."""
    values: dict[str, str | int | float | bool] = {}
    for option in options or []:
        name, equals, text = option.partition("=")
        if not name or not equals:
            raise typer.BadParameter(f"--parameter must be NAME=VALUE, not {option!r}")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        values[name] = value if isinstance(value, (bool, int, float)) else text
    return values


def parsed_shapes(options: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """What `--shape` gives."""
    shapes: dict[str, tuple[int, ...]] = {}
    for option in options or []:
        name, equals, text = option.partition("=")
        sizes = text.split(",") if text else []
        if not name or not equals or not all(size.strip().isdecimal() for size in sizes):
            raise typer.BadParameter(f"--shape must be NAME=SIZE,SIZE,…, not {option!r}")
        shapes[name] = tuple(int(size) for size in sizes)
    return shapes


def made_inputs(
    metadata: Mapping[str, Any], batch_size: int | None, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, Any]:
    """Random inputs for a model: numbers from 0 to 1, zeros and ones, or a text, the same at each run.

    `batch_size` None is for a model without batches. Raises typer.BadParameter where a size is not known.
    """
    random = np.random.default_rng(0)
    inputs: dict[str, Any] = {}
    unknown = set(shapes) - {entry["name"] for entry in metadata["inputs"]}
    if unknown:
        raise typer.BadParameter(f"--shape: the model has no input {sorted(unknown)[0]!r}")
    for entry in metadata["inputs"]:
        declared = [int(size) for size in entry["shape"]]
        declared = declared if batch_size is None else declared[1:]
        shape = shapes.get(entry["name"], tuple(declared))
        if any(size < 0 for size in shape):
            raise typer.BadParameter(
                f"input {entry['name']!r} is of any size, {declared}: say one by "
                f"--shape {entry['name']}=SIZE,… or give the input by --input"
            )
        inputs[entry["name"]] = _random_array(
            random, entry["datatype"], shape if batch_size is None else (batch_size, *shape)
        )
    return inputs


def _random_array(random: np.random.Generator, data_type: str, shape: tuple[int, ...]) -> Any:
    if data_type == "BYTES":
        return np.full(shape, _TEXT, object)
    if data_type.startswith(("FP", "BF")):
        return Tensor.from_any(random.random(shape, np.float32), data_type)
    bits = random.integers(0, 2, shape)
    return Tensor.from_any(bits.astype(bool) if data_type == "BOOL" else bits, data_type)


def _from_file(name: str, path: Path) -> Any:
    if path.suffix == ".npy":
        try:
            return np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise typer.BadParameter(f"--input {name}: {path} cannot be read: {error}") from None
    return _json(_text(path), f"--input {name}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path} cannot be read: {error}") from None


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f'{what} is not JSON ({error}); a text is written ["text"]') from None
