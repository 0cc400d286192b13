"""`feature_importances_` beside permutation importances on new rows, family by family.

*agreement*: twelve tables (those of `default`), at most 2,000 training rows. For every family and
"auto" the rank correlation of `feature_importances_`, which are found from training rows alone,
with ``sklearn.inspection.permutation_importance`` of the fitted model on test rows, by accuracy or
R², and by log-loss for classes. Beside it stands what could be reached: with the correlation r of
the permutation importances of two halves of the test rows, those of all have the reliability 2r/(1
+ r) (Spearman and Brown 1910), and importances without any error would correlate with them by
√(2r/(1 + r)). Columns whose exchange changes errors of new rows by chance only are ranked by
chance, so that tables with many such columns (a9a) have small ones. *selection*: what
`SelectFromModel` keeps of diabetes. *time*: seconds of the attribute, of many columns.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import permutation_importance

import randspan as rs

from . import report
from .default import SETS, loaded

name = "importances"
slow = True

ROWS, NEW_ROWS, REPEATS = 2_000, 2_000, 2

FAMILIES: dict[str, Callable[[], dict[str, Any]]] = {
    "default": dict,
    "Fourier": lambda: {"family": rs.Fourier(), "n_components": 500},
    "Stumps": lambda: {"family": rs.Stumps(), "n_components": 500},
    "Units": lambda: {"family": rs.Units(), "n_components": 500},
    "Bumps": lambda: {"family": rs.Bumps(), "n_components": 500},
    "Bins": lambda: {"family": rs.Bins(), "n_components": 50},
    "Projections": lambda: {"family": rs.Projections(), "n_components": 300},
    "KernelExpansions": lambda: {
        "family": rs.KernelExpansions(coefficients="nystrom"),
        "n_components": 500,
    },
    "Networks": lambda: {"family": rs.Networks(), "n_components": 300},
    "Trees": lambda: {"family": rs.Trees(), "n_components": 100},
    "BrownianSheets": lambda: {"family": rs.BrownianSheets(grid="sparse"), "n_components": 100},
    "auto": lambda: {"family": "auto", "effort": "fast"},
}


def run(quick: bool, parts: tuple[str, ...] = ("agreement", "selection", "time")) -> dict[str, Any]:
    return report.in_parts({name: PARTS[name] for name in parts}, quick)


def agreement(
    quick: bool, sets: tuple[str, ...] = (), families: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Rank correlations, set by set and family by family."""
    sets, families, rows, new = sets or tuple(SETS), families or tuple(FAMILIES), ROWS, NEW_ROWS
    if quick:
        sets, families, rows, new = ("cal_housing", "magic"), ("Fourier", "Trees"), 300, 300
    found = []
    for which in sets:
        for family in families:
            one = {"set": which, "family": family} | _compared(which, family, rows, new)
            print(json.dumps(one), file=sys.stderr, flush=True)  # the whole takes long
            found.append(one)
    means = {
        family: float(np.mean([one["correlation"] for one in found if one["family"] == family]))
        for family in families
    }
    promises = [
        report.bar(f"rank correlation with permutations of new rows: {family}", mean, ">=", 0.9)
        for family, mean in means.items()
    ]
    return {"fits": found, "means": means, "bars": [] if quick else promises}


def _compared(which: str, family: str, rows: int, new: int) -> dict[str, Any]:
    split = loaded(which, rows, 0)
    numbers = split.task == "regression"
    kind = rs.SpanRegressor if numbers else rs.SpanClassifier
    model = kind(random_state=0, **FAMILIES[family]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.X_train, split.y_train)
        start = time.perf_counter()
        ours = model.feature_importances_
        seconds = time.perf_counter() - start
        X, y = split.X_test[:new], split.y_test[:new]
        scoring = ["r2"] if numbers else ["accuracy", "neg_log_loss"]
        halves = [
            permutation_importance(
                model, X[half::2], y[half::2], scoring=scoring, n_repeats=REPEATS, random_state=0
            )
            for half in range(2)
        ]
    theirs = {score: [half[score].importances_mean for half in halves] for score in scoring}
    by_score = {score: _correlation(ours, sum(parts)) for score, parts in theirs.items()}
    reached = {score: _correlation(*parts) for score, parts in theirs.items()}
    usual = scoring[-1]  # accuracy counts the few rows that change sides
    return {
        "columns": X.shape[1],
        "correlation": by_score[usual],
        "halves": reached[usual],
        "ceiling": _ceiling(reached[usual]),
        "by_accuracy": by_score[scoring[0]],
        "seconds": seconds,
    }


