"""How a Python function is declared as a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from . import (
    _function_errors,  # noqa: F401 - imported now: Triton's threads must not import
    _kept_inputs,  # noqa: F401
)
from ._checks import check_bool, check_integer
from ._extension_file import BACKEND_NAME
from ._function_instance import has_life
from ._function_signature import FunctionSignature
from ._model_config import merged, to_text
from ._native import DataType, Tensor
from .batching import MAXIMUM_BATCH, Batching
from .rate_limiter import RateLimiter
from .sequence_batching import SequenceBatching
from .spec import Spec
from .tensor_spec import TensorSpec, TensorSpecs, to_specs
from .warm_up import WarmUp

if TYPE_CHECKING:
    from ._function_runner import FunctionRunner

__all__ = ["FunctionModel", "check_name"]

# What `config` must not say, and who says it.
_OWN_FIELDS = {
    "name": "name",
    "backend": None,
    "platform": None,
    "input": "inputs",
    "output": "outputs",
    "max_batch_size": "max_batch_size",
    "model_transaction_policy": "decoupled",
    "version_policy": "version",
    "model_warmup": "warm_up",
}


@dataclass(frozen=True)
class FunctionModel:
    """A Python function and everything that Triton has to know of it."""

    function: Callable[..., Any]
    name: str
    signature: FunctionSignature
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    max_batch_size: int = 0
    batching: Batching | SequenceBatching | None = None
    instances: int = 1
    version: int = 1
    batch: bool = True
    requests: bool = False
    decoupled: bool = False
    isolate_failures: bool = False
    max_concurrency: int = 1024
    adopt: Literal["auto", "always", "never"] = "auto"
    copy_inputs: bool = False
    response_cache: bool = False
    warm_up: tuple[WarmUp, ...] = ()
    rate_limiter: RateLimiter | None = None
    instance_group: tuple[Mapping[str, Any], ...] = ()
    extra_config: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def declared(
        cls,
        function: Any,
        *,
        inputs: TensorSpecs | None,
        outputs: TensorSpecs | None,
        decoupled: bool | None,
        warm_up: Sequence[WarmUp],
        instance_group: Sequence[Mapping[str, Any]],
        config: Mapping[str, Any] | None,
        **fields: Any,
    ) -> FunctionModel:
        """A model of what `add_model` was given; raises TypeError or ValueError naming the argument."""
        if not callable(function):
            raise TypeError(f"fn must be callable, not {type(function).__name__}")
        signature = FunctionSignature.of(function)
        of_inputs = signature.input_specs() if inputs is None else {}
        of_outputs = signature.output_specs() if outputs is None else {}
        batched = any(spec.batched for spec in (*of_inputs.values(), *of_outputs.values()))
        if batched and fields.get("max_batch_size") == 0:
            raise ValueError('max_batch_size must be at least 1, as the function has a Spec with a "batch" dimension')
        if decoupled is not None:
            check_bool("decoupled", decoupled)
        yields = signature.kind in ("generator", "async generator")
        if yields and decoupled is False:
            raise ValueError(f"decoupled must not be False: fn is a{'n' * (signature.kind[0] == 'a')} {signature.kind}")
        return cls(
            function=function,
            signature=signature,
            inputs=_from_annotations(of_inputs) if inputs is None else to_specs("inputs", inputs),
            outputs=_from_annotations(of_outputs) if outputs is None else to_specs("outputs", outputs),
            decoupled=yields if decoupled is None else decoupled,
            warm_up=_tuple_of("warm_up", warm_up, WarmUp),
            instance_group=_tuple_of("instance_group", instance_group, Mapping),
            extra_config=_checked_config(config),
            **fields,
        )

    def __post_init__(self) -> None:
        """Check the declaration; raises TypeError or ValueError naming the argument."""
        check_name(self.name)
        for argument, specs in (("inputs", self.inputs), ("outputs", self.outputs)):
            if not specs:
                raise ValueError(f"{argument} must not be empty")
            names = [spec.name for spec in specs]
            if len(set(names)) != len(names):
                raise ValueError(f"{argument} names a tensor twice: {names}")
        check_integer("max_batch_size", self.max_batch_size, 0, MAXIMUM_BATCH)
        check_integer("instances", self.instances, 1, 2**31 - 1)
        check_integer("version", self.version, 1, 2**63 - 1)
        check_integer("max_concurrency", self.max_concurrency, 1, 2**31 - 1)
        for argument in ("batch", "requests", "isolate_failures", "copy_inputs", "response_cache"):
            check_bool(argument, getattr(self, argument))
        if self.adopt not in ("auto", "always", "never"):
            raise ValueError(f"adopt must be 'auto', 'always' or 'never', not {self.adopt!r}")
        self._check_batching()
        self._check_kind()
        self._check_extras()
        self._check_parameters()
        if self.rate_limiter is not None and not isinstance(self.rate_limiter, RateLimiter):
            raise TypeError(f"rate_limiter must be a RateLimiter or None, not {type(self.rate_limiter).__name__}")
        if self.instance_group and (self.instances != 1 or self.rate_limiter is not None):
            raise ValueError("instance_group says what instances and rate_limiter would: give one or the other")
        self._check_warm_up()

    def _check_batching(self) -> None:
        batching = self.batching
        if batching is None:
            return
        if not isinstance(batching, (Batching, SequenceBatching)):
            raise TypeError(f"batching must be a Batching, a SequenceBatching or None, not {type(batching).__name__}")
        if isinstance(batching, Batching) and self.max_batch_size == 0:
            raise ValueError("batching needs a max_batch_size of at least 1")
        too_large = [size for size in batching.preferred_sizes if size > max(self.max_batch_size, 1)]
        if too_large:
            raise ValueError(f"preferred_sizes {too_large} are larger than max_batch_size {self.max_batch_size}")

    def _check_kind(self) -> None:
        kind = self.signature.kind
        whole = {"batch=False": not self.batch, "requests=True": self.requests}
        given = [argument for argument, is_given in whole.items() if is_given]
        if len(given) > 1:
            raise ValueError("batch=False and requests=True contradict each other")
        if given and (self.decoupled or self.is_async):
            what = f"a{'n' * kind.startswith('a')} {kind}" if kind != "function" else "decoupled"
            raise ValueError(
                f"{given[0]} is for functions that return, and fn is {what}: it is called for each request"
            )
        if kind == "async function" and self.decoupled:
            raise ValueError("decoupled is for functions that yield, and fn is an async function: use yield in it")
        if self.isolate_failures and (given or self.decoupled or self.is_async):
            raise ValueError("isolate_failures is for functions of whole batches: others fail request by request")
        if self.response_cache and self.decoupled:
            raise ValueError("response_cache is for models of one response, and fn is decoupled")

    def _check_extras(self) -> None:
        if self.requests and self.signature.extras:
            raise TypeError(f"fn must not ask for {self.signature.extras[0]} with requests=True: each request has it")
        if "parameters" in self.signature.extras and self.calls_batches and self.max_batch_size > 0:
            raise TypeError(
                "fn must not ask for parameters when it takes whole batches, of several requests: ask for context, "
                "and see context.requests"
            )
        names = {spec.name for spec in self.inputs} & set(self.signature.extras)
        if names:
            raise ValueError(
                f"inputs must not be called {sorted(names)[0]!r}, which fn has as a keyword-only parameter"
            )
        if not self.batch:
            for spec in self.inputs:
                if (
                    self.signature.input_type(spec.name) in (Tensor, "Tensor")
                    or self.signature.bytes_as(spec.name) == "raw"
                ):
                    raise TypeError(
                        f"input {spec.name!r} comes as one piece of memory, which has no rows: use batch=True"
                    )

    def _check_parameters(self) -> None:
        parameters = self.signature.parameters
        if parameters is None:
            return  # a builtin that does not tell: the first call will
        signature = inspect.Signature(parameters)
        if self.requests:
            try:
                signature.bind([])
            except TypeError as error:
                raise TypeError(f"fn cannot be called with a list of requests: {error}") from None
            return
        names = [spec.name for spec in self.inputs]
        try:
            signature.bind(**dict.fromkeys([*names, *self.signature.extras]))
        except TypeError as error:
            raise TypeError(f"fn cannot be called with the inputs {', '.join(names)} as keywords: {error}") from None

    def _check_warm_up(self) -> None:
        declared = {spec.name for spec in self.inputs}
        for index, each in enumerate(self.warm_up):
            if set(each.inputs) != declared:
                raise ValueError(
                    f"warm_up[{index}] has the inputs {sorted(each.inputs)}, declared are {sorted(declared)}"
                )
            if each.batch_size > max(self.max_batch_size, 1):
                raise ValueError(
                    f"warm_up[{index}] has batch_size {each.batch_size}, max_batch_size is {self.max_batch_size}"
                )

    @property
    def is_async(self) -> bool:
        """Whether calls of the function are awaited."""
        return self.signature.kind.startswith("async")

    @property
    def calls_batches(self) -> bool:
        """Whether the function takes whole batches."""
        return self.batch and not (self.requests or self.decoupled or self.is_async)

    @property
    def sequence_idle_us(self) -> int | None:
        """How long sequences may be idle; None for a model without."""
        return self.batching.max_idle_us if isinstance(self.batching, SequenceBatching) else None

    def instance_names(self) -> list[str]:
        """How Triton calls the instances, as far as can be told before it makes them."""
        names = []
        for index, group in enumerate(self.config([])["instance_group"]):
            base = group.get("name") or f"{self.name}_{index}"
            count = int(group.get("count", 1)) * max(len(group.get("gpus", ())), 1)
            names += [f"{base}_{each}" for each in range(count)]
        return names

    def runner(self) -> FunctionRunner | None:
        """What calls the function for the backend; None where the backend does so directly, which is the fast way."""
        from . import _function_runner
        from ._function_arguments import FunctionArguments

        if self.is_async:
            from ._async_runner import AsyncRunner  # with asyncio, which takes longer than everything else

            return AsyncRunner(self)
        if self.decoupled:
            return _function_runner.GeneratorRunner(self)
        if self.requests:
            return _function_runner.RequestsRunner(self)
        if not self.batch and self.max_batch_size > 0:
            return _function_runner.SampleRunner(self)
        needed = (
            self.signature.extras
            or self.signature.makes_objects
            or has_life(self.function)
            or self.isolate_failures
            or isinstance(self.batching, SequenceBatching)
            or not FunctionArguments(self.inputs, self.signature).plain
        )
        return _function_runner.BatchRunner(self) if needed else None

    def tuples(self, specs: tuple[TensorSpec, ...]) -> list[tuple[str, DataType, list[int]]]:
        """Inputs or outputs as the backend takes them."""
        return [(spec.name, spec.data_type, list(spec.shape)) for spec in specs]

    def config(self, versions: Sequence[int]) -> dict[str, Any]:
        """The model's configuration, when it has these versions."""
        # Not left to Triton, which would make one instance for each GPU.
        group: dict[str, Any] = {"count": self.instances, "kind": "KIND_CPU"}
        if self.rate_limiter is not None:
            group["rate_limiter"] = self.rate_limiter.config()
        config: dict[str, Any] = {
            "name": self.name,
            "backend": BACKEND_NAME,
            "max_batch_size": self.max_batch_size,
            "input": [spec.config() for spec in self.inputs],
            "output": [spec.config() for spec in self.outputs],
            "instance_group": [dict(each) for each in self.instance_group] or [group],
            "version_policy": {"specific": {"versions": sorted(versions)}},
        }
        if self.batching is not None:
            key = "sequence_batching" if isinstance(self.batching, SequenceBatching) else "dynamic_batching"
            config[key] = self.batching.config()
        if self.decoupled:
            config["model_transaction_policy"] = {"decoupled": True}
        if self.response_cache:
            config["response_cache"] = {"enable": True}
        if self.warm_up:
            config["model_warmup"] = [self._warm_up_config(index, each) for index, each in enumerate(self.warm_up)]
        return merged(config, self.extra_config)

    def config_text(self, versions: Sequence[int]) -> str:
        """The same as config.pbtxt has it."""
        return to_text(self.config(versions))

    def warm_up_files(self) -> dict[str, bytes]:
        """What the files of the warm-up hold, by name; raises TypeError or ValueError for inputs that do not fit."""
        files = {}
        for index, each in enumerate(self.warm_up):
            for spec in self.inputs:
                files[f"{index}-{spec.name.encode().hex()}"] = self._warm_up_tensor(index, each, spec)[1]
        return files

    def _warm_up_config(self, index: int, warm_up: WarmUp) -> dict[str, Any]:
        inputs = {}
        for spec in self.inputs:
            shape, _ = self._warm_up_tensor(index, warm_up, spec)
            described = {"data_type": spec.config()["data_type"], "dims": shape}
            inputs[spec.name] = {**described, "input_data_file": f"{index}-{spec.name.encode().hex()}"}
        config = {
            "name": warm_up.name,
            "batch_size": warm_up.batch_size,
            "inputs": inputs,
        }
        return config if warm_up.count == 1 else {**config, "count": warm_up.count}

    @staticmethod
    def _warm_up_tensor(index: int, warm_up: WarmUp, spec: TensorSpec) -> tuple[list[int], bytes]:
        import ctypes

        try:
            tensor = Tensor.from_any(warm_up.inputs[spec.name], spec.data_type).to_host()
        except (TypeError, ValueError) as error:
            raise type(error)(f"input {spec.name!r} of warm_up[{index}]: {error}") from None
        shape = list(tensor.shape)
        fits = len(shape) == len(spec.shape) and all(
            declared in (-1, size) for declared, size in zip(spec.shape, shape, strict=True)
        )
        if not fits:
            raise ValueError(
                f"input {spec.name!r} of warm_up[{index}] has shape {shape}, declared is {list(spec.shape)}"
            )
        return shape, ctypes.string_at(tensor.data_ptr, tensor.size) if tensor.size else b""


def _from_annotations(specs: Mapping[str, Spec]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(name, spec.data_type, spec.shape) for name, spec in specs.items())


def _tuple_of(argument: str, values: Any, kind: type) -> tuple[Any, ...]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sequence):
        raise TypeError(f"{argument} must be a list, not {type(values).__name__}")
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"{argument} must hold {kind.__name__}s, not {type(value).__name__}")
    return tuple(values)


def _checked_config(config: object) -> Mapping[str, Any]:
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        raise TypeError(f"config must be a dict or None, not {type(config).__name__}")
    for key in config:
        if key in _OWN_FIELDS:
            instead = _OWN_FIELDS[key]
            hint = f": it is said by {instead}" if instead is not None else ""
            raise ValueError(f"config must not have {key!r}{hint}")
    return config


def check_name(name: object) -> None:
    """Raises TypeError or ValueError for what cannot be the name of a model."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {type(name).__name__}")
    if not name or name in (".", "..") or "/" in name or "\0" in name or len(name.encode()) > 255:
        raise ValueError(f"name must be a file name of 1 to 255 bytes, not {name!r}")
