"""Every option is applied; what no server could start with is refused, by name."""

from __future__ import annotations

import copy
import dataclasses
import logging
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, answer, lacks, run_python, write_identity
from helpers_lifetime import wait_until

import triton_inprocess as ti

SET_CACHE_CONFIG = "TRITONSERVER_ServerOptionsSetCacheConfig"  # since 1.20
SET_METRICS_CONFIG = "TRITONSERVER_ServerOptionsSetMetricsConfig"  # since 1.22
SET_MODEL_NAMESPACING = "TRITONSERVER_ServerOptionsSetModelNamespacing"  # since 1.18
SET_PEER_ACCESS = "TRITONSERVER_ServerOptionsSetEnablePeerAccess"  # since 1.31
SET_RETRY_COUNT = "TRITONSERVER_ServerOptionsSetModelLoadRetryCount"  # since 1.28

CACHED = "response_cache { enable: true }"


def option_table(log: Path) -> dict[str, str]:
    """What Triton itself says that it was started with."""
    rows = re.findall(r"^\| (\S+)\s+\| (.*?)\s*\|$", log.read_text().rpartition("| Option ")[2], re.MULTILINE)
    return dict(rows)


@pytest.fixture
def started_with(start_server: StartServer, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """The table of options in the log of a server that was started with the given ones."""

    def start(**options: Any) -> dict[str, str]:
        log = tmp_path / "log"
        start_server(log_file=log, log_info=True, **options)
        return option_table(log)

    return start


# -- what Triton reports back ------------------------------------------------------------------------------------------


def test_server_id(start_server: StartServer) -> None:
    assert start_server(server_id="anna").metadata()["name"] == "anna"
    assert start_server().metadata()["name"] == "triton"


@pytest.mark.parametrize(
    ("options", "row", "value"),
    [
        ({"strict_model_config": True}, "strict_model_config", "1"),
        ({"strict_model_config": False}, "strict_model_config", "0"),
        ({"rate_limiter_mode": ti.RateLimitMode.EXEC_COUNT}, "rate_limit", "EXEC_COUNT"),
        ({"rate_limiter_mode": ti.RateLimitMode.OFF}, "rate_limit", "OFF"),
        ({"pinned_memory_pool_size": 1 << 20}, "pinned_memory_pool_byte_size", "1048576"),
        ({}, "pinned_memory_pool_byte_size", "268435456"),
        ({"cuda_memory_pool_sizes": {0: 1 << 16}}, "cuda_memory_pool_byte_size{0}", "65536"),
        ({"min_supported_compute_capability": 7.5}, "min_supported_compute_capability", "7.5"),
        ({"min_supported_compute_capability": 7}, "min_supported_compute_capability", "7.0"),
        ({"strict_readiness": False}, "strict_readiness", "0"),
        ({"strict_readiness": True}, "strict_readiness", "1"),
        ({"exit_timeout": 7}, "exit_timeout", "7"),
        ({"server_id": "anna"}, "server_id", "anna"),
        ({}, "model_control_mode", "MODE_EXPLICIT"),
        ({"model_control_mode": ti.ModelControlMode.EXPLICIT}, "model_control_mode", "MODE_EXPLICIT"),
        ({"model_control_mode": ti.ModelControlMode.NONE}, "model_control_mode", "MODE_NONE"),
        ({"model_control_mode": ti.ModelControlMode.POLL}, "model_control_mode", "MODE_POLL"),
        pytest.param({}, "cache_enabled", "0", marks=pytest.mark.needs(SET_CACHE_CONFIG)),
    ],
)
def test_triton_says_what_it_was_started_with(
    started_with: Callable[..., dict[str, str]], options: dict[str, Any], row: str, value: str
) -> None:
    assert started_with(**options)[row] == value


def test_rate_limiter_resources(started_with: Callable[..., dict[str, str]]) -> None:
    table = started_with(
        rate_limiter_mode=ti.RateLimitMode.EXEC_COUNT,
        rate_limiter_resources=[ti.RateLimiterResource("disk", 4), ti.RateLimiterResource("lane", 2, device=1)],
    )
    assert table["rate_limit_resource[0]"] == '{"name":"disk", "count":4 "device":-1}'
    assert table["rate_limit_resource[1]"] == '{"name":"lane", "count":2 "device":1}'


def test_the_rate_limiter_rations(start_identity: StartServer, repository: Path) -> None:
    instances = """
        instance_group [ { kind: KIND_CPU count: 1 rate_limiter { resources [ { name: "disk" count: 4 } ] } } ]
    """
    write_identity(repository, more=instances)
    too_few = [ti.RateLimiterResource("disk", 2)]
    with pytest.raises(ti.InternalError):
        start_identity(rate_limiter_mode=ti.RateLimitMode.EXEC_COUNT, rate_limiter_resources=too_few)
    enough = [ti.RateLimiterResource("disk", 4)]
    for options in (
        {"rate_limiter_mode": ti.RateLimitMode.EXEC_COUNT, "rate_limiter_resources": enough},
        {"rate_limiter_mode": ti.RateLimitMode.OFF, "rate_limiter_resources": too_few},
    ):
        assert start_identity(**options).model("identity").ready()


# -- model repositories and which models are loaded --------------------------------------------------------------------


@pytest.mark.parametrize("form", [str, Path, lambda path: [str(path)], lambda path: [path]])
def test_model_repository_takes_paths_and_lists(
    start_server: StartServer, identity_backend: Path, repository: Path, form: Callable[[Path], Any]
) -> None:
    write_identity(repository)
    server = start_server(model_repository=form(repository), backend_directory=str(identity_backend))
    assert server.model("identity").ready()


def test_several_model_repositories(start_server: StartServer, identity_backend: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        write_identity(tmp_path / name, name)
    server = start_server(
        model_repository=[tmp_path / "first", str(tmp_path / "second")], backend_directory=identity_backend
    )
    assert server.model("first").ready()
    assert server.model("second").ready()


def test_no_repository_at_all(server: ti.Server) -> None:
    assert server.models() == {}
    assert server.live()
    assert server.ready()


@pytest.mark.parametrize("mode", list(ti.ModelControlMode))
def test_no_repository_in_a_named_mode(start_server: StartServer, mode: ti.ModelControlMode) -> None:
    assert start_server(model_control_mode=mode).models() == {}


def test_by_default_everything_is_loaded_and_more_can_be(start_identity: StartServer, repository: Path) -> None:
    for name in ("a", "b"):
        write_identity(repository, name)
    server = start_identity()
    assert server.model("a").ready()
    assert server.model("b").ready()
    write_identity(repository, "late")
    assert server.load("late").ready()
    server.unload("a", wait_until_unloaded=True, polling_interval=0.001)
    assert not server.model("a").ready()
    add_echo(server)
    assert server.options.model_control_mode is None


def test_by_default_startup_models_are_exactly_those(start_identity: StartServer, repository: Path) -> None:
    for name in ("a", "b"):
        write_identity(repository, name)
    server = start_identity(startup_models=["b"])
    assert not server.model("a").ready()
    assert server.model("b").ready()
    assert server.load("a").ready()


def test_explicit_mode_loads_the_startup_models_only(start_identity: StartServer, repository: Path) -> None:
    for name in ("a", "b"):
        write_identity(repository, name)
    nothing = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)
    assert not nothing.model("a").ready()
    assert nothing.load("a").ready()
    add_echo(nothing)
    one = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT, startup_models=["a"])
    assert one.model("a").ready()
    assert not one.model("b").ready()


