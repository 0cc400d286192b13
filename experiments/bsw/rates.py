"""BSW has no table: its rate, its cost, and its adaptivity, measured.

Rate: excess risk of least squares on P = ⌈√N⌉ sheets against N, ten draws of data and functions
each, for |x - 1/3|^0.6 (one derivative in L2, barely) and its product in the square; with the bound
of Theorem 9 for a universal constant of 1. Cost: seconds of the values of ⌈√N⌉ functions of N rows,
one thread. Adaptivity: 100 points, nine of ten from a peak; least squares on 40 Brownian motions
and on the first 40 hats, 50 repetitions.
"""

from __future__ import annotations

import time
from functools import partial
from statistics import mean, median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import randspan as rs
from experiments import claims
from experiments.running import Item

NAME = "bsw-rates"
TITLE = "BSW: rate, cost and adaptivity"
DOCUMENT = "bsw"

UNIT = (0.0, 1.0)
# Where the target has its kink, and the power of the distance from it.
KINK, POWER = 1 / 3, 0.6
RATES = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000)
NOISE, DRAWS = 0.3, 10
COSTS = (2_000, 6_300, 20_000, 63_000, 200_000)
# Points, functions, repetitions; centre and width of the peak, its share.
POINTS, FUNCTIONS, REPETITIONS = 100, 40, 50
CENTRE, WIDTH, SHARE = 0.37, 0.01, 0.9
SPACES = {1: "[0, 1]", 2: "[0, 1]²"}


def items(quick: bool) -> list[Item]:
    sizes, costs = ((500, 1_000), (500, 1_000)) if quick else (RATES, COSTS)
    found = [Item(f"rate {d} {n}", partial(risks, n, d, quick)) for d in SPACES for n in sizes]
    found += [Item(f"cost {d} {n}", partial(seconds, n, d)) for d in SPACES for n in costs]
    return [*found, Item("adaptivity", partial(adaptivity, quick))]


# -- rate ------------------------------------------------------------------------------------------


def target(X: np.ndarray) -> np.ndarray:
    """3·Π |x_m - 1/3|^0.6."""
    return 3 * (np.abs(X - KINK) ** POWER).prod(axis=1)


def squared_norm(d: int) -> float:
    """‖f‖² in the space of the sheets: 9·(f(0)² + ∫ f'²)^d."""
    edge = 2 * POWER - 1
    slope = POWER**2 / edge * (KINK**edge + (1 - KINK) ** edge)
    return 9 * (KINK ** (2 * POWER) + slope) ** d


def bound(n: int, d: int, constant: float = 1.0) -> float | None:
    """Theorem 9 for P = ⌈√N⌉ sheets with constants, sup‖φ‖² = 2^d; None where P < 62."""
    if root(n) < 62:
        return None
    known = {"noise": NOISE, "bound": 3 * (1 - KINK) ** (POWER * d)}
    known |= {"norm": np.sqrt(squared_norm(d)), "sup_square": 2.0**d}
    return rs.theory.bsw.theorem_9(n, root(n), c=constant, **known)


def drawn(n: int, d: int, seed: int, noise: float) -> tuple[np.ndarray, ...]:
    """Rows and noisy targets to learn from, rows and true values to test."""
    rng = np.random.default_rng(seed)
    X, X_test = rng.uniform(size=(n, d)), rng.uniform(size=(10_000, d))
    return X, target(X) + noise * rng.normal(size=n), X_test, target(X_test)


def risks(n: int, d: int, quick: bool) -> dict[str, Any]:
    """Excess risks of some draws."""
    found = []
    for seed in range(2 if quick else DRAWS):
        X, y, X_test, truth = drawn(n, d, seed, NOISE)
        sheets = rs.BrownianSheets(interval=UNIT)
        model = rs.SpanRegressor(sheets, standardize=False, clip="auto", random_state=seed)
        found.append(float(((model.fit(X, y).predict(X_test) - truth) ** 2).mean()))
    return {"rows": n, "columns": d, "risks": found, "bound": bound(n, d)}


# -- cost ------------------------------------------------------------------------------------------


def seconds(n: int, d: int) -> dict[str, Any]:
    """Of the values of ⌈√N⌉ functions, one thread, the best of three."""
    X = np.random.default_rng(n).uniform(size=(n, d))
    functions = rs.BrownianSheets().draw(X, root(n), 0)
    functions(X[:10])
    runs = []
    with threadpool_limits(1):
        for _ in range(3):
            start = time.perf_counter()
            functions(X)
            runs.append(time.perf_counter() - start)
    return {"rows": n, "columns": d, "best": min(runs)}


# -- adaptivity ------------------------------------------------------------------------------------


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


class Hats:
    """Least squares on the first hats, with an intercept: the same fit without randomness."""

    def fit(self, X, y):
        Z = np.column_stack([np.ones(len(X)), hats(X[:, 0], FUNCTIONS)])
        self.weights = np.linalg.lstsq(Z, y, rcond=None)[0]
        return self

    def predict(self, X):
        return np.column_stack([np.ones(len(X)), hats(X[:, 0], FUNCTIONS)]) @ self.weights


