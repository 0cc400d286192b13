"""More functions than moments can bear: 20,000 cosines, 100,000 rows, within 12 GB.

The sums of the exact solve cost nk² operations and the factor another k³/3, in matrices of k²
numbers; passes over the features cost 4nk each, and a sketch keeps them few. Two sets: a generated
regression, and as many rows of Forest Cover with scales learned for its columns. Each is
fitted twice: once to find alpha, with features kept if there is room, and once with that alpha and
2 GB, so that features are computed anew in every pass.

The exact solve beside them is an estimate: what SYRK and Cholesky of a smaller size take on this
machine, scaled by operations to full size. It leaves out features, sums over blocks, and
memory: the library's own exact solve holds several matrices of k² numbers in float64.

Every fit has a process of its own, so that its peak is its own: ``python -m benchmarks.many``
with the settings as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import randspan as rs

from . import report
from .data import ERRORS, Missing, Split, forest, smooth
from .forest import learned_scales
from .harness import apart, cholesky, measure, solved

name = "many"
slow = True

COLUMNS = 20
GENERATED, FOREST = "smooth (generated)", "forest"
KEPT, ANEW = "alpha auto, 11 GB granted", "that alpha, 2 GB granted"
BLOCK = 1024  # rows of one block of Z: what randspan itself takes for so many functions


def run(quick: bool) -> dict[str, Any]:
    rows, k = (200, 96) if quick else (100_000, 20_000)
    # Few functions are solved for by moments, unless somebody asks for this.
    common = {"n_components": k, "solver": "sketched" if quick else "auto"}
    sets = [_on_set(GENERATED, rows, {**common, "gamma": "median"}, quick)]
    try:
        learned = learned_scales(_forest(rows), 64 if quick else 1_000)
    except Missing as missing:
        sets.append({"name": FOREST, "skipped": str(missing)})
    else:
        own = {name: learned[name] for name in ("kernel", "gamma", "scales")}
        sets.append(_on_set(FOREST, rows, {**common, **own}, quick))
    return {
        "rows": rows,
        "functions": k,
        "sets": sets,
        "exact": _estimate(rows, k, size=256 if quick else 5_000),
        "bars": [
            report.bar(f"{one['name']}: process peak, MB, {fit['name']}", fit["whole_mb"], "<", mb)
            for one in sets
            if "fits" in one
            for fit, mb in zip(one["fits"], (12_000, 3_000), strict=True)
        ],
    }


def text(result: dict[str, Any]) -> str:
    parts = [f"{result['rows']:,} rows, {result['functions']:,} functions"]
    header = (
        *("", "fit s", "predict s", "error", "peak MB", "process MB", "alpha"),
        *("solver", "iterations", "residual"),
    )
    for one in result["sets"]:
        if "skipped" in one:
            parts.append(f"{one['name']}: SKIPPED, {one['skipped']}")
            continue
        rows = [
            (
                fit["name"],
                report.number(fit["fit_seconds"]),
                report.number(fit["predict_seconds"]),
                f"{fit['error']:.4g}",
                report.number(fit["peak_mb"]),
                report.number(fit["whole_mb"]),
                report.number(fit["alpha"]),
                fit["solver"],
                str(fit["iterations"]),
                f"{fit['residual']:.1e}",
            )
            for fit in one["fits"]
        ]
        reasons = "\n".join(f"{fit['name']}: {fit['reason']}" for fit in one["fits"])
        parts += [f"{one['name']}, error: {one['error']}", report.table(header, rows), reasons]
    exact = result["exact"]
    parts += [
        f"ESTIMATE of the exact solve by moments: {exact['seconds']:.0f} s "
        f"({exact['moments_seconds']:.0f} s for nk² at {exact['syrk_rate'] / 1e9:.0f}·10⁹ "
        f"operations a second in float32, {exact['factor_seconds']:.0f} s for k³/3 at "
        f"{exact['cholesky_rate'] / 1e9:.0f}·10⁹ in float64, both measured at "
        f"k = {exact['size']:,}), with {exact['matrix_mb']:,.0f} MB for every matrix of k² numbers",
        report.bars(result["bars"]),
    ]
    return "\n\n".join(parts)


def one_fit(what: str, rows: int, settings: dict[str, Any]) -> dict[str, Any]:
    """One fit and its test error, in this process."""
    split = _smooth(rows) if what == GENERATED else _forest(rows)
    model = rs.SpanRegressor if split.task == "regression" else rs.SpanClassifier

    def build() -> Any:
        options = dict(settings)
        family = rs.Fourier(options.pop("kernel", "gaussian"), gamma=options.pop("gamma"))
        return model(family, random_state=0, **options)

    few = split.head(1000)
    build().set_params(n_components=100).fit(few.X_train, few.y_train).predict(few.X_test)
    built = build()
    return {"task": split.task, **measure(built, split), **solved(built)}


def _on_set(title: str, rows: int, settings: dict[str, Any], quick: bool) -> dict[str, Any]:
    def fit(name: str, here: bool = quick, **more: Any) -> dict[str, Any]:
        run = one_fit if here else None
        return {"name": name, **apart(__name__, title, rows, {**settings, **more}, here=run)}

    kept = fit(KEPT, here=quick and title != GENERATED, alpha="auto", memory_limit="11GB")
    anew = fit(ANEW, alpha=kept["alpha"], memory_limit="2GB")
    return {"name": title, "error": ERRORS[kept["task"]], "fits": [kept, anew]}


def _smooth(rows: int) -> Split:
    X, y = smooth(rows, COLUMNS, seed=0)
    X_test, y_test = smooth(max(rows // 5, 100), COLUMNS, seed=1)
    return Split("regression", X, X_test, y, y_test)


def _forest(rows: int) -> Split:
    """The first training rows; a small file's worth for few of them."""
    return forest(4 * rows if rows < 10_000 else None).head(rows)


def _estimate(rows: int, k: int, size: int) -> dict[str, Any]:
    """Seconds of nk² and k³/3 operations, from the rates of ``size`` functions."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((BLOCK, size), dtype=np.float32)
    system = (Z.T @ Z).astype(np.float64) + size * np.eye(size)  # numpy calls SYRK
    syrk_rate = BLOCK * size**2 / _best(lambda: Z.T @ Z)
    cholesky_rate = size**3 / 3 / _best(lambda: cholesky(system))
    moments, factor = rows * k**2 / syrk_rate, k**3 / 3 / cholesky_rate
    return {
        "size": size,
        "syrk_rate": syrk_rate,
        "cholesky_rate": cholesky_rate,
        "moments_seconds": moments,
        "factor_seconds": factor,
        "seconds": moments + factor,
        "matrix_mb": 8 * k**2 / 1e6,
    }


def _best(work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


if __name__ == "__main__":
    print(json.dumps(one_fit(*json.loads(sys.argv[1]))))
