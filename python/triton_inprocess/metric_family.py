"""The user's own metrics of one name."""

from __future__ import annotations

import re
from typing import NoReturn

from . import _native
from ._native import MetricKind
from .errors import InvalidArgumentError

__all__ = ["MetricFamily"]

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")


class MetricFamily(_native.TRITONSERVER_MetricFamily):
    """Your own metrics of one name, which `Server.metrics` reports beside Triton's (TRITONSERVER_MetricFamily).

    Families are the process's, not a server's: every server reports them, and they need none. A family may be dropped
    before its metrics, which keep it. It is a TRITONSERVER_MetricFamily of `capi`, too.

    Attributes:
        name: The name.
        description: What the metrics mean.
    """

    def __init__(self, kind: MetricKind, name: str, description: str) -> None:
        """A family (TRITONSERVER_MetricFamilyNew). Two of one name, kind and description are one.

        Args:
            kind: MetricKind.COUNTER, which only goes up; GAUGE, which can be set; or HISTOGRAM, from C API 1.34.
            name: ASCII letters, digits, "_" and ":", no digit first; names that begin with nv_ are Triton's own.
            description: What the metrics mean, in one line.

        Raises:
            TypeError: An argument is of the wrong type.
            InvalidArgumentError: The name is not allowed or has another kind or description already; or the
                description has more than one line, which Triton would report in a form that nobody can read.
            UnsupportedError: A histogram, with a runtime before C API 1.34.
        """
        if not isinstance(kind, MetricKind):
            raise TypeError(f"kind must be a MetricKind, not {type(kind).__name__}")
        for argument, text in (("name", name), ("description", description)):
            if not isinstance(text, str):
                raise TypeError(f"{argument} must be a str, not {type(text).__name__}")
        if _NAME.fullmatch(name) is None:
            raise InvalidArgumentError(
                f"name must be of ASCII letters, digits, '_' and ':', no digit first, not {name!r}"
            )
        if "\n" in description or "\r" in description:
            raise InvalidArgumentError(f"description must be one line, not {description!r}")
        if kind is MetricKind.HISTOGRAM:
            _native.TRITONSERVER_MetricArgs()  # which a histogram needs: an older library says so here, and clearly
        super().__init__(kind, name, description)
        self._kind = kind
        self.name: str = name
        self.description: str = description

    @property
    def kind(self) -> MetricKind:
        """The kind of its metrics."""
        return self._kind

    def __reduce__(self) -> NoReturn:
        """A family is one of a kind."""
        raise TypeError("a MetricFamily cannot be copied or pickled")

    def __repr__(self) -> str:
        """Kind, name and description."""
        return f"MetricFamily(MetricKind.{self._kind.name}, {self.name!r}, {self.description!r})"
