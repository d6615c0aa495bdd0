"""Triton's schedulers, queues, sequences, ensembles and reloads, by plain arguments."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import numpy as np
import pytest
from conftest import SET_INT_PARAMETER, StartServer, answer, shown
from helpers_functions import ROW, Array, X, Y, add, array

import triton_inprocess as ti


class Gate:
    """A function that remembers what it was called with, and waits to be let go on."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.entered = threading.Semaphore(0)
        self.go_on = threading.Event()

    def __call__(self, x: Array) -> Array:
        self.calls.append(x.reshape(-1).tolist())
        self.entered.release()
        assert self.go_on.wait(10)
        return x


# -- dynamic batching --------------------------------------------------------------------------------------------------


def test_every_field_of_batching_reaches_triton(server: ti.Server) -> None:
    policy = ti.QueuePolicy(timeout_us=5, timeout_action="delay", allow_timeout_override=True, max_size=7)
    batching = ti.Batching(
        max_queue_delay_us=3,
        preferred_sizes=[2, 4],
        priority_levels=3,
        default_priority=2,
        queue_policy=policy,
        queue_policies={1: ti.QueuePolicy(max_size=9)},
    )
    config = add(server, lambda x: x, max_batch_size=4, batching=batching).config()["dynamic_batching"]
    default = config["default_queue_policy"]
    assert [int(size) for size in config["preferred_batch_size"]] == [2, 4]
    assert int(config["max_queue_delay_microseconds"]) == 3
    assert (int(config["priority_levels"]), int(config["default_priority_level"])) == (3, 2)
    assert (default["timeout_action"], int(default["default_timeout_microseconds"])) == ("DELAY", 5)
    assert (default["allow_timeout_override"], int(default["max_queue_size"])) == (True, 7)
    assert int(config["priority_queue_policy"]["1"]["max_queue_size"]) == 9


@pytest.mark.needs(SET_INT_PARAMETER)  # an older Triton lines up behind the instance whatever comes, in that order
def test_a_high_priority_goes_first(server: ti.Server) -> None:
    gate = Gate()
    model = add(server, gate, **ROW, max_batch_size=1, batching=ti.Batching(priority_levels=2))
    first = model.infer({"x": array(0)[None]})
    assert gate.entered.acquire(timeout=10)
    others = [model.infer({"x": array(value)[None]}, priority=level) for value, level in ((1, 2), (2, 0), (3, 1))]
    gate.go_on.set()
    for responses in (first, *others):
        responses.result()
    assert gate.calls == [[0], [3], [1], [2]]


@pytest.mark.needs(SET_INT_PARAMETER)  # likewise
def test_a_full_queue_refuses(server: ti.Server) -> None:
    gate = Gate()
    batching = ti.Batching(queue_policy=ti.QueuePolicy(max_size=1))
    model = add(server, gate, **ROW, max_batch_size=1, batching=batching)
    running = model.infer({"x": array(0)[None]})
    assert gate.entered.acquire(timeout=10)
    waiting = model.infer({"x": array(1)[None]})
    with pytest.raises(ti.UnavailableError):
        model.infer({"x": array(2)[None]}).result()
    gate.go_on.set()
    running.result()
    waiting.result()


def test_a_request_that_waits_too_long_is_refused(server: ti.Server) -> None:
    gate = Gate()
    batching = ti.Batching(queue_policy=ti.QueuePolicy(timeout_us=60_000_000, allow_timeout_override=True))
    model = add(server, gate, **ROW, max_batch_size=1, batching=batching)
    running = model.infer({"x": array(0)[None]})
    assert gate.entered.acquire(timeout=10)
    late = model.infer({"x": array(1)[None]}, timeout=1)
    gate.go_on.set()
    running.result()
    with pytest.raises(ti.UnavailableError):
        late.result()


