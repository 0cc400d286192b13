"""Learned scales on nine tables (`tabular`), and beside xRFM, which learns scales as well.

Five parts: cosines and grids with equal and with learned scales; ours at its best, which is one of
three models, chosen by the error of a tenth of the training rows that was held out, and fitted
again to all of them; the exact kernel on 1,500 rows; a synthetic target that depends on three
columns of thirty, to see whether these are found; the shares of the columns of one table.

xRFM (recursive feature machines in the leaves of a tree) runs with its defaults, learns from four
fifths of the rows it is given and validates on the last. It is read from the JSON file that
``RANDSPAN_XRFM`` names, if that is set (a list of dictionaries with method, set, split, rows,
all_rows, error, seconds); otherwise it runs here if it is installed; otherwise it is left out. It
can take half an hour a table. Its time is that of its fit; ours is that of all fits that the choice
took, and of the last one.

Everybody has one thread (two tables are worked on side by side), and is judged by the first 5,000
test rows. More splits than the first: ``run(False, splits=range(3))``. ``python -m
benchmarks.learned DIR/learned.json`` draws the figures of a result, beside it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import randspan as rs
from randspan.datasets.tabular import BIKE

from . import report
from .data import ERRORS, Missing, Split
from .harness import measure
from .tabular import SETS

name = "learned"
slow = True

PROCESSES = 2
MOST_TEST = 5_000
FEW_ROWS, FEW_SPLITS = 1_500, range(1)
# As close to xRFM as this counts as equal; learning may cost as much as that.
NEAR, HARM = 1.10, 1.02
# Of nine.
MOST_SETS = 6
LARGE = ("kin40k", "protein")
SHOWN = "bike_hour"
# Of the synthetic target: rows, columns, and those that matter.
ROWS, COLUMNS, RELEVANT = 5_000, 30, (0, 1, 2)

# (set, split, rows or None for all) -> error and seconds, None where they are not known
Peer = Callable[[str, int, int | None, Split], dict[str, float] | None]


@dataclass(frozen=True)
class Sizes:
    """How much of everything: less in a quick run."""

    cosines: int = 2_000
    more_cosines: int = 3_000
    grids: int = 100
    kernel_rows: int = 3_000
    few_rows: int = FEW_ROWS
    few_splits: Sequence[int] = FEW_SPLITS
    synthetic_rows: int = ROWS
    table_rows: int | None = None
    # The largest last: two are worked on at a time.
    sets: tuple[str, ...] = (*(s for s in SETS if s not in LARGE), *LARGE)


QUICK = Sizes(64, 96, 4, 150, 150, range(1), 300, 150, (SHOWN, "magic"))


@dataclass(frozen=True)
class Candidate:
    """A model that may be chosen, and the most rows it learns from."""

    name: str
    family: rs.families.Family
    n_components: float
    scales: str
    most: int | None = None

    def fitted(self, task: str, X: np.ndarray, y: np.ndarray) -> Any:
        model = _model(task, self.family, self.n_components, self.scales)
        return model.fit(X[: self.most], y[: self.most])


def run(quick: bool, splits: Sequence[int] = (0,)) -> dict[str, Any]:
    sizes = QUICK if quick else Sizes()
    peer, note = _peer()
    if quick:
        sets = [_apart(which, splits, sizes) for which in sizes.sets]
    else:
        with ProcessPoolExecutor(PROCESSES, get_context("spawn")) as executor:
            jobs = [executor.submit(_apart, which, splits, sizes) for which in sizes.sets]
            sets = [job.result() for job in jobs]
    with threadpool_limits(1):
        synthetic = _synthetic(sizes)
    found = [one for one in sets if "skipped" not in one]
    return {
        "splits": list(splits),
        "few_rows": sizes.few_rows,
        "few_splits": len(sizes.few_splits),
        "sets": sets,
        "xrfm": note,
        "synthetic": synthetic,
        "bars": [
            *_family_bars(found),
            *(_peer_bars(found) if peer is not None else []),
            *(
                report.bar(
                    f"{one['family']}: share of the 3 columns of 30", one["share"], ">=", 0.9
                )
                for one in synthetic
            ),
        ],
    }


def _apart(which: str, splits: Sequence[int], sizes: Sizes) -> dict[str, Any]:
    """One table, on one thread."""
    with threadpool_limits(1):
        found = _on_set(which, splits, sizes, _peer()[0])
    print(f"{which}: {json.dumps(found)}", file=sys.stderr, flush=True)  # the whole takes long
    return found


def text(result: dict[str, Any]) -> str:
    found = [one for one in result["sets"] if "skipped" not in one]
    errors = "; ".join(
        f"{ERRORS[task]}: {', '.join(one['name'] for one in found if one['task'] == task)}"
        for task in ERRORS
    )
    families = [
        (
            one["name"],
            fit["family"],
            fit["scales"],
            f"{fit['error']:.4g}",
            f"{fit['ratio']:.3f}",
            report.number(fit["fit_seconds"]),
        )
        for one in found
        for fit in one["fits"]
    ]
    chosen = [
        (
            one["name"],
            one["chosen"]["names"][0],
            f"{one['chosen']['error']:.4g}",
            report.number(one["chosen"]["seconds"]),
            *_beside(one["chosen"]),
        )
        for one in found
    ]
    few = [
        (
            one["name"],
            f"{one['few']['error']:.4g}",
            report.number(one["few"]["seconds"]),
            *_beside(one["few"]),
        )
        for one in found
    ]
    synthetic = [(one["family"], f"{one['share']:.3f}") for one in result["synthetic"]]
    theirs = ("xRFM", "its s", "error, ours/xRFM")
    return "\n\n".join(
        [
            *(
                f"{one['name']}: SKIPPED, {one['skipped']}"
                for one in result["sets"]
                if "skipped" in one
            ),
            f"Errors are {errors}. Means of split(s) {', '.join(map(str, result['splits']))}; one "
            "thread. Ratio: error divided by that with equal scales (None)",
            report.table(("", "family", "scales", "error", "ratio", "fit s"), families),
            f"Best of ours, chosen on training rows; seconds of the choice and the last fit. xRFM: "
            f"{result['xrfm']}",
            report.table(("", "chosen", "error", "s", *theirs), chosen),
            f"Exact kernel, scales 'rotate', on {result['few_rows']:,} rows; means of "
            f"{result['few_splits']} split(s)",
            report.table(("", "error", "s", *theirs), few),
            "A target that depends on 3 of 30 columns: their share of scale_shares_",
            report.table(("", "share"), synthetic),
            report.bars(result["bars"]),
        ]
    )


def figures(result: dict[str, Any], folder: Path) -> list[Path]:
    """Shares of the columns of one table, and error ratios; the files that were written."""
    from matplotlib.figure import Figure

    found = [one for one in result["sets"] if "skipped" not in one]
    drawn = {}
    shares = {
        fit["family"]: fit["importances"]
        for one in found
        if one["name"] == SHOWN
        for fit in one["fits"]
        if fit["scales"] == "learn"
    }
    if shares:
        drawn["learned_importances.png"] = figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        _grouped(axes, BIKE, shares)
        axes.set(ylabel="scale_shares_", title=SHOWN)
    ratios: dict[str, list[float]] = {}
    for one in found:
        for fit in one["fits"]:
            if fit["scales"] != "None":
                ratios.setdefault(f"{fit['family']}, {fit['scales']}", []).append(fit["ratio"])
    if ratios:
        drawn["learned_ratios.png"] = figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        _grouped(axes, [one["name"] for one in found], ratios)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set(ylabel="test error, learned/equal scales")
    paths = []
    for file, figure in drawn.items():
        paths.append(folder / file)
        figure.savefig(paths[-1], dpi=150)
    return paths


def _grouped(axes: Any, labels: Sequence[str], series: dict[str, list[float]]) -> None:
    """Bars side by side, one of every series for each label."""
    places, width = np.arange(len(labels)), 0.8 / len(series)
    for i, (what, values) in enumerate(series.items()):
        axes.bar(places + (i - (len(series) - 1) / 2) * width, values, width, label=what)
    axes.set_xticks(places, labels, rotation=45, ha="right")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=len(series))


def _beside(one: dict[str, Any]) -> tuple[str, str, str]:
    """xRFM's cells of a table."""
    if one["xrfm"] is None:
        return "-", "-", "-"
    seconds, ratio = report.number(one["xrfm"]["seconds"]), f"{one['ratio']:.3f}"
    return f"{one['xrfm']['error']:.4g}", seconds, ratio


