"""How long and how many requests wait for a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ._checks import check_bool, check_integer

__all__ = ["QueuePolicy"]


@dataclass(frozen=True)
class QueuePolicy:
    """Triton's policy for a queue of requests.

    Attributes:
        timeout_us: Microseconds that a request may wait; 0 for any time.
        timeout_action: What becomes of one that has waited longer: "reject" answers with UnavailableError, "delay"
            executes it after those that have not.
        allow_timeout_override: Whether a request's own `timeout` counts, where it is shorter.
        max_size: How many requests may wait; one more is answered with UnavailableError. 0 for any number.
    """

    timeout_us: int = 0
    timeout_action: Literal["reject", "delay"] = "reject"
    allow_timeout_override: bool = False
    max_size: int = 0

    def __post_init__(self) -> None:
        """Check the fields; raises TypeError or ValueError naming the one that is wrong."""
        check_integer("timeout_us", self.timeout_us, 0, 2**63 - 1)
        if self.timeout_action not in ("reject", "delay"):
            raise ValueError(f'timeout_action must be "reject" or "delay", not {self.timeout_action!r}')
        check_bool("allow_timeout_override", self.allow_timeout_override)
        check_integer("max_size", self.max_size, 0, 2**32 - 1)

    def config(self) -> dict[str, Any]:
        """As Triton's configuration has it (ModelQueuePolicy)."""
        return {
            "timeout_action": self.timeout_action.upper(),
            "default_timeout_microseconds": self.timeout_us,
            "allow_timeout_override": self.allow_timeout_override,
            "max_queue_size": self.max_size,
        }
