"""Makes a copy of a shared library that lacks some of its functions.

    python lacking.py LIBRARY COPY FUNCTION...

The names are changed in the copy's dynamic string table: whoever looks one up finds none.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr


def make_lacking(library: Path, copy: Path, functions: Iterable[str]) -> Path:
    """Write a copy of the library that lacks the functions; raises ValueError for one that it does not have."""
    content = bytearray(library.read_bytes())
    begin, size = _dynamic_strings(content)
    for function in functions:
        at = content.find(b"\0" + function.encode() + b"\0", begin, begin + size)
        if at < 0:
            raise ValueError(f"{library} has no {function}")
        content[at + 1] = ord("_")
    copy.write_bytes(content)
    copy.chmod(0o755)
    return copy


def _dynamic_strings(content: bytearray) -> tuple[int, int]:
    """Where the section .dynstr lies, and its size."""
    sections = list(_sections(content))
    names = sections[struct.unpack_from("<H", content, 62)[0]]  # e_shstrndx
    for section in sections:
        name_at = names[4] + section[0]
        if content[name_at : content.index(0, name_at)] == b".dynstr":
            return section[4], section[5]
    raise ValueError("the library has no dynamic strings")


def _sections(content: bytearray) -> Iterator[tuple[int, ...]]:
    offset = struct.unpack_from("<Q", content, 40)[0]  # e_shoff
    count = struct.unpack_from("<H", content, 60)[0]  # e_shnum
    for index in range(count):
        yield _SECTION.unpack_from(content, offset + index * _SECTION.size)


if __name__ == "__main__":
    make_lacking(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
