"""Model.sequence: the flags and the number of requests that belong together."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, write_model
from helpers_lifetime import wait_until
from helpers_sequence import SEQUENCE, control_values

import triton_inprocess as ti

X = {"INPUT0": np.ones((1, 2), np.float32)}


@pytest.fixture
def model(start_identity: StartServer, repository: Path) -> ti.Model:
    write_model(repository, "sequence", SEQUENCE.format(id_type="UINT64"))
    return start_identity().model("sequence")


def flags(responses: ti.ResponseIterator) -> tuple[int, int]:
    return control_values(responses.result())[:2]


def executions(model: ti.Model) -> int:
    """Counted a moment after the answer."""
    return int(model.statistics()["model_stats"][0]["execution_count"])


def test_start_and_end_are_flagged(model: ti.Model) -> None:
    with model.sequence(7) as sequence:
        assert control_values(sequence.infer(X).result()) == (1, 0, 7)
        assert control_values(sequence.infer(X).result()) == (0, 0, 7)
        assert control_values(sequence.infer(X, end=True).result()) == (0, 1, 7)
        assert sequence.ended
        with pytest.raises(ti.UnavailableError, match="the sequence has ended"):
            sequence.infer(X)
    wait_until(lambda: executions(model) == 3)
    with model.sequence(7) as sequence:
        assert control_values(sequence.infer(X, end=True).result()) == (1, 1, 7)


def test_a_block_that_is_left_ends_its_sequence(model: ti.Model) -> None:
    with model.sequence() as sequence:
        assert flags(sequence.infer(X)) == (1, 0)
    assert sequence.ended
    wait_until(lambda: executions(model) == 2)
    sequence.close()
    with model.sequence():
        pass
    wait_until(lambda: executions(model) == 2)

    def leave(sequence: ti.Sequence) -> None:
        with sequence:
            sequence.infer(X).result()
            raise KeyError("of the block")

    sequence = model.sequence()
    with pytest.raises(KeyError, match="of the block"):
        leave(sequence)
    assert sequence.ended


def test_sequences_have_numbers_of_their_own(model: ti.Model) -> None:
    with model.sequence() as first, model.sequence() as second:
        numbers = [control_values(each.infer(X).result())[2] for each in (first, second, first)]
    assert numbers[0] == numbers[2] == first.correlation_id
    assert numbers[1] == second.correlation_id != first.correlation_id


def test_in_an_event_loop_too(model: ti.Model) -> None:
    async def infer() -> list[tuple[int, int, Any]]:
        async with model.sequence(9) as sequence:
            pending = [sequence.async_infer(X), sequence.async_infer(X)]
            seen = [control_values(await each) for each in pending]
        assert sequence.ended
        return seen

    assert asyncio.run(infer()) == [(1, 0, 9), (0, 0, 9)]
    wait_until(lambda: executions(model) == 3)


def test_what_was_refused_did_not_begin_it(model: ti.Model) -> None:
    with model.sequence() as sequence:
        with pytest.raises(ti.InvalidArgumentError, match="no input"):
            sequence.infer({"nowhere": 1})
        assert flags(sequence.infer(X)) == (1, 0)


def test_a_text_may_be_its_number(start_identity: StartServer, repository: Path) -> None:
    write_model(repository, "sequence", SEQUENCE.format(id_type="STRING"))
    with start_identity().model("sequence").sequence("anna") as sequence:
        assert control_values(sequence.infer(X).result()) == (1, 0, b"anna")


@pytest.mark.parametrize("wrong", [0, -1, 2**64, "", True, 1.5, b"a"])
def test_what_is_no_number_is_refused(server: ti.Server, wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="correlation_id must be"):
        add_echo(server).sequence(wrong)


def test_numpys_numbers_are_taken(server: ti.Server) -> None:
    assert add_echo(server).sequence(np.uint64(7)).correlation_id == 7


@pytest.mark.parametrize("fields", [{"flags": 1}, {"correlation_id": 3}, {"end": 1}])
def test_what_is_the_sequences_own_is_refused(server: ti.Server, fields: dict[str, Any]) -> None:
    (name,) = fields
    with pytest.raises(TypeError, match=name):
        add_echo(server).sequence().infer({"x": [1]}, **fields)


def test_it_shows_what_it_is(server: ti.Server) -> None:
    sequence = add_echo(server).sequence(3)
    assert repr(sequence) == "Sequence(model='echo', correlation_id=3, not begun)"
    sequence.infer({"x": [1]}).result()
    assert "open" in repr(sequence)
    sequence.close()
    assert "ended" in repr(sequence)
