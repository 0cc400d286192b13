"""An estimator with random parameters, for a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import randspan as rs

from . import families, mistakes
from .families import one_of
from .tables import Table, chosen

Rng = np.random.Generator

SIZES = {"1": 2, "2": 1, "3": 3, "8": 4, "20": 2, "60": 0.2, "auto": 0.15, "inf": 1}
ALPHAS = (0, 0, 1e-12, 1e-3, 1e-3, 1e-3, 1.0, 1.0, 1.0, 1e6, "gcv", "gcv", "leave_one_out")
RARE_ALPHAS = (1e300, "heldout", "out_of_bag", 5)
#: Values, and how often they are given.
PARAMETERS: dict[str, tuple[float, tuple]] = {
    "alpha": (0.35, ALPHAS),
    "bound": (0.03, (1e-3, 10.0)),
    "standardize": (0.2, (False, "robust")),
    "scales": (0.12, (None, None, None, None, None, "learn", "rotate")),
    "dtype": (0.25, ("float64",)),
    "fit_intercept": (0.12, (False,)),
    "solver": (
        0.1,
        (
            *("qr", "eigen", "cholesky", "dual", "out_of_bag", "sketched", "box"),
            *("conjugate", "newton", "lbfgs", "multipliers"),
        ),
    ),
    "memory_limit": (0.05, ("200MB", "1MB", 10_000)),
}
LOSSES = {
    True: ("hinge", "squared_hinge", "logistic", "exponential"),
    False: ("absolute", "huber", "logistic"),
}


def sometimes(rng: Rng, parameters: dict, name: str, values: tuple, chance: float) -> None:
    if rng.random() < chance:
        parameters[name] = one_of(rng, values)


def estimator(rng: Rng, table: Table) -> tuple[Any, str, str]:
    """An estimator for a table, the name of its family, and words."""
    name = chosen(rng, {name: often for name, (often, _) in families.FAMILIES.items()})
    d = len(table.X[0]) if isinstance(table.X, list) else table.X.shape[1]
    family = families.FAMILIES[name][1](rng, d)
    k = chosen(rng, SIZES)
    parameters: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    parameters["n_components"] = {"auto": "auto", "inf": np.inf}.get(k) or int(k)
    if name in ("trees", "leaves", "hypotheses", "union") and k in ("auto", "60"):
        parameters["n_components"] = 5
    if name == "auto":
        parameters |= {"n_components": "auto", "effort": "fast"}
    for one, (chance, values) in PARAMETERS.items():
        sometimes(rng, parameters, one, values, chance / 4 if name == "auto" else chance)
    if rng.random() < 0.04:
        parameters["random_state"] = one_of(rng, (np.random.default_rng, np.random.RandomState))(0)
    if rng.random() < 0.03:
        parameters["alpha"] = one_of(rng, RARE_ALPHAS)
    if isinstance(table.X, np.ndarray):
        sometimes(rng, parameters, "categories", ([0], [0, d - 1]), 0.08)
    kind: Callable = rs.SpanClassifier if table.classes else rs.SpanRegressor
    if rng.random() < 0.1:
        kind = rs.SpanTransformer
        kept = ("random_state", "n_jobs", "n_components", "standardize", "scales", "dtype")
        parameters = {name: parameters[name] for name in kept if name in parameters}
        if not isinstance(parameters["n_components"], int):
            parameters["n_components"] = 7
    else:
        sometimes(rng, parameters, "loss", LOSSES[table.classes], 0.06)
        if "loss" in parameters or "bound" in parameters:  # finding alpha takes many fits
            sometimes(rng, parameters, "alpha", (1e-3, 1.0, 0.1), 0.9)
        if table.classes:
            sometimes(rng, parameters, "clip", ("auto", 0.5), 0.1)
            sometimes(rng, parameters, "class_weight", ("balanced",), 0.15)
        else:
            sometimes(rng, parameters, "clip", (None, 5.0, "auto"), 0.2)
    if rng.random() < 0.08:
        wrong = mistakes.PARAMETERS
        wrong = wrong if kind is rs.SpanTransformer else wrong + mistakes.OF_MODELS
        parameters |= one_of(rng, wrong)
        name = "mistake"
    known = {"random_state", "n_jobs"}
    shown = {key: value for key, value in parameters.items() if key not in known}
    words = f"{kind.__name__}({' '.join(repr(family).split())}, {shown})"
    return kind(parameters.pop("family", family), **parameters), name, words
