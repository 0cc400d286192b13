"""Random binning with learned scales on Forest Cover, beside LightGBM.

Forest Cover has 522,911 rows to train, class 2 against the rest. A fit begins with raw X: scales of
the columns, cells, the choice of alpha and the solve are all part of its time. Beside its seconds
stand those that the solver spent, choice of alpha included, and those of one more solve with the
same frame at the alpha that was found. LightGBM has the same splits. The curve of error against
seconds runs over the number of grids, and for LightGBM over three sizes of its model.

Growth is measured without learning and at one alpha, so that a fit is cells and one solve; times
are the best of several fits. The floor beside it is what no solve avoids: every step of the solver
gathers from cells and adds up into cells, which reads all cells twice. It is timed by numpy's
maximum of the same cells, on one thread.

Every fit on Forest Cover has a process of its own, so that its peak is its own: ``python -m
benchmarks.bins`` with the settings as JSON. ``python -m benchmarks.bins DIR/bins.json`` draws the
figures of a result, beside it.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import randspan as rs

from . import report
from .data import ERRORS, Split, forest
from .harness import WARM_ROWS, apart, measure, solved

name = "bins"
slow = True

GRIDS, MANY_GRIDS = 50, 200
CURVE = (5, 10, 25, GRIDS, 100, MANY_GRIDS)
SHARES = (1 / 8, 1 / 4, 1 / 2, 1)
GROWING = (25, 50, 100, 200)
# Trees and leaves of LightGBM; its defaults first.
TREES = ((100, 31), (500, 127), (2_000, 255))
ALPHA = 0.1
# The few rows of a quick run would be solved for without cells.
QUICK_SOLVER = "conjugate"
WRONG = ERRORS["classification"]


def run(quick: bool) -> dict[str, Any]:
    result = report.in_parts({"forest": _on_forest}, quick)
    result["absent"] = {} if find_spec("lightgbm") else {"LightGBM": "not installed"}
    return result


def text(result: dict[str, Any]) -> str:
    parts = report.of_parts(result, {"forest": _forest_text})
    parts += [f"{who}: SKIPPED, {why}" for who, why in result["absent"].items()]
    return "\n\n".join([*parts, report.bars(result["bars"])])


def figures(result: dict[str, Any], folder: Path) -> list[Path]:
    """Error against seconds, and seconds against rows and grids; the files that were written."""
    from matplotlib.figure import Figure

    found = result["forest"]
    if "skipped" in found:
        return []
    curve = Figure(figsize=(6, 4), layout="constrained")
    axes = curve.subplots()
    ours = sorted((one for one in found["fits"] if one["split"] == 0), key=lambda one: one["grids"])
    for label, fits, remark, below in (
        ("randspan, P grids", ours, lambda one: f"P = {one['grids']}", True),
        ("LightGBM", found["trees"], lambda one: f"{one['trees']:,} × {one['leaves']}", False),
    ):
        if not fits:
            continue
        seconds = [one["fit_seconds"] for one in fits]
        axes.plot(seconds, [one["error"] for one in fits], "o-", label=label)
        for one, x in zip(fits, seconds, strict=True):
            offset = (-5, -5) if below else (5, 5)
            place = {"textcoords": "offset points", "xytext": offset, "fontsize": 8}
            sides = {"ha": "right", "va": "top"} if below else {}
            axes.annotate(remark(one), (x, one["error"]), **place, **sides)
    axes.margins(0.15)
    axes.set(xscale="log", yscale="log", xlabel="fit seconds", ylabel=f"test error, {WRONG}")
    axes.set_yticks([2, 3, 5, 10, 16], ["2", "3", "5", "10", "16"])
    axes.minorticks_off()
    axes.set_title(f"Forest Cover, {found['rows']:,} rows to train")
    axes.legend()

    growth = Figure(figsize=(9, 4), layout="constrained")
    panels = growth.subplots(1, 2)
    for axes, (what, fits) in zip(panels, found["growth"]["series"].items(), strict=True):
        sizes = np.array([one[what] for one in fits], dtype=float)
        seconds = np.array([one["fit_seconds"] for one in fits])
        slope, height = np.polyfit(np.log(sizes), np.log(seconds), 1)
        axes.loglog(sizes, seconds, "o", label="fit")
        axes.loglog(sizes, np.exp(height) * sizes**slope, label=f"exponent {slope:.2f}")
        axes.loglog(sizes, [one["floor_seconds"] for one in fits], "s:", label="floor of the solve")
        axes.set(xlabel=what, ylabel="seconds")
        axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
        axes.minorticks_off()
        axes.legend()
    return _saved({"bins_curve.png": curve, "bins_growth.png": growth}, folder)


# -- Forest Cover ----------------------------------------------------------------------------------


def _on_forest(quick: bool) -> dict[str, Any]:
    most = 222 if quick else None  # a tenth is set aside: this leaves 200
    # Two numbers of grids on every split, the others on the first.
    few, many, curve = (2, 4, (2, 4)) if quick else (GRIDS, MANY_GRIDS, CURVE)
    splits = range(1) if quick else range(3)
    forest(100)  # Missing is said here, not by a process
    own = {"most": most, "solver": QUICK_SOLVER if quick else "auto"}
    fits = [_apart("ours", split=split, grids=few, again=True, **own) for split in splits]
    fits += [_apart("ours", quick, split=split, grids=many, **own) for split in splits]
    others = (grids for grids in curve if grids not in (few, many))
    fits += [_apart("ours", quick, split=0, grids=grids, **own) for grids in others]
    boosted = find_spec("lightgbm") is not None
    sizes = ((4, 7), (8, 15), (16, 15)) if quick else TREES
    common = {"most": most, "threads": 1 if quick else 2}
    trees = [_trees(quick, *size, seven=False, **common) for size in sizes if boosted]
    seven = _apart("ours", quick, split=0, grids=few, seven=True, **own)
    classes = [{"name": f"randspan, P = {few}", **seven}]
    for size in sizes[:2] if boosted else ():
        classes.append(_trees(quick, *size, seven=True, **common))
    shape = {what: fits[0][what] for what in ("rows", "columns", "test_rows")}
    growth = _growth(quick, **own)
    return {
        **shape,
        "fits": fits,
        "trees": trees,
        "classes": classes,
        "growth": growth,
        "bars": _forest_bars(fits, few, many, trees, growth),
    }


def _forest_bars(fits, few: int, many: int, trees, growth) -> list[dict[str, Any]]:
    at = {grids: [one for one in fits if one["grids"] == grids] for grids in (few, many)}
    first = [one for one in fits if one["split"] == 0]

    def error(grids: int) -> float:
        return mean(one["error"] for one in at[grids])

    def largest(what: str) -> float:
        return max(one[what] for one in at[few])

    def ahead(of: dict[str, Any]) -> int:
        return sum(
            one["error"] < of["error"] and one["fit_seconds"] < of["fit_seconds"] for one in first
        )

    forest_ = "Forest Cover, P = "
    return [
        report.bar(f"{forest_}{few}: mean test error, %", error(few), "<=", 2.2),
        report.bar(f"{forest_}{few}: fit seconds", largest("fit_seconds"), "<", 60),
        report.bar(f"{forest_}{few}: one solve, s", largest("one_solve_seconds"), "<", 20),
        report.bar(f"{forest_}{few}: peak beyond X, MB", largest("peak_mb"), "<", 2_000),
        report.bar(f"{forest_}{many}: mean test error, %", error(many), "<=", 1.9),
        *(
            report.bar(f"values of P better and faster than {one['name']}", ahead(one), ">=", 1)
            for one in trees[1:]
        ),
        *(
            report.bar(f"exponent of time in {what}", value, "<=", 1.15)
            for what, value in growth["exponents"].items()
        ),
    ]


def _growth(quick: bool, **own: Any) -> dict[str, Any]:
    shares, grids = ((1 / 2, 1), (2, 4)) if quick else (SHARES, GROWING)
    middle = grids[1]
    # Each once: one of them is in both series.
    sizes = dict.fromkeys([(s, middle) for s in shares] + [(1 / 2, each) for each in grids])
    first = next(iter(sizes))
    found = {
        size: _apart("growing", quick and size != first, share=size[0], grids=size[1], **own)
        for size in sizes
    }
    series = {
        "rows": [found[share, middle] for share in shares],
        "grids": [found[1 / 2, each] for each in grids],
    }

    def exponent(what: str) -> float:
        logarithms = [np.log([one[key] for one in series[what]]) for key in (what, "fit_seconds")]
        return float(np.polyfit(*logarithms, 1)[0])

    return {
        "alpha": ALPHA,
        "series": series,
        "exponents": {what: exponent(what) for what in series},
    }


def _apart(what: str, here: bool = False, **settings: Any) -> dict[str, Any]:
    return apart(__name__, what, settings, here=one_fit if here else None)


def _trees(here: bool, trees: int, leaves: int, **settings: Any) -> dict[str, Any]:
    found = _apart("boosted", here, trees=trees, leaves=leaves, **settings)
    default = ", its defaults" if (trees, leaves) == TREES[0] else ""
    return {"name": f"LightGBM, {trees:,} trees × {leaves} leaves{default}", **found}


def _forest_text(found: dict[str, Any]) -> str:
    fits = [
        (
            str(one["grids"]),
            str(one["split"]),
            f"{one['error']:.2f}",
            report.number(one["fit_seconds"]),
            report.number(one["solve_seconds"]),
            report.number(one["one_solve_seconds"]),
            report.number(one["predict_seconds"]),
            report.number(one["peak_mb"]),
            report.number(one["alpha"]),
            one["solver"],
            str(one["iterations"]),
            f"{one['residual']:.1e}",
        )
        for one in found["fits"]
    ]
    header = (
        *("P", "split", WRONG, "fit s", "solve s", "one solve s", "predict s", "peak MB"),
        *("alpha", "solver", "iterations", "residual"),
    )

    def others(fits: list[dict[str, Any]]) -> str:
        rows = [
            (
                one["name"],
                f"{one['error']:.2f}",
                report.number(one["fit_seconds"]),
                report.number(one["predict_seconds"]),
                report.number(one["peak_mb"]),
            )
            for one in fits
        ]
        return report.table(("", WRONG, "fit s", "predict s", "peak MB"), rows)

    parts = [
        f"Forest Cover, class 2 against the rest: {found['rows']:,} rows × {found['columns']} "
        f"columns, {found['test_rows']:,} test rows; scales learned",
        report.table(header, fits),
        *([others(found["trees"])] if found["trees"] else []),
        "All classes, split 0",
        others(found["classes"]),
    ]
    growth = found["growth"]
    for what, fits in growth["series"].items():
        rows = [
            (
                f"{one['rows']:,}",
                str(one["grids"]),
                report.number(one["fit_seconds"]),
                report.number(one["solve_seconds"]),
                str(one["iterations"]),
                report.number(one["floor_seconds"]),
            )
            for one in fits
        ]
        parts += [
            f"More {what}, alpha {growth['alpha']}, scales not learned: seconds ∝ {what}^"
            f"{growth['exponents'][what]:.2f}; floor: all cells read twice for every iteration",
            report.table(("rows", "P", "fit s", "solve s", "iterations", "floor s"), rows),
        ]
    return "\n\n".join(parts)


# -- one fit, in this process ----------------------------------------------------------------------


def one_fit(what: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {"ours": ours, "boosted": boosted, "growing": growing}[what](**settings)


def ours(
    most: int | None,
    split: int,
    grids: int,
    solver: str,
    seven: bool = False,
    again: bool = False,
) -> dict[str, Any]:
    """One fit from raw X on; ``again``: then one solve with its frame and its alpha."""
    data = forest(most, split, seven)
    _warm_up(data, "learn")
    model = rs.SpanClassifier(rs.Bins(), grids, scales="learn", solver=solver, random_state=0)
    found = {**measure(model, data), **solved(model)}
    one_solve = None
    if again:
        same = {"frame": model.frame_, "alpha": model.alpha_, "solver": solver}
        second = rs.SpanClassifier(rs.Bins(), grids, **same).fit(data.X_train, data.y_train)
        one_solve = float(second.solution_.seconds)
    seconds = {"solve_seconds": float(model.solution_.seconds), "one_solve_seconds": one_solve}
    return {"grids": grids, "split": split, **_shape(data), **found, **seconds}


def boosted(most: int | None, seven: bool, trees: int, leaves: int, threads: int) -> dict[str, Any]:
    """One fit of LightGBM on the first split."""
    from lightgbm import LGBMClassifier

    data = forest(most, seven=seven)

    def build(n_estimators: int) -> Any:
        options = {"num_leaves": leaves, "n_jobs": threads, "verbose": -1}
        return LGBMClassifier(n_estimators=n_estimators, **options)

    few = data.head(WARM_ROWS)
    build(2).fit(few.X_train, few.y_train)
    return {"trees": trees, "leaves": leaves, **_shape(data), **measure(build(trees), data)}


def growing(
    most: int | None, share: float, grids: int, solver: str, repetitions: int = 3
) -> dict[str, Any]:
    """Fits of a share of the rows at one alpha, scales not learned, and their floor."""
    data = forest(most)
    _warm_up(data, None)
    rows = round(share * len(data.X_train))
    X, y = data.X_train[:rows], data.y_train[:rows]
    del data
    seconds, solving = [], []
    for _ in range(repetitions):
        model = rs.SpanClassifier(rs.Bins(), grids, alpha=ALPHA, solver=solver, random_state=0)
        start = time.perf_counter()
        model.fit(X, y)
        seconds.append(time.perf_counter() - start)
        solving.append(float(model.solution_.seconds))
    iterations = int(model.solution_.iterations)
    # numpy's maximum reads at the speed of memory; its sum would convert to 64 bits on the way.
    cells = model.functions_.cells(model.frame_.rows(X, np.float32))
    reading = []
    for _ in range(3):
        start = time.perf_counter()
        cells.max()
        reading.append(time.perf_counter() - start)
    return {
        "rows": rows,
        "grids": grids,
        "fit_seconds": min(seconds),
        "fit_seconds_all": seconds,
        "solve_seconds": min(solving),
        "iterations": iterations,
        "pass_floor_seconds": 2 * min(reading),
        "floor_seconds": 2 * min(reading) * iterations,
    }


def _warm_up(data: Split, scales: str | None) -> None:
    # Learning from as many rows as elsewhere would take seconds.
    few = data.head(WARM_ROWS // 5)
    if len(few.X_train) == len(data.X_train):
        return  # a quick run
    model = rs.SpanClassifier(rs.Bins(), 2, scales=scales, random_state=0)
    model.fit(few.X_train, few.y_train).predict(few.X_test)


def _shape(data: Split) -> dict[str, int]:
    rows, columns = data.X_train.shape
    return {"rows": rows, "columns": columns, "test_rows": len(data.X_test)}


def _saved(drawn: dict[str, Any], folder: Path) -> list[Path]:
    paths = []
    for file, figure in drawn.items():
        paths.append(folder / file)
        figure.savefig(paths[-1], dpi=150)
    return paths


if __name__ == "__main__":
    if sys.argv[1].endswith(".json"):
        path = Path(sys.argv[1])
        print(*figures(json.loads(path.read_text())["result"], path.parent), sep="\n")
    else:
        what, settings = json.loads(sys.argv[1])
        print(json.dumps(one_fit(what, settings)))
