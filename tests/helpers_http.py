"""A client that sends exactly what it is told to, and endpoints to send it to."""

from __future__ import annotations

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

import numpy as np

import triton_inprocess as ti

LENGTH = "Inference-Header-Content-Length"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """The message of an error, whose JSON has nothing else."""
        value = self.json
        assert list(value) == ["error"], value
        return str(value["error"])


def ask(
    serving: ti.Serving,
    method: str,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send a request on a connection of its own; a dict becomes JSON."""
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    connection = http.client.HTTPConnection(*serving.address, timeout=20)
    try:
        connection.request(method, path, body, headers or {})
        return read_answer(connection)
    finally:
        connection.close()


def read_answer(connection: http.client.HTTPConnection) -> Answer:
    response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


def send_raw(serving: ti.Serving, data: bytes) -> socket.socket:
    """A connection on which `data` has been sent."""
    connection = socket.create_connection(serving.address, timeout=20)
    connection.sendall(data)
    return connection


def received(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    result = b""
    with connection:
        while part := connection.recv(65536):
            result += part
    return result


def binary_body(header: dict[str, Any], *data: bytes) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a request of the binary extension."""
    text = json.dumps(header).encode()
    return b"".join([text, *data]), {LENGTH: str(len(text))}


def floats(values: Any, name: str = "x", **more: Any) -> dict[str, Any]:
    """A request with one input of FP32 in JSON."""
    return {"inputs": [{"name": name, "shape": [len(values)], "datatype": "FP32", "data": list(values)}], **more}


def add_twice(server: ti.Server, name: str = "twice") -> ti.Model:
    def twice(x: Any) -> Any:
        with np.errstate(all="ignore"):  # any bytes may come
            return x * 2

    vector = {"x": (np.float32, (-1,))}, {"y": (np.float32, (-1,))}
    return server.add_model(twice, name=name, inputs=vector[0], outputs=vector[1])