@pytest.mark.parametrize("mode", [ti.ModelControlMode.NONE, ti.ModelControlMode.POLL])
def test_none_and_poll_mode_load_everything_and_take_no_orders(
    start_identity: StartServer, repository: Path, mode: ti.ModelControlMode
) -> None:
    write_identity(repository)
    server = start_identity(model_control_mode=mode)
    assert server.model("identity").ready()
    with pytest.raises(ti.UnavailableError):
        server.unload("identity")
    with pytest.raises(ti.UnavailableError):
        server.load("identity")
    with pytest.raises(ti.UnavailableError, match=mode.name):
        add_echo(server)
    assert server.model("identity").ready()
    write_identity(repository, "late")
    assert not server.model("late").ready()
    if mode is ti.ModelControlMode.POLL:
        server.poll_model_repository()
        assert server.model("late").ready()
    else:
        with pytest.raises(ti.UnavailableError):
            server.poll_model_repository()


def test_only_poll_mode_polls(start_identity: StartServer) -> None:
    with pytest.raises(ti.UnavailableError):
        start_identity().poll_model_repository()


def test_repositories_can_be_registered(start_identity: StartServer, tmp_path: Path) -> None:
    server = start_identity()
    other = tmp_path / "other"
    other.mkdir()
    write_identity(other, "extra")
    server.register_model_repository(other)
    assert server.load("extra").ready()
    server.unload("extra", wait_until_unloaded=True, polling_interval=0.001)
    server.unregister_model_repository(other)
    with pytest.raises(ti.TritonError):
        server.load("extra")


