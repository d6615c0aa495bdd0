"""The free functions of `capi`: how Triton spells its values, its version, and its log."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import run_python

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

DataType = capi.TRITONSERVER_DataType
LogLevel = capi.TRITONSERVER_LogLevel


# -- the version, and what there is ------------------------------------------------------------------------------------


def test_the_version_is_that_of_the_runtime() -> None:
    assert capi.api_version() == ti.runtime.load().api_version
    assert type(capi.api_version()) is tuple


def test_the_version_can_be_asked_first(runtime: ti.runtime.Runtime) -> None:
    result = run_python("from triton_inprocess import capi; print(capi.api_version())")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == str(runtime.api_version)
    assert not result.stderr


@pytest.mark.parametrize(
    "expression",
    [
        "available('TRITONSERVER_ApiVersion')",
        "TRITONSERVER_DataTypeString(capi.TRITONSERVER_DataType.FP32) == 'FP32'",
        "TRITONSERVER_StringToDataType('FP32') is capi.TRITONSERVER_DataType.FP32",
        "TRITONSERVER_DataTypeByteSize(capi.TRITONSERVER_DataType.FP32) == 4",
        "TRITONSERVER_ErrorCodeString(capi.TRITONSERVER_Error_Code.INTERNAL) == 'Internal'",
        "TRITONSERVER_InferenceTraceLevelString(4) == 'TIMESTAMPS'",
        "TRITONSERVER_LogIsEnabled(capi.TRITONSERVER_LogLevel.INFO) in (True, False)",
        "TRITONSERVER_LogMessage(capi.TRITONSERVER_LogLevel.VERBOSE, 'f', 1, 'm') is None",
        "TRITONSERVER_Message('{}').serialize_to_json() == '{}'",
        "TRITONSERVER_Parameter('a', b'b').name == 'a'",
        "TRITONSERVER_BufferAttributes().memory_type_id == 0",
        "TRITONSERVER_ServerOptions().set_server_id('a') is None",
        "TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.COUNTER, 'a', 'b') is not None",
    ],
)
def test_whatever_comes_first_loads_the_runtime(expression: str) -> None:
    result = run_python(f"from triton_inprocess import capi; assert capi.{expression}")
    assert result.returncode == 0, result.stderr


def test_without_a_runtime_the_first_use_says_what_to_do() -> None:
    program = """
    import os, tempfile
    os.environ["TRITON_INPROCESS_RUNTIME"] = tempfile.mkdtemp() + "/none"
    import triton_inprocess as ti
    from triton_inprocess import capi
    for use in (capi.api_version, lambda: capi.available("TRITONSERVER_ApiVersion"), capi.TRITONSERVER_ServerOptions,
                capi.TRITONSERVER_BufferAttributes, lambda: capi.TRITONSERVER_Message("{}"),
                lambda: capi.TRITONSERVER_Parameter("a", 1), capi.TRITONSERVER_MetricArgs,
                lambda: capi.TRITONSERVER_LogIsEnabled(capi.TRITONSERVER_LogLevel.INFO)):
        try:
            use()
        except ti.NotFoundError as error:
            assert "none" in str(error), error
        else:
            raise AssertionError(use)
    """
    result = run_python(program)
    assert result.returncode == 0, result.stderr


def test_available_tells_what_the_library_has(runtime: ti.runtime.Runtime) -> None:
    assert capi.available("TRITONSERVER_ApiVersion")
    for name in runtime.missing_functions:
        assert not capi.available(name)
    assert capi.available("TRITONSERVER_MetricObserve") == (
        "TRITONSERVER_MetricObserve" not in runtime.missing_functions
    )


@pytest.mark.parametrize("name", ["", "x", "TRITONSERVER_", "TRITONSERVER_ApiVersion\0", "é", "printf", "x" * 100_000])
def test_available_knows_no_other_names(name: str) -> None:
    assert capi.available(name) is False


@pytest.mark.parametrize("name", [None, 3, b"TRITONSERVER_ApiVersion", "\ud800"])
def test_available_takes_a_name(name: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        capi.available(name)


# -- spellings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data_type", DataType)
def test_data_types_are_found_by_their_spelling(data_type: Any) -> None:
    spelling = capi.TRITONSERVER_DataTypeString(data_type)
    assert capi.TRITONSERVER_StringToDataType(spelling) is data_type


@pytest.mark.parametrize("text", ["", "fp32", "FP32 ", " FP32", "FP", "FP321", "TYPE_FP32", "é", "x" * 100_000])
def test_any_other_text_is_no_data_type(text: str) -> None:
    assert capi.TRITONSERVER_StringToDataType(text) is DataType.INVALID


def test_a_data_type_is_not_cut_at_a_nul() -> None:
    with pytest.raises(ValueError, match="NUL"):
        capi.TRITONSERVER_StringToDataType("FP32\0")


@pytest.mark.parametrize(
    ("data_type", "size"),
    [
        (DataType.INVALID, 0),
        (DataType.BOOL, np.dtype(np.bool_).itemsize),
        (DataType.UINT8, 1),
        (DataType.UINT16, 2),
        (DataType.UINT32, 4),
        (DataType.UINT64, 8),
        (DataType.INT8, 1),
        (DataType.INT16, 2),
        (DataType.INT32, 4),
        (DataType.INT64, 8),
        (DataType.FP16, 2),
        (DataType.FP32, 4),
        (DataType.FP64, 8),
        (DataType.BYTES, 0),
        (DataType.BF16, 2),
    ],
)
def test_the_bytes_of_an_element(data_type: Any, size: int) -> None:
    assert capi.TRITONSERVER_DataTypeByteSize(data_type) == size


@pytest.mark.parametrize(
    ("level", "spelling"), [("DISABLED", "DISABLED"), ("TIMESTAMPS", "TIMESTAMPS"), ("TENSORS", "TENSORS")]
)
def test_trace_levels(level: str, spelling: str) -> None:
    assert capi.TRITONSERVER_InferenceTraceLevelString(capi.TRITONSERVER_InferenceTraceLevel[level]) == spelling


@pytest.mark.parametrize("level", [3, 12, 1 << 20, (1 << 32) - 1])
def test_what_is_no_single_trace_level_has_no_spelling(level: int) -> None:
    assert "unknown" in capi.TRITONSERVER_InferenceTraceLevelString(level).lower().replace("<invalid>", "unknown")


SPELLERS: list[Callable[[Any], str]] = [
    capi.TRITONSERVER_DataTypeString,
    capi.TRITONSERVER_DataTypeByteSize,  # type: ignore[list-item]
    capi.TRITONSERVER_MemoryTypeString,
    capi.TRITONSERVER_ParameterTypeString,
    capi.TRITONSERVER_InstanceGroupKindString,
    capi.TRITONSERVER_InferenceTraceActivityString,
    capi.TRITONSERVER_LogIsEnabled,  # type: ignore[list-item]
]


class Unruly:
    def __index__(self) -> int:
        raise RuntimeError("no index")

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("speller", SPELLERS)
@pytest.mark.parametrize(
    "value",
    [None, "FP32", 1.5, b"", [], capi.TRITONSERVER_ModelControlMode.POLL, 99, -1, 1 << 40, 1 << 100, Unruly()],
    ids=["None", "str", "float", "bytes", "list", "other enumeration", "99", "-1", "large", "huge", "unruly"],
)
def test_spellers_take_their_enumeration(speller: Callable[[Any], str], value: Any) -> None:
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        speller(value)


@pytest.mark.parametrize("value", [None, "x", -1, 1 << 32, 1 << 100, 1.5, DataType], ids=str)
def test_a_trace_level_is_a_number_of_32_bits(value: Any) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        capi.TRITONSERVER_InferenceTraceLevelString(value)


ERRORS = [
    (ti.UnknownError, "Unknown"),
    (ti.InternalError, "Internal"),
    (ti.NotFoundError, "Not found"),
    (ti.InvalidArgumentError, "Invalid argument"),
    (ti.UnavailableError, "Unavailable"),
    (ti.UnsupportedError, "Unsupported"),
    (ti.AlreadyExistsError, "Already exists"),
]


@pytest.mark.parametrize(("error", "spelling"), ERRORS)
def test_errors_are_spelt_by_their_class(error: type[ti.TritonError], spelling: str) -> None:
    assert capi.TRITONSERVER_ErrorCodeString(error("why")) == spelling
    assert capi.TRITONSERVER_ErrorCodeString(type("Derived", (error,), {})("why")) == spelling


def test_a_cancelled_error_is_spelt_as_the_library_can() -> None:
    spelling = capi.TRITONSERVER_ErrorCodeString(ti.CancelledError("why"))
    assert spelling == capi.TRITONSERVER_ErrorCodeString(capi.TRITONSERVER_Error_Code.CANCELLED)
    assert spelling in ("Cancelled", "<invalid code>", "Unknown")  # the libraries seen so far know none


@pytest.mark.parametrize("value", [None, 5, "Internal", object(), ti.NotFoundError, DataType.FP32], ids=range(6))
def test_what_is_no_error_has_no_code(value: Any) -> None:
    with pytest.raises(TypeError):
        capi.TRITONSERVER_ErrorCodeString(value)


# -- the log -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[capi.TRITONSERVER_ServerOptions, Path]]:
    """Options whose log settings act at once, and the file that they log to; afterwards all is as before."""
    before = {level: capi.TRITONSERVER_LogIsEnabled(level) for level in LogLevel}
    options = capi.TRITONSERVER_ServerOptions()
    file = tmp_path / "log"
    options.set_log_file(str(file))
    options.set_log_info(True)
    options.set_log_warn(True)
    options.set_log_error(True)
    options.set_log_verbose(0)
    try:
        yield options, file
    finally:
        options.set_log_format(capi.TRITONSERVER_LogFormat.DEFAULT)
        options.set_log_info(before[LogLevel.INFO])
        options.set_log_warn(before[LogLevel.WARN])
        options.set_log_error(before[LogLevel.ERROR])
        options.set_log_verbose(int(before[LogLevel.VERBOSE]))
        options.set_log_file("")


Log = tuple[capi.TRITONSERVER_ServerOptions, Path]


def test_settings_act_at_once_and_for_the_process(log: Log) -> None:
    options, _ = log
    setters = {
        LogLevel.INFO: options.set_log_info,
        LogLevel.WARN: options.set_log_warn,
        LogLevel.ERROR: options.set_log_error,
        LogLevel.VERBOSE: lambda on: options.set_log_verbose(2 if on else 0),
    }
    for level, setter in setters.items():
        for on in (False, True, False):
            setter(on)
            assert capi.TRITONSERVER_LogIsEnabled(level) is on
        setter(level is not LogLevel.VERBOSE)
    capi.TRITONSERVER_ServerOptions()
    assert capi.TRITONSERVER_LogIsEnabled(LogLevel.INFO)


@pytest.mark.parametrize("level", LogLevel)
def test_messages_are_written_with_their_level_and_place(log: Log, level: Any) -> None:
    options, file = log
    options.set_log_verbose(1)
    capi.TRITONSERVER_LogMessage(level, "folder/file.py", 7, "the message")
    (line,) = file.read_text(encoding="utf-8").splitlines()
    letter = {"VERBOSE": "I"}.get(level.name, level.name[0])
    assert re.match(rf"{letter}\d{{4}} \d\d:\d\d:\d\d\.\d+ \d+ file\.py:7\] \"?the message\"?$", line), line


@pytest.mark.parametrize("level", [LogLevel.INFO, LogLevel.WARN, LogLevel.ERROR])
def test_messages_of_a_level_that_is_off_are_not_written(log: Log, level: Any) -> None:
    options, file = log
    {LogLevel.INFO: options.set_log_info, LogLevel.WARN: options.set_log_warn, LogLevel.ERROR: options.set_log_error}[
        level
    ](False)
    capi.TRITONSERVER_LogMessage(level, "f", 1, "not to be seen")
    others = [each for each in (LogLevel.INFO, LogLevel.WARN, LogLevel.ERROR) if each is not level]
    for other in others:
        capi.TRITONSERVER_LogMessage(other, "f", 1, "to be seen")
    text = file.read_text(encoding="utf-8")
    assert "not to be seen" not in text
    assert text.count("to be seen") == 2


def test_the_format_can_be_changed(log: Log) -> None:
    options, file = log
    capi.TRITONSERVER_LogMessage(LogLevel.WARN, "f", 1, "default")
    options.set_log_format(capi.TRITONSERVER_LogFormat.ISO8601)
    capi.TRITONSERVER_LogMessage(LogLevel.WARN, "f", 1, "iso")
    default, iso = file.read_text(encoding="utf-8").splitlines()
    assert re.match(r"W\d{4} ", default)
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ? W", iso)


def test_the_file_can_be_changed(log: Log, tmp_path: Path) -> None:
    options, file = log
    capi.TRITONSERVER_LogMessage(LogLevel.INFO, "f", 1, "first")
    other = tmp_path / "é日本 other"
    options.set_log_file(str(other))
    capi.TRITONSERVER_LogMessage(LogLevel.INFO, "f", 1, "second")
    assert "second" not in file.read_text(encoding="utf-8")
    assert "second" in other.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ["/", "/nonexistent/folder/log", "x" * 5000])
def test_a_file_that_cannot_be_opened_is_an_error(log: Log, file: str) -> None:
    options, _ = log
    with pytest.raises(ti.TritonError):
        options.set_log_file(file)
    capi.TRITONSERVER_LogMessage(LogLevel.INFO, "f", 1, "afterwards")


@pytest.mark.parametrize("text", ["%s%n%d", "é日本🙂", "x" * 1_000_000, "tab\there", "", '"quoted" \\', "{}"])
def test_any_text_can_be_logged(log: Log, text: str) -> None:
    _, file = log
    capi.TRITONSERVER_LogMessage(LogLevel.INFO, "f", 1, text)
    written = file.read_text(encoding="utf-8")
    assert written.count("\n") == 1
    assert len(written) >= len(text)
    if text.isascii() and text.isalnum():
        assert text in written


@pytest.mark.parametrize("file_name", ["", "/", "a/", "é", "x" * 100_000, "%s"])
@pytest.mark.parametrize("line", [0, -1, -(1 << 31), (1 << 31) - 1])
def test_any_place_can_be_logged(log: Log, file_name: str, line: int) -> None:
    _, file = log
    capi.TRITONSERVER_LogMessage(LogLevel.INFO, file_name, line, "here")
    assert f":{line}]" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        (LogLevel.INFO, "f\0", 1, "m"),
        (LogLevel.INFO, "f", 1, "m\0"),
        (LogLevel.INFO, "\ud800", 1, "m"),
        (LogLevel.INFO, "f", 1, "\ud800"),
        (LogLevel.INFO, "f", 1 << 31, "m"),
        (LogLevel.INFO, "f", -(1 << 31) - 1, "m"),
        (LogLevel.INFO, "f", 1 << 100, "m"),
        (LogLevel.INFO, "f", 1.5, "m"),
        (LogLevel.INFO, "f", "1", "m"),
        (LogLevel.INFO, "f", None, "m"),
        (LogLevel.INFO, None, 1, "m"),
        (LogLevel.INFO, "f", 1, None),
        (LogLevel.INFO, b"f", 1, "m"),
        (LogLevel.INFO, "f", 1, b"m"),
        (None, "f", 1, "m"),
        ("INFO", "f", 1, "m"),
        (17, "f", 1, "m"),
        (DataType.FP32, "f", 1, "m"),
        (LogLevel.INFO, "f", Unruly(), "m"),
        (LogLevel.INFO, "f", 1),
        (),
    ],
    ids=range(21),
)
def test_wrong_arguments_log_nothing(log: Log, arguments: tuple[Any, ...]) -> None:
    _, file = log
    with pytest.raises((TypeError, ValueError)):
        capi.TRITONSERVER_LogMessage(*arguments)
    assert not file.read_text(encoding="utf-8")


def test_many_threads_may_log_and_change_the_settings(log: Log) -> None:
    options, file = log
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for i in range(200):
                capi.TRITONSERVER_LogMessage(LogLevel.WARN, "f", i, f"from {number}")
                options.set_log_info(bool(i % 2))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 800
    assert all(re.search(r"f:\d+\] \"?from \d\"?$", line) for line in lines)
