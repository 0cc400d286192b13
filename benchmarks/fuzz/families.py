"""Families with random parameters: each of them either as it is by default or one of a few values.

A `Law` draws a family for rows of d columns. Parameters that no family takes are left to
`mistakes`; combinations that a family refuses by name are drawn now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import randspan as rs

Rng = np.random.Generator
Law = Callable[[Rng, int], Any]

# Parameters that are not left as they are.
CHANGED = 0.4


# -- callables, of modules, so that they can be pickled --------------------------------------------


def student(d: int, rng: Rng) -> np.ndarray:
    return rng.standard_t(4, size=d)


def positive(d: int, rng: Rng) -> np.ndarray:
    return 0.3 + rng.exponential(size=d)


def partly_nan(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, np.nan, values)


def linear_decay(r: np.ndarray) -> np.ndarray:
    return np.maximum(0, 1 - r)


def cosines(X: np.ndarray) -> np.ndarray:
    numbers = np.arange(1, 9)
    return np.concatenate([np.cos(column[:, None] * numbers) / numbers for column in X.T], axis=1)


def sparse_cosines(X: np.ndarray) -> sparse.csr_array:
    return sparse.csr_array(cosines(X))


def first(X: np.ndarray) -> np.ndarray:
    return X[:, 0]


def last_squared(X: np.ndarray) -> np.ndarray:
    return X[:, -1] ** 2


class Powers:
    """A basis in blocks."""

    def __len__(self) -> int:
        return 5

    def __call__(self, X: np.ndarray, start: int, stop: int) -> np.ndarray:
        return np.column_stack([np.tanh(X[:, 0]) ** i for i in range(start, stop)])


def similarity(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.abs(X[:, None, :] - Y[None, :, :]).sum(axis=2))


def nearest_mean(X: Any, y: np.ndarray, rng: Rng) -> Callable:
    """A hypothesis of two numbers: what targets are on both sides of a random row."""
    X, y = np.asarray(X.toarray() if sparse.issparse(X) else X), np.asarray(y, dtype=float)
    column, place = rng.integers(X.shape[1]), X[rng.integers(len(X))]
    above = X[:, column] >= place[column]
    sides = [y[side].mean(axis=0) if side.any() else y.mean(axis=0) for side in (~above, above)]
    return partial(_of_side, column, place[column], sides)


def _of_side(column: int, place: float, sides: list, X: Any) -> np.ndarray:
    X = np.asarray(X.toarray() if sparse.issparse(X) else X)
    return np.array(sides)[(X[:, column] >= place).astype(int)]


# -- laws ------------------------------------------------------------------------------------------


def one_of(rng: Rng, values: Sequence) -> Any:
    return values[rng.integers(len(values))]


def law(kind: Callable, **values: Sequence) -> Law:
    """A family of some kind; values that are ``per_column`` or ``rows`` are drawn for d columns."""

    def drawn(rng: Rng, d: int) -> Any:
        given = {}
        for name, choices in values.items():
            if rng.random() < CHANGED:
                value = one_of(rng, choices)
                given[name] = value(rng, d) if isinstance(value, _Drawn) else value
        return kind(**given)

    return drawn


class _Drawn:
    """A value that depends on the number of columns."""

    def __init__(self, draw: Law) -> None:
        self.draw = draw

    def __call__(self, rng: Rng, d: int) -> Any:
        return self.draw(rng, d)


per_column = _Drawn(lambda rng, d: rng.uniform(0.1, 2, size=d))
rows = _Drawn(lambda rng, d: rng.normal(size=(4, d)))
ranges = _Drawn(lambda rng, d: (np.full(d, -2.0), np.full(d, 1.5)))

GAMMAS = ("median", 0.3, 1e-4, 1e3, per_column)
ACTIVATIONS = ("sigmoid", "tanh", "relu", "sign", "cos", "gaussian", np.arctan)
NAMES = tuple(rs.families.NAMED)

_kernels = law(
    rs.Fourier,
    kernel=("laplacian", "cauchy", "matern12", "matern32", "matern52", "gaussian", student),
    gamma=GAMMAS,
    sampling=("iid", "orthogonal", "qmc", "structured"),
    form=("paired",),
)
_wavelets = law(
    rs.ScrambledWavelets,
    wavelet=("db2", "db3", "db4", "db6", "sym2", "sym4", "sym8", "db38"),
    smoothness=(0.75, 1.2, 1.6, 2.0, per_column),
    depth=(0, 1, 2, 3),
    grid=("tensor", "sparse", "isotropic"),
    interval=((-2.0, 2.0), ranges),
)
_sheets = law(
    rs.BrownianSheets,
    order=(1, 2),
    constant=(False,),
    depth=(0, 1, 2, 3),
    grid=("sparse", "tensor"),
    interval=((-2.0, 2.0), ranges),
)
_expansions = law(
    rs.KernelExpansions,
    kernel=(*("laplacian", "poly", "linear", "cosine", "sigmoid", "chi2"), similarity, rs.Stumps()),
    gamma=("median", 0.1, 10.0),
    coefficients=("uniform", "laplace", "bernoulli", "nystrom", "nystrom", "cholesky", student),
    anchors=(1, 7, "rpcholesky", rows),
)
_polynomials = law(
    partial(rs.KernelExpansions, "poly", kernel_params={"degree": 2, "coef0": 1}), anchors=(3,)
)
_mercer = law(
    rs.Mercer, kernel=("laplacian", "poly", similarity), anchors=(5, "rpcholesky", rows), rank=(3,)
)
_trees = law(
    rs.Trees,
    bootstrap=(0.5, 1.0, 0.9),
    max_features=(1, 2),
    min_samples_leaf=("auto", 2, 5),
    replace=(True,),
    splitter=("best", "auto"),
    output=("leaves",),
)
_learners = (
    nearest_mean,
    nearest_mean,
    DecisionTreeRegressor(max_depth=3),
    DecisionTreeClassifier(max_depth=2),
    LogisticRegression(),
)

#: A law, and how often it is drawn: those that are slow less often.
SINGLE: dict[str, tuple[float, Law]] = {
    "fourier": (3, _kernels),
    "stable": (0.5, law(partial(rs.Fourier, "stable"), p=(1.5, 2.0), q=(0.5, 1.2), gamma=GAMMAS)),
    "stumps": (
        2,
        law(rs.Stumps, threshold=("normal", "quantile"), interval=((-1.0, 1.0), ranges)),
    ),
    "units": (
        2,
        law(
            rs.Units,
            activation=ACTIVATIONS,
            weights=(student,),
            scale=(0.1, 10.0),
            bias=("uniform", None, student),
            direct=(True,),
        ),
    ),
    "nan units": (0.2, law(partial(rs.Units, partly_nan))),
    "bumps": (1.5, law(rs.Bumps, gamma=GAMMAS, centers=("normal", student, rows))),
    "projections": (1, law(rs.Projections, weights=(student,), scale=(0.1, 1e3))),
    "bins": (
        1.5,
        law(
            rs.Bins,
            kernel=(linear_decay,),
            gamma=GAMMAS,
            pitch=(0.7, per_column, stats.expon(0.5), positive),
        ),
    ),
    "expansions": (2, _expansions),
    "polynomials": (0.3, _polynomials),
    "networks": (
        1,
        law(
            rs.Networks,
            hidden=(3, (4, 2), (1,)),
            activation=ACTIVATIONS,
            weights=(student,),
            scale=(0.1, 10.0),
            bias=(False,),
        ),
    ),
    "trees": (0.7, _trees),
    "leaves": (0.3, lambda rng, d: _trees(rng, d).set_params(output="leaves")),
    "hypotheses": (
        0.4,
        law(
            lambda sampler=nearest_mean, **more: rs.Hypotheses(sampler, **more),
            sampler=_learners,
            bootstrap=(0.5, 1.0),
            targets=("random",),
        ),
    ),
    "sheets": (1.5, _sheets),
    "wavelets": (2, _wavelets),
    "dictionary": (
        1,
        law(
            lambda basis=cosines: rs.Dictionary(basis),
            basis=(sparse_cosines, [first, last_squared], Powers(), Powers()),
        ),
    ),
    "mercer": (0.7, lambda rng, d: rs.Dictionary(_mercer(rng, d))),
}


def single(rng: Rng, d: int) -> Any:
    odds = np.array([often for often, _ in SINGLE.values()])
    return list(SINGLE.values())[rng.choice(len(odds), p=odds / odds.sum())][1](rng, d)


def union(rng: Rng, d: int) -> Any:
    parts = [single(rng, d) for _ in range(3 if rng.random() < 0.2 else 2)]
    return sum(parts[1:], parts[0])


#: All that the parameter ``family`` may be.
FAMILIES: dict[str, tuple[float, Law]] = SINGLE | {
    "union": (1.5, union),
    "name": (0.5, lambda rng, d: one_of(rng, NAMES)),
    "auto": (0.03, lambda rng, d: "auto"),
}
