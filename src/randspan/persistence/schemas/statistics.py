"""Statistics: what rows are added to and removed from, and rows that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...statistics import Cells, Factor, KernelRows, Moments, OutOfBagMoments
from ...statistics.kept import Kept
from ...statistics.key_sample import HIGHEST, KeySample
from ..arrays import FLOATS, Array, Compressed
from ..compounds import Either, Listing, One, optional
from ..errors import ensure
from ..kinds import Number, Whole
from ..registry import Entry, register

_k = Array(("f8",), ("k",))
_c = Array(("f8",), ("c",))
_keys = optional(Array(("u8",), (None,)))
_rows = Whole(0, 2**48)
_weight = Number(0)

#: what is kept of rows, in the order in which blocks name it
KEPT = ("targets", "weights", "cells", "inputs", "keys")
CELLS = ("bin_functions", "leaf_functions")


def _take_kept(kept: Kept) -> dict[str, Any]:
    return {name: kept.arrays.get(name) for name in KEPT}


def _build_kept(values: dict[str, Any], of: Any) -> Kept:
    block = {name: value for name, value in values.items() if value is not None}
    return Kept((block,) if block else ())


def _kept(values: dict[str, Any], scope: dict[str, int]) -> None:
    some = [name for name in KEPT if values[name] is not None]
    ensure(
        not some or {"targets", "weights"} < set(some),
        "Rows that are kept have targets and weights, and inputs or cells.",
    )
    ensure(
        not some or values["inputs"] is not None or values["cells"] is not None,
        "Rows that are kept have inputs or cells.",
    )


def _cells(values: dict[str, Any], scope: dict[str, int]) -> None:
    arrays = values["kept"].arrays
    if not arrays:
        return
    ensure("cells" in arrays, "Rows of cells are kept as cells.")
    parts, cells = values["parts"], arrays["cells"]
    groups = sum(len(part.counts) for part in parts)
    ensure(len(cells) == groups, "Rows have a cell in every group.")
    ensure(len({id(part) for part in parts}) == len(parts), "Parts with cells must differ.")
    counts = np.concatenate([part.counts for part in parts])
    ensure(
        (cells >= 0).all() and (cells < counts[:, None]).all(),
        "A row is in a cell that is not there.",
    )


def _kernel_rows(values: dict[str, Any], scope: dict[str, int]) -> None:
    arrays = values["kept"].arrays
    ensure(not arrays or "inputs" in arrays, "Rows of a kernel machine are kept as inputs.")


def _key_sample(values: dict[str, Any], scope: dict[str, int]) -> None:
    ensure(values["inputs"].shape[0] == scope["n"], "A sample has a key for every row.")
    ensure((values["weights"] > 0).all(), "Rows of a sample weigh something.")
    keys = values["keys"]
    ensure(len(np.unique(keys)) == len(keys), "Rows of a sample must differ.")


def _moments(values: dict[str, Any], scope: dict[str, int]) -> None:
    largest, columns = values["largest"], scope["k"] + scope["c"]
    ensure(
        largest is None or len(largest) == columns, "Every column of moments has a largest square."
    )


def _factor(values: dict[str, Any], scope: dict[str, int]) -> None:
    ensure(scope["width"] > values["n_targets"], "A factor has columns for functions and targets.")


def _peaks(values: dict[str, Any], scope: dict[str, int]) -> None:
    peaks = values["peaks"]
    ensure(
        peaks is None or (len(peaks) == scope["c"] + 1 and (peaks >= 0).all()),
        "Sums of squares have peaks for every target and for weights.",
    )


register(
    Entry(
        "kept",
        Kept,
        {
            "targets": optional(Array(("f8",), ("n", "c"))),
            "weights": optional(Array(("f8",), ("n",), low=0)),
            "cells": optional(Array(("i4",), ("g", "n"), low=0)),
            # Of tables that are still to become numbers, nan is what is missing.
            "inputs": optional(Either(Array(FLOATS, ("n", "d"), finite=False), Compressed())),
            "keys": optional(Array(("u8",), ("n",))),
        },
        _kept,
        _take_kept,
        _build_kept,
    ),
    Entry(
        "moments",
        Moments,
        {
            "rows": _rows,
            "weight": _weight,
            "mean": _k,
            "target_mean": _c,
            "scatter": Array(FLOATS, ("k", "k")),
            "cross": Array(FLOATS, ("k", "c")),
            "target_scatter": _c,
            "noise": Number(0),
            "rounding": Number(0),
            "peak": Number(0),
            "keys": _keys,
            "largest": optional(Array(("f8",), (None,), low=0)),
        },
        _moments,
        later={"largest": None},
    ),
    Entry(
        "factor",
        Factor,
        {
            "rows": _rows,
            "weight": _weight,
            "root": Array(("f8",), (None, "width")),
            "n_targets": Whole(1, 2**31),
            "keys": _keys,
        },
        _factor,
    ),
    Entry(
        "out_of_bag_moments",
        OutOfBagMoments,
        {
            "rows": _rows,
            "weight": _weight,
            "origin": _c,
            "sums": Array(("f8",), ("folds", "c", "size", "size")),
            "counts": Array(("f8",), ("folds", "size", "size")),
            "peaks": optional(Array(("f8",), (None,))),
        },
        _peaks,
        later={"peaks": None},
    ),
    Entry(
        "cells",
        Cells,
        {"kept": One("kept"), "parts": Listing(One(*CELLS), list, 1, 1_000)},
        _cells,
    ),
    Entry("kernel_rows", KernelRows, {"kept": One("kept")}, _kernel_rows),
    Entry(
        "key_sample",
        KeySample,
        {
            "level": Whole(0, HIGHEST),
            "keys": Array(("u8",), ("n",)),
            "counts": Array(("i8",), ("n",), low=1),
            "weights": Array(("f8",), ("n",), low=0),
            "inputs": Either(Array(FLOATS, ("n", "d")), Compressed()),
        },
        _key_sample,
    ),
)
