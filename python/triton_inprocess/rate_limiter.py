"""What an instance of a model needs before it may execute."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._checks import check_integer

__all__ = ["RateLimiter"]


@dataclass(frozen=True)
class RateLimiter:
    """The resources that each execution of an instance takes, of a server with `rate_limiter_mode=EXEC_COUNT`.

    Attributes:
        resources: How many of each resource, by name; there are as many as the largest number that an instance needs,
            unless the server's `rate_limiter_resources` say otherwise.
        global_resources: Names of those that all devices share.
        priority: An instance of priority 2 is given half the executions of one of priority 1; 0 counts as 1.
    """

    resources: Mapping[str, int]
    global_resources: Collection[str] = field(default=())
    priority: int = 0

    def __post_init__(self) -> None:
        """Check the fields; raises TypeError or ValueError naming the one that is wrong."""
        if not isinstance(self.resources, Mapping):
            raise TypeError(f"resources must be a dict of name to number, not {type(self.resources).__name__}")
        for name, count in self.resources.items():
            if not isinstance(name, str):
                raise TypeError(f"each name in resources must be a str, not {type(name).__name__}")
            check_integer(f"resources[{name!r}]", count, 1, 2**32 - 1)
        if isinstance(self.global_resources, str):
            raise TypeError("global_resources must be a collection of names, not a str")
        unknown = [name for name in self.global_resources if name not in self.resources]
        if unknown:
            raise ValueError(f"global_resources names {unknown}, which resources do not have")
        check_integer("priority", self.priority, 0, 2**32 - 1)

    def config(self) -> dict[str, Any]:
        """As Triton's configuration has it (ModelRateLimiter)."""
        resources = [
            {"name": name, "count": count, **({"global": True} if name in self.global_resources else {})}
            for name, count in self.resources.items()
        ]
        return {"resources": resources, "priority": self.priority}
