"""A server in each replica of a Ray Serve deployment: Ray spreads requests over machines, Triton batches them.

pip install 'ray[serve]' triton-inprocess
python examples/ray_serve/app.py            # starts a local Ray, asks, and ends
serve run examples.ray_serve.app:application --route-prefix /nearest
"""

from __future__ import annotations

import asyncio
import collections
import json
import os
import urllib.request
from typing import Any

import numpy as np
from ray import serve
from starlette.requests import Request

import triton_inprocess as ti

CENTERS = np.array([[0, 0], [10, 0], [0, 10]], np.float32)


def nearest(point: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The index of the center that is nearest to each point of a batch."""
    distances = np.linalg.norm(point[:, None, :] - CENTERS, axis=2)
    index: np.ndarray[Any, Any] = distances.argmin(axis=1)
    return index[:, None]


@serve.deployment(num_replicas=2, max_ongoing_requests=128, ray_actor_options={"num_cpus": 0.5})
class Nearest:
    """One replica: a process with a server, which it starts and stops."""

    def __init__(self) -> None:
        """Start the server, and add the model: Triton batches whatever requests Ray has sent here."""
        self._server = ti.Server(gpu_metrics=False).start()
        self._model = self._server.add_model(
            nearest,
            name="nearest",
            inputs={"point": (np.float32, (2,))},
            outputs={"center": (np.int64, (1,))},
            max_batch_size=64,
            batching=ti.Batching(max_queue_delay_us=2000),
        )

    async def __call__(self, request: Request) -> dict[str, int]:
        """For HTTP: {"point": [x, y]}."""
        body = await request.json()
        return {"center": (await self.ask(body["point"]))["center"]}

    async def ask(self, point: list[float]) -> dict[str, int]:
        """For handles of other deployments; the loop goes on meanwhile, so that many are asked at once."""
        response = await self._model.async_infer({"point": np.array([point], np.float32)})
        return {"center": response.outputs["center"].numpy().item(), "process": os.getpid()}

    async def statistics(self) -> dict[str, int]:
        """How many requests this replica has had, and in how many calls of the function."""
        (found,) = self._model.statistics()["model_stats"]
        return {"process": os.getpid(), "requests": found["inference_count"], "calls": found["execution_count"]}

    def check_health(self) -> None:
        """Called by Ray; a replica whose server is not ready is replaced."""
        if not self._server.ready():
            raise RuntimeError("the server is not ready")

    def __del__(self) -> None:
        """Called by Ray when the replica ends, after what it had accepted was answered."""
        self._server.stop()


application: Any = Nearest.bind()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]


async def ask_many(handle: Any, count: int) -> None:
    """Ask with so many points at once."""
    points = np.random.default_rng(0).uniform(-1, 11, (count, 2)).astype(np.float32)
    answers = await asyncio.gather(*(handle.ask.remote(point.tolist()) for point in points))
    right = sum(answer["center"] == nearest(point[None]).item() for answer, point in zip(answers, points, strict=True))
    by_process = collections.Counter(answer["process"] for answer in answers)
    print(f"{count} answers, {right} right, from {len(by_process)} replicas")


def main() -> None:
    """Run it on a Ray of this machine."""
    handle = serve.run(application, route_prefix="/nearest")
    try:
        asyncio.run(ask_many(handle, 1000))
        told = handle.statistics.remote().result(timeout_s=60)
        query = urllib.request.Request("http://127.0.0.1:8000/nearest", json.dumps({"point": [9, 1]}).encode())
        print("by HTTP:", urllib.request.urlopen(query, timeout=60).read().decode())
        print(f"a replica has answered {told['requests']} requests in {told['calls']} calls of the function")
    finally:
        serve.shutdown()


if __name__ == "__main__":
    main()
