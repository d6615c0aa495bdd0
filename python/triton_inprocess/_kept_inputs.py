"""The warning of a function that keeps its inputs. The backend gives it, on one of Triton's threads."""

from __future__ import annotations

import warnings

__all__ = ["warn"]


def warn(model: str) -> None:
    """Warn of a model whose function has an input still that is the caller's memory."""
    warnings.warn(
        f"model {model!r} keeps an input beyond the call: the array is a view of the caller's memory, and changes when "
        "he writes there. Let the function keep a copy, or add the model with copy_inputs=True",
        RuntimeWarning,
        stacklevel=2,
    )
