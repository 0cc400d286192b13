"""Drawn functions: arrays that agree with each other, with their family and with d columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...families.bumps import BumpFunctions
from ...families.dictionary import DictionaryFunctions
from ...families.expansions import ExpansionFunctions
from ...families.fourier import FourierFunctions
from ...families.networks import NetworkFunctions
from ...families.projections import ProjectionFunctions
from ...families.shared.frequencies import HadamardFrequencies
from ...families.shared.kernel_columns import KernelColumns
from ...families.shared.multiresolution import MultiresolutionFunctions
from ...families.stumps import StumpFunctions
from ...families.union import UnionFunctions
from ...families.units import UnitFunctions
from ..arrays import FLOATS, Array
from ..compounds import Either, Listing, One, optional
from ..errors import ensure
from ..kinds import Kind, Whole
from ..registry import Check, Entry, register
from .common import GAMMA, SEED
from .families import FAMILIES, is_resolved
from .resolved import check_columns

#: functions that hold no other functions
PARTS = tuple(
    f"{name}_functions"
    for name in (
        *("fourier", "stumps", "units", "bumps", "projections", "kernel_expansion", "network"),
        *("bin", "tree", "leaf", "multiresolution", "dictionary"),
    )
)
FUNCTIONS = (*PARTS, "union_functions", "kernel_columns")

COUNT = Whole(1, 2**48, symbol="k")
_kd = Array(("f8",), ("k", "d"))


class Drawn(Whole):
    """How many functions there are, each of which takes some bytes when it is used."""

    def read(self, node, of, where, scope):
        value = super().read(node, of, where, scope)
        of.budget.take(16 * int(value), f"{where}: keys of {value} functions")
        return value


def functions(
    name: str,
    cls: type,
    families: tuple[str, ...],
    check: Check | None = None,
    drawn: tuple[str, ...] = (),
    count: Kind = COUNT,
    fields: dict[str, Kind] | None = None,
) -> Entry:
    """Functions of some families; ``fields`` are those beyond what all have."""
    own: dict[str, Kind] = {
        "family": One(*families),
        "n_features": Whole(1, 2**31, symbol="d"),
        "n_components": count,
        "frame": optional(One("frame")),
    }

    def complete(values: dict[str, Any], scope: dict[str, int]) -> None:
        family, frame, d = values["family"], values["frame"], scope["d"]
        ensure(is_resolved(family), f"The family of {name} must be resolved.")
        check_columns(family, d)
        ensure(frame is None or frame.n_features == d, f"The frame of {name} has other columns.")
        if check is not None:
            check(values, scope)

    return Entry(name, cls, own | (fields or {}), complete, drawn=drawn)


def _fourier(values, scope) -> None:
    k = scope["k"]
    frequencies = values.get("frequencies")
    if frequencies is None:
        return
    wanted = -(-k // 2) if values["family"].form == "paired" else k
    ensure(scope["q"] == wanted, f"{k} functions have {wanted} phases.")
    if isinstance(frequencies, HadamardFrequencies):
        ensure(
            (frequencies.n_features, frequencies.count) == (scope["d"], wanted),
            "Structured frequencies are for other columns, or other in number.",
        )


def _hadamard(values, scope) -> None:
    size = 1 << max(0, scope["d"] - 1).bit_length()
    blocks = -(-scope["count"] // size)
    ensure(
        (scope["blocks"], scope["size"]) == (blocks, size),
        f"Structured frequencies of {scope['d']} columns come in {blocks} blocks of {size}.",
    )
    ordered = np.sort(values["permutations"], axis=1)
    ensure((ordered == np.arange(size)).all(), "permutations must be permutations.")


def _networks(values, scope) -> None:
    if "weights" not in values:
        return
    k, inner = scope["k"], scope["d"]
    weights, biases = values["weights"], values["biases"]
    hidden = values["family"].resolved.hidden
    ensure(len(weights) == len(hidden) + 1, "Networks have a layer of weights more than hidden.")
    ensure(len(biases) in (0, len(weights)), "Networks have biases in all layers, or none.")
    for layer, outer in zip(weights, (*hidden, 1), strict=True):
        ensure(layer.shape == (k, outer, inner), f"A layer of networks has shape {layer.shape}.")
        inner = outer
    for layer, outer in zip(biases, (*hidden, 1), strict=False):
        ensure(layer.shape == (k, outer), f"Biases of networks have shape {layer.shape}.")


def _kernel_columns(values, scope) -> None:
    ensure(len(values["train"]) == scope["k"], "A kernel machine has a column for every row.")
    ensure(values["train"].shape[1] == scope["d"], "Rows of a kernel machine have other columns.")


def _multiresolution(values, scope) -> None:
    depth = values["family"].resolved.known["depth"]
    ensure(depth != np.inf, "Functions of infinite depth cannot have been drawn.")


def _dictionary(values, scope) -> None:
    ensure(values["basis"] is values["family"].resolved, "A dictionary has the basis it has read.")


def _expansions(values, scope) -> None:
    if values.get("anchors") is not None:
        ensure(len(values["anchors"]), "Kernel expansions have anchors.")


def _union(values, scope) -> None:
    parts, own, k = values["parts"], values["family"].parts, scope["k"]
    ensure(len(parts) == min(len(own), k), f"A union has {len(own)} parts, not {len(parts)}.")
    for j, (part, family) in enumerate(zip(parts, own, strict=False)):
        wanted = len(range(j, k, len(own)))
        ensure(
            part.n_components == wanted and part.n_features == scope["d"],
            f"Part {j} of a union of {k} functions has {wanted}, of {scope['d']} columns.",
        )
        ensure(type(part.family) is type(family), f"Part {j} of a union is of another family.")
        ensure(part.frame is None, "Parts of a union have no frame of their own.")


register(
    functions(
        "fourier_functions",
        FourierFunctions,
        ("fourier",),
        _fourier,
        ("frequencies", "stretch", "phases"),
        fields={
            "frequencies": Either(Array(("f8",), ("q", "d")), One("hadamard_frequencies")),
            "stretch": Array(("f8",), ("d",)),
            "phases": Array(("f8",), ("q",)),
        },
    ),
    Entry(
        "hadamard_frequencies",
        HadamardFrequencies,
        {
            "n_features": Whole(1, 2**31, symbol="d"),
            "count": Whole(1, 2**48, symbol="count"),
            "signs": Array(("f8",), ("blocks", "size")),
            "permutations": Array(("i4",), ("blocks", "size"), low=0, high="size"),
            "gains": Array(("f8",), ("blocks", "size")),
            "scales": Array(("f8",), ("blocks", "size")),
        },
        _hadamard,
    ),
    functions(
        "stumps_functions",
        StumpFunctions,
        ("stumps",),
        drawn=("columns", "thresholds"),
        fields={
            "columns": Array(("i8",), ("k",), low=0, high="d"),
            "thresholds": Array(("f8",), ("k",)),
        },
    ),
    functions(
        "units_functions",
        UnitFunctions,
        ("units",),
        drawn=("weights", "biases"),
        fields={
            "weights": _kd,
            "biases": Array(("f8",), ("k",)),
        },
    ),
    functions(
        "bumps_functions",
        BumpFunctions,
        ("bumps",),
        drawn=("centers", "gamma"),
        fields={
            "centers": Array(FLOATS, ("k", "d")),
            "gamma": GAMMA,
        },
    ),
    functions(
        "projections_functions",
        ProjectionFunctions,
        ("projections",),
        drawn=("weights",),
        fields={
            "weights": _kd,
        },
    ),
    functions(
        "kernel_expansion_functions",
        ExpansionFunctions,
        ("kernel_expansions",),
        _expansions,
        ("kernel_of_anchors", "anchors", "coefficients"),
        fields={
            "kernel_of_anchors": One("kernel"),
            "anchors": Array(FLOATS, ("m", "d")),
            "coefficients": Array(("f8",), ("k", "m")),
        },
    ),
    functions(
        "network_functions",
        NetworkFunctions,
        ("networks",),
        _networks,
        ("weights", "biases"),
        fields={
            "weights": Listing(Array(("f8",), (None, None, None)), list, 2, 101),
            "biases": Listing(Array(("f8",), (None, None)), list, 0, 101),
        },
    ),
    functions(
        "multiresolution_functions",
        MultiresolutionFunctions,
        ("brownian_sheets", "scrambled_wavelets"),
        _multiresolution,
        count=Drawn(1, 2**48, "k"),
        fields={
            "seed": SEED,
        },
    ),
    functions(
        "dictionary_functions",
        DictionaryFunctions,
        ("dictionary",),
        _dictionary,
        count=Drawn(1, 2**48, "k"),
        fields={
            "seed": SEED,
            "basis": One("whole_basis", "basis_in_blocks", "listed_basis", "eigenfunctions"),
        },
    ),
    functions(
        "kernel_columns",
        KernelColumns,
        FAMILIES,
        _kernel_columns,
        count=Whole(0, 2**48, symbol="k"),
        fields={
            "train": One("rows"),
        },
    ),
    functions(
        "union_functions",
        UnionFunctions,
        ("union",),
        _union,
        fields={
            "parts": Listing(One(*PARTS), list, 1, 1_000),
        },
    ),
)
