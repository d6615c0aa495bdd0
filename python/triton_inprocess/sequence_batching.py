"""How requests that belong together are kept together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ._checks import check_bool, check_integer
from .batching import check_sizes

__all__ = ["SequenceBatching"]


@dataclass(frozen=True)
class SequenceBatching:
    """Triton's sequence batcher: the requests of a sequence go to the function one after the other.

    A function that asks for its `context` finds in `context.state` a dict that lives as long as the sequence.

    Attributes:
        strategy: "direct": a sequence has a place of its own in the batches of one instance, until it ends. "oldest":
            requests of the oldest sequences are batched as they come.
        max_idle_us: Microseconds after which a sequence that sends nothing loses its place and its state.
        max_candidate_sequences: With "oldest", how many sequences an instance works on at once.
        preferred_sizes: With "oldest", batch sizes that are worth waiting for.
        max_queue_delay_us: Microseconds that a request may wait for others.
        preserve_ordering: With "oldest", whether responses come in the order of the requests.
    """

    strategy: Literal["direct", "oldest"] = "direct"
    max_idle_us: int = 1_000_000
    max_candidate_sequences: int = 1024
    preferred_sizes: Sequence[int] = field(default=())
    max_queue_delay_us: int = 0
    preserve_ordering: bool = False

    def __post_init__(self) -> None:
        """Check the fields; raises TypeError or ValueError naming the one that is wrong."""
        if self.strategy not in ("direct", "oldest"):
            raise ValueError(f'strategy must be "direct" or "oldest", not {self.strategy!r}')
        check_integer("max_idle_us", self.max_idle_us, 1, 2**63 - 1)
        check_integer("max_candidate_sequences", self.max_candidate_sequences, 1, 2**31 - 1)
        check_sizes(self.preferred_sizes)
        check_integer("max_queue_delay_us", self.max_queue_delay_us, 0, 2**63 - 1)
        check_bool("preserve_ordering", self.preserve_ordering)
        if self.strategy == "direct" and (self.preferred_sizes or self.preserve_ordering):
            raise ValueError('preferred_sizes and preserve_ordering are for the strategy "oldest"')

    def config(self) -> dict[str, Any]:
        """As Triton's configuration has it (ModelSequenceBatching)."""
        config: dict[str, Any] = {"max_sequence_idle_microseconds": self.max_idle_us}
        if self.strategy == "direct":
            config["direct"] = {"max_queue_delay_microseconds": self.max_queue_delay_us}
            return config
        oldest: dict[str, Any] = {
            "max_candidate_sequences": self.max_candidate_sequences,
            "max_queue_delay_microseconds": self.max_queue_delay_us,
        }
        if self.preferred_sizes:
            oldest["preferred_batch_size"] = list(self.preferred_sizes)
        if self.preserve_ordering:
            oldest["preserve_ordering"] = True
        config["oldest"] = oldest
        return config
