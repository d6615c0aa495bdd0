"""TRITONSERVER_Server."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Sequence
from typing import NoReturn

from . import _native
from ._background import interruptible
from ._capi_server_options import TRITONSERVER_ServerOptions
from ._fork_locks import reentrant_lock
from ._lifetime import running_servers
from ._quiescence import wait_for_triton_threads
from ._stopping import UNLOAD_GRACE, prepare_stop
from .errors import InternalError, TritonError, UnavailableError

__all__ = ["TRITONSERVER_Server"]


class TRITONSERVER_Server(_native.Server):
    """A running server (TRITONSERVER_Server).

    It is stopped when it is dropped, at the latest at the end of the interpreter. Its C object is deleted only when
    that is safe: when the stop succeeded, no request is in flight and no other server runs in the process.
    """

    def __init__(self, options: TRITONSERVER_ServerOptions) -> None:
        """Start a server and load its models (TRITONSERVER_ServerNew).

        Raises InternalError or InvalidArgumentError, as the library says, when an option is wrong, or a model does not
        load and `set_exit_on_error` is on.
        """
        if not isinstance(options, TRITONSERVER_ServerOptions):
            raise TypeError(f"options must be TRITONSERVER_ServerOptions, not {type(options).__name__}")
        options._complete()
        self._exit_timeout = options._exit_timeout
        self._explicit = options._explicit
        self._life = reentrant_lock()
        self._started = False
        # When a signal ends the wait for it, it is stopped as soon as it has started.
        interruptible(lambda: self._start(options), self._stop_or_warn)

    def _start(self, options: TRITONSERVER_ServerOptions) -> None:
        super().__init__(options)
        self._started = True
        running_servers.add(self)
        failures = options._start_failures(self)
        if failures:
            self._stop_or_warn()
            raise InternalError("the server did not start: " + "\n".join(failures))

    def stop(self) -> None:
        """Stop the server: no request is taken any more, those in flight are waited for (TRITONSERVER_ServerStop).

        Ends when the last request is answered, at the latest after the exit timeout (before C API 1.30, after twice
        that). Stopping again does nothing.

        Raises InternalError when the exit timeout has passed: the server is left behind then until the process ends.
        Raises UnavailableError inside a callback or a model's function, for which it would have to wait, and for a
        server that was left behind before.
        """
        if not hasattr(self, "_life"):
            raise TypeError(f"this {type(self).__name__} was not initialized: its __init__ has not been called")
        if _native.in_callback() or _native.executing_model() is not None:
            raise UnavailableError("a callback or a model's function cannot stop a server: it would wait for itself")
        deadline = time.monotonic() + max(self._exit_timeout, UNLOAD_GRACE)
        self._started = False  # here: whoever interrupts the wait does not want another one at the end of the process
        running_servers.discard(self)
        interruptible(lambda: self._stop_by(deadline))

    def _stop_by(self, deadline: float) -> None:
        interruption: BaseException | None = None
        with self._life:
            self._started = False
            running_servers.discard(self)
            try:
                if self.running:
                    prepare_stop(self, self._explicit, deadline, self._exit_timeout)
            except BaseException as error:  # such as that of a signal's handler: the server is stopped all the same
                interruption = error
            if self.running and self.use_count and time.monotonic() >= deadline and not _can_set_exit_timeout():
                # The library would take its whole exit timeout to find out the same.
                users = self.use_count
                self.give_up()
                raise InternalError(f"the time for the stop is over, and {users} requests or responses are not")
            self.stop_within(max(0.0, deadline - time.monotonic()))
        if interruption is not None:
            raise interruption

    def register_model_repository(
        self, repository_path: str, name_mapping: Sequence[_native.TRITONSERVER_Parameter]
    ) -> None:
        """Add a repository in explicit mode; STRING parameters give folders other names.

        (TRITONSERVER_ServerRegisterModelRepository)
        """
        interruptible(lambda: super(TRITONSERVER_Server, self).register_model_repository(repository_path, name_mapping))

    # What may unload a model waits for Triton's threads first, here in Python: a C++ function that calls Python would
    # be unwound where the interpreter ends meanwhile.

    def unregister_model_repository(self, repository_path: str) -> None:
        """Remove a repository (TRITONSERVER_ServerUnregisterModelRepository)."""
        wait_for_triton_threads()
        interruptible(lambda: super(TRITONSERVER_Server, self).unregister_model_repository(repository_path))

    def poll_model_repository(self) -> None:
        """Look for changes in the repositories, in mode POLL (TRITONSERVER_ServerPollModelRepository)."""
        wait_for_triton_threads()
        interruptible(super().poll_model_repository)

    def load_model(self, model_name: str) -> None:
        """Load a model, or load it again, in explicit mode (TRITONSERVER_ServerLoadModel)."""
        wait_for_triton_threads()
        interruptible(lambda: self._load_first(model_name))

    def _load_first(self, model_name: str) -> None:
        """Load a model that is not loaded, so that nothing is unloaded and Triton's threads may be busy."""
        super().load_model(model_name)

    def load_model_with_parameters(self, model_name: str, parameters: Sequence[_native.TRITONSERVER_Parameter]) -> None:
        """Load a model with the configuration of parameter `config` (JSON), in explicit mode.

        Parameters `file:<version>/<name>` (BYTES) give it files (TRITONSERVER_ServerLoadModelWithParameters).
        """
        wait_for_triton_threads()
        interruptible(lambda: super(TRITONSERVER_Server, self).load_model_with_parameters(model_name, parameters))

    def unload_model(self, model_name: str) -> None:
        """Unload a model, in explicit mode (TRITONSERVER_ServerUnloadModel).

        It goes when its last request is answered.
        """
        wait_for_triton_threads()
        interruptible(lambda: super(TRITONSERVER_Server, self).unload_model(model_name))

    def unload_model_and_dependents(self, model_name: str) -> None:
        """The same with the models that only it needs (TRITONSERVER_ServerUnloadModelAndDependents)."""
        wait_for_triton_threads()
        interruptible(lambda: super(TRITONSERVER_Server, self).unload_model_and_dependents(model_name))

    def set_exit_timeout(self, timeout: int) -> None:
        """Seconds that `stop` may take (TRITONSERVER_ServerSetExitTimeout, from C API 1.30)."""
        super().set_exit_timeout(timeout)
        self._exit_timeout = timeout

    def __reduce__(self) -> NoReturn:
        """A server is one of a kind."""
        raise TypeError("a TRITONSERVER_Server cannot be copied or pickled")

    def __del__(self) -> None:
        """Stop a server that nobody can stop any more."""
        if not getattr(self, "_started", False):
            return
        if _native.in_callback() or _native.executing_model() is not None:
            # The collector came on a thread that the stop would wait for.
            threading.Thread(target=self._stop_or_warn, name="triton-inprocess-stop", daemon=True).start()
        else:
            self._stop_or_warn()

    def _stop_or_warn(self) -> None:
        if not self._started:  # whoever has stopped it was told how that went
            return
        try:
            self.stop()
        except TritonError as error:
            warnings.warn(
                f"a Triton server could not be stopped ({error}); it is left behind until the process ends",
                RuntimeWarning,
                stacklevel=2,
            )


def _can_set_exit_timeout() -> bool:
    return _native.available("TRITONSERVER_ServerSetExitTimeout")
