"""Triton's log in Python: the logger `triton_inprocess`, LogMessage, and bursts."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import StartServer, run_beside_tests

import triton_inprocess as ti
from triton_inprocess import _native
from triton_inprocess._log_forwarder import LogForwarder, LogLine

LOGGER = logging.getLogger("triton_inprocess")


class Records(logging.Handler):
    """Keeps every record, and tells whoever waits for one."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self._changed = threading.Condition()

    def emit(self, record: logging.LogRecord) -> None:
        with self._changed:
            self.records.append(record)
            self._changed.notify_all()

    def having(self, part: str) -> list[logging.LogRecord]:
        return [record for record in self.records if part in record.getMessage()]

    def wait_for(self, part: str) -> logging.LogRecord:
        with self._changed:
            assert self._changed.wait_for(lambda: self.having(part), timeout=10), part
            return self.having(part)[0]


@pytest.fixture
def records() -> Iterator[Records]:
    """What comes to the logger, of every level."""
    handler, level = Records(), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.DEBUG)
    yield handler
    LOGGER.setLevel(level)
    LOGGER.removeHandler(handler)


def test_messages_become_records(start_server: StartServer, records: Records) -> None:
    start_server(log_to_logging=True)
    ti.LogMessage(ti.LogLevel.WARN, "Grüße")
    record = records.wait_for("Grüße")
    assert (record.name, record.levelno, record.getMessage()) == ("triton_inprocess", logging.WARNING, "Grüße")
    assert record.filename == Path(__file__).name
    assert record.lineno == test_messages_become_records.__code__.co_firstlineno + 2


@pytest.mark.parametrize(
    ("level", "number"),
    [(ti.LogLevel.INFO, logging.INFO), (ti.LogLevel.WARN, logging.WARNING), (ti.LogLevel.ERROR, logging.ERROR)],
)
def test_levels_are_mapped(start_server: StartServer, records: Records, level: ti.LogLevel, number: int) -> None:
    start_server(log_to_logging=True)
    ti.LogMessage(level, f"of level {level}")
    assert records.wait_for(f"of level {level}").levelno == number


def add_one(server: ti.Server) -> None:
    server.add_model(lambda x: x, name="m", inputs={"x": ("FP32", (1,))}, outputs={"y": ("FP32", (1,))})


def test_verbose_messages_are_of_the_level_debug_where_info_is_off(start_server: StartServer, records: Records) -> None:
    LOGGER.setLevel(logging.WARNING)
    server = start_server(log_to_logging=True, log_verbose=1)
    LOGGER.setLevel(logging.DEBUG)
    add_one(server)
    server.stop()
    verbose = [record for record in records.records if record.levelno < logging.WARNING]
    assert verbose
    assert {record.levelno for record in verbose} == {logging.DEBUG}
    assert all(record.filename.endswith((".cc", ".h")) and record.lineno > 0 for record in verbose)


def test_a_callback_is_told_what_is_verbose_where_info_is_off(start_server: StartServer) -> None:
    levels: set[ti.LogLevel] = set()
    server = start_server(log_callback=lambda level, message: levels.add(level), log_verbose=1)
    add_one(server)
    server.stop()
    assert levels == {ti.LogLevel.VERBOSE}


def test_verbose_messages_come_only_when_they_are_asked_for(start_server: StartServer, records: Records) -> None:
    server = start_server(log_to_logging=True)
    add_one(server)
    server.stop()
    assert records.having("successfully loaded 'm'")
    assert not records.having("Starting backend thread")
    assert {record.levelno for record in records.records} <= {logging.INFO, logging.WARNING, logging.ERROR}


def test_the_logger_decides_what_triton_logs(start_server: StartServer, records: Records) -> None:
    LOGGER.setLevel(logging.ERROR)
    server = start_server(log_to_logging=True)
    assert not _native.TRITONSERVER_LogIsEnabled(ti.LogLevel.WARN)
    ti.LogMessage(ti.LogLevel.WARN, "too low")
    ti.LogMessage(ti.LogLevel.ERROR, "high enough")
    records.wait_for("high enough")
    assert not records.having("too low")
    assert server.options == ti.Options(log_to_logging=True)


