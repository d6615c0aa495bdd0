"""From Options to the C API's: checked and applied, field by field."""

# The file speaks os.path, for the reason that runtime.py tells.
# ruff: noqa: PTH112, PTH123
from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any

from ._capi_server_options import TRITONSERVER_ServerOptions
from ._native import InstanceGroupKind, LogFormat, ModelControlMode, RateLimitMode
from .errors import InternalError, InvalidArgumentError, UnsupportedError
from .options import ModelLoadDeviceLimit, Options, PathLike, RateLimiterResource
from .tracing import Tracing

__all__ = ["apply", "check", "check_folder", "repositories"]


def check(options: Options) -> None:
    """Raise TypeError, ValueError or InvalidArgumentError, naming the field, for what no server could start with."""
    if options.model_repository is None:
        raise InvalidArgumentError("model_repository must be a path or a list of paths, not None")
    if options.model_control_mode is not None:
        _require("model_control_mode", options.model_control_mode, ModelControlMode)
    for name, kind in _SCALARS.items():
        _require(name, getattr(options, name), kind)
    _require("python_models", options.python_models, str)
    if options.python_models not in ("stub", "in-process"):
        raise ValueError(f"python_models must be 'stub' or 'in-process', not {options.python_models!r}")
    for name in _PATHS:
        if getattr(options, name) is not None:
            _require(name, getattr(options, name), (str, os.PathLike))
    for name, highest in _NUMBERS.items():
        _require_number(name, getattr(options, name), highest)
    _require_list("startup_models", options.startup_models, str)
    _check_resources(options)
    for name, value_kinds in _SETTINGS.items():
        _check_settings(name, getattr(options, name), value_kinds)
    _check_log(options)
    _check_trace(options.trace)
    _check_allocator(options.output_memory_allocator)


def check_folder(name: str, path: PathLike | None) -> None:
    """Raise InvalidArgumentError for a path that is given and is no folder."""
    if path is not None and not os.path.isdir(path):
        raise InvalidArgumentError(f"{name} '{os.fspath(path)}' is not a folder")


def _check_resources(options: Options) -> None:
    _require_list("rate_limiter_resources", options.rate_limiter_resources, RateLimiterResource)
    for resource in options.rate_limiter_resources:
        _require("name in rate_limiter_resources", resource.name, str)
        _require_number("count in rate_limiter_resources", resource.count, _UINT64)
        _require("device in rate_limiter_resources", resource.device, int)
    _require_list("model_load_device_limits", options.model_load_device_limits, ModelLoadDeviceLimit)
    for limit in options.model_load_device_limits:
        _require("kind in model_load_device_limits", limit.kind, InstanceGroupKind)
        _require_number("device in model_load_device_limits", limit.device, _INT32)
        _require("fraction in model_load_device_limits", limit.fraction, Real)
    _require("cuda_memory_pool_sizes", options.cuda_memory_pool_sizes, dict)
    for device, size in options.cuda_memory_pool_sizes.items():
        _require_number("each device of cuda_memory_pool_sizes", device, _INT32)
        _require_number(f"cuda_memory_pool_sizes[{device}]", size, _UINT64)


def _check_settings(name: str, value: object, value_kinds: tuple[type, ...]) -> None:
    _require(name, value, dict)
    assert isinstance(value, dict)
    for key, settings in value.items():
        _require(f"each key of {name}", key, str)
        _require(f"{name}[{key!r}]", settings, dict)
        for setting, each in settings.items():
            _require(f"each key of {name}[{key!r}]", setting, str)
            _require(f"{name}[{key!r}][{setting!r}]", each, value_kinds)


def _check_allocator(value: object) -> None:
    if value is None:
        return
    from ._native import NativeMemoryAllocator
    from .memory_allocator import MemoryAllocator

    if not isinstance(value, (MemoryAllocator, NativeMemoryAllocator)):
        raise TypeError(
            "output_memory_allocator must be a MemoryAllocator, a NativeMemoryAllocator or None, not "
            f"{type(value).__name__}"
        )


