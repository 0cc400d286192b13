"""Random hypotheses: trees beside extra-trees, networks, kernel expansions.

Trees: a hundred of them on nine tables, several splits. Weights from rows that trees have not seen
(``alpha="auto"``) stand beside scikit-learn's extra-trees with its defaults, and beside other
things one may do with random trees: the mean of the same trees; their in-sample least squares; the
setting of Cao and Lan's code (``max_features=1``, in-sample least squares); the ridge on leaves.

Networks: a hundred networks of 20 units, 100,000 × 50 rows in float32, beside the bare product of
the same shapes and one pass of the activation, both on one thread, in turns.

Expansions: 200,000 × 54 rows, 2,000 anchors, 1,000 functions, alpha by cross-validation and as a
number, beside scikit-learn's Nystroem and Ridge, each fit in a process of its own: ``python -m
benchmarks.hypotheses`` with the settings as JSON; ``python -m benchmarks.hypotheses '["trees",
{"sets": ["letter"]}]'`` grows trees on some of the tables.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import randspan as rs

from . import report
from .data import Split, smooth
from .harness import WARM_ROWS, apart, measure
from .tabular import SETS

name = "hypotheses"
slow = True

TREES, SPLITS = 100, 5
# Rows, columns, networks, units.
NETWORKS = (100_000, 50, 100, 20)
EXPANSIONS = {"rows": 200_000, "columns": 54, "anchors": 2_000, "functions": 1_000}
OURS, PEER = "out-of-bag weights", "extra-trees"


def run(quick: bool) -> dict[str, Any]:
    parts = {"trees": _trees, "networks": _networks, "expansions": _expansions}
    return report.in_parts(parts, quick)


def text(result: dict[str, Any]) -> str:
    texts = {"trees": _trees_text, "networks": _networks_text, "expansions": _expansions_text}
    return "\n\n".join([*report.of_parts(result, texts), report.bars(result["bars"])])


# -- trees ---------------------------------------------------------------------------------------


def _trees(quick: bool, sets: Sequence[str] = tuple(SETS)) -> dict[str, Any]:
    sets, splits = (("elevators", "magic"), 1) if quick else (sets, SPLITS)
    count = 10 if quick else TREES
    found = []
    for which in sets:
        runs = []
        for split in range(splits):
            data = SETS[which](split)
            runs.append(_on_split(data.thinned(300) if quick else data, count, split))
        one = {"set": which, "rows": len(data.X_train), "columns": data.X_train.shape[1]}
        one |= {"max_features": [r.pop("max_features") for r in runs], "runs": runs}
        found.append(one)
        print(f"{which}: {json.dumps(one)}", file=sys.stderr, flush=True)  # the whole takes long
    met = sum(_ratio(one, OURS) <= 1.01 for one in found)
    bar = report.bar("tables within 1.01 × extra-trees", met, ">=", 6)
    return {"trees": count, "splits": splits, "sets": found, "bars": [bar]}


def _on_split(data: Split, count: int, seed: int) -> dict[str, Any]:
    """Errors and seconds of everything on one split."""
    classes = data.task == "classification"
    ours = rs.SpanClassifier if classes else rs.SpanRegressor
    peer = ExtraTreesClassifier if classes else ExtraTreesRegressor
    options = {"random_state": seed}
    found = {
        PEER: _timed(peer(count, n_jobs=-1, **options), data),
        OURS: _timed(model := ours(rs.Trees(), count, **options), data),
    }
    # What a ridge beyond all bounds leaves: the mean of the same trees, rescaled by nothing.
    same = {"frame": model.frame_}
    even = ours(solver="out_of_bag", alpha=1e15, **same)
    found["the same trees: their mean"] = _timed(even, data)
    found["the same trees: in-sample"] = _timed(ours(alpha=0, **same), data)
    paper = rs.Trees(max_features=1)
    found["max_features=1: in-sample"] = _timed(ours(paper, count, alpha=0, **options), data)
    leaves = rs.Trees(output="leaves", max_features=model.frame_.trained.max_features)
    found["leaves, ridge"] = _timed(ours(leaves, count, **options), data)
    found["max_features"] = int(model.frame_.trained.max_features)
    return found


def _timed(model: Any, data: Split) -> dict[str, float]:
    found = measure(model, data)
    return {"error": found["error"], "seconds": found["fit_seconds"]}


def _ratio(one: dict[str, Any], what: str) -> float:
    """The mean error of a contestant beside that of extra-trees."""
    errors = [[run[who]["error"] for run in one["runs"]] for who in (what, PEER)]
    return mean(errors[0]) / mean(errors[1])


def _trees_text(found: dict[str, Any]) -> str:
    kinds = [who for who in found["sets"][0]["runs"][0] if who != PEER]
    rows = []
    for one in found["sets"]:
        errors = [run[PEER]["error"] for run in one["runs"]]
        seconds = (mean(run[who]["seconds"] for run in one["runs"]) for who in (PEER, OURS))
        rows.append(
            (
                one["set"],
                report.number(mean(errors)),
                *(f"{_ratio(one, who):.3f}" for who in kinds),
                "/".join(map(str, sorted(set(one["max_features"])))),
                *map(report.number, seconds),
            )
        )
    header = (
        *("", PEER, *(f"({i + 1})" for i in range(len(kinds)))),
        *("columns tried", "extra-trees s", "ours s"),
    )
    legend = "; ".join(f"({i + 1}) {who}" for i, who in enumerate(kinds))
    title = (
        f"{found['trees']} trees, mean of {found['splits']} split(s); errors of extra-trees (RMSE, "
        f"% wrong), and ratios to them:\n{legend}"
    )
    return f"{title}\n\n{report.table(header, rows)}"


# -- networks ------------------------------------------------------------------------------------


def _networks(quick: bool) -> dict[str, Any]:
    n, d, k, units = (2_000, 10, 5, 20) if quick else NETWORKS
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    functions = rs.Networks((units,)).draw(X[:WARM_ROWS], k, 0)
    directions = rng.standard_normal((d, k * units), dtype=np.float32)

    def floor() -> None:
        for start in range(0, n, 1024):  # a block whose values stay near the cache, as for ours
            values = X[start : start + 1024] @ directions
            np.maximum(values, 0, out=values)

    def ours() -> None:
        for start in range(0, n, 8192):
            functions(X[start : start + 8192])

    with threadpool_limits(1):
        seconds = _in_turns({"ours": ours, "floor": floor}, 1 if quick else 7)
    ratio = min(seconds["ours"]) / min(seconds["floor"])
    bar = report.bar("networks: seconds beside the floor", ratio, "<=", 1.5)
    return {"shape": [n, d, k, units], "seconds": seconds, "ratio": ratio, "bars": [bar]}


def _in_turns(runs: dict[str, Callable[[], None]], times: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {who: [] for who in runs}
    for run in runs.values():
        run()
    for _ in range(times):
        for who, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[who].append(time.perf_counter() - start)
    return seconds


def _networks_text(found: dict[str, Any]) -> str:
    n, d, k, units = found["shape"]
    rows = [(who, *map(report.number, (min(s), max(s)))) for who, s in found["seconds"].items()]
    title = f"{k} networks of {units} units on {n:,} × {d} rows, one thread:"
    return f"{title}\n\n{report.table(('', 'best s', 'worst s'), rows)}"


# -- many rows -----------------------------------------------------------------------------------


def _expansions(quick: bool) -> dict[str, Any]:
    size = {"rows": 3_000, "columns": 5, "anchors": 50, "functions": 30} if quick else EXPANSIONS
    who = ("ours", "ours, one alpha", "ours, nystrom", "nystroem")

    def fit(who: str, here: bool) -> dict[str, Any]:
        run = _one if here else None
        return apart("benchmarks.hypotheses", "expansions", {"who": who, **size}, here=run)

    turns = [
        fit(one, here=quick and one != "ours") for _ in range(1 if quick else 2) for one in who
    ]
    best = {
        one: min((t for t in turns if t["who"] == one), key=lambda t: t["fit_seconds"])
        for one in who
    }
    bars = [
        report.bar("expansions: seconds of a fit", best["ours"]["fit_seconds"], "<", 60),
        report.bar("expansions: MB beyond X", best["ours"]["peak_mb"], "<", 1500),
    ]
    return {"size": size, "fits": list(best.values()), "all": turns, "bars": bars}


def expansions(who: str, rows: int, columns: int, anchors: int, functions: int) -> dict[str, Any]:
    """One fit, and its error on new rows."""
    X, y = smooth(rows, columns, 0)
    X_test, y_test = smooth(10_000, columns, 1)
    data = Split("regression", X, X_test, y, y_test)
    gamma = 1 / columns
    drawn = rs.KernelExpansions(gamma=gamma, anchors=anchors)
    nystrom = rs.KernelExpansions(gamma=gamma, coefficients="nystrom")
    build: dict[str, Callable[[], Any]] = {
        "ours": lambda: rs.SpanRegressor(drawn, functions, random_state=0),
        "ours, one alpha": lambda: rs.SpanRegressor(drawn, functions, alpha=1.0, random_state=0),
        "ours, nystrom": lambda: rs.SpanRegressor(nystrom, functions, alpha=1.0, random_state=0),
        "nystroem": lambda: make_pipeline(
            Nystroem(gamma=gamma, n_components=functions, random_state=0), Ridge(alpha=1.0)
        ),
    }
    few = data.head(WARM_ROWS)
    build[who]().fit(few.X_train, few.y_train).predict(few.X_test)
    model = build[who]()
    found = {"who": who, **measure(model, data)}
    if who.startswith("ours"):
        found["solver"] = f"{model.solution_.solver}, alpha {model.alpha_:.3g}"
    return found


def _one(what: str, settings: dict[str, Any]) -> dict[str, Any]:
    return expansions(**settings)


def _expansions_text(found: dict[str, Any]) -> str:
    size, ours = found["size"], found["fits"][0]["fit_seconds"]
    rows = [
        (
            fit["who"],
            *map(report.number, (fit["fit_seconds"], fit["fit_seconds"] / ours)),
            *map(report.number, (fit["predict_seconds"], fit["error"], fit["peak_mb"])),
            fit.get("solver", ""),
        )
        for fit in found["fits"]
    ]
    title = (
        f"{size['rows']:,} × {size['columns']} rows, {size['functions']:,} functions; expansions "
        f"of {size['anchors']:,} anchors, Nyström of as many anchors as functions:"
    )
    header = ("", "fit s", "× ours", "predict s", "RMSE", "peak MB", "solver")
    return f"{title}\n\n{report.table(header, rows)}"


if __name__ == "__main__":
    what, settings = json.loads(sys.argv[1])
    if what == "trees":
        print(_trees_text(_trees(False, **settings)))
    else:
        print(json.dumps(_one(what, settings)))
