"""Families: parameters as they were written, and beside them what was read from rows."""

from __future__ import annotations

from math import inf
from typing import Any

from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

from ...families import (
    Bins,
    BrownianSheets,
    Bumps,
    Dictionary,
    Family,
    Fourier,
    Hypotheses,
    KernelExpansions,
    Mercer,
    Networks,
    Projections,
    ScrambledWavelets,
    Stumps,
    Trees,
    Union,
    Units,
    fourier,
)
from ...families.expansions import LAWS as COEFFICIENTS
from ...families.expansions import ROOTS
from ...families.shared.activations import ACTIVATIONS
from ...families.shared.anchors import OTHERS
from ...families.shared.frequencies import SAMPLINGS
from ...families.shared.spectra import LAWS
from ...families.sheets import MOST_ORDER
from ...families.wavelets import ORDERS
from ..callables import Distribution, Function
from ..compounds import Either, Listing, One, Tuple, optional
from ..kinds import Choice, Flag, Kind, Null, Number, Whole
from ..registry import Entry, register
from .common import NUMBERS_GIVEN, OPTIONS, word_or

#: families that hold no other family
SIMPLE = (
    *("fourier", "stumps", "bins", "units", "bumps", "networks", "projections"),
    *("trees", "brownian_sheets", "scrambled_wavelets"),
)
PARTS = (*SIMPLE, "kernel_expansions", "dictionary", "hypotheses")
FAMILIES = (*PARTS, "union")

WAVELETS = tuple(f"{kind}{order}" for kind, orders in ORDERS.items() for order in orders)
KERNELS = (*sorted(PAIRWISE_KERNEL_FUNCTIONS), *OTHERS)
MOST_PARTS = 1_000

_function = Function()
_gamma = word_or("median", NUMBERS_GIVEN)
_activation = Either(Choice(*ACTIVATIONS), _function)
_normal = word_or("normal", _function)
_kernel = Either(Choice(*KERNELS), One(*SIMPLE), _function)
_anchors = Either(Null(), Whole(1), Choice("rpcholesky"), NUMBERS_GIVEN)
_interval = optional(NUMBERS_GIVEN)


def _family(
    name: str, cls: type, resolved: Kind, later: dict[str, Any] | None = None, **parameters: Kind
) -> Entry:
    """A family; ``resolved`` is the kind of what it reads from rows, ``later`` see `Entry`."""

    def take(family: Any) -> dict[str, Any]:
        own = family.get_params(deep=False)
        return own | {"resolved": vars(family).get("_resolved")}

    def build(values: dict[str, Any], of: Any) -> Any:
        family = cls(**{name: values[name] for name in parameters})
        if values["resolved"] is not None:
            family._resolved = values["resolved"]
        return family

    known = optional(Listing(resolved, tuple, 1, 1))
    fields = parameters | {"resolved": known}
    return Entry(name, cls, fields, take=take, build=build, later=later or {})


register(
    _family(
        "fourier",
        Fourier,
        One("bandwidth"),
        {"phases": "uniform"},
        kernel=Either(Choice(*LAWS, "stable", *fourier.KERNELS), _function),
        gamma=_gamma,
        sampling=Choice(*SAMPLINGS, *fourier.DRAWS),
        form=Choice("phase", "paired"),
        p=Number(),
        q=Number(),
        phases=word_or("uniform", _function),
    ),
    _family(
        "stumps",
        Stumps,
        One(
            *("normal_thresholds", "uniform_thresholds", "quantile_thresholds"),
            "sampled_thresholds",
        ),
        {"probabilities": None},
        threshold=Either(Choice("uniform", "normal", "quantile"), _function),
        interval=_interval,
        probabilities=Either(Null(), NUMBERS_GIVEN, _function),
    ),
    _family(
        "bins",
        Bins,
        One("grids"),
        kernel=word_or("laplacian", _function),
        gamma=_gamma,
        pitch=Either(Null(), NUMBERS_GIVEN, Distribution(), _function),
    ),
    _family(
        "units",
        Units,
        One("scaling"),
        activation=_activation,
        weights=_normal,
        scale=word_or("auto", Number()),
        bias=Either(Null(), Choice("normal", "uniform"), _function),
        direct=Flag(),
    ),
    _family(
        "bumps",
        Bumps,
        One("centres"),
        gamma=_gamma,
        centers=Either(Choice("data", "normal"), NUMBERS_GIVEN, _function),
    ),
    _family("projections", Projections, Null(), weights=_normal, scale=Number()),
    _family(
        "kernel_expansions",
        KernelExpansions,
        One("expansion"),
        kernel=_kernel,
        gamma=Either(Null(), Choice("median"), Number()),
        coefficients=Either(Choice(*COEFFICIENTS, *ROOTS), _function),
        anchors=_anchors,
        kernel_params=OPTIONS,
    ),
    _family(
        "networks",
        Networks,
        One("layers"),
        hidden=Either(Whole(1, 2**31), Listing(Whole(1, 2**31)), Tuple(Whole(1, 2**31))),
        activation=_activation,
        weights=Either(Choice("normal", "standard"), _function),
        scale=Number(),
        bias=Flag(),
    ),
    _family(
        "trees",
        Trees,
        Null(),
        {"splitter": "random"},
        bootstrap=Number(0, 1),
        max_features=word_or("auto", Whole(1, 2**31)),
        output=Choice("value", "leaves"),
        min_samples_leaf=word_or("auto", Whole(1, 2**31)),
        splitter=Choice("random", "best", "auto"),
        replace=Flag(),
    ),
    _family(
        "brownian_sheets",
        BrownianSheets,
        One("on_cube"),
        order=Whole(0, MOST_ORDER),
        constant=Flag(),
        depth=word_or("auto", Whole(1, 50), Number(inf, inf, any=True)),
        grid=Choice("tensor", "sparse"),
        interval=_interval,
    ),
    _family(
        "scrambled_wavelets",
        ScrambledWavelets,
        One("on_cube"),
        wavelet=Choice("auto", *WAVELETS),
        smoothness=word_or("auto", NUMBERS_GIVEN),
        depth=word_or("auto", Whole(1, 50)),
        grid=Choice("isotropic", "tensor", "sparse"),
        interval=_interval,
    ),
    _family(
        "dictionary",
        Dictionary,
        One("whole_basis", "basis_in_blocks", "listed_basis", "eigenfunctions"),
        basis=Either(
            One("mercer", *(f"{name}_functions" for name in ("fourier", "units", "bumps"))),
            Listing(_function, list, 1, 100_000),
            _function,
        ),
    ),
    _family(
        "hypotheses",
        Hypotheses,
        Either(Null(), One("ignores_targets")),
        sampler=_function,
        bootstrap=Number(0, 1),
        targets=Choice("given", "random"),
    ),
    Entry("union", Union, {"parts": Listing(One(*PARTS), list, 1, MOST_PARTS)}),
    Entry(
        "mercer",
        Mercer,
        {
            "kernel": _kernel,
            "gamma": Either(Null(), Choice("median"), Number()),
            "anchors": _anchors,
            "rank": optional(Whole(1)),
            "kernel_params": OPTIONS,
        },
    ),
)


def parts_of(family: Family) -> list[Any]:
    """A family, or the parts of a union."""
    return family.parts_of_union()


def resolved_of(family: Any) -> Any:
    """What a family has read from rows, None where it is not resolved."""
    known = vars(family).get("_resolved")
    return None if known is None else known[0]


def is_resolved(family: Family) -> bool:
    """Whether a family, or every part of a union, has seen rows."""
    return all("_resolved" in vars(part) for part in parts_of(family))
