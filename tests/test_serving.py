"""Endpoints and the server that they belong to: their addresses, their life and their end."""

from __future__ import annotations

import asyncio
import gc
import http.client
import json
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from conftest import StartServer, run_beside_tests
from helpers_gate import Gate
from helpers_http import add_twice, ask, floats, read_answer, send_raw

import triton_inprocess as ti
from triton_inprocess.asgi import Limits, create_app

INFER = "/v2/models/twice/infer"


def served_value(serving: ti.Serving) -> float:
    return float(ask(serving, "POST", INFER, floats([2.0])).json["outputs"][0]["data"][0])


def refused(serving: ti.Serving) -> bool:
    try:
        ask(serving, "GET", "/v2/health/live")
    except ConnectionError:
        return True
    return False


@pytest.mark.parametrize("address", [0, "127.0.0.1:0", ":0", "localhost:0"])
def test_addresses_of_the_loopback_interface(server: ti.Server, address: Any) -> None:
    add_twice(server)
    with server.serve(address) as serving:
        host, port = serving.address
        assert host in ("127.0.0.1", "::1")
        assert port > 0
        assert serving.url.endswith(f":{port}")
        assert serving.running
        assert repr(serving) == f"<Serving {serving.url}, open>"
        assert served_value(serving) == 4.0
    assert not serving.running
    assert repr(serving) == f"<Serving {serving.url}, closed>"


def test_other_interfaces_are_warned_of(server: ti.Server, caplog: pytest.LogCaptureFixture) -> None:
    server.serve("0.0.0.0:0", token="secret").close()
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]
    server.serve("0.0.0.0:0").close()
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "give a token" in record.getMessage()


def test_several_at_once(start_server: StartServer) -> None:
    one, two = start_server(), start_server()
    add_twice(one)
    with one.serve(0) as first, one.serve(0, token="secret") as second, two.serve(0) as third:
        assert served_value(first) == 4.0
        assert ask(second, "GET", "/v2").status == 401
        assert ask(third, "POST", INFER, floats([2.0])).status == 404
        first.close()
        assert refused(first)
        assert not refused(second)


def test_metrics_have_an_address_of_their_own(server: ti.Server) -> None:
    with server.serve(0, metrics=0) as serving:
        assert serving.metrics_url not in (None, serving.url + "/metrics")
    with server.serve(None, metrics=0) as serving:
        assert serving.metrics_url == serving.url + "/metrics"
        assert b"nv_" in ask(serving, "GET", "/metrics").body
        assert ask(serving, "GET", "/v2").status == 404


def test_metrics_that_are_off(start_server: StartServer) -> None:
    with start_server(metrics=False).serve(0) as serving:
        assert ask(serving, "GET", "/metrics").status == 404


