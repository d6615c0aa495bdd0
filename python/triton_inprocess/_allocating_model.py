"""A model of a server that has an allocator for all outputs: the others are not to look for one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .model import Model
from .request import InferenceRequest

if TYPE_CHECKING:
    from ._native import AsyncResponseIterator, ResponseIterator, Tensor

__all__ = ["AllocatingModel"]

_FIELD = "output_memory_allocator"


class AllocatingModel(Model):
    """A Model whose outputs are in memory of the server's `output_memory_allocator`, unless a request has its own."""

    __slots__ = ()

    def infer(
        self,
        inference_request: InferenceRequest | Mapping[str, Any] | None = None,
        raise_on_error: bool = True,
        **fields: Any,
    ) -> ResponseIterator:
        """As Model.infer."""
        request, fields = self._with_allocator(inference_request, fields)
        return super().infer(request, raise_on_error, **fields)

    def async_infer(
        self,
        inference_request: InferenceRequest | Mapping[str, Any] | None = None,
        raise_on_error: bool = True,
        **fields: Any,
    ) -> AsyncResponseIterator:
        """As Model.async_infer."""
        request, fields = self._with_allocator(inference_request, fields)
        return super().async_infer(request, raise_on_error, **fields)

    def __call__(self, **inputs: Any) -> dict[str, Tensor]:
        """As Model.__call__."""
        return self.infer(inputs).result().outputs

    def _with_allocator(
        self, request: InferenceRequest | Mapping[str, Any] | None, fields: dict[str, Any]
    ) -> tuple[InferenceRequest | Mapping[str, Any] | None, dict[str, Any]]:
        allocator = self.server.options.output_memory_allocator
        if isinstance(request, InferenceRequest):
            if request.output_memory_allocator is None:
                request = dataclasses.replace(request, output_memory_allocator=allocator)
        elif fields.get(_FIELD) is None:
            fields[_FIELD] = allocator
        return request, fields
