"""A Triton server in this process."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeVar, overload

from . import _native, _process_options, runtime
from ._background import BackgroundCall
from ._capi_server import TRITONSERVER_Server
from ._capi_server_options import TRITONSERVER_ServerOptions
from ._durations import interval_argument, timeout_argument
from ._extension_file import BACKEND_NAME, extension_path
from ._fork_locks import reentrant_lock
from ._lifetime import running_servers
from ._messages import object_of
from ._model_servers import servers
from ._native import MetricFormat, ModelControlMode
from ._start_failures import start_failures
from ._stopping import UNLOAD_GRACE, dependents_of, model_index, unloaded, unloading
from .errors import (
    AlreadyExistsError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    TritonError,
    UnavailableError,
)
from .flags import ModelIndexFlag
from .model import Model
from .options import Options, PathLike

if TYPE_CHECKING:
    from collections.abc import Collection
    from types import TracebackType

    from typing_extensions import Unpack

    from ._keywords import FunctionKeywords, OptionsKeywords
    from ._limits import Limits
    from ._load_parameters import FileContent, LoadValue
    from ._load_progress import LoadProgress, Progress
    from ._log_forwarder import LogForwarder
    from ._private_files import PrivateFiles
    from ._served_model import ServedModel
    from ._trace_delivery import TraceDelivery
    from .batching import Batching
    from .byte_counts import ByteCounts
    from .ensemble_step import EnsembleStep
    from .function_model import FunctionModel
    from .metrics_report import MetricsReport
    from .rate_limiter import RateLimiter
    from .sequence_batching import SequenceBatching
    from .serving import Serving
    from .tensor_spec import TensorSpecs
    from .warm_up import WarmUp

__all__ = ["Server"]

Function = TypeVar("Function", bound="Callable[..., Any]")

_UNLOAD_POLL = 0.001


class Server:
    """A Triton server in this process. Making one does not touch Triton: `start` does.

    ::

        with triton_inprocess.Server(model_repository="models") as server:
            for response in server.model("classifier").infer(inputs={"image": array}):
                print(response.outputs["label"].numpy())
    """

    _log_owner: ClassVar[int] = 0  # who has last said where the process logs to

    def __init__(self, options: Options | None = None, **options_fields: Unpack[OptionsKeywords]) -> None:
        """A server with the given Options, or with Options made of the keywords.

        Raises TypeError for both at once, and for a keyword that is no field of Options.
        """
        if options is not None and options_fields:
            raise TypeError(f"give options or its fields, not both: {', '.join(options_fields)}")
        if options is not None and not isinstance(options, Options):
            raise TypeError(f"options must be an Options, not {type(options).__name__}")
        self.options: Options = options if options is not None else Options(**options_fields)
        self._native: TRITONSERVER_Server | None = None
        self._process: int | None = None
        self._stopped = False
        self._files: PrivateFiles | None = None
        self._log: LogForwarder | None = None
        self._traces: TraceDelivery | None = None
        self._functions: dict[str, ServedModel] = {}
        self._servings: list[Serving] = []
        self._effective = Options()  # while it runs: its options with what other servers have set for the process
        self._ending: BackgroundCall[TritonError | None] | None = None
        self._life = reentrant_lock()  # of start and stop
        self._changing = reentrant_lock()  # of the files and functions of added models

    # Life

    def start(
        self,
        wait_until_ready: bool = False,
        polling_interval: float = 0.1,
        timeout: float | None = None,
        *,
        progress: Progress | None = None,
    ) -> Server:
        """Find and load the runtime, start the server and load its models (TRITONSERVER_ServerNew).

        Args:
            wait_until_ready: Whether to return only when `ready()` is true.
            polling_interval: Seconds between two looks at that.
            timeout: Seconds to wait for it at most.
            progress: Called with name, version (-1 when it has none yet), state ("LOADING", "READY", "UNAVAILABLE", …)
                and reason of each model whose state has changed, on this thread, while the models are loaded. What it
                raises is raised here once they are, and the server is stopped. In mode NONE and POLL, and with
                `model_namespacing`, Triton lets nobody look before it has loaded everything: the calls come then.

        Ctrl-C ends the wait at once; the server is stopped in the background as soon as it has started.

        Raises:
            TypeError, ValueError: A field of the options, or an argument, is of the wrong type or value.
            InvalidArgumentError: The server was started before, or an option is wrong.
            NotFoundError: There is no Triton runtime; the message says what was looked for and how to get one.
            InternalError: A repository does not exist, or a model failed to load and `exit_on_error` is set.
            UnsupportedError: An option was asked for that the runtime is too old for.
            UnavailableError: The server was not ready in time.
        """
        interval = interval_argument("polling_interval", polling_interval)
        limit = timeout_argument("timeout", timeout)
        watcher = self._watcher(progress)
        with self._life:
            self._start(watcher)
        if wait_until_ready:
            self._wait_for(self.ready, interval, limit, "the server to be ready")
        return self

    @staticmethod
    def _watcher(progress: Progress | None) -> LoadProgress | None:
        if progress is None:
            return None
        from ._load_progress import LoadProgress

        return LoadProgress(progress)

    def _start(self, watcher: LoadProgress | None) -> None:
        from . import _start_options

        if self._native is not None or self._stopped:
            raise InvalidArgumentError("the server was started already; a stopped server is not started again")
        _start_options.check(self.options)
        repositories = _start_options.repositories(self.options)
        library, _, _ = runtime.load_library()
        native_options = TRITONSERVER_ServerOptions()
        try:
            self._effective = _process_options.claim(id(self), self.options)
            self._prepare(native_options, repositories, library, defer_models=watcher is not None)
            native = self._started(native_options, watcher)
            self._trace_requests(native)
            self._native, self._process = native, os.getpid()
        except BaseException:
            self._release_files()
            raise
        running_servers.add(self)

    def stop(self, timeout: float | None = None) -> None:
        """Stop the server (TRITONSERVER_ServerStop): no request is accepted any more, those in flight are waited for.

        Ends as soon as the last request is answered, at the latest after `timeout` seconds, by default
        `options.exit_timeout`; models have half a second in any case to be unloaded, and in mode NONE and POLL, where
        only the library unloads them, it takes a second or two. A load in progress is waited for likewise. What is not
        answered by then is left behind with the server until the process ends, with one RuntimeWarning. Stopping twice,
        or before the start, does nothing.

        Ctrl-C ends the wait at once; the stop goes on in the background, and stopping again waits for it.

        Raises UnavailableError when it is called by the function of a model, or by a callback of `capi`: it would
        wait for itself. Raises TypeError or ValueError for a `timeout` that is no time.
        """
        limit = timeout_argument("timeout", timeout)
        self._require_stoppable()
        self._warn_of(self._end(limit))

    @staticmethod
    def _require_stoppable() -> None:
        executing = _native.executing_model()
        if executing is not None:
            raise UnavailableError(
                f"the function of model {executing!r} cannot stop its server: it would wait for itself"
            )
        if _native.in_callback():
            raise UnavailableError("a callback of capi cannot stop a server: it would wait for itself")

    def _end(self, limit: float | None) -> TritonError | None:
        """Stop; returns why that was not possible."""
        if not self._life.acquire(blocking=not self._delivers_here()):
            if self._stopped:
                return None  # whoever stops it waits for this thread
            raise UnavailableError("log_callback cannot stop a server that is being started: it would wait for itself")
        try:
            native, self._native = self._native, None
            if native is not None:
                self._stopped = True
                running_servers.discard(self)
                # Also when `capi` has stopped the C server, or the collector, which has found both at once. Not in
                # a forked child: the server, its files and its threads are the parent's.
                if self._process == os.getpid():
                    seconds = self.options.exit_timeout if limit is None else limit
                    return self._end_by(native, time.monotonic() + max(seconds, UNLOAD_GRACE))
            elif self._ending is not None:  # somebody's stop was interrupted, and goes on
                self._ending.wait()
            return None
        finally:
            self._life.release()

    def _delivers_here(self) -> bool:
        """Whether this thread is one of the server's own, which calls the functions of its options."""
        return any(each is not None and each.runs_here() for each in (self._log, self._traces))

    def _end_by(self, native: TRITONSERVER_Server, deadline: float) -> TritonError | None:
        if self._delivers_here():  # the stop waits for this thread, unless it is on it
            with self._changing:
                return self._stop(native, deadline)
        ending = BackgroundCall(lambda: self._stop(native, deadline), lambda: self._warn_of(ending.outcome))
        changing = False
        try:
            try:
                # Whoever adds or removes a model ends first: its files must not go while the library looks at them.
                changing = self._changing.acquire(timeout=max(0.0, deadline - time.monotonic()))
            finally:  # whatever interrupts it: the server is stopped all the same
                ending.start()
                self._ending = ending
            failure = ending.result()
            self._ending = None
            return failure
        except BaseException:
            ending.abandon()
            raise
        finally:
            if changing:
                self._changing.release()

    def _stop(self, native: TRITONSERVER_Server, deadline: float) -> TritonError | None:
        try:
            for serving in self._servings.copy():
                serving._close_by(deadline)
            native._stop_by(deadline)
        except TritonError as error:
            return error.with_traceback(None)  # it would hold these frames
        finally:
            self._release_files()
        return None

    @staticmethod
    def _warn_of(failure: TritonError | None) -> None:
        if failure is not None:
            warnings.warn(
                f"a Triton server could not be stopped ({failure}); it is left behind until the process ends",
                RuntimeWarning,
                stacklevel=3,
            )

    def __enter__(self) -> Server:
        """Start the server, unless it was."""
        return self if self._native is not None else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the server."""
        self.stop()

    async def __aenter__(self) -> Server:
        """Start the server, unless it was, in a thread: the event loop goes on.

        When the task is cancelled meanwhile, the server is stopped in the background as soon as it has started.
        """
        from ._async_call import in_background

        if self._native is None:
            await in_background(self.start, self.stop)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the server in a thread: the event loop goes on, and so does the stop when the task is cancelled."""
        from ._async_call import in_background

        self._require_stoppable()
        self._warn_of(await in_background(lambda: self._end(None)))

    def __reduce__(self) -> NoReturn:
        """A server is one of a kind."""
        raise TypeError("a Server cannot be copied or pickled")

    def __repr__(self) -> str:
        """Its id, where its models come from, and whether it runs."""
        state = "running" if self._native is not None else "stopped" if self._stopped else "not started"
        options = self.options
        return f"<Server {options.server_id!r}, model_repository={options.model_repository!r}, {state}>"

    def __del__(self) -> None:
        """Stop a server that nobody can stop any more."""
        if getattr(self, "_native", None) is None:
            return
        if _native.executing_model() is None and not _native.in_callback():
            self.stop()
        else:  # the collector came on a thread that the stop would wait for
            threading.Thread(target=self.stop, name="triton-inprocess-stop", daemon=True).start()

    def _running(self) -> TRITONSERVER_Server:
        if self._native is not None:
            return self._native
        if self._stopped:
            raise UnavailableError("the server is stopped")
        raise InvalidArgumentError("the server is not started: call start() first")

    def _prepare(
        self, native: TRITONSERVER_ServerOptions, repositories: list[str], library: str, defer_models: bool
    ) -> None:
        from . import _start_options
        from ._private_files import PrivateFiles

        options = self.options
        _start_options.check_folder("backend_directory", options.backend_directory)
        own_backends = [os.fspath(options.backend_directory)] if options.backend_directory is not None else []
        backends = [*own_backends, *runtime.directories_beside(library, runtime.BACKENDS)]
        names = [BACKEND_NAME, "inprocess", *(["python"] if options.python_models == "in-process" else [])]
        self._files = PrivateFiles(extension_path(), backends, names)
        servers[self._files.backends] = self
        _start_options.apply(self._effective, native)
        self._apply_models(native, repositories, self._files, defer_models and self._defers_models())
        native.set_backend_directory(self._files.backends)
        _start_options.check_folder("cache_directory", options.cache_directory)
        _start_options.check_folder("repo_agent_directory", options.repo_agent_directory)
        if options.cache_directory is not None:
            native.set_cache_directory(os.fspath(options.cache_directory))
        if options.repo_agent_directory is not None:
            native.set_repo_agent_directory(os.fspath(options.repo_agent_directory))
        self._apply_log(native)

    def _defers_models(self) -> bool:
        """Whether the startup models can be loaded after the start of a server that tells of its progress."""
        return self._explicit() and not self.options.model_namespacing

    def _apply_models(
        self, native: TRITONSERVER_ServerOptions, repositories: list[str], files: PrivateFiles, defer_models: bool
    ) -> None:
        options = self.options
        mode = options.model_control_mode
        native.set_model_control_mode(ModelControlMode.EXPLICIT if mode is None else mode)
        for repository in repositories:
            native.set_model_repository_path(repository)
        if mode in (None, ModelControlMode.EXPLICIT) or not repositories:
            native.set_model_repository_path(files.models)
        for name in [] if defer_models else self._startup_models(repositories):
            native.set_startup_model(name)

    def _startup_models(self, repositories: object) -> list[str]:
        startup = list(self.options.startup_models)
        return ["*"] if self.options.model_control_mode is None and not startup and repositories else startup

    def _apply_log(self, native: TRITONSERVER_ServerOptions) -> None:
        if self.options.log_callback is not None or self.options.log_to_logging:
            from . import _log_target

            self._log = _log_target.forwarder_for(self.options)
            if self.options.log_to_logging:
                _log_target.enable_levels(native)
        path = self._log_path()
        if path:
            _process_options.log_to(id(self), path)
        elif _process_options.log_of_another(id(self)) is not None:
            return  # a server that runs has said where to
        # Always set: the log is the process's, and an earlier server may have sent it elsewhere.
        native.set_log_file(path)
        Server._log_owner = id(self)

    def _log_path(self) -> str:
        if self._log is not None:
            return self._log.path
        return os.fspath(self.options.log_file) if self.options.log_file is not None else ""

    def _started(self, native: TRITONSERVER_ServerOptions, watcher: LoadProgress | None) -> TRITONSERVER_Server:
        """Start the C server. Whether a model that failed ends it is decided here, not by the library."""
        server: TRITONSERVER_Server | None = None
        try:
            with self._start_log(native) as files:
                native.set_exit_on_error(False)
                server = TRITONSERVER_Server(native)
                if watcher is not None:
                    startup = self._startup_models(self.options.model_repository) if self._defers_models() else []
                    watcher.load_startup_models(server, startup, self.options.model_load_thread_count)
                failures = self._failures_of(server)
            if not failures:
                if watcher is not None:
                    watcher.raise_error()
                return server
            logged = files.read_start_log().strip() if files is not None else ""
            raise InternalError("the server did not start: " + "\n".join([*failures, *([logged] if logged else [])]))
        except BaseException as error:
            if server is None:
                raise
            # Nobody but this function knows of it.
            if isinstance(error, Exception) and (watcher is None or not watcher.interrupted):
                server.stop()
            else:  # such as a Ctrl-C, which is not to wait for models that are being loaded
                stopping = BackgroundCall(server._stop_or_warn)
                stopping.start()
                stopping.abandon()
            raise

    def _failures_of(self, server: TRITONSERVER_Server) -> list[str]:
        if not self.options.exit_on_error:
            return []
        return start_failures(server, self.options.startup_models, self._loads_everything())

    def _loads_everything(self) -> bool:
        options = self.options
        by_itself = options.model_control_mode in (ModelControlMode.NONE, ModelControlMode.POLL)
        by_default = options.model_control_mode is None and not options.startup_models
        return by_itself or by_default or "*" in options.startup_models

    @contextlib.contextmanager
    def _start_log(self, native: TRITONSERVER_ServerOptions) -> Iterator[PrivateFiles | None]:
        """While the server starts, a log of its errors in the files that it yields, if nobody else has wanted a log."""
        options = self._effective
        logs = options.log_info or options.log_warn or options.log_error or options.log_verbose > 0
        elsewhere = Server._log_owner != id(self) or bool(self._log_path())
        if logs or elsewhere or self._files is None:
            yield None
            return
        native.set_log_file(self._files.start_log)
        native.set_log_error(True)
        try:
            yield self._files
        finally:
            after = TRITONSERVER_ServerOptions()
            after.set_log_error(False)
            after.set_log_file("")

    def _release_files(self) -> None:
        for function in self._functions.values():
            function.close()
        self._functions.clear()
        if self._traces is not None:
            self._traces.close()
            self._traces = None
        _process_options.release(id(self))
        self._effective = Options()
        if Server._log_owner == id(self):  # otherwise a later server has sent the process's log elsewhere
            Server._log_owner, path = _process_options.log_of_another(id(self)) or (0, "")
            if path or self._log is not None:
                TRITONSERVER_ServerOptions().set_log_file(path)
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._files is not None:
            servers.pop(self._files.backends, None)
            self._files.remove()
            self._files = None

    def _trace_requests(self, native: TRITONSERVER_Server) -> None:
        trace = self.options.trace
        if trace is None:
            return
        from ._trace_delivery import TraceDelivery
        from .tracing import Tracing

        self._traces = TraceDelivery(trace if isinstance(trace, Tracing) else Tracing(trace), native)

    def _explicit(self) -> bool:
        return self.options.model_control_mode in (None, ModelControlMode.EXPLICIT)

    @staticmethod
    def _wait_for(condition: Callable[[], bool], interval: float, timeout: float | None, what: str) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while not condition():
            if deadline is not None and time.monotonic() >= deadline:
                raise UnavailableError(f"waiting for {what} took longer than {timeout} s")
            left = interval if deadline is None else min(interval, max(0.0, deadline - time.monotonic()))
            time.sleep(left)

    # State

    def live(self) -> bool:
        """Whether the server lives (TRITONSERVER_ServerIsLive)."""
        return self._running().is_live()

    def ready(self) -> bool:
        """Whether the server and, with `strict_readiness`, its models can be used (TRITONSERVER_ServerIsReady)."""
        return self._running().is_ready()

    def metadata(self) -> dict[str, Any]:
        """Name, version and extensions of the server (TRITONSERVER_ServerMetadata)."""
        return object_of(self._running().metadata())

    @overload
    def metrics(self, format: MetricFormat = ..., parsed: Literal[False] = ...) -> str: ...

    @overload
    def metrics(self, format: MetricFormat = ..., *, parsed: Literal[True]) -> MetricsReport: ...

    @overload
    def metrics(self, format: MetricFormat = ..., parsed: bool = ...) -> str | MetricsReport: ...

    def metrics(self, format: MetricFormat = MetricFormat.PROMETHEUS, parsed: bool = False) -> str | MetricsReport:
        """The metrics of this moment (TRITONSERVER_ServerMetrics), of Triton and your own; they are the process's.

        Args:
            format: The form of the text.
            parsed: Whether to return them as objects, by name, instead of the text.

        Raises:
            TypeError: An argument is of the wrong type.
            UnavailableError: The server was started with `metrics=False`, or does not run.
            InternalError: The text cannot be parsed, which a description of several lines that was given by way of
                `capi` brings about; the message has the line.
        """
        if not isinstance(format, MetricFormat):
            raise TypeError(f"format must be a MetricFormat, not {type(format).__name__}")
        if not isinstance(parsed, bool):
            raise TypeError(f"parsed must be a bool, not {type(parsed).__name__}")
        native = self._running()
        if not self.options.metrics:
            raise UnavailableError("the server was started with metrics=False")
        text = native.metrics().formatted(format)
        if not parsed:
            return text
        from . import _prometheus

        try:
            return _prometheus.parse(text)
        except ValueError as error:
            raise InternalError(str(error)) from None

    @property
    def capi(self) -> TRITONSERVER_Server:
        """The same server at the level of the C API (TRITONSERVER_Server); it belongs to this one, which stops it."""
        return self._running()

    @property
    def _server(self) -> TRITONSERVER_Server:
        return self._running()

    def _ptr(self) -> int:
        return self._running().address

    # Models

    # With a name alone it is a look-up; what the third signature adds makes it a decorator.
    @overload
    def model(self, name: str, version: int = -1) -> Model: ...  # type: ignore[overload-overlap]

    @overload
    def model(self, name: Function, /) -> Function: ...

    @overload
    def model(
        self,
        *,
        name: str | None = None,
        inputs: TensorSpecs | None = None,
        outputs: TensorSpecs | None = None,
        max_batch_size: int = 0,
        **declaration: Unpack[FunctionKeywords],
    ) -> Callable[[Function], Function]: ...

    def model(self, name: Any = ..., version: int = -1, **declaration: Any) -> Any:
        """The model of that name; `version` -1 is the latest that is served. It need not be loaded yet.

        As a decorator, bare or with arguments of `add_model`, it serves a function, by default under its own name, and
        leaves it as it is::

            @server.model(max_batch_size=8, batching=Batching())
            def scale(
                x: Annotated[np.ndarray, Spec("FP32", ["batch", -1])],
            ) -> Annotated[np.ndarray, Spec("FP32", ["batch", -1], name="y")]:
                return x * 2

        Raises TypeError or ValueError for what is no name, version or function.
        """
        if not declaration:
            if callable(name):
                return self._add_decorated(name, None, version, {})
            if name is not ...:
                return self._model_class()(self, name, version)
        elif callable(name):
            raise TypeError("model as a decorator takes its arguments by name, and the function after them")
        own_name = None if name is ... else name
        return lambda fn: self._add_decorated(fn, own_name, version, declaration)

    def _add_decorated(self, fn: Any, name: str | None, version: int, declaration: dict[str, Any]) -> Any:
        if name is None:
            name = getattr(fn, "__name__", None)
            if name is None:
                raise TypeError(f"name must be given: {type(fn).__name__} objects have none")
        self.add_model(fn, name=name, version=1 if version == -1 else version, **declaration)
        return fn

    def _model_class(self) -> type[Model]:
        if self.options.output_memory_allocator is None:
            return Model
        from ._allocating_model import AllocatingModel

        return AllocatingModel

    def models(self, exclude_not_ready: bool = False) -> dict[str | tuple[str, int], Model]:
        """Every model of the repositories, by name and by (name, version) (TRITONSERVER_ServerModelIndex)."""
        result: dict[str | tuple[str, int], Model] = {}
        make = self._model_class()
        for entry in model_index(self._running(), ModelIndexFlag.READY if exclude_not_ready else 0):
            name, state, reason = entry["name"], entry.get("state"), entry.get("reason")
            version = int(entry.get("version", -1))
            result[name, version] = make(self, name, version, state, reason)
            result.setdefault(name, make(self, name, -1, state, reason))
        return result

    def load(
        self,
        name: str,
        parameters: Mapping[str, LoadValue] | None = None,
        *,
        config: Mapping[str, Any] | str | None = None,
        files: Mapping[str, FileContent] | None = None,
        progress: Progress | None = None,
    ) -> Model:
        """Load a model, or load it again (TRITONSERVER_ServerLoadModel, …LoadModelWithParameters).

        ::

            server.load("classifier", config={**server.model("classifier").config(), "max_batch_size": 8})
            server.load("small", config={"backend": "onnxruntime"}, files={"1/model.onnx": content})

        Args:
            name: The model's name.
            parameters: What Triton calls it: "config" with a configuration and "file:<version>/<name>" with bytes.
            config: A configuration instead of the repository's `config.pbtxt`, as a dict or as JSON.
            files: The model's files by path, "<version>/<name>", instead of the repository's. They need a `config`, and
                are then all there is to the model. Triton keeps such a model out of its index under its own name, and
                ensembles cannot refer to it.
            progress: Called with name, version (-1 when it has none yet), state ("LOADING", "READY", "UNAVAILABLE", …)
                and reason of each model whose state has changed, on this thread, while the model is loaded on
                another; for the model itself at least once. What it raises is raised here once the load is over.

        Ctrl-C ends the wait at once; Triton goes on with the load.

        Raises:
            TypeError, ValueError: An argument is of the wrong type or value.
            InvalidArgumentError: `files` come without a `config`, or break Triton's rules.
            InternalError, InvalidArgumentError: The model cannot be found or loaded (Triton's log says why:
                `log_error=True`).
            UnavailableError: The server is in mode NONE or POLL, or not running.
        """
        from ._load_parameters import load_parameters

        _text("name", name)
        given = load_parameters(name, parameters, config, files)
        watcher = self._watcher(progress)
        native = self._running()
        load = partial(native.load_model_with_parameters, name, given) if given else partial(native.load_model, name)
        if watcher is None:
            load()
        else:
            watcher.load(native, name, load)
            watcher.raise_error()
        return self.model(name)

    def unload(
        self,
        model: Model | str,
        unload_dependents: bool = False,
        wait_until_unloaded: bool = False,
        polling_interval: float = 0.1,
        timeout: float | None = None,
    ) -> None:
        """Unload a model, all of its versions (TRITONSERVER_ServerUnloadModel, …UnloadModelAndDependents).

        Requests in flight are answered. A model that is not loaded, or that there is not, is unloaded already.

        Args:
            model: The model, or its name.
            unload_dependents: Whether the models that an ensemble is made of go, too, unless others need them.
            wait_until_unloaded: Whether to return only when the model, and with `unload_dependents` those that go with
                it, are unloaded.
            polling_interval: Seconds between two looks at that.
            timeout: Seconds to wait for it at most.

        Raises:
            TypeError, ValueError: An argument is of the wrong type or value.
            InvalidArgumentError: `model` is another server's.
            UnavailableError: The server is in mode NONE or POLL, or not running; or the model was not unloaded in time.
        """
        if isinstance(model, Model) and model.server is not self:
            raise InvalidArgumentError(f"model {model.name!r} is another server's")
        name = model.name if isinstance(model, Model) else _text("model", model)
        _flag("unload_dependents", unload_dependents)
        _flag("wait_until_unloaded", wait_until_unloaded)
        interval = interval_argument("polling_interval", polling_interval)
        limit = timeout_argument("timeout", timeout)
        native = self._running()
        dependents = dependents_of(native, name) if unload_dependents and wait_until_unloaded else set()
        (native.unload_model_and_dependents if unload_dependents else native.unload_model)(name)
        if wait_until_unloaded:
            self._wait_for(
                lambda: _is_unloaded(native, name) and not unloading(native, dependents),
                interval,
                limit,
                f"model {name!r} to be unloaded",
            )

    def register_model_repository(self, path: PathLike, name_mapping: Mapping[str, str] | None = None) -> None:
        """Add a model repository (TRITONSERVER_ServerRegisterModelRepository). Nothing is loaded by that.

        Args:
            path: The folder. To remove it, give the same text: a relative path is not made absolute.
            name_mapping: Other model names for folders of the repository, {folder: name}; the others keep theirs.

        Raises:
            TypeError, ValueError: An argument is of the wrong type or value.
            InvalidArgumentError: `path` is no folder, or `name_mapping` names a folder that is not in it, or two
                folders alike.
            AlreadyExistsError: The repository is registered already.
            UnsupportedError: The server is in mode NONE or POLL.
            UnavailableError: The server is not running.
        """
        from ._repositories import mapping_parameters, repository_path

        text = repository_path(path)
        native = self._running()
        native.register_model_repository(text, mapping_parameters(text, name_mapping))

    def unregister_model_repository(self, path: PathLike) -> None:
        """Remove a model repository (TRITONSERVER_ServerUnregisterModelRepository). Its models stay loaded.

        Raises InvalidArgumentError for one that is not registered, UnsupportedError in mode NONE and POLL, and
        TypeError or ValueError for what is no path.
        """
        from ._repositories import path_text

        self._running().unregister_model_repository(path_text(path))

    def poll_model_repository(self) -> None:
        """Look for changes in the repositories (TRITONSERVER_ServerPollModelRepository).

        Models that have come are loaded, those that have changed are loaded again, those that have gone are unloaded.
        Raises UnavailableError in any mode but POLL.
        """
        self._running().poll_model_repository()

    # The network

    def serve(
        self,
        http: str | int | None = "127.0.0.1:8000",
        *,
        grpc: str | int | None = None,
        metrics: str | int | None = None,
        engine: Literal["asgi", "native"] = "asgi",
        token: str | None = None,
        certificate: PathLike | None = None,
        private_key: PathLike | None = None,
        limits: Limits | None = None,
        allow_model_control: bool = False,
        allow_model_upload: bool = False,
        allow_shared_memory: bool = False,
        allow_log_settings: bool = False,
        allow_origins: Collection[str] = (),
    ) -> Serving:
        """Open endpoints that speak KServe's protocol (v2), as Triton does, on threads of their own (extra `http`).

        ::

            with Server(model_repository="models") as server, server.serve(http="127.0.0.1:8000") as serving:
                serving.wait()

        They belong to the server: stopping it closes them first, and answers what they have accepted. Any number may
        be opened. The arguments that are not here are those of `asgi.create_app`.

        Args:
            http: "host:port", or a port of the loopback interface; port 0 is any that is free. None: no HTTP.
            grpc: An address for gRPC, which NVIDIA's own front end serves (package tritonfrontend, CPython 3.12 only).
            metrics: An address of their own for the metrics, which our HTTP has at `/metrics` in any case.
            engine: What serves HTTP and the metrics: "asgi" is ours, "native" is NVIDIA's. That, and gRPC, is faster,
                and for clients that are trusted only: it knows no token, no `limits` but `max_in_flight`, no origins,
                no TLS but gRPC's, and cannot do without shared memory (say `allow_shared_memory=True`). What it cannot
                heed is refused. The page on serving says more.
            certificate: A PEM file with the certificate (and its chain) for TLS.
            private_key: A PEM file with its key.

        Raises:
            TypeError, ValueError: An argument is of the wrong type or value.
            InvalidArgumentError: There is no such host, or the server is not started.
            UnavailableError: The address is taken, or the server is stopped.
            UnsupportedError: `grpc` or `engine="native"` with a Python that has no tritonfrontend, or with an argument
                that this cannot heed.
            ModuleNotFoundError: The extra `http`, or tritonfrontend, is not installed.
            OSError: The certificate or its key cannot be read.
        """
        from .serving import serve

        self._running()
        access = {
            "allow_model_control": allow_model_control,
            "allow_model_upload": allow_model_upload,
            "allow_shared_memory": allow_shared_memory,
            "allow_log_settings": allow_log_settings,
            "allow_origins": allow_origins,
        }
        serving = serve(
            self,
            self._forget_serving,
            http=http,
            grpc=grpc,
            metrics=metrics,
            engine=engine,
            certificate=certificate,
            private_key=private_key,
            limits=limits,
            token=token,
            access=access,
        )
        self._servings.append(serving)
        try:
            self._running()  # somebody may have stopped it meanwhile, and closed the others
        except TritonError:
            serving.close(0)
            raise
        return serving

    def _forget_serving(self, serving: Serving) -> None:
        with contextlib.suppress(ValueError):
            self._servings.remove(serving)

    # Python functions

    def add_model(
        self,
        fn: Callable[..., Any],
        *,
        name: str,
        inputs: TensorSpecs | None = None,
        outputs: TensorSpecs | None = None,
        max_batch_size: int = 0,
        batching: Batching | SequenceBatching | None = None,
        instances: int = 1,
        version: int = 1,
        batch: bool = True,
        requests: bool = False,
        decoupled: bool | None = None,
        isolate_failures: bool = False,
        max_concurrency: int = 1024,
        adopt: Literal["auto", "always", "never"] = "auto",
        copy_inputs: bool = False,
        response_cache: bool = False,
        warm_up: Sequence[WarmUp] = (),
        rate_limiter: RateLimiter | None = None,
        instance_group: Sequence[Mapping[str, Any]] = (),
        config: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Model:
        """Serve a Python function as a model of this server, in this process.

        `fn(**arrays)` is called with a read-only numpy array for each input (for BYTES an object array of bytes) and
        returns an array, a tuple in the order of `outputs`, or a dict by name. The arrays are views of the caller's
        memory when one request is executed, and of one gathered buffer otherwise. One that the function keeps stays
        valid, but follows what the caller writes to his memory: the first time, there is a RuntimeWarning. An exception
        fails the requests of that batch: the caller gets a TritonError of the same class, or an InternalError for any
        other exception, whose `__cause__` is a FunctionTraceback; Triton's log has it, too.

        What `fn` is decides how it is called:

        - A generator function sends a response for each value that it yields, to one request; it is closed when the
          request is cancelled.
        - An `async def` function or async generator is called for each request, and many calls run at once on an event
          loop of the model's own, on a thread of its own.
        - A class makes an object for each instance. An object that has them is told of its life by
          `initialize(context)`, with an InstanceContext, and `finalize()`; when the first raises, the load fails.
        - With the keyword-only parameters `context` or `parameters` it is told of the request: a RequestContext (a
          BatchContext when it takes whole batches), and the request's parameters by name.
        - An annotation `Annotated[T, Spec(...)]` says type and shape where `inputs` or `outputs` are not given. With or
          without a Spec an input comes as the type that it is annotated with, if that is a Tensor or an array of a
          library with DLPack (`torch.Tensor`, `jax.Array`, `cupy.ndarray`).

        Args:
            fn: The function.
            name: The model's name.
            inputs: What it takes: TensorSpecs, or a dict of name to (dtype, shape); by default what the annotations
                say.
            outputs: What it returns, likewise.
            max_batch_size: With 1 or more, the first dimension of every tensor is the batch, up to this size; `shape`
                leaves it out.
            batching: Turns on Triton's dynamic batcher, which joins requests that arrive together, or its sequence
                batcher, which keeps requests apart that belong to a sequence.
            instances: How many executions may run at once, each on a thread of its own.
            version: The model's version. A function may be added for another version of a model that was added, with
                the same configuration.
            batch: False to have it called with single samples: each row of a batch, without the batch dimension.
            requests: True to have it called with a list of FunctionRequests; it returns a list with the outputs of
                each, or an exception, which fails that request alone.
            decoupled: True for a function that returns an iterator over its responses without being a generator
                function; by default only generator functions send several responses.
            isolate_failures: True to call a function that has raised once more for each request of the batch alone, so
                that only those fail which make it raise. It then must not mind being called twice.
            max_concurrency: For `async` functions, how many calls may run at once; more wait in Triton's queue.
            adopt: When a response takes over the memory of an array that the function returns, instead of a copy of it.
                "auto": when nobody else can reach it: the array owns its memory, or is most of one that does, it shares
                none with an input, and the function has kept no reference. "always": the author promises that nobody
                writes there any more; what the function can still reach is read-only for the receiver. "never": all are
                copied. Each request of a batch gets its rows of the one array, which lives as long as any of them. Only
                where the receiver has not said where outputs go, and not between the steps of an ensemble.
                `Model.byte_counts` tells what was copied.
            copy_inputs: True to have it called with copies of the callers' memory, which it may keep.
            response_cache: Whether Triton may answer equal requests from its cache; needs `Options.cache_config`.
            warm_up: Requests that each instance gets before the model is ready.
            rate_limiter: What each execution needs; needs `Options.rate_limiter_mode`.
            instance_group: Triton's configuration of instances, as dicts, instead of `instances`.
            config: Any other part of Triton's model configuration, as a dict, merged over what follows from the rest.
            replace: Whether the function may take the place of one that was added under this name and version: requests
                are served all the while, and by the new one when this returns. When it cannot be loaded, the former one
                goes on.

        Raises:
            TypeError, ValueError: An argument is of the wrong type or value, or `fn` does not take these inputs.
            AlreadyExistsError: There is a model of that name.
            InternalError, InvalidArgumentError: The model could not be loaded: `initialize` has raised, a warm-up has
                failed, or `config` makes no sense to Triton.
            UnavailableError: The server is in mode NONE or POLL, in which Triton takes no models; or it is stopped.
        """
        from .function_model import FunctionModel

        native, files = self._takes_models("add_model")
        model = FunctionModel.declared(
            fn,
            name=name,
            inputs=inputs,
            outputs=outputs,
            max_batch_size=max_batch_size,
            batching=batching,
            instances=instances,
            version=version,
            batch=batch,
            requests=requests,
            decoupled=decoupled,
            isolate_failures=isolate_failures,
            max_concurrency=max_concurrency,
            adopt=adopt,
            copy_inputs=copy_inputs,
            response_cache=response_cache,
            warm_up=warm_up,
            rate_limiter=rate_limiter,
            instance_group=instance_group,
            config=config,
        )
        _flag("replace", replace)
        warm_up_files = model.warm_up_files()
        model.config_text([version])  # what is wrong with `config` is said before anything is changed
        with self._changing:
            try:
                self._add(native, model, files, warm_up_files, replace)
            except OSError:
                self._running()  # a signal handler may have stopped the server meanwhile, and removed its files
                raise
        return self.model(name)

    def _takes_models(self, method: str) -> tuple[TRITONSERVER_Server, PrivateFiles]:
        files = self._files  # before the question whether it runs: a signal handler may stop it in between
        native = self._running()
        if not self._explicit() or files is None:
            mode = self.options.model_control_mode
            raise UnavailableError(
                f"{method} needs model_control_mode None or EXPLICIT, not {mode.name if mode is not None else None}"
            )
        return native, files

    def _add(
        self,
        native: TRITONSERVER_Server,
        model: FunctionModel,
        files: PrivateFiles,
        warm_up_files: dict[str, bytes],
        replace: bool,
    ) -> None:
        from ._served_model import ServedFunction, ServedModel

        present = self._functions.get(model.name)
        if present is None:
            self._require_new(native, model.name)
        elif not present.versions or (model.version in present.versions and not replace):
            raise AlreadyExistsError(f"there is a model {model.name!r} already")
        elif differences := present.config_differences(model):
            raise ValueError(
                f"version {model.version} of model {model.name!r} must be declared as its other versions are; "
                f"{', '.join(differences)} would differ"
            )
        else:
            present.forget_replaced()
        served_model = present if present is not None else ServedModel()
        former_config = files.read_config(model.name) if present is not None else None
        versions = {*served_model.versions, model.version}
        text = model.config_text(sorted(versions))
        served = ServedFunction(model, files.model_folder(model.name))
        former = served_model.put(served)
        try:
            files.write_model(model.name, model.version, text, warm_up_files)
        except BaseException:
            served_model.put_back(served, former)
            raise
        self._functions[model.name] = served_model  # from here on a stop closes it, from a signal handler too

        def undo() -> None:
            if former_config is None:
                self._forget(model.name, files)
                return
            served_model.put_back(served, former)
            files.write_config(model.name, former_config)
            if former is None:
                files.remove_version(model.name, model.version)

        self._load_added(native, model.name, undo, keep=present is not None)
        if served.failure is not None:  # of an instance that nobody knew of before
            if present is None:
                self.remove_model(model.name)
            else:
                undo()
                files.touch_version(model.name, model.version)
                native.load_model(model.name)
            raise served.failure
        if former is not None:
            deadline = time.monotonic() + UNLOAD_GRACE  # what takes longer is closed by the next change, or the stop
            while not served_model.forget_replaced() and time.monotonic() < deadline:
                time.sleep(_UNLOAD_POLL)

    def _byte_counts(self, name: str, version: int) -> ByteCounts | None:
        """Those of a function; version -1 is the latest. None where there is no such function."""
        served = self._functions.get(name)
        versions = served.versions.copy() if served is not None else {}
        function = versions.get(version if version != -1 else max(versions, default=-1))
        return function.byte_counts if function is not None else None

    @staticmethod
    def _require_new(native: TRITONSERVER_Server, name: str) -> None:
        if any(entry["name"] == name for entry in model_index(native)):
            raise AlreadyExistsError(f"there is a model {name!r} already")

    def _forget(self, name: str, files: PrivateFiles) -> None:
        served = self._functions.pop(name, None)
        if served is not None:
            served.close()
        files.remove_model(name)

    @staticmethod
    def _load_added(native: TRITONSERVER_Server, name: str, undo: Callable[[], None], keep: bool) -> None:
        """Load a model whose files were written; `undo` is called when that fails, or when a signal ends the wait."""

        def load() -> None:
            try:
                native.load_model(name)
            except BaseException:
                undo()
                raise

        def give_up() -> None:
            if keep:
                return  # it was loaded in the place of another, and nobody minds
            with contextlib.suppress(TritonError):  # it did not load, or the server is stopped
                native.unload_model(name)
            undo()

        loading = BackgroundCall(load, give_up)
        try:
            loading.start()
            loading.result()
        except BaseException:
            loading.abandon()  # where a signal has ended the wait
            raise

    def add_ensemble(
        self,
        name: str,
        steps: Sequence[EnsembleStep],
        *,
        inputs: TensorSpecs | None = None,
        outputs: TensorSpecs | None = None,
        max_batch_size: int | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> Model:
        """Serve models of this server, one after the other, as one model: Triton hands the tensors on.

        ::

            server.add_ensemble("classify", [
                EnsembleStep("scale", inputs={"image": "image"}, outputs={"scaled": "pixels"}),
                EnsembleStep("digits", inputs={"x": "pixels"}, outputs={"label": "label"}),
            ])

        Its inputs are the tensors that no step writes, its outputs those that no step reads.

        Args:
            name: The ensemble's name.
            steps: The models, and the ensemble's tensors that they read and write.
            inputs: Types and shapes of its inputs; by default those of the models, which must be loaded then.
            outputs: Likewise, and which of the tensors are outputs.
            max_batch_size: The largest batch; by default that which every step takes, or 0 if one takes none.
            config: Any other part of Triton's model configuration, as a dict, merged over what follows from the rest.

        Raises:
            TypeError, ValueError: An argument is of the wrong type or value, or a model has no such input or output.
            AlreadyExistsError: There is a model of that name.
            InternalError, InvalidArgumentError: The ensemble could not be loaded: the steps do not fit each other.
            NotFoundError, UnavailableError: A model is not there, or not loaded. The server is in mode NONE or POLL, or
                stopped.
        """
        from ._ensemble import ensemble_config
        from ._served_model import ServedModel

        native, files = self._takes_models("add_ensemble")
        text = ensemble_config(
            name,
            steps,
            inputs=inputs,
            outputs=outputs,
            max_batch_size=max_batch_size,
            config=config,
            config_of=lambda model, version: Model(self, model, version).config(),
        )
        with self._changing:
            self._require_new(native, name)
            files.write_model(name, 1, text)
            self._functions[name] = ServedModel()
            self._load_added(native, name, lambda: self._forget(name, files), keep=False)
        return self.model(name)

    def remove_model(self, name: str) -> None:
        """Unload a model that `add_model` or `add_ensemble` has added, wait for its requests, and forget it.

        A function that wants to be told is finalized by then. Raises NotFoundError for any other model.
        """
        _text("name", name)
        native = self._running()
        if _native.executing_model() == name:
            raise UnavailableError(f"model {name!r} cannot be removed by its own function: it would wait for itself")
        with self._changing:
            if name not in self._functions:
                raise self._no_function(name)
            native.unload_model(name)
            served = self._functions.pop(name, None)
            if served is None:
                raise self._no_function(name)
        try:  # without the lock: the function may be adding a model
            self._wait_for(
                lambda: _is_unloaded(native, name) and not served.loaded,
                _UNLOAD_POLL,
                None,
                f"model {name!r} to be unloaded",
            )
        finally:
            served.close()
            with self._changing:
                files = self._files
                if files is not None:
                    files.remove_model(name)

    def _no_function(self, name: str) -> NotFoundError:
        self._running()  # a signal handler may have stopped it, and so forgotten them all, since we asked
        return NotFoundError(f"no Python function was added as a model {name!r}")


def _text(argument: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{argument} must not contain a NUL character")
    return value


def _flag(argument: str, value: object) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{argument} must be a bool, not {type(value).__name__}")


def _is_unloaded(native: TRITONSERVER_Server, name: str) -> bool:
    return all(map(unloaded, (entry for entry in model_index(native) if entry["name"] == name)))
