"""Triton Python models that run in this process: Triton has found them in a repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from weakref import ref

from . import _native
from ._model_code import ModelCode
from ._model_servers import servers
from ._pb_context import ModelContext, running_in
from ._pb_model_config import ModelConfig
from ._python_model_runner import PythonModelRunner
from .errors import InvalidArgumentError, NotFoundError, UnavailableError, UnsupportedError

__all__ = ["make_model"]


def make_model(  # noqa: PLR0917 - the extension calls it
    backend: str, directory: str, name: str, version: int, config_json: str, completes: bool
) -> tuple[str, str | None]:
    """Import a model's code and let it complete its configuration; the extension calls this when Triton loads it.

    Args:
        backend: Folder of the backend, which is the server's own.
        directory: Folder of the model.
        name: Name of the model.
        version: Its version.
        config_json: Its configuration.
        completes: Whether the configuration may be completed.

    Returns the key of the function that the extension is to execute, and the completed configuration, if it is another.
    """
    server = servers.get(str(Path(backend).parent))
    if server is None:
        raise UnavailableError(f"the server of model {name!r} is gone")
    config = json.loads(config_json)
    folder = Path(directory) / str(version)
    file = config.get("default_model_filename") or "model.py"
    _refuse_other_interpreters(name, Path(directory), config)
    if not (folder / file).is_file():
        raise NotFoundError(f"model {name!r} has no file '{folder / file}'")
    context = ModelContext(ref(server), name, version, directory)
    code = ModelCode(folder)
    try:
        with running_in(context):
            model_class = _model_class(name, code.load(file), folder / file)
            completed = _completed(name, model_class, config) if completes else None
    except BaseException:
        code.close()
        raise
    size = int((completed or config).get("max_batch_size", 0))
    runner = PythonModelRunner(context, code, model_class)
    key = f"{directory}/{version}#{id(runner)}"
    runner.serve(_native.PythonFunction(runner, key, name, [], [], size > 0, True))
    return key, json.dumps(completed) if completed is not None and completed != config else None


def _refuse_other_interpreters(name: str, directory: Path, config: dict[str, Any]) -> None:
    found = None
    if "EXECUTION_ENV_PATH" in config.get("parameters", {}):
        found = "EXECUTION_ENV_PATH"
    elif (directory / "triton_python_backend_stub").exists():
        found = "triton_python_backend_stub"
    if found is not None:
        raise UnsupportedError(
            f"model {name!r} has {found}: it wants an interpreter of its own, and cannot run in this process. Serve it "
            "by the runtime's stub: Server(python_models='stub')"
        )


def _model_class(name: str, module: Any, path: Path) -> Any:
    model_class = getattr(module, "TritonPythonModel", None)
    if not isinstance(model_class, type):
        raise InvalidArgumentError(f"model {name!r}: '{path}' has no class TritonPythonModel")
    if not callable(getattr(model_class, "execute", None)):
        raise InvalidArgumentError(f"model {name!r}: TritonPythonModel in '{path}' has no method execute")
    return model_class


def _completed(name: str, model_class: Any, config: dict[str, Any]) -> dict[str, Any] | None:
    complete = getattr(model_class, "auto_complete_config", None)
    if complete is None:
        return None
    completed = complete(ModelConfig(config))
    if not isinstance(completed, ModelConfig):
        raise InvalidArgumentError(
            f"model {name!r}: auto_complete_config returned {type(completed).__name__}, expected the ModelConfig that "
            "it was given"
        )
    return completed.as_dict()
