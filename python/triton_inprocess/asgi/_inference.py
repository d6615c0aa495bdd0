"""The endpoints that execute models: infer, generate and generate_stream."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from ..errors import InvalidArgumentError, TritonError, UnsupportedError
from ..flags import ModelBatchFlag
from ._body import parse_json, read_body, read_json
from ._errors import HttpError, error_body
from ._exchange import SCOPE_KEY, Exchange
from ._generation import GenerateCall, generated
from ._inference_answer import Classification, InferenceAnswer
from ._inference_call import InferenceCall, raw_call

if TYPE_CHECKING:
    from .._native import AsyncResponseIterator, InferenceResponse
    from ..model import Model
    from ._service import Service

__all__ = ["Generate", "GenerateStream", "Infer"]

_LENGTH_HEADER = "inference-header-content-length"


class Endpoint:
    """An ASGI application for one kind of path; what goes wrong is raised."""

    def __init__(self, service: Service) -> None:
        """Of a service."""
        self.service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        exchange: Exchange = scope[SCOPE_KEY]
        name, version = self.service.named(scope["path_params"])
        with self.service.traced(scope):
            await self.answer(exchange, self.service.model(name, version))

    async def answer(self, exchange: Exchange, model: Model) -> None:
        """Answer a request for a model."""
        raise NotImplementedError

    @asynccontextmanager
    async def sent(
        self, model: Model, inputs: dict[str, Any], fields: dict[str, Any], raise_on_error: bool = True
    ) -> AsyncIterator[AsyncResponseIterator]:
        """The responses to a request, which is cancelled unless all of them were taken."""
        limit = self.service.limits.answer_timeout
        if limit is not None:
            fields = {**fields, "deadline": limit}
        try:
            iterator = model.async_infer(inputs, raise_on_error, **fields)
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(error, TritonError):
                raise
            raise InvalidArgumentError(str(error)) from None
        self.service.remember(model)
        try:
            yield iterator
        except TimeoutError:
            raise HttpError(504, f"the model did not answer within {limit} seconds") from None
        finally:
            iterator.close()

    async def only_response(
        self, exchange: Exchange, model: Model, inputs: dict[str, Any], fields: dict[str, Any]
    ) -> InferenceResponse:
        """The response of a model that sends one; raises UnsupportedError where there are more, or none."""
        async with self.sent(model, inputs, fields) as iterator:
            only: InferenceResponse | None = None
            response: InferenceResponse | None = None
            while response is None or not response.final:
                try:
                    response = await exchange.wait(iterator.__anext__())
                except StopAsyncIteration:
                    break
                if response.outputs or not response.final:
                    if only is not None:
                        raise UnsupportedError(f"model {model.name!r} sends several responses: use generate_stream")
                    only = response
        if only is None:
            raise UnsupportedError(f"model {model.name!r} has sent no response with outputs")
        return only


class Infer(Endpoint):
    """POST v2/models/{name}[/versions/{version}]/infer."""

    async def answer(self, exchange: Exchange, model: Model) -> None:
        """Answer a request for a model."""
        call = await self._call(exchange, model)
        response = await self.only_response(exchange, model, call.inputs, call.fields)
        asked = any(form.classes for form in call.outputs.values())
        classes = Classification.of(model) if asked else Classification()
        answer = InferenceAnswer(response, call, self.service.memory, classes)
        if answer.binary:
            headers = {_LENGTH_HEADER: str(len(answer.header))}
            await exchange.answer(200, "application/octet-stream", answer.parts, headers)
        else:
            await exchange.answer(200, "application/json", answer.parts)

    async def _call(self, exchange: Exchange, model: Model) -> InferenceCall:
        text = exchange.header(_LENGTH_HEADER)
        if text is None:
            body = await read_body(exchange)
            return InferenceCall.parse(parse_json(exchange, body), body[:0], self.service.memory)
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise InvalidArgumentError(f"Inference-Header-Content-Length must be a number of bytes, not {text!r:.100}")
        length = int(text)
        body = await read_body(exchange, length)
        if length > len(body):
            raise InvalidArgumentError(
                f"Inference-Header-Content-Length is {length}, and the body has {len(body)} bytes"
            )
        if length == 0:
            batches = bool(model.batch_properties() & ModelBatchFlag.FIRST_DIM)
            return raw_call(model.metadata(), batches, body)
        return InferenceCall.parse(parse_json(exchange, body[:length]), body[length:], self.service.memory)


class Generate(Endpoint):
    """POST v2/models/{name}[/versions/{version}]/generate."""

    async def answer(self, exchange: Exchange, model: Model) -> None:
        """Answer a request for a model."""
        call = GenerateCall.parse(await read_json(exchange), model.metadata())
        response = await self.only_response(exchange, model, call.inputs, call.fields)
        await exchange.answer_json(generated(response))


class GenerateStream(Endpoint):
    """POST v2/models/{name}[/versions/{version}]/generate_stream: server-sent events."""

    async def answer(self, exchange: Exchange, model: Model) -> None:
        """Answer a request for a model."""
        call = GenerateCall.parse(await read_json(exchange), model.metadata())
        async with (
            self.sent(model, call.inputs, call.fields, raise_on_error=False) as iterator,
            aclosing(_events(exchange, iterator)) as events,
        ):
            async for event in events:
                if not exchange.started:
                    await exchange.start_stream("text/event-stream; charset=utf-8")
                await exchange.send_stream(event, more=True)
        if not exchange.started:
            await exchange.start_stream("text/event-stream; charset=utf-8")
        await exchange.send_stream(b"", more=False)


async def _events(exchange: Exchange, iterator: AsyncResponseIterator) -> AsyncGenerator[bytes, None]:
    """Each response as an event, also those that are errors; one that comes first is raised instead."""
    while True:
        try:
            response = await exchange.wait(iterator.__anext__())
            if response.error is not None:
                if not exchange.started:
                    raise response.error
                yield b"data: " + error_body(str(response.error)) + b"\n\n"
            elif response.outputs:
                yield b"data: " + json.dumps(generated(response), separators=(",", ":")).encode() + b"\n\n"
            if response.final:
                return
        except StopAsyncIteration:
            return
        except TimeoutError:
            if not exchange.started:
                raise
            yield b"data: " + error_body("the model did not answer in time") + b"\n\n"
            return