def adaptivity(quick: bool) -> dict[str, Any]:
    """Risks of motions and hats, as they are and clipped to ±max|y|; the first fit to look at."""
    X_test, peak = peaked(np.random.default_rng(10_000), 20_000)
    found: dict[str, dict[str, list[float]]] = {}
    example: dict[str, Any] = {}
    for seed in range(3 if quick else REPETITIONS):
        rng = np.random.default_rng(seed)
        x, _ = peaked(rng, POINTS)
        y = wave(x) + 0.05 * rng.normal(size=len(x))
        limit = np.abs(y).max()
        grid = np.sort(np.concatenate([np.linspace(0, 1, 500), np.linspace(0.33, 0.41, 400)]))
        if seed == 0:
            example = {"x": x.tolist(), "y": y.tolist(), "grid": grid.tolist()}
        sheets = rs.BrownianSheets(interval=UNIT)
        known = {"alpha": 0, "standardize": False, "clip": None, "random_state": seed}
        models = {"motions": rs.SpanRegressor(sheets, FUNCTIONS, **known), "hats": Hats()}
        for who, model in models.items():
            model.fit(x[:, None], y)
            free = model.predict(X_test[:, None])
            for name, values in ((who, free), (f"{who}, clipped", np.clip(free, -limit, limit))):
                errors = (values - wave(X_test)) ** 2
                one = found.setdefault(name, {"all": [], "peak": []})
                one["all"].append(float(errors.mean()))
                one["peak"].append(float(errors[peak].mean()))
            if seed == 0:
                example[who] = np.clip(model.predict(grid[:, None]), -limit, limit).tolist()
    return {"risks": found, "example": example}


# -- what was found --------------------------------------------------------------------------------


def summary(results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    rates, costs = [], []
    for d in SPACES:
        runs = _of(results, f"rate {d} ")
        sizes = [run["rows"] for run in runs]
        if len(runs) > 1:
            slope = _slope(sizes, [mean(run["risks"]) for run in runs])
            curve = {what: [run[what] for run in runs] for what in ("rows", "risks", "bound")}
            rates.append({"columns": d, "slope": slope, **curve})
        timed = _of(results, f"cost {d} ")
        if len(timed) > 1:
            power = _slope([run["rows"] for run in timed], [run["best"] for run in timed])
            curve = {what: [run[what] for run in timed] for what in ("rows", "best")}
            costs.append({"columns": d, "power": power, **curve})
    return {"rates": rates, "costs": costs, "adaptivity": results.get("adaptivity")}


def _of(results: dict[str, dict[str, Any]], begin: str) -> list[dict[str, Any]]:
    return [run for key, run in results.items() if key.startswith(begin) and "failed" not in run]


def tables(found: dict[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    known = claims.of(DOCUMENT)
    rows = []
    for one in found["rates"]:
        claim = known[f"rate {one['columns']}"]
        verdict = claims.verdict_of_slope(claim, one["slope"])
        rows.append([claim.claim, f"{claim.published:g}", f"{one['slope']:.2f}", verdict])
    for one in found["costs"]:
        claim = known[f"cost {one['columns']}"]
        verdict = claims.verdict_of_slope(claim, one["power"])
        rows.append([claim.claim, f"{claim.published:g}", f"{one['power']:.2f}", verdict])
    head = ["claim", "published exponent", "ours", "verdict"]
    shown = [("Exponents of N", head, rows)]
    if found["adaptivity"]:
        risk = found["adaptivity"]["risks"]
        lines = [
            [who, *(f"{f(one[part]):.3g}" for part in ("all", "peak") for f in (mean, median)), ""]
            for who, one in risk.items()
        ]
        times = mean(risk["hats"]["all"]) / mean(risk["motions"]["all"])
        verdict = claims.REPRODUCED if times >= 2 else claims.FAILED
        lines.append(["hats beside motions", f"{times:.3g} times", "", "", "", verdict])
        head = ["", "risk, mean", "median", "at the peak, mean", "median", "verdict"]
        shown.append((known["adaptivity"].claim, head, lines))
    return shown


def figure(found: dict[str, Any]) -> Any:
    """Rates with their bounds, and a fit to peaked data."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(10, 6.4), layout="constrained")
    above, below = made.subfigures(2, 1)
    axes = above.subplots(1, 2, sharey=True)
    for axis, one in zip(axes, found["rates"], strict=False):
        n, risk = np.array(one["rows"]), np.array(one["risks"])
        axis.plot(n, risk.mean(axis=1), "o-", ms=4, label=f"measured, slope {one['slope']:.2f}")
        axis.fill_between(n, risk.min(axis=1), risk.max(axis=1), alpha=0.2, lw=0)
        axis.plot(n, NOISE**2 / np.sqrt(n), ":", color="black", label="σ²P/N")
        limits = [(rows, limit) for rows, limit in zip(n, one["bound"], strict=True) if limit]
        if limits:
            axis.plot(*zip(*limits, strict=True), "--", color="tab:red", label="Theorem 9, c = 1")
        axis.set(xscale="log", yscale="log", xlabel="rows N")
        axis.set_title(f"⌈√N⌉ Brownian sheets on {SPACES[one['columns']]}", fontsize=10)
        axis.legend(frameon=False, fontsize=8)
    axes[0].set_ylabel("excess risk")
    example = found["adaptivity"]["example"]
    grid = np.array(example["grid"])
    left, right = below.subplots(1, 2, width_ratios=(1.2, 1))
    for axis, (low, high) in ((left, (0, 1)), (right, (0.33, 0.41))):
        axis.plot(grid, wave(grid), color="black", lw=0.8, label="target")
        axis.plot(grid, example["hats"], color="tab:orange", lw=1, label="first 40 hats")
        axis.plot(grid, example["motions"], color="tab:blue", lw=1.2, label="40 motions")
        axis.plot(example["x"], example["y"], ".", color="tab:red", ms=4, label="data")
        axis.set(xlim=(low, high), ylim=(-1.1, 1.1), xlabel="x")
    left.set_title("100 points, 90 of them in a peak at 0.37", fontsize=10)
    right.set_title("the peak", fontsize=10)
    left.legend(framealpha=0.9, fontsize=8, loc="upper left")
    return made


def root(n: int) -> int:
    return int(np.ceil(np.sqrt(n)))


def _slope(sizes: Any, values: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
