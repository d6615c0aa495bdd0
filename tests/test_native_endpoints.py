"""gRPC and NVIDIA's own HTTP front end, with NVIDIA's clients. Needs tritonfrontend: CPython 3.12."""

from __future__ import annotations

import importlib.util
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("tritonfrontend") is None:  # not imported here: that is for Server.serve
    pytest.skip("tritonfrontend, for CPython 3.12, is not here", allow_module_level=True)

import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from conftest import StartServer, add_echo
from helpers_gate import Gate
from helpers_http import add_twice
from helpers_types import TYPES
from tritonclient.utils import InferenceServerException

import triton_inprocess as ti
from triton_inprocess.asgi import Limits

VECTOR = {"x": (np.float32, (-1,))}
TRUSTED = {"allow_shared_memory": True}
ONES = np.ones(3, np.float32)

Client = Any


def serve(server: ti.Server, **arguments: Any) -> ti.Serving:
    return server.serve(**{"http": None, "grpc": 0, **TRUSTED, **arguments})


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    clients: list[Client] = []

    def connect(serving: ti.Serving, **arguments: Any) -> Client:
        if serving.grpc_url is not None:
            clients.append(grpc_client.InferenceServerClient(serving.grpc_url, **arguments))
        else:
            clients.append(http_client.InferenceServerClient(serving.url.removeprefix("http://"), **arguments))
        return clients[-1]

    yield connect
    for each in clients:
        each.close()


def tensor(array: Any, data_type: str = "FP32", name: str = "x", module: Any = grpc_client) -> Any:
    result = module.InferInput(name, list(array.shape), data_type)
    result.set_data_from_numpy(array)
    return result


def test_addresses(server: ti.Server) -> None:
    with serve(server, http="localhost:0", grpc="127.0.0.1:0", metrics=0, engine="native") as serving:
        port = serving.address[1]
        assert serving.url == f"http://127.0.0.1:{port}"
        assert serving.metrics_url not in (None, f"{serving.url}/metrics")
        assert serving.grpc_url is not None
        assert serving.grpc_url.startswith("127.0.0.1:")
        assert serving.running
        with pytest.raises(ti.UnavailableError, match=f"grpc={port} cannot be listened at: .*in use"):
            serve(server, grpc=port)
    assert not serving.running
    with serve(server) as serving:
        assert serving.url == f"grpc://{serving.grpc_url}"
        assert serving.metrics_url is None
        assert repr(serving) == f"<Serving {serving.url}, open>"


@pytest.mark.parametrize("data_type", TYPES)
def test_every_type_comes_back(server: ti.Server, connect: Any, data_type: str) -> None:
    data = TYPES[data_type]
    add_echo(server, data_type)
    with serve(server) as serving:
        found = connect(serving).infer("echo", [tensor(data, data_type)]).as_numpy("y")
    assert found.dtype == data.dtype
    assert np.array_equal(found, data)


def test_64_mib(server: ti.Server, connect: Any) -> None:
    add_twice(server)
    data = np.random.default_rng(1).random(16 << 20, np.float32)
    with serve(server) as serving:
        found = connect(serving).infer("twice", [tensor(data)]).as_numpy("y")
    assert np.array_equal(found, data * 2)


def test_a_stream(server: ti.Server, connect: Any) -> None:
    def count(x: Any) -> Iterator[Any]:
        for number in range(int(x[0])):
            yield np.array([number], np.float32)

    server.add_model(count, name="count", inputs=VECTOR, outputs={"y": VECTOR["x"]})
    came: queue.Queue[Any] = queue.Queue()
    with serve(server) as serving:
        client = connect(serving)
        client.start_stream(lambda result, error: came.put(error if result is None else result))
        client.async_stream_infer("count", [tensor(np.array([4], np.float32))])
        assert [came.get(timeout=20).as_numpy("y").item() for _ in range(4)] == [0, 1, 2, 3]
        client.stop_stream()


