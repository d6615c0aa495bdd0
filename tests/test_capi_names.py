"""Every function of Triton's C API, and every enumeration, is in `capi` under the name that its naming rule says."""

from __future__ import annotations

import csv
import enum
import inspect
import operator
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import triton_inprocess as ti
from triton_inprocess import capi

FACTS = Path(__file__).parent / "facts"
PREFIX = "TRITONSERVER_"

CLASSES = [
    "BufferAttributes",
    "InferenceRequest",
    "InferenceResponse",
    "InferenceTrace",
    "Message",
    "Metric",
    "MetricArgs",
    "MetricFamily",
    "Metrics",
    "Parameter",
    "ResponseAllocator",
    "Server",
    "ServerOptions",
]

FREE_FUNCTIONS = [
    "DataTypeByteSize",
    "DataTypeString",
    "ErrorCodeString",
    "InferenceTraceActivityString",
    "InferenceTraceLevelString",
    "InstanceGroupKindString",
    "LogIsEnabled",
    "LogMessage",
    "MemoryTypeString",
    "ParameterTypeString",
    "StringToDataType",
]

NO_CONSTRUCTOR = {"InferenceResponse": "Triton makes it", "Metrics": "TRITONSERVER_Server.metrics makes it"}

# Functions that have no Python name of their own.
EXCUSED = {
    "ErrorNew": "an exception that a callback raises",
    "ErrorDelete": "an exception owns nothing of C",
    "ErrorCode": "the class of the exception",
    "ErrorMessage": "the text of the exception",
}

# Where the rule would give another name: (class, name in Python, why).
EXCEPTIONS = {
    "ApiVersion": ("", "api_version", "public_names.md names it so"),
    "ParameterBytesNew": ("Parameter", "__init__", "one constructor: the value's type decides"),
    "MessageNewFromSerializedJson": ("Message", "__init__", "the only constructor"),
    "InferenceTraceTensorNew": ("InferenceTrace", "__init__", "an overload of the constructor"),
    "MetricNewWithArgs": ("Metric", "__init__", "an optional argument of the constructor"),
    "GetMetricFamilyKind": ("MetricFamily", "kind", "C puts the verb before the class"),
    "GetMetricKind": ("Metric", "kind", "C puts the verb before the class"),
    "InferenceResponseError": ("InferenceResponse", "throw_if_response_error", "public_names.md names it so"),
    "ServerOptionsAddRateLimiterResource": (
        "ServerOptions",
        "add_rate_limiter_resource",
        "public_names.md names it so",
    ),
}

# Getters by their parameters which are methods: public_names.md names them so, as they ask anew each time.
METHODS = {
    "InferenceRequestIsCancelled": "like cancel()",
    "InferenceTraceSpawnChildTrace": "makes something",
    "MessageSerializeToJson": "a verb",
    "ServerInferAsync": "takes what its pointers are to",
    "ServerIsLive": "asks the server",
    "ServerIsReady": "asks the server",
    "ServerMetadata": "asks the server",
    "ServerMetrics": "asks the server",
}

# Methods without a function of C.
OTHERS = {
    "InferenceRequest": {"get_next_response": "public_names.md: futures instead of callbacks"},
    "Metric": {"set_value": "the older name of set"},
    "Parameter": {"name": "what it was made with", "type": "what it was made with"},
    "Server": {
        "address": "of the C object, for other packages",
        "give_up": "of this package",
        "running": "of this package",
        "stop_accepting": "of this package",
        "stop_within": "of this package",
        "use_count": "of this package",
    },
}

# The prefix of each enumeration's members in C.
ENUMERATIONS = {
    "DataType": "TYPE_",
    "Error_Code": "ERROR_",
    "InferenceTraceActivity": "TRACE_",
    "InferenceTraceLevel": "TRACE_LEVEL_",
    "InstanceGroupKind": "INSTANCEGROUPKIND_",
    "LogFormat": "LOG_",
    "LogLevel": "LOG_",
    "MemoryType": "MEMORY_",
    "MetricFormat": "METRIC_",
    "MetricKind": "METRIC_KIND_",
    "ModelBatchFlag": "BATCH_",
    "ModelControlMode": "MODEL_CONTROL_",
    "ModelIndexFlag": "INDEX_FLAG_",
    "ModelTxnPropertyFlag": "TXN_",
    "ParameterType": "PARAMETER_",
    "RateLimitMode": "RATE_LIMIT_",
    "RequestFlag": "REQUEST_FLAG_",
    "RequestReleaseFlag": "REQUEST_RELEASE_",
    "ResponseCompleteFlag": "RESPONSE_COMPLETE_",
}

