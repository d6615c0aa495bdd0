"""A model that answers with one token after the other, and stops when nobody listens any more.

    python examples/streaming_tokens.py

A generator function is a decoupled model: each value that it yields is a response. Leaving the iteration cancels the
request, and Triton's cancellation closes the generator.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np

import triton_inprocess as ti

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "the",
    "lazy",
    "dog",
    "who",
    "does",
    "not",
    "mind",
    "at",
    "all",
]

closed = threading.Event()


def tokens(
    prompt: Annotated[np.ndarray[Any, Any], ti.Spec("BYTES", [1])], *, parameters: dict[str, Any]
) -> Iterator[Annotated[np.ndarray[Any, Any], ti.Spec("BYTES", [1], name="token")]]:
    """Go on after the prompt's last word, `max_tokens` words at most."""
    last = prompt[0].decode().split()[-1]
    start = WORDS.index(last) + 1
    try:
        for word in WORDS[start : start + int(parameters.get("max_tokens", len(WORDS)))]:
            yield np.array([word.encode()], object)
    finally:
        closed.set()


def main() -> None:
    """Stream to the end, and once more until five tokens have come."""
    with ti.Server() as server:
        model = server.add_model(tokens, name="tokens")
        request: dict[str, Any] = {"prompt": ["the quick"]}

        for response in model.infer(request, parameters={"max_tokens": 3}):
            if response.outputs:  # the last response of a stream only says that it is over
                print(response.outputs["token"].to_string_array()[0], end=" ", flush=True)
        print()

        closed.clear()
        with model.infer(request) as stream:
            heard = [next(stream).outputs["token"].to_string_array()[0] for _ in range(5)]
        print(*heard, "…")
        print("the generator was closed:", closed.wait(10))


if __name__ == "__main__":
    main()
