"""How servers, responses and iterators are shown, and errors that say what was meant."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, write_identity

import triton_inprocess as ti

X = np.arange(3, dtype=np.float32)


def test_a_server_before_during_and_after(tmp_path: Path, runtime: ti.runtime.Runtime) -> None:
    server = ti.Server(model_repository=str(tmp_path), server_id="mine")
    shown = f"<Server 'mine', model_repository={str(tmp_path)!r}, {{}}>"
    assert repr(server) == shown.format("not started")
    with server:
        assert repr(server) == shown.format("running")
    assert repr(server) == shown.format("stopped")


def test_an_iterator(server: ti.Server) -> None:
    iterator = add_echo(server, name='a "name"').infer({"x": X})
    assert repr(iterator) == "<ResponseIterator of model 'a \"name\"', in flight>"
    list(iterator)
    assert repr(iterator) == "<ResponseIterator of model 'a \"name\"', finished>"


def test_an_async_iterator(server: ti.Server) -> None:
    model = add_echo(server)

    async def main() -> None:
        iterator = model.async_infer({"x": X})
        assert repr(iterator) == "<AsyncResponseIterator of model 'echo', in flight>"
        async for _ in iterator:
            pass
        assert repr(iterator) == "<AsyncResponseIterator of model 'echo', finished>"

    asyncio.run(main())


def test_a_response(server: ti.Server) -> None:
    model = add_echo(server, version=7)
    (response,) = model.infer({"x": X})
    assert repr(response) == "InferenceResponse(model='echo', version=7, outputs=['y'], final=True)"
    (response,) = model.infer({"x": X}, request_id='it\'s "mine"')
    assert ", request_id='it\\'s \"mine\"', outputs=" in repr(response)


def test_a_response_that_is_an_error(server: ti.Server) -> None:
    def fail(x: Any) -> Any:
        raise ValueError("no 'luck' today")

    model = server.add_model(fail, name="m", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    (response,) = model.infer({"x": X}, raise_on_error=False)
    assert repr(response) == (
        "InferenceResponse(model='m', version=1, error=\"ValueError: no 'luck' today\", final=True)"
    )


def test_the_responses_of_a_stream(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 2})
    shown = [repr(each) for each in start_identity().model("identity").infer({"INPUT0": X})]
    assert shown[0] == "InferenceResponse(model='identity', version=1, outputs=['OUTPUT0'], final=False)"
    assert shown[-1].endswith(", final=True)")


@pytest.mark.parametrize("given", [3, 3.5, {"a": "b"}, b"models", object()], ids=lambda each: type(each).__name__)
def test_a_repository_of_the_wrong_type(runtime: ti.runtime.Runtime, given: Any) -> None:
    message = f"model_repository must be a path or a list of paths, not {type(given).__name__}"
    with pytest.raises(TypeError, match=message):
        ti.Server(model_repository=given).start()


@pytest.mark.parametrize("name", ["fp32", "Fp16", "bf16"])
def test_a_data_type_in_the_wrong_case(name: str) -> None:
    message = f"not '{name}': did you mean '{name.upper()}'\\?"
    with pytest.raises(TypeError, match=message):
        ti.TensorSpec("x", name, (1,))
    with pytest.raises(TypeError, match=message):
        ti.Tensor.from_any([1.0], data_type=name)


@pytest.mark.parametrize("name", ["float33", "invalid", "INVALID", ""])
def test_what_is_no_data_type_has_no_suggestion(name: str) -> None:
    with pytest.raises(TypeError) as raised:
        ti.TensorSpec("x", name, (1,))
    assert "did you mean" not in str(raised.value)
