"""The benchmarks' own error."""

from __future__ import annotations


class BenchmarkError(Exception):
    """The benchmarks cannot run; the message says why and what to do."""
