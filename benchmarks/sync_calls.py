"""One inference at a time, in the forms that this package offers; each function returns the seconds of them all.

The loops are written out: a function that is passed in would be measured, too.
"""

from __future__ import annotations

import threading
import time

from .target import Target

SUBMITTED_AT_ONCE = 256  # as the floor does


def result(target: Target, count: int) -> float:
    """By way of `infer(...).result()`."""
    model, array, input_name, output_name = target.model, target.array, target.input_name, target.output_name
    start = time.perf_counter()
    for _ in range(count):
        model.infer({input_name: array}).result().outputs[output_name].numpy()
    return time.perf_counter() - start


def iterator(target: Target, count: int) -> float:
    """By way of the iterator over the responses."""
    model, array, input_name, output_name = target.model, target.array, target.input_name, target.output_name
    start = time.perf_counter()
    for _ in range(count):
        for response in model.infer(inputs={input_name: array}):
            response.outputs[output_name].numpy()
    return time.perf_counter() - start


def keywords(target: Target, count: int) -> float:
    """By way of `model(x=...)`."""
    model, inputs, output_name = target.model, target.inputs, target.output_name
    start = time.perf_counter()
    for _ in range(count):
        model(**inputs)[output_name].numpy()
    return time.perf_counter() - start


def submit(target: Target, count: int) -> float:
    """The submissions alone; the responses are waited for in between, untimed."""
    model, array, input_name = target.model, target.array, target.input_name
    seconds = 0.0
    for first in range(0, count, SUBMITTED_AT_ONCE):
        turns = range(min(SUBMITTED_AT_ONCE, count - first))
        start = time.perf_counter()
        pending = [model.infer({input_name: array}) for _ in turns]
        seconds += time.perf_counter() - start
        for each in pending:
            each.result()
    return seconds


def latencies(target: Target, count: int) -> list[float]:
    """The seconds of each."""
    model, array, input_name, output_name = target.model, target.array, target.input_name, target.output_name
    clock = time.perf_counter
    seconds = []
    for _ in range(count):
        start = clock()
        model.infer({input_name: array}).result().outputs[output_name].numpy()
        seconds.append(clock() - start)
    return seconds


def in_threads(target: Target, threads: int, count: int) -> float:
    """As `result`, each of several threads its share."""
    shares = [count // threads + (number < count % threads) for number in range(threads)]
    ready = threading.Barrier(threads + 1)
    failures: list[BaseException] = []

    def work(share: int) -> None:
        ready.wait()
        try:
            result(target, share)
        except BaseException as failure:
            failures.append(failure)

    running = [threading.Thread(target=work, args=(share,)) for share in shares]
    for thread in running:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    for thread in running:
        thread.join()
    seconds = time.perf_counter() - start
    if failures:
        raise failures[0]
    return seconds
