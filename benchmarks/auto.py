"""`SpanRegressor("auto")` and `SpanClassifier("auto")` beside what else one would use.

*sets*: twelve tables, 5,000 training rows and all rows up to 50,000, three splits; LightGBM,
CatBoost, HistGradientBoosting and extra trees with their defaults, in the same process, one after
the other. *tables*: Adult, COMPAS and bike sharing as data frames, and three tables with a fifth of
all cells missing. *forest*: Forest Cover with seven classes, 522,911 rows. *again*: the same seed
once more, and on one thread.

Differences of errors are judged by their paired standard error over test rows; `validation_` by the
same error on test rows, in standard errors of their difference; intervals by how many test rows
they cover, and by their interval score beside that of constant width.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

import randspan as rs
from randspan import predictions

from . import memory, report, tables
from .data import forest as forest_cover
from .default import SETS, SIZES, SPLITS, loaded
from .harness import apart

name = "auto"
slow = True

OURS, FAST = "auto", "auto, fast"
CATBOOST, LIGHTGBM, BOOSTING = "CatBoost", "LightGBM", "HistGradientBoosting"
COVERAGE, FEW_TO_COVER = 0.9, 2_000
FRAMES = ("Adult", "COMPAS", "bike")
HOLED = ("cal_housing", "pol", "magic")
# With exact kernels and turned inputs; with functions and a stage; with classes.
AGAIN = (("protein", 5_000), ("cal_housing", 50_000), ("bike_hour", 50_000), ("letter", 5_000))


def ours(classes: bool, effort: str = "balanced") -> Any:
    kind = rs.SpanClassifier if classes else rs.SpanRegressor
    return kind("auto", effort=effort, random_state=0)


def peers(classes: bool, plain: bool) -> dict[str, Callable[[], Any]]:
    """What else one would call without arguments; ``plain`` where all columns are numbers."""
    boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    found: dict[str, Callable[[], Any]] = {BOOSTING: lambda: boosting(random_state=0)}
    if plain:
        extra = ExtraTreesClassifier if classes else ExtraTreesRegressor
        found["extra trees"] = lambda: extra(random_state=0, n_jobs=-1)
    if find_spec("lightgbm"):
        import lightgbm

        light = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        found[LIGHTGBM] = lambda: light(random_state=0, verbose=-1)
    if find_spec("catboost"):
        import catboost

        cat = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
        found[CATBOOST] = lambda: cat(verbose=False, random_seed=0, allow_writing_files=False)
    return found


# -- one split -------------------------------------------------------------------------------------


def on_split(which: str, rows: int, number: int) -> dict[str, Any]:
    split = loaded(which, rows, number)
    few = split.tiny(300)
    classes = split.task == "classification"
    ours(classes).fit(few.X_train, few.y_train).predict(few.X_test)  # compiled code is loaded
    builds = {
        OURS: lambda: ours(classes),
        FAST: lambda: ours(classes, "fast"),
        **peers(classes, plain=True),
    }
    return compared(builds, split.X_train, split.y_train, split.X_test, split.y_test, classes)


def compared(builds: dict[str, Callable[[], Any]], X, y, X_test, y_test, classes: bool) -> Any:
    """Errors, seconds and peaks; how far everybody is behind ours."""
    found: dict[str, Any] = {}
    losses: dict[str, np.ndarray] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for who, build in builds.items():
            model = build()
            with memory.peak_beyond_resident() as extra:
                start = time.perf_counter()
                model.fit(X, y)
                fitted = time.perf_counter()
            predicted = np.asarray(model.predict(X_test)).reshape(len(y_test))
            seconds = time.perf_counter() - fitted
            losses[who] = _losses(predicted, y_test, classes)
            found[who] = {
                "error": _error(losses[who], classes),
                "fit_seconds": fitted - start,
                "predict_seconds": seconds,
                "peak_mb": extra.megabytes,
            }
            behind = losses[who] - losses[OURS]
            found[who]["behind"] = float(behind.mean())
            found[who]["behind_error"] = float(behind.std() / np.sqrt(len(behind)))
            if who == OURS:
                found[who] |= looked_into(model, X_test, y_test, classes)
    return {"rows": len(y), "tested": len(y_test), "classes": classes, "entries": found}


def _losses(predicted, truth, classes: bool) -> np.ndarray:
    return (predicted != truth).astype(float) if classes else (predicted - truth) ** 2


def _error(losses: np.ndarray, classes: bool) -> float:
    return float(100 * losses.mean() if classes else np.sqrt(losses.mean()))


def looked_into(model: Any, X_test, y_test, classes: bool) -> dict[str, Any]:
    """Its models one by one, its estimate of the error, its intervals."""
    engine, source = model._engine(), model._check_X(X_test)
    members = []
    for one in model._model.models:
        scores = predictions.scores(one, source, engine)
        said = model._known_classes.decided(scores) if classes else scores[:, 0]
        members.append(_error(_losses(said, y_test, classes), classes))
    own = model.validation_
    if classes:
        scores = np.asarray(model.decision_function(X_test)).reshape(len(y_test), -1)
        labels = model.classes_[1:] if scores.shape[1] == 1 else model.classes_
        squares = ((scores - np.where(y_test[:, None] == labels, 1.0, -1.0)) ** 2).mean(axis=1)
    else:
        squares = (model.predict(X_test) - y_test) ** 2
    doubt = np.hypot(squares.std() / np.sqrt(len(squares)), own.standard_error)
    found = {
        "members": members,
        "staged": bool(model._model.staged),
        "portfolio": [[one.name, one.error, one.weight, one.seconds] for one in model.portfolio_],
        "apart": float(abs(squares.mean() - own.error) / doubt),
    }
    return found if classes else found | intervals(model, X_test, y_test)


def intervals(model: Any, X_test, y_test) -> dict[str, Any]:
    """The share of test rows that intervals cover, and their score beside constant width."""
    lower, upper = model.predict_interval(X_test, COVERAGE)
    source, engine = model._check_X(X_test), model._engine()
    middle = predictions.scores(model._model, source, engine)[:, 0]
    low, high = model._model.spread.constant(COVERAGE)[:, 0]
    ends = middle + low, middle + high
    return {
        "covered": float(np.mean((lower <= y_test) & (y_test <= upper))),
        "interval_ratio": _interval_score(lower, upper, y_test) / _interval_score(*ends, y_test),
    }


def _interval_score(lower, upper, y) -> float:
    outside = np.maximum(lower - y, 0) + np.maximum(y - upper, 0)
    return float(np.mean(upper - lower + 2 / (1 - COVERAGE) * outside))


# -- parts -----------------------------------------------------------------------------------------


def run(
    quick: bool, parts: Iterable[str] = ("sets", "tables", "forest", "again")
) -> dict[str, Any]:
    result = report.in_parts({part: PARTS[part] for part in parts}, quick)
    wanted = {"lightgbm": LIGHTGBM, "catboost": CATBOOST}
    result["absent"] = [who for package, who in wanted.items() if not find_spec(package)]
    return result


def sets(quick: bool, names: Iterable[str] = (), sizes=SIZES, splits=SPLITS) -> dict[str, Any]:
    names = list(names or SETS)
    if quick:
        names, sizes, splits = ["pol"], (200,), range(1)
    found = []
    for which in names:
        for size in sizes:
            for number in splits:
                one = apart(
                    "benchmarks.auto", which, size, number, here=on_split if quick else None
                )
                one |= {"set": which, "size": size, "split": number}
                print(json.dumps(one), file=sys.stderr, flush=True)  # the whole takes long
                found.append(one)
    return {"runs": found, "bars": [] if quick else bars(found)}


def bars(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is promised."""
    bar, promises = report.bar, []

    def of(one: dict[str, Any], who: str, what: str) -> float:
        return one["entries"][who][what]

    def ratio(one: dict[str, Any], who: str, beside: str = OURS) -> float:
        return max(of(one, beside, "error"), 1e-9) / max(of(one, who, "error"), 1e-9)

    def better(who: str) -> float:
        return float(np.mean([ratio(one, who) <= 1 for one in found]))

    for who, share in ((LIGHTGBM, 0.8), (BOOSTING, 0.8), (CATBOOST, 0.65)):
        if all(who in one["entries"] for one in found):
            promises.append(
                bar(f"share of set × split pairs better than {who}", better(who), ">=", share)
            )
    if all(CATBOOST in one["entries"] for one in found):
        every = [ratio(one, CATBOOST) for one in found]
        few = [ratio(one, CATBOOST) for one in found if one["rows"] < 10_000]
        promises.append(
            bar(f"error beside {CATBOOST}, geometric mean", geometric_mean(every), "<=", 0.92)
        )
        if few:
            promises.append(bar("the same below 10,000 rows", geometric_mean(few), "<=", 0.8))
        total = [sum(of(one, who, "fit_seconds") for one in found) for who in (OURS, CATBOOST)]
        promises.append(bar(f"time in total beside {CATBOOST}", total[0] / total[1], "<=", 3))
    worst = max(of(one, OURS, "error") / max(min(of(one, OURS, "members")), 1e-9) for one in found)
    promises.append(bar("beside the best single model, at worst", worst, "<=", 1.03))
    for what, limit, chosen in (
        ("below 10,000 rows", 10, [one for one in found if one["rows"] < 10_000]),
        ("up to 50,000 rows", 60, found),
    ):
        if chosen:
            most = max(of(one, OURS, "fit_seconds") for one in chosen)
            promises.append(bar(f"seconds {what}, at most", most, "<=", limit))
            fast = max(of(one, FAST, "fit_seconds") for one in chosen)
            promises.append(bar(f"seconds {what}, fast", fast, "<=", limit / 3))
    more = geometric_mean([ratio(one, OURS, FAST) for one in found])
    promises.append(bar("error of fast beside balanced, geometric mean", more, "<=", 1.1))
    honest = float(np.mean([of(one, OURS, "apart") <= 2 for one in found]))
    promises.append(bar("validation_ within two standard errors", honest, ">=", 0.85))
    covered = [
        of(one, OURS, "covered")
        for one in found
        if not one["classes"] and one["tested"] >= FEW_TO_COVER
    ]
    if covered:
        promises.append(bar("intervals cover, least", min(covered), ">=", 0.88))
        promises.append(bar("intervals cover, most", max(covered), "<=", 0.92))
        scores = [of(one, OURS, "interval_ratio") for one in found if not one["classes"]]
        promises.append(bar("interval score beside constant width, worst", max(scores), "<=", 1.0))
    return promises


