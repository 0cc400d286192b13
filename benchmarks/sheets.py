"""Brownian sheets and scrambled wavelets: cost, rates, and what else one would use.

Cost: the matrix of values for P = ⌈√N⌉ functions of N rows, one thread, default depth, and the
exponent of N in it. Beside it the bare arithmetic of the same number of products: one coefficient,
already known, times one value, P at a time.

Fits: N = 100,000 rows in the square, wavelets db4 with smoothness 1.25; and 20,000 rows in eight
columns, sparse grid; each in a process of its own.

Rate: excess risk of least squares on P = ⌈√N⌉ sheets against N, ten draws of data and functions
each, for |x - 1/3|^0.6 (one derivative in L2, barely) and its product in the square; with the bound
of Maillard and Munos' theorem 9 for a universal constant of 1.

Adaptivity: 100 points, nine of ten from a peak; least squares on 40 Brownian motions and on the
first 40 hats, 50 repetitions.

Others: kernel ridge regression with the same kernel, smoothing spline, Gaussian process and
LightGBM on the same data, in one to four columns.

``python -m benchmarks.sheets DIR/sheets.json`` draws the figures of a result, beside it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
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

UNIT = (0.0, 1.0)
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
# Where the target has its kink, and the power of the distance from it.
KINK, POWER = 1 / 3, 0.6
RATES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
NOISE, DRAWS = 0.3, 10
# Points, functions, repetitions; centre and width of the peak, its share.
PEAK = {"points": 100, "functions": 40, "repetitions": 50}
CENTRE, WIDTH, SHARE = 0.37, 0.01, 0.9
OTHERS = {"rows": 1_500, "seeds": 3, "columns": (1, 2, 3, 4)}


def run(quick: bool) -> dict[str, Any]:
    parts = {
        "cost": _cost,
        "fits": _fits,
        "rate": _rate,
        "adaptivity": _adaptivity,
        "others": _others,
    }
    return report.in_parts(parts, quick)


def text(result: dict[str, Any]) -> str:
    texts = {
        "cost": _cost_text,
        "fits": _fits_text,
        "rate": _rate_text,
        "adaptivity": _adaptivity_text,
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
    model = rs.SpanRegressor(family, random_state=0, clip="auto")
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


# -- rates ---------------------------------------------------------------------------------------


def target(X: np.ndarray) -> np.ndarray:
    """3·Π |x_m - 1/3|^0.6."""
    return 3 * (np.abs(X - KINK) ** POWER).prod(axis=1)


def squared_norm(d: int) -> float:
    """‖f‖² in the space of the sheets: 9·(f(0)² + ∫ f'²)^d."""
    edge = 2 * POWER - 1
    slope = POWER**2 / edge * (KINK**edge + (1 - KINK) ** edge)
    return 9 * (KINK ** (2 * POWER) + slope) ** d


def bound(n: int, d: int, constant: float = 1.0) -> float:
    """Theorem 9 of Maillard and Munos for P = ⌈√N⌉ sheets with constants, sup‖φ‖² = 2^d."""
    P = _root(n)
    largest = 9 * (1 - KINK) ** (2 * POWER * d)  # the square of sup |f|
    estimation = constant * max(NOISE**2, largest) * (np.log(n) + 1) * P / n
    norm = 8 * (1 + np.sqrt(2)) * squared_norm(d) * 2**d
    return float(estimation + 8 * np.log(P) / P * (norm + largest))


def _data(n: int, d: int, seed: int, noise: float) -> Split:
    rng = np.random.default_rng(seed)
    X, X_test = rng.uniform(size=(n, d)), rng.uniform(size=(10_000, d))
    y = target(X) + noise * rng.normal(size=n)
    return Split("regression", X, X_test, y, target(X_test))


def _rate(quick: bool) -> dict[str, Any]:
    sizes, draws = ((500, 1_000), 2) if quick else (RATES, DRAWS)
    found, bars = [], []
    for d in (1, 2):
        risks = []
        for n in sizes:
            runs = []
            for seed in range(draws):
                data = _data(n, d, seed, NOISE)
                model = rs.SpanRegressor(
                    rs.BrownianSheets(interval=UNIT),
                    standardize=False,
                    clip="auto",
                    random_state=seed,
                )
                model.fit(data.X_train, data.y_train)
                runs.append(float(((model.predict(data.X_test) - data.y_test) ** 2).mean()))
            risks.append(runs)
        slope = _slope(sizes, [mean(runs) for runs in risks])
        # The theorem asks for P ≥ 62.
        bounds = [bound(n, d) if _root(n) >= 62 else None for n in sizes]
        found.append({"columns": d, "risks": risks, "slope": slope, "bounds": bounds})
        space = "H¹" if d == 1 else "the Cameron–Martin space of the square"
        bars.append(report.bar(f"{space}: slope of the excess risk", slope, "<=", -0.45))
    return {"rows": list(sizes), "noise": NOISE, "columns": found, "bars": bars}


def _rate_text(found: dict[str, Any]) -> str:
    rows = []
    for one in found["columns"]:
        for n, risks, limit in zip(found["rows"], one["risks"], one["bounds"], strict=True):
            last = n == found["rows"][-1]
            numbers = (mean(risks), np.std(risks), found["noise"] ** 2 * _root(n) / n, limit)
            slope = report.number(one["slope"]) if last else ""
            rows.append((str(one["columns"]), f"{n:,}", *map(report.number, numbers), slope))
    header = ("columns", "rows N", "excess risk", "deviation", "σ²P/N", "theorem 9, c = 1", "slope")
    return f"Excess risk of ⌈√N⌉ sheets:\n\n{report.table(header, rows)}"


# -- adaptivity ----------------------------------------------------------------------------------


def peaked(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points, and which of them are from the peak."""
    peak = rng.uniform(size=n) < SHARE
    x = np.where(peak, rng.normal(CENTRE, WIDTH, size=n), rng.uniform(size=n))
    return np.clip(x, 0, 1), peak


def wave(x: np.ndarray) -> np.ndarray:
    return np.sin(40 * np.pi * x) * x


def hats(x: np.ndarray, count: int) -> np.ndarray:
    """x and the first hats, coarse ones first."""
    columns, j = [x], 0
    while len(columns) < count:
        for place in range(2**j):
            y = 2.0**j * x - place
            columns.append(np.where((y >= 0) & (y <= 1), 2 ** (-j / 2) * np.minimum(y, 1 - y), 0))
        j += 1
    return np.column_stack(columns[:count])


class Hats(rs.SpanRegressor):
    """Least squares on the first hats, with an intercept: the same fit without randomness."""

    def fit(self, X, y):
        Z = np.column_stack([np.ones(len(X)), hats(X[:, 0], self.n_components)])
        self.weights = np.linalg.lstsq(Z, y, rcond=None)[0]
        self.limit = np.abs(y).max()
        return self

    def predict(self, X):
        Z = np.column_stack([np.ones(len(X)), hats(X[:, 0], self.n_components)])
        found = Z @ self.weights
        return found if self.clip is None else np.clip(found, -self.limit, self.limit)


def _adaptive_models(seed: int, count: int) -> dict[str, Any]:
    sheets = rs.BrownianSheets(interval=UNIT)
    options = {"alpha": 0, "standardize": False, "random_state": seed}
    return {
        "motions": rs.SpanRegressor(sheets, count, **options),
        "hats": Hats(n_components=count),
        "motions, clipped": rs.SpanRegressor(sheets, count, clip="auto", **options),
        "hats, clipped": Hats(n_components=count, clip="auto"),
    }


def _adaptivity(quick: bool) -> dict[str, Any]:
    repetitions = 3 if quick else PEAK["repetitions"]
    X_test, peak = peaked(np.random.default_rng(10_000), 20_000)
    risks: dict[str, dict[str, list[float]]] = {}
    example: dict[str, Any] = {}
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        x, _ = peaked(rng, PEAK["points"])
        y = wave(x) + 0.05 * rng.normal(size=len(x))
        grid = np.sort(np.concatenate([np.linspace(0, 1, 500), np.linspace(0.33, 0.41, 400)]))
        if seed == 0:
            example = {"x": x.tolist(), "y": y.tolist(), "grid": grid.tolist()}
        for who, model in _adaptive_models(seed, PEAK["functions"]).items():
            model.fit(x[:, None], y)
            errors = (model.predict(X_test[:, None]) - wave(X_test)) ** 2
            one = risks.setdefault(who, {"all": [], "peak": []})
            one["all"].append(float(errors.mean()))
            one["peak"].append(float(errors[peak].mean()))
            if seed == 0:
                example[who] = model.predict(grid[:, None]).tolist()
    ratio = mean(risks["hats"]["all"]) / mean(risks["motions"]["all"])
    bar = report.bar("risk of hats in multiples of that of motions", ratio, ">=", 2)
    return {"risks": risks, "example": example, "bars": [bar]}


def _adaptivity_text(found: dict[str, Any]) -> str:
    rows = [
        (
            who,
            *map(report.number, (mean(one["all"]), median(one["all"]))),
            *map(report.number, (mean(one["peak"]), median(one["peak"]))),
        )
        for who, one in found["risks"].items()
    ]
    header = ("", "risk, mean", "median", "at the peak, mean", "median")
    title = f"{PEAK['points']} points, {PEAK['functions']} functions, least squares:"
    return f"{title}\n\n{report.table(header, rows)}"


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
    ours = partial(rs.SpanRegressor, random_state=seed, clip="auto")
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


# -- figures -------------------------------------------------------------------------------------


def figures(result: dict[str, Any], folder: Path) -> list[Path]:
    """Rates with their bounds, and fits to peaked data; the files that were written."""
    return [_rate_figure(result["rate"], folder), _peak_figure(result["adaptivity"], folder)]


def _rate_figure(found: dict[str, Any], folder: Path) -> Path:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    n = np.array(found["rows"])
    for axes, one in zip(figure.subplots(1, 2, sharey=True), found["columns"], strict=True):
        risks = np.array(one["risks"])
        centre = risks.mean(axis=1)
        axes.plot(n, centre, "o-", ms=4, label=f"measured, slope {one['slope']:.2f}")
        axes.fill_between(n, risks.min(axis=1), risks.max(axis=1), alpha=0.2, lw=0)
        axes.plot(n, found["noise"] ** 2 / np.sqrt(n), ":", color="black", label="σ²P/N")
        known = np.array([limit is not None for limit in one["bounds"]])
        limits = np.array([limit or np.nan for limit in one["bounds"]])
        axes.plot(n[known], limits[known], "--", color="tab:red", label="theorem 9, c = 1")
        axes.set(xscale="log", yscale="log", xlabel="rows N")
        columns = "[0, 1]" if one["columns"] == 1 else "[0, 1]²"
        axes.set_title(f"⌈√N⌉ Brownian sheets on {columns}", fontsize=10)
        axes.legend(frameon=False, fontsize=8)
    figure.axes[0].set_ylabel("excess risk")
    path = folder / "sheets_rate.png"
    figure.savefig(path, dpi=150)
    return path


def _peak_figure(found: dict[str, Any], folder: Path) -> Path:
    from matplotlib.figure import Figure

    example = found["example"]
    grid = np.array(example["grid"])
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    for axes, (low, high) in ((left, (0, 1)), (right, (0.33, 0.41))):
        axes.plot(grid, wave(grid), color="black", lw=0.8, label="target")
        axes.plot(grid, example["hats, clipped"], color="tab:orange", lw=1, label="first 40 hats")
        axes.plot(grid, example["motions, clipped"], color="tab:blue", lw=1.2, label="40 motions")
        axes.plot(example["x"], example["y"], ".", color="tab:red", ms=4, label="data")
        axes.set(xlim=(low, high), ylim=(-1.1, 1.1), xlabel="x")
    left.set_title("100 points, 90 of them in a peak at 0.37", fontsize=10)
    right.set_title("the peak", fontsize=10)
    left.legend(frameon=False, fontsize=8, loc="upper left")
    path = folder / "sheets_peak.png"
    figure.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    if sys.argv[1].endswith(".json"):
        path = Path(sys.argv[1])
        print(*figures(json.loads(path.read_text())["result"], path.parent), sep="\n")
    else:
        _, settings = json.loads(sys.argv[1])
        print(json.dumps(fit(**settings)))