def test_registered_repositories_can_rename(start_identity: StartServer, tmp_path: Path) -> None:
    server = start_identity()
    other = tmp_path / "other"
    other.mkdir()
    folder = write_identity(other, "folder")
    (folder / "config.pbtxt").write_text((folder / "config.pbtxt").read_text().replace('"folder"', '"renamed"'))
    server.register_model_repository(str(other), {"folder": "renamed"})
    assert server.load("renamed").ready()


@pytest.mark.needs(SET_MODEL_NAMESPACING)
def test_model_namespacing(start_server: StartServer, identity_backend: Path, tmp_path: Path) -> None:
    repositories = [tmp_path / "first", tmp_path / "second"]
    for repository in repositories:
        repository.mkdir()
        write_identity(repository, "twin")
    options = {"model_repository": repositories, "backend_directory": identity_backend, "exit_on_error": False}
    assert not start_server(**options).model("twin").ready()
    both = start_server(**options, model_namespacing=True)
    states = [model.state for key, model in both.models().items() if isinstance(key, tuple)]
    assert set(states) == {"READY"}


def test_strict_model_config_wants_complete_configurations(start_identity: StartServer, repository: Path) -> None:
    # A model without a configuration, whose backend is in its name: Triton completes it unless it must not.
    (repository / "model.identity" / "1").mkdir(parents=True)
    reasons = []
    for strict in (False, True):
        server = start_identity(strict_model_config=strict, exit_on_error=False)
        reasons.append(server.models()["model.identity"].reason or "")
    assert "config.pbtxt" not in reasons[0]
    assert reasons[0] != reasons[1]


# -- failing models ----------------------------------------------------------------------------------------------------


def test_exit_on_error(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, "good")
    write_identity(repository, "bad", parameters={"fail_to_load": 1})
    with pytest.raises(ti.InternalError, match="bad"):
        start_identity()
    server = start_identity(exit_on_error=False)
    assert server.model("good").ready()
    assert not server.model("bad").ready()
    assert "fail_to_load" in (server.models()["bad"].reason or "")


def test_strict_readiness(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, "bad", parameters={"fail_to_load": 1})
    assert not start_identity(exit_on_error=False, strict_readiness=True).ready()
    assert start_identity(exit_on_error=False, strict_readiness=False).ready()


@pytest.mark.parametrize("retries", [0, pytest.param(2, marks=pytest.mark.needs(SET_RETRY_COUNT))])
def test_model_load_retry_count(start_identity: StartServer, repository: Path, tmp_path: Path, retries: int) -> None:
    write_identity(repository, "bad", parameters={"fail_to_load": 1})
    log = tmp_path / "log"
    start_identity(exit_on_error=False, model_load_retry_count=retries, log_file=log, log_error=True)
    assert log.read_text().count("failed to load 'bad' version 1") == retries + 1


# -- threads -----------------------------------------------------------------------------------------------------------


def threads_of(**options: Any) -> int:
    before = len(list(Path("/proc/self/task").iterdir()))
    with ti.Server(**options):
        return len(list(Path("/proc/self/task").iterdir())) - before


@pytest.mark.usefixtures("runtime")
def test_model_load_thread_count() -> None:
    threads_of()  # the first server starts threads that stay with the process
    assert threads_of(model_load_thread_count=9) - threads_of(model_load_thread_count=2) == 7


def test_buffer_manager_thread_count() -> None:
    # In a process of its own: these threads are the process's, and only its first server may ask for them.
    result = run_python(
        """
        import os
        import triton_inprocess as ti
        def threads(): return len(os.listdir("/proc/self/task"))
        with ti.Server(metrics_interval=50): pass
        before = threads()
        with ti.Server(): plain = threads() - before
        with ti.Server(buffer_manager_thread_count=5): print(threads() - before - plain)
        """
    )
    assert (result.returncode, result.stdout) == (0, "5\n"), result.stderr


def test_exit_timeout() -> None:
    result = run_python(
        """
        import threading, time, warnings
        import numpy as np
        import triton_inprocess as ti
        started, go_on = threading.Event(), threading.Event()
        def wait(x):
            started.set()
            go_on.wait(20)
            return x
        server = ti.Server(exit_timeout=1, metrics_interval=50).start()
        model = server.add_model(wait, name="wait", inputs={"x": ("FP32", (1,))}, outputs={"y": ("FP32", (1,))})
        responses = model.infer(inputs={"x": np.zeros(1, np.float32)})
        started.wait(10)
        begin = time.monotonic()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            server.stop()
        print(round(time.monotonic() - begin, 1), [each.category.__name__ for each in caught])
        go_on.set()
        list(responses)
        """
    )
    assert result.returncode == 0, result.stderr
    seconds, _, warnings = result.stdout.strip().partition(" ")
    # Triton itself looks once a second.
    assert 0.9 <= float(seconds) <= 3.5
    assert warnings == "['RuntimeWarning']"


