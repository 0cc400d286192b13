"""LAPACK without the interpreter's lock, so that threads can factor matrices side by side.

scipy's own wrappers keep the lock, its routines for Cython are plain addresses: called through
ctypes they leave it. Matrices are symmetric or triangular, in C order, and overwritten; "lower" in
LAPACK's order of columns is the upper triangle here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@cache
def _routine(name: str, arguments: int) -> Callable[..., None]:
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(address)


def _call(name: str, letters: bytes, A: Array) -> bool:
    """A routine (letters, n, A, n, info) on a square matrix; whether it failed."""
    assert A.flags.c_contiguous
    assert A.dtype == np.float64
    n, info = ctypes.c_int(len(A)), ctypes.c_int(0)
    at = [ctypes.byref(ctypes.c_char(letter)) for letter in letters]
    size = ctypes.byref(n)
    _routine(name, len(letters) + 4)(*at, size, A.ctypes.data, size, ctypes.byref(info))
    return info.value != 0


def factor(C: Array) -> bool:
    """C = LL': L' in the upper triangle, the lower one as it was; whether C is not definite."""
    return _call("dpotrf", b"L", C)


def inverse_of_factor(L: Array) -> None:
    """L'⁻¹ in the upper triangle, from `factor`."""
    _call("dtrtri", b"LN", L)


def inverse_from_factor(L: Array) -> None:
    """(LL')⁻¹ in the upper triangle, from `factor`."""
    _call("dpotri", b"L", L)
