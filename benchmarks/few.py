"""Few rows: what the call without arguments and ``"auto"`` are worth, and whether they know it.

Thirty generated tables of 40 to 400 rows and 2 to 30 columns, targets linear, smooth, stepwise or
nothing but noise, ten draws of each. Ridge regression on standardised columns, its ridge by exact
leave-one-out from a fine lattice, is what nobody should be behind. Errors are roots of mean squared
errors on 2,000 test rows; ``validation_`` is compared with the mean squared error there, in
standard errors; intervals by the share of test rows that they cover.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import randspan as rs

from . import report

name = "few"
slow = True

SEEDS, TESTED, COVERAGE, FAR = 10, 2_000, 0.9, 2.0
CALLS: dict[str, tuple] = {"default": (), "auto": ("auto",)}
RIDGE = "ridge regression"
# Behind by so much is a tie.
TIE = 1.05


@dataclass(frozen=True)
class Law:
    """A distribution of tables: ``noise`` is the standard deviation beside that of the signal."""

    kind: str
    rows: int
    columns: int
    noise: float

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.rows} × {self.columns}, noise {self.noise:g}"

    def draw(self, seed: int, tested: int = TESTED) -> tuple[np.ndarray, ...]:
        """X, y, and rows to test on."""
        # The seed of a table depends on nothing but itself and its place among draws.
        known = [seed, self.rows, self.columns, KINDS.index(self.kind), round(100 * self.noise)]
        rng = np.random.default_rng(known)
        n, d = self.rows, self.columns
        X = rng.normal(size=(n + tested, d))
        signal = SIGNALS[self.kind](X, rng)
        spread = signal.std()
        y = signal / (spread or 1.0) + self.noise * rng.normal(size=len(X))
        X = X * np.exp(rng.normal(size=d))  # units of columns mean nothing
        return X[:n], y[:n], X[n:], y[n:]


def linear(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X @ (rng.normal(size=X.shape[1]) * (rng.random(X.shape[1]) < 0.7).clip(0.1))


def smooth(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Waves along a few directions, and a slope."""
    d = X.shape[1]
    directions = rng.normal(size=(d, 3)) * (rng.random((d, 1)) < max(0.3, 3 / d))
    directions /= np.maximum(np.linalg.norm(directions, axis=0), 1e-9)
    waves = np.sin(rng.uniform(0.7, 1.7, 3) * (X @ directions) + rng.uniform(-2, 2, 3))
    return waves @ rng.uniform(0.5, 1, 3) + 0.3 * X[:, 0]