# -- logging -----------------------------------------------------------------------------------------------------------


def levels_in(log: Path) -> set[str]:
    return set(re.findall(r"^([IWEV])\d{4} ", log.read_text(), re.MULTILINE))


@pytest.mark.parametrize("form", [str, Path])
def test_log_file_has_what_is_asked_for(
    start_identity: StartServer, repository: Path, tmp_path: Path, form: Callable[[Path], Any]
) -> None:
    log = tmp_path / "log"
    write_identity(repository)
    server = start_identity(log_file=form(log), log_info=True)
    server.stop()
    assert "successfully loaded 'identity'" in log.read_text()
    assert "I" in levels_in(log)


def test_each_kind_of_message_has_its_switch(start_identity: StartServer, repository: Path, tmp_path: Path) -> None:
    write_identity(repository, "bad", parameters={"fail_to_load": 1})
    found = {}
    for switch in ("log_info", "log_error", "log_verbose", "nothing"):
        log = tmp_path / switch
        options = {"nothing": {}, "log_verbose": {"log_verbose": 1}}.get(switch, {switch: True})
        start_identity(exit_on_error=False, log_file=log, **options).stop()
        text = log.read_text()
        found[switch] = (
            "loading: bad:1" in text,
            "failed to load 'bad' version 1" in text,
            "OpenLibraryHandle" in text,
        )
    assert found == {
        "log_info": (True, False, False),
        "log_error": (False, True, False),
        "log_verbose": (False, False, True),
        "nothing": (False, False, False),
    }


def test_log_warn(start_identity: StartServer, repository: Path, tmp_path: Path) -> None:
    # A version folder that is no number is what Triton warns of.
    (write_identity(repository) / "1x").mkdir()
    texts = []
    for warn in (True, False):
        log = tmp_path / f"log-{warn}"
        start_identity(log_file=log, log_warn=warn).stop()
        texts.append(levels_in(log))
    assert texts == [{"W"}, set()]