@pytest.mark.parametrize(
    ("make", "error", "word"),
    [
        (lambda: ti.QueuePolicy(timeout_us=-1), ValueError, "timeout_us"),
        (lambda: ti.QueuePolicy(timeout_action="drop"), ValueError, "timeout_action"),  # type: ignore[arg-type]
        (lambda: ti.QueuePolicy(max_size=1.5), TypeError, "max_size"),  # type: ignore[arg-type]
        (lambda: ti.QueuePolicy(allow_timeout_override=1), TypeError, "allow_timeout_override"),  # type: ignore[arg-type]
        (lambda: ti.Batching(preserve_ordering=1), TypeError, "preserve_ordering"),  # type: ignore[arg-type]
        (lambda: ti.Batching(preserve_ordering=True, priority_levels=2), ValueError, "preserve_ordering"),
        (lambda: ti.Batching(default_priority=1), ValueError, "default_priority"),
        (lambda: ti.Batching(priority_levels=2, default_priority=3), ValueError, "default_priority"),
        (lambda: ti.Batching(queue_policy=3), TypeError, "queue_policy"),  # type: ignore[arg-type]
        (lambda: ti.Batching(queue_policies={1: ti.QueuePolicy()}), ValueError, "queue_policies"),
        (lambda: ti.Batching(priority_levels=1, queue_policies={2: ti.QueuePolicy()}), ValueError, "queue_policies"),
        (lambda: ti.SequenceBatching("newest"), ValueError, "strategy"),  # type: ignore[arg-type]
        (lambda: ti.SequenceBatching(max_idle_us=0), ValueError, "max_idle_us"),
        (lambda: ti.SequenceBatching(preferred_sizes=[1]), ValueError, "preferred_sizes.*oldest"),
        (lambda: ti.RateLimiter({"a": 0}), ValueError, "resources"),
        (lambda: ti.RateLimiter(["a"]), TypeError, "resources"),  # type: ignore[arg-type]
        (lambda: ti.RateLimiter({"a": 1}, global_resources=["b"]), ValueError, "global_resources"),
        (lambda: ti.RateLimiter({"a": 1}, priority=-1), ValueError, "priority"),
        (lambda: ti.WarmUp([1]), TypeError, "inputs"),  # type: ignore[arg-type]
        (lambda: ti.WarmUp({}, count=0), ValueError, "count"),
        (lambda: ti.WarmUp({}, batch_size=0), ValueError, "batch_size"),
        (lambda: ti.EnsembleStep("a", {}, {"y": "y"}), ValueError, "inputs"),
        (lambda: ti.EnsembleStep("a", {"x": "x"}, {}), ValueError, "outputs"),
        (lambda: ti.EnsembleStep("a", {"x": 3}, {"y": "y"}), TypeError, "inputs"),  # type: ignore[dict-item]
        (lambda: ti.EnsembleStep(None, {"x": "x"}, {"y": "y"}), TypeError, "model"),  # type: ignore[arg-type]
    ],
    ids=range(25),
)
def test_a_wrong_field_is_named(make: Callable[[], object], error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        make()


# -- sequences ---------------------------------------------------------------------------------------------------------


def add_up(x: Array, *, context: ti.BatchContext) -> Array:
    """The sum of what a sequence has sent so far."""
    sums = []
    for row, request in zip(x, context.requests, strict=True):
        request.state["sum"] = request.state.get("sum", 0) + row
        sums.append(request.state["sum"])
    return np.stack(sums)


def add_up_requests(requests: list[ti.FunctionRequest]) -> list[Array]:
    for each in requests:
        each.state["sum"] = each.state.get("sum", 0) + each.inputs["x"]
    return [each.state["sum"] for each in requests]


@pytest.mark.parametrize("strategy", ["direct", "oldest"])
@pytest.mark.parametrize("requests", [False, True])
def test_a_sequence_has_a_state(server: ti.Server, strategy: Any, requests: bool) -> None:
    model = add(
        server,
        add_up_requests if requests else add_up,
        **ROW,
        max_batch_size=4,
        requests=requests,
        batching=ti.SequenceBatching(strategy, max_idle_us=60_000_000),
    )
    received: dict[int, list[float]] = {1: [], 10: []}
    for _ in range(2):  # and none is left to the next sequence of the same name
        received = {1: [], 10: []}
        with model.sequence(7) as ones, model.sequence("text") as tens:
            for step in range(3):
                for factor, sequence in ((1, ones), (10, tens)):
                    responses = sequence.infer({"x": array(factor)[None]}, end=step == 2)
                    received[factor].append(responses.result().outputs["y"].numpy().item())
        assert received == {1: [1, 2, 3], 10: [10, 20, 30]}


def test_a_request_knows_where_in_its_sequence_it_is(server: ti.Server) -> None:
    seen: list[tuple[Any, bool, bool]] = []

    def function(x: Array, *, context: ti.RequestContext) -> Array:
        seen.append((context.correlation_id, context.sequence_start, context.sequence_end))
        return x

    model = add(server, function, batching=ti.SequenceBatching(max_idle_us=60_000_000))
    with model.sequence(5) as sequence:
        for step in range(3):
            sequence.infer({"x": array(1)}, end=step == 2).result()
    assert seen == [(5, True, False), (5, False, False), (5, False, True)]


def test_sequences_that_meet_in_one_batch_keep_apart(server: ti.Server) -> None:
    model = add(
        server,
        add_up,
        **ROW,
        max_batch_size=4,
        batching=ti.SequenceBatching(
            "oldest", max_idle_us=60_000_000, preferred_sizes=[2], max_queue_delay_us=5_000_000
        ),
    )
    with model.sequence() as first, model.sequence() as second:
        for step in range(1, 4):
            both = [each.infer({"x": array(value)[None]}, end=step == 3) for each, value in ((first, 1), (second, 5))]
            assert [each.result().outputs["y"].numpy().item() for each in both] == [step, 5 * step]
    assert model.statistics()["model_stats"][0]["batch_stats"][0]["batch_size"] in (2, "2")


def test_an_idle_sequence_is_forgotten() -> None:
    from triton_inprocess._sequence_states import SequenceStates

    class Request:
        sequence_start = sequence_end = False

        def __init__(self, correlation_id: int) -> None:
            self.correlation_id = correlation_id
            self.state: dict[str, Any] = {}

    states = SequenceStates(0)
    states._max_idle = -1  # whatever was used before now is too old
    for number in range(5):
        states.attach(Request(number))  # type: ignore[arg-type]
        time.sleep(0.001)
    assert len(states) == 1


# -- warm-up, limits, cache, configuration -----------------------------------------------------------------------------


def test_a_warm_up_comes_before_the_callers(server: ti.Server) -> None:
    calls: list[Any] = []

    def function(x: Array, text: Array) -> Array:
        calls.append((x.tolist(), text.tolist()))
        return x

    add(
        server,
        function,
        inputs={"x": (np.float32, (-1,)), "text": (str, (1,))},
        max_batch_size=4,
        warm_up=[ti.WarmUp({"x": [1, 2], "text": ["ä"]}, batch_size=2), ti.WarmUp({"x": array(), "text": ["b"]})],
    )
    assert calls == [
        ([[1, 2], [1, 2]], [["ä".encode()], ["ä".encode()]]),
        ([[]], [[b"b"]]),
    ]


@pytest.mark.parametrize(
    ("warm_up", "error", "word"),
    [
        (ti.WarmUp({"z": [1]}), ValueError, r"warm_up\[0\].*'z'.*'x'"),
        (ti.WarmUp({"x": [[1]]}), ValueError, r"'x' of warm_up\[0\].*shape"),
        (ti.WarmUp({"x": ["a"]}), TypeError, r"'x' of warm_up\[0\]"),
        (ti.WarmUp({"x": [1]}, batch_size=2), ValueError, "batch_size 2"),
        (3, TypeError, "warm_up"),
    ],
    ids=shown,
)
def test_a_wrong_warm_up_is_refused(server: ti.Server, warm_up: Any, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        add(server, lambda x: x, warm_up=[warm_up])
    assert server.models() == {}


def test_a_rate_limiter_lets_one_run_at_a_time(start_server: StartServer) -> None:
    server = start_server(rate_limiter_mode=ti.RateLimitMode.EXEC_COUNT)
    inside = 0
    most = 0
    lock = threading.Lock()

    def function(x: Array) -> Array:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.002)
        with lock:
            inside -= 1
        return x

    limit = ti.RateLimiter({"license": 1}, global_resources=["license"], priority=2)
    models = [add(server, function, name=name, instances=2, rate_limiter=limit) for name in ("a", "b")]
    for each in [model.infer({"x": array(1)}) for _ in range(5) for model in models]:
        each.result()
    assert most == 1
    config = models[0].config()["instance_group"][0]["rate_limiter"]
    assert (config["priority"], config["resources"][0]["name"]) == (2, "license")


def test_equal_requests_are_answered_from_the_cache(start_server: StartServer, runtime: ti.runtime.Runtime) -> None:
    if not any(runtime.cache_directories):
        pytest.skip("the runtime has no cache")
    server = start_server(cache_config={"local": {"size": 1 << 20}})
    calls: list[float] = []

    def function(x: Array) -> Array:
        calls.append(x.item())
        return x + 1

    model = add(server, function, response_cache=True)
    for value in (1, 1, 2, 1):
        assert answer(model, x=array(value)).tolist() == [value + 1]
    assert calls == [1, 2]


def test_config_is_merged_over(server: ti.Server) -> None:
    config = add(
        server,
        lambda x: x,
        max_batch_size=4,
        batching=ti.Batching(max_queue_delay_us=5),
        config={
            "dynamic_batching": {"preserve_ordering": True},
            "parameters": {"quoted": {"string_value": 'a "b" \\ ä\n'}},
            "optimization": {"priority": "PRIORITY_MAX"},
        },
    ).config()
    assert config["dynamic_batching"]["preserve_ordering"] is True
    assert int(config["dynamic_batching"]["max_queue_delay_microseconds"]) == 5
    assert config["parameters"] == {"quoted": {"string_value": 'a "b" \\ ä\n'}}
    assert config["optimization"]["priority"] == "PRIORITY_MAX"


def test_instance_groups_are_tritons(server: ti.Server) -> None:
    class Named:
        def initialize(self, context: ti.InstanceContext) -> None:
            names.append(context.instance)

        def __call__(self, x: Array) -> Array:
            return x

    names: list[str] = []
    groups = [{"name": "fast", "count": 2, "kind": "KIND_CPU"}, {"count": 1, "kind": "KIND_CPU"}]
    add(server, Named, instance_group=groups)
    assert names == ["fast_0", "fast_1", "model_1_0"]


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"config": 3}, TypeError, "config"),
        ({"config": {"max_batch_size": 4}}, ValueError, "'max_batch_size'.*max_batch_size"),
        ({"config": {"backend": "python"}}, ValueError, "'backend'"),
        ({"config": {"a b": 1}}, TypeError, "'a b'"),
        ({"config": {"parameters": {"a": {"string_value": object()}}}}, TypeError, "string_value.*object"),
        ({"rate_limiter": 3}, TypeError, "rate_limiter"),
        ({"instance_group": 3}, TypeError, "instance_group"),
        ({"instance_group": [3]}, TypeError, "instance_group"),
        ({"instance_group": [{}], "instances": 2}, ValueError, "instance_group"),
        ({"response_cache": 1}, TypeError, "response_cache"),
        ({"replace": 1}, TypeError, "replace"),
        ({"batching": ti.SequenceBatching("oldest", preferred_sizes=[3]), "max_batch_size": 2}, ValueError, "3"),
    ],
    ids=shown,
)
def test_what_makes_no_sense_is_refused(
    server: ti.Server, arguments: dict[str, Any], error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        add(server, lambda x: x, **arguments)
    assert server.models() == {}


def test_what_makes_no_sense_to_triton_leaves_nothing(server: ti.Server) -> None:
    with pytest.raises(ti.TritonError):
        add(server, lambda x: x, config={"no_such_field": 1})
    assert answer(add(server, lambda x: x), x=array(1)).tolist() == [1]


# -- versions and replacement ------------------------------------------------------------------------------------------


def test_a_model_may_have_several_versions(server: ti.Server) -> None:
    for version in (1, 5, 3):
        model = add(server, lambda x, version=version: x * version, version=version)
    assert answer(model, x=array(1)).tolist() == [5]
    for version in (1, 3, 5):
        assert answer(server.model("model", version), x=array(1)).tolist() == [version]
    server.remove_model("model")
    assert not any(model.ready() for model in server.models().values())


def test_versions_are_declared_alike(server: ti.Server) -> None:
    model = add(server, lambda x: x)
    with pytest.raises(ValueError, match=r"version 2 of model 'model'.*instance_group would differ"):
        add(server, lambda x: x, version=2, instances=2)
    assert model.metadata()["versions"] == ["1"]
    assert answer(model, x=array(1)).tolist() == [1]


def test_a_function_replaces_another_under_load(server: ti.Server) -> None:
    model = add(server, lambda x: x * 0, instances=2)
    over = threading.Event()

    def ask() -> list[float]:
        received = []
        while not over.is_set():
            received.append(answer(model, x=array(1)).item())
        return received

    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(ask) for _ in range(2)]
        try:
            for factor in range(1, 6):
                add(server, lambda x, factor=factor: x * factor, instances=2, replace=True)
                assert answer(model, x=array(1)).tolist() == [factor]  # the new one is really in use
        finally:
            over.set()
        for each in asking:
            assert set(each.result()) <= set(range(6))  # none was lost: `answer` would have raised


