"""The container: the safetensors layout, read strictly.

    8 bytes      N, the length of the header, an unsigned little-endian number
    N bytes      the header: JSON, padded with spaces
    the rest     the bytes of all tensors, one after the other, without gaps

The header has an entry ``{"dtype", "shape", "data_offsets"}`` for every tensor, and
``__metadata__``, strings by name. The package of that name reads these files, too. It is no part of
this library: its reader takes the last of two equal keys, and its writer puts strings in an order
that differs from run to run, and leaves files behind that nobody can tell from others when it is
killed. Here every byte is accounted for before any is used.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .budget import Budget
from .errors import ModelFileError, ensure
from .strict import dump, parse

#: dtypes of tensors by their names in files
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
    "BOOL": "|b1",
}  # fmt: skip
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}

LONGEST_HEADER = 100_000_000
MOST_DIMENSIONS = 8
METADATA = "__metadata__"
# Tensors of more bytes than this are hashed by a thread of their own.
LARGE = 2**20


@dataclass(frozen=True)
class Place:
    """Where a tensor stands: dtype by its name in the file, shape, first and last byte."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True)
class Container:
    """What a file holds: strings by name, and tensors by name."""

    metadata: dict[str, str]
    tensors: dict[str, NDArray]


def digest_of(document: str, tensors: dict[str, tuple[str, tuple[int, ...], str]]) -> str:
    """SHA-256 of the document, and of name, dtype, shape and SHA-256 of every tensor, by name."""
    total = hashlib.sha256()
    for part in (document, *(_line(name, *tensors[name]) for name in sorted(tensors))):
        encoded = part.encode("utf-8", "surrogatepass")
        total.update(len(encoded).to_bytes(8, "little"))
        total.update(encoded)
    return total.hexdigest()


def _line(name: str, dtype: str, shape: tuple[int, ...], digest: str) -> str:
    return f"{name} {dtype} {'x'.join(map(str, shape))} {digest}"


def sha256(array: NDArray) -> str:
    """Of the bytes of an array in C order."""
    return hashlib.sha256(_bytes_of(np.ascontiguousarray(array))).hexdigest()


def _bytes_of(array: NDArray) -> memoryview:
    """The bytes of an array in C order, without a copy."""
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def digests(tensors: dict[str, NDArray]) -> dict[str, str]:
    """SHA-256 of every tensor, large ones side by side."""
    large = {name: array for name, array in tensors.items() if array.nbytes > LARGE}
    found = {name: sha256(array) for name, array in tensors.items() if name not in large}
    if large:
        with ThreadPoolExecutor(min(len(large), os.cpu_count() or 1)) as pool:
            found |= dict(zip(large, pool.map(sha256, large.values()), strict=True))
    return found


# -- reading ---------------------------------------------------------------------------------------


def read(file: BinaryIO, size: int, budget: Budget) -> Container:
    """Everything that an open file of ``size`` bytes holds, if it is laid out as it should be."""
    header, start = _header(file, size, budget)
    metadata = _strings(header.pop(METADATA, {}))
    places = {name: _place(name, entry) for name, entry in header.items()}
    _refuse_gaps(places, size - start)
    budget.take(sum(place.end - place.begin for place in places.values()), "Its arrays")
    tensors = {}
    for name in sorted(places, key=lambda name: (places[name].begin, places[name].end)):
        tensors[name] = _tensor(file, name, places[name])
    return Container(metadata, tensors)


def _header(file: BinaryIO, size: int, budget: Budget) -> tuple[dict[str, Any], int]:
    ensure(size >= 8, f"The file has {size} bytes, and 8 are its shortest beginning.")
    length = int.from_bytes(_bytes(file, 8), "little")
    ensure(
        2 <= length <= min(LONGEST_HEADER, size - 8),
        f"The header claims {length} bytes, and the file has {size}: it is cut off, or no model.",
    )
    budget.take(4 * length, "Its header")
    raw = _bytes(file, length)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ModelFileError("The header is not UTF-8.") from None
    ensure(text.startswith("{"), "The header does not begin with '{'.")
    header = parse(text.rstrip(" "), "The header", budget)
    ensure(isinstance(header, dict), "The header is not a JSON object.")
    return header, 8 + length


def _bytes(file: BinaryIO, count: int) -> bytes:
    found = file.read(count)
    ensure(len(found) == count, "The file ends too early: it is cut off, or changed as it is read.")
    return found


def _strings(found: Any) -> dict[str, str]:
    ensure(
        isinstance(found, dict) and all(isinstance(value, str) for value in found.values()),
        f"{METADATA} must hold strings.",
    )
    return found


def _place(name: str, entry: Any) -> Place:
    ensure(
        isinstance(entry, dict) and entry.keys() == {"dtype", "shape", "data_offsets"},
        f"The tensor {name[:100]!r} must have dtype, shape and data_offsets, and nothing else.",
    )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    ensure(
        isinstance(dtype, str) and dtype in DTYPES,
        f"The tensor {name[:100]!r} has the dtype {str(dtype)[:20]!r}, which no model has.",
    )
    ensure(
        _whole(shape) and len(shape) <= MOST_DIMENSIONS and _whole(offsets) and len(offsets) == 2,
        f"The tensor {name[:100]!r} has a shape or offsets that are not whole numbers.",
    )
    begin, end = offsets
    nbytes = prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    largest = prod(size for size in shape if size) * np.dtype(DTYPES[dtype]).itemsize
    ensure(largest < 2**62, f"The tensor {name[:100]!r} has a shape that no array can have.")
    ensure(
        end - begin == nbytes,
        f"The tensor {name[:100]!r} of shape {str(shape)[:100]} and dtype {dtype} has not as many "
        "bytes as its offsets say.",
    )
    return Place(dtype, tuple(shape), begin, end)


def _whole(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62
        for value in values
    )


def _refuse_gaps(places: dict[str, Place], size: int) -> None:
    spans = sorted((place.begin, place.end) for place in places.values())
    ends = [0, *(end for _, end in spans)]
    begins = [*(begin for begin, _ in spans), size]
    ensure(
        all(begin == end for begin, end in zip(begins, ends, strict=True)),
        "Tensors overlap, leave gaps, or do not fill the file: it is cut off, or changed.",
    )


def _tensor(file: BinaryIO, name: str, place: Place) -> NDArray:
    """A tensor in memory of its own, aligned as numpy aligns arrays."""
    array = np.empty(place.shape, dtype=DTYPES[place.dtype])
    view, at = _bytes_of(array), 0
    while at < len(view):
        count = file.readinto(view[at:])  # type: ignore[attr-defined]
        ensure(count, "The file ends too early: it is cut off, or changed as it is read.")
        at += count
    if place.dtype == "BOOL":
        flags = array.view(np.uint8) <= 1
        ensure(flags.all(), f"The tensor {name[:100]!r} of flags holds other bytes.")
    return array


# -- writing ---------------------------------------------------------------------------------------


def write(file: BinaryIO, metadata: dict[str, str], tensors: dict[str, NDArray]) -> None:
    """A file of tensors in C order; the same model makes the same bytes."""
    # The widest first, so that every tensor begins at a multiple of its width.
    order = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    header: dict[str, Any] = {METADATA: metadata}
    end = 0
    for name in order:
        array, begin = tensors[name], end
        end += array.nbytes
        entry = {"dtype": NAMES[array.dtype], "shape": array.shape, "data_offsets": (begin, end)}
        header[name] = entry
    text = dump(header).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        file.write(_bytes_of(tensors[name]))