def test_log_format(start_server: StartServer, tmp_path: Path) -> None:
    for log_format, pattern in (
        (ti.LogFormat.DEFAULT, r"I\d{4} \d\d:\d\d:\d\d\.\d+ "),
        (ti.LogFormat.ISO8601, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ I "),
    ):
        log = tmp_path / log_format.name
        start_server(log_file=log, log_info=True, log_format=log_format).stop()
        assert re.match(pattern, log.read_text())


def test_the_log_of_one_server_does_not_go_on_in_the_next(start_server: StartServer, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    start_server(log_file=first, log_info=True).stop()
    size = first.stat().st_size
    start_server(log_file=second, log_info=True).stop()
    start_server(log_info=True).stop()
    assert first.stat().st_size == size
    assert second.stat().st_size > 0


class Messages(list[tuple[ti.LogLevel, str]]):
    """What a log_callback was called with."""

    def __call__(self, level: ti.LogLevel, message: str) -> None:
        self.append((level, message))

    def have(self, level: ti.LogLevel, part: str) -> bool:
        return any(each == level and part in message for each, message in self)


@pytest.mark.parametrize("log_format", list(ti.LogFormat))
def test_log_callback_gets_level_and_message(
    start_identity: StartServer, repository: Path, log_format: ti.LogFormat
) -> None:
    write_identity(repository, "bad", parameters={"fail_to_load": 1})
    messages = Messages()
    server = start_identity(
        exit_on_error=False,
        log_callback=messages,
        log_info=True,
        log_error=True,
        log_verbose=1,
        log_format=log_format,
    )
    server.stop()
    assert messages.have(ti.LogLevel.INFO, "loading: bad:1")
    assert messages.have(ti.LogLevel.ERROR, "failed to load 'bad' version 1")
    assert all(isinstance(level, ti.LogLevel) and isinstance(message, str) for level, message in messages)
    assert not any(re.match(r"[IWEV]?\d{4}", message) for _, message in messages), "the header is no message"


def test_log_callback_is_called_while_the_server_runs(start_identity: StartServer, repository: Path) -> None:
    messages = Messages()
    server = start_identity(log_callback=messages, log_info=True)
    write_identity(repository, "late")
    server.load("late")
    wait_until(lambda: messages.have(ti.LogLevel.INFO, "successfully loaded 'late'"))


def test_log_callback_can_be_a_logger(start_server: StartServer, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("triton")
    with caplog.at_level(logging.INFO, "triton"):
        start_server(log_callback=lambda level, message: logger.info(message), log_info=True).stop()
    assert "server_version" in caplog.text


def test_after_the_stop_log_callback_is_called_no_more_and_let_go(start_server: StartServer) -> None:
    messages = Messages()
    references = sys.getrefcount(messages)
    threads = threading.active_count()
    server = start_server(log_callback=messages, log_info=True)
    server.stop()
    number = len(messages)
    start_server(log_info=True).stop()
    assert len(messages) == number
    assert threading.active_count() <= threads
    server.options = ti.Options()
    assert sys.getrefcount(messages) == references


def test_a_failing_log_callback_is_reported_and_the_server_lives(
    start_server: StartServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []

    def fail(level: ti.LogLevel, message: str) -> None:
        raise RuntimeError("no room")

    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    server = start_server(log_callback=fail, log_info=True)
    assert server.live()
    server.stop()
    assert reported
    assert {str(each.exc_value) for each in reported} == {"no room"}


def test_a_log_callback_may_use_the_server(start_server: StartServer) -> None:
    names: list[str] = []
    box = SimpleNamespace(server=None)

    def call_back(level: ti.LogLevel, message: str) -> None:
        if box.server is not None:
            names.append(box.server.metadata()["name"])
            box.server = None

    server = start_server(log_callback=call_back, log_info=True, server_id="anna")
    box.server = server
    add_echo(server)
    wait_until(lambda: names == ["anna"])


# -- metrics -----------------------------------------------------------------------------------------------------------


def test_metrics_count_inferences(server: ti.Server) -> None:
    model = add_echo(server, name="counted")
    answer(model, x=np.ones(1, np.float32))
    assert re.search(r'nv_inference_count{model="counted",version="1"} 1\b', server.metrics())


def test_metrics_off(start_server: StartServer) -> None:
    with pytest.raises(ti.UnavailableError):
        start_server(metrics=False).metrics()


# Metrics are the process's: what its first server has turned on stays on. The short interval is for a short exit,
# which the library delays until its thread has had its next look.
METRICS = """
    import sys, time
    import triton_inprocess as ti
    with ti.Server(**{{"metrics_interval": 50, **eval(sys.argv[1])}}) as server:
        print(server.metrics())
        {more}
"""


def metrics_of(more: str = "", **options: Any) -> str:
    result = run_python(METRICS.format(more=more), repr(options))
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("on", [True, False])
def test_cpu_metrics(on: bool) -> None:
    assert ("nv_cpu_memory_total_bytes" in metrics_of(cpu_metrics=on)) is on


def test_metrics_interval() -> None:
    # The library's first look is after half of it.
    more = "time.sleep(0.3); print('then', server.metrics())"
    total = re.compile(r"^nv_cpu_memory_total_bytes (\S+)", re.MULTILINE)
    values = {}
    for interval in (50, 2000):
        match = total.search(metrics_of(more, metrics_interval=interval).partition("then")[2])
        assert match is not None
        values[interval] = float(match[1])
    assert values[50] > 0
    assert values[2000] == 0


@pytest.mark.needs(SET_METRICS_CONFIG)
def test_metrics_configuration() -> None:
    more = """server.add_model(lambda x: x, name="m", inputs={"x": ("FP32", (1,))}, outputs={"y": ("FP32", (1,))})
        print(server.metrics())"""
    assert "nv_inference_request_summary_us" not in metrics_of(more)
    assert "nv_inference_request_summary_us" in metrics_of(
        more, metrics_configuration={"": {"summary_latencies": "true"}}
    )


# -- caches, backends, agents ------------------------------------------------------------------------------------------


def cache_counts(model: ti.Model) -> tuple[int, int]:
    statistics = model.statistics()["model_stats"][0]["inference_stats"]
    return statistics["cache_hit"]["count"], statistics["cache_miss"]["count"]


# Few servers with a cache here: the local one takes a second to end.
@pytest.mark.needs(SET_CACHE_CONFIG)
def test_the_local_cache_caches(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, more=CACHED)
    model = start_identity(cache_config={"local": {"size": 1 << 20}}).model("identity")
    first, second = np.arange(3, dtype=np.float32), np.arange(4, dtype=np.float32)
    for array in (first, first, second, first):
        received = answer(model, "OUTPUT0", INPUT0=array)
        np.testing.assert_array_equal(received, array)
        received[:] = -1  # an answer of its own, whoever else gets it from the cache
    assert cache_counts(model) == (2, 2)
    wait_until(lambda: model.statistics()["model_stats"][0]["execution_count"] == 2)  # counted after the answer


def test_without_a_cache_config_nothing_is_cached(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, more=CACHED)
    model = start_identity().model("identity")
    for _ in range(2):
        answer(model, "OUTPUT0", INPUT0=np.zeros(3, np.float32))
    assert cache_counts(model) == (0, 0)


@pytest.mark.needs(SET_CACHE_CONFIG)
def test_cache_directory(start_server: StartServer, runtime: ti.runtime.Runtime, tmp_path: Path) -> None:
    # Also: settings may be texts and paths may be paths.
    config = {"local": {"size": "1048576"}}
    log = tmp_path / "log"
    directory = runtime.cache_directories[0]
    # One after the other: a process has one response cache.
    start_server(cache_config=config, cache_directory=directory, log_file=log, log_info=True, log_verbose=1).stop()
    assert f"cache_dir: '{directory}'" in log.read_text()
    assert option_table(log)["cache_enabled"] == "1"
    with pytest.raises(ti.TritonError, match="local"):
        start_server(cache_config=config, cache_directory=str(tmp_path))


@pytest.mark.needs(SET_CACHE_CONFIG)
def test_a_cache_that_does_not_exist(start_server: StartServer) -> None:
    with pytest.raises(ti.TritonError, match="nowhere"):
        start_server(cache_config={"nowhere": {"size": 1}})


def test_backend_directory_goes_before_the_runtimes(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    server = start_identity()
    array = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(answer(server.model("identity"), "OUTPUT0", INPUT0=array), array)
    # Functions work beside it.
    np.testing.assert_array_equal(answer(add_echo(server), x=array), array)


def test_without_the_backend_directory_the_backend_is_unknown(start_server: StartServer, repository: Path) -> None:
    write_identity(repository)
    server = start_server(model_repository=repository, exit_on_error=False)
    assert not server.model("identity").ready()


def test_repo_agent_directory(start_identity: StartServer, repository: Path, tmp_path: Path) -> None:
    write_identity(repository, more='model_repository_agents { agents [ { name: "checker" } ] }')
    agents = tmp_path / "agents"
    agents.mkdir()
    messages = Messages()
    server = start_identity(
        repo_agent_directory=agents, exit_on_error=False, log_callback=messages, log_error=True, log_info=True
    )
    assert not server.model("identity").ready()
    server.stop()
    assert any(str(agents) in message for _, message in messages)


def test_backend_configuration(start_identity: StartServer, repository: Path, tmp_path: Path) -> None:
    write_identity(repository)
    log = tmp_path / "log"
    settings = {"identity": {"colour": "green"}, "": {"default-max-batch-size": "17"}}
    start_identity(backend_configuration=settings, log_file=log, log_info=True)
    (row,) = re.findall(r"^\| identity +\|.*", log.read_text(), re.MULTILINE)[:1]
    assert '"colour":"green"' in row
    assert '"default-max-batch-size":"17"' in row


def test_host_policies(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository, more='instance_group [ { kind: KIND_CPU count: 1 host_policy: "mine" } ]')
    server = start_identity(host_policies={"mine": {"numa-node": "nonsense"}}, exit_on_error=False)
    assert not server.model("identity").ready()
    assert start_identity(host_policies={"mine": {"numa-node": "0"}}).model("identity").ready()
    with pytest.raises(ti.TritonError, match="colour"):
        start_identity(host_policies={"mine": {"colour": "green"}})


@pytest.mark.parametrize("fraction", [-0.5, 1.5])
def test_model_load_device_limits_are_fractions(start_server: StartServer, fraction: float) -> None:
    limit = ti.ModelLoadDeviceLimit(ti.InstanceGroupKind.GPU, 0, fraction)
    with pytest.raises((ti.InvalidArgumentError, ValueError), match=r"limit|fraction"):
        start_server(model_load_device_limits=[limit])


def test_model_load_device_limits_are_for_gpus(start_server: StartServer) -> None:
    with pytest.raises(ti.TritonError):
        start_server(model_load_device_limits=[ti.ModelLoadDeviceLimit(ti.InstanceGroupKind.CPU, 0, 0.5)])
    assert start_server(model_load_device_limits=[ti.ModelLoadDeviceLimit(ti.InstanceGroupKind.GPU, 0, 0.5)]).live()


@pytest.mark.parametrize("enable", [True, pytest.param(False, marks=pytest.mark.needs(SET_PEER_ACCESS))])
def test_enable_peer_access_does_not_matter_without_gpus(start_server: StartServer, enable: bool) -> None:
    assert start_server(enable_peer_access=enable, gpu_metrics=False).live()


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (SET_CACHE_CONFIG, {"cache_config": {"local": {"size": 1 << 20}}}),
        (SET_METRICS_CONFIG, {"metrics_configuration": {"": {"summary_latencies": "true"}}}),
        (SET_MODEL_NAMESPACING, {"model_namespacing": True}),
        (SET_PEER_ACCESS, {"enable_peer_access": False}),
        (SET_RETRY_COUNT, {"model_load_retry_count": 2}),
    ],
)
def test_an_option_that_the_runtime_lacks_is_refused(
    start_server: StartServer, function: str, options: dict[str, Any]
) -> None:
    if lacks(function):
        (name,) = options
        with pytest.raises(ti.UnsupportedError, match=rf"^{name}=.*\b{function} is not in "):
            start_server(**options)
    assert start_server().live()


# -- the user's Options ------------------------------------------------------------------------------------------------


def test_options_are_never_changed(start_identity: StartServer, identity_backend: Path, repository: Path) -> None:
    write_identity(repository)
    options = ti.Options(
        model_repository=[repository],
        backend_directory=identity_backend,
        backend_configuration={"identity": {"colour": "green"}},
        startup_models=["identity"],
        log_callback=Messages(),
    )
    fields = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    before = copy.deepcopy(fields)
    with ti.Server(options) as server:
        add_echo(server)
        server.load("identity")
        assert server.options is options
    after = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    del after["log_callback"], before["log_callback"]
    assert after == before


def test_one_options_for_several_servers(start_server: StartServer) -> None:
    options = ti.Options(server_id="shared")
    for _ in range(2):
        with ti.Server(options) as server:
            assert server.metadata()["name"] == "shared"


def test_options_are_read_at_the_start(start_server: StartServer) -> None:
    server = ti.Server()
    server.options.server_id = "late"
    with server:
        assert server.metadata()["name"] == "late"


# -- what is refused ---------------------------------------------------------------------------------------------------

WRONG_TYPES: dict[str, Any] = {
    "model_repository": 3,
    "server_id": 3,
    "model_control_mode": "EXPLICIT",
    "startup_models": "all",
    "strict_model_config": 1,
    "rate_limiter_mode": "OFF",
    "rate_limiter_resources": [("disk", 4)],
    "pinned_memory_pool_size": "large",
    "cuda_memory_pool_sizes": [1],
    "cache_config": "local",
    "cache_directory": 3,
    "min_supported_compute_capability": "6.0",
    "exit_on_error": "yes",
    "strict_readiness": 0,
    "exit_timeout": 1.5,
    "buffer_manager_thread_count": None,
    "model_load_thread_count": 2.0,
    "model_load_retry_count": "0",
    "model_namespacing": None,
    "enable_peer_access": 1,
    "log_file": 3,
    "log_info": 1,
    "log_warn": "x",
    "log_error": None,
    "log_format": 0,
    "log_verbose": True,
    "log_callback": "print",
    "metrics": 1,
    "gpu_metrics": None,
    "cpu_metrics": "on",
    "metrics_interval": 0.5,
    "backend_directory": 3,
    "repo_agent_directory": b"/tmp",
    "model_load_device_limits": {0: 0.5},
    "backend_configuration": {"identity": "fast"},
    "host_policies": {"mine": ["numa-node"]},
    "metrics_configuration": {1: {}},
    "log_to_logging": 1,
    "trace": 1,
    "output_memory_allocator": "arena",
    "python_models": True,
}


def test_every_field_has_a_wrong_type() -> None:
    assert list(WRONG_TYPES) == [field.name for field in dataclasses.fields(ti.Options)]


@pytest.mark.parametrize("field", WRONG_TYPES)
def test_a_wrong_type_is_a_type_error_at_the_start(field: str) -> None:
    server = ti.Server(**{field: WRONG_TYPES[field]})
    with pytest.raises(TypeError, match=field):
        server.start()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model_repository", [3]),
        ("startup_models", [3]),
        ("cuda_memory_pool_sizes", {"0": 1}),
        ("cuda_memory_pool_sizes", {0: "1"}),
        ("cache_config", {3: {}}),
        ("cache_config", {"local": {3: "1"}}),
        ("cache_config", {"local": {"size": None}}),
        ("backend_configuration", {"identity": {3: "green"}}),
        ("backend_configuration", {"identity": {"colour": None}}),
        ("host_policies", {"mine": {"numa-node": b"0"}}),
        ("metrics_configuration", {"": {"summary_latencies": None}}),
        ("model_load_device_limits", ["gpu"]),
    ],
)
def test_a_wrong_type_within_a_field_is_a_type_error_at_the_start(field: str, value: Any) -> None:
    with pytest.raises(TypeError, match=field):
        ti.Server(**{field: value}).start()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_limiter_resources", [ti.RateLimiterResource("disk", "four")]),  # type: ignore[arg-type]
        ("rate_limiter_resources", [ti.RateLimiterResource(3, 4)]),  # type: ignore[arg-type]
        ("model_load_device_limits", [ti.ModelLoadDeviceLimit("GPU", 0, 0.5)]),  # type: ignore[arg-type]
        ("model_load_device_limits", [ti.ModelLoadDeviceLimit(ti.InstanceGroupKind.GPU, "0", 0.5)]),  # type: ignore[arg-type]
    ],
)
@pytest.mark.usefixtures("runtime")
def test_a_wrong_type_within_an_object_is_a_type_error_at_the_start(field: str, value: Any) -> None:
    with pytest.raises(TypeError, match=field):
        ti.Server(**{field: value}).start()


