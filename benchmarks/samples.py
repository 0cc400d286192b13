"""Samples by keys: unbiased where rows have very many copies, and what a frame costs.

KDD Cup 1999 as it came has 494,021 rows, 145,584 different inputs, some of them 100,000 times.
Samples of 2,000 of them are drawn with many seeds; the weighted sum of every column, scaled
by the number of inputs over that of the sample, is compared with the sum over all rows, in standard
errors of the mean over seeds. Beside it the time of a frame (sums in any order the same, and a
sample) and of numpy's mean and deviation of the same rows.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from randspan.families.shared.sample import Reservoir
from randspan.frame import Reading
from randspan.sources import ArraySource

from . import report
from .data import of

name, slow = "samples", True

KEPT, SEEDS, ROUNDS = 2_000, 200, 5
FAR = 4.5


def rows(quick: bool) -> np.ndarray:
    """Inputs, most of which stand there more than once."""
    if quick:
        rng = np.random.default_rng(0)
        counts = np.ceil(rng.pareto(1.0, 3_000) + 0.1).clip(max=500).astype(int)
        return np.repeat(rng.normal(size=(3_000, 4)), counts, axis=0)
    found = of("kddcup99", rows=(494_021, 0))
    return np.ascontiguousarray(np.vstack([found.X_train, found.X_test]), dtype=np.float64)


def run(quick: bool) -> dict[str, Any]:
    X = rows(quick)
    source = ArraySource(X)
    distinct = len(np.unique(source.keys))
    truth, kept = X.sum(axis=0), min(KEPT, distinct // 2)
    sums = []
    for seed in range(20 if quick else SEEDS):
        reservoir = Reservoir(kept, seed)
        reservoir.add(source.keys, None, source.take, [X])
        sample = reservoir.sample(None, None)
        sums.append(distinct / kept * (sample.weights @ sample.rows.dense))
    found = np.array(sums)
    spread = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    varied = spread > 0
    away = np.abs(found.mean(axis=0) - truth)[varied] / spread[varied]
    times: dict[str, list[float]] = {"frame": [], "numpy": []}
    for _ in range(1 if quick else ROUNDS):
        start = time.perf_counter()
        Reading.of([ArraySource(X, known_keys=source.keys)], 0, 0)
        times["frame"].append(time.perf_counter() - start)
        start = time.perf_counter()
        X.mean(axis=0), X.std(axis=0)
        times["numpy"].append(time.perf_counter() - start)
    return {
        "rows": len(X),
        "columns": X.shape[1],
        "distinct": distinct,
        "by numpy": len(np.unique(X, axis=0)),
        "kept": kept,
        "seeds": len(sums),
        "largest": float(away.max()),
        "seconds": {what: float(np.median(values)) for what, values in times.items()},
        "bars": [
            report.bar("largest bias of a column, standard errors", float(away.max()), "<=", FAR),
        ],
    }


def text(result: dict[str, Any]) -> str:
    seconds = result["seconds"]
    return "\n".join(
        [
            f"{result['rows']:,} rows × {result['columns']}, {result['distinct']:,} distinct keys, "
            f"{result['by numpy']:,} distinct inputs by numpy; samples of {result['kept']:,}, "
            f"{result['seeds']} seeds",
            f"a frame {seconds['frame']:.2f} s, numpy's mean and std {seconds['numpy']:.2f} s",
            report.bars(result["bars"]),
        ]
    )