def test_what_a_client_asks_of_a_server(server: ti.Server, connect: Any, runtime: ti.runtime.Runtime) -> None:
    add_twice(server)
    with serve(server) as serving:
        client = connect(serving)
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("twice")
        assert client.get_server_metadata(as_json=True)["name"] == "triton"
        assert client.get_model_metadata("twice", as_json=True)["outputs"][0]["name"] == "y"
        assert client.get_model_config("twice", as_json=True)["config"]["name"] == "twice"
        if runtime.api_version > (1, 27):  # older ones do not tell what the front end looks for
            assert client.get_inference_statistics("twice", as_json=True)["model_stats"][0]["name"] == "twice"
        assert client.get_model_repository_index(as_json=True)["models"][0]["name"] == "twice"


def test_errors_have_a_status_and_a_message(server: ti.Server, connect: Any) -> None:
    add_twice(server)

    def fail(x: Any) -> Any:
        raise ValueError("no such luck")

    server.add_model(fail, name="fail", inputs=VECTOR, outputs={"y": VECTOR["x"]})
    with serve(server) as serving:
        client = connect(serving)
        for model, given, status, message in (
            ("none", tensor(ONES), "StatusCode.NOT_FOUND", "none"),
            ("twice", tensor(ONES.astype(np.int32), "INT32"), "StatusCode.INVALID_ARGUMENT", "INT32"),
            ("twice", tensor(ONES, name="z"), "StatusCode.INVALID_ARGUMENT", "z"),
            ("fail", tensor(ONES), "StatusCode.INTERNAL", "ValueError: no such luck"),
        ):
            with pytest.raises(InferenceServerException, match=message) as caught:
                client.infer(model, [given])
            assert caught.value.status() == status
        assert np.array_equal(client.infer("twice", [tensor(ONES)]).as_numpy("y"), ONES * 2)


@pytest.mark.parametrize("engine", ["grpc", "native"])
def test_models_are_not_controlled_unless_that_is_switched_on(server: ti.Server, connect: Any, engine: str) -> None:
    add_twice(server)
    addresses = {"grpc": 0} if engine == "grpc" else {"http": 0, "grpc": None, "engine": "native"}
    with serve(server, **addresses) as serving:
        client = connect(serving)
        for call in (
            lambda: client.unload_model("twice"),
            lambda: client.load_model("twice"),
            lambda: client.load_model("brought", config="{}", files={"file:1/model.py": b"evil"}),
        ):
            with pytest.raises(InferenceServerException, match=r"switched off; allow_model_control=True"):
                call()
        assert client.is_model_ready("twice")
    with serve(server, **addresses, allow_model_control=True) as serving:
        client = connect(serving)
        client.load_model("twice")
        with pytest.raises(InferenceServerException, match=r"switched off; allow_model_upload=True"):
            client.load_model("brought", config="{}", files={"file:1/model.py": b"evil"})
        client.unload_model("twice")
        assert not client.is_model_ready("twice")


def test_so_many_requests_and_no_more(server: ti.Server, connect: Any, gate: Gate) -> None:
    server.add_model(gate, name="gate", inputs=VECTOR, outputs={"y": VECTOR["x"]})
    answers: queue.Queue[Any] = queue.Queue()
    with serve(server, limits=Limits(max_in_flight=1)) as serving:
        client = connect(serving)
        client.async_infer("gate", [tensor(ONES)], lambda result, error: answers.put((result, error)))
        gate.wait()
        with pytest.raises(InferenceServerException, match="1 requests are in flight, which is the most allowed"):
            client.infer("gate", [tensor(ONES)])
        gate.opened.set()
        assert answers.get(timeout=20)[1] is None


def closing(serving: ti.Serving, server: ti.Server) -> Callable[[], None]:
    return serving.close


def stopping(serving: ti.Serving, server: ti.Server) -> Callable[[], None]:
    return server.stop


