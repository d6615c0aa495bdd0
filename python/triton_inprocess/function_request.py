"""A request in the hands of a function that takes lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .request_context import RequestContext

if TYPE_CHECKING:
    from ._native import Execution
    from .instance_context import InstanceContext

__all__ = ["FunctionRequest"]


class FunctionRequest(RequestContext):
    """What a function gets a list of that was added with `requests=True`: a RequestContext with the inputs.

    Attributes:
        inputs: The inputs by name.
    """

    __slots__ = ("inputs",)

    def __init__(self, instance: InstanceContext, execution: Execution, rows: int, inputs: dict[str, Any]) -> None:
        """Made for the call of a function."""
        super().__init__(instance, execution, 0, rows)
        self.inputs: dict[str, Any] = inputs
