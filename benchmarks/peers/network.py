"""`tritonclient` over HTTP and over gRPC, to a server on this machine; both modules are alike."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from .client import Client, FloatArray, InferAsync
from .missing import MissingPeerError
from .server_program import Ports, running_server
from .settings import Settings

_TIMEOUT = 60.0
_CONNECTIONS = 64


@dataclass(frozen=True)
class Protocol:
    """What differs."""

    name: Literal["http", "grpc"]
    client_options: dict[str, Any] = field(default_factory=dict)
    async_client_options: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def __call__(self, settings: Settings) -> Iterator[Client]:
        """Starts a server and connects."""
        try:
            module = importlib.import_module(f"tritonclient.{self.name}")
            asynchronous = importlib.import_module(f"tritonclient.{self.name}.aio")
        except ImportError as error:
            raise MissingPeerError(f"{error}; get it by: pip install 'tritonclient[{self.name}]'") from error
        with running_server(settings, lambda ports: self._ready(module, ports)) as ports:
            connected = module.InferenceServerClient(self._address(ports), **self.client_options)
            try:
                yield _client(module, connected, settings, self._in_loop(module, asynchronous, ports, settings))
            finally:
                connected.close()

    def _address(self, ports: Ports) -> str:
        return f"127.0.0.1:{ports.http if self.name == 'http' else ports.grpc}"

    def _ready(self, module: Any, ports: Ports) -> bool:
        client = module.InferenceServerClient(self._address(ports))
        try:
            return bool(client.is_server_ready())
        finally:
            client.close()

    def _in_loop(self, module: Any, asynchronous: Any, ports: Ports, settings: Settings) -> Any:
        async def in_loop(run: Callable[[InferAsync], Awaitable[float]]) -> float:
            client = asynchronous.InferenceServerClient(self._address(ports), **self.async_client_options)
            try:

                async def infer(array: FloatArray) -> Any:
                    answer = await client.infer(settings.model_name, **_tensors(module, settings, array))
                    return answer.as_numpy(settings.output_name)

                return await run(infer)
            finally:
                await client.close()

        return in_loop


HTTP = Protocol("http", {"network_timeout": _TIMEOUT, "connection_timeout": _TIMEOUT}, {"conn_limit": _CONNECTIONS})
GRPC = Protocol("grpc")


def _client(module: Any, connected: Any, settings: Settings, in_loop: Any) -> Client:
    def infer_with(model: str, array: FloatArray) -> Any:
        return connected.infer(model, **_tensors(module, settings, array)).as_numpy(settings.output_name)

    return Client(
        lambda array: infer_with(settings.model_name, array),
        lambda array: infer_with(settings.large_model_name, array),
        in_loop,
    )


def _tensors(module: Any, settings: Settings, array: FloatArray) -> dict[str, list[Any]]:
    sent = module.InferInput(settings.input_name, list(array.shape), "FP32")
    sent.set_data_from_numpy(array)
    return {"inputs": [sent], "outputs": [module.InferRequestedOutput(settings.output_name)]}
