"""`python -m benchmarks.http_load`: many requests at saturation, from another process than the one that serves.

Each request has a number of its own, which a Python function counts and answers. More connections ask than the endpoint
lets in, so that some are told 503, and ask again. At the end none may be lost, executed twice or answered with that of
another, and the memory of the serving process must not have grown with their count. Then the endpoint is closed while
all connections are asking: what was executed must have been answered, and the rest not executed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .errors import BenchmarkError
from .memory import resident_bytes, slope

_MOST_BYTES_PER_REQUEST = 16  # what a fluctuation of the memory may look like over many requests …
_MANY = 100_000  # … so many
_PARTS = 20
_WARM_PARTS = 4
_SERVER = """
import json, sys
import numpy as np
import triton_inprocess as ti
from triton_inprocess.asgi import Limits
executed = np.ones(int(sys.argv[1]), np.uint8)  # touched, so that its pages are there
executed[:] = 0
def count(number):
    executed[number] += 1
    return number * 3
vector = {"number": (np.uint64, (1,))}
with ti.Server(gpu_metrics=False) as server:
    server.add_model(count, name="count", inputs=vector, outputs={"answer": vector["number"]})
    serving = server.serve(0, limits=Limits(max_in_flight=int(sys.argv[2])))
    print(*serving.address, flush=True)
    sys.stdin.readline()
    serving.close()
    print(json.dumps(np.flatnonzero(executed).tolist()), flush=True)
    print(json.dumps(np.flatnonzero(executed > 1).tolist()), flush=True)
"""


@dataclass
class Found:
    """What a run has shown."""

    requests: int
    refused: int = 0
    seconds: float = 0.0
    bytes_per_request: float = 0.0
    answered_at_the_end: int = 0
    cut_at_the_end: int = 0
    memory: list[tuple[int, int]] = field(default_factory=list)


class _Connection:
    """One that asks and waits for the answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, number: int) -> int:
        """The status; raises BenchmarkError for another's answer, and OSError or EOFError without any."""
        entry = {"name": "number", "shape": [1], "datatype": "UINT64", "data": [number]}
        body = json.dumps({"id": str(number), "inputs": [entry]}).encode()
        head = f"POST /v2/models/count/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        await self._writer.drain()
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        content = await self._reader.readexactly(length)
        status = int(lines[0].split()[1])
        if status == 200:
            answer = json.loads(content)
            if answer["id"] != str(number) or answer["outputs"][0]["data"] != [number * 3]:
                raise BenchmarkError(f"request {number} has got the answer {content!r}")
        elif status != 503:
            raise BenchmarkError(f"request {number} has got {status}: {content!r}")
        return status

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):  # the server has closed it
            await self._writer.wait_closed()


class LoadTest:
    """Asks so many requests on so many connections of an endpoint that lets fewer in."""

    def __init__(self, requests: int, connections: int, max_in_flight: int) -> None:
        self._requests = requests
        self._connections = connections
        self._max_in_flight = max_in_flight
        self._most_numbers = requests + 1_000_000

    def run(self) -> Found:
        """Do it; raises BenchmarkError for what is not as it must be."""
        found = Found(self._requests)
        with self._server() as (process, address):
            answered, cut = asyncio.run(self._ask_all(found, process, address))
            assert process.stdout is not None
            executed = set(json.loads(process.stdout.readline()))
            twice = json.loads(process.stdout.readline())
            if process.wait(60) != 0:
                raise BenchmarkError(f"the server has ended with status {process.returncode}")
        _check(not twice, f"requests {twice[:5]} were executed twice")
        lost = set(range(self._requests)) - executed
        _check(not lost, f"{len(lost)} requests were answered, and not executed: {sorted(lost)[:5]}")
        last = {number for number in executed if number >= self._requests}
        _check(answered == last, f"executed {len(last)} at the end, answered {len(answered)}")
        _check(not cut & executed, f"{len(cut & executed)} requests were executed at the end, and not answered")
        found.answered_at_the_end, found.cut_at_the_end = len(answered), len(cut)
        steady = found.memory[_WARM_PARTS:]
        found.bytes_per_request = slope([each[0] for each in steady], [each[1] for each in steady])
        return found

    @contextmanager
    def _server(self) -> Iterator[tuple[subprocess.Popen[str], tuple[str, int]]]:
        command = [sys.executable, "-c", _SERVER, str(self._most_numbers), str(self._max_in_flight)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                host, port = process.stdout.readline().split()
                yield process, (host, int(port))
            finally:
                process.kill()

    async def _ask_all(
        self, found: Found, process: subprocess.Popen[str], address: tuple[str, int]
    ) -> tuple[set[int], set[int]]:
        connections = [_Connection(*await asyncio.open_connection(*address)) for _ in range(self._connections)]
        numbers = iter(range(self._requests))
        look_every = max(1, self._requests // _PARTS)

        async def ask_until_answered(connection: _Connection) -> None:
            for number in numbers:
                while await connection.ask(number) == 503:
                    found.refused += 1
                    await asyncio.sleep(0.001)
                if number % look_every == 0:
                    found.memory.append((number, resident_bytes(process.pid)))

        started = time.perf_counter()
        await asyncio.gather(*map(ask_until_answered, connections))
        found.seconds = time.perf_counter() - started
        found.memory.sort()

        answered: set[int] = set()
        cut: set[int] = set()
        more = itertools.count(self._requests)

        async def ask_until_the_end(connection: _Connection) -> None:
            for number in more:
                try:
                    if await connection.ask(number) == 200:
                        answered.add(number)
                    else:
                        await asyncio.sleep(0.001)
                except (OSError, EOFError):
                    cut.add(number)
                    return

        tasks = [asyncio.create_task(ask_until_the_end(each)) for each in connections]
        while len(answered) < 10 * self._connections:
            await asyncio.sleep(0.001)
            for task in tasks:
                if task.done():
                    task.result()  # what went wrong
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        await asyncio.gather(*tasks)
        await asyncio.gather(*(each.close() for each in connections))
        return answered, cut


def _check(right: bool, message: str) -> None:
    if not right:
        raise BenchmarkError(message)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http_load", description=__doc__)
    parser.add_argument("--requests", type=int, default=200_000, help="requests (200,000)")
    parser.add_argument("--connections", type=int, default=64, help="connections that ask at once (64)")
    parser.add_argument("--max-in-flight", type=int, default=32, help="requests that are let in at once (32)")
    arguments: Any = parser.parse_args()
    found = LoadTest(arguments.requests, arguments.connections, arguments.max_in_flight).run()
    print(
        f"{found.requests} requests in {found.seconds:.1f} s ({found.requests / found.seconds:.0f}/s), each executed "
        f"and answered once; {found.refused} times 503; {found.bytes_per_request:+.2f} bytes per request"
    )
    print(f"at the end {found.answered_at_the_end} were answered, {found.cut_at_the_end} connections closed")
    if found.requests >= _MANY and found.bytes_per_request > _MOST_BYTES_PER_REQUEST:
        raise BenchmarkError(f"memory grows by {found.bytes_per_request:.1f} bytes per request")


if __name__ == "__main__":
    main()
