"""The endpoints under more requests than they let in, from another process: `benchmarks.http_load`, in small."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from benchmarks.http_load import LoadTest


@pytest.mark.usefixtures("runtime")
def test_no_request_is_lost_or_executed_twice() -> None:
    found = LoadTest(requests=1000, connections=32, max_in_flight=8).run()  # raises for one that is
    assert found.refused > 0, "it was not at its limit"
    assert found.answered_at_the_end > 0
    assert found.cut_at_the_end == 32
