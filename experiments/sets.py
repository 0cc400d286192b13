"""Data sets as experiments see them: standardised, thinned for quick runs, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from sklearn.utils import Bunch

from randspan import datasets

QUICK_ROWS = 600

SETS: dict[str, Callable[[int], Bunch]] = {
    "cpu": lambda seed: datasets.load_cpu(scaled=True),
    "census": lambda seed: datasets.load_census_house(scaled=True),
    "census log": lambda seed: datasets.load_census_house(log=True, scaled=True),
    "adult": lambda seed: datasets.load_adult(scaled=True),
    "forest": lambda seed: datasets.load_forest_cover(split=seed, scaled=True),
}
QUICK_SETS = {
    **SETS,
    "forest": lambda seed: datasets.load_forest_cover(split=seed, scaled=True, rows=4 * QUICK_ROWS),
}


@lru_cache(maxsize=2)
def loaded(name: str, seed: int, quick: bool) -> Bunch:
    """A set with zero means and unit variances; thinned where ``quick``."""
    found = (QUICK_SETS if quick else SETS)[name](seed)
    return thinned(found, QUICK_ROWS, 0) if quick else found


def thinned(found: Bunch, rows: int, seed: int) -> Bunch:
    """At most ``rows`` rows to learn from, and as many to test."""
    rng = np.random.default_rng(seed)
    few, others = (rng.permutation(len(X))[:rows] for X in (found.X_train, found.X_test))
    return Bunch(
        **{
            **found,
            "X_train": found.X_train[few],
            "y_train": found.y_train[few],
            "X_test": found.X_test[others],
            "y_test": found.y_test[others],
        }
    )


def held_out(found: Bunch, rows: int, seed: int) -> Bunch:
    """A part of the rows to learn from, a quarter of it to choose by: no test row is looked at."""
    order = np.random.default_rng([seed, 1]).permutation(len(found.X_train))[:rows]
    quarter = len(order) // 4
    out, rest = order[:quarter], order[quarter:]
    X, y = found.X_train, found.y_train
    parts = {"X_train": X[rest], "y_train": y[rest], "X_test": X[out], "y_test": y[out]}
    return Bunch(**{**found, **parts})


def error_of(found: Bunch, predicted: np.ndarray) -> tuple[float, float]:
    """UA's error in per cent and its standard error on the test rows.

    Wrong classes, or ‖ŷ - y‖/‖y‖.
    """
    n = len(found.y_test)
    if found.task == "classification":
        share = float(np.mean(predicted != found.y_test))
        return 100 * share, 100 * float(np.sqrt(share * (1 - share) / n))
    squares = (predicted - found.y_test) ** 2
    ratio = float(np.sqrt(squares.sum() / (found.y_test**2).sum()))
    spread = float(squares.std() / np.sqrt(n) / squares.mean()) / 2
    return 100 * ratio, 100 * ratio * spread
