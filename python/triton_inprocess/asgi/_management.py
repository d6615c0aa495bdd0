"""The endpoints that tell of the server and its models, and change them."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from .._async_call import in_background
from .._capi_server import TRITONSERVER_Server
from .._capi_server_options import TRITONSERVER_ServerOptions
from .._load_parameters import FileContent
from .._native import LogFormat, LogLevel, TRITONSERVER_LogIsEnabled
from .._stopping import model_index
from ..errors import InvalidArgumentError, NotFoundError, TritonError, UnsupportedError
from ..flags import ModelIndexFlag
from ._body import read_json
from ._errors import error_body
from ._exchange import SCOPE_KEY, Exchange
from ._service import Service

__all__ = ["Handler", "Management", "Metrics"]

Handler = Callable[[Exchange, dict[str, Any]], Awaitable[None]]

_LOG_SWITCHES = {"log_info": "set_log_info", "log_warning": "set_log_warn", "log_error": "set_log_error"}
_NOT_HERE = {"trace", "cuda_shared_memory"}


class Management:
    """The endpoints, one method each. A method takes the exchange and the parameters of the path."""

    def __init__(self, service: Service) -> None:
        """Of a service."""
        self._service = service
        self._log_verbose: int | None = None
        self._log_format: str | None = None

    # Health and metadata

    async def live(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2/health/live."""
        await self._answer_health(exchange, lambda native: native.is_live())

    async def ready(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2/health/ready."""
        await self._answer_health(exchange, lambda native: native.is_ready())

    async def model_ready(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2/models/{name}[/versions/{version}]/ready."""
        name, version = self._service.named(path)
        await self._answer_health(exchange, lambda native: native.model_is_ready(name, version))

    async def _answer_health(self, exchange: Exchange, question: Callable[[TRITONSERVER_Server], bool]) -> None:
        try:
            healthy = question(self._service.native)
        except TritonError:
            healthy = False
        if healthy:
            await exchange.answer(200, "application/json", [])
        else:
            await exchange.answer(400, "application/json", [error_body("not ready")])

    async def metadata(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2."""
        value = json.loads(self._service.native.metadata().serialize_to_json())
        access = self._service.access
        absent = set(_NOT_HERE)
        if not access.allow_shared_memory:
            absent.add("system_shared_memory")
        if not access.allow_log_settings:
            absent.add("logging")
        value["extensions"] = [each for each in value.get("extensions", ()) if each not in absent]
        await exchange.answer_json(value)

    async def model_metadata(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2/models/{name}[/versions/{version}]."""
        name, version = self._service.named(path)
        await exchange.answer_json(self._service.native.model_metadata(name, version).serialize_to_json())

    async def model_config(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2/models/{name}[/versions/{version}]/config."""
        name, version = self._service.named(path)
        await exchange.answer_json(self._service.native.model_config(name, version, 1).serialize_to_json())

    async def model_statistics(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2/models[/{name}[/versions/{version}]]/stats."""
        name, version = self._service.named(path) if "name" in path else ("", -1)
        native = self._service.native
        await exchange.answer_json(
            await in_background(lambda: native.model_statistics(name, version).serialize_to_json())
        )

    # The model repository

    async def index(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """POST v2/repository/index."""
        _refuse_repository(path)
        ready = (await read_json(exchange)).get("ready", False)
        if not isinstance(ready, bool):
            raise InvalidArgumentError("'ready' of the request must be true or false")
        native = self._service.native
        await exchange.answer_json(
            await in_background(lambda: model_index(native, ModelIndexFlag.READY if ready else 0))
        )

    async def load(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """POST v2/repository/models/{name}/load."""
        self._service.access.require("allow_model_control")
        _refuse_repository(path)
        name, _ = self._service.named(path)
        parameters = _parameters(await read_json(exchange))
        config = parameters.pop("config", None)
        if config is not None and not isinstance(config, str):
            raise InvalidArgumentError("parameter 'config' must be the configuration's JSON as a string")
        files = {key: _decoded(key, value) for key, value in parameters.items()}
        if config is not None or files:
            self._service.access.require("allow_model_upload")
        await self._change(lambda: self._service.server.load(name, config=config, files=files))
        await exchange.answer_json({})

    async def unload(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """POST v2/repository/models/{name}/unload."""
        self._service.access.require("allow_model_control")
        _refuse_repository(path)
        name, _ = self._service.named(path)
        parameters = _parameters(await read_json(exchange))
        dependents = parameters.get("unload_dependents", False)
        if not isinstance(dependents, bool):
            raise InvalidArgumentError("parameter 'unload_dependents' must be true or false")
        await self._change(lambda: self._service.server.unload(name, unload_dependents=dependents))
        await exchange.answer_json({})

    @staticmethod
    async def _change(call: Callable[[], object]) -> None:
        try:
            await in_background(call)
        except (TypeError, ValueError) as error:
            if isinstance(error, TritonError):
                raise
            raise InvalidArgumentError(str(error)) from None

    # Shared memory

    async def shared_memory_status(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2/systemsharedmemory[/region/{name}]/status."""
        self._service.access.require("allow_shared_memory")
        assert self._service.memory is not None
        await exchange.answer_json(self._service.memory.status(path.get("name")))

    async def shared_memory_register(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """POST v2/systemsharedmemory/region/{name}/register."""
        self._service.access.require("allow_shared_memory")
        assert self._service.memory is not None
        values = await read_json(exchange)
        key, offset, byte_size = values.get("key"), values.get("offset", 0), values.get("byte_size")
        if not isinstance(key, str) or "\0" in key:
            raise InvalidArgumentError("'key' of the request must be a string")
        for name, value in (("offset", offset), ("byte_size", byte_size)):
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
                raise InvalidArgumentError(f"{name!r} of the request must be an integer of 0 or more")
        self._service.memory.register(path["name"], key, offset, byte_size)  # type: ignore[arg-type]
        await exchange.answer_json({})

    async def shared_memory_unregister(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """POST v2/systemsharedmemory[/region/{name}]/unregister."""
        self._service.access.require("allow_shared_memory")
        assert self._service.memory is not None
        await read_json(exchange)
        self._service.memory.unregister(path.get("name"))
        await exchange.answer_json({})

    async def cuda_shared_memory(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """V2/cudasharedmemory/…, which is not there."""
        raise UnsupportedError("CUDA shared memory cannot be registered by HTTP here")

    # Settings

    async def log_settings(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """GET v2/logging."""
        self._service.access.require("allow_log_settings")
        await exchange.answer_json(self._log_settings())

    async def change_log_settings(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """POST v2/logging; the settings are the process's."""
        self._service.access.require("allow_log_settings")
        values = await read_json(exchange)
        changes = [self._log_change(key, value) for key, value in values.items()]
        options = TRITONSERVER_ServerOptions()
        for change in changes:  # none of them unless all are right
            change(options)
        await exchange.answer_json(self._log_settings())

    def _log_change(self, key: str, value: Any) -> Callable[[TRITONSERVER_ServerOptions], object]:
        if key in _LOG_SWITCHES:
            if not isinstance(value, bool):
                raise InvalidArgumentError(f"{key!r} must be true or false")
            return lambda options: getattr(options, _LOG_SWITCHES[key])(value)
        if key == "log_verbose_level":
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
                raise InvalidArgumentError(f"{key!r} must be an integer of 0 or more")
            return lambda options: self._set_log_verbose(options, value)
        if key == "log_format":
            if value not in ("default", "ISO8601"):
                raise InvalidArgumentError(f"{key!r} must be 'default' or 'ISO8601'")
            return lambda options: self._set_log_format(options, value)
        if key == "log_file":
            raise UnsupportedError("'log_file' cannot be changed by clients: a file anywhere could be written to")
        raise InvalidArgumentError(f"there is no log setting {key!r:.100}")

    def _set_log_verbose(self, options: TRITONSERVER_ServerOptions, level: int) -> None:
        options.set_log_verbose(level)
        self._log_verbose = level

    def _set_log_format(self, options: TRITONSERVER_ServerOptions, name: str) -> None:
        options.set_log_format(LogFormat.DEFAULT if name == "default" else LogFormat.ISO8601)
        self._log_format = name

    def _log_settings(self) -> dict[str, Any]:
        options = self._service.server.options
        iso = options.log_format is LogFormat.ISO8601
        return {
            "log_file": "" if options.log_file is None else str(options.log_file),
            "log_info": TRITONSERVER_LogIsEnabled(LogLevel.INFO),
            "log_warning": TRITONSERVER_LogIsEnabled(LogLevel.WARN),
            "log_error": TRITONSERVER_LogIsEnabled(LogLevel.ERROR),
            "log_verbose_level": options.log_verbose if self._log_verbose is None else self._log_verbose,
            "log_format": self._log_format or ("ISO8601" if iso else "default"),
        }

    async def trace_settings(self, exchange: Exchange, path: dict[str, Any]) -> None:
        """V2/[models/{name}/]trace/setting, which is not there."""
        raise UnsupportedError("traces are set up in the server's own process: Server(trace=...)")


class Metrics:
    """GET metrics: an ASGI application."""

    def __init__(self, service: Service) -> None:
        """Of a service."""
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        exchange: Exchange = scope[SCOPE_KEY]
        native = self._service.native
        if not self._service.server.options.metrics:
            raise NotFoundError("the server was started with metrics=False")
        from .._native import MetricFormat

        text = await in_background(lambda: native.metrics().formatted(MetricFormat.PROMETHEUS))
        await exchange.answer(200, "text/plain; charset=utf-8", [text.encode()])


def _refuse_repository(path: dict[str, Any]) -> None:
    if "repository" in path:
        raise UnsupportedError("'repository_name' specification is not supported")


def _parameters(values: dict[str, Any]) -> dict[str, Any]:
    parameters = values.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        raise InvalidArgumentError("'parameters' of the request must be an object")
    return dict(parameters)


def _decoded(key: str, value: Any) -> FileContent:
    if not key.startswith("file:"):
        raise InvalidArgumentError(
            f"a model is loaded with 'config' and 'file:<version>/<name>', not with {key!r:.100}"
        )
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise InvalidArgumentError(f"parameter {key!r:.100} must be the file's content in base64") from None
