"""`SpanRegressor()` and `SpanClassifier()` as called by a new user, beside what else one would use.

Four parts. *sets*: twelve tables, 5,000 training rows and all rows up to 50,000, three splits. In
the same process, one after the other: ours, histogram gradient boosting, LightGBM,
``RBFSampler(gamma=1/d)`` with 1,000 functions on standardised columns and a ridge chosen by
cross-validation, support vectors on standardised columns (up to 10,000 rows), everybody with
defaults. What the default was before it was rewritten is read from ``default_before.json`` beside
this file (``python -m benchmarks.default before`` writes it, in a checkout of that time).
Differences of errors are judged by their paired standard error over test rows.

*alpha*: leave-one-out and generalised cross-validation beside the best alpha on test data, set by
set and family by family. *kernel*: the exact machine beside scikit-learn's KernelRidge. *ranges*:
predictions far beyond the range of the targets, clipped and not.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import randspan as rs

from . import data, report, tabular
from .data import Split
from .harness import apart, measure

name = "default"
slow = True

BEFORE = Path(__file__).with_name("default_before.json")
SPLITS = range(3)
SIZES = (5_000, 50_000)
MOST_TEST = 20_000
# Support vectors take time quadratic in the rows.
MOST_SVM = 10_000
ALPHAS = np.logspace(-6, 3, 19)
OURS, BOOSTING, RANDOM = "randspan", "HistGradientBoosting", "RBFSampler + RidgeCV"

SETS: dict[str, Callable[[int], Split]] = {
    **{
        which: tabular.SETS[which]
        for which in (
            *("pol", "elevators", "cal_housing", "bike_hour", "kin40k", "protein", "ailerons"),
            *("magic", "letter"),
        )
    },
    "CPU": lambda split: data.cpu(),
    "a9a": lambda split: data.a9a(),
    "Forest": lambda split: data.forest(split=split),
}


def loaded(which: str, rows: int, split: int) -> Split:
    """At most ``rows`` training rows of a set, drawn with the split's number as the seed.

    Sets that come with splits of their own have ten; from there on only the rows differ.
    """
    found = SETS[which](split % 10)
    chosen = np.random.default_rng(split).permutation(len(found.X_train))[:rows]
    return replace(
        found,
        X_train=np.ascontiguousarray(found.X_train[chosen], dtype=np.float64),
        y_train=found.y_train[chosen],
        X_test=np.ascontiguousarray(found.X_test[:MOST_TEST], dtype=np.float64),
        y_test=found.y_test[:MOST_TEST],
    )


def ours(task: str, split: int) -> Any:
    kind = rs.SpanRegressor if task == "regression" else rs.SpanClassifier
    return kind(random_state=split)


def peers(split: Split, seed: int) -> dict[str, Callable[[], Any]]:
    """What else one would call without arguments."""
    regression, (n, d) = split.task == "regression", split.X_train.shape
    sampler = RBFSampler(gamma=1 / d, n_components=1_000, random_state=seed)
    if regression:
        boosting, ridge = HistGradientBoostingRegressor(random_state=seed), RidgeCV(ALPHAS)
        support: Any = TransformedTargetRegressor(SVR(), transformer=StandardScaler())
    else:
        boosting = HistGradientBoostingClassifier(random_state=seed)
        ridge, support = RidgeClassifierCV(ALPHAS), SVC()
    found = {
        BOOSTING: lambda: boosting,
        RANDOM: lambda: make_pipeline(StandardScaler(), sampler, ridge),
    }
    if find_spec("lightgbm"):
        import lightgbm

        light = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
        found["LightGBM"] = lambda: light(random_state=seed, verbose=-1)
    if n <= MOST_SVM:
        found["support vectors"] = lambda: make_pipeline(StandardScaler(), support)
    return found


def on_split(which: str, rows: int, number: int, with_peers: bool = True) -> dict[str, Any]:
    """Everybody on one split; losses of test rows are compared row by row."""
    split = loaded(which, rows, number)
    _warm_up(split)
    entries = {OURS: lambda: ours(split.task, number)}
    if with_peers:
        entries |= peers(split, number)
    found, losses = {}, {}
    for entry, build in entries.items():
        model = build()
        found[entry] = measure(model, split)
        predicted = model.predict(split.X_test)
        wrong = split.task == "classification"
        losses[entry] = (
            (predicted != split.y_test).astype(float) if wrong else (predicted - split.y_test) ** 2
        )
        if entry == OURS:
            found[entry] |= described(model)
        apart_by = losses[entry] - losses[OURS]
        found[entry]["behind"] = float(apart_by.mean())
        found[entry]["behind_error"] = float(apart_by.std() / np.sqrt(len(apart_by)))
    return {"task": split.task, "rows": len(split.X_train), "entries": found}


def described(model: Any) -> dict[str, Any]:
    return {
        "n_components": str(model.n_components_),
        "alpha": float(model.alpha_),
        "solver": model.solution_.solver,
    }


def _warm_up(split: Split) -> None:
    few = split.tiny(300)
    ours(split.task, 0).fit(few.X_train, few.y_train).predict(few.X_test)


def run(
    quick: bool, parts: tuple[str, ...] = ("sets", "alpha", "kernel", "ranges")
) -> dict[str, Any]:
    result = report.in_parts({name: PARTS[name] for name in parts}, quick)
    result["absent"] = {} if find_spec("lightgbm") else {"LightGBM": "not installed"}
    return result


def sets(quick: bool, names: tuple[str, ...] = (), sizes=SIZES, splits=SPLITS) -> dict[str, Any]:
    """Ours, the peers and the former default, set by set."""
    names = names or tuple(SETS)
    if quick:
        names, sizes, splits = ("pol", "magic"), (300,), range(1)
    before = json.loads(BEFORE.read_text()) if BEFORE.exists() else {}
    found: list[dict[str, Any]] = []
    for which in names:
        for rows in sizes:
            here = [
                apart("benchmarks.default", which, rows, number, here=on_split if quick else None)
                for number in splits
            ]
            one = summary(which, rows, here, before.get(f"{which} {rows}"))
            print(json.dumps(one), file=sys.stderr, flush=True)  # the whole takes long
            found.append(one)
    return {"sets": found, "bars": [] if quick else bars(found)}


def summary(
    which: str, rows: int, splits: list[dict[str, Any]], before: dict[str, Any] | None
) -> dict[str, Any]:
    """One set at one size: means over splits."""
    entries = {}
    for entry in splits[0]["entries"]:
        runs = [one["entries"][entry] for one in splits]
        entries[entry] = {
            "error": float(np.mean([r["error"] for r in runs])),
            "seconds": median(r["fit_seconds"] for r in runs),
            "slowest": max(r["fit_seconds"] for r in runs),
            "peak_mb": max(r["peak_mb"] for r in runs),
            "behind": float(np.mean([r["behind"] for r in runs])),
            "behind_error": float(
                np.sqrt(np.sum([r["behind_error"] ** 2 for r in runs])) / len(runs)
            ),
        }
    mine = [one["entries"][OURS] for one in splits]
    return {
        "name": which,
        "size": rows,
        "rows": splits[0]["rows"],
        "task": splits[0]["task"],
        "entries": entries,
        "chosen": [(r["n_components"], r["alpha"], r["solver"]) for r in mine],
        # of the same splits
        "before": None if before is None else float(np.mean(before["errors"][: len(mine)])),
        "now": float(
            np.mean([r["error"] for r in mine[: len((before or {"errors": []})["errors"])]])
        )
        if before
        else None,
    }


def _mean_error(runs: list[dict[str, Any]]) -> float:
    return float(np.mean([run["error"] for run in runs]))


def bars(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is promised of the default."""
    promises: list[dict[str, Any]] = []
    here = found
    few = [one for one in here if one["size"] == SIZES[0]]
    many = [one for one in here if one["size"] == SIZES[1]]
    bar = report.bar
    if few:
        seconds = [one["entries"][OURS]["slowest"] for one in few]
        middle = median(one["entries"][OURS]["seconds"] for one in few)
        promises += [
            bar("5,000 rows: median seconds", middle, "<=", 4),
            bar("5,000 rows: largest seconds", max(seconds), "<=", 8),
        ]
    if many:
        seconds = [one["entries"][OURS]["slowest"] for one in many]
        promises.append(bar("up to 50,000 rows: largest seconds", max(seconds), "<=", 40))
    if here:
        peak = max(one["entries"][OURS]["peak_mb"] for one in here)
        promises.append(bar("peak beyond X, MB", peak, "<=", 1000))
    ratios = [one["now"] / one["before"] for one in here if one["before"]]
    if ratios:
        promises += [
            bar("error beside the former default: worst set", max(ratios), "<=", 1.02),
            bar("the same: geometric mean", geometric_mean(ratios), "<=", 0.75),
        ]
    if here:
        behind = [
            -one["entries"][RANDOM]["behind"] / (one["entries"][RANDOM]["behind_error"] or 1)
            for one in here
        ]
        ahead = [one["entries"][OURS]["error"] < one["entries"][BOOSTING]["error"] for one in here]
        promises += [
            bar(f"worse than {RANDOM}: paired standard errors", max(behind), "<=", 2),
            bar(f"share of sets better than {BOOSTING}", float(np.mean(ahead)), ">=", 0.5),
        ]
    return promises


