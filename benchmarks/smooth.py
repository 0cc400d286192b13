"""Functions without noise, from few rows: ours beside a Gaussian process with lengths of columns.

Borehole (flow of water through a hole, 8 inputs), Friedman's first function (10 inputs, 5 of which
matter) and Piston (the time of a cycle, 7 inputs), of uniform inputs. The Gaussian process of
scikit-learn maximises its likelihood from several starting points. Errors are RMSE on new rows
beside the standard deviation of the function; everybody fits in turns, on the threads at hand.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import randspan as rs

from . import report

name = "smooth"
slow = True

ROWS, NEW, SEEDS = 400, 4000, 3
RESTARTS = 3


def borehole(U: np.ndarray) -> np.ndarray:
    """2πT_u(H_u - H_l)/(l·(1 + 2LT_u/(l·r_w²K_w) + T_u/T_l)), l = log(r/r_w)."""
    low = np.array([0.05, 100, 63070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50000, 115600, 1110, 116, 820, 1680, 12045])
    radius, far, upper, above, lower, below, length, flow = (low + (high - low) * U).T
    ratio = np.log(far / radius)
    slowed = 1 + 2 * length * upper / (ratio * radius**2 * flow) + upper / lower
    return 2 * np.pi * upper * (above - below) / (ratio * slowed)


def friedman(U: np.ndarray) -> np.ndarray:
    """10·sin(πu₁u₂) + 20(u₃ - ½)² + 10u₄ + 5u₅."""
    bent = 10 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20 * (U[:, 2] - 0.5) ** 2
    return bent + 10 * U[:, 3] + 5 * U[:, 4]


def piston(U: np.ndarray) -> np.ndarray:
    """2π√(M/(k + S²P₀V₀T_a/(T₀V²))), V = S/(2k)·(√(A² + 4kP₀V₀T_a/T₀) - A)."""
    low = np.array([30, 0.005, 0.002, 1000, 90000, 290, 340])
    high = np.array([60, 0.02, 0.01, 5000, 110000, 296, 360])
    mass, area, volume, spring, pressure, outside, inside = (low + (high - low) * U).T
    force = pressure * area + 19.62 * mass - spring * volume / area
    gas = pressure * volume * outside / inside
    filled = area / (2 * spring) * (np.sqrt(force**2 + 4 * spring * gas) - force)
    return 2 * np.pi * np.sqrt(mass / (spring + area**2 * gas / filled**2))


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "Borehole": (borehole, 8),
    "Friedman": (friedman, 10),
    "Piston": (piston, 7),
}
THEIRS = "Gaussian process"


def run(quick: bool) -> dict[str, Any]:
    rows, seeds, restarts = (120, 1, 0) if quick else (ROWS, SEEDS, RESTARTS)
    for function, d in FUNCTIONS.values():  # whatever is slow the first time only
        for model in _models(d, 0, 0).values():
            _fitted(model, *_table(function, d, 60, 0))
    sets = []
    for called, (function, d) in FUNCTIONS.items():
        runs = [_run(function, d, rows, seed, restarts) for seed in range(seeds)]
        sets.append({"function": called, "columns": d, "runs": runs})
    bars = []
    for one in sets:
        for ours in ("default", "auto"):
            for what, limit in (("error", 2.0), ("seconds", 0.1)):
                ratio = median(fit[ours][what] / fit[THEIRS][what] for fit in one["runs"])
                label = f"{one['function']}, {ours}: {what} beside the process"
                bars.append(report.bar(label, ratio, "<=", limit))
    return {"rows": rows, "restarts": restarts, "sets": sets, "bars": bars}


def text(result: dict[str, Any]) -> str:
    rows = []
    for one in result["sets"]:
        for who in one["runs"][0]:
            errors, seconds = (
                median(fit[who][what] for fit in one["runs"]) for what in ("error", "seconds")
            )
            rows.append((one["function"], who, f"{errors:.5f}", report.number(seconds)))
    head = f"{result['rows']} rows, {result['restarts']} restarts of the process; medians"
    table = report.table(("function", "who", "RMSE / deviation", "seconds"), rows)
    return "\n\n".join([head, table, report.bars(result["bars"])])


def _models(d: int, seed: int, restarts: int) -> dict[str, Any]:
    kernel = ConstantKernel() * RBF(np.ones(d)) + WhiteKernel(1e-3, (1e-10, 10.0))
    options = {"normalize_y": True, "n_restarts_optimizer": restarts, "random_state": seed}
    return {
        "default": rs.SpanRegressor(random_state=seed),
        "auto": rs.SpanRegressor("auto", random_state=seed),
        THEIRS: GaussianProcessRegressor(kernel, **options),
    }


def _table(function: Callable, d: int, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).uniform(size=(rows, d))
    return X, function(X)


def _run(function: Callable, d: int, rows: int, seed: int, restarts: int) -> dict[str, Any]:
    X, y = _table(function, d, rows, seed)
    new, truth = _table(function, d, NEW, 1000 + seed)
    found = {}
    for who, model in _models(d, seed, restarts).items():
        seconds = _fitted(model, X, y)
        error = np.sqrt(np.mean((model.predict(new) - truth) ** 2)) / truth.std()
        found[who] = {"error": float(error), "seconds": seconds}
    return found


def _fitted(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """The seconds of a fit."""
    with warnings.catch_warnings():  # lengths of columns without effect reach their bounds
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - start
