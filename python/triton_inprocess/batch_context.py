"""What a model's function is told of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from .request_context import RequestContext

__all__ = ["BatchContext"]


@dataclass(frozen=True)
class BatchContext:
    """The requests of a batch, as the keyword-only argument `context` of a function that takes whole batches.

    Attributes:
        model: Name of the model.
        version: Its version.
        instance: Name of the instance that executes the batch.
        requests: The requests, in the order of their rows.
    """

    model: str
    version: int
    instance: str
    requests: tuple[RequestContext, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows each request has."""
        return tuple(request.rows for request in self.requests)