def test_a_switch_turns_on_what_the_logger_did_not_want_then(start_server: StartServer, records: Records) -> None:
    LOGGER.setLevel(logging.ERROR)
    start_server(log_to_logging=True, log_info=True)
    ti.LogMessage(ti.LogLevel.INFO, "one")
    ti.LogMessage(ti.LogLevel.ERROR, "between")
    records.wait_for("between")
    LOGGER.setLevel(logging.INFO)
    ti.LogMessage(ti.LogLevel.INFO, "two")
    records.wait_for("two")
    assert not records.having("one")


def test_the_end_of_the_server_is_the_end_of_the_log(start_server: StartServer, records: Records) -> None:
    threads = threading.active_count()
    server = start_server(log_to_logging=True)
    ti.LogMessage(ti.LogLevel.ERROR, "before")
    server.stop()
    assert records.having("before"), "the stop has waited for what came before it"
    number = len(records.records)
    ti.LogMessage(ti.LogLevel.ERROR, "after")
    assert len(records.records) == number
    assert threading.active_count() <= threads


def test_a_failing_filter_is_reported(
    start_server: StartServer, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)

    def refuse(record: logging.LogRecord) -> bool:
        raise RuntimeError("no record")

    server = start_server(log_to_logging=True)
    LOGGER.addFilter(refuse)
    try:
        ti.LogMessage(ti.LogLevel.ERROR, "refused")
        server.stop()
    finally:
        LOGGER.removeFilter(refuse)
    assert "no record" in {str(each.exc_value) for each in reported}
    assert {each.object for each in reported} == {LOGGER}


def test_a_handler_may_stop_the_server(start_server: StartServer, records: Records) -> None:
    server = start_server(log_to_logging=True)
    stopped = threading.Event()

    class Stopping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "stop it" in record.getMessage():
                server.stop()
                stopped.set()

    handler = Stopping()
    LOGGER.addHandler(handler)
    try:
        ti.LogMessage(ti.LogLevel.ERROR, "stop it")
        assert stopped.wait(20)
    finally:
        LOGGER.removeHandler(handler)
    with pytest.raises(ti.UnavailableError):
        server.live()


@pytest.mark.parametrize("other", [{"log_callback": print}, {"log_file": "log"}])
def test_triton_has_one_log(other: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"log_to_logging and {next(iter(other))} exclude each other"):
        ti.Server(log_to_logging=True, **other).start()


@pytest.mark.parametrize(
    ("level", "message", "error", "text"),
    [
        (1, "m", TypeError, "level must be a LogLevel, not int"),
        (ti.LogLevel.INFO, b"m", TypeError, "message must be a str, not bytes"),
        (ti.LogLevel.INFO, "a\0b", ti.InvalidArgumentError, "message must not contain a NUL"),
    ],
)
def test_wrong_arguments_of_log_message(level: Any, message: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        ti.LogMessage(level, message)


# -- the forwarder by itself -------------------------------------------------------------------------------------------


def forwarded(*written: bytes, capacity: int | None = None) -> list[LogLine]:
    """What comes of what is written, all of it before anything is taken."""
    got: list[LogLine] = []
    started, go_on = threading.Event(), threading.Event()

    def deliver(line: LogLine) -> None:
        if line.message == "wait":
            started.set()
            assert go_on.wait(10)
        else:
            got.append(line)

    forwarder = LogForwarder(deliver, deliver, "deliver", capacity=capacity)
    with Path(forwarder.path).open("wb", buffering=0) as pipe:
        pipe.write(b"wait\n")
        assert started.wait(10)
        for text in written:
            pipe.write(text)
    forwarder._pipe.close()  # all was read
    go_on.set()
    forwarder.close()
    return got


HEADER = b"E1203 04:05:06.000001 77 some_file.cc:123] "


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (HEADER + b"text", (ti.LogLevel.ERROR, "text", "some_file.cc", 123)),
        (
            b"2026-12-01T02:54:00Z W 4711 server.cc:12] text",
            (ti.LogLevel.WARN, "text", "server.cc", 12),
        ),
        (
            HEADER + rb'"two\nlines and a \"quote\""',
            (ti.LogLevel.ERROR, 'two\nlines and a "quote"', "some_file.cc", 123),
        ),
        (HEADER + b'"open', (ti.LogLevel.ERROR, '"open', "some_file.cc", 123)),
        (HEADER + b'"one" and "two"', (ti.LogLevel.ERROR, '"one" and "two"', "some_file.cc", 123)),
        (HEADER + b'"', (ti.LogLevel.ERROR, '"', "some_file.cc", 123)),
        (HEADER, (ti.LogLevel.ERROR, "", "some_file.cc", 123)),
        (HEADER + b"a] b:1] c", (ti.LogLevel.ERROR, "a] b:1] c", "some_file.cc", 123)),
        (HEADER + b"\xff", (ti.LogLevel.ERROR, "\\xff", "some_file.cc", 123)),
        (b"V1203 04:05:06.000001 77] text", (ti.LogLevel.VERBOSE, "text", "", 0)),
        (b"no header", (ti.LogLevel.INFO, "no header", "", 0)),
    ],
)
def test_a_line_is_taken_apart(line: bytes, expected: tuple[ti.LogLevel, str, str, int]) -> None:
    assert forwarded(line + b"\n") == [expected]


