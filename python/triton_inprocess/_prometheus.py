"""Reading Prometheus' text format, in which Triton reports its metrics."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import get_args

from .metrics_report import MetricFamilyReport, MetricSample, MetricsReport, ReportedKind

__all__ = ["parse"]

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*'

_COMMENT = re.compile(rf"#[ \t]*(HELP|TYPE)[ \t]+({_NAME})(?:[ \t](.*))?")
_SAMPLE = re.compile(
    rf"({_NAME})(?:[ \t]*\{{((?:{_LABEL}(?:,|(?=\}})))*)[ \t]*\}}[ \t]*|[ \t]+)(\S+)(?:[ \t]+(-?[0-9]+))?[ \t\r]*"
)
_LABELS = re.compile(_LABEL)
_ESCAPE = re.compile(r"\\(.)")

_UNESCAPED = {"n": "\n", '"': '"', "\\": "\\"}

# What the names of a family's samples may end with, by its kind.
_ENDINGS = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}


class _Family:
    """A family while its lines are read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.kind: ReportedKind = "untyped"
        self.help = ""
        self.samples: list[MetricSample] = []


def parse(text: str) -> MetricsReport:
    """The families of a report. Raises ValueError for what is not in the format, with the line."""
    families: dict[str, _Family] = {}
    # Only this ends a line: what else str.splitlines takes for an end may stand in a label.
    for number, line in enumerate(text.split("\n"), 1):
        content = line.lstrip(" \t\r")
        if not content:
            continue
        try:
            (_read_comment if content.startswith("#") else _read_sample)(families, content)
        except ValueError as error:
            raise ValueError(f"line {number} of the metrics is not in Prometheus' text format: {error}") from None
    return MetricsReport(
        {name: MetricFamilyReport(name, each.kind, each.help, tuple(each.samples)) for name, each in families.items()}
    )


def _read_comment(families: dict[str, _Family], line: str) -> None:
    found = _COMMENT.fullmatch(line)
    if found is None:
        return  # a comment for people
    what, name, text = found.groups(default="")
    family = families.setdefault(name, _Family(name))
    if what == "HELP":
        family.help = _ESCAPE.sub(_unescape, text)
        return
    kind = text.strip(" \t\r")
    if kind not in get_args(ReportedKind):
        raise ValueError(f"{line!r} has no kind that is known")
    if family.samples and family.kind != kind:
        raise ValueError(f"{line!r} comes after samples of another kind")
    family.kind = kind  # type: ignore[assignment]  # it is one of them
    for ending in _ENDINGS.get(kind, ()):
        known = families.get(name + ending)
        if known is not None and known.kind == "untyped":
            raise ValueError(f"{line!r} comes after its samples")


def _read_sample(families: dict[str, _Family], line: str) -> None:
    found = _SAMPLE.fullmatch(line)
    if found is None:
        raise ValueError(f"{line!r}")
    name, labels, value, timestamp = found[1], found[2], found[5], found[6]
    if "_" in value:  # which float() would overlook
        raise ValueError(f"{value!r} is not a number, in {line!r}")
    try:
        number = float(value)  # also +Inf, and NaN in any spelling
    except ValueError:
        raise ValueError(f"{value!r} is not a number, in {line!r}") from None
    pairs = {label: _ESCAPE.sub(_unescape, each) for label, each in _LABELS.findall(labels or "")}
    family = _family_of(families, name)
    family.samples.append(
        MetricSample(name, MappingProxyType(pairs), number, int(timestamp) if timestamp is not None else None)
    )


def _family_of(families: dict[str, _Family], name: str) -> _Family:
    """The family that a sample belongs to; one of its own where the report names none."""
    if name in families:
        return families[name]
    for ending in ("_bucket", "_sum", "_count"):
        family = families.get(name.removesuffix(ending)) if name.endswith(ending) else None
        if family is not None and ending in _ENDINGS.get(family.kind, ()):
            return family
    return families.setdefault(name, _Family(name))


def _unescape(found: re.Match[str]) -> str:
    # An escape that is none stands for itself.
    return _UNESCAPED.get(found[1], found[0])