def test_a_replacement_may_be_declared_otherwise(server: ti.Server) -> None:
    model = add(server, lambda x: x)
    add(server, lambda x: x[:1] > 0, outputs={"positive": (bool, (1,))}, replace=True)
    assert answer(model, "positive", x=array(1)).tolist() == [True]


def test_a_request_in_flight_is_answered_by_the_function_that_has_it(server: ti.Server) -> None:
    gate = Gate()
    model = add(server, gate)
    old = model.infer({"x": array(1)})
    assert gate.entered.acquire(timeout=10)
    add(server, lambda x: x * 2, replace=True)
    assert answer(model, x=array(1)).tolist() == [2]
    gate.go_on.set()
    assert old.result().outputs["y"].numpy().tolist() == [1]


def test_what_is_replaced_is_finalized_and_let_go(server: ti.Server) -> None:
    finalized: list[str] = []

    class Old:
        def __call__(self, x: Array) -> Array:
            return x

        def finalize(self) -> None:
            finalized.append("old")

    add(server, Old)
    add(server, lambda x: x, replace=True)
    assert finalized == ["old"]


class Broken:
    def initialize(self) -> None:
        raise RuntimeError("no weights")

    def __call__(self, x: Array) -> Array:
        return x


def test_a_replacement_that_fails_changes_nothing(start_server: StartServer) -> None:
    server = start_server()
    model = add(server, lambda x: x + 1)
    with pytest.raises(ti.InternalError, match="no weights"):
        add(server, Broken, replace=True)
    assert answer(model, x=array(1)).tolist() == [2]
    add(server, lambda x: x + 2, replace=True)
    assert answer(model, x=array(1)).tolist() == [3]
    begun = time.monotonic()
    server.stop()
    assert time.monotonic() - begun < 5  # Triton does not wait for what has failed


