"""Other models of the server, for Triton Python models that load, unload or look for them."""

from __future__ import annotations

from collections.abc import Mapping

from ._pb_context import current_context, current_server
from ._pb_error import TritonModelException
from .errors import TritonError

__all__ = ["get_model_dir", "is_model_ready", "load_model", "unload_model"]


def load_model(model_name: str, config: str = "", files: Mapping[str, bytes] | None = None) -> None:
    """Load a model of the same server, or load it again (TRITONSERVER_ServerLoadModelWithParameters).

    Args:
        model_name: The model.
        config: A configuration as JSON instead of the repository's.
        files: The model's files instead of the repository's, by "file:<version>/<name>"; they need a `config`.

    Raises TypeError for arguments of the wrong type, TritonModelException when it could not be loaded, and in the modes
    NONE and POLL.
    """
    parameters: dict[str, str | bytes] = {"config": config} if config else {}
    parameters.update(files or {})
    try:
        current_server().load(model_name, parameters)
    except TritonError as error:
        raise TritonModelException(str(error)) from error


def unload_model(model_name: str, unload_dependents: bool = False) -> None:
    """Unload a model of the same server; returns at once (TRITONSERVER_ServerUnloadModel, …AndDependents).

    Raises TypeError for arguments of the wrong type, TritonModelException in the modes NONE and POLL.
    """
    try:
        current_server().unload(model_name, unload_dependents)
    except TritonError as error:
        raise TritonModelException(str(error)) from error


def is_model_ready(model_name: str, model_version: str = "") -> bool:
    """Whether a model of the same server can be used (TRITONSERVER_ServerModelIsReady).

    `model_version`: a number as text; the empty text is the latest. Raises ValueError for what is no number.
    """
    try:
        return current_server().model(model_name, int(model_version) if model_version else -1).ready()
    except TritonError as error:
        raise TritonModelException(str(error)) from error


def get_model_dir() -> str:
    """The folder of the model whose code this is; raises TritonModelException on a thread that does not tell."""
    context = current_context()
    if context is None:
        raise TritonModelException("get_model_dir is for the methods of a TritonPythonModel")
    return context.directory