def text_of_sets(result: dict[str, Any]) -> str:
    rows = []
    for one in result["sets"]:
        mine = one["entries"][OURS]["error"]
        for entry, numbers in one["entries"].items():
            chosen = one["chosen"][0]
            rows.append(
                (
                    one["name"],
                    str(one["rows"]),
                    entry,
                    f"{numbers['error']:.4g}",
                    f"{numbers['error'] / mine:.3f}",
                    f"{numbers['seconds']:.2f}",
                    f"{numbers['peak_mb']:.0f}",
                    f"k={chosen[0]}, {chosen[2]}" if entry == OURS else "",
                )
            )
        if one["before"]:
            error, ratio = one["before"], one["before"] / one["now"]
            known = (one["name"], str(one["rows"]), "before", f"{error:.4g}", f"{ratio:.3f}")
            rows.append((*known, "", "", ""))
    head = ("set", "rows", "", "error", "beside ours", "fit s", "peak MB", "chosen")
    return report.table(head, rows)


# -- alpha -----------------------------------------------------------------------------------------

GRID = 10.0 ** np.arange(-7, 3.5, 0.5)
DENSE: dict[str, Callable[[], rs.families.Family]] = {
    "Fourier": lambda: rs.Fourier(),
    "Fourier matern32": lambda: rs.Fourier("matern32"),
    "Stumps": lambda: rs.Stumps(),
    "Units": lambda: rs.Units(),
    "Bumps": lambda: rs.Bumps(),
    "Networks": lambda: rs.Networks(),
}