def test_without_replace_a_name_is_taken(server: ti.Server) -> None:
    add(server, lambda x: x)
    with pytest.raises(ti.AlreadyExistsError):
        add(server, lambda x: x)


def test_nothing_is_there_to_be_replaced_yet(server: ti.Server) -> None:
    assert answer(add(server, lambda x: x + 1, replace=True), x=array(1)).tolist() == [2]


# -- ensembles ---------------------------------------------------------------------------------------------------------


def test_an_ensemble_hands_tensors_on(server: ti.Server) -> None:
    add(server, lambda x: x * 2, name="twice")
    add(server, lambda x: x + 1, name="next")
    model = server.add_ensemble(
        "both",
        [
            ti.EnsembleStep("twice", inputs={"x": "in"}, outputs={"y": "middle"}),
            ti.EnsembleStep("next", inputs={"x": "middle"}, outputs={"y": "out"}),
        ],
    )
    assert answer(model, "out", **{"in": array(1, 2)}).tolist() == [3, 5]
    server.remove_model("both")
    assert not server.model("both").ready()
    assert answer(server.model("twice"), x=array(1)).tolist() == [2]


def test_an_ensemble_batches_where_every_step_does(server: ti.Server) -> None:
    add(server, lambda x: x * 2, name="twice", max_batch_size=8, **ROW)
    add(server, lambda x: x + 1, name="next", max_batch_size=4, **ROW)
    add(server, lambda x: x.sum(keepdims=True), name="sum", inputs={"x": (np.float32, (-1, 1))}, outputs=Y)
    steps = [ti.EnsembleStep("twice", {"x": "a"}, {"y": "b"}), ti.EnsembleStep("next", {"x": "b"}, {"y": "c"})]
    both = server.add_ensemble("both", steps)
    assert both.config()["max_batch_size"] == 4
    assert answer(both, "c", a=np.ones((3, 1), np.float32)).tolist() == [[3], [3], [3]]