def test_a_line_without_a_header_goes_on_with_the_one_before() -> None:
    first, second = forwarded(HEADER + b"first\n", b"second")
    assert second == first._replace(message="second")


def test_what_there_is_no_room_for_is_counted() -> None:
    *kept, notice = forwarded(*(HEADER + b"%d\n" % number for number in range(1000)), capacity=10_000)
    assert [line.message for line in kept] == [str(number) for number in range(len(kept))]
    assert 20 < len(kept) < 1000
    assert notice.level is ti.LogLevel.WARN
    assert notice.message == (
        f"{1000 - len(kept)} lines of Triton's log were dropped: they came faster than they were taken"
    )


def test_a_cycle_through_the_callback_is_collected() -> None:
    def make(deliver: Callable[[LogLine], object]) -> LogForwarder:
        return LogForwarder(deliver, deliver, "deliver")

    class Owner:
        def __init__(self) -> None:
            self.forwarder = make(self.take)

        def take(self, line: LogLine) -> None:
            pass

    owner = Owner()
    gone, pipe, thread = weakref.ref(owner), owner.forwarder._pipe, owner.forwarder._thread
    del owner
    gc.collect()
    assert gone() is None
    pipe.close()
    thread.join(10)
    assert not thread.is_alive()


def test_a_server_whose_callback_knows_it_is_collected() -> None:
    run_beside_tests(
        """
import gc, weakref, threading
import triton_inprocess as ti

def leave():
    got = []
    server = ti.Server(log_info=True, gpu_metrics=False, log_callback=lambda *line: got.append((server, line)))
    server.start()
    return weakref.ref(server)

server = leave()
gc.collect()
assert server() is None, gc.get_referrers(server())
for thread in threading.enumerate():
    if thread.name == "triton-inprocess-log":  # it may be the one that has collected it
        thread.join(10)
        assert not thread.is_alive()
"""
    )


BURST = """
import ctypes, sys, threading
import triton_inprocess as ti

taken = []
ready, go_on = threading.Event(), threading.Event()

def take(level, message):
    taken.append(message)

server = ti.Server(log_callback=take, log_error=True, gpu_metrics=False).start()
library = ctypes.PyDLL(str(ti.runtime.load().path))  # which keeps the GIL in its calls
line = b"x" * 200
before = len(taken)
sys.setswitchinterval(1000)  # and in between: no other thread runs Python until all is written
for _ in range(NUMBER):
    library.TRITONSERVER_LogMessage(2, b"file", 1, line)
during = len(taken)
sys.setswitchinterval(0.005)
server.stop()
assert during == before, "the GIL was let go"
burst = [message for message in taken if message == line.decode()]
dropped = [message for message in taken if "were dropped" in message]
"""


def test_a_burst_under_the_gil_does_not_wait_for_python() -> None:
    run_beside_tests(
        BURST.replace("NUMBER", "5000")  # 1 MB, sixteen times what a pipe holds
        + "assert len(burst) == 5000, len(burst)\nassert not dropped\n"
    )


def test_a_burst_beyond_the_room_is_dropped_and_told() -> None:
    run_beside_tests(
        BURST.replace("NUMBER", "80000")
        + """
(told,) = dropped
assert 50000 < len(burst) < 80000, len(burst)
assert told.startswith(f"{80000 - len(burst)} lines"), told
"""
    )


def test_the_log_at_the_end_of_the_process() -> None:
    result = run_beside_tests(
        """
import logging, sys
import triton_inprocess as ti

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
server = ti.Server(log_to_logging=True, gpu_metrics=False).start()
ti.LogMessage(ti.LogLevel.ERROR, "the last words")
"""
    )
    assert "triton_inprocess ERROR the last words" in result.stdout.splitlines()
    assert "Traceback" not in result.stderr
