"""TRITONSERVER_Parameter: a named value of the type that it was given with."""

from __future__ import annotations

import array
import ctypes
import enum
import gc
import json
import mmap
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import StartServer, add_echo, identity_config, write_model

import triton_inprocess as ti
from triton_inprocess import capi

pytestmark = pytest.mark.usefixtures("runtime")

Parameter = capi.TRITONSERVER_Parameter
Type = capi.TRITONSERVER_ParameterType


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Number(enum.IntEnum):
    SEVEN = 7


class Index:
    def __index__(self) -> int:
        return 4


class Unruly:
    def __index__(self) -> int:
        raise RuntimeError("no index")

    def __repr__(self) -> str:
        raise RuntimeError("no text")


class LyingIndex:
    def __index__(self) -> Any:
        return "four"  # noqa: PLE0305


class Floating:
    def __float__(self) -> float:
        return 1.5


def released() -> memoryview:
    view = memoryview(b"gone")
    view.release()
    return view


def has_doubles() -> bool:
    # The type came together with this function, in C API 1.28.
    return capi.available("TRITONSERVER_InferenceRequestSetDoubleParameter")


TYPES: list[tuple[Any, Any]] = [
    (True, Type.BOOL),
    (False, Type.BOOL),
    (np.bool_(True), Type.BOOL),
    (0, Type.INT),
    (-1, Type.INT),
    ((1 << 63) - 1, Type.INT),
    (-(1 << 63), Type.INT),
    (np.int64(3), Type.INT),
    (np.int8(-3), Type.INT),
    (np.uint64(5), Type.INT),
    (Number.SEVEN, Type.INT),
    (Index(), Type.INT),
    ("", Type.STRING),
    ("text", Type.STRING),
    ("é日本🙂", Type.STRING),
    ("x" * 1_000_000, Type.STRING),
    (Text("text"), Type.STRING),
    (np.str_("text"), Type.STRING),
    (b"", Type.BYTES),
    (b"a\0b\0", Type.BYTES),
    (np.bytes_(b"text"), Type.BYTES),
    (bytearray(b"a\0b"), Type.BYTES),
    (memoryview(b"abcdef"), Type.BYTES),
    (memoryview(b"abcdef")[::-2], Type.BYTES),
    (array.array("i", [1, 2, 3]), Type.BYTES),
    (np.arange(6).reshape(2, 3).T, Type.BYTES),
    (ctypes.create_string_buffer(b"text"), Type.BYTES),
    (b"x" * 10_000_000, Type.BYTES),
]


@pytest.mark.parametrize(("value", "type_"), TYPES, ids=range(len(TYPES)))
def test_a_parameter_has_the_type_of_its_value(value: Any, type_: Any) -> None:
    parameter = Parameter("name", value)
    assert parameter.type is type_
    assert parameter.name == "name"


@pytest.mark.parametrize(
    "value", [2.5, -0.0, float("inf"), float("nan"), np.float32(2.5), np.float16(1), np.float64(1), np.longdouble(1)]
)
def test_a_float_is_a_double_where_the_library_has_one(value: Any) -> None:
    if has_doubles():
        assert Parameter("name", value).type is Type.DOUBLE
    else:
        with pytest.raises(ti.UnsupportedError):
            Parameter("name", value)


def test_a_mapped_file_shows_its_memory() -> None:
    with mmap.mmap(-1, 4096) as mapped:
        assert Parameter("name", mapped).type is Type.BYTES


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, 1 << 1000, np.uint64((1 << 64) - 1)], ids=range(4))
def test_an_int_beyond_64_bits_is_an_overflow(value: Any) -> None:
    with pytest.raises(OverflowError):
        Parameter("name", value)


NO_VALUES: list[Any] = [
    None,
    [],
    [1],
    {},
    (1,),
    {1},
    object(),
    Decimal(1),
    1j,
    np.complex64(1),
    np.datetime64("2020-01-01"),
    np.timedelta64(3, "s"),
    np.array("2020-01-01", "datetime64[D]"),
    np.void(b"ab"),
    Floating(),
    LyingIndex(),
    released(),
    int,
    len,
]


@pytest.mark.parametrize("value", NO_VALUES, ids=range(len(NO_VALUES)))
def test_any_other_value_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError):
        Parameter("name", value)


def test_an_array_of_objects_is_refused_because_its_memory_is_addresses() -> None:
    with pytest.raises(TypeError):
        Parameter("name", np.array(["a", None], object))  # type: ignore[arg-type]


