"""Structured frequencies against independent ones: O(k log d) a row against O(k d), in seconds.

A matrix product runs much closer to the machine's peak than a fast Hadamard transform, so few
columns favour the product. The structured loop runs on one thread (the engine gives each thread
blocks of its own), so BLAS is held to one thread too.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import randspan as rs

from . import report

name = "structured"

COLUMNS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
QUICK_COLUMNS = (16, 24, 64)
SAMPLINGS = ("iid", "structured")


def run(quick: bool) -> dict[str, Any]:
    n_rows, k, repetitions = (256, 128, 2) if quick else (2048, 4096, 4)
    widths = QUICK_COLUMNS if quick else COLUMNS
    with threadpool_limits(1, user_api="blas"):
        measured = [_measure(d, n_rows, k, repetitions) for d in widths]
    return {"rows": n_rows, "functions": k, "columns": measured, "faster_from": _from(measured)}


def text(result: dict[str, Any]) -> str:
    rows = [
        (
            f"{m['columns']:,}",
            *(report.number(m["ns_a_feature"][s]) for s in SAMPLINGS),
            report.number(m["ratio"]),
        )
        for m in result["columns"]
    ]
    start = result["faster_from"]
    verdict = "in no case here" if start is None else f"from {start:,} columns on"
    header = ("columns", "iid, ns a feature", "structured, ns a feature", "iid / structured")
    return "\n\n".join(
        [
            f"{result['rows']:,} rows in float32, {result['functions']:,} functions, one thread",
            report.table(header, rows),
            f"Structured frequencies are faster {verdict}.",
        ]
    )


def _measure(d: int, n_rows: int, k: int, repetitions: int) -> dict[str, Any]:
    X = np.random.default_rng(0).standard_normal((n_rows, d), dtype=np.float32)
    functions = {
        s: rs.Fourier(gamma=1 / (4 * d), sampling=s).draw(X, k, random_state=0) for s in SAMPLINGS
    }
    seconds: dict[str, list[float]] = {s: [] for s in SAMPLINGS}
    for s in SAMPLINGS:
        functions[s](X[:256])
    for _ in range(repetitions):
        for s in SAMPLINGS:
            start = time.perf_counter()
            functions[s](X)
            seconds[s].append(time.perf_counter() - start)
    best = {s: min(seconds[s]) for s in SAMPLINGS}
    return {
        "columns": d,
        "seconds_all": seconds,
        "seconds": best,
        "ns_a_feature": {s: 1e9 * best[s] / (n_rows * k) for s in SAMPLINGS},
        "ratio": best["iid"] / best["structured"],
    }


def _from(measured: list[dict[str, Any]]) -> int | None:
    """The smallest width from which on structured wins at every width."""
    start = None
    for m in reversed(measured):
        if m["ratio"] <= 1:
            break
        start = m["columns"]
    return start
