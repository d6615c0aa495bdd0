"""The same requests to the runtime's own `tritonserver` and to our endpoints, where the runtime has that program."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from conftest import StartServer, write_identity
from helpers_http import LENGTH, Answer, ask, binary_body
from helpers_labels import write_classifier

import triton_inprocess as ti


def program(runtime: ti.runtime.Runtime) -> Path:
    """The server's own program beside the library."""
    for folder in Path(runtime.path).parents[:3]:
        found = folder / "pytriton" / "tritonserver" / "bin" / "tritonserver"
        if found.exists():
            return found
    pytest.skip("this runtime has no tritonserver program")


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_identity(folder, "floats")
    write_identity(folder, "ints", data_type="INT32", dims=(2, -1))
    write_identity(folder, "batched", max_batch_size=8, dims=(2,))
    write_identity(folder, "strings", data_type="STRING")
    write_identity(folder, "halves", data_type="FP16")
    write_classifier(folder, ["cat", "", "bird: small"], "labelled", dims=(-1,))
    write_classifier(folder, name="labelled_batch", dims=(3,), max_batch_size=4)
    write_identity(folder, "streams", decoupled=True, parameters={"responses": 2})
    write_identity(folder, "fails", decoupled=True, parameters={"responses": 3, "fail_after": 1})
    return folder