@pytest.mark.parametrize(
    "field",
    [
        "pinned_memory_pool_size",
        "exit_timeout",
        "buffer_manager_thread_count",
        "model_load_thread_count",
        "model_load_retry_count",
        "log_verbose",
        "metrics_interval",
    ],
)
@pytest.mark.parametrize("value", [-1, 1 << 64])
@pytest.mark.usefixtures("runtime")
def test_a_number_out_of_range_is_named(field: str, value: int) -> None:
    with pytest.raises((ValueError, OverflowError), match=field):
        ti.Server(**{field: value}).start()


@pytest.mark.parametrize("sizes", [{0: -1}, {-1: 1}, {0: 1 << 64}])
@pytest.mark.usefixtures("runtime")
def test_a_cuda_pool_out_of_range_is_named(sizes: dict[int, int]) -> None:
    with pytest.raises((ValueError, OverflowError), match="cuda_memory_pool_sizes"):
        ti.Server(cuda_memory_pool_sizes=sizes).start()


def test_no_repository_is_an_empty_list_not_none() -> None:
    with pytest.raises(ti.InvalidArgumentError, match="model_repository"):
        ti.Server(model_repository=None).start()


@pytest.mark.parametrize("form", [str, Path, lambda path: [path]])
def test_a_folder_that_does_not_exist_is_named(tmp_path: Path, form: Callable[[Path], Any]) -> None:
    with pytest.raises(ti.InternalError, match=r"model_repository.*nowhere"):
        ti.Server(model_repository=form(tmp_path / "nowhere")).start()


