"""Intervals near the data and far from it, and what a prediction of one row costs after the first.

Rows are standard normal, new ones the same or stretched. Coverage is that of 90 % intervals, and of
1.645 standard deviations where a model has them, the mean of several data sets and functions. Times
are medians of calls with one row; the first call, which factorises what later ones use, is told
apart.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import randspan as rs

from . import report

name = "intervals"

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "waves": lambda X: np.sin(2 * X[:, 0]) + 0.5 * np.cos(X[:, 1]),
    "linear": lambda X: X[:, 0] - 0.5 * X[:, 1],
    "mixed": lambda X: np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.25 * X[:, 2] ** 2,
    "steps": lambda X: (X[:, 0] > 0) + 1.0 * (X[:, 1] > 0.5),
}
MODELS: dict[str, dict[str, Any]] = {
    "default": {},
    "auto": {"family": "auto"},
    "k = 300": {"n_components": 300},
}
STRETCHES = (1.0, 2.0, 4.0)
NOISE, COLUMNS, NORMAL = 0.2, 5, 1.645
CALLS: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "predict": lambda model, x: model.predict(x),
    "return_std": lambda model, x: model.predict(x, return_std=True),
    "predict_interval": lambda model, x: model.predict_interval(x),
    "validation_": lambda model, x: model.validation_,
}
# The bar: milliseconds of one row, after the first call.
LIMIT = 20.0


def run(quick: bool) -> dict[str, Any]:
    n, seeds, timed, turns = (60, 1, 80, 2) if quick else (500, 5, 5000, 21)
    models = {"k = 300": {"n_components": 30}} if quick else MODELS
    covered = [{"model": label} | _coverage(made, n, seeds) for label, made in models.items()]
    times = [_times(label, made, timed, turns) for label, made in models.items()]
    return {"rows": n, "seeds": seeds, "coverage": covered, "timed_rows": timed, "times": times}


def text(result: dict[str, Any]) -> str:
    rows = [
        (one["model"], f"{stretch:g}", *(f"{value:.0%}" for value in values), f"{width:.2f}")
        for one in result["coverage"]
        for stretch, values, width in zip(
            STRETCHES, zip(one["interval"], one["deviation"], strict=True), one["width"],
            strict=True,
        )
    ]  # fmt: skip
    times = [
        (one["model"], call, report.number(one["first"][call]), report.number(one["later"][call]))
        for one in result["times"]
        for call in CALLS
    ]
    head = ("model", "new rows ×", "90 % interval", "1.645 std", "width")
    return "\n\n".join(
        [
            f"{result['rows']:,} rows, {COLUMNS} columns, {len(FUNCTIONS)} functions, "
            f"{result['seeds']} seeds",
            report.table(head, rows),
            f"one row of {result['timed_rows']:,}, in milliseconds (bar: {LIMIT:g})",
            report.table(("model", "call", "first", "later"), times),
        ]
    )


def _target(function: Callable[[np.ndarray], np.ndarray], X: np.ndarray, rng: Any) -> np.ndarray:
    return function(X) + NOISE * rng.normal(size=len(X))


def _coverage(made: dict[str, Any], n: int, seeds: int) -> dict[str, Any]:
    found: dict[str, list[list[float]]] = {"interval": [], "deviation": [], "width": []}
    for seed in range(seeds):
        for function in FUNCTIONS.values():
            rng = np.random.default_rng(seed)
            X, new = rng.normal(size=(n, COLUMNS)), rng.normal(size=(500, COLUMNS))
            fitted = rs.SpanRegressor(random_state=seed, **made)
            fitted.fit(X, _target(function, X, rng))
            each: dict[str, list[float]] = {what: [] for what in found}
            for stretch in STRETCHES:
                truth = _target(function, stretch * new, rng)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # far outside they are
                    lower, upper = fitted.predict_interval(stretch * new)
                    mean, std = fitted.predict(stretch * new, return_std=True)
                each["interval"].append(float(np.mean((lower <= truth) & (truth <= upper))))
                inside = np.abs(truth - mean) <= NORMAL * std.reshape(mean.shape)
                each["deviation"].append(float(np.mean(inside)))
                each["width"].append(float(np.mean(upper - lower)))
            for what, values in each.items():
                found[what].append(values)
    return {what: np.mean(values, axis=0).tolist() for what, values in found.items()}


def _times(label: str, made: dict[str, Any], n: int, turns: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, COLUMNS))
    fitted = rs.SpanRegressor(random_state=0, **made).fit(X, _target(FUNCTIONS["mixed"], X, rng))
    first, later = {}, {}
    for call, ask in CALLS.items():
        seconds = []
        for turn in range(turns):
            start = time.perf_counter()
            ask(fitted, X[turn : turn + 1])
            seconds.append(1e3 * (time.perf_counter() - start))
        first[call], later[call] = seconds[0], median(seconds[1:])
    return {"model": label, "first": first, "later": later}
