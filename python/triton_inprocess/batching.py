"""How requests that arrive together are joined."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._checks import check_bool, check_integer
from .queue_policy import QueuePolicy

__all__ = ["MAXIMUM_BATCH", "Batching", "check_sizes"]

MAXIMUM_BATCH = 2**31 - 1


@dataclass(frozen=True)
class Batching:
    """Triton's dynamic batcher, which joins requests that arrive together.

    Attributes:
        max_queue_delay_us: Microseconds that a request may wait for others.
        preferred_sizes: Batch sizes that are worth waiting for; by default the largest that can be had.
        preserve_ordering: Whether responses come in the order of the requests, with several instances, too.
        priority_levels: How many priorities requests may have: 1 goes first; 0 for none.
        default_priority: That of requests which say none; by default the lowest.
        queue_policy: How long and how many requests wait; any time, and any number, by default.
        queue_policies: The same by priority, where it differs.
    """

    max_queue_delay_us: int = 0
    preferred_sizes: Sequence[int] = field(default=())
    preserve_ordering: bool = False
    priority_levels: int = 0
    default_priority: int | None = None
    queue_policy: QueuePolicy | None = None
    queue_policies: Mapping[int, QueuePolicy] = field(default_factory=dict, hash=False)  # a dict has no hash

    def __post_init__(self) -> None:
        """Check the fields; raises TypeError or ValueError naming the one that is wrong."""
        check_integer("max_queue_delay_us", self.max_queue_delay_us, 0, 2**63 - 1)
        check_sizes(self.preferred_sizes)
        check_bool("preserve_ordering", self.preserve_ordering)
        check_integer("priority_levels", self.priority_levels, 0, 2**63 - 1)
        if self.preserve_ordering and self.priority_levels > 1:
            raise ValueError("preserve_ordering and priority_levels of more than 1 contradict each other")
        if self.default_priority is not None:
            if self.priority_levels == 0:
                raise ValueError("default_priority needs priority_levels of at least 1")
            check_integer("default_priority", self.default_priority, 1, self.priority_levels)
        if self.queue_policy is not None:
            _check_policy("queue_policy", self.queue_policy)
        if not isinstance(self.queue_policies, Mapping):
            raise TypeError(f"queue_policies must be a dict, not {type(self.queue_policies).__name__}")
        for level, policy in self.queue_policies.items():
            check_integer("each key of queue_policies", level, 1, max(self.priority_levels, 1))
            _check_policy(f"queue_policies[{level}]", policy)
        if self.queue_policies and self.priority_levels == 0:
            raise ValueError("queue_policies need priority_levels of at least 1")

    def config(self) -> dict[str, Any]:
        """As Triton's configuration has it (ModelDynamicBatching)."""
        config: dict[str, Any] = {"max_queue_delay_microseconds": self.max_queue_delay_us}
        if self.preferred_sizes:
            config["preferred_batch_size"] = list(self.preferred_sizes)
        if self.preserve_ordering:
            config["preserve_ordering"] = True
        if self.priority_levels:
            config["priority_levels"] = self.priority_levels
            config["default_priority_level"] = self.default_priority or self.priority_levels
        if self.queue_policy is not None:
            config["default_queue_policy"] = self.queue_policy.config()
        if self.queue_policies:
            config["priority_queue_policy"] = {
                level: policy.config() for level, policy in sorted(self.queue_policies.items())
            }
        return config


def check_sizes(sizes: object) -> None:
    """Raises TypeError or ValueError for `preferred_sizes` that are none."""
    if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
        raise TypeError(f"preferred_sizes must be a sequence of ints, not {type(sizes).__name__}")
    for size in sizes:
        check_integer("each of preferred_sizes", size, 1, MAXIMUM_BATCH)


def _check_policy(argument: str, policy: object) -> None:
    if not isinstance(policy, QueuePolicy):
        raise TypeError(f"{argument} must be a QueuePolicy, not {type(policy).__name__}")
