"""Keyword arguments that many signatures take, by name: for type checkers and editors, and imported by nobody else.

What a field means is said where it is one: at `InferenceRequest`, `Options` and `Server.add_model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    import asyncio
    import queue
    from pathlib import Path

    from ._native import (
        InferenceResponse,
        LogFormat,
        LogLevel,
        ModelControlMode,
        NativeMemoryAllocator,
        RateLimitMode,
    )
    from ._types import Device
    from .batching import Batching
    from .memory_allocator import MemoryAllocator
    from .options import ModelLoadDeviceLimit, PathLike, RateLimiterResource
    from .rate_limiter import RateLimiter
    from .sequence_batching import SequenceBatching
    from .trace import Trace
    from .tracing import Tracing
    from .warm_up import WarmUp

__all__ = ["FunctionKeywords", "ManyKeywords", "OptionsKeywords", "RequestKeywords", "SequenceKeywords"]


class _AnyRequestKeywords(TypedDict, total=False):
    """Fields of an InferenceRequest that go with every way to send one."""

    request_id: str | None
    priority: int
    timeout: int
    parameters: Mapping[str, str | int | bool | float]
    output_memory_type: Device | None
    response_queue: queue.SimpleQueue[InferenceResponse] | asyncio.Queue[InferenceResponse] | None
    requested_outputs: Sequence[str] | None
    outputs: Mapping[str, Any] | None
    deadline: float | None
    trace: Trace | None
    output_memory_allocator: MemoryAllocator | NativeMemoryAllocator | None
    max_pending_responses: int | None


class SequenceKeywords(_AnyRequestKeywords, total=False):
    """Keywords of the requests of a Sequence, which sets `flags` and `correlation_id` itself."""

    raise_on_error: bool


class ManyKeywords(_AnyRequestKeywords, total=False):
    """Keywords of `Model.infer_many`, which takes the inputs from its requests."""

    flags: int
    correlation_id: int | str | None


class RequestKeywords(ManyKeywords, total=False):
    """Every field of an InferenceRequest but its model."""

    inputs: Mapping[str, Any]


class OptionsKeywords(TypedDict, total=False):
    """Every field of Options."""

    model_repository: PathLike | list[PathLike] | list[str] | list[Path]
    server_id: str
    model_control_mode: ModelControlMode | None
    startup_models: list[str]
    strict_model_config: bool
    rate_limiter_mode: RateLimitMode
    rate_limiter_resources: list[RateLimiterResource]
    pinned_memory_pool_size: int
    cuda_memory_pool_sizes: dict[int, int]
    cache_config: dict[str, dict[str, str | int]]
    cache_directory: PathLike | None
    min_supported_compute_capability: float
    exit_on_error: bool
    strict_readiness: bool
    exit_timeout: int
    buffer_manager_thread_count: int
    model_load_thread_count: int
    model_load_retry_count: int
    model_namespacing: bool
    enable_peer_access: bool
    log_file: PathLike | None
    log_info: bool
    log_warn: bool
    log_error: bool
    log_format: LogFormat
    log_verbose: int
    log_callback: Callable[[LogLevel, str], object] | None
    metrics: bool
    gpu_metrics: bool
    cpu_metrics: bool
    metrics_interval: int
    backend_directory: PathLike | None
    repo_agent_directory: PathLike | None
    model_load_device_limits: list[ModelLoadDeviceLimit]
    backend_configuration: dict[str, dict[str, str]]
    host_policies: dict[str, dict[str, str]]
    metrics_configuration: dict[str, dict[str, str]]
    log_to_logging: bool
    trace: Callable[[Trace], object] | Tracing | None
    output_memory_allocator: MemoryAllocator | NativeMemoryAllocator | None
    python_models: Literal["stub", "in-process"]


class FunctionKeywords(TypedDict, total=False):
    """Keywords of `Server.add_model` that its decorator `Server.model` hands on."""

    batching: Batching | SequenceBatching | None
    instances: int
    version: int
    batch: bool
    requests: bool
    decoupled: bool | None
    isolate_failures: bool
    adopt: Literal["auto", "always", "never"]
    copy_inputs: bool
    max_concurrency: int
    response_cache: bool
    warm_up: Sequence[WarmUp]
    rate_limiter: RateLimiter | None
    instance_group: Sequence[Mapping[str, Any]]
    config: Mapping[str, Any] | None
    replace: bool
