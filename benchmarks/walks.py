"""What random walks of streams begin with: an estimator, and rows to come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor

import randspan as rs

Rng = np.random.Generator


def cosines(X: np.ndarray) -> np.ndarray:
    """A basis for `rs.Dictionary`."""
    numbers = np.arange(1, 9)
    return np.concatenate([np.cos(column[:, None] * numbers) / numbers for column in X.T], axis=1)


FAMILIES: dict[str, Callable[[], Any]] = {
    "fourier": rs.Fourier,
    "fourier laplacian": lambda: rs.Fourier("laplacian", gamma=0.3),
    "fourier qmc": lambda: rs.Fourier("matern52", sampling="qmc", form="paired"),
    "fourier structured": lambda: rs.Fourier(sampling="structured"),
    "stumps": rs.Stumps,
    "stumps normal": lambda: rs.Stumps("normal"),
    "stumps quantile": lambda: rs.Stumps("quantile"),
    "units": rs.Units,
    "units relu": lambda: rs.Units("relu"),
    "units sign": lambda: rs.Units("sign", bias=None),
    "units direct": lambda: rs.Units("cos", direct=True),
    "bumps": rs.Bumps,
    "bumps narrow": lambda: rs.Bumps(gamma=20.0),
    "projections": rs.Projections,
    "bins": rs.Bins,
    "bins hat": lambda: rs.Bins(pitch=2.0),
    "expansions": rs.KernelExpansions,
    "expansions nystrom": lambda: rs.KernelExpansions("laplacian", coefficients="nystrom"),
    "networks": rs.Networks,
    "networks deep": lambda: rs.Networks((8, 5), "tanh"),
    "trees": rs.Trees,
    "leaves": lambda: rs.Trees(output="leaves", min_samples_leaf=3),
    "hypotheses": lambda: rs.Hypotheses(DecisionTreeRegressor(max_depth=4)),
    "sheets": lambda: rs.BrownianSheets(grid="sparse"),
    "sheets smooth": lambda: rs.BrownianSheets(1, grid="sparse"),
    "wavelets": rs.ScrambledWavelets,
    "dictionary": lambda: rs.Dictionary(cosines),
    "union": lambda: rs.Fourier() + rs.Stumps(),
    "union with bins": lambda: rs.Fourier() + rs.Bins(),
    "union with trees": lambda: rs.Trees() + rs.Fourier(),
    "kernel": rs.Fourier,
    "kernel of stumps": lambda: rs.Stumps("normal"),
    "open": lambda: "fourier",
    "auto": lambda: "auto",
}
#: families with functions of an author, which files take by name only
NAMELESS = ("dictionary", "hypotheses")
#: families whose alpha is 0 unless there is another: the smallest that sums can tell, which depends
#: on what these sums have been
BARE = ("sheets", "sheets smooth", "wavelets", "dictionary")
#: how often a family is walked with beside the others: it takes a second and more
SELDOM = {"auto": 0.25, "open": 0.5}


@dataclass(frozen=True)
class Pool:
    """Rows that come and go; some stand there several times."""

    kind: str
    X: Any
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, which: np.ndarray) -> Any:
        return self.X.iloc[which] if isinstance(self.X, pd.DataFrame) else self.X[which]


def pool(rng: Rng, classes: bool, numbers_only: bool) -> Pool:
    n, d = int(rng.integers(60, 200)), int(rng.integers(1, 5))
    kinds = ["normal", "constant column", "copies", "integers", "sparse", "far from zero"]
    kind = str(rng.choice(kinds if numbers_only else [*kinds, "table", "holes"]))
    X: Any = rng.normal(size=(n, d))
    y = np.sin(X[:, 0]) + X[:, -1] ** 2 + 0.3 * rng.normal(size=n)
    if kind == "constant column":
        X = np.column_stack([X, np.full(n, rng.choice([0.0, 0.1, 3.0, 1e6]))])
    elif kind == "copies":
        few = rng.integers(0, n // 3, size=n)
        X, y = X[few], np.where(rng.random(n) < 0.5, y[few], y)
    elif kind == "integers":
        X = np.round(X)
    elif kind == "sparse":
        X = sparse.csr_array(X * (rng.random(size=X.shape) < 0.5))
    elif kind == "far from zero":
        X, y = X + 1e4, y + 1e3
    elif kind == "table":
        names = np.array([f"level {i}" for i in range(14)])
        X = pd.DataFrame({"x": X[:, 0], "few": names[rng.integers(0, 3, n)],
                          "many": names[rng.integers(0, 14, n)]})  # fmt: skip
    elif kind == "holes":
        # So many that the first rows have one: without, a stream knows nothing of missing numbers.
        X = np.where(rng.random(size=X.shape) < 0.4, np.nan, X)
    if classes:
        cuts = np.quantile(y, [0.4] if rng.random() < 0.6 else [0.3, 0.7])
        y = np.array(["a", "b", "c"])[np.searchsorted(cuts, y)]
    elif rng.random() < 0.15:
        y = np.column_stack([y, rng.normal(size=n)])
    return Pool(f"{n} rows, {kind}", X, y)


def parameters(rng: Rng, family: str, classes: bool) -> dict[str, Any]:
    """Those of an estimator, but for its family."""
    k: Any = int(rng.choice([1, 3, 12, 40, 100]))
    if family.startswith("kernel"):
        k = np.inf
    elif family in ("open", "auto"):
        k = "auto"
    elif family in ("trees", "leaves", "hypotheses", "union with trees"):
        k = int(rng.choice([3, 12, 30]))
    alphas: list[Any] = [0.01, 0.1, 1.0] if family in BARE else ["auto", "auto", 0.01, 0.1, 1.0]
    found: dict[str, Any] = {
        "n_components": k,
        "alpha": _plain(rng.choice(np.array(alphas, dtype=object))),
        "clip": None,
        "dtype": "float32" if rng.random() < 0.2 else "float64",
        "random_state": 0,
        "n_jobs": 1,
    }
    if family == "auto":
        return found | {"effort": "fast", "alpha": "auto"}
    if rng.random() < 0.15:
        found["fit_intercept"] = False
    if rng.random() < 0.2:
        found["standardize"] = bool(rng.random() < 0.5) or "robust"
    if classes and rng.random() < 0.3:
        found["class_weight"] = {"a": 2.0, "b": 0.5, "c": 1.0}
    return found


def _plain(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)
