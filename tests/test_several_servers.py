"""Several servers in one process agree on what Triton has once per process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, run_beside_tests
from helpers_lifetime import wait_until

import triton_inprocess as ti
from triton_inprocess import _process_options

X = np.arange(3, dtype=np.float32)


def callback(level: ti.LogLevel, message: str) -> None:
    """A log that nobody reads."""


def another_callback(level: ti.LogLevel, message: str) -> None:
    """Likewise."""


CONTRADICTIONS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"log_verbose": 1}, {"log_verbose": 2}, "log_verbose=2 contradicts log_verbose=1"),
    ({"log_file": "a.log"}, {"log_file": "b.log"}, "log_file='b.log' contradicts log_file='a.log'"),
    ({"log_file": "a.log"}, {"log_callback": callback}, "log_callback=<.*> contradicts log_file='a.log'"),
    ({"log_callback": callback}, {"log_file": "a.log"}, "log_file='a.log' contradicts log_callback=<"),
    ({"log_callback": callback}, {"log_callback": another_callback}, "log_callback=<.*> contradicts log_callback=<"),
    (
        {"pinned_memory_pool_size": 1 << 20},
        {"pinned_memory_pool_size": 1 << 21},
        "pinned_memory_pool_size=2097152 contradicts pinned_memory_pool_size=1048576 .* one pool of pinned memory",
    ),
    ({}, {"pinned_memory_pool_size": 1 << 20}, "pinned_memory_pool_size=1048576 contradicts .*=268435456 "),
    ({}, {"metrics_interval": 500}, "metrics_interval=500 contradicts metrics_interval=2000"),
    ({"metrics_interval": 500}, {"metrics_interval": 300}, "metrics_interval=300 contradicts metrics_interval=500"),
    ({}, {"metrics_configuration": {"": {"a": "b"}}}, r"metrics_configuration=\{'': \{'a': 'b'\}\} contradicts"),
]


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths are in an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("first", "second", "message"), CONTRADICTIONS, ids=lambda each: re.sub(r" at 0x\w+", "", str(each))
)
def test_a_contradiction_is_refused(
    start_server: StartServer, in_folder: None, first: dict[str, Any], second: dict[str, Any], message: str
) -> None:
    running = start_server(server_id="the first", **first)
    with pytest.raises(ti.InvalidArgumentError, match=message) as raised:
        ti.Server(**second).start()
    assert "server 'the first', which runs in this process" in str(raised.value)
    assert (answer(add_echo(running), x=X) == X).all()
    running.stop()
    if "metrics_configuration" not in second:
        with ti.Server(**second) as server:  # it is free to now
            assert server.live()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, {}),
        ({"log_verbose": 1}, {}),
        ({}, {"log_verbose": 1}),
        ({"log_verbose": 1, "log_info": True}, {"log_verbose": 1, "log_warn": True}),
        ({"log_callback": callback}, {"log_callback": callback}),
        ({"log_callback": callback}, {}),
        ({"pinned_memory_pool_size": 1 << 20}, {}),
        ({"pinned_memory_pool_size": 1 << 20}, {"pinned_memory_pool_size": 1 << 20}),
        ({"metrics_interval": 500}, {"metrics_interval": 300, "metrics": False}),
        ({"metrics": False}, {"metrics_interval": 300}),
        ({}, {"gpu_metrics": False, "cpu_metrics": False}),
        ({"server_id": "a", "exit_timeout": 3}, {"server_id": "b", "exit_timeout": 5}),
    ],
    ids=lambda each: re.sub(r" at 0x\w+", "", str(each)),
)
def test_what_is_no_contradiction(start_server: StartServer, first: dict[str, Any], second: dict[str, Any]) -> None:
    for options in (first, second):
        assert (answer(add_echo(start_server(**options)), x=X) == X).all()


def test_one_file_by_two_names(start_server: StartServer, tmp_path: Path) -> None:
    start_server(log_file=tmp_path / "a.log")
    start_server(log_file=f"{tmp_path}/./a.log")


def test_a_refused_server_can_be_started_later(start_server: StartServer) -> None:
    running = start_server(log_verbose=1)
    server = ti.Server(log_verbose=2)
    with pytest.raises(ti.InvalidArgumentError):
        server.start()
    running.stop()
    with server:
        assert server.live()


def test_a_server_that_does_not_start_has_no_say(start_server: StartServer, tmp_path: Path) -> None:
    with pytest.raises(ti.InvalidArgumentError, match="cache_directory"):
        ti.Server(log_verbose=1, cache_directory=tmp_path / "none").start()
    start_server(log_verbose=2)
    assert len(_process_options._claims) == 1


def test_a_server_that_only_the_collector_has_does_not_count(start_server: StartServer) -> None:
    servers: list[object] = [ti.Server(log_verbose=1).start()]
    servers.append(servers)
    del servers
    start_server(log_verbose=2)


def test_options_are_not_changed(start_server: StartServer) -> None:
    start_server(log_verbose=1)
    options = ti.Options()
    ti.Server(options).start().stop()
    assert options == ti.Options()


LOGS = """
import time
import triton_inprocess as ti
from triton_inprocess import capi
first, second = [], []
def note(level, message):
    first.append(message)
def lines(server):
    count = len(first)
    assert server.live()
    capi.TRITONSERVER_LogMessage(capi.TRITONSERVER_LogLevel.ERROR, "file.cc", 1, "an error")
    deadline = time.monotonic() + WAIT
    while len(first) == count and time.monotonic() < deadline:
        time.sleep(0.01)
    return len(first) > count
"""


def test_a_server_that_asks_for_nothing_leaves_the_log_alone() -> None:
    source = (
        LOGS.replace("WAIT", "5")
        + """
a = ti.Server(log_callback=note, log_error=True).start()
assert lines(a)
with ti.Server() as b:
    assert lines(a) and lines(b)
assert lines(a)
a.stop()
"""
    )
    run_beside_tests(source)


def test_the_log_goes_back_to_who_still_wants_it() -> None:
    source = (
        LOGS.replace("WAIT", "5")
        + """
a = ti.Server(log_callback=note, log_error=True).start()
b = ti.Server(log_callback=note, log_error=True).start()
assert lines(a) and lines(b)
b.stop()
assert lines(a)
a.stop()
a = ti.Server(log_callback=note, log_error=True).start()
b = ti.Server(log_callback=note, log_error=True).start()
a.stop()
assert lines(b)
b.stop()
"""
    )
    run_beside_tests(source)


def test_what_one_server_wanted_logged_ends_with_it(tmp_path: Path) -> None:
    source = (
        LOGS.replace("WAIT", "0.2")
        + """
a = ti.Server(log_callback=note).start()
assert not lines(a)
with ti.Server(log_error=True) as b:
    assert lines(a)
assert not lines(a)
a.stop()
"""
    )
    run_beside_tests(source)


def test_a_servers_requests_go_on_when_another_stops(start_server: StartServer) -> None:
    first, second = start_server(), start_server()
    model = add_echo(second)
    add_echo(first)
    first.stop()
    wait_until(lambda: bool((answer(model, x=X) == X).all()))
