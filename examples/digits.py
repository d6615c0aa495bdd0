"""A scikit-learn classifier behind Triton's dynamic batcher, trained here.

    pip install scikit-learn
    python examples/digits.py

A class is made into an object for each instance of the model; `initialize` trains (or loads) what it needs. The
requests are single images, which Triton joins to batches; the classifier is called once for each batch.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import triton_inprocess as ti

IMAGES, LABELS = load_digits(return_X_y=True)
IMAGES = (IMAGES / 16).astype(np.float32)
TRAINING, TEST = slice(None, 1400), slice(1400, None)


class Digits:
    """What an instance of the model is."""

    def initialize(self, context: ti.InstanceContext) -> None:
        """Train, before the model is ready."""
        self.classifier = LogisticRegression(max_iter=200).fit(IMAGES[TRAINING], LABELS[TRAINING])
        print(f"{context.instance} is trained")

    def __call__(
        self, image: Annotated[np.ndarray[Any, Any], ti.Spec("FP32", ["batch", 64])]
    ) -> tuple[
        Annotated[np.ndarray[Any, Any], ti.Spec("INT64", ["batch", 1], name="label")],
        Annotated[np.ndarray[Any, Any], ti.Spec("FP32", ["batch", 10], name="probabilities")],
    ]:
        """The labels of a batch of images, and how sure they are."""
        probabilities = self.classifier.predict_proba(image).astype(np.float32)
        return probabilities.argmax(axis=1)[:, None].astype(np.int64), probabilities


def main() -> None:
    """Ask for the labels of images that the classifier has not seen."""
    with ti.Server() as server:
        model = server.add_model(Digits, name="digits", max_batch_size=32, batching=ti.Batching(max_queue_delay_us=500))
        requests = ({"image": image[None]} for image in IMAGES[TEST])
        labels = [response.outputs["label"].numpy().item() for response in model.infer_many(requests)]
        right = sum(label == truth for label, truth in zip(labels, LABELS[TEST], strict=True))
        statistics = model.statistics()["model_stats"][0]
        print(f"{right} of {len(labels)} labels are right")
        print(f"{statistics['inference_count']} images in {statistics['execution_count']} calls of the classifier")


if __name__ == "__main__":
    main()
