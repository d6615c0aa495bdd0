"""A peer that cannot be measured here."""

from __future__ import annotations


class MissingPeerError(Exception):
    """The message says what is not there, and how to get it where that is known."""