@pytest.fixture(scope="module")
def native(
    runtime: ti.runtime.Runtime, identity_backend: Path, models: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """Triton's own server: what has its `address`."""
    folder = tmp_path_factory.mktemp("program")
    executable = shutil.copy(program(runtime), folder / "tritonserver")
    Path(executable).chmod(0o700)  # the wheel has lost the permission
    port = free_port()
    command = [executable, f"--model-repository={models}", f"--backend-directory={identity_backend}"]
    command += [f"--http-port={port}", "--http-address=127.0.0.1", "--allow-grpc=false", "--allow-metrics=false"]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(Path(runtime.path).parent)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    address = SimpleNamespace(address=("127.0.0.1", port))
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                if ask(address, "GET", "/v2/health/ready").status == 200:  # type: ignore[arg-type]
                    break
            if process.poll() is not None or time.monotonic() > deadline:
                assert runtime.api_version < (1, 34), (folder / "log").read_text()
                pytest.skip("the tritonserver of this runtime does not load the test's models")
            time.sleep(0.02)
        yield address
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def ours(start_server: StartServer, identity_backend: Path, models: Path) -> Iterator[ti.Serving]:
    server = start_server(model_repository=models, backend_directory=identity_backend, gpu_metrics=False)
    with server.serve(0) as serving:
        yield serving


def entry(data_type: str = "FP32", shape: Any = (2,), **more: Any) -> dict[str, Any]:
    return {"name": "INPUT0", "datatype": data_type, "shape": list(shape), **more}


def request(*inputs: Any, **more: Any) -> dict[str, Any]:
    return {"inputs": list(inputs), **more}


def wanted(**parameters: Any) -> list[Any]:
    return [{"name": "OUTPUT0", "parameters": parameters}]


FLOATS = entry(data=[1.5, -2])
INFER = "/v2/models/{}/infer"

JSON_REQUESTS = {
    "floats": ("floats", request(FLOATS)),
    "id": ("floats", request(FLOATS, id="seven")),
    "version": ("floats/versions/1", request(FLOATS)),
    "priority": ("floats", request(FLOATS, parameters={"priority": 1, "timeout": 1000000})),
    "nested": ("ints", request(entry("INT32", (2, 2), data=[[1, 2], [3, 4]]))),
    "flat": ("ints", request(entry("INT32", (2, 2), data=[1, 2, 3, 4]))),
    "batch": ("batched", request(entry(shape=(3, 2), data=[1, 2, 3, 4, 5, 6]))),
    "strings": ("strings", request(entry("BYTES", data=["a", "ä\u20ac"]))),
    "empty": ("floats", request(entry(shape=(0,), data=[]))),
    "output": ("floats", request(FLOATS, outputs=[{"name": "OUTPUT0"}])),
    "classes": ("floats", request(entry(shape=(3,), data=[1, 3, 2]), outputs=wanted(classification=2))),
    "classes of a batch": (
        "batched",
        request(entry(shape=(2, 2), data=[1, 3, 5, 4]), outputs=wanted(classification=1)),
    ),
    "labels": ("labelled", request(entry(shape=(4,), data=[1, 3, 2, 0]), outputs=wanted(classification=4))),
    "labels of a batch": (
        "labelled_batch",
        request(entry(shape=(2, 3), data=[1, 3, 5, 4, 3, 2]), outputs=wanted(classification=2)),
    ),
    "classes of ints": (
        "ints",
        request(entry("INT32", (2, 2), data=[1, 3, 5, 4]), outputs=wanted(classification=3)),
    ),
    "binary by default": ("floats", request(FLOATS, parameters={"binary_data_output": True})),
    "binary output": ("floats", request(FLOATS, outputs=wanted(binary_data=True))),
    "unknown model": ("none", request(FLOATS)),
    "unknown version": ("floats/versions/9", request(FLOATS)),
    "no inputs": ("floats", {}),
    "empty inputs": ("floats", request()),
    "unknown input": ("floats", request({**FLOATS, "name": "x"})),
    "unknown output": ("floats", request(FLOATS, outputs=[{"name": "x"}])),
    "wrong type": ("floats", request(entry("INT32", data=[1, 2]))),
    "no such type": ("floats", request(entry("FLOAT", data=[1, 2]))),
    "wrong shape": ("ints", request(entry("INT32", (4,), data=[1, 2, 3, 4]))),
    "too few elements": ("floats", request(entry(data=[1]))),
    "too many elements": ("floats", request(entry(data=[1, 2, 3]))),
    "strings for floats": ("floats", request(entry(data=["1", "2"]))),
    "negative shape": ("floats", request(entry(shape=(-1,), data=[1]))),
    "no data": ("floats", request(entry())),
    "halves in json": ("halves", request(entry("FP16", data=[1, 2]))),
    "too large a batch": ("batched", request(entry(shape=(9, 2), data=[1] * 18))),
    "streams": ("streams", request(FLOATS)),
    "reserved": ("floats", request(FLOATS, parameters={"triton_mine": 1})),
}


def same(ours: Answer, native: Answer) -> None:
    """The same status; the same content, unless it is an error, which each tells in its own words.

    Triton calls what it cannot parse an error of its own, where it is the client's.
    """
    expected = 400 if native.status == 500 and b"Unable to parse" in native.body else native.status
    assert ours.status == expected, (ours.body, native.body)
    if native.status != 200:
        assert ours.error
        return
    assert content(ours) == content(native)
    for name in ("content-type", LENGTH.lower()):
        assert (name in ours.headers) == (name in native.headers)
    assert ours.headers["content-type"] == native.headers["content-type"]


def content(answer: Answer) -> tuple[Any, bytes]:
    length = int(answer.headers.get(LENGTH.lower(), len(answer.body)))
    return json.loads(answer.body[:length]), answer.body[length:]


@pytest.mark.parametrize("name", JSON_REQUESTS)
def test_infer(native: Any, ours: ti.Serving, name: str) -> None:
    model, body = JSON_REQUESTS[name]
    same(ask(ours, "POST", INFER.format(model), body), ask(native, "POST", INFER.format(model), body))


@pytest.mark.parametrize(
    ("header", "data"),
    [
        (request(entry(parameters={"binary_data_size": 8})), bytes(8)),
        (request(entry(parameters={"binary_data_size": 8}), outputs=wanted(binary_data=True)), b"12345678"),
        (request(entry(parameters={"binary_data_size": 4})), bytes(4)),
        (request(entry(parameters={"binary_data_size": 8})), bytes(7)),
        (request(entry(parameters={"binary_data_size": 8})), bytes(9)),
        (request(entry(parameters={"binary_data_size": 0}, shape=(0,))), b""),
        (request({**FLOATS}), bytes(4)),
    ],
)
def test_binary_data(native: Any, ours: ti.Serving, header: Any, data: bytes) -> None:
    body, headers = binary_body(header, data)
    path = INFER.format("floats")
    same(ask(ours, "POST", path, body, headers), ask(native, "POST", path, body, headers))


@pytest.mark.parametrize("data", [b"\x01\0\0\0a\0\0\0\0", b"\x02\0\0\0a\0\0\0\0", b"\x01\0\0\0a", b"\x01\0\0\0a\0"])
def test_bytes(native: Any, ours: ti.Serving, data: bytes) -> None:
    body, headers = binary_body(request(entry("BYTES", parameters={"binary_data_size": len(data)})), data)
    path = INFER.format("strings")
    same(ask(ours, "POST", path, body, headers), ask(native, "POST", path, body, headers))


def test_halves(native: Any, ours: ti.Serving) -> None:
    header = request(entry("FP16", parameters={"binary_data_size": 4}), outputs=wanted(binary_data=True))
    body, headers = binary_body(header, b"1234")
    path = INFER.format("halves")
    same(ask(ours, "POST", path, body, headers), ask(native, "POST", path, body, headers))
    body, headers = binary_body(request(header["inputs"][0]), b"1234")
    same(ask(ours, "POST", path, body, headers), ask(native, "POST", path, body, headers))


@pytest.mark.parametrize(("model", "data"), [("floats", b"12345678"), ("floats", b"123")])
def test_raw_binary_request(native: Any, ours: ti.Serving, model: str, data: bytes) -> None:
    path = INFER.format(model)
    same(ask(ours, "POST", path, data, {LENGTH: "0"}), ask(native, "POST", path, data, {LENGTH: "0"}))


@pytest.mark.parametrize(
    "path",
    [
        "/v2/models/floats",
        "/v2/models/floats/versions/1",
        "/v2/models/none",
        "/v2/models/floats/config",
        "/v2/models/none/config",
        "/v2/models/none/stats",
        "/v2/nothing",
        "/nothing",
    ],
)
def test_what_is_told(native: Any, ours: ti.Serving, path: str) -> None:
    same(ask(ours, "GET", path), ask(native, "GET", path))


@pytest.mark.parametrize(
    "path",
    ["/v2/health/live", "/v2/health/ready", "/v2/models/floats/ready", "/v2/models/none/ready",
     "/v2/models/floats/versions/9/ready"],
)  # fmt: skip
def test_health(native: Any, ours: ti.Serving, path: str) -> None:
    assert ask(ours, "GET", path).status == ask(native, "GET", path).status


def test_index(native: Any, ours: ti.Serving) -> None:
    found, expected = (ask(each, "POST", "/v2/repository/index") for each in (ours, native))
    assert sorted(found.json, key=str) == sorted(expected.json, key=str)


@pytest.mark.parametrize(
    ("model", "body"),
    [
        ("floats", {"INPUT0": [1.5, 2]}),
        ("floats", {"INPUT0": 1.5, "id": "mine"}),
        ("floats", {"parameters": {"INPUT0": [1.5]}}),
        ("strings", {"INPUT0": "text"}),
        ("strings", {"INPUT0": ["text", "more"]}),
        ("strings", {"INPUT0": 3}),
        ("floats", {}),
        ("floats", {"INPUT0": "text"}),
        ("none", {"INPUT0": 1}),
    ],
)
def test_generate(native: Any, ours: ti.Serving, model: str, body: Any) -> None:
    path = f"/v2/models/{model}/generate"
    same(ask(ours, "POST", path, body), ask(native, "POST", path, body))


@pytest.mark.parametrize("model", ["floats", "streams", "fails"])
def test_generate_stream(native: Any, ours: ti.Serving, model: str) -> None:
    path = f"/v2/models/{model}/generate_stream"
    answers = [ask(each, "POST", path, {"INPUT0": [1.5, 2]}) for each in (ours, native)]
    found, expected = ([json.loads(event[6:]) for event in answer.body.split(b"\n\n") if event] for answer in answers)
    assert answers[0].headers["content-type"] == answers[1].headers["content-type"]
    assert [list(event) if "error" in event else event for event in found] == [
        list(event) if "error" in event else event for event in expected
    ]