FLAGS = [
    "InferenceTraceLevel",
    "ModelBatchFlag",
    "ModelIndexFlag",
    "ModelTxnPropertyFlag",
    "RequestFlag",
    "RequestReleaseFlag",
    "ResponseCompleteFlag",
]


def rows(file: str) -> Iterator[dict[str, str]]:
    with (FACTS / file).open(encoding="utf-8", newline="") as opened:
        yield from csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE)


FUNCTIONS = {
    row["name"].removeprefix(PREFIX): row["parameters"].split(", ") for row in rows("tritonserver_functions.tsv")
}


def enumeration_facts() -> dict[str, dict[str, int]]:
    facts: dict[str, dict[str, int]] = {}
    for row in rows("tritonserver_types.tsv"):
        if row["kind"] == "enum":
            member, value = row["detail"].split(" = ")
            facts.setdefault(row["name"].removeprefix(PREFIX), {})[member.removeprefix(PREFIX)] = int(value)
    return facts


def enumeration(name: str) -> Any:
    return getattr(capi, PREFIX + name)


def snake_case(name: str) -> str:
    name = re.sub("([a-z0-9])([A-Z])", r"\1_\2", name.replace("UInt", "Uint"))
    return name.lower()


def split(function: str) -> tuple[str, str]:
    """(class, the rest of the name), by the longest class name that the function's begins with."""
    fitting = [each for each in CLASSES if function.startswith(each)]
    best = max(fitting, key=len)
    return best, function.removeprefix(best)


def is_getter(function: str) -> bool:
    """Whether it takes the object and else only pointers to write through."""
    first, *others = FUNCTIONS[function]
    if not first.startswith(f"{PREFIX}{split(function)[0]}* ") or not others:
        return False
    return all("** " in each or ("* " in each and not each.startswith("const ")) for each in others)


def expected(function: str) -> tuple[str, str, bool]:
    """(class or empty, Python name, whether it is a property)."""
    if function in EXCEPTIONS:
        class_, name, _ = EXCEPTIONS[function]
        return class_, name, function.startswith("GetMetric")
    if function in FREE_FUNCTIONS:
        return "", PREFIX + function, False
    class_, rest = split(function)
    if rest == "New":
        return class_, "__init__", False
    if rest == "Delete":
        return class_, "__del__", False
    getter = class_ + rest.removeprefix("Set")
    if rest.startswith("Set") and getter in FUNCTIONS and is_getter(getter):
        return class_, snake_case(rest.removeprefix("Set")), True
    is_method = function in METHODS or rest.startswith("Set") or not is_getter(function)
    return class_, snake_case(rest), not is_method


REACHED = [name for name in FUNCTIONS if name not in EXCUSED]


def test_the_table_is_whole() -> None:
    assert len(FUNCTIONS) == 172
    for table in (EXCUSED, EXCEPTIONS, METHODS):
        assert set(table) <= set(FUNCTIONS)
    assert set(FREE_FUNCTIONS) <= set(FUNCTIONS)


@pytest.mark.parametrize("function", REACHED)
def test_the_function_has_its_python_name(function: str) -> None:
    class_, name, is_property = expected(function)
    if not class_:
        assert callable(getattr(capi, name))
        assert name in capi.__all__
        return
    type_ = getattr(capi, PREFIX + class_)
    if name == "__del__":
        return  # an object's C object goes with it
    assert name in dir(type_), f"{PREFIX}{function} has no Python name: {type_.__name__}.{name}"
    attribute = inspect.getattr_static(type_, name)
    assert isinstance(attribute, property) == is_property
    if not is_property:
        assert callable(getattr(type_, name))
    elif f"{class_}Set{function.removeprefix(class_)}" in FUNCTIONS:
        assert attribute.fset is not None