def test_a_masked_value_is_refused_because_its_mask_would_be_lost() -> None:
    with pytest.raises(TypeError):
        Parameter("name", np.ma.masked)


def test_what_a_value_raises_is_raised() -> None:
    with pytest.raises(RuntimeError, match="no index"):
        Parameter("name", Unruly())  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a\0b", "\0", "a\0"])
def test_a_text_is_not_cut_at_a_nul(text: str) -> None:
    with pytest.raises(ValueError, match="value must not contain a NUL"):
        Parameter("name", text)
    with pytest.raises(ValueError, match="name must not contain a NUL"):
        Parameter(text, "value")
    with pytest.raises(ValueError, match="name must not contain a NUL"):
        Parameter(text, b"value")


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb"])
def test_a_lone_surrogate_is_a_value_error(text: str) -> None:
    for name, value in (("name", text), (text, 1), (text, b"")):
        with pytest.raises(ValueError, match="surrogate"):
            Parameter(name, value)


@pytest.mark.parametrize("name", [None, 3, b"name", [], object()], ids=range(5))
def test_a_name_is_a_text(name: Any) -> None:
    with pytest.raises(TypeError):
        Parameter(name, 1)


@pytest.mark.parametrize("name", ["", "x", "é日本", "file:1/model.bin", "x" * 1_000_000, Text("name")], ids=range(6))
def test_any_name_is_kept(name: str) -> None:
    for value in (1, True, "text", b"bytes"):
        kept = Parameter(name, value).name
        assert type(kept) is str
        assert kept == str.__str__(name)


def test_a_parameter_can_be_made_by_keywords_and_not_changed() -> None:
    parameter = Parameter(value=1, name="name")
    assert (parameter.name, parameter.type) == ("name", Type.INT)
    for name, value in (("name", "other"), ("type", Type.BOOL), ("value", 2)):
        with pytest.raises(AttributeError):
            setattr(parameter, name, value)
    for arguments in ((), ("name",), ("name", 1, 2)):
        with pytest.raises(TypeError):
            Parameter(*arguments)


# -- lifetime ----------------------------------------------------------------------------------------------------------


def test_bytes_are_kept_and_let_go() -> None:
    value = b"x" * 1000
    gc.collect()
    count = sys.getrefcount(value)
    parameters = [Parameter("name", value) for _ in range(100)]
    assert sys.getrefcount(value) == count + 100, "not copied, but kept"
    del parameters
    assert sys.getrefcount(value) == count


def test_what_can_change_is_copied() -> None:
    value = bytearray(b"x" * 1000)
    parameter = Parameter("name", value)
    value.extend(b"y" * 10)  # would be a BufferError while something holds it
    count = sys.getrefcount(value)
    del parameter
    assert sys.getrefcount(value) == count


def test_a_refused_parameter_keeps_nothing() -> None:
    value = b"x" * 1000
    count = sys.getrefcount(value)
    for _ in range(100):
        with pytest.raises(ValueError, match="NUL"):
            Parameter("a\0", value)
    assert sys.getrefcount(value) == count


# -- use ---------------------------------------------------------------------------------------------------------------