def test_a_repository_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ti.InternalError, match=r"model_repository.*file"):
        ti.Server(model_repository=tmp_path / "file").start()


@pytest.mark.parametrize("field", ["backend_directory", "cache_directory", "repo_agent_directory"])
@pytest.mark.usefixtures("runtime")
def test_a_directory_that_does_not_exist_is_named(tmp_path: Path, field: str) -> None:
    with pytest.raises(ti.TritonError, match=rf"{field}.*nowhere"):
        ti.Server(**{field: tmp_path / "nowhere"}).start()


@pytest.mark.usefixtures("runtime")
def test_a_log_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises((ti.TritonError, OSError), match="nowhere"):
        ti.Server(log_file=tmp_path / "nowhere" / "log", log_info=True).start()


def test_a_startup_model_that_does_not_exist(start_identity: StartServer, repository: Path) -> None:
    write_identity(repository)
    with pytest.raises(ti.TritonError):
        start_identity(startup_models=["nowhere"])


def test_there_is_one_log(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"log_callback.*log_file"):
        ti.Server(log_callback=print, log_file=tmp_path / "log").start()


def test_an_option_that_does_not_exist_is_named() -> None:
    with pytest.raises(TypeError, match="colour"):
        ti.Server(colour="green")
    with pytest.raises(TypeError, match="colour"):
        ti.Options(colour="green")  # type: ignore[call-arg]


def test_options_and_fields_exclude_each_other() -> None:
    with pytest.raises(TypeError, match="server_id"):
        ti.Server(ti.Options(), server_id="anna")


def test_options_must_be_options() -> None:
    with pytest.raises(TypeError, match="Options"):
        ti.Server("/models")  # type: ignore[arg-type]


@pytest.mark.usefixtures("runtime")
def test_after_a_refused_start_the_options_can_be_mended(tmp_path: Path) -> None:
    server = ti.Server(model_repository=tmp_path / "nowhere")
    with pytest.raises(ti.InternalError):
        server.start()
    server.options.model_repository = []
    with server:
        assert server.live()
