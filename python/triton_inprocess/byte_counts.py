"""How many bytes of a model's tensors were copied."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ByteCounts"]


@dataclass(frozen=True)
class ByteCounts:
    """Bytes of the tensors of a function that serves as a model, since it was added: `Model.byte_counts`.

    Each byte is counted once, on its way between the server and the function: what was copied twice is copied.

    Attributes:
        inputs_shared: The function saw the caller's own memory.
        inputs_copied: The function saw a copy: requests were joined to a batch, the memory was not that of a request of
            this process (an ensemble's step, a warm-up, a network front end), or the model has `copy_inputs`.
        outputs_adopted: The response has the memory that the function has returned.
        outputs_copied: The response has a copy; see `adopt` of `Server.add_model`.
    """

    inputs_shared: int
    inputs_copied: int
    outputs_adopted: int
    outputs_copied: int