def config_of(name: str, **more: Any) -> str:
    return json.dumps(
        {
            "name": name,
            "backend": "identity",
            "input": [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
            "output": [{"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [-1]}],
            "instance_group": [{"kind": "KIND_CPU"}],
            **more,
        }
    )


def test_a_model_is_loaded_with_a_configuration_and_files(start_identity: StartServer) -> None:
    # Case 22: the files are temporary bytes, with NULs in them.
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)
    parameters = [
        Parameter("config", config_of("made", max_batch_size=4)),
        *(Parameter(f"file:1/{i}.bin", bytes(range(256)) * (i + 1)) for i in range(5)),
        Parameter("file:1/empty", b""),
        Parameter("file:1/array", array.array("d", [1.0, 2.0])),
    ]
    gc.collect()
    server.capi.load_model_with_parameters("made", parameters)
    del parameters
    model = server.model("made")
    config = json.loads(server.capi.model_config("made", -1, 1).serialize_to_json())
    assert config["max_batch_size"] == 4
    (response,) = model.infer(inputs={"INPUT0": np.ones((1, 3), np.float32)})
    assert response.outputs["OUTPUT0"].numpy().tolist() == [[1.0, 1.0, 1.0]]


def test_the_files_arrive_as_they_were_given(start_server: StartServer, identity_backend: Path, tmp_path: Path) -> None:
    # A file of labels shows what has arrived.
    repository = tmp_path / "labelled"
    repository.mkdir()
    server = start_server(
        model_repository=repository,
        backend_directory=identity_backend,
        model_control_mode=ti.ModelControlMode.EXPLICIT,
    )
    output = {"name": "OUTPUT0", "data_type": "TYPE_FP32", "dims": [3], "label_filename": "labels.txt"}
    inputs = [{"name": "INPUT0", "data_type": "TYPE_FP32", "dims": [3]}]
    config = config_of("labelled", input=inputs, output=[output])
    server.capi.load_model_with_parameters(
        "labelled",
        [
            Parameter("config", config),
            Parameter("file:labels.txt", bytearray("eins\nzwei\ndreié".encode())),
            Parameter("file:1/data", b"\0"),
        ],
    )
    (response,) = server.model("labelled").infer(inputs={"INPUT0": np.array([0, 1, 2], np.float32)})
    assert response.labels == {"OUTPUT0": ("eins", "zwei", "dreié")}


@pytest.mark.parametrize(
    "parameters",
    [
        [("config", "{")],
        [("config", "")],
        [("config", 3)],
        [("config", b"{}")],
        [("unknown", "x")],
        [("", "x")],
        [("file:1/a", "text")],
        [("file:1/a", b"bytes")],
        [("file:", b"bytes"), ("config", "{}")],
        [("config", "[" * 1_000_000)],
        [("config", '{"a":' * 1_000_000)],
        [("config", '{"parameters":{"a":' * 100_000)],
    ],
    ids=range(12),
)
def test_wrong_parameters_load_nothing(server: ti.Server, parameters: list[tuple[str, Any]]) -> None:
    with pytest.raises(ti.TritonError):
        server.capi.load_model_with_parameters("made", [Parameter(*each) for each in parameters])
    assert not server.capi.model_is_ready("made", -1)
    add_echo(server)
    assert server.live()


@pytest.mark.parametrize(
    "parameters", [None, [None], ["config"], [("config", "{}")], 3, "config", {"config": "{}"}], ids=range(7)
)
def test_only_parameters_are_parameters(server: ti.Server, parameters: Any) -> None:
    with pytest.raises(TypeError):
        server.capi.load_model_with_parameters("made", parameters)


def test_a_file_cannot_leave_the_model_s_folder(start_identity: StartServer, tmp_path: Path) -> None:
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)
    target = tmp_path / "written"
    for path in (f"file:{target}", f"file:1/../../../../../../../../..{target}", f"file:../{'../' * 20}{target}"):
        with pytest.raises(ti.TritonError):
            server.capi.load_model_with_parameters(
                "made", [Parameter("config", config_of("made")), Parameter(path, b"content")]
            )
        assert not target.exists()


def test_the_same_parameters_load_two_models(start_identity: StartServer) -> None:
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)
    parameters = [Parameter("config", config_of("")), Parameter("file:1/a", b"a\0")]
    for name in ("one", "two"):
        server.capi.load_model_with_parameters(name, parameters)
        assert server.capi.model_is_ready(name, -1)


def test_a_repository_is_registered_with_names(start_identity: StartServer, tmp_path: Path) -> None:
    server = start_identity(model_control_mode=ti.ModelControlMode.EXPLICIT)
    other = tmp_path / "other"
    write_model(other, "folder", identity_config("name").replace('name: "name"\n', "", 1))
    server.capi.register_model_repository(str(other), [Parameter("folder", "name")])
    server.capi.load_model("name")
    assert server.capi.model_is_ready("name", -1)


LABELS: list[tuple[Any, bool]] = [
    ("text", True),
    ("", True),
    ('é\n"\\', True),
    (1, False),
    (True, False),
    (b"x", False),
]


@pytest.mark.parametrize(("value", "right"), LABELS, ids=range(len(LABELS)))
def test_labels_of_metrics_are_texts(value: Any, right: bool) -> None:
    family = capi.TRITONSERVER_MetricFamily(capi.TRITONSERVER_MetricKind.GAUGE, "parameter_labels", "Of parameters.")
    make: Callable[[], Any] = lambda: capi.TRITONSERVER_Metric(family, [Parameter("label", value)])  # noqa: E731
    if right:
        assert make().value == 0
    else:
        with pytest.raises(ti.InvalidArgumentError, match="STRING"):
            make()
