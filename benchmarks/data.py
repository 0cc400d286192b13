"""Data to race on: a synthetic regression of any size, generated sets, and real ones if found.

Real ones are those of ``rs.datasets``, from the folder that ``RANDSPAN_DATA`` names, else from
``shared/data`` beside the repository. None is downloaded; a set that is not found is `Missing`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1, make_hastie_10_2
from sklearn.model_selection import train_test_split

from randspan import datasets

ERRORS = {"regression": "RMSE", "classification": "% wrong"}
ROOT = Path(__file__).resolve().parents[1]


class Missing(Exception):
    """A data set whose files are not there."""


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to be judged by."""

    task: str
    X_train: np.ndarray
    X_test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray

    def head(self, rows: int) -> Split:
        """The first rows of both parts."""
        return Split(
            self.task,
            self.X_train[:rows],
            self.X_test[:rows],
            self.y_train[:rows],
            self.y_test[:rows],
        )

    def thinned(self, rows: int) -> Split:
        """At most ``rows`` training rows, drawn at random; the same test rows."""
        if len(self.X_train) <= rows:
            return self
        chosen = np.random.default_rng(0).permutation(len(self.X_train))[:rows]
        return replace(self, X_train=self.X_train[chosen], y_train=self.y_train[chosen])

    def tiny(self, rows: int) -> Split:
        """At most ``rows`` training rows, and as many to test: for quick runs."""
        few = self.thinned(rows)
        return replace(few, X_test=few.X_test[:rows], y_test=few.y_test[:rows])

    def error(self, predicted: np.ndarray) -> float:
        """Root mean squared error, or the percentage of wrong classes."""
        if self.task == "classification":
            return 100 * float(np.mean(predicted != self.y_test))
        return float(np.sqrt(np.mean((predicted - self.y_test) ** 2)))


def smooth(n_rows: int, n_features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows in float32, y = tanh a'x + ½ sin b'x + N(0, 0.3²), |a| = |b| = 1.

    Filled in place, block by block: nothing larger than X is ever in memory, so X leaves no mark
    above itself.
    """
    rng = np.random.default_rng(seed)
    # The function is the same whatever the seed of the rows.
    waves = np.random.default_rng(7).standard_normal((n_features, 2))
    waves /= np.linalg.norm(waves, axis=0)
    X = np.empty((n_rows, n_features), dtype=np.float32)
    y = np.empty(n_rows)
    for start in range(0, n_rows, 4096):
        rows = X[start : start + 4096]
        rng.standard_normal(out=rows, dtype=np.float32)
        a, b = (rows @ waves).T
        noise = 0.3 * rng.standard_normal(len(rows))
        y[start : start + 4096] = np.tanh(a) + np.sin(b) / 2 + noise
    return X, y


def friedman() -> Split:
    X, y = make_friedman1(20_000, n_features=10, noise=1.0, random_state=0)
    return _nine_to_one("regression", X, y)


def hastie() -> Split:
    X, y = make_hastie_10_2(12_000, random_state=0)
    return _nine_to_one("classification", X, y)


def of(loader: str, **options: Any) -> Split:
    """A set of ``rs.datasets``."""
    folder = ROOT.parent / "shared" / "data"
    if folder.exists():
        os.environ.setdefault("RANDSPAN_DATA", str(folder))
    try:
        found = getattr(datasets, f"load_{loader}")(download=False, **options)
    except datasets.DataError as reason:
        raise Missing(str(reason)) from None
    return Split(found.task, found.X_train, found.X_test, found.y_train, found.y_test)


def forest(most: int | None = None, split: int = 0, seven: bool = False) -> Split:
    """Forest Cover, class 2 against the rest; not in `SETS`: too large for most methods there."""
    return of("forest_cover", rows=most, split=split, seven=seven)


# Not in `SETS` either.
cpu, a9a = partial(of, "cpu"), partial(of, "adult")


SETS: dict[str, Callable[[], Split]] = {
    "friedman1 (generated)": friedman,
    "hastie (generated)": hastie,
    "kin40k": partial(of, "kin40k"),
    "cal_housing": partial(of, "cal_housing"),
    "a9a": a9a,
    "letter": partial(of, "letter"),
}


def _nine_to_one(task: str, X: np.ndarray, y: np.ndarray) -> Split:
    """Nine tenths to learn from, one tenth to test, always the same."""
    return Split(task, *train_test_split(X, y, test_size=0.1, random_state=0))
