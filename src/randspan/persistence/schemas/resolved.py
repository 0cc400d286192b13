"""What families read from rows: bandwidths, thresholds, grids, anchors, boxes, bases."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from ...families import Family
from ...families.bins import Grids
from ...families.bumps import Centres
from ...families.dictionary import Blocks, Eigenfunctions, Listed
from ...families.dictionary import Whole as WholeBasis
from ...families.expansions import Expansion
from ...families.hypotheses import IgnoresTargets
from ...families.networks import Layers
from ...families.shared.anchors import Kernel
from ...families.shared.bandwidth import Bandwidth
from ...families.shared.multiresolution import MOST_PRODUCTS, OnCube
from ...families.shared.pitches import GammaPitches, SampledPitches, TabulatedPitches, UnitPitches
from ...families.stumps import (
    NormalThresholds,
    QuantileThresholds,
    SampledThresholds,
    UniformThresholds,
)
from ...families.units import Scaling
from ..arrays import FLOATS, Array
from ..callables import Function
from ..compounds import Either, Listing, Mapping, One, Record, optional
from ..errors import ensure
from ..kinds import Choice, Number, Text, Whole
from ..registry import Entry, register
from .common import GAMMA, PLAIN
from .families import KERNELS, SIMPLE, WAVELETS, parts_of, resolved_of

_d = Array(("f8",), ("d",))
_depth = Either(Whole(1, 50), Number(inf, inf, any=True))
_smooth = Either(Number(0, 100), Array(("f8",), ("d",), low=0, high=100))
MOST_LAYERS = 100


def _rising(values, scope) -> None:
    ensure((values["lower"] <= values["upper"]).all(), "lower must not be above upper.")


def _quantiles(values, scope) -> None:
    gaps, reached = values["gaps"], values["reached"]
    for gap, share in zip(gaps, reached, strict=True):
        ensure(len(gap) == len(share) > 0, "Every column has as many gaps as shares, and some.")
        ensure((np.diff(gap) >= 0).all() and (np.diff(share) >= 0).all(), "Gaps must be sorted.")
        ensure(share[0] >= 0 and share[-1] >= 1, "Shares of gaps must reach 1.")


def _tabulated(values, scope) -> None:
    reached = values["reached"]
    ensure(len(reached) > 0, "A law of pitches has one pitch at least.")
    ensure((np.diff(reached) >= 0).all(), "Shares of pitches must rise.")
    ensure((np.diff(values["pitches"]) >= 0).all(), "Pitches must be sorted.")


def _some(name: str) -> Callable:
    def check(values, scope) -> None:
        ensure(values[name] is None or len(values[name]), f"{name} must not be empty.")

    return check


def _listed(values, scope) -> None:
    ensure(values["count"] == len(values["calls"]), "A basis has a function for each of its count.")


def _in_blocks(values, scope) -> None:
    call = values["call"]
    ensure(
        hasattr(call, "__len__") and len(call) == values["count"],
        f"The basis that is handed in must have a length of {values['count']}.",
    )


register(
    Entry("bandwidth", Bandwidth, {"gamma": GAMMA}),
    Entry("normal_thresholds", NormalThresholds, {}),
    Entry("sampled_thresholds", SampledThresholds, {}),
    Entry("uniform_thresholds", UniformThresholds, {"lower": _d, "upper": _d}, _rising),
    Entry(
        "quantile_thresholds",
        QuantileThresholds,
        {
            "gaps": Listing(Array(("f8",), (None,)), symbol="d"),
            "reached": Listing(Array(("f8",), (None,)), symbol="d"),
        },
        _quantiles,
    ),
    Entry(
        "grids",
        Grids,
        {
            "pitches": One("gamma_pitches", "unit_pitches", "tabulated_pitches", "sampled_pitches"),
            "gamma": GAMMA,
        },
    ),
    Entry("gamma_pitches", GammaPitches, {}),
    Entry("unit_pitches", UnitPitches, {}),
    Entry(
        "tabulated_pitches",
        TabulatedPitches,
        {"pitches": Array(("f8",), ("m",), low=0), "reached": Array(("f8",), ("m",), low=0)},
        _tabulated,
    ),
    Entry("sampled_pitches", SampledPitches, {"sampler": Function()}),
    Entry("scaling", Scaling, {"scale": Number()}),
    Entry(
        "centres",
        Centres,
        {"gamma": GAMMA, "pool": optional(Array(FLOATS, ("m", "d")))},
        _some("pool"),
    ),
    Entry(
        "kernel",
        Kernel,
        {
            "kernel": Either(Choice(*KERNELS), One(*SIMPLE), Function()),
            "gamma": optional(Number(0)),
            "params": Mapping(Text(100), PLAIN, most=100),
        },
    ),
    Entry(
        "expansion",
        Expansion,
        {"kernel": One("kernel"), "anchors": Array(FLOATS, ("m", "d"))},
        _some("anchors"),
    ),
    Entry("ignores_targets", IgnoresTargets, {}),
    Entry("layers", Layers, {"hidden": Listing(Whole(1, 2**31), tuple, 1, MOST_LAYERS)}),
    Entry(
        "on_cube",
        OnCube,
        {
            "lower": _d,
            "upper": _d,
            "known": Either(
                Record(depth=_depth, grid=Choice("tensor", "sparse")),
                Record(
                    depth=Whole(1, 50),
                    grid=Choice("isotropic", "tensor", "sparse"),
                    wavelet=Choice(*WAVELETS),
                    smoothness=_smooth,
                ),
            ),
        },
        _rising,
    ),
    Entry(
        "whole_basis",
        WholeBasis,
        {
            "call": Either(
                One(*(f"{name}_functions" for name in ("fourier", "units", "bumps"))), Function()
            ),
            "count": Whole(1, 2**31),
        },
    ),
    Entry("basis_in_blocks", Blocks, {"call": Function(), "count": Whole(1, 2**31)}, _in_blocks),
    Entry(
        "listed_basis",
        Listed,
        {"calls": Listing(Function(), list, 1, 100_000), "count": Whole(1)},
        _listed,
    ),
    Entry(
        "eigenfunctions",
        Eigenfunctions,
        {
            "kernel": One("kernel"),
            "anchors": Array(FLOATS, ("m", "d")),
            "weights": Array(FLOATS, ("m", "q")),
            "count": Whole(1, symbol="q"),
        },
        _some("anchors"),
    ),
)


# -- how many columns they are for ---------------------------------------------------------------


def _of_array(*names: str) -> Callable[[Any], list[int]]:
    """Widths of arrays, by the names of attributes; numbers are for any width."""

    def found(value: Any) -> list[int]:
        arrays = [getattr(value, name) for name in names]
        return [a.shape[-1] for a in arrays if isinstance(a, np.ndarray) and a.ndim]

    return found


_WIDTHS: dict[type, Callable[[Any], list[int]]] = {
    Bandwidth: _of_array("gamma"),
    UniformThresholds: _of_array("lower"),
    QuantileThresholds: lambda value: [len(value.gaps)],
    Grids: _of_array("gamma"),
    Centres: _of_array("gamma", "pool"),
    Expansion: _of_array("anchors"),
    Eigenfunctions: _of_array("anchors"),
    OnCube: _of_array("lower"),
}


def check_columns(family: Family, d: int) -> None:
    """Refuse a family that has read rows of another number of columns than d."""
    for part in parts_of(family):
        read = resolved_of(part)
        widths = _WIDTHS.get(type(read), lambda value: [])(read)
        ensure(
            all(width == d for width in widths),
            f"{type(part).__name__} was read from {widths} columns, and {d} are expected.",
        )
        kernel = getattr(getattr(read, "kernel", None), "kernel", None)
        if isinstance(kernel, Family):
            ensure("_resolved" in vars(kernel), "The kernel of anchors must be resolved.")
            check_columns(kernel, d)
        if isinstance(read, OnCube):
            _check_cube(part, read, d)


def _check_cube(family: Any, read: OnCube, d: int) -> None:
    """Refuse as many products as no fit would have computed."""
    ensure(
        set(read.known) == set(family.open_parameters),
        f"{type(family).__name__} has {', '.join(family.open_parameters)} to be read.",
    )
    depth, smooth = read.known["depth"], read.known.get("smoothness", 0.0)
    isotropic = read.known["grid"] == "isotropic"
    ensure(not (isotropic and np.ndim(smooth)), "An isotropic grid has one smoothness.")
    ensure(np.ndim(smooth) == 0 or len(smooth) == d, f"smoothness must have {d} entries.")
    if depth == inf:
        return
    # Two rungs at least in every column: beyond 18 columns all products are too many.
    wide = read.known["grid"] != "sparse" and 2 ** min(d, 64) > MOST_PRODUCTS
    ensure(
        not wide and family.law.products(d, int(depth)) <= MOST_PRODUCTS,
        f"{type(family).__name__} of {d} columns and depth {depth} has more than {MOST_PRODUCTS} "
        "products for every row.",
    )
