"""A race: the same data, the same process, in turns, the best of several runs.

An `Entry` knows how to do one run and how often it wants to. `race` lets all entries run once, then
all again, and so on: a contestant is never measured in a quiet minute that its rival did not have.
`Contestant` is an estimator on a split; `Floor` is the bare arithmetic of the same shapes.

What is too large for a race runs once, in a process of its own (`apart`), so that its peak is its
own; `measure` and `solved` put what there is to know about one fit into plain numbers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy import linalg

from . import resident
from .data import ROOT, Split

# Who needs longer than this for one fit is not asked again.
SLOW = 20.0
# Enough rows to load compiled code and start the threads of every library.
WARM_ROWS = 1000
# Rows of one block of Z: what randspan itself takes for a thousand functions.
BLOCK = 4096


@dataclass(frozen=True)
class Trial:
    """One run; None where there is nothing to measure."""

    fit_seconds: float
    predict_seconds: float | None
    error: float | None
    peak_mb: float
    remark: str


@dataclass(frozen=True, kw_only=True)
class Entry(ABC):
    """A participant; ``rival`` names the entry of ours whose time it is divided by."""

    name: str
    rival: str | None = None
    repetitions: int = 3

    @abstractmethod
    def warm_up(self) -> None:
        """Whatever is slow the first time only."""

    @abstractmethod
    def trial(self) -> Trial:
        """One measured run."""


@dataclass(frozen=True, kw_only=True)
class Contestant(Entry):
    """An estimator, built anew for each run, on one split."""

    build: Callable[[], Any]
    split: Split
    describe: Callable[[Any], str] = lambda model: ""

    def warm_up(self) -> None:
        few = self.split.head(WARM_ROWS)
        self.build().fit(few.X_train, few.y_train).predict(few.X_test)

    def trial(self) -> Trial:
        model = self.build()
        found = measure(model, self.split)
        numbers = (found[name] for name in ("fit_seconds", "predict_seconds", "error", "peak_mb"))
        return Trial(*numbers, self.describe(model))


@dataclass(frozen=True, kw_only=True)
class Floor(Entry):
    """X·W' and Z'Z in float32 over blocks of rows, then one k × k factorisation in float64.

    By numpy's own BLAS on all its threads. Sums over blocks are left out, as everything else is.
    Without the cosines Z'Z has the rank of X, which would make its eigenvectors cheaper than those
    of real features; so ``system`` is a matrix of full rank made beforehand.
    """

    X: np.ndarray
    directions: np.ndarray
    system: np.ndarray
    factorise: Callable[[np.ndarray], Any]

    @classmethod
    def of(
        cls, X: np.ndarray, n_components: int, factorise: Callable[[np.ndarray], Any], **facts: Any
    ) -> Floor:
        """The floor of a fit of ``n_components`` functions of the rows X."""
        rng = np.random.default_rng(0)
        directions = rng.standard_normal((X.shape[1], n_components), dtype=np.float32)
        root = rng.standard_normal((2 * n_components, n_components))
        X = X.astype(np.float32, copy=False)
        return cls(X=X, directions=directions, system=root.T @ root, factorise=factorise, **facts)

    def warm_up(self) -> None:
        self._run(self.X[:WARM_ROWS])

    def trial(self) -> Trial:
        with resident.peak_beyond_resident() as extra:
            start = time.perf_counter()
            self._run(self.X)
            seconds = time.perf_counter() - start
        return Trial(seconds, None, None, extra.megabytes, "no cosines, no sums")

    def _run(self, X: np.ndarray) -> None:
        k = self.directions.shape[1]
        Z = np.empty((BLOCK, k), dtype=np.float32)
        scatter = np.empty((k, k), dtype=np.float32)
        for start in range(0, len(X), BLOCK):
            block = X[start : start + BLOCK]
            values = np.matmul(block, self.directions, out=Z[: len(block)])
            np.matmul(values.T, values, out=scatter)  # numpy sees the symmetry and calls SYRK
        self.factorise(self.system)


def cholesky(system: np.ndarray) -> Any:
    """What one alpha costs."""
    return linalg.cholesky(system, lower=True, check_finite=False)


def eigenvectors(system: np.ndarray) -> Any:
    """What a path of alphas costs."""
    return linalg.eigh(system, driver="evd", check_finite=False)


def measure(model: Any, split: Split) -> dict[str, Any]:
    """Fit and predict once: seconds, error, and memory, of the fit alone and of the process."""
    with resident.peak_beyond_resident() as extra:
        start = time.perf_counter()
        model.fit(split.X_train, split.y_train)
        fitted = time.perf_counter()
    whole = resident.peak()
    begin = time.perf_counter()
    predicted = model.predict(split.X_test)
    end = time.perf_counter()
    return {
        "fit_seconds": fitted - start,
        "predict_seconds": end - begin,
        "error": split.error(predicted),
        "peak_mb": extra.megabytes,
        "whole_mb": whole / 1e6,
    }


def solved(model: Any) -> dict[str, Any]:
    """What the solver of a model of ours says it did."""
    solution = model.solution_
    return {
        "alpha": float(solution.alpha),
        "solver": solution.solver,
        "iterations": int(solution.iterations),
        "residual": float(solution.residual),
        "objective": float(solution.objective),
        "converged": bool(solution.converged),
        "reason": solution.reason,
    }


def apart(
    module: str, *arguments: Any, here: Callable[..., dict[str, Any]] | None = None
) -> dict[str, Any]:
    """What ``python -m module`` prints as JSON, given its arguments as JSON: a fresh process.

    ``here`` is called in this process instead: a quick run starts one process of every kind, to see
    that it works, and no others, since starting takes longer than the fits.
    """
    if here is not None:
        return here(*arguments)
    command = [sys.executable, "-m", module, json.dumps(arguments)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def race(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Every entry's runs, in turns; one dictionary of plain numbers for each."""
    for entry in entries:
        entry.warm_up()
    trials: dict[str, list[Trial]] = {entry.name: [] for entry in entries}
    for turn in range(max(entry.repetitions for entry in entries)):
        for entry in entries:
            runs = trials[entry.name]
            slow = bool(runs) and runs[0].fit_seconds > SLOW
            if turn < entry.repetitions and not slow:
                runs.append(entry.trial())
    best = {name: min(t.fit_seconds for t in runs) for name, runs in trials.items()}
    return [_summary(entry, trials[entry.name], best) for entry in entries]


def _summary(entry: Entry, trials: list[Trial], best: dict[str, float]) -> dict[str, Any]:
    predicting = [t.predict_seconds for t in trials if t.predict_seconds is not None]
    return {
        "name": entry.name,
        "fit_seconds": best[entry.name],
        "fit_seconds_median": median(t.fit_seconds for t in trials),
        "fit_seconds_all": [t.fit_seconds for t in trials],
        "predict_seconds": min(predicting, default=None),
        "error": trials[0].error,
        "peak_mb": max(t.peak_mb for t in trials),
        "rival": entry.rival,
        "ratio": None if entry.rival is None else best[entry.name] / best[entry.rival],
        "remark": trials[0].remark,
    }
