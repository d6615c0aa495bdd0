"""What happened to a request inside Triton, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from . import _native
from ._native import InferenceTraceActivity
from .errors import UnavailableError

if TYPE_CHECKING:
    from ._native import DataType, MemoryType, Tensor
    from .errors import TritonError

__all__ = ["Trace", "TraceActivity", "TraceNode", "TraceTensor"]


@dataclass(frozen=True)
class TraceActivity:
    """A moment of a request.

    Attributes:
        activity: What happened.
        timestamp_ns: When, in nanoseconds of the clock that `time.monotonic_ns` reads.
    """

    activity: InferenceTraceActivity
    timestamp_ns: int


@dataclass(frozen=True, eq=False)
class TraceTensor:
    """A tensor of a request.

    Attributes:
        activity: Where it was seen: TENSOR_QUEUE_INPUT, TENSOR_BACKEND_INPUT or TENSOR_BACKEND_OUTPUT.
        name: Its name.
        data_type: Its type.
        shape: Its shape.
        byte_size: Its size in bytes.
        memory_type: Where it was.
        memory_type_id: On which device.
        tensor: A copy; None where there is none: of a GPU's memory, and of memory that is not as large as the shape.
    """

    activity: InferenceTraceActivity
    name: str
    data_type: DataType
    shape: tuple[int, ...]
    byte_size: int
    memory_type: MemoryType
    memory_type_id: int
    tensor: Tensor | None


@dataclass(frozen=True, eq=False)
class TraceNode:
    """One request of a tree: the one that was sent, a step of an ensemble, or what a model has asked of another.

    Attributes:
        id: A number of its own (TRITONSERVER_InferenceTraceId).
        parent_id: That of the request that led to it; 0 for the root.
        model_name: The model.
        model_version: Its version; -1 where that was for Triton to choose, and it refused the request before.
        request_id: The request's id; None for a child with a runtime before C API 1.19.
        activities: What happened, in the order of time.
        tensors: Its tensors, where they were asked for.
        error: What the submission raised; None when the request was taken, whatever came of it.
        children: The requests that it led to.
    """

    id: int
    parent_id: int
    model_name: str
    model_version: int
    request_id: str | None
    activities: tuple[TraceActivity, ...]
    tensors: tuple[TraceTensor, ...]
    error: TritonError | None
    children: tuple[TraceNode, ...]

    def timestamp_ns(self, activity: InferenceTraceActivity) -> int:
        """When an activity first happened. Raises LookupError when it did not."""
        if not isinstance(activity, InferenceTraceActivity):
            raise TypeError(f"activity must be an InferenceTraceActivity, not {type(activity).__name__}")
        for each in self.activities:
            if each.activity is activity:
                return each.timestamp_ns
        raise LookupError(f"the trace of {self.model_name!r} has no {activity.name}")

    def duration_ns(
        self,
        start: InferenceTraceActivity = InferenceTraceActivity.REQUEST_START,
        end: InferenceTraceActivity = InferenceTraceActivity.REQUEST_END,
    ) -> int:
        """Nanoseconds from one activity to another. Raises LookupError when one of them did not happen."""
        return self.timestamp_ns(end) - self.timestamp_ns(start)


class Trace:
    """Collects what Triton tells of one request, and of those that it leads to (TRITONSERVER_InferenceTrace).

    ::

        trace = Trace()
        (response,) = model.infer(inputs, trace=trace)
        trace.wait()
        print(trace.root.duration_ns(), [step.model_name for step in trace.root.children])

    A trace is complete a moment after the last response, when Triton has let go of it: `wait` waits for that. It costs
    no Python while the request runs, and it can be read at any time, from any thread.
    """

    __slots__ = ("__weakref__", "_complete", "_record")

    def __init__(self, tensors: bool = False) -> None:
        """A trace for one request, with or without copies of its tensors.

        Raises TypeError when `tensors` is no bool, and NotFoundError where there is no Triton runtime.
        """
        if not isinstance(tensors, bool):
            raise TypeError(f"tensors must be a bool, not {type(tensors).__name__}")
        self._record = _native.TraceRecord(tensors)
        self._complete: TraceNode | None = None

    @classmethod
    def _of(cls, record: _native.TraceRecord) -> Trace:
        trace = cls.__new__(cls)
        trace._record = record
        trace._complete = None
        return trace

    @property
    def done(self) -> bool:
        """Whether it is complete: Triton tells nothing more."""
        return self._record.done

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is complete, at most `timeout` seconds; returns whether it is.

        Ctrl-C is answered meanwhile. In an event loop use `asyncio.to_thread`. Raises UnavailableError when it was not
        sent yet, and TypeError or ValueError for a timeout that is no number or negative.
        """
        if timeout is not None:
            if not isinstance(timeout, (int, float)) or isinstance(timeout, bool):
                raise TypeError(f"timeout must be a number of seconds or None, not {type(timeout).__name__}")
            if not timeout >= 0:
                raise ValueError(f"timeout must not be negative, but {timeout}")
        self._require_sent(self._record.snapshot()[0])
        return self._record.wait(timeout)

    @property
    def context(self) -> object:
        """What `Tracing.context` returned when the request was sent; None without that."""
        return self._record.context

    @property
    def root(self) -> TraceNode:
        """The request and what it led to, as far as it was told.

        Raises UnavailableError when the trace was not sent with a request yet.
        """
        if self._complete is not None:
            return self._complete
        root_id, done, nodes = self._record.snapshot()
        self._require_sent(root_id)
        root = _tree(root_id, nodes)
        if done:
            self._complete = root
        return root

    @property
    def error(self) -> TritonError | None:
        """What the submission raised; None when the request was taken."""
        return self.root.error

    def child(self) -> Trace:
        """A trace for a request that the traced one leads to (TRITONSERVER_InferenceTraceSpawnChildTrace).

        It is for a model's function that asks another model, and appears among the children of `root`. The traces are
        complete together, when this one is released and every child is released or dropped unsent.

        Raises UnavailableError when the request of this trace is not in flight, and UnsupportedError before C API 1.24.
        """
        return Trace._of(self._record.spawn_child())

    def __reduce__(self) -> NoReturn:
        """A trace is one of a kind."""
        raise TypeError("a Trace cannot be copied or pickled")

    def __repr__(self) -> str:
        """What it is of."""
        root_id, done, nodes = self._record.snapshot()
        names = [name for id_, _, name, *_ in nodes if id_ == root_id]
        state = "complete" if done else "in flight" if names else "not sent"
        return f"Trace({names[0]!r}, {state})" if names else f"Trace({state})"

    @staticmethod
    def _require_sent(root_id: int) -> None:
        if root_id == 0:
            raise UnavailableError("the trace was not sent with a request yet")


