"""The same seed and the same rows: the same model on any threads, jobs, process, order of rows.

Kinds of estimators × kinds of rows × sizes. Every fit is done on one BLAS thread and one job, then
on two of each, in another process, and with the rows in another order. Drawn functions must have
the same bits; predictions (float64) may differ by 1e-9 of their scale, which is what sums of
products in another order leave, and where a solver goes on to a residual (cells, the box of the
hinge) by that, as rows come in another order. Functions that learn are drawn with their training:
bits hold for them, too.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import randspan as rs

from . import report
from .data import ROOT

name, slow = "determinism", True

SIZES, QUICK_SIZES = (200, 3_000, 20_000), (200,)
FORMS = ("table", "dense", "sparse")
NEW_ROWS = 200
#: of predictions; and of solvers that stop at a residual, for rows in another order
MOST_APART, RESIDUAL = 1e-9, 1e-5
ITERATIVE = {"bins", "hinge"}
#: kernel machines of more rows take minutes
EXACT_ROWS = 3_000

R, C = rs.SpanRegressor, rs.SpanClassifier
TREES = {"n_components": 20}
#: name: (estimator, family, parameters)
KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "fourier": (R, rs.Fourier(), {}),
    "laplacian": (R, rs.Fourier("laplacian"), {"standardize": "robust"}),
    "stumps": (R, rs.Stumps("quantile"), {}),
    "units": (R, rs.Units(), {}),
    "bumps": (R, rs.Bumps(), {}),
    "projections": (R, rs.Projections(), {}),
    "expansions": (R, rs.KernelExpansions(), {}),
    "nystrom": (R, rs.KernelExpansions(coefficients="nystrom"), {}),
    "networks": (R, rs.Networks(), {}),
    "bins": (R, rs.Bins(), TREES),
    "trees": (R, rs.Trees(), TREES),
    "leaves": (R, rs.Trees(output="leaves"), TREES),
    "sheets": (R, rs.BrownianSheets(grid="sparse"), {}),
    "union": (R, rs.Fourier() + rs.Trees(), TREES),
    "exact": (R, rs.Fourier(), {"n_components": np.inf}),
    "learned scales": (R, rs.Fourier(), {"scales": "learn"}),
    "automatic k": (R, rs.Fourier(), {"n_components": "auto"}),
    "default": (R, "fourier", {"n_components": "auto"}),
    "huber": (R, rs.Fourier(), {"loss": "huber"}),
    "classes": (C, rs.Fourier(), {}),
    "logistic": (C, rs.Fourier(), {"loss": "logistic"}),
    "hinge": (C, rs.Stumps(), {"loss": "hinge"}),
    "classes by trees": (C, rs.Trees(), TREES),
    "auto": (R, "auto", {"n_components": "auto"}),
}
#: what changes, and (BLAS threads, jobs); the first is what the others are compared with
SETTINGS = {"one": (1, 1), "threads": (2, 1), "jobs": (2, 2), "order": (1, 1), "process": (2, 2)}


def rows_of(form: str, n: int) -> tuple[Any, np.ndarray]:
    """Rows and a number to predict; the last ``NEW_ROWS`` are new ones."""
    rng = np.random.default_rng(n)
    many = n + NEW_ROWS
    X = rng.normal(size=(many, 6)) * np.array([1, 10, 1, 1, 1, 1e3]) + np.array([0, 0, 5, 0, 0, 0])
    level = rng.integers(0, 40, many)
    y = np.sin(2 * X[:, 0]) + X[:, 3] * X[:, 4] + rng.normal(size=40)[level]
    y += 0.3 * rng.normal(size=many)
    if form == "sparse":
        return sparse.csr_array(np.where(rng.random(X.shape) < 0.6, 0.0, X)), y
    if form == "dense":
        return np.column_stack([X, level % 3]), y
    frame = pd.DataFrame(np.where(rng.random(X.shape) < 0.1, np.nan, X), columns=list("abcdef"))
    frame["level"] = [f"level {i}" for i in level]
    hours = pd.to_timedelta(rng.integers(0, 9_999, many), unit="h")
    return frame.assign(day=pd.Timestamp("2024-01-01") + hours), y


def some(X, rows):
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def outcome(kind: str, form: str, n: int, setting: str) -> dict[str, np.ndarray]:
    """What one fit draws and predicts."""
    estimator, family, parameters = KINDS[kind]
    threads, jobs = SETTINGS[setting]
    X, y = rows_of(form, n)
    y = y > np.median(y) if estimator is C else y
    order = np.random.default_rng(1).permutation(n) if setting == "order" else np.arange(n)
    options = {"n_components": 100, "dtype": "float64", "random_state": 0, **parameters}
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = estimator(family, n_jobs=jobs, **options).fit(some(X, order), y[order])
        new = some(X, slice(n, None))
        scores = model.decision_function(new) if estimator is C else model.predict(new)
        found = {"scores": scores}
    if family != "auto" and model.n_components_ != np.inf:
        with threadpool_limits(1):  # the draw is asked for, not a product
            values = model.functions_(some(new, slice(0, 50)))
        values = values.toarray() if sparse.issparse(values) else np.asarray(values)
        found["draw"] = values[:, np.lexsort(values)]  # cells are numbered as they come
    return found


def compared(kind: str, form: str, n: int, apart: bool) -> dict[str, Any]:
    """How far every setting is from the first."""
    first = outcome(kind, form, n, "one")
    result: dict[str, Any] = {"kind": kind, "rows": form, "n": n}
    for setting in list(SETTINGS)[1:]:
        if setting == "process" and not apart:
            continue
        other = (in_process if setting == "process" else outcome)(kind, form, n, setting)
        scale = np.abs(first["scores"]).max()
        away = np.abs(other["scores"] - first["scores"]).max()
        same = "draw" not in first or np.array_equal(first["draw"], other["draw"])
        result[setting] = {"apart": float(away / scale), "draws": bool(same)}
    return result


def in_process(kind: str, form: str, n: int, setting: str) -> dict[str, np.ndarray]:
    """The same fit in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcome.npz"
        command = [sys.executable, "-m", "benchmarks.determinism", kind, form, str(n), setting]
        subprocess.run([*command, str(path)], check=True, cwd=ROOT)
        with np.load(path) as found:
            return dict(found)


