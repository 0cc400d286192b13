"""Time and memory of a fit as rows are added: one pass, so time ∝ n and memory the same for all n.

Every size has a process of its own: memory that an earlier fit returned to the allocator would
hide what the next one takes. ``python -m benchmarks.growth`` is that process: it warms up, makes X
in place, and prints what it measured.

The peak depends on whether two threads happen to be at their largest at the same moment. Fewer
rows give that fewer chances, so small sizes are fitted more often, until all have had about as
many blocks; otherwise chance would look like growth.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import numpy as np

import randspan as rs

from . import report
from .data import ROOT, smooth
from .resident import peak_beyond_resident

name = "growth"

COLUMNS = 54
SIZES = (50_000, 100_000, 200_000, 400_000, 800_000)
QUICK_SIZES = (2_000, 4_000, 8_000)


def run(quick: bool) -> dict[str, Any]:
    k, rows = (64, QUICK_SIZES) if quick else (1000, SIZES)
    # A quick run starts one process to see that it works.
    runs = [_in_a_process, *[measure if quick else _in_a_process] * (len(rows) - 1)]
    sizes = [run(n, k, max(3, rows[-1] // n)) for run, n in zip(runs, rows, strict=True)]
    n = np.array([s["rows"] for s in sizes], dtype=float)
    seconds = np.array([s["fit_seconds"] for s in sizes])
    peaks = np.array([s["peak_mb"] for s in sizes])
    exponent = np.polyfit(np.log(n), np.log(seconds), 1)[0]
    share = 100 * np.polyfit([s["X_mb"] for s in sizes], peaks, 1)[0]
    return {
        "columns": COLUMNS,
        "functions": k,
        "sizes": sizes,
        "bars": [
            report.bar("exponent of time in n", exponent, "<=", 1.05),
            report.bar("growth of peak, % of growth of X", share, "<", 5),
            report.bar("largest peak beyond X, MB", peaks.max(), "<=", 300),
        ],
    }


def text(result: dict[str, Any]) -> str:
    rows = [
        (
            f"{s['rows']:,}",
            report.number(s["fit_seconds"]),
            report.number(1e6 * s["fit_seconds"] / s["rows"]),
            report.number(s["X_mb"]),
            report.number(s["peak_mb"]),
            s["reason"],
        )
        for s in result["sizes"]
    ]
    return "\n\n".join(
        [
            f"{result['columns']} columns in float32, {result['functions']:,} functions",
            report.table(("rows", "fit s", "µs a row", "X MB", "peak MB", "solved how"), rows),
            report.bars(result["bars"]),
        ]
    )


def measure(n_rows: int, n_components: int, repetitions: int) -> dict[str, Any]:
    """Fits of one size, in this process."""

    def model() -> rs.SpanRegressor:
        family = rs.Fourier(gamma=1 / (4 * COLUMNS))
        return rs.SpanRegressor(family, n_components, alpha=1.0, standardize=False, random_state=0)

    model().fit(*smooth(5000, COLUMNS, seed=1))
    X, y = smooth(n_rows, COLUMNS, seed=0)
    seconds, peaks = [], []
    for _ in range(repetitions):
        fitted = model()
        with peak_beyond_resident() as extra:
            start = time.perf_counter()
            fitted.fit(X, y)
            seconds.append(time.perf_counter() - start)
        peaks.append(extra.megabytes)
    return {
        "rows": n_rows,
        "fit_seconds": min(seconds),
        "fit_seconds_all": seconds,
        "peak_mb": max(peaks),
        "peak_mb_all": peaks,
        "X_mb": X.nbytes / 1e6,
        "reason": fitted.solution_.reason,
    }


def _in_a_process(*numbers: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.growth", *map(str, numbers)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    print(json.dumps(measure(*map(int, sys.argv[1:]))))
