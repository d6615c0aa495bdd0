"""Faults of libtritonserver that the real one cannot be made to have: errors, late, lost and reordered callbacks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fake import RunWithFake, fake_library, run_with_fake
from fake_triton import make_lacking

__all__ = ["fake_library", "run_with_fake"]

ROOT = Path(__file__).resolve().parent.parent
FUNCTIONS = re.findall(
    r"^TRITON_FUNCTION\(\w+, (\w+),", (ROOT / "cpp" / "abi" / "functions.def").read_text(), re.MULTILINE
)


def test_the_fake_serves(run_with_fake: RunWithFake) -> None:
    run_with_fake("""
        server, model = start()
        assert ti.runtime.load().api_version == (1, 34)
        assert ti.runtime.load().missing_functions == ()
        assert (answer(model) == X).all()
        assert (answer(server.model("cached")) == X).all()
        assert len(list(server.model("decoupled").infer(inputs={"INPUT0": X}, parameters={"responses": 4}))) >= 4
        assert {"identity", "ensemble"} <= set(server.models())
        server.stop()
        assert nothing_lives() and fake.live("Server") == 0
    """)


def test_a_failing_submission_raises_and_leaves_nothing(run_with_fake: RunWithFake) -> None:
    run_with_fake("""
        server, model = start()
        errors = {}
        for code in Code:
            fake.fail("TRITONSERVER_ServerInferAsync", code=code, message=f"code {code.name}")
            try:
                answer(model)
            except ti.TritonError as error:
                assert f"code {code.name}" in str(error), error
                errors[code] = type(error)
        assert len(set(errors.values())) == len(Code), errors
        assert errors[Code.UNAVAILABLE] is ti.UnavailableError
        fake.fail_enqueueing()
        try:
            answer(model)
        except ti.UnavailableError:
            pass
        else:
            raise AssertionError("no error")
        assert (answer(model) == X).all()
        assert nothing_lives()
        server.stop()
        assert fake.live("Server") == 0
    """)


@pytest.mark.parametrize("order", ["RELEASE_FIRST", "TOGETHER"])
def test_a_release_may_come_before_the_response(run_with_fake: RunWithFake, order: str) -> None:
    run_with_fake(f"""
        import asyncio, gc, weakref
        server, model = start()
        fake.order(Order.{order})
        fake.respond_on_own_threads()
        fake.reschedule()
        for number in range(100):
            x = np.full(4, number, np.float32)
            (response,) = model.infer(inputs={{"INPUT0": x}})
            assert (response.outputs["OUTPUT0"].numpy() == x).all()
        alive = weakref.ref(x)
        del x, response
        gc.collect()
        assert eventually(lambda: alive() is None)

        async def one(number):
            x = np.full(4, number, np.float32)
            return [r.outputs["OUTPUT0"].numpy()[0] async for r in model.async_infer(inputs={{"INPUT0": x}})]

        async def many():
            assert await asyncio.gather(*map(one, range(50))) == [[number] for number in range(50)]

        asyncio.run(many())
        server.stop()
        assert nothing_lives() and fake.live("Server") == 0
    """)


def test_a_delayed_request_can_be_cancelled(run_with_fake: RunWithFake) -> None:
    run_with_fake("""
        server, model = start()
        fake.delay(60_000)
        begin = time.monotonic()
        responses = model.infer(inputs={"INPUT0": X})
        threading.Timer(0.1, responses.cancel).start()
        try:
            next(responses)
        except ti.CancelledError:
            pass
        else:
            raise AssertionError("no error")
        assert time.monotonic() - begin < 10
        server.stop()
        assert nothing_lives() and fake.live("Server") == 0
    """)


def test_a_stop_waits_for_delayed_requests(run_with_fake: RunWithFake) -> None:
    run_with_fake("""
        server, model = start()
        fake.delay(300)
        responses = [model.infer(inputs={"INPUT0": X}) for _ in range(20)]
        abandoned = model.infer(inputs={"INPUT0": X})
        del abandoned
        server.stop()
        for each in responses:
            (response,) = each
            assert (response.outputs["OUTPUT0"].numpy() == X).all()
        assert nothing_lives() and fake.live("Server") == 0
    """)


def test_a_final_response_that_never_comes_does_not_hold_the_process(run_with_fake: RunWithFake) -> None:
    run_with_fake("""
        import warnings
        server, model = start(exit_timeout=1)
        fake.drop(Drop.FINAL_RESPONSE)
        responses = model.infer(inputs={"INPUT0": X})
        responses.cancel()
        begin = time.monotonic()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            server.stop()
        assert time.monotonic() - begin < 8
        assert [w.category for w in caught] == [RuntimeWarning], caught
        assert "Exit timeout expired" in str(caught[0].message)
        assert fake.live("Server") == 1 and fake.calls("TRITONSERVER_ServerDelete") == 0
    """)


def test_a_final_response_that_comes_late_is_received(run_with_fake: RunWithFake) -> None:
    run_with_fake("""
        server, model = start()
        fake.drop(Drop.FINAL_RESPONSE)
        responses = model.infer(inputs={"INPUT0": X})
        threading.Timer(0.2, lambda: eventually(lambda: fake.deliver_dropped() == 1)).start()
        (response,) = responses
        assert (response.outputs["OUTPUT0"].numpy() == X).all()
        server.stop()
        assert nothing_lives() and fake.live("Server") == 0
    """)


def test_a_release_that_comes_late_keeps_the_input(run_with_fake: RunWithFake) -> None:
    run_with_fake("""
        import gc, weakref
        server, model = start()
        fake.drop(Drop.RELEASE)
        x = np.arange(5, dtype=np.float32)
        (response,) = model.infer(inputs={"INPUT0": x})
        alive = weakref.ref(x)
        del x
        gc.collect()
        assert alive() is not None  # Triton may still read it
        assert eventually(lambda: fake.deliver_dropped() == 1)
        assert eventually(lambda: gc.collect() >= 0 and alive() is None)
        server.stop()
        assert nothing_lives() and fake.live("Server") == 0
    """)


def test_whatever_call_fails_the_error_is_told_and_nothing_leaks(run_with_fake: RunWithFake) -> None:
    run_with_fake(f"""
        import json, warnings
        FUNCTIONS = json.loads({json.dumps(json.dumps(FUNCTIONS))})

        def live():
            server = ti.Server()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of a server that cannot be stopped
                    try:
                        server.start()
                        model = server.model("identity")
                        model.metadata(), model.config(), model.statistics(), server.metadata(), server.metrics()
                        answer(model, request_id="x", priority=1, timeout=1, flags=1, correlation_id=3,
                               requested_outputs=["OUTPUT0"], parameters=dict(a=1, b=True, c="d", e=0.5))
                    finally:
                        server.stop()
            except ti.TritonError as error:
                return str(error)
            return None

        assert live() is None
        called = [each for each in FUNCTIONS if fake.calls(each) > 0]
        # An object that cannot be deleted is leaked, and a server that cannot be stopped is left behind.
        called = [each for each in called if not each.endswith("Delete") and each != "TRITONSERVER_ServerStop"]
        tried = 0
        for function in called:
            for first in (1, 2):
                fake.reset()
                if not fake.fail(function, first=first):
                    continue
                message = live()
                assert message is None or "as told" in message, (function, first, message)
                assert nothing_lives(), (function, first, {{kind: fake.live(kind) for kind in OBJECTS}})
                assert fake.live("Server") == 0, (function, first)
                tried += 1
        assert tried > 60, tried
    """)


def test_a_library_that_lacks_functions(run_with_fake: RunWithFake, fake_library: Path, tmp_path: Path) -> None:
    absent = ("TRITONSERVER_InferenceRequestCancel", "TRITONSERVER_ServerOptionsSetModelConfigName")
    library = make_lacking(fake_library, tmp_path / "libtritonserver.so", absent)
    run_with_fake(
        f"""
        fake.set_api_version(1, 24)
        server, model = start()
        assert ti.runtime.load().api_version == (1, 24)
        assert sorted(ti.runtime.load().missing_functions) == sorted({absent!r})
        assert (answer(model) == X).all()
        fake.delay(100)
        responses = model.infer(inputs={{"INPUT0": X}})
        try:
            responses.cancel()
        except ti.UnsupportedError as error:
            for part in ("TRITONSERVER_InferenceRequestCancel", {str(library)!r}, "1.24", "1.25"):
                assert part in str(error), error
        else:
            raise AssertionError("no error")
        assert len(list(responses)) == 1
        server.stop()
        assert nothing_lives() and fake.live("Server") == 0
        """,
        library,
    )


def test_every_function_but_the_indispensable_ones_may_be_missing(
    run_with_fake: RunWithFake, fake_library: Path, tmp_path: Path
) -> None:
    # What the first API has that is served, and a library that lacks all the rest.
    table = (ROOT / "cpp" / "abi" / "functions.def").read_text()
    rows = re.findall(r"^TRITON_FUNCTION\(SERVER, (\w+), 1, (\d+), TRITONSERVER_Error\*", table, re.MULTILINE)
    newer = [name for name, minor in rows if int(minor) > 17]
    library = make_lacking(fake_library, tmp_path / "libtritonserver.so", newer)
    run_with_fake(
        f"""
        fake.set_api_version(1, 17)
        server, model = start()
        assert len(ti.runtime.load().missing_functions) == {len(newer)}
        assert (answer(model) == X).all()
        server.stop()
        assert nothing_lives() and fake.live("Server") == 0
        """,
        library,
    )


def test_lacking_refuses_what_is_not_there(fake_library: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="TRITONSERVER_NoSuchFunction"):
        make_lacking(fake_library, tmp_path / "copy.so", ["TRITONSERVER_NoSuchFunction"])