def text_of_sets(result: dict[str, Any]) -> str:
    rows = []
    for one in result["runs"]:
        mine = one["entries"][OURS]
        for who, numbers in one["entries"].items():
            sure = abs(numbers["behind"]) > 2 * numbers["behind_error"]
            rows.append(
                (one["set"], f"{one['rows']}", f"{one['split']}", who, f"{numbers['error']:.4g}",
                 f"{mine['error'] / max(numbers['error'], 1e-9):.3f}", "" if sure else "tie",
                 f"{numbers['fit_seconds']:.1f}", f"{numbers['peak_mb']:.0f}",
                 _told(numbers) if who == OURS else "")
            )  # fmt: skip
    head = (
        "set",
        "rows",
        "split",
        "",
        "error",
        "ours beside it",
        "",
        "fit s",
        "peak MB",
        "weights",
    )
    return report.table(head, rows)


def _told(numbers: dict[str, Any]) -> str:
    return ", ".join(
        f"{candidate} {weight:.2f}" for candidate, _, weight, _ in numbers["portfolio"] if weight
    )


# -- tables as people have them --------------------------------------------------------------------


def of_tables(quick: bool) -> dict[str, Any]:
    found, promises = [], []
    for which in ("COMPAS",) if quick else FRAMES:
        data = tables.framed(which, 200 if quick else None)
        classes = data[-1]
        builds = {OURS: lambda classes=classes: ours(classes)}
        for who, model in tables._peers(data[0], classes).items():
            builds[who] = lambda model=model: model
        one = compared(builds, *data) | {"set": which, "split": 0}
        found.append(one)
        if which == "Adult":
            error = one["entries"][OURS]["error"]
            promises.append(report.bar("Adult as it comes: % wrong", error, "<=", 13.5))
    for which in () if quick else HOLED:
        data = tables.holed(which, 1, 5_000)
        classes = data[-1]
        builds = {OURS: lambda classes=classes: ours(classes), **peers(classes, plain=False)}
        found.append(compared(builds, *data) | {"set": f"{which}, holes", "split": 1})
    return {"runs": found, "bars": promises}


