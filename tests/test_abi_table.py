"""The C ABI as this project declares it, held against the facts."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

import pytest

import triton_inprocess as ti

PROJECT = Path(__file__).resolve().parent.parent
ABI = PROJECT / "cpp" / "abi"
FACTS = Path(__file__).resolve().parent / "facts"

Version = tuple[int, int]


class Function(NamedTuple):
    """One function of the C API."""

    returns: str
    parameters: str
    first_version: Version


def spaced(text: str) -> str:
    """The text with single spaces, and none next to punctuation."""
    return re.sub(r"\s*([(),*])\s*", r"\1", " ".join(text.split()))


def without_comments(path: Path) -> str:
    return re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))


def rows(name: str) -> list[dict[str, str]]:
    with (FACTS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def fact_functions(name: str, version_column: str) -> dict[str, Function]:
    """The functions that the server implements; a backend implements the others."""
    functions = {}
    for row in rows(name):
        if row["implemented_by"] == "the server":
            major, minor = row[version_column].split()[0].split(".")
            functions[row["name"]] = Function(
                spaced(row["returns"]), spaced(row["parameters"]), (int(major), int(minor))
            )
    return functions


ENTRY = re.compile(
    r"TRITON_FUNCTION\(\s*(?P<api>\w+)\s*,\s*(?P<name>\w+)\s*,\s*(?P<major>\d+)\s*,\s*(?P<minor>\d+)\s*,"
    r"\s*(?P<returns>[^(),]+),\s*\((?P<parameters>[^()]*)\)\s*,\s*\((?P<arguments>[^()]*)\)\s*\)"
)


def table_entries() -> list[re.Match[str]]:
    text = without_comments(ABI / "functions.def")
    entries = list(ENTRY.finditer(text))
    # What the pattern cannot read must not go unnoticed.
    assert len(entries) == text.count("TRITON_FUNCTION(")
    return entries


def table_functions(api: str) -> dict[str, Function]:
    entries = [entry for entry in table_entries() if entry["api"] == api]
    functions = {
        entry["name"]: Function(
            spaced(entry["returns"]), spaced(entry["parameters"]), (int(entry["major"]), int(entry["minor"]))
        )
        for entry in entries
    }
    assert len(functions) == len(entries), "a function stands twice in the table"
    return functions


def test_server_functions_are_those_of_the_facts() -> None:
    table = table_functions("SERVER")
    assert table == fact_functions("tritonserver_functions.tsv", "first_c_api")
    assert len(table) == 172


def test_backend_functions_are_those_that_the_server_exports() -> None:
    table = table_functions("BACKEND")
    assert table == fact_functions("tritonbackend_functions.tsv", "first_backend_api")
    assert len(table) == 91


def test_the_table_knows_no_other_api() -> None:
    assert {entry["api"] for entry in table_entries()} == {"SERVER", "BACKEND"}


def test_arguments_are_the_names_of_the_parameters() -> None:
    for entry in table_entries():
        parameters = [each for each in spaced(entry["parameters"]).split(",") if each not in ("", "void")]
        names = [re.split(r"[ *]", parameter)[-1] for parameter in parameters]
        arguments = [each for each in spaced(entry["arguments"]).split(",") if each]
        assert arguments == names, entry["name"]


def test_enumerations_have_the_values_of_the_facts() -> None:
    facts: dict[str, dict[str, int]] = {}
    for row in rows("tritonserver_types.tsv") + rows("tritonbackend_types.tsv"):
        if row["kind"] == "enum":
            member, value = row["detail"].split("=")
            facts.setdefault(row["name"], {})[member.strip()] = int(value, 0)
    declared: dict[str, dict[str, int]] = {}
    for enum in re.finditer(r"\benum (\w+)[^{;]*{([^}]*)}", without_comments(ABI / "types.h")):
        members = (member.split("=") for member in enum[2].split(",") if member.strip())
        declared[enum[1]] = {name.strip(): int(value, 0) for name, value in members}
    assert declared == facts


def test_callbacks_have_the_signatures_of_the_facts() -> None:
    facts = {}
    for row in rows("tritonserver_types.tsv") + rows("tritonbackend_types.tsv"):
        if row["kind"] == "callback":
            signature = re.fullmatch(r"returns (.+?) takes \((.*)\)", row["detail"])
            assert signature is not None, row
            facts[row["name"]] = (spaced(signature[1]), spaced(signature[2]))
    declared = {
        callback[1]: (spaced(callback[2]), spaced(callback[3]))
        for callback in re.finditer(
            r"\busing (\w+Fn_t)\s*=\s*([^;=]+?)\s*\(\*\)\s*\(([^;]*)\);", without_comments(ABI / "types.h")
        )
    }
    assert declared == facts
    assert len(declared) == 10


def test_every_kind_of_fact_is_looked_at() -> None:
    kinds = {row["kind"] for row in rows("tritonserver_types.tsv") + rows("tritonbackend_types.tsv")}
    assert kinds == {"enum", "callback"}


@pytest.mark.parametrize(
    ("python", "c_enum", "prefix"),
    [
        (ti.DataType, "TRITONSERVER_DataType", "TRITONSERVER_TYPE_"),
        (ti.MemoryType, "TRITONSERVER_MemoryType", "TRITONSERVER_MEMORY_"),
        (ti.InstanceGroupKind, "TRITONSERVER_InstanceGroupKind", "TRITONSERVER_INSTANCEGROUPKIND_"),
        (ti.LogLevel, "TRITONSERVER_LogLevel", "TRITONSERVER_LOG_"),
        (ti.LogFormat, "TRITONSERVER_LogFormat", "TRITONSERVER_LOG_"),
        (ti.MetricFormat, "TRITONSERVER_MetricFormat", "TRITONSERVER_METRIC_"),
        (ti.MetricKind, "TRITONSERVER_MetricKind", "TRITONSERVER_METRIC_KIND_"),
        (ti.ModelControlMode, "TRITONSERVER_ModelControlMode", "TRITONSERVER_MODEL_CONTROL_"),
        (ti.RateLimitMode, "TRITONSERVER_RateLimitMode", "TRITONSERVER_RATE_LIMIT_"),
        (ti.ModelBatchFlag, "TRITONSERVER_ModelBatchFlag", "TRITONSERVER_BATCH_"),
        (ti.ModelTxnPropertyFlag, "TRITONSERVER_ModelTxnPropertyFlag", "TRITONSERVER_TXN_"),
    ],
)
def test_enumerations_of_python_are_those_of_the_c_api(python: type, c_enum: str, prefix: str) -> None:
    facts = {}
    for row in rows("tritonserver_types.tsv"):
        if row["kind"] == "enum" and row["name"] == c_enum:
            member, value = row["detail"].split("=")
            facts[member.strip().removeprefix(prefix)] = int(value, 0)
    members = {name: member.value for name, member in python.__members__.items()}  # type: ignore[attr-defined]
    assert members == facts


def test_a_runtime_lacks_what_came_after_it(runtime: ti.runtime.Runtime) -> None:
    newer = {
        name for name, function in table_functions("SERVER").items() if function.first_version > runtime.api_version
    }
    # The minor version alone does not tell everything: only for what is certain.
    assert newer <= set(runtime.missing_functions)
    assert runtime.api_version < (1, 34) or runtime.missing_functions == ()
