"""Data to race on: a synthetic regression of any size, generated sets, and real ones if found.

Real files are looked for in the folder that ``RANDSPAN_DATA`` names, else in ``shared/data`` beside
the repository. None is downloaded here; a set that is not found is `Missing`, and says so.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.datasets import load_svmlight_file, make_friedman1, make_hastie_10_2
from sklearn.model_selection import train_test_split

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


def kin40k() -> Split:
    """Ten splits come with it; this is the first."""
    rows = np.loadtxt(_file("tabular/kin40k/data.csv.gz"), delimiter=",")
    test = np.loadtxt(_file("tabular/kin40k/test_mask.csv.gz"), delimiter=",", usecols=0) == 1
    X, y = rows[:, :-1], rows[:, -1]
    return Split("regression", X[~test], X[test], y[~test], y[test])


def housing() -> Split:
    rows = np.loadtxt(_file("tabular/cal_housing.data.gz"), delimiter=",")
    return _nine_to_one("regression", rows[:, :-1], rows[:, -1])


def a9a() -> Split:
    X_train, y_train = load_svmlight_file(_file("a9a/a9a.gz"), n_features=123)
    X_test, y_test = load_svmlight_file(_file("a9a/a9a.t.gz"), n_features=123)
    # Dense for everybody: half of the peers take nothing else once the columns are centred.
    return Split("classification", X_train.toarray(), X_test.toarray(), y_train, y_test)


def letter() -> Split:
    # The header of the format, where there is one, is lines that start with @.
    path = _file("tabular/letter.dat.gz")
    rows = np.loadtxt(path, delimiter=",", dtype=str, comments="@")
    return _nine_to_one(
        "classification", rows[:, :-1].astype(np.float64), np.char.strip(rows[:, -1])
    )


def forest(most: int | None = None, split: int = 0, seven: bool = False) -> Split:
    """Forest Cover, class 2 against the rest; all 581,012 rows, or the first ``most``.

    ``split`` is the seed of the cut; with ``seven`` the classes are all that there are. Not in
    `SETS`: too large for most methods there.
    """
    rows = _covtype(most)
    classes = rows[:, -1].astype(np.int64)
    y = classes if seven else classes == 2
    parts = train_test_split(rows[:, :-1], y, test_size=len(rows) // 10, random_state=split)
    return Split("classification", *parts)


def _covtype(most: int | None) -> np.ndarray:
    """The rows of the file; all of them are kept in binary form for the next process."""
    path = Path(_file("covtype/covtype.csv.gz"))
    kept = Path(tempfile.gettempdir()) / f"randspan-covtype-{path.stat().st_mtime_ns}.npy"
    if most is None and kept.exists():
        return np.load(kept)
    rows = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=most, dtype=np.float32)
    if most is None:
        np.save(kept, rows)
    return rows


def cpu() -> Split:
    """The file that Rahimi and Recht used, with its own split; not in `SETS`."""
    found = loadmat(_file("cpu/cpu.mat"))
    # Columns are cases, stored sparse; targets are bytes, whose differences would wrap around.
    X_train, X_test = (found[part].toarray().T for part in ("Xtrain", "Xtest"))
    y_train, y_test = (found[part].ravel().astype(np.float64) for part in ("ytrain", "ytest"))
    return Split("regression", X_train, X_test, y_train, y_test)


def crime() -> Split:
    """Communities and Crime, the first half to learn from; not in `SETS`.

    Five columns that are no inputs and 22 that are mostly missing are left out; one more entry is
    missing and has the mean of its column. Columns are standardised by the rows to learn from.
    """
    rows = np.genfromtxt(
        _file("communities/communities.data.gz"),
        delimiter=",",
        usecols=range(5, 128),
        missing_values="?",
    )
    rows = rows[:, np.isnan(rows).mean(axis=0) < 0.5]
    half = len(rows) // 2
    rows = np.where(np.isnan(rows), np.nanmean(rows[:half], axis=0), rows)
    X, y = rows[:, :-1], rows[:, -1]
    X = (X - X[:half].mean(axis=0)) / X[:half].std(axis=0)
    return Split("regression", X[:half], X[half:], y[:half], y[half:])


SETS: dict[str, Callable[[], Split]] = {
    "friedman1 (generated)": friedman,
    "hastie (generated)": hastie,
    "kin40k": kin40k,
    "cal_housing": housing,
    "a9a": a9a,
    "letter": letter,
}


def _nine_to_one(task: str, X: np.ndarray, y: np.ndarray) -> Split:
    """Nine tenths to learn from, one tenth to test, always the same."""
    return Split(task, *train_test_split(X, y, test_size=0.1, random_state=0))


def _file(name: str) -> str:
    folder = Path(os.environ.get("RANDSPAN_DATA") or ROOT.parent / "shared" / "data")
    path = folder / name
    if not path.exists():
        raise Missing(f"no {name} in the data folder: set RANDSPAN_DATA")
    return str(path)
