"""What clients must not be able to do: use more than their share, or what they were not allowed to."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import logging
import logging.handlers
import queue
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from conftest import StartServer, add_echo, needs_cancel, write_identity
from helpers_gate import Gate
from helpers_http import LENGTH, Answer, add_twice, ask, binary_body, floats, read_answer, received, send_raw

import triton_inprocess as ti
from triton_inprocess.asgi import Limits

INFER = "/v2/models/twice/infer"
SHORT = 0.15  # seconds of the limits that are waited for

Serve = Callable[..., ti.Serving]


@pytest.fixture
def serve(server: ti.Server) -> Iterator[Serve]:
    """Serves a server with the model `twice`."""
    add_twice(server)
    servings: list[ti.Serving] = []

    def serve(**arguments: Any) -> ti.Serving:
        limits = {name: arguments.pop(name) for name in list(arguments) if name in Limits.__dataclass_fields__}
        servings.append(server.serve(0, limits=Limits(**limits), **arguments))
        return servings[-1]

    yield serve
    for each in servings:
        each.close(0)


def head(length: int, *lines: str) -> bytes:
    return "\r\n".join([f"POST {INFER} HTTP/1.1", "Host: x", f"Content-Length: {length}", *lines, "", ""]).encode()


def status_of(data: bytes) -> int:
    assert data.startswith(b"HTTP/1.1 "), data
    return int(data[9:12])


# Who may ask


def test_a_token_is_asked_for(serve: Serve) -> None:
    serving = serve(token="secret")
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic secret"}, {"authorization": "ä"}):
        for method, path in (("POST", INFER), ("GET", "/v2"), ("GET", "/metrics"), ("GET", "/nothing")):
            answer = ask(serving, method, path, floats([1.0]) if method == "POST" else None, headers)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert "secret" not in answer.error
    assert ask(serving, "GET", "/v2/health/live").status == 200
    assert ask(serving, "GET", "/v2/health/ready").status == 200
    assert ask(serving, "GET", "/v2/models/twice/ready").status == 401
    assert ask(serving, "POST", INFER, floats([1.0]), {"authorization": "bearer secret"}).status == 200


def test_pages_of_others_are_refused(serve: Serve) -> None:
    serving = serve(allow_origins=["https://known.example"])
    for origin, status in (
        ("https://evil.example", 403),
        ("null", 403),
        ("https://known.example", 200),
        (serving.url, 200),
    ):
        assert ask(serving, "POST", INFER, floats([1.0]), {"origin": origin}).status == status, origin


def test_what_is_off_by_default(serve: Serve) -> None:
    serving = serve()
    for method, path, switch in (
        ("POST", "/v2/repository/models/twice/unload", "allow_model_control"),
        ("POST", "/v2/repository/models/twice/load", "allow_model_control"),
        ("GET", "/v2/systemsharedmemory/status", "allow_shared_memory"),
        ("POST", "/v2/systemsharedmemory/region/a/register", "allow_shared_memory"),
        ("POST", "/v2/systemsharedmemory/unregister", "allow_shared_memory"),
        ("GET", "/v2/logging", "allow_log_settings"),
        ("POST", "/v2/logging", "allow_log_settings"),
    ):
        answer = ask(serving, method, path)
        assert (answer.status, f"{switch}=True" in answer.error) == (403, True), path
    assert ask(serving, "POST", INFER, floats([1.0])).status == 200  # it was not unloaded
    entry = {"name": "x", "shape": [1], "datatype": "FP32", "parameters": {"shared_memory_region": "a",
             "shared_memory_byte_size": 4}}  # fmt: skip
    assert "not enabled" in ask(serving, "POST", INFER, {"inputs": [entry]}).error


def test_model_control(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    with start_identity().serve(0, allow_model_control=True) as serving:
        path = "/v2/repository/models/identity"
        assert ask(serving, "POST", path + "/unload", {"parameters": {"unload_dependents": False}}).status == 200
        assert ask(serving, "GET", "/v2/models/identity/ready").status == 400
        assert ask(serving, "POST", path + "/load").json == {}
        assert ask(serving, "GET", "/v2/models/identity/ready").status == 200
        assert ask(serving, "POST", path + "/unload", {"parameters": {"unload_dependents": 1}}).status == 400
        assert ask(serving, "POST", "/v2/repository/models/none/load").status in (400, 500)
        config = json.dumps({"backend": "identity"})
        for parameters in ({"config": config}, {"config": config, "file:1/a": base64.b64encode(b"a").decode()}):
            answer = ask(serving, "POST", path + "/load", {"parameters": parameters})
            assert (answer.status, "allow_model_upload=True" in answer.error) == (403, True)


def test_model_upload(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    server = start_identity()
    with server.serve(0, allow_model_control=True, allow_model_upload=True) as serving:
        path = "/v2/repository/models/identity/load"
        config = {**server.model("identity").config(), "max_batch_size": 4}
        config["input"][0]["dims"] = config["output"][0]["dims"] = ["1"]
        assert ask(serving, "POST", path, {"parameters": {"config": json.dumps(config)}}).status == 200
        assert server.model("identity").config()["max_batch_size"] == 4
        for parameters in (
            {"config": 3},
            {"config": "{"},
            {"config": json.dumps(config), "file:../../evil": ""},
            {"config": json.dumps(config), "file:1/a": "no base64!"},
            {"config": json.dumps(config), "other": ""},
            {"file:1/a": ""},
        ):
            answer = ask(serving, "POST", path, {"parameters": parameters})
            assert answer.status == 400, parameters
            assert answer.error


@pytest.mark.parametrize("name", ["..", ".", "%2e%2e", "..%2f..%2fetc", "a%5cb", "a%00b"])
def test_names_that_lead_out_of_the_repository(serve: Serve, name: str) -> None:
    serving = serve(allow_model_control=True)
    for path in (f"/v2/repository/models/{name}/load", f"/v2/repository/models/{name}/unload"):
        answer = ask(serving, "POST", path)
        assert answer.status in (400, 404)
        assert "cannot be the name" in answer.error or answer.error == "Not Found"
    assert ask(serving, "GET", f"/v2/models/{name}").status in (400, 404)


def test_log_settings(serve: Serve) -> None:
    serving = serve(allow_log_settings=True)
    before = ask(serving, "GET", "/v2/logging").json
    try:
        changed = ask(serving, "POST", "/v2/logging", {"log_error": True, "log_verbose_level": 0, "log_info": True})
        assert changed.json == {**before, "log_error": True, "log_info": True}
        assert ask(serving, "GET", "/v2/logging").json == changed.json
        for wrong in ({"log_info": 1}, {"log_verbose_level": -1}, {"log_format": "xml"}, {"nothing": 1}):
            answer = ask(serving, "POST", "/v2/logging", {"log_error": False, **wrong})
            assert answer.status == 400
        assert ask(serving, "POST", "/v2/logging", {"log_file": "/tmp/evil"}).status == 501
        assert ask(serving, "GET", "/v2/logging").json == changed.json
    finally:
        keys = ("log_info", "log_warning", "log_error", "log_verbose_level")
        ask(serving, "POST", "/v2/logging", {key: before[key] for key in keys})


def test_shared_memory(serve: Serve) -> None:
    serving = serve(allow_shared_memory=True)
    assert "system_shared_memory" in ask(serving, "GET", "/v2").json["extensions"]
    data = np.arange(4, dtype=np.float32)
    region = "/v2/systemsharedmemory/region/mine"
    with ti.SharedMemoryPool(byte_size=1 << 16) as pool:
        source = pool.empty("FP32", (4,))
        source.numpy()[:] = data
        target = pool.empty("FP32", (4,))
        place, other = source.share(pool), target.share(pool)
        size = place.offset + (1 << 13)
        registration = {"key": place.key, "offset": 0, "byte_size": size}
        assert ask(serving, "POST", region + "/register", registration).json == {}
        assert ask(serving, "POST", region + "/register", registration).status == 400
        assert ask(serving, "GET", "/v2/systemsharedmemory/status").json == [{"name": "mine", **registration}]
        assert ask(serving, "GET", region + "/status").json == [{"name": "mine", **registration}]
        assert ask(serving, "GET", "/v2/systemsharedmemory/region/other/status").status == 404

        def infer(offset: int, size: int, output_size: int) -> Answer:
            parameters = {"shared_memory_region": "mine", "shared_memory_offset": offset}
            return ask(serving, "POST", INFER, {
                "inputs": [{"name": "x", "shape": [4], "datatype": "FP32",
                            "parameters": {**parameters, "shared_memory_byte_size": size}}],
                "outputs": [{"name": "y", "parameters": {"shared_memory_region": "mine",
                             "shared_memory_offset": other.offset, "shared_memory_byte_size": output_size}}],
            })  # fmt: skip

        (output,) = infer(place.offset, 16, 16).json["outputs"]
        assert output["parameters"]["shared_memory_byte_size"] == 16
        assert np.array_equal(target.numpy(), data * 2)
        for wrong in ((place.offset, 12, 16), (size, 16, 16), (2**62, 16, 16), (place.offset, 16, 8),
                      (place.offset, 16, 2**62), (-1, 16, 16)):  # fmt: skip
            assert infer(*wrong).status == 400, wrong
        assert ask(serving, "POST", region + "/unregister").json == {}
        assert ask(serving, "GET", "/v2/systemsharedmemory/status").json == []
        assert infer(place.offset, 16, 16).status == 404
    for key in ("../../etc/passwd", "/../x", "nothing-of-that-name", "", 3):
        answer = ask(serving, "POST", region + "/register", {"key": key, "offset": 0, "byte_size": 4})
        assert answer.status in (400, 404), key
    assert ask(serving, "GET", "/v2/cudasharedmemory/status").status == 501


# How much


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_that_are_too_large(serve: Serve, chunked: bool) -> None:
    serving = serve(max_body_bytes=100_000)
    body = b"x" * 500_000
    answer = ask(serving, "POST", INFER, iter([body]) if chunked else body)
    assert (answer.status, "100000" in answer.error) == (413, True)
    assert answer.headers["connection"] == "close"


def test_a_body_is_refused_before_it_is_sent(serve: Serve) -> None:
    serving = serve()
    connection = send_raw(serving, head(2**40, "Expect: 100-continue"))
    assert status_of(connection.recv(65536)) == 413
    connection.close()


def test_a_body_that_grows_when_it_is_decompressed(serve: Serve) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    answer = ask(serve(max_body_bytes=1 << 20), "POST", INFER, bomb, {"content-encoding": "gzip"})
    assert answer.status == 413


def test_too_much_json(serve: Serve) -> None:
    answer = ask(serve(max_json_bytes=1000), "POST", INFER, floats([0.125] * 1000))
    assert (answer.status, "JSON" in answer.error) == (413, True)


def test_heads_that_are_too_large(serve: Serve) -> None:
    serving = serve(max_header_bytes=10_000)
    connection = send_raw(serving, b"GET /v2 HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 2000)
    assert status_of(received(connection)) == 431


def test_too_many_requests(serve: Serve, server: ti.Server, gate: Gate) -> None:
    serving = serve(max_in_flight=2)
    vector = {"x": (np.float32, (-1,))}
    server.add_model(gate, name="gate", inputs=vector, outputs={"y": vector["x"]})
    waiting = [threading.Thread(target=ask, args=(serving, "POST", "/v2/models/gate/infer", floats([1.0])))
               for _ in range(2)]  # fmt: skip
    for thread in waiting:
        thread.start()
    gate.wait()
    deadline = time.monotonic() + 10
    while (answer := ask(serving, "GET", "/v2")).status == 200 and time.monotonic() < deadline:
        pass
    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert ask(serving, "GET", "/v2/health/live").status == 200
    gate.opened.set()
    for thread in waiting:
        thread.join()
    assert ask(serving, "GET", "/v2").status == 200


def test_a_connection_survives_a_refusal(serve: Serve) -> None:
    """Whose body has arrived with it: those who wait for a busy server need not connect anew."""
    serving = serve(token="secret")
    body = json.dumps(floats([1.0])).encode()
    with send_raw(serving, head(len(body)) + body) as connection:
        answer = connection.makefile("rb")
        for status in (401, 200):
            assert status_of(answer.readline()) == status
            length = 0
            while line := answer.readline().strip().lower():
                assert line != b"connection: close"
                length = int(line.split(b":")[1]) if line.startswith(b"content-length") else length
            answer.read(length)
            connection.sendall(head(len(body), "Authorization: Bearer secret") + body)
        answer.close()


def test_too_much_in_all_bodies_together(serve: Serve) -> None:
    serving = serve(max_buffered_bytes=100_000)
    connection = send_raw(serving, head(90_000))
    deadline = time.monotonic() + 10
    body = json.dumps(floats([1.0])).encode().ljust(50_000)
    while (answer := ask(serving, "POST", INFER, body)).status == 200 and time.monotonic() < deadline:
        pass
    assert (answer.status, "bodies" in answer.error) == (503, True)
    connection.close()
    while (answer := ask(serving, "POST", INFER, body)).status == 503 and time.monotonic() < deadline:
        pass
    assert answer.status == 200


def test_too_many_connections(serve: Serve) -> None:
    serving = serve(max_connections=2)
    kept = [http.client.HTTPConnection(*serving.address, timeout=20) for _ in range(2)]
    for each in kept:
        each.request("GET", "/v2")
        assert read_answer(each).status == 200
    assert status_of(received(send_raw(serving, b""))) == 503
    for each in kept:
        each.close()


# How long


def test_slow_heads(serve: Serve) -> None:
    serving = serve(header_timeout=SHORT)
    assert status_of(received(send_raw(serving, b"POST "))) == 408
    assert received(send_raw(serving, b"")) == b""


def test_a_slow_head_on_a_connection_that_was_used(serve: Serve) -> None:
    serving = serve(header_timeout=SHORT)
    connection = send_raw(serving, b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n")
    data = b""
    while not data.endswith(b"}"):
        data += connection.recv(65536)
    assert status_of(data) == 200
    connection.sendall(b"GET /v2 HT")
    assert status_of(received(connection)) == 408


def test_a_trickled_body(serve: Serve) -> None:
    """Each byte comes in time, and the whole does not."""
    serving = serve(body_timeout=SHORT)
    connection = send_raw(serving, head(1000))
    answered = threading.Event()

    def trickle() -> None:
        while not answered.wait(SHORT / 5):
            try:
                connection.sendall(b" ")
            except OSError:
                return

    thread = threading.Thread(target=trickle)
    thread.start()
    data = b""
    while not data.endswith(b"}"):
        data += connection.recv(65536)
    answered.set()
    thread.join()
    connection.close()
    assert status_of(data) == 408
    assert b"the body of the request" in data


def test_idle_connections_are_closed(serve: Serve) -> None:
    serving = serve(keep_alive_timeout=SHORT)
    data = received(send_raw(serving, b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert status_of(data) == 200


def test_a_client_that_does_not_read(serve: Serve, server: ti.Server) -> None:
    """Its connection is closed, and its place is free again."""
    serving = serve(send_timeout=SHORT, max_in_flight=1)
    add_echo(server)
    data = bytes(32 << 20)
    header = {
        "inputs": [{"name": "x", "shape": [len(data) // 4], "datatype": "FP32",
                    "parameters": {"binary_data_size": len(data)}}],
        "parameters": {"binary_data_output": True},
    }  # fmt: skip
    body, headers = binary_body(header, data)
    connection = http.client.HTTPConnection(*serving.address, timeout=20)
    connection.request("POST", "/v2/models/echo/infer", body, headers)
    deadline = time.monotonic() + 10
    while ask(serving, "GET", "/v2").status == 503 and time.monotonic() < deadline:
        pass
    assert ask(serving, "GET", "/v2").status == 200
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize("action", ["infer", "generate_stream"])
def test_a_model_that_is_too_slow(serve: Serve, server: ti.Server, gate: Gate, action: str) -> None:
    serving = serve(answer_timeout=SHORT)
    vector = {"x": (np.float32, (-1,))}
    server.add_model(gate, name="gate", inputs=vector, outputs={"y": vector["x"]})
    answer = ask(serving, "POST", f"/v2/models/gate/{action}", floats([1.0]) if action == "infer" else {"x": 1.5})
    assert (answer.status, str(SHORT) in answer.error) == (504, True)


@needs_cancel
@pytest.mark.parametrize("action", ["infer", "generate", "generate_stream"])
def test_a_client_that_goes_away_cancels_its_request(
    serve: Serve, server: ti.Server, gate: Gate, action: str, caplog: pytest.LogCaptureFixture
) -> None:
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    handler = logging.handlers.QueueHandler(lines)
    logger = logging.getLogger("triton_inprocess.access")
    caplog.set_level(logging.INFO, logger.name)
    logger.addHandler(handler)
    try:
        serving = serve()
        vector = {"x": (np.float32, (-1,))}
        server.add_model(gate, name="gate", inputs=vector, outputs={"y": vector["x"]})
        path = f"/v2/models/gate/{action}"
        body = json.dumps(floats([1.0]) if action == "infer" else {"x": 1.0})
        executed = threading.Thread(target=ask, args=(serving, "POST", path, body))
        executed.start()
        gate.wait()
        queued = http.client.HTTPConnection(*serving.address, timeout=20)
        queued.request("POST", path, body)
        deadline = time.monotonic() + 10
        while pending(server) != 2 and time.monotonic() < deadline:
            pass
        queued.close()
        assert f'{path}" 499 ' in lines.get(timeout=10).getMessage()  # type: ignore[attr-defined]
        gate.opened.set()
        executed.join()
        ask(serving, "POST", path, body)  # behind what was cancelled
        assert gate.calls == 2
    finally:
        logger.removeHandler(handler)


def pending(server: ti.Server) -> int:
    """The requests that the server has."""
    return server.capi.use_count


# TLS


def test_tls(serve: Serve, tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out",
         str(certificate)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    serving = serve(certificate=certificate, private_key=key)
    assert serving.url.startswith("https://")
    context = ssl.create_default_context(cafile=str(certificate))
    connection = http.client.HTTPSConnection("localhost", serving.address[1], timeout=20, context=context)
    connection.request("POST", INFER, json.dumps(floats([1.0])))
    assert read_answer(connection).json["outputs"][0]["data"] == [2.0]
    connection.close()
    assert b"HTTP/1.1 200" not in received(send_raw(serving, b"GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n"))


def test_a_wrong_certificate_frees_the_address(server: ti.Server, tmp_path: Path) -> None:
    wrong = tmp_path / "cert.pem"
    wrong.write_text("nothing")
    with server.serve(0) as serving:
        port = serving.address[1]
    for certificate, error in ((wrong, ssl.SSLError), (tmp_path / "none", FileNotFoundError)):
        with pytest.raises(error):
            server.serve(port, certificate=certificate, private_key=certificate)
    server.serve(port).close()


# The log


def test_access_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "triton_inprocess.access")
    serving = serve(token="secret")
    ask(serving, "POST", INFER, floats([1.0]), {"authorization": "Bearer secret"})
    ask(serving, "GET", "/v2/%0a127.0.0.1%20forged?secret=1")
    serving.close()
    lines = [record.getMessage() for record in caplog.records if record.name == "triton_inprocess.access"]
    assert [line.split(" in=")[0] for line in lines] == [
        '127.0.0.1 "POST /v2/models/twice/infer" 200',
        '127.0.0.1 "GET /v2/%0A127.0.0.1%20forged" 401',
    ]
    assert "secret" not in caplog.text


def test_access_log_costs_nothing_when_it_is_off(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "triton_inprocess.access")
    ask(serve(), "GET", "/v2")
    assert not [record for record in caplog.records if record.name == "triton_inprocess.access"]


def test_pipelined_requests_are_answered_in_order(serve: Serve) -> None:
    one = (
        "GET /v2/models/twice HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    data = received(send_raw(serve(), one.encode()))
    assert [status_of(b"HTTP/1.1 " + each) for each in data.split(b"HTTP/1.1 ")[1:]] == [200, 404]


@pytest.mark.parametrize(
    "data",
    [
        b"\0\1\2\3\r\n\r\n",
        b"POST /v2 HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v2 HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST /v2 HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nx",
        b"POST /v2/models/twice/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nXYZ\r\n",
    ],
)
def test_what_is_no_http(serve: Serve, data: bytes) -> None:
    serving = serve()
    connection = send_raw(serving, data)
    connection.shutdown(socket.SHUT_WR)
    answer = received(connection)
    assert answer == b"" or status_of(answer) == 400
    assert ask(serving, "GET", "/v2/health/live").status == 200


def test_lengths_are_not_believed(serve: Serve) -> None:
    """A body that ends early leaves nothing behind."""
    serving = serve(max_in_flight=1)
    body, headers = binary_body({"inputs": []}, b"")
    connection = send_raw(serving, head(len(body) + 100, f"{LENGTH}: {headers[LENGTH]}") + body)
    connection.close()
    deadline = time.monotonic() + 10
    while ask(serving, "GET", "/v2").status == 503 and time.monotonic() < deadline:
        pass
    assert ask(serving, "GET", "/v2").status == 200