# -- bars ------------------------------------------------------------------------------------------


def _family_bars(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ratios: dict[str, list[float]] = {}
    for one in found:
        for fit in one["fits"]:
            if fit["scales"] == "learn":
                ratios.setdefault(fit["family"], []).append(fit["ratio"])
    bars = []
    for family, values in ratios.items():
        lower = sum(value < 1 for value in values)
        bars += [
            report.bar(f"{family}: sets whose error learning lowers", lower, ">=", MOST_SETS),
            report.bar(f"{family}: largest ratio of errors", max(values), "<=", HARM),
        ]
    return bars


def _peer_bars(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A set for which xRFM has no number counts as missed; times are of sets that both have."""

    def near(part: str) -> int:
        return sum(one[part]["ratio"] is not None and one[part]["ratio"] <= NEAR for one in found)

    both = [one["chosen"] for one in found if one["chosen"]["xrfm"] is not None]
    bars = [report.bar(f"sets within {NEAR} of xRFM's error", near("chosen"), ">=", MOST_SETS)]
    if both:
        theirs = sum(one["xrfm"]["seconds"] for one in both)
        times = sum(one["seconds"] for one in both) / theirs
        bars.append(report.bar("total seconds, ours/xRFM", times, "<", 1))
    few = f"few rows: sets within {NEAR} of xRFM's error"
    return [*bars, report.bar(few, near("few"), ">=", len(SETS))]


# -- one table -------------------------------------------------------------------------------------


def _on_set(which: str, splits: Sequence[int], sizes: Sizes, peer: Peer | None) -> dict[str, Any]:
    try:
        first = _loaded(which, splits[0], sizes)
    except Missing as missing:
        return {"name": which, "skipped": str(missing)}
    fits: dict[tuple[str, str], list[dict[str, Any]]] = {}
    choices = []
    for number in splits:
        split = first if number == splits[0] else _loaded(which, number, sizes)
        for family, scales, fit in _families(split, sizes):
            fits.setdefault((family, scales), []).append(fit)
        choice = _chosen(split, number, sizes)
        theirs = None if peer is None else peer(which, number, None, split)
        choices.append({**choice, "xrfm": theirs})
    rows, columns = first.X_train.shape
    return {
        "name": which,
        "task": first.task,
        "rows": rows,
        "columns": columns,
        "test_rows": len(first.X_test),
        "fits": _family_summaries(fits),
        "chosen": {
            **_compared(choices),
            "names": [one["name"] for one in choices],
            "trials": [one["trials"] for one in choices],
        },
        "few": _few(which, sizes, peer),
    }


def _loaded(which: str, number: int, sizes: Sizes) -> Split:
    split = SETS[which](number)
    split = replace(split, X_test=split.X_test[:MOST_TEST], y_test=split.y_test[:MOST_TEST])
    return split if sizes.table_rows is None else split.thinned(sizes.table_rows)


def _families(split: Split, sizes: Sizes):
    """Family, scales, and what came of them."""
    for title, family, k, ways in (
        ("Fourier", rs.Fourier("matern52"), sizes.cosines, (None, "learn", "rotate")),
        ("Bins", rs.Bins(), sizes.grids, (None, "learn")),
    ):
        for scales in ways:
            model = _model(split.task, family, k, scales)
            found = measure(model, split)
            shares = None if scales is None else model.scale_shares_.tolist()
            yield title, str(scales), {**found, "importances": shares}


def _family_summaries(fits: dict[tuple[str, str], list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Means over splits; shares of the columns are those of the first."""
    errors = {which: mean(one["error"] for one in runs) for which, runs in fits.items()}
    return [
        {
            "family": family,
            "scales": scales,
            "error": errors[family, scales],
            "ratio": errors[family, scales] / errors[family, "None"],
            "errors": [one["error"] for one in runs],
            "fit_seconds": mean(one["fit_seconds"] for one in runs),
            "peak_mb": max(one["peak_mb"] for one in runs),
            "importances": runs[0]["importances"],
        }
        for (family, scales), runs in fits.items()
    ]


def _chosen(split: Split, number: int, sizes: Sizes) -> dict[str, Any]:
    """The candidate with the smallest error on rows held out, fitted again to all rows."""
    matern = rs.Fourier("matern52")
    candidates = (
        Candidate("grids", rs.Bins(), sizes.grids, "learn"),
        Candidate("cosines", matern, sizes.more_cosines, "rotate"),
        Candidate("exact kernel", matern, np.inf, "rotate", sizes.kernel_rows),
    )
    start = time.perf_counter()
    order = np.random.default_rng(number).permutation(len(split.X_train))
    X, y = split.X_train[order], split.y_train[order]
    out = len(X) // 10
    held = replace(split, X_test=X[:out], y_test=y[:out])
    trials = []
    for one in candidates:
        begin = time.perf_counter()
        error = held.error(one.fitted(split.task, X[out:], y[out:]).predict(held.X_test))
        seconds = time.perf_counter() - begin
        trials.append({"name": one.name, "error": error, "seconds": seconds})
    best = min(range(len(candidates)), key=lambda i: trials[i]["error"])
    model = candidates[best].fitted(split.task, X, y)
    seconds = time.perf_counter() - start
    error = split.error(model.predict(split.X_test))
    return {"name": candidates[best].name, "error": error, "seconds": seconds, "trials": trials}


def _few(which: str, sizes: Sizes, peer: Peer | None) -> dict[str, Any]:
    """The exact kernel on few rows of every split."""
    runs = []
    for number in sizes.few_splits:
        split = _loaded(which, number, replace(sizes, table_rows=None))
        split = _first_rows(split, number, sizes.few_rows)
        found = measure(_model(split.task, rs.Fourier("matern52"), np.inf, "rotate"), split)
        theirs = None if peer is None else peer(which, number, sizes.few_rows, split)
        runs.append({"error": found["error"], "seconds": found["fit_seconds"], "xrfm": theirs})
    return _compared(runs)


def _compared(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over splits, ours and xRFM's; no comparison where one of xRFM's is not known."""
    ours = {what: mean(one[what] for one in runs) for what in ("error", "seconds")}
    theirs = ratio = None
    if all(one["xrfm"] is not None for one in runs):
        theirs = {what: mean(one["xrfm"][what] for one in runs) for what in ours}
        ratio = ours["error"] / theirs["error"]
    errors = [one["error"] for one in runs]
    return {**ours, "errors": errors, "xrfm": theirs, "ratio": ratio}


def _first_rows(split: Split, number: int, rows: int | None) -> Split:
    """Training rows in the order of this split's number, the first ``rows`` of them."""
    order = np.random.default_rng(number).permutation(len(split.X_train))[:rows]
    return replace(split, X_train=split.X_train[order], y_train=split.y_train[order])


def _model(task: str, family: Any, n_components: float, scales: str | None) -> Any:
    kind = rs.SpanRegressor if task == "regression" else rs.SpanClassifier
    return kind(family, n_components, scales=scales, random_state=0, n_jobs=1)


def _synthetic(sizes: Sizes) -> list[dict[str, Any]]:
    """y = sin 2x₀ + x₁x₂ + N(0, 0.3²), and 27 columns that do not matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((sizes.synthetic_rows, COLUMNS))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X))
    found = []
    for family, k in ((rs.Fourier("matern52"), sizes.cosines), (rs.Bins(), sizes.grids)):
        model = _model("regression", family, k, "learn").fit(X, y)
        shares = model.scale_shares_
        share = float(shares[list(RELEVANT)].sum())
        found.append(
            {"family": type(family).__name__, "share": share, "importances": shares.tolist()}
        )
    return found


# -- xRFM ------------------------------------------------------------------------------------------


def _peer() -> tuple[Peer | None, str]:
    """Where xRFM's numbers come from, and a remark that says so."""
    path = os.environ.get("RANDSPAN_XRFM")
    if path:
        known = {
            (one["set"], one["split"], None if one["all_rows"] else one["rows"]): {
                "error": float(one["error"]),
                "seconds": float(one["seconds"]),
            }
            for one in json.loads(Path(path).read_text())
            if one["method"] == "xrfm"
        }
        return lambda which, number, rows, split: known.get((which, number, rows)), (
            f"numbers measured before, from {Path(path).name}"
        )
    if find_spec("xrfm"):
        return _xrfm, "run here, defaults, a fifth of the rows for validation"
    return None, "LEFT OUT, not installed, and RANDSPAN_XRFM names no file with its numbers"


def _xrfm(which: str, number: int, rows: int | None, split: Split) -> dict[str, float]:
    """One fit of xRFM with its defaults, X and y standardised, in float32 on one thread."""
    import torch
    from xrfm import xRFM

    torch.set_num_threads(1)
    if rows is None:  # few rows come in this order already
        split = _first_rows(split, number, None)
    X, y = split.X_train, split.y_train
    cut = len(X) - len(X) // 5
    centre, deviation = X[:cut].mean(axis=0), X[:cut].std(axis=0)
    deviation[deviation == 0] = 1
    X, X_test = ((part - centre) / deviation for part in (X, split.X_test))
    if split.task == "classification":
        classes, target = np.unique(y, return_inverse=True)
        target = target.astype(np.int64)
    else:
        middle, width = y[:cut].mean(), y[:cut].std()
        target = ((y - middle) / width).astype(np.float32)
    start = time.perf_counter()
    model = xRFM(device="cpu", random_state=0, verbose=False)
    model.fit(X[:cut], target[:cut], X[cut:], target[cut:])
    seconds = time.perf_counter() - start
    found = np.asarray(model.predict(X_test.astype(np.float32))).ravel()
    predicted = classes[found] if split.task == "classification" else middle + width * found
    return {"error": split.error(predicted), "seconds": seconds}


if __name__ == "__main__":
    path = Path(sys.argv[1])
    print(*figures(json.loads(path.read_text())["result"], path.parent), sep="\n")