def test_the_error_of_a_step_is_the_answer(server: ti.Server) -> None:
    def fail(x: Array) -> Array:
        raise ValueError("no coffee")

    add(server, fail, name="fails")
    model = server.add_ensemble("alone", [ti.EnsembleStep("fails", {"x": "x"}, {"y": "y"})])
    with pytest.raises(ti.TritonError, match="no coffee"):
        answer(model, x=array(1))


def _step(model: str = "twice", **names: Any) -> ti.EnsembleStep:
    return ti.EnsembleStep(model, **{"inputs": {"x": "a"}, "outputs": {"y": "b"}, **names})


@pytest.mark.parametrize(
    ("name", "steps", "error", "word"),
    [
        ("both", 3, TypeError, "steps"),
        ("both", ["twice"], TypeError, "steps"),
        ("both", [], ValueError, "steps"),
        (3, [_step()], TypeError, "name"),
        ("", [_step()], ValueError, "name"),
        ("twice", [_step()], ti.AlreadyExistsError, "twice"),
        ("both", [_step("nowhere")], ti.TritonError, "nowhere"),
        ("both", [_step(inputs={"z": "a"})], ValueError, "'twice' has no input 'z'.*'x'"),
        ("both", [_step(outputs={"z": "b"})], ValueError, "'twice' has no output 'z'.*'y'"),
        ("both", [_step(), _step()], ValueError, "'b' more than once"),
        ("both", [_step(), _step(inputs={"x": "b"}, outputs={"y": "a"})], ValueError, "input"),
    ],
    ids=range(11),
)
def test_a_wrong_ensemble_is_refused(
    server: ti.Server, name: Any, steps: Any, error: type[Exception], word: str
) -> None:
    add(server, lambda x: x * 2, name="twice")
    with pytest.raises(error, match=word):
        server.add_ensemble(name, steps)
    assert [each for each in server.models() if isinstance(each, str)] == ["twice"]


# -- the decorator -----------------------------------------------------------------------------------------------------


def test_a_decorator_serves_and_leaves_the_function(server: ti.Server) -> None:
    @server.model(inputs=X, outputs=Y)
    def twice(x: Array) -> Array:
        return x * 2

    @server.model(name="other", inputs=X, outputs=Y, version=2)
    def thrice(x: Array) -> Array:
        return x * 3

    @server.model
    def annotated(x: Annotated[Array, ti.Spec("FP32", [-1])]) -> Annotated[Array, ti.Spec("FP32", [-1], name="y")]:
        return x * 4

    assert twice(array(1)).tolist() == [2]
    assert answer(server.model("twice"), x=array(1)).tolist() == [2]
    assert answer(server.model("other", 2), x=array(1)).tolist() == [3]
    assert answer(server.model("annotated"), x=array(1)).tolist() == [4]


def test_a_decorator_needs_a_name(server: ti.Server) -> None:
    with pytest.raises(TypeError, match="name"):
        server.model(inputs=X, outputs=Y)(Gate())
    with pytest.raises(TypeError, match="name"):
        server.model(3)  # type: ignore[call-overload]
