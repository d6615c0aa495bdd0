"""DLPack capsules of the tests' own: made as no library makes them, and read field by field."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

VERSIONED = b"dltensor_versioned"
LEGACY = b"dltensor"

CODES = {"i": 0, "u": 1, "f": 2, "b": 6}

Array = np.ndarray[Any, Any]


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class TensorView(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", TensorView), ("manager", ctypes.c_void_p), ("deleter", Deleter)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", TensorView),
    ]


_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]


def name_of(capsule: Any) -> bytes:
    name = _name(capsule)
    assert name is not None
    return bytes(name)


def read(capsule: Any) -> Managed | ManagedVersioned:
    """What a capsule that was not consumed points to; valid as long as the capsule is."""
    kind: type[Any] = ManagedVersioned if name_of(capsule) == VERSIONED else Managed
    managed: Managed | ManagedVersioned = kind.from_address(_pointer(capsule, name_of(capsule)))
    return managed


_given_away: list[Any] = []


class Producer:
    """Speaks DLPack for memory that `owner` has; its capsules are made of just what it was given."""

    def __init__(
        self,
        owner: Array,
        shape: Sequence[int],
        strides: Sequence[int] | None,
        *,
        byte_offset: int = 0,
        dtype: tuple[int, int, int] | None = None,
        device: tuple[int, int] = (1, 0),
        version: tuple[int, int] | None = (1, 0),
        flags: int = 0,
        address: int | None = None,
    ) -> None:
        self.owner = owner
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.device = device
        self.deleted = 0
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._deleter = Deleter(self._delete)
        self.name = LEGACY if version is None else VERSIONED
        self.managed: Managed | ManagedVersioned
        if version is None:
            self.managed = Managed(deleter=self._deleter)
        else:
            self.managed = ManagedVersioned(major=version[0], minor=version[1], flags=flags, deleter=self._deleter)
        view = self.managed.tensor
        view.data = owner.ctypes.data if address is None else address
        view.device = Device(*device)
        view.ndim = len(shape)
        view.dtype = Type(*(dtype or (CODES[owner.dtype.kind], 8 * owner.itemsize, 1)))
        view.shape = self.shape
        if self.strides is not None:
            view.strides = self.strides
        view.byte_offset = byte_offset

    def _delete(self, _: int) -> None:
        self.deleted += 1

    def capsule(self) -> Any:
        _given_away.append(self)  # for good: a consumer may call the deleter at any time, which is in here
        return _new(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        self.asked.append(("device", {}))
        return self.device

    def __dlpack__(self, **arguments: Any) -> Any:
        self.asked.append(("capsule", arguments))
        return self.capsule()
