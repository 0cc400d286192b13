"""Fits of functions that have learned from targets: to what they say of rows they have not seen.

Where ``alpha="auto"``, every fit takes such values: those of the function itself for rows that were
not in its bag, those of another function for rows that were. A number for alpha asks for the plain
objective, on values as they are. Predictors under the squared loss do better than with others in
the gaps: their moments are taken pair by pair (`pairs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines import cpu
from ..families import Functions
from ..families.bags import FOLDS, fold_of, row_keys
from ..losses import Squared
from ..pairs import PairMoments
from ..solvers.out_of_bag import OutOfBag, solve
from .parameters import NO_ROWS
from .progress import Progress

SOLVER = "out_of_bag"
# Rows whose moments are taken at once.
PIECE = 8192


def numbers(state: Any, X, targets, settings: Any) -> NDArray[np.int64] | None:
    """Numbers of rows in the data that functions learned from, where a fit looks past them."""
    bags = state.functions.bags
    if bags is None or not _asked_for(settings):
        return None
    return bags.numbers(X, targets(slice(0, X.shape[0])))


def _asked_for(settings: Any) -> bool:
    return settings.alpha == "auto" or settings.solver == SOLVER


def check(state: Any, settings: Any, n_targets: int) -> None:
    """Refuse a fit to unseen rows where there are none, to other targets, of other functions."""
    functions, family = state.functions, state.frame.family
    if settings.solver == SOLVER and not functions.n_targets:
        raise ValueError(
            f"solver={SOLVER!r} weighs functions that predict the targets (rs.Trees(), "
            f"rs.Hypotheses(...)), not {family!r}: leave solver='auto'."
        )
    bags = functions.bags
    learned = (functions.n_targets or n_targets) if bags is None else bags.n_targets
    if learned != n_targets:
        raise ValueError(
            f"The functions of this frame have learned {learned} target column(s), y has "
            f"{n_targets}: fit without frame=."
        )
    for part in getattr(functions, "parts", [functions]):
        if part.family.uses_target and part.bags is None and _asked_for(settings):
            raise ValueError(
                f"{part.family!r} has shown every row to every function, so that none is left to "
                "judge them by: use bootstrap < 1, or a number for alpha and another solver."
            )


def by_pairs(functions: Functions, settings: Any) -> bool:
    """Whether weights are fitted to moments of pairs."""
    if settings.solver == SOLVER:
        return True
    plain = isinstance(settings.loss, Squared) and settings.bound is None
    predictors = functions.bags is not None and functions.n_targets > 0
    return predictors and plain and settings.solver == "auto" and settings.alpha == "auto"


def none(functions: Functions) -> PairMoments:
    return PairMoments.zero(FOLDS, functions.n_targets, functions.n_components)


def read(state: Any, X, targets, weights, settings: Any) -> PairMoments:
    """The moments of pairs of all rows of X, in blocks."""
    functions, Y = state.functions, targets(slice(0, X.shape[0]))
    each = np.ones(len(Y)) if weights is None else weights
    keys, first, inverse = np.unique(row_keys(X, Y), return_index=True, return_inverse=True)
    if len(keys) < len(Y):  # equal rows are one of their weight together, where the first stood
        order = np.argsort(first)
        each = np.bincount(inverse, each)[order]
        X, Y, keys = X[first[order]], Y[first[order]], keys[order]
    else:
        keys = keys[inverse]
    k, origin = functions.n_components, functions.growth.origin
    progress = Progress(settings.verbose, len(Y), f"randspan: {k} functions")

    def add(total: PairMoments, Z: NDArray, rows: slice) -> None:
        at, numbers, shares = functions.bags.copies(keys[rows])
        predictions, folds = Z.reshape(len(Z), k, -1), fold_of(keys[rows])
        for start in range(0, len(at), PIECE):  # one row may stand for very many
            some = at[start : start + PIECE]
            total.add(
                predictions[some],
                Y[rows][some],
                origin,
                each[rows][some] * shares[start : start + PIECE],
                functions.bags.seen(numbers[start : start + PIECE], k),
                folds[some],
            )
        progress(len(Z))

    return cpu.total(state.features(X), lambda: none(functions), add, settings.n_jobs)


def weigh(state: Any, settings: Any) -> OutOfBag:
    """The weights that moments of pairs lead to."""
    moments, functions = state.statistics, state.functions
    if moments.weight <= 0:
        raise ValueError(NO_ROWS)
    reason = "functions that learned from targets: errors on rows they have not seen"
    origin = functions.growth.origin
    with cpu.blas_threads(settings.n_jobs, moments.n_functions):
        return solve(moments, origin, settings.alpha, settings.intercept, reason)