def stepwise(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Steps in some columns, and of two at once."""
    d = X.shape[1]
    chosen = rng.permutation(d)[: max(2, d // 3)]
    steps = (X[:, chosen] > rng.normal(size=len(chosen)) * 0.5) * 1.0
    return steps @ rng.normal(size=len(chosen)) + 1.5 * steps[:, 0] * steps[:, 1]


def noise(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.zeros(len(X))


SIGNALS = {"linear": linear, "smooth": smooth, "stepwise": stepwise, "noise": noise}
KINDS = tuple(SIGNALS)
LAWS = (
    *(Law("linear", *of) for of in (
        (40, 5, 0.5), (40, 30, 0.5), (50, 15, 1.0), (80, 2, 0.1), (120, 20, 0.3), (200, 8, 1.0),
        (200, 30, 0.1), (400, 15, 0.5),
    )),
    *(Law("smooth", *of) for of in (
        (40, 2, 0.3), (60, 4, 0.1), (80, 10, 0.5), (120, 3, 0.1), (150, 25, 0.3), (200, 6, 1.0),
        (300, 12, 0.2), (400, 5, 0.3),
    )),
    *(Law("stepwise", *of) for of in (
        (40, 3, 0.3), (60, 8, 0.5), (100, 2, 0.2), (120, 15, 0.3), (200, 5, 0.5), (250, 30, 0.3),
        (300, 10, 1.0), (400, 4, 0.2),
    )),
    *(Law("noise", *of, 1.0) for of in (
        (40, 2), (40, 20), (80, 8), (150, 30), (250, 5), (400, 20),
    )),
)  # fmt: skip


def ridge() -> Any:
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 5, 65)))


def on_draw(law: Law, seed: int, tested: int = TESTED) -> dict[str, Any]:
    """One draw: errors of all, and what ours say of theirs."""
    X, y, X_test, y_test = law.draw(seed, tested)
    squares = (ridge().fit(X, y).predict(X_test) - y_test) ** 2
    found: dict[str, Any] = {RIDGE: {"error": float(np.sqrt(squares.mean()))}}
    for who, arguments in CALLS.items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = rs.SpanRegressor(*arguments, random_state=seed).fit(X, y)
            seconds = time.perf_counter() - start
            squares = (model.predict(X_test) - y_test) ** 2
            lower, upper = model.predict_interval(X_test, COVERAGE)
        told = model.validation_
        doubt = np.hypot(told.standard_error, squares.std() / np.sqrt(len(squares)))
        found[who] = {
            "error": float(np.sqrt(squares.mean())),
            "told": float(np.sqrt(told.error)),
            "apart": float((squares.mean() - told.error) / doubt),
            "covered": float(np.mean((lower <= y_test) & (y_test <= upper))),
            "seconds": seconds,
        }
    return found


def run(quick: bool, laws: tuple[Law, ...] = LAWS, seeds: int = SEEDS) -> dict[str, Any]:
    if quick:
        laws, seeds = LAWS[::10], 1
    tables = []
    for law in laws:
        draws = [on_draw(law, seed, 200 if quick else TESTED) for seed in range(seeds)]
        tables.append(summary(law, draws))
    return {"tables": tables, "bars": [] if quick else bars(tables)}


def summary(law: Law, draws: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over draws."""

    def mean(who: str, what: str) -> float:
        return float(np.mean([draw[who][what] for draw in draws]))

    error = {who: mean(who, "error") for who in (RIDGE, *CALLS)}
    ours = {
        who: {what: mean(who, what) for what in ("told", "covered", "seconds")}
        | {"apart": [draw[who]["apart"] for draw in draws]}
        | {"beside ridge": error[who] / error[RIDGE]}
        | {"beside the other": error[who] / min(error[one] for one in CALLS)}
        for who in CALLS
    }
    return {"table": law.name, "kind": law.kind, "error": error, "ours": ours}


def bars(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is promised."""
    promises = []
    for who in CALLS:
        ours = [one["ours"][who] for one in tables]
        for beside in ("beside ridge", "beside the other"):
            ratios = [one[beside] for one in ours]
            mean = float(np.exp(np.mean(np.log(ratios))))
            promises.append(report.bar(f"{who}: error {beside}, worst", max(ratios), "<=", TIE))
            promises.append(report.bar("the same, geometric mean", mean, "<=", TIE))
        apart = np.array([one["apart"] for one in ours])
        near = float((np.abs(apart) <= FAR).mean())
        promises.append(report.bar(f"{who}: validation_ within two errors", near, ">=", 0.9))
        for kind in ("all", *KINDS):
            some = [one["ours"][who]["covered"] for one in tables if kind in ("all", one["kind"])]
            if some:
                covered = 100 * float(np.mean(some))
                promises.append(report.bar(f"{who}, {kind}: % covered", covered, ">=", 86))
                promises.append(report.bar(f"{who}, {kind}: % covered", covered, "<=", 94))
    return promises


def text(result: dict[str, Any]) -> str:
    rows = []
    for one in result["tables"]:
        cells = [one["table"], f"{one['error'][RIDGE]:.3f}"]
        for ours in one["ours"].values():
            apart = np.array(ours["apart"])
            cells += [
                f"{ours['beside ridge']:.3f}", f"{ours['beside the other']:.3f}",
                f"{ours['told']:.3f}", f"{(np.abs(apart) <= FAR).mean():.1f}",
                f"{apart.mean():.1f}", f"{100 * ours['covered']:.0f}", f"{ours['seconds']:.2f}",
            ]  # fmt: skip
        rows.append(cells)
    head = ["table", "ridge"]
    for who in CALLS:
        head += [f"{who} / ridge", "/ other", "told", "near", "apart", "cover %", "s"]
    return "\n\n".join([report.table(head, rows), report.bars(result["bars"])])