def run(quick: bool) -> dict[str, Any]:
    kinds = ["fourier", "bins"] if quick else list(KINDS)
    results = []
    for n in QUICK_SIZES if quick else SIZES:
        for form in FORMS:
            for kind in kinds:
                if kind == "exact" and n > EXACT_ROWS:
                    continue
                results.append(
                    compared(kind, form, n, apart=(kind, form) == ("fourier", "table") or not quick)
                )
                if not quick:
                    print(_line(results[-1]), flush=True)
    every = [(one["kind"], s, one[s]) for one in results for s in SETTINGS if s in one]
    loose = [one["apart"] for kind, s, one in every if s == "order" and kind in ITERATIVE]
    tight = [one["apart"] for kind, s, one in every if s != "order" or kind not in ITERATIVE]
    other = sum(not one["draws"] for _, _, one in every)
    return {
        "fits": results,
        "bars": [
            report.bar("largest difference of predictions", max(tight), "<=", MOST_APART),
            report.bar("in another order, solved to a residual", max(loose), "<=", RESIDUAL),
            report.bar("draws with other bits", other, "<=", 0),
        ],
    }


def _line(one: dict[str, Any]) -> str:
    cells = [
        f"{one[s]['apart']:.0e}{'' if one[s]['draws'] else ' draw'}" if s in one else ""
        for s in list(SETTINGS)[1:]
    ]
    return f"{one['n']:>6} {one['rows']:<7} {one['kind']:<17}" + "".join(f"{c:>14}" for c in cells)


def text(result: dict[str, Any]) -> str:
    head = f"{'n':>6} {'rows':<7} {'kind':<17}" + "".join(f"{s:>14}" for s in list(SETTINGS)[1:])
    return "\n".join([head, *map(_line, result["fits"]), "", report.bars(result["bars"])])


if __name__ == "__main__":
    *which, path = sys.argv[1:]
    kind, form, n, setting = which
    np.savez(path, **outcome(kind, form, int(n), setting))