# -- half a million rows ---------------------------------------------------------------------------


def on_forest(rows: int | None) -> dict[str, Any]:
    split = forest_cover(rows, seven=True)
    with memory.peak_beyond_resident() as extra:
        start = time.perf_counter()
        model = ours(True).fit(split.X_train, split.y_train)
        seconds = time.perf_counter() - start
    error = split.error(model.predict(split.X_test))
    return {
        "rows": len(split.y_train), "error": error, "seconds": seconds,
        "peak_mb": extra.megabytes, "whole_mb": memory.peak() / 1e6,
        "portfolio": repr(model.portfolio_),
    }  # fmt: skip


def of_forest(quick: bool) -> dict[str, Any]:
    rows = 600 if quick else None
    found = apart("benchmarks.auto", rows, here=on_forest if quick else None)
    promises = [
        report.bar("Forest Cover, 7 classes: % wrong", found["error"], "<=", 2.4),
        report.bar("the same: seconds", found["seconds"], "<=", 240),
        report.bar("the same: GB", found["whole_mb"] / 1e3, "<=", 4),
    ]
    return {**found, "bars": [] if quick else promises}


def text_of_forest(found: dict[str, Any]) -> str:
    known = f"{found['rows']:,} rows: {found['error']:.2f} % wrong, {found['seconds']:.0f} s, "
    return f"{known}{found['whole_mb'] / 1e3:.1f} GB\n\n{found['portfolio']}"