@pytest.mark.parametrize("engine", ["grpc", "native"])
@pytest.mark.parametrize("end", [closing, stopping])
def test_what_was_accepted_is_answered(
    start_server: StartServer, connect: Any, gate: Gate, end: Any, engine: str
) -> None:
    """And a stream that is open, or a connection, does not keep the endpoint."""
    server = start_server()
    server.add_model(gate, name="gate", inputs=VECTOR, outputs={"y": VECTOR["x"]}, instances=2)
    serving = serve(server, **({} if engine == "grpc" else {"http": 0, "grpc": None, "engine": "native"}))
    answers: queue.Queue[Any] = queue.Queue()

    def infer_by_http() -> None:  # with a client of this thread, to which its connections belong
        with http_client.InferenceServerClient(serving.url.removeprefix("http://")) as client:
            answers.put(client.infer("gate", [tensor(ONES, module=http_client)]))

    if engine == "grpc":
        client = connect(serving)
        client.start_stream(lambda result, error: None)
        client.async_infer("gate", [tensor(ONES)], lambda result, error: answers.put(result or error))
    else:
        threading.Thread(target=infer_by_http).start()
    gate.wait()
    thread = threading.Thread(target=end(serving, server))
    thread.start()
    while not refused(serving):
        pass
    assert answers.empty()
    gate.opened.set()
    assert np.array_equal(answers.get(timeout=20).as_numpy("y"), ONES * 2)
    thread.join(20)
    assert not thread.is_alive()
    assert not serving.running


def refused(serving: ti.Serving) -> bool:
    try:
        socket.create_connection(serving.address, timeout=20).close()
    except ConnectionError:
        return True
    return False


def test_what_does_not_end_is_cut_off(server: ti.Server, connect: Any, gate: Gate) -> None:
    server.add_model(gate, name="gate", inputs=VECTOR, outputs={"y": VECTOR["x"]})
    serving = serve(server)
    answers: queue.Queue[Any] = queue.Queue()
    connect(serving).async_infer("gate", [tensor(ONES)], lambda result, error: answers.put(error))
    gate.wait()
    threading.Timer(0.3, gate.opened.set).start()  # the client is cut off before, and the endpoint stopped after
    started = time.monotonic()
    serving.close(0.05)
    assert time.monotonic() - started >= 0.25
    assert "UNAVAILABLE" in str(answers.get(timeout=20).status())
    assert not serving.running
    assert server.ready()


def test_many_at_once(server: ti.Server, connect: Any) -> None:
    """Each answer is that of its own request."""
    add_twice(server)
    with serve(server) as serving:
        client = connect(serving)
        answers: queue.Queue[Any] = queue.Queue()
        for number in range(200):
            sent = np.full(3, number, np.float32)
            client.async_infer(
                "twice", [tensor(sent)], lambda result, error, sent=sent: answers.put((sent, result or error))
            )
        for _ in range(200):
            sent, result = answers.get(timeout=20)
            assert np.array_equal(result.as_numpy("y"), sent * 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"allow_shared_memory": False}, "allow_shared_memory: grpc lets every client .* cannot be told not to"),
        ({"token": "secret"}, "token: grpc cannot ask for one"),
        ({"limits": Limits(max_body_bytes=1)}, "limits.max_body_bytes: grpc knows no limit but max_in_flight"),
        (
            {"engine": "native", "http": 0, "grpc": None, "certificate": "a", "private_key": "b"},
            "certificate: engine='native' has no TLS",
        ),
        (
            {"engine": "native", "http": 0, "grpc": None, "allow_origins": ["https://a"]},
            "allow_origins: engine='native'",
        ),
    ],
)
def test_what_it_would_not_heed_is_refused(server: ti.Server, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ti.UnsupportedError, match=message):
        serve(server, **arguments)
    assert not server._servings


def test_a_certificate_that_is_not_there(server: ti.Server, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        serve(server, certificate=tmp_path / "none.pem", private_key=tmp_path / "none.key")


def test_ours_and_grpc_together(server: ti.Server, connect: Any) -> None:
    add_twice(server)
    with serve(server, http=0) as serving:
        assert np.array_equal(connect(serving).infer("twice", [tensor(ONES)]).as_numpy("y"), ONES * 2)
        with http_client.InferenceServerClient(serving.url.removeprefix("http://")) as client:
            found = client.infer("twice", [tensor(ONES, module=http_client)]).as_numpy("y")
        assert np.array_equal(found, ONES * 2)
        assert serving.metrics_url == f"{serving.url}/metrics"