def test_an_address_that_is_taken(server: ti.Server) -> None:
    with server.serve(0) as serving:
        port = serving.address[1]
        with pytest.raises(ti.UnavailableError, match=rf"http={port} cannot be listened at: .*in use"):
            server.serve(port)
        with pytest.raises(ti.UnavailableError, match=f"metrics={port}"):
            server.serve(0, metrics=port)
    with server.serve(port):
        pass  # free again


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"http": 1.5}, TypeError, "http must be 'host:port' or a port, not float"),
        ({"http": True}, TypeError, "http must be"),
        ({"http": "localhost"}, ValueError, "http must be 'host:port'"),
        ({"http": "localhost:http"}, ValueError, "http must be"),
        ({"http": 65536}, ValueError, "http must be"),
        ({"http": -1}, ValueError, "http must be"),
        ({"http": "no.such.host.invalid:1"}, ti.InvalidArgumentError, "no.such.host.invalid"),
        ({"http": None}, ti.InvalidArgumentError, "needs an address"),
        ({"metrics": "x"}, ValueError, "metrics must be"),
        ({"engine": "other"}, ValueError, "engine must be 'asgi' or 'native', not 'other'"),
        ({"engine": 1}, TypeError, "engine must be a str"),
        ({"token": ""}, ValueError, "token must be"),
        ({"token": "a b"}, ValueError, "token must be"),
        ({"token": 1}, TypeError, "token must be a str or None, not int"),
        ({"certificate": "a"}, ti.InvalidArgumentError, "certificate and private_key come together"),
        ({"limits": {}}, TypeError, "limits must be Limits, not dict"),
        ({"allow_model_control": 1}, TypeError, "allow_model_control must be a bool, not int"),
        ({"allow_model_upload": True}, ValueError, "allow_model_upload needs allow_model_control"),
        ({"allow_origins": "https://a"}, TypeError, "allow_origins must be a collection of str"),
    ],
)
def test_wrong_arguments_are_named(
    server: ti.Server, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        server.serve(**{"http": 0, **arguments})
    assert not server._servings


@pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="the Python that NVIDIA's front end is for")
@pytest.mark.parametrize(("arguments", "asked"), [({"grpc": 0}, "grpc"), ({"engine": "native"}, "engine='native'")])
def test_other_engines_say_which_python_they_need(server: ti.Server, arguments: dict[str, Any], asked: str) -> None:
    with pytest.raises(ti.UnsupportedError, match=f"^{asked} needs .* CPython 3.12 only, and this is .*: http='127"):
        server.serve(**{"http": 0, **arguments})
    assert not server._servings


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_in_flight": 0}, ValueError, "max_in_flight must be 1 or more, not 0"),
        ({"max_body_bytes": 1.0}, TypeError, "max_body_bytes must be an int, not float"),
        ({"body_timeout": -1}, ValueError, "body_timeout must be seconds"),
        ({"body_timeout": None}, TypeError, "body_timeout must be seconds"),
        ({"answer_timeout": "1"}, TypeError, "answer_timeout must be seconds"),
    ],
)
def test_wrong_limits_are_named(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Limits(**arguments)


def test_a_server_that_does_not_run(start_server: StartServer) -> None:
    with pytest.raises(ti.InvalidArgumentError, match="not started"):
        ti.Server().serve(0)
    stopped = start_server()
    stopped.stop()
    with pytest.raises(ti.UnavailableError, match="stopped"):
        stopped.serve(0)
    with pytest.raises(TypeError, match="server must be a Server, not str"):
        create_app("server")  # type: ignore[arg-type]


def test_stopping_closes_the_endpoints(start_server: StartServer) -> None:
    server = start_server()
    add_twice(server)
    servings = [server.serve(0), server.serve(0, metrics=0)]
    assert served_value(servings[0]) == 4.0
    server.stop()
    assert all(map(refused, servings))
    assert not any(each.running for each in servings)
    assert servings[0].wait(0)
    servings[0].close()  # once more does nothing
    assert not [each for each in threading.enumerate() if each.name == "triton-inprocess-http"]


def closing(serving: ti.Serving, server: ti.Server) -> Callable[[], None]:
    return serving.close


def stopping(serving: ti.Serving, server: ti.Server) -> Callable[[], None]:
    return server.stop


@pytest.mark.parametrize("end", [closing, stopping])
def test_what_was_accepted_is_answered(start_server: StartServer, gate: Gate, end: Any) -> None:
    """What is executed, and what is still being sent."""
    server = start_server()
    vector = {"x": (np.float32, (-1,))}
    server.add_model(gate, name="gate", inputs=vector, outputs={"y": vector["x"]}, instances=2)
    serving = server.serve(0)
    executed = http.client.HTTPConnection(*serving.address, timeout=20)
    executed.request("POST", "/v2/models/gate/infer", json.dumps(floats([1.0])))
    gate.wait()
    body = json.dumps(floats([2.0])).encode()
    head = f"POST /v2/models/gate/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    sent = http.client.HTTPConnection(*serving.address, timeout=20)
    sent.sock = send_raw(serving, head.encode() + body[:5])
    ask(serving, "GET", "/v2")  # the head has arrived by now
    thread = threading.Thread(target=end(serving, server))
    thread.start()
    while not refused(serving):
        pass
    sent.sock.sendall(body[5:])
    gate.opened.set()
    assert read_answer(executed).json["outputs"][0]["data"] == [2.0]
    response = http.client.HTTPResponse(sent.sock, method="POST")
    response.begin()
    assert json.loads(response.read())["outputs"][0]["data"] == [4.0]
    thread.join(20)
    assert not serving.running
    response.close()
    for each in (executed, sent):
        each.close()


def test_closing_does_not_wait_for_ever(server: ti.Server, gate: Gate) -> None:
    vector = {"x": (np.float32, (-1,))}
    server.add_model(gate, name="gate", inputs=vector, outputs={"y": vector["x"]})
    serving = server.serve(0)
    connection = http.client.HTTPConnection(*serving.address, timeout=20)
    connection.request("POST", "/v2/models/gate/infer", json.dumps(floats([1.0])))
    gate.wait()
    serving.close(0.05)
    assert not serving.running
    answer = read_answer(connection)
    assert (answer.status, answer.error) == (503, "the endpoint is being closed")
    connection.close()


def test_a_model_may_close_its_endpoint(server: ti.Server) -> None:
    def close(x: Any) -> Any:
        threading.Thread(target=serving.close).start()
        return x

    vector = {"x": (np.float32, (-1,))}
    server.add_model(close, name="close", inputs=vector, outputs={"y": vector["x"]})
    serving = server.serve(0)
    assert ask(serving, "POST", "/v2/models/close/infer", floats([1.0])).status == 200
    assert serving.wait(10)


def test_asynchronous_life(start_server: StartServer) -> None:
    async def main() -> ti.Serving:
        async with ti.Server() as server:
            add_twice(server)
            serving = server.serve(0)
            assert await asyncio.to_thread(served_value, serving) == 4.0
            return serving

    assert refused(asyncio.run(main()))


def test_nothing_holds_a_server_whose_endpoints_are_closed(start_server: StartServer) -> None:
    server = ti.Server().start()
    add_twice(server)
    with server.serve(0) as serving:
        assert served_value(serving) == 4.0
    server.stop()
    reference = weakref.ref(server)
    del server, serving
    gc.collect()
    assert reference() is None


def test_the_interpreter_ends_with_endpoints_that_are_open() -> None:
    result = run_beside_tests(
        """
import triton_inprocess as ti
from helpers_http import add_twice, ask, floats
server = ti.Server(gpu_metrics=False).start()
add_twice(server)
serving = server.serve(0)
print(ask(serving, "POST", "/v2/models/twice/infer", floats([2.0])).json["outputs"][0]["data"])
"""
    )
    assert result.stdout.strip() == "[4.0]"


def test_ctrl_c_ends_a_wait_and_the_program() -> None:
    run_beside_tests(
        """
import _thread, os, signal, threading
import triton_inprocess as ti
try:
    with ti.Server(gpu_metrics=False) as server, server.serve(0) as serving:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        serving.wait()
except KeyboardInterrupt:
    print("interrupted")
assert not serving.running
"""
    )


def test_the_package_does_not_import_the_web(server: ti.Server) -> None:
    result = run_beside_tests(
        "import sys, triton_inprocess as ti; ti.Serving\n"
        "print([name for name in ('starlette', 'uvicorn', 'anyio', 'asyncio', 'ssl') if name in sys.modules])"
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_without_the_extra_an_error_says_what_to_install(missing: str) -> None:
    result = run_beside_tests(
        f"""
import sys
sys.modules[{missing!r}] = None
import triton_inprocess as ti
with ti.Server(gpu_metrics=False) as server:
    try:
        server.serve(0)
    except ModuleNotFoundError as error:
        print(error)
"""
    )
    assert missing in result.stdout
    assert "python -m pip install 'triton-inprocess[http]'" in result.stdout
