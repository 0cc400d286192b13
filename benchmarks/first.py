"""The one fit of a fresh process: what somebody sees who runs a script.

`speed` repeats fits in one process, and from the second one on a peer finds the gigabytes of
features it allocated before still mapped. The first time it has to ask the system for them page by
page; blocks of features that are used again and again never need that many. Here every fit has a
process of its own, and processes take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from typing import Any

from . import report
from .data import ROOT

name = "first"

CODE = """
import json, sys, time
import numpy as np
from benchmarks.data import smooth
who, dtype, rows, d, k = json.loads(sys.argv[1])
X, y = smooth(rows, d, seed=0)
X = X.astype(dtype)
gamma = 1 / (4 * d)
if who == "ours":
    import randspan as rs
    family = rs.Fourier(gamma=gamma)
    model = rs.SpanRegressor(family, k, alpha=1.0, standardize=False, random_state=0)
else:
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    model = make_pipeline(RBFSampler(gamma=gamma, n_components=k, random_state=0), Ridge(1.0))
start = time.perf_counter()
model.fit(X, y)
print(time.perf_counter() - start)
"""


def run(quick: bool) -> dict[str, Any]:
    rows, d, k = (3000, 10, 64) if quick else (200_000, 54, 1000)
    seconds: dict[str, list[float]] = {}
    for _ in range(1 if quick else 2):
        for dtype in ("float64", "float32"):
            for who in ("ours", "RBFSampler + Ridge"):
                found = _seconds(json.dumps([who, dtype, rows, d, k]))
                seconds.setdefault(f"{who}, X {dtype}", []).append(found)

    def ratio(dtype: str) -> float:
        peer, ours = seconds[f"RBFSampler + Ridge, X {dtype}"], seconds[f"ours, X {dtype}"]
        return min(peer) / min(ours)

    return {
        "shape": {"rows": rows, "columns": d, "functions": k},
        "seconds": seconds,
        "bars": [
            report.bar("float64 peer / ours, first fit", ratio("float64"), ">=", 6),
            report.bar("float32 peer / ours, first fit", ratio("float32"), ">=", 2),
        ],
    }


def text(result: dict[str, Any]) -> str:
    rows = [
        (who, str(len(all_)), *map(report.number, (min(all_), median(all_), max(all_))))
        for who, all_ in result["seconds"].items()
    ]
    header = ("", "runs", "best s", "median s", "worst s")
    return report.table(header, rows) + "\n\n" + report.bars(result["bars"])


def _seconds(what: str) -> float:
    command = [sys.executable, "-c", CODE, what]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)
