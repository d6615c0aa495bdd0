"""The two ways to ask a model for its one response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import triton_inprocess as ti

__all__ = ["Ask", "both"]


def by_result(model: ti.Model, **fields: Any) -> ti.InferenceResponse:
    return model.infer(**fields).result()


def by_await(model: ti.Model, **fields: Any) -> ti.InferenceResponse:
    async def wait() -> ti.InferenceResponse:
        return await model.async_infer(**fields)

    return asyncio.run(wait())


Ask = Callable[..., ti.InferenceResponse]
both = pytest.mark.parametrize("ask", [by_result, by_await])