# -- the same seed ---------------------------------------------------------------------------------


def again(quick: bool) -> dict[str, Any]:
    """The same seed twice on all threads, and on one: bits, portfolios, predictions."""
    found: list[dict[str, Any]] = []
    for which, size in (("pol", 200),) if quick else AGAIN:
        split = loaded(which, size, 0)
        classes = split.task == "classification"
        models = [
            ours(classes).set_params(n_jobs=jobs).fit(split.X_train, split.y_train)
            for jobs in (None, None, 1)
        ]
        said = [
            one.decision_function(split.X_test) if classes else one.predict(split.X_test)
            for one in models
        ]
        first, _, alone = ([c.name for c in one.portfolio_ if c.weight] for one in models)
        found.append({
            "set": which, "rows": len(split.y_train), "bits": bool((said[0] == said[1]).all()),
            "portfolio": first == alone,
            "apart": float(np.abs(said[0] - said[2]).max() / np.abs(said[0]).max()),
        })  # fmt: skip
    same, alike = (min(one[what] for one in found) for what in ("bits", "portfolio"))
    promises = [
        report.bar("same seed and threads: same bits", float(same), ">=", 1),
        report.bar("one thread: the same portfolio", float(alike), ">=", 1),
        report.bar("one thread: predictions apart", max(o["apart"] for o in found), "<=", 1e-8),
    ]
    return {"runs": found, "bars": promises}


def text_of_again(found: dict[str, Any]) -> str:
    rows = [
        (
            one["set"],
            f"{one['rows']}",
            f"{one['bits']}",
            f"{one['portfolio']}",
            f"{one['apart']:.1e}",
        )
        for one in found["runs"]
    ]
    return report.table(("set", "rows", "same bits", "one thread: same", "apart"), rows)


PARTS = {"sets": sets, "tables": of_tables, "forest": of_forest, "again": again}
TEXTS = {
    "sets": text_of_sets,
    "tables": text_of_sets,
    "forest": text_of_forest,
    "again": text_of_again,
}


def text(result: dict[str, Any]) -> str:
    texts = {part: TEXTS[part] for part in TEXTS if part in result}
    absent = [f"{who}: SKIPPED, not installed" for who in result["absent"]]
    return "\n\n".join([*report.of_parts(result, texts), *absent, report.bars(result["bars"])])


# What candidates are drawn as, by how their names begin or end.
DRAWN = {
    "trees after": ("o", "tab:orange", "none", "trees after a kernel"),
    "trees": ("o", "tab:orange", "tab:orange", "trees"),
    "linear": ("s", "tab:gray", "tab:gray", "linear"),
    "laplacian": ("^", "tab:green", "tab:green", "kernel, L1 distance"),
    "stable p=1": ("^", "tab:green", "tab:green", "kernel, L1 distance"),
    "": ("D", "tab:blue", "tab:blue", "kernel, Euclidean distance"),
}


def figures(result: dict[str, Any], folder: Path) -> list[Path]:
    """Left-out errors of candidates on all rows, beside that of the best, set by set."""
    from matplotlib.figure import Figure

    runs = [one for one in result.get("sets", {}).get("runs", []) if one["split"] == 0]
    if not runs:
        return []
    drawn = Figure(figsize=(7, 1.2 + 0.26 * len(runs)), layout="constrained")
    axis, known = drawn.subplots(), {}
    for height, one in enumerate(reversed(runs)):
        tried = [c for c in one["entries"][OURS]["portfolio"] if c[3] > 0]
        least = min(error for _, error, _, _ in tried)
        for candidate, error, weight, _ in tried:
            mark, edge, fill, label = next(
                form for begin, form in DRAWN.items() if candidate.startswith(begin)
            )
            size = 16 + 90 * min(weight, 1.0)
            known[label] = axis.scatter(
                error / least, height, size, marker=mark, edgecolors=edge, facecolors=fill
            )
    axis.set_yticks(
        range(len(runs)), [f"{one['set']}, {one['rows']:,}" for one in reversed(runs)], fontsize=8
    )
    axis.set(xscale="log", xlim=(0.95, 8), xlabel="squared error of rows left out, beside the best")
    axis.set_xticks([1, 1.5, 2, 3, 5, 8], ["1", "1.5", "2", "3", "5", "8"])
    axis.minorticks_off()
    axis.grid(axis="x", alpha=0.3)
    drawn.legend(known.values(), known.keys(), loc="outside lower center", ncols=3, fontsize=8)
    file = folder / "which_family.png"
    drawn.savefig(file, dpi=120)
    return [file]


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    print(json.dumps(on_split(*arguments) if len(arguments) > 1 else on_forest(*arguments)))
