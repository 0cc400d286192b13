"""Equality by value: whether one object is a copy of another, whichever way it was copied.

Frames come back from pickle, files, `copy.deepcopy`, `sklearn.base.clone` and other processes, and
are then compared with the frames that they are copies of. Two objects are the same if they are made
of the same parts; nan is the same as nan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import singledispatch
from inspect import getclosurevars
from numbers import Number
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .families import Family

Parts = tuple[Any, ...]
#: pairs that are being compared, which may contain themselves; held, so that no id is used twice
Known = dict[tuple[int, int], tuple[Any, Any]]


def same(a: Any, b: Any, known: Known | None = None) -> bool:
    """Whether a and b are equal, or are made of equal parts."""
    if a is b:
        return True
    if isinstance(a, Number) and isinstance(b, Number):  # a file holds numbers of Python
        return bool(a == b or (a != a and b != b))
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):  # one may be mapped from a file
        return _same_arrays(a, b)
    if type(a) is not type(b) or isinstance(a, type):
        return False
    known = {} if known is None else known
    if (id(a), id(b)) in known:
        return True
    known[id(a), id(b)] = a, b
    mine, theirs = parts(a), parts(b)
    if mine is None or theirs is None:
        return bool(a == b)
    pairs = zip(mine, theirs, strict=False)
    return len(mine) == len(theirs) and all(same(p, q, known) for p, q in pairs)


def _same_arrays(a: NDArray, b: NDArray) -> bool:
    if a.shape != b.shape or a.dtype.names != b.dtype.names:
        return False
    if a.dtype.names:  # bytes between the fields say nothing
        return all(_same_arrays(a[name], b[name]) for name in a.dtype.names)
    if a.dtype.kind == "O":
        return all(map(same, a.flat, b.flat))
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fcmM")


@singledispatch
def parts(value: Any) -> Parts | None:
    """What an object is made of, None where it is one whole: what a pickle of it would hold."""
    if is_dataclass(value):
        return tuple(getattr(value, field.name) for field in fields(value) if field.compare)
    if hasattr(value, "dist") and hasattr(value, "ppf"):  # scipy's hold what they compute
        return type(value.dist), value.dist.name, value.args, value.kwds
    if sparse.issparse(value):
        rows = sparse.csr_array(value)
        rows.sum_duplicates()
        return rows.shape, rows.data, rows.indices, rows.indptr
    try:
        made = value.__reduce_ex__(4)
    except TypeError:
        return None
    if isinstance(made, str):  # the name of something that there is one of
        return None
    return tuple(list(part) if isinstance(part, Iterator) else part for part in made)


@parts.register(str)
@parts.register(bytes)
@parts.register(set)
@parts.register(frozenset)
def _whole(value: Any) -> None:
    return None


@parts.register(list)
@parts.register(tuple)
def _listed(value: Any) -> Parts:
    return tuple(value)


@parts.register
def _entries(value: dict) -> Parts:
    return frozenset(value), *(value[key] for key in sorted(value, key=repr))


@parts.register
def _family(value: Family) -> Parts:
    return value.get_params(deep=False), vars(value).get("_resolved")


@parts.register
def _method(value: MethodType) -> Parts:
    return value.__func__, value.__self__


@parts.register
def _function(value: FunctionType) -> Parts:
    """A function that came from another process is another object with the same code."""
    around = getclosurevars(value)
    named = (value.__module__, value.__qualname__, value.__code__)
    return *named, value.__defaults__, value.__kwdefaults__, around.nonlocals, around.globals