@pytest.mark.parametrize("function", REACHED)
def test_the_docstring_names_the_c_function(function: str) -> None:
    class_, name, _ = expected(function)
    if name == "__del__":
        return
    target = getattr(capi, PREFIX + class_) if class_ else capi
    attribute = inspect.getattr_static(target, name)
    text = attribute.__doc__ or ""
    rest = function.removeprefix(class_) if class_ else ""
    if name == "__init__" or rest.startswith("Set") or function in EXCEPTIONS:
        short = f"…{rest}"  # a second function of a sentence may leave its class out
        assert PREFIX + function in text or (rest and short in text), text
    else:
        assert PREFIX + function in text, text


@pytest.mark.parametrize("class_", CLASSES)
def test_the_class_has_nothing_else(class_: str) -> None:
    names = {name for each in REACHED if (found := expected(each))[0] == class_ for name in [found[1]]}
    others = OTHERS.get(class_, {})
    type_ = getattr(capi, PREFIX + class_)
    assert {name for name in dir(type_) if not name.startswith("_")} == (names | set(others)) - {"__init__", "__del__"}


@pytest.mark.parametrize("class_", CLASSES)
def test_the_class_is_exported_and_says_what_it_is(class_: str) -> None:
    type_ = getattr(capi, PREFIX + class_)
    assert type_.__name__ == PREFIX + class_
    assert PREFIX + class_ in capi.__all__
    assert PREFIX + class_ in (type_.__doc__ or "")


@pytest.mark.parametrize("class_", NO_CONSTRUCTOR)
def test_what_only_triton_makes_cannot_be_made(class_: str) -> None:
    with pytest.raises(TypeError, match="no constructor"):
        getattr(capi, PREFIX + class_)()


@pytest.mark.parametrize("class_", sorted(set(CLASSES) - set(NO_CONSTRUCTOR)))
def test_constructors_do_not_take_what_they_cannot_use(class_: str) -> None:
    type_ = getattr(capi, PREFIX + class_)
    with pytest.raises((TypeError, ti.UnsupportedError)):
        type_(object(), object(), object(), object(), object(), object(), object(), object())
    with pytest.raises((TypeError, ti.UnsupportedError)):
        type_(nonsense=1)


@pytest.mark.filterwarnings("ignore:nanobind:RuntimeWarning")
@pytest.mark.parametrize("class_", CLASSES)
def test_an_object_that_was_never_initialised_raises_whatever_it_is_asked(class_: str) -> None:
    type_ = getattr(capi, PREFIX + class_)
    instance = type_.__new__(type_)
    for name in dir(type_):
        if name.startswith("_"):
            continue
        attribute = inspect.getattr_static(type_, name)
        ask = operator.attrgetter(name) if isinstance(attribute, property) else operator.methodcaller(name)
        with pytest.raises((TypeError, AttributeError, ti.TritonError)):
            ask(instance)


# -- enumerations ------------------------------------------------------------------------------------------------------


def test_every_enumeration_of_the_c_api_is_here() -> None:
    facts = enumeration_facts()
    assert set(facts) == set(ENUMERATIONS)
    assert {PREFIX + name for name in facts} <= set(capi.__all__)


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_the_enumeration_has_the_members_of_the_c_api(name: str) -> None:
    prefix = ENUMERATIONS[name]
    facts = {member.removeprefix(prefix): value for member, value in enumeration_facts()[name].items()}
    assert all(member.startswith(prefix) for member in enumeration_facts()[name])
    members = enumeration(name).__members__
    assert {member: each.value for member, each in members.items()} == facts
    assert {member: int(each) for member, each in members.items()} == facts
    assert list(members) == list(facts), "in the order of the C API"


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_members_survive_a_pickle(name: str) -> None:
    for member in enumeration(name).__members__.values():
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(member, protocol)) is member


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_a_member_is_a_number_where_one_is_wanted(name: str) -> None:
    type_ = enumeration(name)
    for member in type_.__members__.values():
        assert list(range(20))[member] == member.value
        assert type_(member.value) is member
        assert hash(member) == hash(type_[member.name])
    if name in FLAGS:
        assert int(type_(1 << 20)) == 1 << 20, "flags keep bits that they do not know"
    else:
        with pytest.raises(ValueError, match="99"):
            type_(99)


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_the_enumeration_is_that_of_the_package(name: str) -> None:
    other = getattr(ti, name, None)
    if other is not None:
        assert other is enumeration(name)
    assert PREFIX + name in enumeration(name).__doc__


