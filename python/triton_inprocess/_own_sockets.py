"""The sockets of this process at an address that a library listens at, which does not give them away."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import socket
import struct
import termios
from collections.abc import Iterator

__all__ = ["OwnSockets"]

_DESCRIPTORS = "/proc/self/fd"


class OwnSockets:
    """Those of TCP whose local address is `address`, or, when that is of every interface, whose local port is."""

    def __init__(self, address: tuple[str, int]) -> None:
        """For an address that is listened at."""
        self._host = ipaddress.ip_address(address[0])
        self._port = address[1]

    def stop_listening(self) -> None:
        """Take no connection any more. Whoever listens is not told: its descriptor leads nowhere from now on."""
        for descriptor, each in self._all():
            listening = bool(each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
            family = each.family
            each.close()  # or it would go on listening
            if listening:
                with socket.socket(family, socket.SOCK_STREAM) as nowhere:
                    os.dup2(nowhere.fileno(), descriptor, inheritable=False)

    def connected(self) -> int:
        """How many connections there are."""
        return sum(1 for _ in self._connections())

    def pending(self) -> bool:
        """Whether there are bytes that one of the sides has not taken."""
        return any(_bytes(each, termios.FIONREAD) or _bytes(each, termios.TIOCOUTQ) for each in self._connections())

    def cut(self) -> None:
        """End every connection."""
        for each in self._connections():
            with contextlib.suppress(OSError):  # the other side was faster
                each.shutdown(socket.SHUT_RDWR)

    def _connections(self) -> Iterator[socket.socket]:
        for _, each in self._all():
            with contextlib.suppress(OSError):
                each.getpeername()
                yield each

    def _all(self) -> Iterator[tuple[int, socket.socket]]:
        """Each with its descriptor, as an object of its own, which is closed when the next one comes."""
        for name in os.listdir(_DESCRIPTORS):  # noqa: PTH208
            try:
                if not os.readlink(f"{_DESCRIPTORS}/{name}").startswith("socket:"):  # noqa: PTH115
                    continue
                duplicate = socket.socket(fileno=os.dup(int(name)))
            except OSError:
                continue  # it was closed meanwhile
            with duplicate:
                if self._is_own(duplicate):
                    yield int(name), duplicate

    def _is_own(self, each: socket.socket) -> bool:
        if each.family not in (socket.AF_INET, socket.AF_INET6) or each.type != socket.SOCK_STREAM:
            return False
        host, port = each.getsockname()[:2]
        return port == self._port and (self._host.is_unspecified or ipaddress.ip_address(_plain(host)) == self._host)


def _plain(host: str) -> str:
    return host.partition("%")[0].removeprefix("::ffff:")


def _bytes(each: socket.socket, request: int) -> int:
    with contextlib.suppress(OSError):
        result = fcntl.ioctl(each, request, struct.pack("i", 0))
        count: int = struct.unpack("i", result)[0]
        return count
    return 0