def _check_log(options: Options) -> None:
    if options.log_callback is not None and not callable(options.log_callback):
        raise TypeError(f"log_callback must be callable or None, not {type(options.log_callback).__name__}")
    if options.log_callback is not None and options.log_file is not None:
        raise ValueError("log_callback and log_file exclude each other: Triton has one log")
    if options.log_to_logging and (options.log_callback is not None or options.log_file is not None):
        other = "log_callback" if options.log_callback is not None else "log_file"
        raise ValueError(f"log_to_logging and {other} exclude each other: Triton has one log")
    if options.log_file is not None:
        with open(options.log_file, "a"):  # raises an OSError that says why it cannot be written
            pass


def _check_trace(trace: object) -> None:
    if trace is None or (callable(trace) and not isinstance(trace, Tracing)):
        return
    if not isinstance(trace, Tracing):
        raise TypeError(f"trace must be callable, a Tracing or None, not {type(trace).__name__}")
    if not callable(trace.callback):
        raise TypeError(f"callback of trace must be callable, not {type(trace.callback).__name__}")
    for name in ("context", "headers"):
        value = getattr(trace, name)
        if value is not None and not callable(value):
            raise TypeError(f"{name} of trace must be callable or None, not {type(value).__name__}")
    _require("tensors of trace", trace.tensors, bool)
    for name in ("rate", "capacity"):
        value = getattr(trace, name)
        _require_number(f"{name} of trace", value, _UINT64)
        if value == 0:
            raise ValueError(f"{name} of trace must be from 1 to {_UINT64}, not 0")


def repositories(options: Options) -> list[str]:
    """The user's model repositories; raises InternalError for one that is no folder."""
    given = options.model_repository
    paths = [given] if isinstance(given, (str, os.PathLike)) else given
    if not isinstance(paths, (list, tuple)):
        raise TypeError(f"model_repository must be a path or a list of paths, not {type(given).__name__}")
    result = []
    for path in paths:
        _require("each of model_repository", path, (str, os.PathLike))
        if not os.path.isdir(path):
            raise InternalError(f"model_repository '{os.fspath(path)}' is not a folder")
        result.append(os.fspath(path))
    return result


def apply(options: Options, native: TRITONSERVER_ServerOptions) -> None:
    """Hand every field to the C API, but for paths, models and the log, which the server decides on."""
    for name, setter in _SETTERS.items():
        with _supported(options, name):
            setter(native, getattr(options, name))
    for resource in options.rate_limiter_resources:
        native.add_rate_limiter_resource(resource.name, resource.count, resource.device)
    for device, byte_size in options.cuda_memory_pool_sizes.items():
        native.set_cuda_memory_pool_byte_size(device, byte_size)
    with _supported(options, "cache_config"):
        _set_caches(options, native)
    for limit in options.model_load_device_limits:
        native.set_model_load_device_limit(limit.kind, limit.device, limit.fraction)
    _set_each(options.backend_configuration, native.set_backend_config)
    _set_each(options.host_policies, native.set_host_policy)
    with _supported(options, "metrics_configuration"):
        _set_each(options.metrics_configuration, native.set_metrics_config)


def _set_caches(options: Options, native: TRITONSERVER_ServerOptions) -> None:
    if not options.cache_config:
        return
    import json

    for cache, settings in options.cache_config.items():
        native.set_cache_config(cache, json.dumps({key: str(value) for key, value in settings.items()}))


def _set_each(mapping: dict[str, dict[str, str]], setter: Callable[[str, str, str], None]) -> None:
    for name, settings in mapping.items():
        for setting, value in settings.items():
            setter(name, setting, str(value))


@contextlib.contextmanager
def _supported(options: Options, name: str) -> Iterator[None]:
    """Has an older library, which lacks the function for an option, say which option that is."""
    try:
        yield
    except UnsupportedError as error:
        # What an older library cannot be told matters only if it was asked for.
        value = getattr(options, name)
        if value != getattr(_DEFAULTS, name):
            raise UnsupportedError(f"{name}={value!r}: {error}") from None


def _require_number(name: str, value: object, highest: int) -> None:
    _require(name, value, int)
    assert isinstance(value, int)
    if not 0 <= value <= highest:
        raise ValueError(f"{name} must be from 0 to {highest}, not {value}")