@pytest.mark.parametrize("name", FLAGS)
def test_flags_combine(name: str) -> None:
    type_ = enumeration(name)
    assert issubclass(type_, enum.IntFlag)
    for one in type_:
        for other in type_:
            both = one | other
            assert type(both) is type_
            assert both == one.value | other.value
            assert (both & one) == one.value
            assert set(str(both).split("|")) == {one.name, other.name}
    assert pickle.loads(pickle.dumps(type_(3))) == 3


@pytest.mark.parametrize("name", sorted(set(ENUMERATIONS) - set(FLAGS)))
def test_what_is_no_set_of_bits_does_not_combine(name: str) -> None:
    first = next(iter(enumeration(name)))
    with pytest.raises(TypeError):
        first | first


@pytest.mark.parametrize("name", FLAGS)
def test_flags_show_what_they_do_not_know_as_a_number(name: str) -> None:
    assert str(enumeration(name)(1 << 20)) == str(1 << 20)


def spellings() -> list[tuple[str, Callable[..., str]]]:
    return [
        ("DataType", capi.TRITONSERVER_DataTypeString),
        ("MemoryType", capi.TRITONSERVER_MemoryTypeString),
        ("ParameterType", capi.TRITONSERVER_ParameterTypeString),
        ("InstanceGroupKind", capi.TRITONSERVER_InstanceGroupKindString),
        ("InferenceTraceActivity", capi.TRITONSERVER_InferenceTraceActivityString),
        ("InferenceTraceLevel", capi.TRITONSERVER_InferenceTraceLevelString),
        ("Error_Code", capi.TRITONSERVER_ErrorCodeString),
    ]


FIRST_WITH_DOUBLES = "TRITONSERVER_InferenceRequestSetDoubleParameter"


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize(("name", "spell"), spellings(), ids=lambda each: each if isinstance(each, str) else "")
def test_members_are_spelt_as_the_library_spells_them(name: str, spell: Callable[..., str]) -> None:
    unknown = []
    for member in enumeration(name).__members__.values():
        spelt = spell(member)
        if spelt.lower().startswith(("<invalid", "<unknown", "unknown")) and str(member) != spelt:
            unknown.append(member.name)  # newer than the library, or forgotten in it
        elif (member.name, spelt) == ("DOUBLE", "BYTES") and not capi.available(FIRST_WITH_DOUBLES):
            unknown.append(member.name)  # before C API 1.28 its number was that of BYTES
        else:
            assert str(member) == spelt
    # CANCELLED is forgotten in every library so far, MIN and MAX are no longer spelt; the rest is newer than some.
    assert set(unknown) <= {"CANCELLED", "MIN", "MAX", "CUSTOM_ACTIVITY", "BYTES", "DOUBLE"}


# -- the module --------------------------------------------------------------------------------------------------------


def test_everything_exported_exists_once() -> None:
    assert sorted(set(capi.__all__)) == sorted(capi.__all__)
    for name in capi.__all__:
        assert hasattr(capi, name)


def test_a_star_import_brings_all_and_nothing_else() -> None:
    namespace: dict[str, Any] = {}
    exec("from triton_inprocess.capi import *", namespace)
    del namespace["__builtins__"]
    assert set(namespace) == set(capi.__all__)


def test_nothing_public_is_left_out() -> None:
    public = {
        name
        for name, value in vars(capi).items()
        if not name.startswith("_") and not isinstance(value, ModuleType) and name not in ("annotations", "code_of")
    }
    assert public == set(capi.__all__)


def test_the_errors_are_those_of_the_package() -> None:
    for name in capi.__all__:
        if name.endswith("Error"):
            assert getattr(capi, name) is getattr(ti, name)
