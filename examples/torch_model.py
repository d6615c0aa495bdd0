"""A torch module as a model, in bfloat16, which numpy lacks: the tensors go through DLPack, without a copy.

    pip install torch --index-url https://download.pytorch.org/whl/cpu
    python examples/torch_model.py

The annotation `torch.Tensor` says as what the input comes.
"""

from __future__ import annotations

from typing import Annotated

import torch

import triton_inprocess as ti


class Classifier:
    """What an instance of the model is."""

    def initialize(self) -> None:
        """Make the module; its weights are random, but always the same."""
        torch.manual_seed(0)
        self.module = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).bfloat16()

    def __call__(
        self, x: Annotated[torch.Tensor, ti.Spec("BF16", ["batch", 16])]
    ) -> Annotated[torch.Tensor, ti.Spec("BF16", ["batch", 4], name="y")]:
        """The module's answer to a batch."""
        seen.add(x.data_ptr())
        with torch.inference_mode():
            result: torch.Tensor = self.module(x)
        return result


seen: set[int] = set()


def main() -> None:
    """Compare the model's answer with the module's own."""
    with ti.Server() as server:
        model = server.add_model(Classifier, name="classifier", max_batch_size=8)
        x = torch.arange(32, dtype=torch.bfloat16).reshape(2, 16) / 32
        y = torch.from_dlpack(model(x=x)["y"])
        reference = Classifier()
        reference.initialize()
        print("type:", y.dtype)
        print("equal to the module's own answer:", torch.equal(y, reference(x)))
        print("the model saw the caller's memory:", seen == {x.data_ptr()})


if __name__ == "__main__":
    main()
