"""Where the Options send Triton's log, if that is in Python."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ._log_forwarder import LogForwarder, LogLine
from ._native import LogLevel

if TYPE_CHECKING:
    from ._capi_server_options import TRITONSERVER_ServerOptions
    from .options import Options

__all__ = ["LOGGER_NAME", "enable_levels", "forwarder_for"]

LOGGER_NAME = "triton_inprocess"

_LEVELS = {
    LogLevel.VERBOSE: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARN: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}


def forwarder_for(options: Options) -> LogForwarder | None:
    """What takes the log of a server with these options to Python; None where it goes elsewhere."""
    # Triton writes its verbose messages with the letter of the level INFO: where that is off, all of these are verbose.
    unmarked = LogLevel.VERBOSE if options.log_verbose > 0 and not _logs_info(options) else LogLevel.INFO
    callback = options.log_callback
    if callback is not None:
        return LogForwarder(lambda line: callback(line.level, line.message), callback, "log_callback", unmarked)
    if options.log_to_logging:
        logger = logging.getLogger(LOGGER_NAME)
        return LogForwarder(_log, logger, f"a handler or filter of the logger {LOGGER_NAME!r}", unmarked)
    return None


def enable_levels(native: TRITONSERVER_ServerOptions) -> None:
    """Turn on what the logger is enabled for; what is on stays on. Verbose messages are for `log_verbose` alone."""
    logger = logging.getLogger(LOGGER_NAME)
    for level, enable in (
        (logging.INFO, native.set_log_info),
        (logging.WARNING, native.set_log_warn),
        (logging.ERROR, native.set_log_error),
    ):
        if logger.isEnabledFor(level):
            enable(True)


def _logs_info(options: Options) -> bool:
    by_logger = options.log_to_logging and logging.getLogger(LOGGER_NAME).isEnabledFor(logging.INFO)
    return options.log_info or by_logger


def _log(line: LogLine) -> None:
    logger = logging.getLogger(LOGGER_NAME)
    level = _LEVELS[line.level]
    if line.message and logger.isEnabledFor(level):
        # Not by logger.log, which would take this file for where it comes from.
        record = logger.makeRecord(LOGGER_NAME, level, line.file, line.line, line.message, (), None)
        logger.handle(record)
