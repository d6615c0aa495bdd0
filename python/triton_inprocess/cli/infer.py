"""``infer``: one request to a model, and what it answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._native import DataType, InferenceResponse, Tensor
from .inputs import InputOptions, given_inputs, parameter_values
from .targets import Backends, FromModule, ModelName, Repositories, model_opened

__all__ = ["infer"]

_SHOWN = 1000  # elements of an output, in the form for people


def infer(  # noqa: PLR0917 - typer's options
    name: ModelName,
    inputs: InputOptions = None,
    inputs_file: Annotated[
        Path | None,
        typer.Option("--inputs", help="A JSON object of inputs by name; - is the standard input.", show_default=False),
    ] = None,
    model_repository: Repositories = None,
    from_module: FromModule = None,
    backend_directory: Backends = None,
    version: Annotated[int, typer.Option(help="The version; -1 is the latest that is served.")] = -1,
    parameters: Annotated[
        list[str] | None, typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="A parameter of the request.")
    ] = None,
    request_id: Annotated[str | None, typer.Option(help="The request's id.", show_default=False)] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds to wait for the answer; then it is cancelled.", show_default=False)
    ] = None,
    output_folder: Annotated[
        Path | None,
        typer.Option(help="Write each output there, as NAME.npy (a stream: NAME.1.npy, …).", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object for each response, one a line.")] = False,
) -> None:
    """Send one request and print the responses. Exit status 1: the model could not answer."""
    values = given_inputs(inputs, inputs_file)
    sent_parameters = parameter_values(parameters)
    with model_opened(name, version, from_module, model_repository, backend_directory) as model:
        number = 0
        try:
            responses = model.infer(values, request_id=request_id, parameters=sent_parameters, deadline=deadline)
            for response in responses:
                if not response.outputs:
                    continue  # the end of a stream
                number += 1
                _show(response, as_json)
                if output_folder is not None:
                    _save(response, output_folder, "" if response.final and number == 1 else f".{number}")
        except TimeoutError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from None


def _show(response: InferenceResponse, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_described(response)))
        return
    for name, tensor in response.outputs.items():
        values = np.array2string(np.asarray(_values(tensor)), threshold=_SHOWN, separator=", ")
        typer.echo(f"{name} ({tensor.data_type.name}, {list(tensor.shape)}): {values}")


def _described(response: InferenceResponse) -> dict[str, Any]:
    outputs = {
        name: {"datatype": tensor.data_type.name, "shape": list(tensor.shape), "data": _values(tensor)}
        for name, tensor in response.outputs.items()
    }
    return {
        "model": response.model.name,
        "version": response.model.version,
        "request_id": response.request_id,
        "parameters": response.parameters,
        "outputs": outputs,
    }


def _values(tensor: Tensor) -> Any:
    """Nested lists; what is no text in UTF-8 is shown by escapes."""
    if tensor.data_type is not DataType.BYTES:
        return tensor.tolist()
    decoded = [each.decode("utf-8", "backslashreplace") for each in tensor.to_bytes_array().ravel()]
    return np.array(decoded, object).reshape(tensor.shape).tolist()


def _save(response: InferenceResponse, folder: Path, number: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, tensor in response.outputs.items():
        if Path(name).name != name:
            raise typer.BadParameter(f"output {name!r} of the model cannot be the name of a file")
        array = tensor.numpy()
        # numpy writes objects as pickles, which nobody should have to open.
        array = array if array.dtype != object else np.array(tensor.to_bytes_array().tolist(), "S")
        np.save(folder / f"{name}{number}.npy", array, allow_pickle=False)
