"""Exported models: onnxruntime's time for one row and for 1,000 beside ours, and what differs.

One thread each, in turns, the best of several runs. Differences are between the graph and the
library on the same rows, beside the largest prediction; the library sees them in blocks of fewer
than 256 rows, of which it computes all functions in float64.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import randspan as rs

from . import report
from .data import smooth

name = "onnx"

DTYPES = ("float64", "float32")
FAMILIES: dict[str, tuple[Any, float]] = {
    "Fourier()": (rs.Fourier(), 500),
    "Fourier('laplacian')": (rs.Fourier("laplacian"), 500),
    "Fourier(sampling='structured')": (rs.Fourier(sampling="structured"), 500),
    "Stumps()": (rs.Stumps(), 500),
    "Units()": (rs.Units(), 500),
    "Bumps()": (rs.Bumps(), 500),
    "Projections()": (rs.Projections(), 50),
    "Networks()": (rs.Networks(), 50),
    "KernelExpansions(anchors=200)": (rs.KernelExpansions(anchors=200), 100),
    "KernelExpansions(coefficients='nystrom')": (
        rs.KernelExpansions(gamma="median", coefficients="nystrom"),
        200,
    ),
    "Trees()": (rs.Trees(max_features=4), 100),
    "Bins()": (rs.Bins(), 50),
    "Fourier() + Bins()": (rs.Fourier() + rs.Bins(), 100),
    "exact kernel machine": (rs.Fourier(), np.inf),
    "exact machine, laplacian": (rs.Fourier("laplacian"), np.inf),
    "'auto'": ("auto", 0),
}
QUICK = ("Fourier()", "Trees()", "Bins()")


def run(quick: bool) -> dict[str, Any]:
    if find_spec("onnxruntime") is None:
        return {"skipped": "onnxruntime is not installed: pip install 'randspan[onnx]'"}
    n, many, seconds = (150, 50, 0.0) if quick else (2000, 1000, 1.5)
    X, y = smooth(n + many, 10, 0)
    with threadpool_limits(1):
        found = [
            _measure(what, X[:n], y[:n], X[n:], seconds) for what in (QUICK if quick else FAMILIES)
        ]
    worst = max(one["difference"]["float64"] for one in found)
    return {
        "rows": n,
        "columns": 10,
        "many": many,
        "models": found,
        "bars": [report.bar("largest difference in float64", worst, "<=", 1e-5)],
    }


def text(result: dict[str, Any]) -> str:
    if "skipped" in result:
        return f"SKIPPED, {result['skipped']}"
    header = ("", "ours, 1 row", "float64", "float32", f"ours, {result['many']:,}", "float64",
              "float32", "difference 64", "32", "file KB 64", "32")  # fmt: skip
    rows = [
        (
            one["name"],
            *(report.number(one["ms"][size][who]) for size in ("one", "many")
              for who in ("ours", *DTYPES)),
            *(f"{one['difference'][dtype]:.0e}" for dtype in DTYPES),
            *(report.number(one["kilobytes"][dtype]) for dtype in DTYPES),
        )
        for one in result["models"]
    ]  # fmt: skip
    told = (
        f"Fitted to {result['rows']:,} rows of {result['columns']} columns; milliseconds of "
        "predict and of onnxruntime, one thread each"
    )
    return "\n\n".join([told, report.table(header, rows), report.bars(result["bars"])])


def _measure(what: str, X: np.ndarray, y: np.ndarray, new: np.ndarray, seconds: float) -> dict:
    import onnxruntime

    family, count = FAMILIES[what]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    more = {} if family == "auto" else {"n_components": count}
    model = rs.SpanRegressor(family, random_state=0, n_jobs=1, **more)
    if count == np.inf or family == "auto":
        X, y = X[:1000], y[:1000]
    model.fit(X, y)
    sessions, kilobytes, difference = {}, {}, {}
    for dtype in DTYPES:
        graph = rs.to_onnx(model, dtype=dtype)
        kilobytes[dtype] = graph.ByteSize() / 1000
        sessions[dtype] = onnxruntime.InferenceSession(graph.SerializeToString(), options)
        rows = new.astype(dtype)
        wanted = np.concatenate(
            [model.predict(rows[s : s + 200]) for s in range(0, len(rows), 200)]
        )
        found = sessions[dtype].run(None, {"X": rows})[0]
        difference[dtype] = float(np.abs(found - wanted).max() / np.abs(wanted).max())
    times = {}
    for size, rows in (("one", new[:1]), ("many", new)):
        runners: dict[str, Callable] = {"ours": lambda rows=rows: model.predict(rows)}
        for dtype, session in sessions.items():
            given = {"X": rows.astype(dtype)}
            runners[dtype] = lambda session=session, given=given: session.run(None, given)
        times[size] = _best(runners, seconds)
    return {"name": what, "ms": times, "difference": difference, "kilobytes": kilobytes}


def _best(runners: dict[str, Callable], seconds: float) -> dict[str, float]:
    """Milliseconds of the fastest run of each, in turns for so long, five turns at least."""
    best = dict.fromkeys(runners, np.inf)
    end, turns = time.perf_counter() + seconds, 0
    while turns < 5 or time.perf_counter() < end:
        for who, run_once in runners.items():
            run_once()  # the one before has left its own things in the cache
            start = time.perf_counter()
            run_once()
            best[who] = min(best[who], 1000 * (time.perf_counter() - start))
        turns += 1
    return best
