"""Brownian sheets and scrambled wavelets: cost, whole fits, and what else one would use.

Cost: the matrix of values for P = ⌈√N⌉ functions of N rows, one thread, default depth, and the
exponent of N in it. Beside it the bare arithmetic of the same number of products: one coefficient,
already known, times one value, P at a time.

Fits: N = 100,000 rows in the square, wavelets db4 with smoothness 1.25; and 20,000 rows in eight
columns, sparse grid; each in a process of its own.

Others: kernel ridge regression with the same kernel, smoothing spline, Gaussian process and
LightGBM on the same data, in one to four columns.

Rates and adaptivity are experiments of the document: ``randspan reproduce bsw-rates``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from statistics import mean
from typing import Any

import numpy as np
from experiments.bsw.rates import NOISE, drawn, target
from numba import njit
from scipy.interpolate import make_smoothing_spline
from scipy.special import ndtri
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

import randspan as rs

from . import report
from .data import Split
from .harness import apart, measure

name = "sheets"
slow = True

ROWS = (2_000, 6_300, 20_000, 63_000, 200_000)
LAWS: dict[str, tuple[int, Callable[[], Any]]] = {
    "sheets, 1 column": (1, rs.BrownianSheets),
    "sheets, 2 columns": (2, rs.BrownianSheets),
    "wavelets db3, 1 column": (1, partial(rs.ScrambledWavelets, "db3")),
    "wavelets db4, 2 columns": (2, partial(rs.ScrambledWavelets, "db4", 1.25)),
}
FITS = {
    "wavelets": {"rows": 100_000, "columns": 2},
    "sparse": {"rows": 20_000, "columns": 8},
}
OTHERS = {"rows": 1_500, "seeds": 3, "columns": (1, 2, 3, 4)}


def run(quick: bool) -> dict[str, Any]:
    parts = {
        "cost": _cost,
        "fits": _fits,
        "others": _others,
    }
    return report.in_parts(parts, quick)


def text(result: dict[str, Any]) -> str:
    texts = {
        "cost": _cost_text,
        "fits": _fits_text,
        "others": _others_text,
    }
    return "\n\n".join([*report.of_parts(result, texts), report.bars(result["bars"])])


# -- cost ----------------------------------------------------------------------------------------


def _cost(quick: bool) -> dict[str, Any]:
    found, bars = [], []
    for which, (d, build) in LAWS.items():
        runs = []
        for n in (500, 1_000) if quick else ROWS:
            X = np.random.default_rng(n).uniform(size=(n, d))
            functions = build().draw(X, _root(n), 0)
            functions(X[:10])
            products = functions.family.law.products(d, functions.family.law.depth)
            floor = _floor(n, products, _root(n))
            ours = partial(functions, X)
            turns = [(_seconds(ours), floor()) for _ in range(3 if n < 5e4 else 1)]
            seconds, bare = map(min, zip(*turns, strict=True))
            runs.append({"rows": n, "products": products, "seconds": seconds, "floor": bare})
        slope = _slope([run["rows"] for run in runs], [run["seconds"] for run in runs])
        found.append({"law": which, "runs": runs, "slope": slope})
        bars.append(report.bar(f"{which}: exponent of N in the time", slope, "<=", 1.65))
    return {"laws": found, "coefficients": _coefficients(), "bars": bars}


def _coefficients() -> dict[str, float]:
    """Nanoseconds of one coefficient, and of one normal by inversion from a known uniform."""
    nodes, k = np.arange(2_000)[:, None], 320
    functions = rs.BrownianSheets(depth=20).draw(np.zeros((1, 1)), k, 0)
    uniforms = np.random.default_rng(0).uniform(size=(len(nodes), k))
    ours = partial(functions.coefficients, [13], nodes)
    turns = [(_seconds(ours), _seconds(partial(ndtri, uniforms))) for _ in range(5)]
    best = (min(times) / uniforms.size * 1e9 for times in zip(*turns, strict=True))
    return dict(zip(("ours", "inversion"), best, strict=True))


def _floor(n: int, products: int, k: int) -> Callable[[], float]:
    """Seconds of as many multiplications and additions, on numbers that are in the cache."""
    rows = min(n, 2_000)
    table = np.random.default_rng(0).normal(size=(64, k))
    total = np.zeros(k)
    _multiply(table, total, 100)

    def run() -> float:
        count = rows * products
        return _seconds(lambda: _multiply(table, total, count)) * n / rows

    return run


@njit(nogil=True, cache=True)
def _multiply(table, total, count):
    for i in range(count // 4):
        a, b = table[(4 * i) % 64], table[(4 * i + 1) % 64]
        c, d = table[(4 * i + 2) % 64], table[(4 * i + 3) % 64]
        for p in range(len(total)):
            total[p] += (0.5 * a[p] + 0.25 * b[p]) + (0.125 * c[p] - 0.5 * d[p])


def _cost_text(found: dict[str, Any]) -> str:
    rows = [
        (
            law["law"],
            f"{run['rows']:,}",
            f"{run['products']:,}",
            report.number(run["seconds"]),
            report.number(run["seconds"] / run["floor"]),
            report.number(law["slope"]) if run is law["runs"][-1] else "",
        )
        for law in found["laws"]
        for run in law["runs"]
    ]
    header = ("", "rows N", "products a row", "seconds", "× floor", "exponent of N")
    title = "Values of ⌈√N⌉ functions, one thread:"
    each = found["coefficients"]
    foot = (
        f"One coefficient: {each['ours']:.1f} ns; a normal by inversion: {each['inversion']:.1f} ns"
    )
    return f"{title}\n\n{report.table(header, rows)}\n\n{foot}"


# -- fits ----------------------------------------------------------------------------------------


def _fits(quick: bool) -> dict[str, Any]:
    found, bars = {}, []
    for which, size in FITS.items():
        size = {**size, "rows": 1_000} if quick else size
        here = _one if quick and found else None
        one = apart("benchmarks.sheets", "fit", {"which": which, **size}, here=here)
        found[which] = {**size, **one}
    bars = [
        report.bar("wavelets, 100,000 rows: seconds", found["wavelets"]["fit_seconds"], "<", 60),
        report.bar("wavelets, 100,000 rows: MB in all", found["wavelets"]["whole_mb"], "<", 1000),
        report.bar("sparse grid, 8 columns: seconds", found["sparse"]["fit_seconds"], "<", 120),
    ]
    return {"fits": found, "bars": bars}


def fit(which: str, rows: int, columns: int) -> dict[str, Any]:
    """One fit with default depth and ⌈√N⌉ functions, and its error on new rows."""
    family = {
        "wavelets": rs.ScrambledWavelets("db4", 1.25),
        "sparse": rs.BrownianSheets(grid="sparse"),
    }[which]
    data = _data(rows, columns, 0, NOISE)
    few = data.head(300)
    rs.SpanRegressor(family, random_state=0).fit(few.X_train, few.y_train).predict(few.X_test)
    model = rs.SpanRegressor(family, random_state=0)
    found = measure(model, data)
    law = model.frame_.family.law
    return {
        **found,
        "functions": model.n_components_,
        "depth": law.depth,
        "products": law.products(columns, law.depth),
        "solver": model.solution_.solver,
    }


def _one(what: str, settings: dict[str, Any]) -> dict[str, Any]:
    return fit(**settings)


def _fits_text(found: dict[str, Any]) -> str:
    rows = [
        (
            which,
            f"{one['rows']:,} × {one['columns']}",
            *(str(one[fact]) for fact in ("functions", "depth", "products")),
            *(report.number(one[fact]) for fact in ("fit_seconds", "predict_seconds")),
            *(report.number(one[fact]) for fact in ("peak_mb", "whole_mb", "error")),
        )
        for which, one in found["fits"].items()
    ]
    header = ("", "rows", "functions", "depth", "products", "fit s", "predict s")
    header = (*header, "MB beyond X", "MB in all", "RMSE, no noise")
    return f"Whole fits, two threads:\n\n{report.table(header, rows)}"


def _data(n: int, d: int, seed: int, noise: float) -> Split:
    X, y, X_test, truth = drawn(n, d, seed, noise)
    return Split("regression", X, X_test, y, truth)


# -- others --------------------------------------------------------------------------------------


def smooth(X: np.ndarray) -> np.ndarray:
    """A sum of waves, and a product of them."""
    waves = np.sin(2 * np.pi * X + np.arange(X.shape[1]))
    return waves.sum(axis=1) / X.shape[1] + waves.prod(axis=1)


class Spline:
    """scipy's smoothing spline, with its own choice of the penalty.

    On means over 500 cells: closer points make its system ill-posed.
    """

    def fit(self, X, y):
        cells = (X[:, 0] * 500).astype(int)
        count = np.bincount(cells)
        known = np.flatnonzero(count)
        means = (np.bincount(cells, values)[known] / count[known] for values in (X[:, 0], y))
        self.spline = make_smoothing_spline(*means, w=count[known].astype(float))
        return self

    def predict(self, X):
        return self.spline(X[:, 0])


def _contestants(d: int, seed: int) -> dict[str, Callable[[], Any]]:
    ours = partial(rs.SpanRegressor, random_state=seed)
    sheets, smoother = rs.BrownianSheets(), rs.BrownianSheets(1)
    wavelets = rs.ScrambledWavelets()
    found: dict[str, Callable[[], Any]] = {
        "sheets, √N": partial(ours, sheets),
        "sheets, 500, gcv": partial(ours, sheets, 500, alpha="gcv"),
        "smooth sheets, √N": partial(ours, smoother),
        "smooth sheets, 500, gcv": partial(ours, smoother, 500, alpha="gcv"),
        "wavelets, √N": partial(ours, wavelets),
        "wavelets, 500, gcv": partial(ours, wavelets, 500, alpha="gcv"),
        "kernel ridge, sheets": partial(ours, rs.BrownianSheets(depth=np.inf), np.inf),
        "kernel ridge, smooth sheets": partial(ours, rs.BrownianSheets(1, depth=np.inf), np.inf),
        "kernel ridge, wavelets": partial(ours, wavelets, np.inf),
        "Gaussian process": partial(
            GaussianProcessRegressor,
            ConstantKernel() * Matern(np.ones(d), nu=2.5) + WhiteKernel(),
            normalize_y=True,
        ),
    }
    if d == 1:
        found["smoothing spline"] = Spline
    if find_spec("lightgbm"):
        from lightgbm import LGBMRegressor

        found["LightGBM"] = partial(LGBMRegressor, n_estimators=200, verbose=-1)
    return found


def _others(quick: bool) -> dict[str, Any]:
    rows, seeds, columns = (200, 1, (1, 2)) if quick else OTHERS.values()
    test_rows = 500 if quick else 5_000
    found = []
    for d in columns:
        for what, function in (("kinks", target), ("waves", smooth)):
            runs: dict[str, list[dict[str, float]]] = {}
            for seed in range(seeds):
                rng = np.random.default_rng(seed)
                X, X_test = rng.uniform(size=(rows, d)), rng.uniform(size=(test_rows, d))
                scale = function(X_test).std()
                y = function(X) + 0.3 * scale * rng.normal(size=rows)
                data = Split("regression", X, X_test, y, function(X_test))
                for who, build in _contestants(d, seed).items():
                    one = measure(build(), data)
                    kept = {"error": one["error"] / scale, "seconds": one["fit_seconds"]}
                    runs.setdefault(who, []).append(kept)
            found.append({"columns": d, "target": what, "rows": rows, "runs": runs})
            print(f"{d} columns, {what}", file=sys.stderr, flush=True)
    return {"tables": found, "bars": []}


def _others_text(found: dict[str, Any]) -> str:
    tables = found["tables"]
    names = list(tables[0]["runs"])
    header = ["", *(f"{one['target']}, d = {one['columns']}" for one in tables)]
    parts = []
    for fact, title in (
        ("error", "RMSE against the truth, in deviations of the target (noise 0.3):"),
        ("seconds", "Seconds of a fit:"),
    ):
        rows = [
            (
                who,
                *(
                    report.number(mean(run[fact] for run in one["runs"][who]))
                    if who in one["runs"]
                    else "-"
                    for one in tables
                ),
            )
            for who in names
        ]
        parts.append(f"{title}\n\n{report.table(header, rows)}")
    return "\n\n".join(parts)


# -- shared --------------------------------------------------------------------------------------


def _root(n: int) -> int:
    return int(np.ceil(np.sqrt(n)))


def _slope(sizes: Any, values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    _, settings = json.loads(sys.argv[1])
    print(json.dumps(fit(**settings)))