def alpha(quick: bool, rows: int = 3_000, k: int = 500) -> dict[str, Any]:
    """Squared errors on test rows beside those at the best alpha of a grid."""
    names, families = tuple(SETS), dict(DENSE)
    if quick:
        names, rows, k, families = ("pol",), 200, 40, {"Fourier": DENSE["Fourier"]}
    found = []
    for which in names:
        split = loaded(which, rows, 0)
        numbers = split.task == "regression"
        for name, family in families.items():
            kind = rs.SpanRegressor if numbers else rs.SpanClassifier
            model = kind(family(), k, scales=None, clip=None, random_state=0)
            model.fit(split.X_train, split.y_train)

            def error(alpha, model=model, split=split, kind=kind, numbers=numbers) -> float:
                other = kind(frame=model.frame_, alpha=alpha, clip=None)
                other.fit(split.X_train, split.y_train)
                if numbers:
                    return float(np.mean((other.predict(split.X_test) - split.y_test) ** 2))
                scores = other.decision_function(split.X_test)
                truth = np.where(split.y_test[:, None] == other.classes_, 1.0, -1.0)
                truth = truth[:, 1] if scores.ndim == 1 else truth
                return float(np.mean((scores - truth) ** 2))

            best = min(error(alpha) for alpha in GRID)
            ratios = {rule: error(rule) / best for rule in ("leave_one_out", "gcv")}
            found.append({"set": which, "family": name, **ratios})
    near = {
        rule: float(np.mean([one[rule] <= 1.01 for one in found]))
        for rule in ("leave_one_out", "gcv")
    }
    promise = report.bar(
        "share of pairs within 1 % of the best alpha", near["leave_one_out"], ">=", 0.85
    )
    return {"pairs": found, "near": near, "bars": [] if quick else [promise]}


def text_of_alpha(result: dict[str, Any]) -> str:
    rows = [
        (one["set"], one["family"], f"{one['leave_one_out']:.4f}", f"{one['gcv']:.4f}")
        for one in result["pairs"]
    ]
    table = report.table(("set", "family", "leave-one-out", "gcv"), rows)
    near = ", ".join(f"{rule} {share:.2f}" for rule, share in result["near"].items())
    return f"squared error beside that of the best alpha\n\n{table}\n\nwithin 1 %: {near}"


# -- the kernel machine ----------------------------------------------------------------------------


def kernel(quick: bool, rows: int = 5_000, turns: int = 3) -> dict[str, Any]:
    """Seconds of a fit beside KernelRidge, in turns."""
    if quick:
        rows, turns = 200, 1
    split = loaded("pol", rows, 0)
    X = StandardScaler().fit_transform(split.X_train)
    y, gamma = split.y_train - split.y_train.mean(), 1 / X.shape[1]
    exact = rs.Fourier(gamma=gamma)
    entries = {
        "KernelRidge": lambda: KernelRidge(alpha=0.1, kernel="rbf", gamma=gamma),
        "ours, alpha=0.1": lambda: rs.SpanRegressor(exact, np.inf, alpha=0.1, standardize=False),
        "ours, alpha chosen": lambda: rs.SpanRegressor(exact, np.inf, standardize=False),
    }
    seconds: dict[str, list[float]] = {name: [] for name in entries}
    for _ in range(turns + 1):  # the first is to warm up
        for name, build in entries.items():
            start = time.perf_counter()
            build().fit(X, y)
            seconds[name].append(time.perf_counter() - start)
    least = {name: min(runs[1:]) for name, runs in seconds.items()}
    peer = least["KernelRidge"]
    given, chosen = least["ours, alpha=0.1"] / peer, least["ours, alpha chosen"] / peer
    promises = [
        report.bar("kernel machine beside KernelRidge, alpha given", given, "<=", 1.3),
        report.bar("the same, alpha chosen", chosen, "<=", 4),
    ]
    return {"seconds": least, "bars": [] if quick else promises}


