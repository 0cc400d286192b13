"""Kinds that are arrays: tensors of the file, with a shape, a range and an order in memory.

Predictions have the same bits only if products run over the same memory order: an array in
Fortran's order is stored transposed, and says so. One array that stands in several places is one
tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .errors import ensure
from .kinds import Kind, unify

FLOATS, INTEGERS = ("f8", "f4"), ("i8", "i4")
NUMBERS = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1")


@dataclass(frozen=True)
class Array(Kind):
    """A tensor.

    ``dtypes`` are those it may have; ``dims`` a symbol, a number or None (any size) for every axis,
    None for any shape; ``finite``: no nan, no infinity; ``low`` and ``high`` are limits of entries,
    ``high`` a symbol where it is a size, which entries stay below.
    """

    dtypes: tuple[str, ...] = ("f8",)
    dims: tuple[str | int | None, ...] | None = None
    finite: bool = True
    low: float | None = None
    high: float | str | None = None

    @property
    def told(self):
        shape = "" if self.dims is None else f" of shape ({', '.join(map(str, self.dims))})"
        return f"an array of {'/'.join(self.dtypes)}{shape}"

    def takes(self, value):
        return (
            type(value) is np.ndarray
            and value.dtype.newbyteorder("=").str[1:] in self.dtypes
            and (self.dims is None or value.ndim == len(self.dims))
        )

    def write(self, value, to, where):
        return to.array(value, where)

    def fits(self, node):
        return isinstance(node, dict) and "array" in node

    def read(self, node, of, where, scope):
        if not self.fits(node):
            self.refuse(node, where)
        array = of.array(node, where)
        ensure(array.dtype.str[1:] in self.dtypes, f"{where} is {array.dtype}, not {self.told}.")
        if self.dims is not None:
            ensure(array.ndim == len(self.dims), f"{where} has shape {array.shape}: {self.told}.")
            for size, dim in zip(array.shape, self.dims, strict=True):
                if isinstance(dim, str):
                    unify(scope, dim, size, where)
                elif dim is not None:
                    ensure(size == dim, f"{where} has shape {array.shape}, not {self.told}.")
        if self.finite and array.dtype.kind == "f":
            ensure(of.finite(array), f"{where} holds nan or infinity.")
        self._check_range(array, where, scope)
        return array

    def _check_range(self, array: NDArray, where: str, scope: dict[str, int]) -> None:
        if not array.size:
            return
        if self.low is not None:
            ensure(array.min() >= self.low, f"{where} holds entries below {self.low}.")
        if isinstance(self.high, str):
            size = scope.get(self.high)
            ensure(size is not None and array.max() < size, f"{where} holds an index out of range.")
        elif self.high is not None:
            ensure(array.max() <= self.high, f"{where} holds entries above {self.high}.")


@dataclass(frozen=True)
class Compressed(Kind):
    """A sparse matrix in compressed rows: data, indices and index pointers, all within range."""

    rows: str = "n"
    columns: str = "d"

    told = "a sparse matrix in compressed rows"

    def takes(self, value):
        return sparse.issparse(value) and value.format == "csr" and value.dtype.kind == "f"

    def write(self, value, to, where):
        return {
            "data": to.array(value.data, f"{where}.data"),
            "indices": to.array(value.indices, f"{where}.indices"),
            "starts": to.array(value.indptr, f"{where}.starts"),
            "columns": int(value.shape[1]),
            "matrix": isinstance(value, sparse.csr_matrix),
        }

    def fits(self, node):
        return isinstance(node, dict) and "starts" in node

    def read(self, node, of, where, scope):
        keys = {"data", "indices", "starts", "columns", "matrix"}
        if not self.fits(node) or node.keys() != keys or type(node["matrix"]) is not bool:
            self.refuse(node, where)
        own: dict[str, int] = {}
        data = Array(FLOATS, ("e",)).read(node["data"], of, f"{where}.data", own)
        width = node["columns"]
        ensure(type(width) is int and 0 <= width < 2**31, f"{where}.columns is out of range.")
        own["d"] = width
        indices = Array(INTEGERS, ("e",), low=0, high="d").read(
            node["indices"], of, f"{where}.indices", own
        )
        starts = Array(INTEGERS, (None,)).read(node["starts"], of, f"{where}.starts", own)
        ensure(
            len(starts)
            and starts[0] == 0
            and starts[-1] == len(data)
            and (starts[1:] >= starts[:-1]).all(),
            f"{where}.starts must rise from 0 to the number of entries.",
        )
        ensure(indices.dtype == starts.dtype, f"{where} has indices of two types.")
        unify(scope, self.rows, len(starts) - 1, where)
        unify(scope, self.columns, width, where)
        of.budget.take(data.nbytes + indices.nbytes, where)
        kind = sparse.csr_matrix if node["matrix"] else sparse.csr_array
        found = kind((data, indices, starts), shape=(len(starts) - 1, width))
        found.check_format(full_check=True)
        return found


@dataclass(frozen=True)
class Words(Kind):
    """A one-dimensional array of texts, of numpy's type or of objects."""

    symbol: str = ""

    told = "an array of texts"

    def takes(self, value):
        if type(value) is not np.ndarray or value.ndim != 1:
            return False
        objects = value.dtype.kind == "O" and all(type(one) is str for one in value)
        return value.dtype.kind == "U" or objects

    def write(self, value, to, where):
        width = 0 if value.dtype.kind == "O" else value.dtype.itemsize // 4
        return {"texts": [str(one) for one in value], "width": width}

    def fits(self, node):
        return isinstance(node, dict) and node.keys() == {"texts", "width"}

    def read(self, node, of, where, scope):
        if not self.fits(node):
            self.refuse(node, where)
        texts, width = node["texts"], node["width"]
        longest = max(map(len, texts), default=0) if _all_texts(texts) else -1
        ensure(
            longest >= 0 and type(width) is int and (width == 0 or longest <= width <= 10**6),
            f"{where} must be texts and their width, 0 for objects.",
        )
        if self.symbol:
            unify(scope, self.symbol, len(texts), where)
        of.budget.take(4 * width * len(texts) + 8 * len(texts), where)
        return np.array(texts, dtype=f"<U{width}" if width else object)


def _all_texts(texts: Any) -> bool:
    return isinstance(texts, list) and all(type(one) is str for one in texts)


def order_of(array: NDArray) -> str:
    """The order in memory that an array is nearest to: "C", or "F" where strides rise."""
    if array.flags.c_contiguous or array.ndim < 2:
        return "C"
    if array.flags.f_contiguous:
        return "F"
    strides = [abs(stride) for stride in array.strides]
    return "F" if strides == sorted(strides) and strides[0] < strides[-1] else "C"