def _require_list(name: str, value: object, kind: type) -> None:
    _require(name, value, (list, tuple))
    assert isinstance(value, (list, tuple))
    for item in value:
        _require(f"each of {name}", item, kind)


def _require(name: str, value: object, kind: type | tuple[type, ...]) -> None:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    wrong_bool = isinstance(value, bool) and bool not in kinds
    if wrong_bool or not isinstance(value, kinds):
        expected = " or ".join(each.__name__ for each in kinds)
        raise TypeError(f"{name} must be {expected}, not {type(value).__name__}")
    if isinstance(value, str) and "\0" in value:
        raise ValueError(f"{name} must not contain a NUL character")


_SCALARS: dict[str, type] = {
    "server_id": str,
    "strict_model_config": bool,
    "rate_limiter_mode": RateLimitMode,
    "min_supported_compute_capability": Real,
    "exit_on_error": bool,
    "strict_readiness": bool,
    "model_namespacing": bool,
    "enable_peer_access": bool,
    "log_info": bool,
    "log_warn": bool,
    "log_error": bool,
    "log_format": LogFormat,
    "log_to_logging": bool,
    "metrics": bool,
    "gpu_metrics": bool,
    "cpu_metrics": bool,
}

_PATHS = ("cache_directory", "log_file", "backend_directory", "repo_agent_directory")

_INT32 = 2**31 - 1
_UINT32 = 2**32 - 1
_UINT64 = 2**64 - 1

# Each from 0 to what the C API's type can hold.
_NUMBERS: dict[str, int] = {
    "pinned_memory_pool_size": _UINT64,
    "exit_timeout": _UINT32,
    "buffer_manager_thread_count": _UINT32,
    "model_load_thread_count": _UINT32,
    "model_load_retry_count": _UINT32,
    "log_verbose": _INT32,
    "metrics_interval": _UINT64,
}

_SETTINGS: dict[str, tuple[type, ...]] = {
    "cache_config": (str, int),
    "backend_configuration": (str,),
    "host_policies": (str,),
    "metrics_configuration": (str,),
}

_SETTERS: dict[str, Callable[[TRITONSERVER_ServerOptions, Any], None]] = {
    "server_id": TRITONSERVER_ServerOptions.set_server_id,
    "strict_model_config": TRITONSERVER_ServerOptions.set_strict_model_config,
    "rate_limiter_mode": TRITONSERVER_ServerOptions.set_rate_limiter_mode,
    "pinned_memory_pool_size": TRITONSERVER_ServerOptions.set_pinned_memory_pool_byte_size,
    "min_supported_compute_capability": TRITONSERVER_ServerOptions.set_min_supported_compute_capability,
    "exit_on_error": TRITONSERVER_ServerOptions.set_exit_on_error,
    "strict_readiness": TRITONSERVER_ServerOptions.set_strict_readiness,
    "exit_timeout": TRITONSERVER_ServerOptions.set_exit_timeout,
    "buffer_manager_thread_count": TRITONSERVER_ServerOptions.set_buffer_manager_thread_count,
    "model_load_thread_count": TRITONSERVER_ServerOptions.set_model_load_thread_count,
    "model_load_retry_count": TRITONSERVER_ServerOptions.set_model_load_retry_count,
    "model_namespacing": TRITONSERVER_ServerOptions.set_model_namespacing,
    "enable_peer_access": TRITONSERVER_ServerOptions.set_enable_peer_access,
    "log_info": TRITONSERVER_ServerOptions.set_log_info,
    "log_warn": TRITONSERVER_ServerOptions.set_log_warn,
    "log_error": TRITONSERVER_ServerOptions.set_log_error,
    "log_format": TRITONSERVER_ServerOptions.set_log_format,
    "log_verbose": TRITONSERVER_ServerOptions.set_log_verbose,
    "metrics": TRITONSERVER_ServerOptions.set_metrics,
    "gpu_metrics": TRITONSERVER_ServerOptions.set_gpu_metrics,
    "cpu_metrics": TRITONSERVER_ServerOptions.set_cpu_metrics,
    "metrics_interval": TRITONSERVER_ServerOptions.set_metrics_interval,
}

_DEFAULTS = Options()
