"""The application by itself and within others, without a network."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("starlette")

from helpers_asgi import call
from helpers_http import add_twice, floats
from starlette.applications import Starlette
from starlette.routing import Mount

import triton_inprocess as ti
from triton_inprocess.asgi import create_app

INFER = "/v2/models/twice/infer"


def test_without_a_network(server: ti.Server) -> None:
    async def main() -> None:
        app = create_app(server)
        answer = await call(app, "POST", INFER, floats([1.0, 2.0]))
        assert answer.json["outputs"][0]["data"] == [2.0, 4.0]
        answer = await call(app, "POST", "/v2/models/twice/generate_stream", {"x": [1.0]})
        assert answer.body == b'data: {"model_name":"twice","model_version":"1","y":2.0}\n\n'

    add_twice(server)
    asyncio.run(main())


def test_mounted_with_a_server_that_starts_later(runtime: ti.runtime.Runtime) -> None:
    server = ti.Server()

    async def main() -> None:
        app = Starlette(routes=[Mount("/triton", create_app(server, token="secret"))])
        assert (await call(app, "GET", "/triton/v2/health/live")).status == 400
        async with server:
            add_twice(server)
            assert (await call(app, "GET", "/triton/v2/health/live")).status == 200
            assert (await call(app, "GET", "/v2/health/live")).status == 404
            answer = await call(app, "POST", f"/triton{INFER}", floats([1.0]))
            assert (answer.status, bool(answer.error)) == (401, True)
            headers = {"authorization": "Bearer secret"}
            answer = await call(app, "POST", f"/triton{INFER}", floats([1.0]), headers)
            assert answer.json["outputs"][0]["data"] == [2.0]
            answer = await call(app, "GET", "/triton/nothing", headers=headers)
            assert (answer.status, answer.error) == (404, "Not Found")

    asyncio.run(main())


def test_before_and_after_the_server_runs(runtime: ti.runtime.Runtime) -> None:
    server = ti.Server()

    async def main() -> None:
        app = create_app(server)
        assert (await call(app, "GET", "/v2/health/ready")).status == 400
        answer = await call(app, "POST", INFER, floats([1.0]))
        assert (answer.status, "not started" in answer.error) == (400, True)
        async with server:
            assert (await call(app, "GET", "/v2/health/ready")).status == 200
        assert (await call(app, "GET", "/v2/health/ready")).status == 400
        answer = await call(app, "POST", INFER, floats([1.0]))
        assert (answer.status, "stopped" in answer.error) == (503, True)

    asyncio.run(main())


def test_in_fastapi(server: ti.Server) -> None:
    fastapi = pytest.importorskip("fastapi")
    add_twice(server)
    api = fastapi.FastAPI()

    @api.get("/mine")
    async def mine() -> str:
        return "mine"

    api.mount("/triton", create_app(server))

    async def main() -> None:
        assert (await call(api, "GET", "/mine")).json == "mine"
        answer = await call(api, "POST", f"/triton{INFER}", floats([1.0]))
        assert answer.json["outputs"][0]["data"] == [2.0]

    asyncio.run(main())


def test_a_failure_of_ours_is_told_without_its_details(
    server: ti.Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from triton_inprocess.asgi import _inference

    def broken(*arguments: object) -> None:
        raise RuntimeError("a detail")

    add_twice(server)
    monkeypatch.setattr(_inference, "InferenceAnswer", broken)
    answer = asyncio.run(call(create_app(server), "POST", INFER, floats([1.0])))
    assert answer.status == 500
    assert "detail" not in answer.error
    assert "a detail" in caplog.text


def test_a_task_that_is_cancelled_stays_so(server: ti.Server, gate: object) -> None:
    """A framework may give up a request: it is not answered then."""

    async def main() -> None:
        task = asyncio.create_task(call(create_app(server), "POST", "/v2/models/gate/infer", floats([1.0])))
        await asyncio.to_thread(gate.wait)  # type: ignore[attr-defined]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    vector = {"x": ("FP32", (-1,))}
    server.add_model(gate, name="gate", inputs=vector, outputs={"y": vector["x"]})  # type: ignore[arg-type]
    asyncio.run(main())
