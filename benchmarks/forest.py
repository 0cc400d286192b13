"""Forest Cover at full size: 522,911 rows, 5,000 cosines, class 2 against the rest.

Scales of the columns are learned first, by a fit of fewer functions to the training rows with
``scales="learn"``; its time is that of the whole fit. Then the same fit three times: with all
features kept in memory, with features computed anew in every pass, and with the exact solve of the
same system, to which the other two are compared. All three have the alpha that the first one found.
A last fit, with one γ for all columns, tells what the scales are worth.

Every fit has a process of its own, so that its peak is its own: ``python -m benchmarks.forest``
with the settings as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

import randspan as rs

from . import report
from .data import ERRORS, Missing, Split, forest
from .harness import apart, measure, solved

name = "forest"
slow = True

KEPT, ANEW, EXACT = "features kept", "features anew in every pass", "exact solve"
ONE_GAMMA = "one γ for all columns, features kept"
KERNEL = "matern52"


def run(quick: bool) -> dict[str, Any]:
    # A tenth is set aside: this leaves 200.
    most, k = (222, 64) if quick else (None, 5_000)
    try:
        split = forest(most)
    except Missing as missing:
        return {"functions": k, "skipped": str(missing)}
    learned = learned_scales(split, 64 if quick else 1_000)
    shape = {"rows": len(split.X_train), "test_rows": len(split.X_test)}
    del split

    def fit(name: str, here: bool = quick, **settings: Any) -> dict[str, Any]:
        run = one_fit if here else None
        return {"name": name, **apart(__name__, most, {"n_components": k, **settings}, here=run)}

    ours = {"kernel": KERNEL, "gamma": learned["gamma"], "scales": learned["scales"]}
    plain = {"kernel": KERNEL, "gamma": "median"}
    kept = fit(KEPT, here=False, memory_limit="14GB", alpha="auto", **ours)
    alpha = kept["alpha"]
    anew = fit(ANEW, memory_limit="2GB", alpha=alpha, **ours)
    exact = fit(EXACT, solver="cholesky", alpha=alpha, **ours)
    for one in (kept, anew, exact):
        one["beyond_exact"] = one["error"] - exact["error"]
    fits = [kept, anew, exact, fit(ONE_GAMMA, memory_limit="14GB", alpha="auto", **plain)]

    def away(one: dict[str, Any]) -> float:
        return abs(one["beyond_exact"])

    return {
        **shape,
        "columns": len(learned["scales"]),
        "functions": k,
        "scales": learned,
        "fits": fits,
        "bars": [
            report.bar("seconds to learn the scales", learned["seconds"], "<=", 60),
            report.bar("test error, features kept, %", kept["error"], "<=", 11.6),
            report.bar("fit seconds, features kept", kept["fit_seconds"], "<", 90),
            report.bar("process peak, features kept, MB", kept["whole_mb"], "<", 16_000),
            report.bar("process peak, features anew, MB", anew["whole_mb"], "<", 3_000),
            report.bar("kept, away from exact, points of %", away(kept), "<=", 0.1),
            report.bar("anew, away from exact, points of %", away(anew), "<=", 0.1),
        ],
    }


def text(result: dict[str, Any]) -> str:
    if "skipped" in result:
        return f"Forest Cover: SKIPPED, {result['skipped']}"
    learned = result["scales"]
    shares = sorted(enumerate(learned["importances"], 1), key=lambda pair: -pair[1])
    largest = ", ".join(f"{100 * share:.0f} % column {which}" for which, share in shares[:5])
    rows = [
        (
            one["name"],
            report.number(one["fit_seconds"]),
            report.number(one["predict_seconds"]),
            f"{one['error']:.2f}",
            f"{one['beyond_exact']:+.3f}" if "beyond_exact" in one else "-",
            report.number(one["peak_mb"]),
            report.number(one["whole_mb"]),
            report.number(one["alpha"]),
            one["solver"],
            str(one["iterations"]),
            f"{one['residual']:.1e}",
        )
        for one in result["fits"]
    ]
    header = (
        "",
        "fit s",
        "predict s",
        ERRORS["classification"],
        "beyond exact",
        "peak MB",
        "process MB",
        "alpha",
        "solver",
        "iterations",
        "residual",
    )
    return "\n\n".join(
        [
            f"{result['rows']:,} rows × {result['columns']} columns, {result['functions']:,} "
            f"functions, {result['test_rows']:,} test rows",
            f"Scales for the {learned['kernel']} kernel learned in {learned['seconds']:.0f} s, by "
            f"a fit of {learned['functions']:,} functions; largest shares: {largest}.",
            report.table(header, rows),
            "\n".join(f"{one['name']}: {one['reason']}" for one in result["fits"]),
            report.bars(result["bars"]),
        ]
    )


def learned_scales(split: Split, functions: int) -> dict[str, Any]:
    """Scales of standardised columns, and γ, for processes that read the columns themselves."""
    family = rs.Fourier(KERNEL)
    start = time.perf_counter()
    model = rs.SpanClassifier(family, functions, scales="learn", random_state=0)
    frame = model.fit(split.X_train, split.y_train).frame_
    seconds = time.perf_counter() - start
    deviations = split.X_train.std(axis=0, dtype=np.float64)
    deviations[deviations == 0] = 1  # as the frame has it
    return {
        "kernel": KERNEL,
        "gamma": float(frame.family.resolved.gamma),
        "scales": (frame.scale * deviations).tolist(),
        "importances": model.scale_shares_.tolist(),
        "functions": functions,
        "seconds": seconds,
    }


def one_fit(most: int | None, settings: dict[str, Any]) -> dict[str, Any]:
    """One fit and its test error, in this process."""
    split = forest(most)

    def build() -> rs.SpanClassifier:
        options = dict(settings)
        family = rs.Fourier(options.pop("kernel"), gamma=options.pop("gamma"))
        return rs.SpanClassifier(family, random_state=0, **options)

    few = split.head(1000)
    build().set_params(n_components=100).fit(few.X_train, few.y_train).predict(few.X_test)
    model = build()
    return {**measure(model, split), **solved(model)}


if __name__ == "__main__":
    print(json.dumps(one_fit(*json.loads(sys.argv[1]))))
