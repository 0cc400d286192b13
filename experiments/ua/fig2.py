"""UA Fig. 2: Forest Cover, random binning: test error and training time against the grids P.

As published (one γ, chosen on held-out training rows) and with learned scales.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import randspan as rs
from experiments.running import Item
from experiments.sets import loaded
from experiments.ua.table1 import built, by_validation, measured

NAME = "ua-fig2"
TITLE = "UA Fig. 2: Forest Cover, bins: error and time against P"
DOCUMENT = "ua"

GRIDS = (1, 2, 5, 10, 20, 50)
COLUMNS = ("as published", "ours")


def items(quick: bool) -> list[Item]:
    return [
        Item(f"{column} {P}", partial(fitted, column, P, quick), budget=600)
        for column in COLUMNS
        for P in (GRIDS[:3] if quick else GRIDS)
    ]


def fitted(column: str, P: int, quick: bool) -> dict[str, Any]:
    data = loaded("forest", 0, quick)
    family, chosen, scales = rs.Bins(), {}, "learn"
    if column == "as published":
        family, chosen = by_validation(data, family, max(P, 10), 0)
        scales = None
    model = built(data, family, P, 0, scales=scales)
    return {**measured(model, data), "chosen": chosen, "P": P}


def summary(results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    curves = {}
    for column in COLUMNS:
        runs = [run for key, run in results.items() if key.startswith(column)]
        runs = [run for run in runs if "failed" not in run]
        curves[column] = {
            what: [run[what] for run in runs] for what in ("P", "error", "fit_seconds")
        }
    return {"curves": curves}


def tables(found: dict[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    rows = [
        [column, str(P), f"{error:.2f} %", f"{seconds:.1f}"]
        for column, curve in found["curves"].items()
        for P, error, seconds in zip(curve["P"], curve["error"], curve["fit_seconds"], strict=True)
    ]
    return [("Error and time against the number of grids", ["", "P", "error", "fit s"], rows)]


def figure(found: dict[str, Any]) -> Any:
    """Error and time, as in the paper side by side."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, 3.4), layout="constrained")
    left, right = drawn.subplots(1, 2)
    for column, curve in found["curves"].items():
        left.plot(curve["P"], curve["error"], "o-", label=column)
        right.plot(curve["P"], curve["fit_seconds"], "o-", label=column)
    left.set_ylabel("test error, %")
    right.set_ylabel("training time, s")
    for axis in (left, right):
        axis.set_xlabel("grids P")
        axis.grid(alpha=0.3)
    left.legend()
    return drawn
