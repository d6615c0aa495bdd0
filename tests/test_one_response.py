"""The short forms: for models that send one response."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, write_identity
from helpers_one_response import Ask, both

import triton_inprocess as ti

X = np.arange(3, dtype=np.float32)


@both
def test_the_response(server: ti.Server, ask: Ask) -> None:
    response = ask(add_echo(server), inputs={"x": X}, request_id="one")
    assert (response.outputs["y"].tolist(), response.final, response.request_id) == (X.tolist(), True, "one")


def test_a_model_is_called_with_its_inputs(server: ti.Server) -> None:
    outputs = add_echo(server)(x=X)
    assert list(outputs) == ["y"]
    assert outputs["y"].tolist() == X.tolist()
    with pytest.raises(ti.InvalidArgumentError, match="no input 'request_id'"):
        add_echo(server, name="other")(x=X, request_id="seven")


@both
def test_its_error_is_raised_or_handed_out(server: ti.Server, ask: Ask) -> None:
    def fail(x: Any) -> Any:
        raise ValueError("no good")

    model = server.add_model(fail, name="m", inputs={"x": (np.float32, (-1,))}, outputs={"y": (np.float32, (-1,))})
    with pytest.raises(ti.InternalError, match="no good"):
        ask(model, inputs={"x": X})
    response = ask(model, inputs={"x": X}, raise_on_error=False)
    assert "no good" in str(response.error)


@both
@pytest.mark.parametrize(("count", "words"), [(0, "sent no response"), (2, "sends several responses")])
def test_a_model_that_sends_another_number_is_told(
    start_identity: StartServer, repository: Path, ask: Ask, count: int, words: str
) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": count})
    with pytest.raises(ti.UnsupportedError, match=rf"{words}.*iterate"):
        ask(start_identity().model("identity"), inputs={"INPUT0": X})


@both
def test_a_decoupled_model_may_send_one(start_identity: StartServer, repository: Path, ask: Ask) -> None:
    write_identity(repository, decoupled=True, parameters={"responses": 1})
    response = ask(start_identity().model("identity"), inputs={"INPUT0": X})
    assert (response.outputs["OUTPUT0"].tolist(), response.final) == (X.tolist(), True)


def test_only_an_iterator_that_has_not_begun_has_one(server: ti.Server) -> None:
    model = add_echo(server)
    responses = model.infer({"x": X})
    next(responses)
    with pytest.raises(ti.UnsupportedError, match="nobody has asked"):
        responses.result()

    async def await_it_twice() -> None:
        responses = model.async_infer({"x": X})
        await responses
        with pytest.raises(ti.UnsupportedError, match="nobody has asked"):
            await responses
        assert [each async for each in responses] == []

    asyncio.run(await_it_twice())


@pytest.mark.parametrize(
    ("deadline", "error", "words"),
    [
        (0, ValueError, "from 0 to 1e9 seconds, and more than 0, not 0"),
        (-1.5, ValueError, "not -1.5"),
        (float("nan"), ValueError, "not nan"),
        (1e10, ValueError, "not 10000000000"),
        ("1", TypeError, "deadline must be .*, not str"),
        (True, TypeError, "deadline must be .*, not bool"),
    ],
)
@both
def test_what_is_no_deadline_is_refused(
    server: ti.Server, ask: Ask, deadline: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ask(add_echo(server), inputs={"x": X}, deadline=deadline)


@pytest.mark.parametrize("deadline", [None, 20, 20.5, np.float32(20)])
@both
def test_an_answer_within_the_deadline(server: ti.Server, ask: Ask, deadline: Any) -> None:
    assert ask(add_echo(server), inputs={"x": X}, deadline=deadline).outputs["y"].tolist() == X.tolist()
