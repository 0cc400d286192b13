"""What the steps of solvers take, and whether the faster solver is chosen by it.

The constants of ``randspan.solvers.rates`` anew: processor seconds of one thread for 10⁹
multiplications. Then fits of n rows by k > n functions, by rows themselves (``dual``) and by
moments (``cholesky``), in turns, on one thread: processor seconds know nothing of others on the
machine. What they come to beside each other is held against what the constants say of two threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import threadpool_limits

import randspan as rs
from randspan.solvers import rates, tiles

from . import report

name = "rates"

SIZES = (500, 1000, 2000)
GRID = ((400, 500), (400, 1000), (1000, 1200), (1000, 2500), (2000, 2500), (2000, 4500))
QUICK_GRID = ((60, 80),)
SOLVERS = ("dual", "cholesky")
NUMBER = 0.1
# The choice may take so many times the seconds of the other.
TIE = 1.2


def run(quick: bool) -> dict[str, Any]:
    grid, sizes, turns = (QUICK_GRID, (60,), 1) if quick else (GRID, SIZES, 2)
    with threadpool_limits(1):
        steps = [{"size": n} | _steps(n, turns) for n in sizes]
        fits = [_fits(n, k, alpha, turns) for n, k in grid for alpha in ("auto", NUMBER)]
    worst = max(one["seconds"][one["chosen"]] / min(one["seconds"].values()) for one in fits)
    bars = [report.bar("the chosen solver's seconds beside the faster one's", worst, "<=", TIE)]
    return {"steps": steps, "fits": fits, "bars": [] if quick else bars}


def text(result: dict[str, Any]) -> str:
    head = ("n", *(what for what in result["steps"][0] if what != "size"))
    steps = [(str(one["size"]), *map(_three, list(one.values())[1:])) for one in result["steps"]]
    used = [rates.PRODUCTS_32, rates.PRODUCTS_64, rates.EIGENVECTORS, rates.FACTOR, rates.INVERSE]
    steps.append(("used", *map(_three, used)))
    fits = [
        (
            f"{one['rows']:,} × {one['functions']:,}",
            str(one["alpha"]),
            *(report.number(one["seconds"][who]) for who in SOLVERS),
            report.number(one["seconds"]["dual"] / one["seconds"]["cholesky"]),
            report.number(one["expected"]),
            one["chosen"],
        )
        for one in result["fits"]
    ]
    return "\n\n".join(
        [
            "processor seconds of n³ = 10⁹",
            report.table(head, steps),
            report.table(
                ("rows × functions", "alpha", *SOLVERS, "ratio", "expected", "chosen"), fits
            ),
            report.bars(result["bars"]),
        ]
    )


def _three(seconds: float) -> str:
    return f"{seconds:.3f}"


def _steps(n: int, turns: int) -> dict[str, float]:
    A = np.random.default_rng(0).normal(size=(n, n))
    positive, single = A @ A.T + n * np.eye(n), A.astype(np.float32)
    lower = np.asfortranarray(np.linalg.cholesky(positive))
    tasks: dict[str, Callable[[], Any]] = {
        "products float32": lambda: single @ single,
        "products float64": lambda: A @ A,
        "eigenvectors": lambda: linalg.eigh(positive, driver="evd", check_finite=False),
        "factor": lambda: tiles.factor(positive.copy(order="F")),
        "inverse": lambda: tiles.inverse(lower),
    }
    return {what: _least(task, turns) / (1e-9 * n**3) for what, task in tasks.items()}


def _least(task: Callable[[], Any], turns: int) -> float:
    """The least processor seconds of several turns."""
    seconds = []
    for _ in range(turns):
        start = time.process_time()
        task()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _fits(n: int, k: int, alpha: float | str, turns: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
    given = {"alpha": alpha, "scales": None, "random_state": 0, "n_jobs": 1}
    models = {who: rs.SpanRegressor(rs.Fourier(), k, solver=who, **given) for who in SOLVERS}
    seconds: dict[str, float] = {}
    for _ in range(turns):
        for who, model in models.items():
            taken = _least(lambda model=model: model.fit(X, y), 1)
            seconds[who] = min(taken, seconds.get(who, np.inf))
    searches = isinstance(alpha, str)
    expected = rates.dual_seconds(n, k, searches) / rates.cholesky_seconds(n, k, searches)
    chosen = rs.SpanRegressor(rs.Fourier(), k, **given).plan_for(n, 10).method
    sizes = {"rows": n, "functions": k, "alpha": alpha}
    return sizes | {"seconds": seconds, "expected": expected, "chosen": chosen}
