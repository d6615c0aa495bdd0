"""The application, put together."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from .._access import Access, access_of
from .._limits import Limits
from ._errors import error_body
from ._exchange import SCOPE_KEY, Exchange
from ._gate import Gate
from ._inference import Generate, GenerateStream, Infer
from ._management import Handler, Management, Metrics
from ._openapi import OpenApi
from ._service import Service

if TYPE_CHECKING:
    from ..server import Server

__all__ = ["create_app", "create_metrics_app"]


def create_app(
    server: Server,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    allow_model_control: bool = False,
    allow_model_upload: bool = False,
    allow_shared_memory: bool = False,
    allow_log_settings: bool = False,
    allow_origins: Collection[str] = (),
) -> Starlette:
    """An ASGI application that speaks KServe's protocol (v2) with Triton's extensions for the models of a server.

    `Server.serve` runs one; a web framework mounts one, and then starts and stops the server itself::

        api = fastapi.FastAPI()
        api.mount("/triton", triton_inprocess.asgi.create_app(server))

    Args:
        server: The server. It need be running only when requests come.
        limits: What a client may ask for; see Limits.
        token: What each request must bring as `Authorization: Bearer <token>`, but for `v2/health/live` and `ready`.
        allow_model_control: Whether clients may load and unload models.
        allow_model_upload: Whether they may, in addition, bring the configuration and the files of a model along, which
            is as good as running code of theirs here.
        allow_shared_memory: Whether they may have the server read and write system shared memory of this machine.
        allow_log_settings: Whether they may change what Triton logs, in all of this process.
        allow_origins: Origins of web pages ("https://example.org") that may send requests, besides the server's own.

    Raises:
        TypeError, ValueError: An argument is of the wrong type or value.
        ModuleNotFoundError: Starlette is not installed (extra `http`).
    """
    access = access_of(
        token=token,
        allow_model_control=allow_model_control,
        allow_model_upload=allow_model_upload,
        allow_shared_memory=allow_shared_memory,
        allow_log_settings=allow_log_settings,
        allow_origins=allow_origins,
    )
    service = _service(server, access, limits)
    return _application(service, [*_routes(service), Route("/metrics", Metrics(service), methods=["GET"])])


def create_metrics_app(server: Server, *, limits: Limits | None = None, token: str | None = None) -> Starlette:
    """An application that answers with the metrics, and with nothing else."""
    service = _service(server, access_of(token=token), limits)
    return _application(service, [Route("/metrics", Metrics(service), methods=["GET"])])


def _service(server: object, access: Access, limits: object) -> Service:
    from ..server import Server

    if not isinstance(server, Server):
        raise TypeError(f"server must be a Server, not {type(server).__name__}")
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits must be Limits, not {type(limits).__name__}")
    return Service(server, access, limits or Limits())


def _application(service: Service, routes: list[BaseRoute]) -> Starlette:
    application = Starlette(
        routes=routes,
        middleware=[Middleware(Gate, service=service)],
        exception_handlers={HTTPException: _answer_http_exception},
    )
    application.router.redirect_slashes = False
    return application


class _Endpoint:
    """Methods of Management, by the method of the request, as an ASGI application."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope[SCOPE_KEY]
        handler = self._handlers.get(scope["method"], self._handlers.get("GET"))  # HEAD is GET
        assert handler is not None
        await handler(exchange, scope["path_params"])


def _routes(service: Service) -> list[BaseRoute]:
    management = Management(service)
    routes: list[BaseRoute] = []
    handlers: dict[str, dict[str, Handler]] = {}

    def add(method: str, path: str, handler: Handler) -> None:
        handlers.setdefault(path, {})[method] = handler

    models = ("/v2/models/{name}", "/v2/models/{name}/versions/{version}")
    for action, endpoint in (("infer", Infer), ("generate", Generate), ("generate_stream", GenerateStream)):
        routes += [Route(f"{model}/{action}", endpoint(service), methods=["POST"]) for model in models]
    add("GET", "/v2/health/live", management.live)
    add("GET", "/v2/health/ready", management.ready)
    add("GET", "/v2", management.metadata)
    add("GET", "/v2/", management.metadata)
    add("GET", "/v2/models/stats", management.model_statistics)
    for model in models:
        add("GET", model, management.model_metadata)
        add("GET", f"{model}/ready", management.model_ready)
        add("GET", f"{model}/config", management.model_config)
        add("GET", f"{model}/stats", management.model_statistics)
    for repository in ("/v2/repository", "/v2/repository/{repository}"):
        add("POST", f"{repository}/index", management.index)
        add("POST", f"{repository}/models/{{name}}/load", management.load)
        add("POST", f"{repository}/models/{{name}}/unload", management.unload)
    for region in ("/v2/systemsharedmemory", "/v2/systemsharedmemory/region/{name}"):
        add("GET", f"{region}/status", management.shared_memory_status)
        add("POST", f"{region}/unregister", management.shared_memory_unregister)
    add("POST", "/v2/systemsharedmemory/region/{name}/register", management.shared_memory_register)
    add("GET", "/v2/cudasharedmemory/{rest:path}", management.cuda_shared_memory)
    add("POST", "/v2/cudasharedmemory/{rest:path}", management.cuda_shared_memory)
    add("GET", "/v2/logging", management.log_settings)
    add("POST", "/v2/logging", management.change_log_settings)
    for path in ("/v2/trace/setting", "/v2/models/{name}/trace/setting"):
        add("GET", path, management.trace_settings)
        add("POST", path, management.trace_settings)
    add("GET", "/openapi.json", OpenApi(service.access))
    # One route for a path: the router says what a path can do by the first one that has it.
    routes += [Route(path, _Endpoint(found), methods=list(found)) for path, found in handlers.items()]
    return routes


async def _answer_http_exception(request: Request, error: Exception) -> Response:
    """What the router refuses: a path or a method that there is not."""
    assert isinstance(error, HTTPException)
    return Response(
        error_body(error.detail), status_code=error.status_code, headers=error.headers, media_type="application/json"
    )