if TYPE_CHECKING:
    _ToldNode = tuple[
        int,
        int,
        str,
        int,
        str | None,
        list[tuple[InferenceTraceActivity, int]],
        list[tuple[InferenceTraceActivity, str, DataType, tuple[int, ...], int, MemoryType, int, Tensor | None]],
        TritonError | None,
    ]


def _tree(root_id: int, nodes: list[_ToldNode]) -> TraceNode:
    by_parent: dict[int, list[_ToldNode]] = {}
    for node in nodes:
        by_parent.setdefault(node[1], []).append(node)
    # The ids ascend from parent to child, so that no node leads back to itself.
    return _node(next(node for node in nodes if node[0] == root_id), by_parent)


def _node(told: _ToldNode, by_parent: dict[int, list[_ToldNode]]) -> TraceNode:
    id_, parent_id, model_name, model_version, request_id, activities, tensors, error = told
    ordered = sorted(activities, key=lambda each: each[1])  # models tell of several at once, afterwards
    return TraceNode(
        id=id_,
        parent_id=parent_id,
        model_name=model_name,
        model_version=model_version,
        request_id=request_id,
        activities=tuple(TraceActivity(*each) for each in ordered),
        tensors=tuple(TraceTensor(*each) for each in tensors),
        error=error,
        children=tuple(_node(each, by_parent) for each in sorted(by_parent.get(id_, ())) if each[0] > id_),
    )
