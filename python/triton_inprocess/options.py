"""What a server is started with."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ._native import InstanceGroupKind, LogFormat, LogLevel, ModelControlMode, RateLimitMode

if TYPE_CHECKING:
    from pathlib import Path

    from ._native import NativeMemoryAllocator
    from .memory_allocator import MemoryAllocator
    from .trace import Trace
    from .tracing import Tracing

__all__ = ["ModelLoadDeviceLimit", "Options", "PathLike", "RateLimiterResource"]

PathLike = str | os.PathLike[str]


@dataclass
class RateLimiterResource:
    """`count` units of a resource that executions share; `device` -1 means every device."""

    name: str
    count: int
    device: int = -1


@dataclass
class ModelLoadDeviceLimit:
    """How much of a device's memory may be used when a model is loaded, as a fraction from 0 to 1."""

    kind: InstanceGroupKind
    device: int
    fraction: float


@dataclass
class Options:
    """Options of a server. None of them touches Triton before `Server.start`, which checks them.

    Several servers can run in a process, but some things are Triton's once per process, not per server:

    - the log: `log_file`, `log_callback`, `log_info`, `log_warn`, `log_error`, `log_verbose`, `log_format`. What one
      server asks for is so for all of them; one that leaves an option at its default goes along.
    - the pool of pinned memory, `pinned_memory_pool_size`, and with `metrics` the settings of the metrics,
      `metrics_interval` and `metrics_configuration`: the first server fixes them, for as long as a server runs.
    - what is measured: as soon as one server wants `gpu_metrics` or `cpu_metrics` they are gathered for all, and each
      server's `Server.metrics` tells of the models of all.
    - `buffer_manager_thread_count`: one server at a time can have such threads. Triton refuses a second one.

    A server whose options contradict those of one that runs does not start: it raises InvalidArgumentError, which names
    the option and both values.

    Attributes:
        model_repository: Folder or folders with models. None at all is fine: models can be added later.
        server_id: Name of the server in its metadata.
        model_control_mode: Who decides which models are loaded. With None, the default, everything in the repositories
            is loaded at the start (or exactly `startup_models`), and `Server.load`, `unload` and `add_model` work, too.
            A mode that is named here is the one that Triton gets.
        startup_models: Models to load at the start; for the default and the explicit mode.
        strict_model_config: Whether every model must come with a complete configuration.
        rate_limiter_mode: Whether executions are rationed by resources.
        rate_limiter_resources: The resources there are.
        pinned_memory_pool_size: Bytes of page-locked memory that Triton keeps.
        cuda_memory_pool_sizes: Bytes of GPU memory that Triton keeps, by device.
        cache_config: Response caches by name ("local", "redis"), each with its settings.
        cache_directory: Folder with cache implementations; by default the runtime's.
        min_supported_compute_capability: The oldest GPUs to use.
        exit_on_error: Whether the start fails when a model fails to load.
        strict_readiness: Whether the server is ready only when every model is.
        exit_timeout: Seconds that a stop waits for requests in flight.
        buffer_manager_thread_count: Threads that copy inputs and outputs.
        model_load_thread_count: Threads that load models.
        model_load_retry_count: How often loading a failing model is tried again.
        model_namespacing: Whether models of the same name may come from different repositories.
        enable_peer_access: Whether GPUs may read each other's memory.
        log_file: Where Triton logs to; standard error by default.
        log_info, log_warn, log_error: Which messages are logged.
        log_format: Form of the log lines.
        log_verbose: Level of verbose messages; 0 for none.
        log_callback: Called with level and message of each log line, in a thread of its own.
        log_to_logging: Whether Triton's log goes to Python's: to the logger `triton_inprocess`, a record for each line
            that is not empty. Besides what `log_info` and its kin ask for, the levels INFO, WARN and ERROR are turned
            on that the logger is enabled for when the server starts. Triton itself marks verbose messages as INFO:
            they come as DEBUG (for `log_callback`, VERBOSE) only where INFO is off. `log_file`, `log_callback` and this
            exclude each other. With this and with `log_callback` Triton never waits for Python: lines that come faster
            than they are taken are kept, up to 16 MiB, and those beyond are dropped and counted in a line of the level
            WARN.
        trace: Called with the Trace of each request of `Model.infer` and `async_infer` that has no `trace` of its own,
            when it is complete, in a thread of its own; or a Tracing, which says more.
        output_memory_allocator: What gives the memory for the outputs of the server's requests of `Model.infer` and
            `async_infer` that have none of their own: a MemoryAllocator or a NativeMemoryAllocator.
        python_models: Where the models of repositories run whose `config.pbtxt` says `backend: "python"`: "in-process",
            in this interpreter, called on Triton's threads; or "stub", each instance in a process of its own, by the
            runtime's python backend. Models of `backend: "inprocess"` run in this process in any case.
        metrics, gpu_metrics, cpu_metrics: Which metrics are gathered.
        metrics_interval: Milliseconds between two looks at the hardware.
        backend_directory: Folder with backends; they go before the runtime's.
        repo_agent_directory: Folder with repository agents; by default the runtime's.
        model_load_device_limits: How much memory of devices loading may use.
        backend_configuration: Settings by backend.
        host_policies: Settings by host policy.
        metrics_configuration: Settings of the metrics; the name "" is for general ones.
    """

    model_repository: PathLike | list[PathLike] | list[str] | list[Path] = field(default_factory=list)
    server_id: str = "triton"
    model_control_mode: ModelControlMode | None = None
    startup_models: list[str] = field(default_factory=list)
    strict_model_config: bool = False
    rate_limiter_mode: RateLimitMode = RateLimitMode.OFF
    rate_limiter_resources: list[RateLimiterResource] = field(default_factory=list)
    pinned_memory_pool_size: int = 1 << 28
    cuda_memory_pool_sizes: dict[int, int] = field(default_factory=dict)
    cache_config: dict[str, dict[str, str | int]] = field(default_factory=dict)
    cache_directory: PathLike | None = None
    min_supported_compute_capability: float = 6.0
    exit_on_error: bool = True
    strict_readiness: bool = True
    exit_timeout: int = 30
    buffer_manager_thread_count: int = 0
    model_load_thread_count: int = 4
    model_load_retry_count: int = 0
    model_namespacing: bool = False
    enable_peer_access: bool = True
    log_file: PathLike | None = None
    log_info: bool = False
    log_warn: bool = False
    log_error: bool = False
    log_format: LogFormat = LogFormat.DEFAULT
    log_verbose: int = 0
    log_callback: Callable[[LogLevel, str], object] | None = None
    metrics: bool = True
    gpu_metrics: bool = True
    cpu_metrics: bool = True
    metrics_interval: int = 2000
    backend_directory: PathLike | None = None
    repo_agent_directory: PathLike | None = None
    model_load_device_limits: list[ModelLoadDeviceLimit] = field(default_factory=list)
    backend_configuration: dict[str, dict[str, str]] = field(default_factory=dict)
    host_policies: dict[str, dict[str, str]] = field(default_factory=dict)
    metrics_configuration: dict[str, dict[str, str]] = field(default_factory=dict)
    log_to_logging: bool = False
    trace: Callable[[Trace], object] | Tracing | None = None
    output_memory_allocator: MemoryAllocator | NativeMemoryAllocator | None = None
    python_models: Literal["stub", "in-process"] = "stub"
