"""One large regression: ours, scikit-learn's random features with ridge, and the bare arithmetic.

200,000 rows, 54 columns, 1,000 cosines. Both penalise alike: ours alpha·k·‖w‖² for √2 cos, Ridge
alpha·‖w‖² for √(2/k) cos. γ = 1/(4d) is the median rule for normal rows, so that our defaults,
which choose γ and alpha themselves, stand beside the others.

Errors are compared where everything but the seed is the same: two draws of the functions differ,
and the promise is that they differ by less than one per cent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import randspan as rs

from . import report
from .data import Split, smooth
from .harness import Contestant, Entry, Floor, cholesky, eigenvectors, race

name = "speed"

ALPHA = 1.0
OURS_64, OURS_32, OURS_AUTO = "ours, X float64", "ours, X float32", "ours, defaults, X float64"
PEER_64, PEER_32 = "RBFSampler + Ridge, float64", "RBFSampler + Ridge, float32"
FLOOR, FLOOR_AUTO = "floor with Cholesky", "floor with eigenvectors"


def run(quick: bool) -> dict[str, Any]:
    n_train, n_test, d, k = (3000, 500, 10, 64) if quick else (200_000, 20_000, 54, 1000)
    runs, slow_runs = (2, 1) if quick else (5, 3)
    gamma = 1 / (4 * d)
    single = Split("regression", *_rows(n_train, n_test, d, np.float32))
    double = Split("regression", *_rows(n_train, n_test, d, np.float64))

    def plain() -> rs.SpanRegressor:
        family = rs.Fourier(gamma=gamma)
        return rs.SpanRegressor(family, k, alpha=ALPHA, standardize=False, random_state=0)

    def defaults() -> rs.SpanRegressor:
        return rs.SpanRegressor(rs.Fourier(), k, scales=None, random_state=0)

    def peer() -> Any:
        return make_pipeline(RBFSampler(gamma=gamma, n_components=k, random_state=0), Ridge(ALPHA))

    def entry(name, build, split, times, describe, rival=None) -> Contestant:
        return Contestant(
            name=name,
            build=build,
            split=split,
            repetitions=times,
            describe=describe,
            rival=rival,
        )

    def floor(name, factorise, rival) -> Floor:
        X = single.X_train
        return Floor.of(X, k, factorise, name=name, rival=rival, repetitions=runs)

    entries: list[Entry] = [
        entry(OURS_64, plain, double, runs, _our_remark),
        entry(PEER_64, peer, double, slow_runs, _peer_remark, OURS_64),
        floor(FLOOR, cholesky, OURS_64),
        entry(OURS_32, plain, single, runs, _our_remark),
        entry(PEER_32, peer, single, runs, _peer_remark, OURS_32),
        entry(OURS_AUTO, defaults, double, runs, _our_remark),
        floor(FLOOR_AUTO, eigenvectors, OURS_AUTO),
    ]
    results = race(entries)
    found = {r["name"]: r for r in results}
    return {
        "shape": {"rows": n_train, "test_rows": n_test, "columns": d, "functions": k},
        "error_of_the_mean": single.error(single.y_train.mean()),
        "contestants": results,
        "floor": {
            mine: found[mine]["fit_seconds"] / found[bare]["fit_seconds"]
            for mine, bare in ((OURS_64, FLOOR), (OURS_32, FLOOR), (OURS_AUTO, FLOOR_AUTO))
        },
        "bars": _bars(found),
    }


def text(result: dict[str, Any]) -> str:
    shape = result["shape"]
    return "\n\n".join(
        [
            f"{shape['rows']:,} rows × {shape['columns']} columns, {shape['functions']:,} "
            f"functions, {shape['test_rows']:,} test rows; predicting the mean has an RMSE of "
            f"{result['error_of_the_mean']:.3g}",
            report.contestants(result["contestants"], "RMSE"),
            report.bars(result["bars"]),
        ]
    )


def _rows(n_train: int, n_test: int, d: int, dtype: Any) -> tuple[np.ndarray, ...]:
    X_train, y_train = smooth(n_train, d, seed=0)
    X_test, y_test = smooth(n_test, d, seed=1)
    return X_train.astype(dtype), X_test.astype(dtype), y_train, y_test


def _bars(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    def fit(name: str) -> float:
        return found[name]["fit_seconds"]

    def apart(ours: str, peer: str) -> float:
        return 100 * abs(found[ours]["error"] / found[peer]["error"] - 1)

    return [
        report.bar("float64 peer / ours", fit(PEER_64) / fit(OURS_64), ">=", 6),
        report.bar("float32 peer / ours", fit(PEER_32) / fit(OURS_32), ">=", 2),
        report.bar("ours (X float64) / floor", fit(OURS_64) / fit(FLOOR), "<=", 1.5),
        report.bar("ours (X float32) / floor", fit(OURS_32) / fit(FLOOR), "<=", 1.5),
        report.bar("ours (defaults) / floor", fit(OURS_AUTO) / fit(FLOOR_AUTO), "<=", 1.5),
        report.bar("errors apart, float64, %", apart(OURS_64, PEER_64), "<=", 1),
        report.bar("errors apart, float32, %", apart(OURS_32, PEER_32), "<=", 1),
    ]


def _our_remark(model: rs.SpanRegressor) -> str:
    return f"{model.solution_.solver}, alpha {model.alpha_:.3g}"


def _peer_remark(model: Any) -> str:
    # Shown so that a peer that slipped back to float64 would be seen.
    return f"weights {model[-1].coef_.dtype}, frequencies {model[0].random_weights_.dtype}"
