"""``demo``: handwritten digits, classified by a model that Triton schedules inside this Python process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.progress import Progress
from rich.progress_bar import ProgressBar
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from ..batching import Batching
from ..model import Model
from ..server import Server
from .plots import plot_demo
from .steps import Steps

__all__ = ["Digits", "Traffic", "formed_batches", "load_halves", "run", "send", "serve", "train"]

Images = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

_IMAGE_SHAPE = (8, 8)
_IN_FLIGHT = 64
_MAX_BATCH_SIZE = 32
_MAX_QUEUE_DELAY_US = 500
_BAR_WIDTH = 40


@dataclass(frozen=True)
class Digits:
    """Images of handwritten digits, and the digits that they show."""

    images: Images
    labels: Labels


@dataclass(frozen=True)
class Traffic:
    """What a client got: the answers, the seconds that each one took, and the seconds for all of them."""

    labels: Labels
    latencies: npt.NDArray[np.float64]
    seconds: float


def run(plot: Path | None = None) -> None:
    """Trains a classifier, serves it, sends it images and prints what came of it; draws it into the file `plot`.

    Exits with status 1 when an answer differs from what the classifier gives when it is called directly.
    """
    seen, unseen = load_halves()
    # Metrics are not read here, and Triton's look for a GPU's ends in an error message where there is none.
    server = Server(metrics=False)
    with Steps() as steps:
        with steps.step(f"training a classifier on {len(seen.labels)} images"):
            classifier = train(seen)
        with steps.step("starting Triton in this process"):
            server.start(progress=steps.model)
    with server:
        version = server.metadata()["version"]
        with Steps() as steps, steps.step("loading the classifier as a model"):
            model = serve(server, classifier)
        traffic = _send_with_progress(model, unseen.images)
        batches = formed_batches(model)
    agreement = _share_of_equal(traffic.labels, _predict(classifier, unseen.images))
    console = Console(highlight=False)
    console.print(f"Triton {version} in this Python process, a classifier trained on {len(seen.labels)} other images")
    console.print(_results(unseen, traffic, agreement), _chart(batches), sep="\n")
    if plot is not None:
        plot_demo(plot, batches, (traffic.latencies * 1e3).tolist())
    if agreement != 1:
        console.print("[red]answers differ from those of direct calls[/]")
        raise typer.Exit(1)


def load_halves() -> tuple[Digits, Digits]:
    """The first and the second half of scikit-learn's bundled images."""
    pixels, labels = load_digits(return_X_y=True)
    images = np.asarray(pixels, np.float32).reshape(-1, *_IMAGE_SHAPE)
    labels = np.asarray(labels, np.int64)
    middle = len(images) // 2
    return Digits(images[:middle], labels[:middle]), Digits(images[middle:], labels[middle:])


def train(digits: Digits) -> SVC:
    """A support vector classifier that has learned from the given images."""
    return SVC().fit(_flat(digits.images), digits.labels)


def serve(server: Server, classifier: SVC) -> Model:
    """Adds the classifier as a model for single images, which Triton joins to batches."""

    def classify(image: Images) -> Labels:
        return _predict(classifier, image)[:, np.newaxis]

    return server.add_model(
        classify,
        name="digits",
        inputs={"image": (np.float32, _IMAGE_SHAPE)},
        outputs={"label": (np.int64, (1,))},
        max_batch_size=_MAX_BATCH_SIZE,
        batching=Batching(max_queue_delay_us=_MAX_QUEUE_DELAY_US),
    )


async def send(model: Model, images: Images, in_flight: int, advance: Callable[[], None]) -> Traffic:
    """Sends each image as a request of its own, never more than `in_flight` at a time.

    `advance` is called after each answer. A latency is the time from sending a request until its answer is a number
    in Python; no request waits on the client's side.
    """
    labels = np.empty(len(images), np.int64)
    latencies = np.empty(len(images))
    # Shared: each sender takes the next image that nobody has sent yet.
    unsent = iter(enumerate(images))
    started = time.perf_counter()
    await asyncio.gather(*(_send_each(model, unsent, labels, latencies, advance) for _ in range(in_flight)))
    return Traffic(labels, latencies, time.perf_counter() - started)


async def _send_each(
    model: Model,
    unsent: Iterable[tuple[int, Images]],
    labels: Labels,
    latencies: npt.NDArray[np.float64],
    advance: Callable[[], None],
) -> None:
    for index, image in unsent:
        started = time.perf_counter()
        async for response in model.async_infer(inputs={"image": image[np.newaxis]}):
            labels[index] = response.outputs["label"].numpy()[0, 0]
        latencies[index] = time.perf_counter() - started
        advance()


def formed_batches(model: Model) -> dict[int, int]:
    """How often the model was executed with each batch size, from Triton's own statistics."""
    (statistics,) = model.statistics()["model_stats"]
    counts = {int(entry["batch_size"]): int(entry["compute_infer"]["count"]) for entry in statistics["batch_stats"]}
    return dict(sorted(counts.items()))


def _send_with_progress(model: Model, images: Images) -> Traffic:
    # On the standard error, so that a script that takes the output gets the numbers alone.
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("classifying", total=len(images))
        return asyncio.run(send(model, images, _IN_FLIGHT, lambda: progress.advance(task)))


def _results(digits: Digits, traffic: Traffic, agreement: float) -> Table:
    median, p95, p99 = np.percentile(traffic.latencies, [50, 95, 99]) * 1e3
    count = len(digits.images)
    table = Table.grid(padding=(0, 2))
    for name, value in (
        ("requests", f"{count}, one image each, {_IN_FLIGHT} in flight"),
        ("accuracy", f"{_share_of_equal(traffic.labels, digits.labels):.2%}"),
        ("agreement with direct calls", f"{agreement:.2%}"),
        ("requests per second", f"{count / traffic.seconds:,.0f}"),
        ("latency p50 / p95 / p99", f"{median:.2f} / {p95:.2f} / {p99:.2f} ms"),
    ):
        table.add_row(name, value)
    return table


def _chart(batches: dict[int, int]) -> Table:
    table = Table(title="batches that Triton formed", title_justify="left", box=None)
    table.add_column("batch size", justify="right")
    table.add_column("executions", justify="right")
    table.add_column()
    most = max(batches.values())
    for size, executions in batches.items():
        # rich's bar knows what to do where the terminal has ASCII only.
        bar = ProgressBar(total=most, completed=executions, width=_BAR_WIDTH, finished_style="bar.complete")
        table.add_row(str(size), str(executions), bar)
    return table


def _predict(classifier: SVC, images: Images) -> Labels:
    return np.asarray(classifier.predict(_flat(images)), np.int64)


def _flat(images: Images) -> npt.NDArray[Any]:
    return images.reshape(len(images), -1)


def _share_of_equal(first: Labels, second: Labels) -> float:
    return float(np.mean(first == second))
