"""TRITONSERVER_ServerOptions."""

from __future__ import annotations

import contextlib

from . import _native, runtime
from ._start_failures import start_failures
from .errors import UnsupportedError

__all__ = ["TRITONSERVER_ServerOptions"]


class TRITONSERVER_ServerOptions(_native.ServerOptions):
    """What a server is to be (TRITONSERVER_ServerOptions); it may be used for several.

    Directories that are not set are those that the loaded runtime brought along, where the library's own defaults are
    those of Triton's containers.
    """

    def __init__(self) -> None:
        """The library's defaults, but no retries of failing loads and peer access on, which it leaves to chance.

        (TRITONSERVER_ServerOptionsNew)
        """
        super().__init__()
        self._default_directories = {"backend", "cache", "repo_agent"}
        self._exit_timeout = 30
        self._control_mode = _native.ModelControlMode.NONE
        self._startup_models: list[str] = []
        self._exit_on_error = True
        super().set_exit_on_error(False)  # which is judged by _start_failures

    def set_backend_directory(self, path: str) -> None:
        """Where the backends are (TRITONSERVER_ServerOptionsSetBackendDirectory)."""
        super().set_backend_directory(path)
        self._default_directories.discard("backend")

    def set_cache_directory(self, path: str) -> None:
        """Where the caches are (TRITONSERVER_ServerOptionsSetCacheDirectory, from C API 1.20)."""
        super().set_cache_directory(path)
        self._default_directories.discard("cache")

    def set_repo_agent_directory(self, path: str) -> None:
        """Where the repository agents are (TRITONSERVER_ServerOptionsSetRepoAgentDirectory)."""
        super().set_repo_agent_directory(path)
        self._default_directories.discard("repo_agent")

    def set_exit_timeout(self, seconds: int) -> None:
        """How long a stop may take (TRITONSERVER_ServerOptionsSetExitTimeout)."""
        super().set_exit_timeout(seconds)
        self._exit_timeout = seconds

    def set_model_control_mode(self, mode: _native.ModelControlMode) -> None:
        """Who decides which models are loaded (TRITONSERVER_ServerOptionsSetModelControlMode)."""
        super().set_model_control_mode(mode)
        self._control_mode = _native.ModelControlMode(int(mode))  # a number is taken, too

    def set_startup_model(self, model_name: str) -> None:
        """Load a model at the start, in explicit mode; once for each, or * alone for all.

        (TRITONSERVER_ServerOptionsSetStartupModel)
        """
        super().set_startup_model(model_name)
        self._startup_models.append(model_name)

    def set_exit_on_error(self, exit: bool) -> None:
        """Whether the start fails when a model does not load (TRITONSERVER_ServerOptionsSetExitOnError).

        The library itself is never told to: it would unload the other models at once, which it does not always survive.
        """
        super().set_exit_on_error(exit)  # which says what is no bool
        self._exit_on_error = bool(exit)
        super().set_exit_on_error(False)

    @property
    def _explicit(self) -> bool:
        return self._control_mode is _native.ModelControlMode.EXPLICIT

    def _start_failures(self, server: _native.Server) -> list[str]:
        if not self._exit_on_error:
            return []
        loads_everything = not self._explicit or "*" in self._startup_models
        return start_failures(server, self._startup_models if self._explicit else (), loads_everything)

    def _complete(self) -> None:
        library, _, _ = runtime.load_library()
        for name, setter, folder in (
            ("backend", self.set_backend_directory, runtime.BACKENDS),
            ("cache", self.set_cache_directory, runtime.CACHES),
            ("repo_agent", self.set_repo_agent_directory, runtime.REPO_AGENTS),
        ):
            directories = runtime.directories_beside(library, folder)
            if name in self._default_directories and directories:
                with contextlib.suppress(UnsupportedError):  # which nobody has asked for
                    setter(directories[0])