def text_of_kernel(result: dict[str, Any]) -> str:
    rows = [(name, f"{seconds:.2f}") for name, seconds in result["seconds"].items()]
    return report.table(("5,000 rows", "s"), rows)


# -- ranges ----------------------------------------------------------------------------------------

SPREAD: dict[str, Callable[[], Any]] = {
    "default": lambda: "fourier",
    "Stumps": lambda: rs.Stumps(),
    "Units": lambda: rs.Units(),
    "Bumps": lambda: rs.Bumps(),
    "Bins": lambda: rs.Bins(),
}
FAR = 3.0


def ranges(quick: bool, rows: int = 2_000, splits: int = 200) -> dict[str, Any]:
    """Predictions beyond three times the range of y, and fits that are worse than the mean."""
    names = tuple(name for name in SETS if name not in ("magic", "letter", "a9a", "Forest"))
    families = dict(SPREAD)
    if quick:
        names, rows, splits, families = ("pol",), 150, 1, {"Stumps": SPREAD["Stumps"]}
    counts = {name: {"free": 0, "clipped": 0, "predictions": 0, "worst": 0.0} for name in families}
    for number in range(splits):
        split = loaded(names[number % len(names)], rows, number // len(names))
        y, truth = split.y_train, split.y_test
        for name, family in families.items():
            k = "auto" if name == "default" else 30 if name == "Bins" else 200
            model = rs.SpanRegressor(family(), k, random_state=number).fit(split.X_train, y)
            clipped = model.predict(split.X_test)
            free = model.set_params(clip=None).predict(split.X_test)
            reach = FAR * np.ptp(y)
            here = counts[name]
            middle = (y.max() + y.min()) / 2
            here["free"] += int((np.abs(free - middle) > reach).sum())
            here["clipped"] += int((np.abs(clipped - middle) > reach).sum())
            here["predictions"] += len(truth)
            mean = float(np.mean((truth - y.mean()) ** 2))
            here["worst"] = max(here["worst"], float(np.mean((truth - clipped) ** 2)) / mean)
    beyond = sum(one["clipped"] for one in counts.values())
    worst = max(one["worst"] for one in counts.values())
    promises = [
        report.bar("predictions beyond three times the range", beyond, "<=", 0),
        report.bar("the worst fit beside the mean", worst, "<=", 1.05),
    ]
    return {"families": counts, "splits": splits, "bars": [] if quick else promises}


def text_of_ranges(result: dict[str, Any]) -> str:
    rows = [
        (
            name,
            *(str(one[what]) for what in ("predictions", "free", "clipped")),
            f"{one['worst']:.3f}",
        )
        for name, one in result["families"].items()
    ]
    head = (
        "family",
        "predictions",
        "far out, clip=None",
        "far out, default",
        "worst beside the mean",
    )
    return report.table(head, rows)


PARTS = {"sets": sets, "alpha": alpha, "kernel": kernel, "ranges": ranges}
TEXTS = {
    "sets": text_of_sets,
    "alpha": text_of_alpha,
    "kernel": text_of_kernel,
    "ranges": text_of_ranges,
}


def text(result: dict[str, Any]) -> str:
    texts = {name: TEXTS[name] for name in TEXTS if name in result}
    absent = [f"{who}: SKIPPED, {why}" for who, why in result["absent"].items()]
    return "\n\n".join([*report.of_parts(result, texts), *absent, report.bars(result["bars"])])


def record_before(sets: list[str], sizes: list[int], splits: list[int], path: str) -> None:
    """The errors of the default as it is in this checkout."""
    file = Path(path)
    known = json.loads(file.read_text()) if file.exists() else {}
    for rows in sizes:
        for which in sets:
            runs = [
                apart("benchmarks.default", which, rows, number, False)["entries"][OURS]
                for number in splits
            ]
            known[f"{which} {rows}"] = {
                "errors": [run["error"] for run in runs],
                "seconds": [round(run["fit_seconds"], 2) for run in runs],
                "n_components": [run["n_components"] for run in runs],
            }
            file.write_text(json.dumps(known, indent=1) + "\n")
            print(which, rows, known[f"{which} {rows}"], flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "before":
        record_before(*json.loads(sys.argv[2]))
    else:
        print(json.dumps(on_split(*json.loads(sys.argv[1]))))
