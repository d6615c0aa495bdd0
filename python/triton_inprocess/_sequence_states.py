"""What a model remembers of the sequences that it is in the middle of."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Any

from .request_context import RequestContext

__all__ = ["SequenceStates"]


class SequenceStates:
    """A dict for each sequence, from its first request to its last, or until it was idle for too long."""

    def __init__(self, max_idle_us: int) -> None:
        """No sequences yet; Triton forgets one that was idle for so many microseconds, and so does this."""
        self._max_idle = max_idle_us / 1e6
        self._states: OrderedDict[int | str, tuple[float, dict[str, Any]]] = OrderedDict()  # the longest idle first
        self._lock = threading.Lock()

    def attach(self, context: RequestContext) -> None:
        """Give a request the state of its sequence."""
        now = time.monotonic()
        with self._lock:
            self._forget_idle(now)
            _, state = self._states.pop(context.correlation_id, (now, {}))
            if context.sequence_start:
                state = {}
            if not context.sequence_end:
                self._states[context.correlation_id] = (now, state)
        context.state = state

    def __len__(self) -> int:
        """How many sequences there are."""
        return len(self._states)

    def _forget_idle(self, now: float) -> None:
        while self._states:
            used, _ = next(iter(self._states.values()))
            if now - used <= self._max_idle + 1:  # Triton looks a little later than it says
                return
            self._states.popitem(last=False)
