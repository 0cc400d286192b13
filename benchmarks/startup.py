"""What importing randspan costs, and how long the first small fit takes.

A session that uses scikit-learn has paid for numpy, scipy and scikit-learn already; what counts is
what randspan adds. Fresh processes with and without it take turns. Numba's cache on disk is warm,
as it is from the second session on: a run that is not counted fills it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from statistics import median
from typing import Any

from . import report
from .data import ROOT

name = "startup"

# Clocks start inside the process: starting the interpreter is nobody's doing.
WITHOUT = """
import json, time
start = time.perf_counter()
import sklearn.linear_model
print(json.dumps({"import": time.perf_counter() - start}))
"""
WITH = """
import json, time
start = time.perf_counter()
import sklearn.linear_model
import randspan
imported = time.perf_counter() - start
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 10))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=1000)
start = time.perf_counter()
randspan.SpanRegressor(randspan.Fourier(), n_components=200, random_state=0).fit(X, y)
print(json.dumps({"import": imported, "fit": time.perf_counter() - start}))
"""


def run(quick: bool) -> dict[str, Any]:
    if not quick:
        _seconds(WITH)  # files that are read for the first time
    without, with_ = [], []
    for _ in range(1 if quick else 9):
        without.append(_seconds(WITHOUT))
        with_.append(_seconds(WITH))
    measured = {
        "import sklearn.linear_model": [run["import"] for run in without],
        "import sklearn.linear_model, randspan": [run["import"] for run in with_],
        "first fit, 1,000 × 10, 200 functions": [run["fit"] for run in with_],
    }
    base, ours, fit = measured.values()
    return {
        "seconds": measured,
        "bars": [
            report.bar("randspan's import, median, s", median(ours) - median(base), "<=", 0.3),
            report.bar("randspan's import, best, s", min(ours) - min(base), "<=", 0.3),
            report.bar("first fit, median, s", median(fit), "<=", 0.5),
            report.bar("first fit, best, s", min(fit), "<=", 0.5),
        ],
    }


def text(result: dict[str, Any]) -> str:
    rows = [
        (what, str(len(all_)), *map(report.number, (min(all_), median(all_), max(all_))))
        for what, all_ in result["seconds"].items()
    ]
    header = ("", "runs", "best s", "median s", "worst s")
    return report.table(header, rows) + "\n\n" + report.bars(result["bars"])


def _seconds(code: str) -> dict[str, float]:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)
