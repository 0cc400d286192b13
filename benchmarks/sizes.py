"""Seconds of the call without arguments by the number of rows: more rows never take much less time.

Exact kernel machines end where functions begin, and functions are limited by a budget of work: the
seconds should rise with the rows all the same. Tables of 20 normal columns, with more noise and
less; every size has a process of its own, the largest of which take a minute. Others on the machine
make seconds longer and not shorter: sizes are run several times, in turns, and the least counts.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

import randspan as rs

from . import report
from .harness import apart

name = "sizes"
slow = True

COLUMNS = 20
SIZES = (1000, 2000, 4000, 6000, 7500, 8500, 12_000, 30_000, 100_000, 200_000, 500_000, 1_000_000)
QUICK_SIZES = (150, 300)
NOISE = {"noise": 0.3, "little noise": 0.01}
TURNS = 2
# The share of the seconds of fewer rows that more rows take at least.
LEAST = 0.8


def run(quick: bool) -> dict[str, Any]:
    rows, turns = (QUICK_SIZES, 1) if quick else (SIZES, TURNS)
    tables, bars = [], []
    for called, noise in NOISE.items():
        runs: list[list[dict[str, Any]]] = [[] for _ in rows]
        for _ in range(turns):
            for found, n in zip(runs, rows, strict=True):
                found.append(apart("benchmarks.sizes", n, noise, here=measure if quick else None))
        sizes = [min(found, key=lambda one: one["seconds"]) for found in runs]
        seconds = np.array([one["seconds"] for one in sizes])
        least = float((seconds / np.maximum.accumulate(seconds)).min())
        tables.append({"table": called, "sizes": sizes})
        label = f"{called}: least seconds beside those of fewer rows"
        bars.append(report.bar(label, least, ">=", LEAST))
    return {"columns": COLUMNS, "tables": tables, "bars": bars}


def text(result: dict[str, Any]) -> str:
    rows = [
        (
            table["table"],
            f"{one['rows']:,}",
            report.number(one["seconds"]),
            report.number(one["processor_seconds"]),
            f"{one['error']:.4f}",
            one["functions"],
        )
        for table in result["tables"]
        for one in table["sizes"]
    ]
    head = ("table", "rows", "seconds", "of the processors", "RMSE", "functions")
    return "\n\n".join([report.table(head, rows), report.bars(result["bars"])])


def table(n_rows: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Waves, a product, a square, and lines, of ten of the columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, COLUMNS))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] ** 2 / 2 + X[:, 4:10].sum(axis=1) / 3
    return X, y + noise * rng.standard_normal(n_rows)


def measure(n_rows: int, noise: float) -> dict[str, Any]:
    """One fit, after a small one."""
    rs.SpanRegressor(random_state=0).fit(*table(100, noise, 2))
    X, y = table(n_rows, noise, 0)
    begin, start = time.process_time(), time.perf_counter()
    model = rs.SpanRegressor(random_state=0).fit(X, y)
    seconds, taken = time.perf_counter() - start, time.process_time() - begin
    new, truth = table(2000, 0.0, 1)
    return {
        "rows": n_rows,
        "seconds": seconds,
        "processor_seconds": taken,
        "error": float(np.sqrt(np.mean((model.predict(new) - truth) ** 2))),
        "functions": str(model.n_components_),
        "reason": model.solution_.reason,
    }


if __name__ == "__main__":
    print(json.dumps(measure(*json.loads(sys.argv[1]))))
