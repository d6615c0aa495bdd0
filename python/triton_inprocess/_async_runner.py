"""Functions that are awaited, many at once."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ._function_runner import FunctionRunner
from .errors import CancelledError, InternalError

if TYPE_CHECKING:
    from ._native import Execution
    from .function_model import FunctionModel
    from .instance_context import InstanceContext

__all__ = ["AsyncRunner"]

_LOOK = 0.02  # seconds between two looks whether requests were cancelled
_END_TIMEOUT = 30.0  # seconds that what runs on the loop has to come back to it


class AsyncRunner(FunctionRunner):
    """Async functions and async generators, on one event loop of the model's own, on a thread of its own."""

    def __init__(self, model: FunctionModel) -> None:
        """The loop begins with the first instance."""
        super().__init__(model)
        self._room = threading.BoundedSemaphore(model.max_concurrency)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._marked = False
        self._looking = False
        self._running: dict[asyncio.Task[None], Execution] = {}
        self._stream = model.signature.kind == "async generator"

    def begin_instance(self, key: int, name: str) -> None:
        """Start the loop with the first one; `initialize` is called on it, and awaited."""
        self._begin_loop()
        super().begin_instance(key, name)

    def prepare(self) -> None:
        """As the first instance does."""
        self._begin_loop()
        super().prepare()

    def _begin_loop(self) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            # A daemon: what is left of it must not keep the interpreter, which stops the server at its end.
            self._thread = threading.Thread(
                target=self._loop.run_forever, name=f"triton-inprocess-{self.model.name}", daemon=True
            )
            self._thread.start()

    def end_instance(self, key: int) -> None:
        """End the loop with the last one."""
        super().end_instance(key)
        if not len(self.instances):
            self._end_loop()

    def close(self) -> None:
        """Finalize what Triton has not, and end the loop."""
        super().close()
        self._end_loop()

    def run(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        """Hand each request to the loop; waits while there is no room."""
        loop = self._loop
        assert loop is not None
        for each in execution.split():
            self._room.acquire()
            try:
                loop.call_soon_threadsafe(self._begin, function, instance, each)
            except RuntimeError as error:  # the loop was ended under us
                self._room.release()
                each.fail(InternalError(f"the event loop of model {self.model.name!r} has ended: {error}"))

    def _begin(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        if not self._marked:
            execution.mark_thread()
            self._marked = True
        assert self._loop is not None
        task = self._loop.create_task(self._answer(function, instance, execution))
        self._running[task] = execution
        task.add_done_callback(self._done)
        if not self._looking:
            self._looking = True
            self._loop.call_later(_LOOK, self._look)

    def _done(self, task: asyncio.Task[None]) -> None:
        execution = self._running.pop(task, None)
        self._room.release()
        if execution is not None and execution.count:  # the task was cancelled before it began, or while it ended
            execution.fail(CancelledError("the request was cancelled"))
        if not task.cancelled():
            task.exception()  # everything was answered: nothing is to be said of it

    def _look(self) -> None:
        """Cancel the tasks of requests that were cancelled, as long as there are any."""
        for task, execution in list(self._running.items()):
            if execution.cancelled:
                task.cancel()
        self._looking = bool(self._running) and self._loop is not None
        if self._looking and self._loop is not None:
            self._loop.call_later(_LOOK, self._look)

    def take_told(self, told: Any) -> None:
        """`initialize` and `finalize` may be async functions, too: they run on the loop."""
        if inspect.isawaitable(told):
            assert self._loop is not None
            asyncio.run_coroutine_threadsafe(_awaited(told), self._loop).result()

    async def _answer(self, function: Callable[..., Any], instance: InstanceContext, execution: Execution) -> None:
        try:
            arguments = self.arguments.of(execution)
            called = function(**arguments, **self.extra_arguments(instance, execution))
            del arguments
            if self._stream:
                async with contextlib.aclosing(called) as results:
                    while True:
                        try:
                            # Not by a variable: a response may take over the memory of what nobody refers to any more.
                            execution.send(await anext(results))
                        except StopAsyncIteration:
                            break
                execution.end()
            else:
                execution.answer(await called)
        except asyncio.CancelledError:
            execution.fail(CancelledError("the request was cancelled"))
            raise
        except BaseException as error:  # SystemExit would end the loop
            execution.fail(error)

    def _end_loop(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is None or thread is None:
            return
        with contextlib.suppress(RuntimeError):  # it has ended already
            loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(_END_TIMEOUT)
            if not thread.is_alive():
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.close()


async def _awaited(told: Awaitable[object]) -> object:
    return await told