def _correlation(one: Any, other: Any) -> float:
    return float(spearmanr(one, other)[0])


def _ceiling(halves: float) -> float:
    """√(2r/(1 + r)): what importances without errors would correlate by with those of all rows."""
    r = max(halves, 0.0)
    return float(np.sqrt(2 * r / (1 + r)))


def text_of_agreement(result: dict[str, Any]) -> str:
    fits = result["fits"]
    families = list(result["means"])
    sets = list(dict.fromkeys(one["set"] for one in fits))
    known = {(one["set"], one["family"]): one for one in fits}

    def lines(field: str) -> list[tuple[str, ...]]:
        every = [
            (which, *(f"{known[which, family][field]:.3f}" for family in families))
            for which in sets
        ]
        of_family = [[one[field] for one in fits if one["family"] == family] for family in families]
        means = ("mean", *(f"{np.mean(values):.3f}" for values in of_family))
        medians = ("median", *(f"{median(values):.3f}" for values in of_family))
        return [*every, means, medians]

    head = ("set", *families)
    titles = {
        "correlation": "rank correlation with permutations of new rows (R², log-loss)",
        "halves": "the same of permutations of two halves of the new rows",
        "ceiling": "what importances without errors would reach, √(2r/(1 + r)) for those r",
        "by_accuracy": "rank correlation with permutations of new rows (R², accuracy)",
        "seconds": "seconds of the attribute",
    }
    tables = [f"{title}\n\n{report.table(head, lines(field))}" for field, title in titles.items()]
    return "\n\n".join(tables)


def selection(quick: bool) -> dict[str, Any]:
    """The columns of diabetes that are kept, by the usual threshold: the mean importance."""
    data = load_diabetes(as_frame=True)
    families = ("default", "Trees") if quick else tuple(FAMILIES)
    kept = {}
    for family in families:
        model = rs.SpanRegressor(random_state=0, **FAMILIES[family]())
        selector = SelectFromModel(model).fit(data.data, data.target)
        kept[family] = selector.get_feature_names_out().tolist()
    share = float(np.mean(["bmi" in names for names in kept.values()]))
    return {"kept": kept, "bars": [report.bar("families that keep bmi", share, ">=", 1.0)]}


def text_of_selection(result: dict[str, Any]) -> str:
    rows = [(family, ", ".join(names)) for family, names in result["kept"].items()]
    return report.table(("family", "columns of diabetes that are kept"), rows)


def seconds(quick: bool) -> dict[str, Any]:
    """Seconds of the attribute of wide tables, of which three columns matter."""
    rng = np.random.default_rng(0)
    sizes = (20, 200) if quick else (20, 200, 2_000, 10_000)
    found = []
    for d in sizes:
        X = rng.normal(size=(100 if quick else 2_000, d))
        y = 2 * X[:, 0] + X[:, d // 2] + X[:, d - 1]
        for family in ("Fourier", "Trees"):
            parameters = FAMILIES[family]()
            if family == "Trees":
                parameters = {"family": rs.Trees(max_features=d // 3), "n_components": 20}
            model = rs.SpanRegressor(random_state=0, **parameters).fit(X, y)
            start = time.perf_counter()
            importances = model.feature_importances_
            took = time.perf_counter() - start
            first = set(np.argsort(-importances)[:3].tolist()) == {0, d // 2, d - 1}
            found.append({"family": family, "columns": d, "seconds": took, "found": first})
    largest = max(one["seconds"] for one in found)
    promises = [report.bar("seconds, of up to 10,000 columns", largest, "<=", 60)]
    return {"fits": found, "bars": [] if quick else promises}


def text_of_seconds(result: dict[str, Any]) -> str:
    rows = [
        (one["family"], str(one["columns"]), f"{one['seconds']:.2f}", str(one["found"]))
        for one in result["fits"]
    ]
    return report.table(("family", "columns", "seconds", "the three first"), rows)


PARTS: dict[str, Callable[[bool], dict[str, Any]]] = {
    "agreement": agreement,
    "selection": selection,
    "time": seconds,
}
TEXTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "agreement": text_of_agreement,
    "selection": text_of_selection,
    "time": text_of_seconds,
}


def text(result: dict[str, Any]) -> str:
    known = {what: written for what, written in TEXTS.items() if what in result}
    return "\n\n".join([*report.of_parts(result, known), report.bars(result["bars"])])
