"""Tracing every request of a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trace import Trace

__all__ = ["Tracing"]


@dataclass
class Tracing:
    """How requests are traced that come without a `trace` of their own; for `Options.trace`.

    Attributes:
        callback: Called with each Trace when it is complete, in a thread of its own. What it raises goes to
            sys.unraisablehook. Traces that come faster than they are taken are kept, up to `capacity`, and those beyond
            are dropped and counted in a RuntimeWarning.
        tensors: Whether copies of the tensors are kept.
        rate: Every so many requests one is traced, the first one included.
        capacity: How many traces wait for the callback at most.
        context: Called for each request that is traced, on the thread that sends it, before it is sent; what it returns
            is the trace's `context`. What it raises is raised by `Model.infer`. With it, only requests of `Model` are
            traced, and not those of NVIDIA's front ends.
        headers: For requests that come by our HTTP: called with the headers of the request, it returns what surrounds
            the sending as `with` does.
    """

    callback: Callable[[Trace], object]
    tensors: bool = False
    rate: int = 1
    capacity: int = 16384
    context: Callable[[], object] | None = None
    headers: Callable[[Mapping[str, str]], AbstractContextManager[object]] | None = None
