"""What every request passes first, and every answer last."""

from __future__ import annotations

import hmac
import logging
import time
from urllib.parse import quote, urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import TritonError
from ._errors import ClientGone, HttpError, error_body, status_of
from ._exchange import SCOPE_KEY, Exchange
from ._service import Service

__all__ = ["Gate"]

_access_log = logging.getLogger("triton_inprocess.access")
_log = logging.getLogger("triton_inprocess.http")

_OPEN = {"/v2/health/live", "/v2/health/ready"}  # for probes: without a token, and however busy the server is
_CLIENT_GONE = 499  # what access logs call it


class Gate:
    """Middleware: who may ask, how many at once; errors become answers; the access log."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        """Before `app`."""
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer why not."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send, self._service.limits)
        scope[SCOPE_KEY] = exchange
        started = time.perf_counter()
        status = _CLIENT_GONE
        try:
            await self._answer(scope, exchange)
            status = exchange.status
        except ClientGone:
            if exchange.started:
                raise ConnectionAbortedError("the client has not taken the answer") from None
        except BaseException:
            status = exchange.status or 500
            raise
        finally:
            if _access_log.isEnabledFor(logging.INFO):
                _tell(scope, exchange, status, time.perf_counter() - started)

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        headers: dict[str, str] = {}
        try:
            is_open = _path(scope) in _OPEN
            self._check_origin(exchange)
            if is_open:
                await self._app(scope, exchange.receive, exchange.send)
                return
            self._check_token(exchange)
            with self._service.admission.enter() as ticket:
                exchange.ticket = ticket
                await self._app(scope, exchange.receive, exchange.send)
            return
        except HttpError as error:
            status, message, headers = error.status, str(error), error.headers
        except TritonError as error:
            status, message = status_of(error), str(error)
        except MemoryError:
            status, message = 503, "there is no memory for the request"
        except ClientGone:
            raise
        except Exception:
            _log.exception("a request was not answered: %s", quote(_path(scope)))
            status, message = 500, "internal error: the server's log says more"
        if exchange.started:
            raise ConnectionAbortedError(message)
        await exchange.answer(status, "application/json", [error_body(message)], headers)

    def _check_token(self, exchange: Exchange) -> None:
        token = self._service.access.token
        if token is None:
            return
        scheme, _, given = (exchange.header("authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode("latin-1"), token.encode()):
            raise HttpError(401, "this server asks for a bearer token", {"www-authenticate": "Bearer"})

    def _check_origin(self, exchange: Exchange) -> None:
        """Refuse what a web page of somebody else's has a browser send."""
        origin = exchange.header("origin")
        if origin is None or origin in self._service.access.allow_origins:
            return
        if origin == "null" or urlsplit(origin).netloc != exchange.header("host"):
            raise HttpError(403, "web pages of other origins may not use this server: see allow_origins")


def _path(scope: Scope) -> str:
    """The path within this application, which may be mounted in another."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _tell(scope: Scope, exchange: Exchange, status: int, seconds: float) -> None:
    client = scope.get("client")
    _access_log.info(
        '%s "%s %s" %d in=%d out=%d %.3f ms',
        client[0] if client else "-",
        scope["method"],
        quote(scope["path"]),  # nobody writes lines of his own into the log
        status,
        exchange.bytes_in,
        exchange.bytes_out,
        seconds * 1e3,
    )
