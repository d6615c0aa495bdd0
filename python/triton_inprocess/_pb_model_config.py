"""A model's configuration in the hands of its `auto_complete_config`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ._checks import check_integer

__all__ = ["ModelConfig"]

_PROPERTIES = ("name", "data_type", "dims", "optional")


class ModelConfig:
    """What `auto_complete_config` is given and returns: what the configuration file says, to be completed.

    What the file says already stays: a value that differs from it is a ValueError.
    """

    def __init__(self, model_config: Mapping[str, Any]) -> None:
        """The configuration as a dict."""
        self._config: dict[str, Any] = copy.deepcopy(dict(model_config))

    def as_dict(self) -> dict[str, Any]:
        """The configuration as it is now, as a dict of its own."""
        return copy.deepcopy(self._config)

    def set_max_batch_size(self, max_batch_size: int) -> None:
        """Set the largest batch, unless the file says a smaller one.

        Raises ValueError when the file says a larger one, TypeError for what is no int.
        """
        check_integer("max_batch_size", max_batch_size, 0, 2**31 - 1)
        said = int(self._config.get("max_batch_size", 0))
        if said > max_batch_size:
            raise ValueError(
                f"model {self._name()}: the configuration has max_batch_size {said}, and auto_complete_config sets "
                f"{max_batch_size}, which is less"
            )
        if said == 0:
            self._config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self) -> None:
        """Turn the dynamic batcher on, unless there is a scheduler; raises ValueError for another one."""
        for other in ("sequence_batching", "ensemble_scheduling"):
            if other in self._config:
                raise ValueError(
                    f"model {self._name()}: the configuration has {other}, and auto_complete_config sets "
                    "dynamic_batching"
                )
        self._config.setdefault("dynamic_batching", {})

    def set_model_transaction_policy(self, transaction_policy_dict: Mapping[str, Any]) -> None:
        """Say whether the model is decoupled: {"decoupled": True}; raises ValueError when the file says another."""
        if not isinstance(transaction_policy_dict, Mapping):
            raise TypeError(f"transaction_policy_dict must be a dict, not {type(transaction_policy_dict).__name__}")
        unknown = set(transaction_policy_dict) - {"decoupled"}
        if unknown:
            raise ValueError(f"transaction_policy_dict must have the key 'decoupled' only, not {sorted(unknown)}")
        decoupled = bool(transaction_policy_dict.get("decoupled", False))
        if self._config.get("model_transaction_policy", {}).get("decoupled", False) and not decoupled:
            raise ValueError(f"model {self._name()}: the configuration is decoupled, and auto_complete_config says not")
        self._config["model_transaction_policy"] = {"decoupled": decoupled}

    def add_input(self, input: Mapping[str, Any]) -> None:
        """Add an input: {"name", "data_type", "dims"} and, if it may be left out, "optional".

        Raises ValueError for a key that is missing or unknown, and when the file describes the input differently.
        """
        self._add("input", input)

    def add_output(self, output: Mapping[str, Any]) -> None:
        """Add an output: {"name", "data_type", "dims"}; raises as `add_input` does."""
        self._add("output", output)

    def _add(self, kind: str, entry: Mapping[str, Any]) -> None:
        known = _PROPERTIES if kind == "input" else _PROPERTIES[:3]
        for key in entry:
            if key not in known:
                raise ValueError(f"{kind} {dict(entry)!r} must not have {key!r}: {', '.join(known)} are possible")
        for key in ("name", "data_type", "dims"):
            if key not in entry:
                raise ValueError(f"{kind} {dict(entry)!r} must have {key!r}")
        entries = self._config.setdefault(kind, [])
        for present in entries:
            if present.get("name") == entry["name"]:
                self._complete(kind, present, entry)
                return
        entries.append({**entry, "dims": list(entry["dims"])})

    def _complete(self, kind: str, present: dict[str, Any], entry: Mapping[str, Any]) -> None:
        for key in ("data_type", "dims"):
            said, value = present.get(key), entry[key]
            if said in (None, [], "TYPE_INVALID"):
                present[key] = value
            elif (list(map(int, said)) != list(value)) if key == "dims" else said != value:
                raise ValueError(
                    f"model {self._name()}: {kind} {entry['name']!r} has {key} {said} in the configuration, and "
                    f"auto_complete_config says {value}"
                )
        if entry.get("optional"):
            present["optional"] = True

    def _name(self) -> str:
        return repr(self._config.get("name", ""))
