"""What must be refused: parameters that nothing takes, and rows that do not fit to a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import randspan as rs

from .tables import Table, take

Rng = np.random.Generator

#: More columns than any table has.
MANY = 10_007
#: Parameters that no estimator takes.
PARAMETERS: list[dict[str, Any]] = [
    {"n_components": 0},
    {"n_components": 2.5},
    {"n_components": "many"},
    {"n_components": -np.inf},
    {"n_components": np.nan},
    {"n_components": True},
    {"n_components": None},
    {"family": "forest"},
    {"family": rs.Fourier},
    {"family": None},
    {"family": 7},
    {"family": [rs.Fourier(), rs.Bins()]},
    {"standardize": "yes"},
    {"standardize": None},
    {"scales": "some"},
    {"scales": -1.0},
    {"scales": np.ones(MANY)},
    {"scales": [1.0, None]},
    {"categories": ["no such column"]},
    {"categories": 3.5},
    {"columns": {"no such column": "number"}},
    {"columns": {0: "colour"}},
    {"columns": [0]},
    {"frame": "another"},
    {"dtype": "float16"},
    {"dtype": int},
    {"random_state": "seven"},
    {"n_jobs": 0},
    {"n_jobs": "all"},
    {"family": rs.Fourier("gauss")},
    {"family": rs.Fourier(gamma=-1.0)},
    {"family": rs.Fourier(gamma="mean")},
    {"family": rs.Fourier(gamma=np.ones(MANY))},
    {"family": rs.Fourier(sampling="some")},
    {"family": rs.Fourier(form=None)},
    {"family": rs.Fourier("stable", p=3.0)},
    {"family": rs.Fourier(lambda d, rng: np.ones(d + 1))},
    {"family": rs.Fourier(lambda d, rng: np.full(d, np.nan))},
    {"family": rs.Stumps("middle")},
    {"family": rs.Stumps(interval=(1.0, 0.0))},
    {"family": rs.Stumps(interval=3)},
    {"family": rs.Stumps(interval=(np.nan, 1.0))},
    {"family": rs.Units("swish")},
    {"family": rs.Units(lambda values: values[:, :0])},
    {"family": rs.Units(lambda values: None)},
    {"family": rs.Units(scale="large")},
    {"family": rs.Units(bias="some")},
    {"family": rs.Bumps(centers="corners")},
    {"family": rs.Bumps(centers=np.ones((3, MANY)))},
    {"family": rs.Bumps(centers=np.empty((0, 2)))},
    {"family": rs.Projections(scale=None)},
    {"family": rs.Projections(weights="uniform")},
    {"family": rs.Bins(kernel="gaussian")},
    {"family": rs.Bins(pitch=-1.0)},
    {"family": rs.Bins(pitch="wide")},
    {"family": rs.Bins(gamma=0.0)},
    {"family": rs.KernelExpansions("no kernel")},
    {"family": rs.KernelExpansions(lambda X, Y: X[:, :0])},
    {"family": rs.KernelExpansions(anchors=0)},
    {"family": rs.KernelExpansions(anchors=np.ones((2, MANY)))},
    {"family": rs.KernelExpansions(coefficients="some")},
    {"family": rs.KernelExpansions(gamma=-1.0)},
    {"family": rs.KernelExpansions(kernel_params={"no": 1})},
    {"family": rs.Networks(hidden=())},
    {"family": rs.Networks(hidden=(3, 0))},
    {"family": rs.Networks(hidden="deep")},
    {"family": rs.Networks(activation=3)},
    {"family": rs.Trees(bootstrap=0.0)},
    {"family": rs.Trees(bootstrap="all")},
    {"family": rs.Trees(max_features=0)},
    {"family": rs.Trees(max_features=10**6)},
    {"family": rs.Trees(output="mean")},
    {"family": rs.Trees(min_samples_leaf=0.5)},
    {"family": rs.Trees(splitter="worst")},
    {"family": rs.Hypotheses(None)},
    {"family": rs.Hypotheses(lambda X, y, rng: None, bootstrap=1.0)},
    {"family": rs.Hypotheses(lambda X, y, rng: lambda X: np.ones(len(y) + MANY), bootstrap=1.0)},
    {"family": rs.Hypotheses(np.mean, targets="none")},
    {"family": rs.BrownianSheets(order=3)},
    {"family": rs.BrownianSheets(depth=-1)},
    {"family": rs.BrownianSheets(depth="deep")},
    {"family": rs.BrownianSheets(grid="isotropic")},
    {"family": rs.BrownianSheets(interval=(3.0, 2.0))},
    {"family": rs.ScrambledWavelets("haar")},
    {"family": rs.ScrambledWavelets("db1")},
    {"family": rs.ScrambledWavelets("coif2")},
    {"family": rs.ScrambledWavelets(smoothness=0.1)},
    {"family": rs.ScrambledWavelets(smoothness=40.0)},
    {"family": rs.ScrambledWavelets(depth=1.5)},
    {"family": rs.ScrambledWavelets(grid="dense")},
    {"family": rs.Dictionary(None)},
    {"family": rs.Dictionary([])},
    {"family": rs.Dictionary(lambda X: X[:1].repeat(len(X) + 1, axis=0))},
    {"family": rs.Dictionary(lambda X: np.full((len(X), 2), np.nan))},
    {"family": rs.Dictionary(rs.Mercer(rank=0))},
    {"family": rs.Dictionary(rs.Mercer("no kernel"))},
]

#: Those of regressors and classifiers.
OF_MODELS: list[dict[str, Any]] = [
    {"loss": "median"},
    {"loss": None},
    {"alpha": -1.0},
    {"alpha": "small"},
    {"alpha": np.nan},
    {"alpha": None},
    {"alpha": [1.0]},
    {"bound": 0.0},
    {"bound": "tight"},
    {"clip": -2.0},
    {"clip": (0.0, 1.0)},
    {"fit_intercept": "yes"},
    {"fit_intercept": None},
    {"solver": "svd"},
    {"solver": None},
    {"memory_limit": "lots"},
    {"memory_limit": -5},
    {"family": "auto", "effort": "none"},
    {"family": "auto", "loss": "huber"},
]

Mistake = Callable[[Any, Table, Rng], Any]


def _wider(X: Any) -> Any:
    if isinstance(X, pd.DataFrame):
        return X.assign(more=1.0)
    if sparse.issparse(X):
        return sparse.hstack([X, X])
    X = np.asarray(X)
    return np.hstack([X, X])


def _pandas(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else X.to_pandas()


def _turned(X: pd.DataFrame) -> pd.DataFrame:
    return X.iloc[:, ::-1] if X.shape[1] > 1 else X.add_prefix("my ")


def _infinity(model: Any) -> dict[str, float]:
    return dict.fromkeys(model.feature_names_in_, np.inf)


def _infinite(X: np.ndarray) -> np.ndarray:
    X = np.array(X, dtype=float)
    X[-1, 0] = np.inf
    return X


def _with(model: Any, table: Table, **changed: Any) -> Any:
    given = {"X": table.X, "y": table.y, "sample_weight": table.weights} | changed
    return model.fit(**given)


def _weights(table: Table, change: Callable[[np.ndarray], Any]) -> Any:
    return change(np.ones(table.n_rows))


#: Of a model that was fitted to a table whose rows are numbers.
CALLS: dict[str, Mistake] = {
    "more columns": lambda m, t, rng: m.predict(_wider(t.new)),
    "fewer columns": lambda m, t, rng: m.predict(np.empty((2, 0))),
    "one row, flat": lambda m, t, rng: m.predict(t.numbers[0]),
    "three dimensions": lambda m, t, rng: m.predict(t.numbers[None]),
    "no rows": lambda m, t, rng: m.predict(t.numbers[:0]),
    "words": lambda m, t, rng: m.predict(np.full((2, t.numbers.shape[1]), "red", dtype=object)),
    "complex": lambda m, t, rng: m.predict(t.numbers + 1j),
    "infinite": lambda m, t, rng: m.predict(_infinite(t.numbers)),
    "nothing": lambda m, t, rng: m.predict(None),
    "a number": lambda m, t, rng: m.predict(3.0),
    "a dict": lambda m, t, rng: m.predict({"a": [1.0]}),
    "infinite in training": lambda m, t, rng: _with(m, t, X=_infinite(t.numbers)),
    "no y": lambda m, t, rng: _with(m, t, y=None),
    "y too short": lambda m, t, rng: _with(m, t, y=t.y[:-1]),
    "y not finite": lambda m, t, rng: _with(m, t, y=np.full(t.n_rows, np.nan)),
    "sparse y": lambda m, t, rng: _with(m, t, y=sparse.csr_array(np.ones((t.n_rows, 1)))),
    "cube of y": lambda m, t, rng: _with(m, t, y=np.ones((t.n_rows, 2, 2))),
    "no weight": lambda m, t, rng: _with(m, t, sample_weight=_weights(t, np.zeros_like)),
    "negative weight": lambda m, t, rng: _with(m, t, sample_weight=_weights(t, np.negative)),
    "weight not finite": lambda m, t, rng: _with(
        m, t, sample_weight=_weights(t, lambda w: w * np.nan)
    ),
    "weights too short": lambda m, t, rng: _with(m, t, sample_weight=_weights(t, lambda w: w[:-1])),
    "weights of two columns": lambda m, t, rng: _with(
        m, t, sample_weight=_weights(t, lambda w: np.column_stack([w, w]))
    ),
    "words as weights": lambda m, t, rng: _with(
        m, t, sample_weight=_weights(t, lambda w: w.astype(str) + "kg")
    ),
    "one row": lambda m, t, rng: _with(
        m, t, X=take(t.X, np.arange(1)), y=take(t.y, np.arange(1)), sample_weight=None
    ),
    "another kind merged": lambda m, t, rng: m.merge(rs.SpanTransformer().fit(t.numbers)),
    "one not fitted merged": lambda m, t, rng: m.merge(type(m)()),
    "a stream of other width": lambda m, t, rng: m.partial_fit(_wider(t.X), t.y),
}

#: Of a model that was fitted to a data frame with names.
OF_FRAMES: dict[str, Mistake] = {
    "no columns": lambda m, t, rng: m.predict(_pandas(t.new).iloc[:, :0]),
    "another name": lambda m, t, rng: m.predict(_pandas(t.new).add_prefix("my ")),
    "one column more": lambda m, t, rng: m.predict(_pandas(t.new).assign(more=1.0)),
    "columns in another order": lambda m, t, rng: m.predict(_turned(_pandas(t.new))),
    "lists in cells": lambda m, t, rng: m.predict(
        _pandas(t.new).astype(object).map(lambda value: [value])
    ),
    "no rows of a frame": lambda m, t, rng: m.predict(_pandas(t.new).iloc[:0]),
    "infinite numbers": lambda m, t, rng: m.predict(_pandas(t.new).assign(**_infinity(m))),
}

OF_REGRESSORS: dict[str, Mistake] = {
    "coverage 0": lambda m, t, rng: m.predict_interval(t.new, coverage=0),
    "coverage 1.5": lambda m, t, rng: m.predict_interval(t.new, coverage=1.5),
    "coverage nan": lambda m, t, rng: m.predict_interval(t.new, coverage=np.nan),
    "words as y": lambda m, t, rng: _with(m, t, y=np.full(t.n_rows, "red")),
    "targets of other width": lambda m, t, rng: m.partial_fit(t.X, np.ones((t.n_rows, 7))),
    "infinite y": lambda m, t, rng: _with(m, t, y=np.full(t.n_rows, np.inf)),
}

OF_CLASSIFIERS: dict[str, Mistake] = {
    "one class": lambda m, t, rng: _with(m, t, y=np.zeros(t.n_rows, dtype=int)),
    "real numbers as classes": lambda m, t, rng: _with(m, t, y=np.arange(t.n_rows) + 0.5),
    "a new class": lambda m, t, rng: m.partial_fit(t.X, np.full(t.n_rows, "another")),
    "several labels": lambda m, t, rng: _with(m, t, y=np.ones((t.n_rows, 2), dtype=int)),
    "unknown method": lambda m, t, rng: m.leave_one_out(t.X, t.y, method="fit"),
}
