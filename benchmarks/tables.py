"""Tables as people have them: missing values, categories and dates, beside what others do.

Holes: a fifth of all cells of four tables are knocked out at random, 5,000 rows to learn. Ours
beside scikit-learn's imputer with indicators in front of ours, and HistGradientBoosting, which
takes holes as they are. Informative holes: a column that is missing where the target is high,
beside the same column with an indicator handed in.

Categories: Adult, COMPAS and bike sharing as data frames. Our families with our columns, with
columns encoded by hand (one-hot, imputed, dates as numbers), with skrub's TableVectorizer; LightGBM
and CatBoost with their own categories.

Many levels: 10,000 of them, with an effect and without, beside a fit that is told the effects with
as much noise as their rows leave.

Every error comes with its standard error on the test rows, and ours with `validation_`, which
should be within two standard errors of it. ``python -m benchmarks.tables rules`` prints what the
rules for columns of 0 and 1, and for many levels, were chosen by.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import randspan as rs
from randspan import datasets

from . import report
from .data import Missing
from .tabular import SETS

name = "tables"
slow = True

HOLED = ("pol", "cal_housing", "kin40k", "magic")
ROWS, HOLES = 5_000, 0.2
# Rules were chosen with split 0: others judge them.
SPLITS = (1, 2, 3)
# A small set whose errors hardly differ takes more of them.
MORE_SPLITS = {"COMPAS": range(1, 13)}
FAMILIES: dict[str, Callable[[], Any]] = {"fourier": lambda: "fourier", "trees": rs.Trees}
LEVELS, KNOWN = 10_000, "effects known up to noise"


def run(quick: bool) -> dict[str, Any]:
    parts = {"holes": _holes, "told": _told, "categories": _categories, "levels": _levels}
    return report.in_parts(parts, quick)


def text(result: dict[str, Any]) -> str:
    texts = {
        "holes": _table_text("A fifth of all cells missing"),
        "told": _told_text,
        "categories": _table_text("Categories and dates"),
        "levels": _levels_text,
    }
    return "\n\n".join([*report.of_parts(result, texts), report.bars(result["bars"])])


# -- fits ------------------------------------------------------------------------------------------


def judged(model: Any, X, y, X_test, y_test, classes: bool) -> dict[str, Any]:
    """The error on test rows (% wrong, RMSE) with its standard error, and our own estimate."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y)
        seconds = time.perf_counter() - start
        predicted = model.predict(X_test)
    predicted = np.asarray(predicted).reshape(len(y_test))
    wrong = predicted != y_test if classes else (predicted - y_test) ** 2
    mean, spread = float(np.mean(wrong)), float(np.std(wrong)) / np.sqrt(len(wrong))
    found = {"seconds": seconds}
    found["error"] = 100 * mean if classes else float(np.sqrt(mean))
    found["standard_error"] = 100 * spread if classes else spread / (2 * np.sqrt(mean))
    own = getattr(model, "validation_", None)
    if own is not None and own.error is not None:
        found |= _beside_own(model, own, X_test, y_test, classes, predicted)
    return found


def _beside_own(model, own, X_test, y_test, classes: bool, predicted) -> dict[str, Any]:
    """`validation_` beside the same error on test rows: mean squares, of ±1 columns for classes."""
    if classes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scores = model.decision_function(X_test)
        columns = np.where(y_test == model.classes_[1], 1.0, -1.0)
        if scores.ndim > 1:
            columns = np.where(y_test[:, None] == model.classes_, 1.0, -1.0)
        squares = (scores - columns) ** 2
        squares = squares if squares.ndim == 1 else squares.mean(axis=1)
    else:
        squares = (predicted - y_test) ** 2
    tested = float(squares.mean())
    doubt = float(np.hypot(squares.std() / np.sqrt(len(squares)), own.standard_error or 0.0))
    return {
        "validated": own.error,
        "validated_error": own.standard_error,
        "tested": tested,
        "apart": abs(own.error - tested) / doubt,
    }


def ours(family: str, classes: bool, **options: Any) -> Any:
    kind = rs.SpanClassifier if classes else rs.SpanRegressor
    return kind(FAMILIES[family](), random_state=0, **options)


def boosted(classes: bool) -> Any:
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(random_state=0)


# -- holes -----------------------------------------------------------------------------------------


def knocked_out(X: np.ndarray, share: float, seed: list[int]) -> np.ndarray:
    out = X.astype(np.float64).copy()
    out[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return out


def holed(which: str, split: int, rows: int, share: float = HOLES) -> tuple[Any, ...]:
    data = SETS[which](split)
    order = np.random.default_rng(split).permutation(len(data.X_train))[:rows]
    X, X_test = (
        knocked_out(part, share, [split, i])
        for i, part in enumerate((data.X_train[order], data.X_test))
    )
    return X, data.y_train[order], X_test, data.y_test, data.task == "classification"


def _holes(quick: bool) -> dict[str, Any]:
    rows = 150 if quick else ROWS
    found = []
    for which in HOLED[1:2] if quick else HOLED:
        for split in SPLITS[:1] if quick else SPLITS:
            data = holed(which, split, rows)
            classes = data[-1]
            imputed = partial(SimpleImputer, add_indicator=True)
            methods = {
                "ours": ours("fourier", classes),
                "imputer, ours": make_pipeline(imputed(), ours("fourier", classes)),
                "ours, trees": ours("trees", classes),
                "imputer, trees": make_pipeline(imputed(), ours("trees", classes)),
                "HistGradientBoosting": boosted(classes),
            }
            runs = {who: judged(model, *data) for who, model in methods.items()}
            found.append({"set": which, "split": split, "runs": runs})
    return {"sets": found, "bars": _holes_bars(found)}


def _holes_bars(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def ahead(other: str) -> int:
        sets = {one["set"] for one in found}
        return sum(_mean(found, w, "ours") <= _mean(found, w, other) for w in sets)

    sets = len({one["set"] for one in found})
    return [
        report.bar(
            "holes: sets at most HistGradientBoosting's error",
            ahead("HistGradientBoosting"),
            ">=",
            3,
        ),
        report.bar("holes: sets at most the imputer's error", ahead("imputer, ours"), ">=", sets),
        _honest("holes", found),
    ]


def _mean(found: list[dict[str, Any]], which: str, who: str) -> float:
    errors = [one["runs"][who]["error"] for one in found if one["set"] == which]
    return float(np.mean(errors))


def _honest(what: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """The share of our fits whose estimate is within two standard errors of the test error.

    Of a level's rows those to learn from see one more than those to test: where effects are known
    by counts, the error of the first is no estimate of the others.
    """
    apart = [
        run["apart"]
        for one in found
        for who, run in one["runs"].items()
        if "apart" in run and not who.startswith(KNOWN)
    ]
    told = f"{what}: share of {len(apart)} estimates within two standard errors"
    told += f" (largest {max(apart):.1f})"
    return report.bar(told, float(np.mean(np.array(apart) <= 2)), ">=", 0.95)


def _told(quick: bool) -> dict[str, Any]:
    """A column that is missing exactly where the target is high."""
    n = 300 if quick else 6_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)
    high = y > np.quantile(y, 0.8)
    holes = X.copy()
    holes[high, 2] = np.nan
    told = np.column_stack([np.where(high, 0.0, X[:, 2]), X[:, [0, 1, 3]], high])
    half = n // 2
    runs = {}
    for family in FAMILIES:
        for who, rows in (("holes", holes), ("told", told)):
            parts = (rows[:half], y[:half], rows[half:], y[half:])
            runs[f"{family}, {who}"] = judged(ours(family, False), *parts, False)
    bars = []
    for family in FAMILIES:
        pair = [runs[f"{family}, {who}"] for who in ("holes", "told")]
        doubt = pair[1]["error"] + 2 * pair[1]["standard_error"]
        bars.append(report.bar(f"informative holes, {family}: RMSE", pair[0]["error"], "<=", doubt))
    return {"runs": runs, "bars": bars}


def _told_text(found: dict[str, Any]) -> str:
    rows = [
        (who, f"{one['error']:.4f}", f"{one['standard_error']:.4f}")
        for who, one in found["runs"].items()
    ]
    title = "A column that is missing where the target is high, or with an indicator handed in"
    return f"{title}\n\n{report.table(('', 'RMSE', '±'), rows)}"


# -- categories ------------------------------------------------------------------------------------

FRAMES: dict[str, Callable[[], Any]] = {
    "Adult": lambda: datasets.load_adult("frame"),
    "COMPAS": lambda: datasets.load_compas("frame"),
    "bike": lambda: datasets.load_bike_hour("frame"),
}


def framed(which: str, rows: int | None, split: int = 0) -> tuple[Any, ...]:
    """The set as it comes (split 0), or with as many other rows to learn from and to test."""
    import pandas as pd

    try:
        data = FRAMES[which]()
    except datasets.DataError as error:
        raise Missing(str(error)) from None
    n = len(data.X_train)
    X = pd.concat([data.X_train, data.X_test], ignore_index=True)
    y = np.concatenate([data.y_train, data.y_test])
    order = np.random.default_rng(split).permutation(len(X) if split else n)
    train = order[:n][: rows or n]
    test = (order[n:] if split else np.arange(n, len(X)))[:rows]
    parts = (X.iloc[train], y[train], X.iloc[test], y[test])
    return *parts, data.task == "classification"


def by_hand() -> Any:
    """One-hot categories, imputed and standardised numbers, dates as numbers."""
    dates = make_pipeline(FunctionTransformer(_as_numbers), SimpleImputer(), StandardScaler())
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    strings = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=5, sparse_output=False
    )
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (dates, make_column_selector(dtype_include="datetime")),
        (strings, make_column_selector(dtype_exclude=["number", "datetime"])),
    )


def _as_numbers(X):
    return X.apply(lambda column: column.astype("int64").where(column.notna())).astype("float64")


def _categories(quick: bool) -> dict[str, Any]:
    found = []
    cases = [(which, split) for which in FRAMES for split in MORE_SPLITS.get(which, SPLITS[:2])]
    for which, split in [("COMPAS", 1)] if quick else cases:
        data = framed(which, 150 if quick else None, split)
        classes = data[-1]
        runs = {}
        for family in FAMILIES:
            runs[f"ours, {family}"] = judged(ours(family, classes), *data)
            plain = ours(family, classes, standardize=False)
            runs[f"by hand, {family}"] = judged(make_pipeline(by_hand(), plain), *data)
            if find_spec("skrub"):
                from skrub import TableVectorizer

                model = make_pipeline(TableVectorizer(), ours(family, classes))
                runs[f"skrub, {family}"] = judged(model, *data)
        runs |= {who: judged(model, *data) for who, model in _peers(data[0], classes).items()}
        found.append({"set": which, "split": split, "runs": runs})
    bars = [_honest("categories", found)]
    for which in dict.fromkeys(one["set"] for one in found):
        best = {
            who: min(_mean(found, which, f"{who}, {family}") for family in FAMILIES)
            for who in ("ours", "by hand")
        }
        bars.append(report.bar(f"{which}: our error", best["ours"], "<=", best["by hand"]))
    return {"sets": found, "bars": bars}


class _Prepared:
    """A peer that is handed its categories in the form that it wants."""

    def __init__(self, model: Any, form: str, classes: bool):
        self.model, self.form, self.classes = model, form, classes

    def fit(self, X, y):
        self.levels = {c: X[c].astype("category").cat.categories for c in X if _named(X[c])}
        self.model.fit(self._formed(X), y, **self._options())
        return self

    def predict(self, X):
        return self.model.predict(self._formed(X))

    def _options(self) -> dict[str, Any]:
        return {"cat_features": list(self.levels)} if self.form == "strings" else {}

    def _formed(self, X):
        import pandas as pd

        X = X.copy()
        for column in X:
            if column in self.levels and self.form == "strings":
                X[column] = X[column].astype(object).where(X[column].notna(), "missing")
            elif column in self.levels:
                known = X[column].where(X[column].isin(self.levels[column]), None)
                X[column] = pd.Categorical(known, categories=self.levels[column])
            elif X[column].dtype.kind == "M":
                X[column] = _as_numbers(X[[column]])[column]
        return X


def _named(column) -> bool:
    return column.dtype.kind not in "fiubM"


def _peers(X, classes: bool) -> dict[str, Any]:
    found = {"HistGradientBoosting": _Prepared(boosted(classes), "categories", classes)}
    found["HistGradientBoosting"].model.set_params(categorical_features="from_dtype", max_bins=255)
    if any(X[column].nunique() > 255 for column in X if _named(X[column])):
        del found["HistGradientBoosting"]  # it takes at most 255 levels
    if find_spec("lightgbm"):
        import lightgbm

        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        found["LightGBM"] = _Prepared(kind(verbose=-1, random_state=0), "categories", classes)
    if find_spec("catboost"):
        import catboost

        kind = catboost.CatBoostClassifier if classes else catboost.CatBoostRegressor
        plain = kind(verbose=False, random_seed=0, allow_writing_files=False)
        found["CatBoost"] = _Prepared(plain, "strings", classes)
    return found


# -- many levels -----------------------------------------------------------------------------------


def many_levels(
    n: int, levels: int, effect: float, seed: int
) -> tuple[Any, np.ndarray, np.ndarray]:
    """A frame with two numbers and a category, the targets, and the effect of every row's level."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    of_level = effect * rng.normal(size=levels)
    level = rng.integers(0, levels, n)
    X = rng.normal(size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + of_level[level] + 0.5 * rng.normal(size=n)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "level": [f"L{i}" for i in level]})
    return frame, y, of_level[level]


def _levels(quick: bool) -> dict[str, Any]:
    n, levels = (400, 40) if quick else (100_000, LEVELS)
    found, bars = [], []
    for effect in (1.0, 0.0):
        frame, y, own = many_levels(2 * n, levels, effect, 0)
        train, test = slice(0, n), slice(n, 2 * n)
        # What rows of a level leave open of its effect: the deviation within levels, by √count.
        rng = np.random.default_rng(1)
        count = frame["level"][train].value_counts()
        within = float(np.std(y - own))
        noise = {lev: rng.normal() * within / np.sqrt(c) for lev, c in count.items()}
        shrunk = {lev: effect**2 / (effect**2 + within**2 / c) for lev, c in count.items()}
        known = frame[["a", "b"]].copy()
        known["effect"] = [
            shrunk.get(lev, 0.0) * (o + noise.get(lev, 0.0))
            for lev, o in zip(frame["level"], own, strict=True)
        ]
        runs = {}
        for family in FAMILIES:
            variants = {
                "ours": frame,
                "effects known up to noise": known,
                "without it": frame[["a", "b"]],
            }
            for who, rows in variants.items():
                if who == KNOWN and not effect:
                    continue
                parts = (rows[train], y[train], rows[test], y[test])
                runs[f"{who}, {family}"] = judged(ours(family, False), *parts, False)
            beside = KNOWN if effect else "without it"
            limit = 1.02 * runs[f"{beside}, {family}"]["error"]
            told = "with an effect" if effect else "without effect"
            error = runs[f"ours, {family}"]["error"]
            bars.append(report.bar(f"many levels {told}, {family}: RMSE", error, "<=", limit))
        found.append({"effect": effect, "runs": runs, "set": f"effect {effect:g}"})
        if not effect:
            for family in FAMILIES:
                own_error, plain = (runs[f"{who}, {family}"] for who in ("ours", "without it"))
                if "validated" in plain:
                    doubt = np.hypot(own_error["validated_error"], plain["validated_error"])
                    lower = (plain["validated"] - own_error["validated"]) / doubt
                    told = f"no leak, {family}: validation error lower by, standard errors"
                    bars.append(report.bar(told, lower, "<=", 2))
    return {"rows": n, "levels": levels, "sets": found, "bars": [*bars, _honest("levels", found)]}


def _levels_text(found: dict[str, Any]) -> str:
    title = f"{found['levels']:,} levels, {found['rows']:,} rows"
    return f"{title}\n\n{_table_text('')(found)}"


def _table_text(title: str) -> Callable[[dict[str, Any]], str]:
    def written(found: dict[str, Any]) -> str:
        rows = [
            (
                one["set"],
                str(one.get("split", "")),
                who,
                f"{run['error']:.4g}",
                f"{run['standard_error']:.2g}",
                report.number(run["seconds"]),
                f"{run['validated']:.4g}" if "validated" in run else "-",
                f"{run['tested']:.4g}" if "tested" in run else "-",
                f"{run['apart']:.1f}" if "apart" in run else "-",
            )
            for one in found["sets"]
            for who, run in one["runs"].items()
        ]
        head = ("", "split", "", "error", "±", "fit s", "validation_", "on test rows", "apart")
        return f"{title}\n\n{report.table(head, rows)}"

    return written


# -- what rules were chosen by ---------------------------------------------------------------------


def rules() -> None:
    """Errors with other units of columns of 0 and 1, and with fewer or more levels one-hot."""
    from randspan.tables import columns, encoders

    def error(data) -> float:
        return judged(ours("fourier", data[-1]), *data)["error"]

    sets = {which: framed(which, 3_000) for which in FRAMES}
    sets |= {f"{which}, holes": holed(which, 0, 3_000) for which in HOLED}
    for what, values in RULES.items():
        module = columns if hasattr(columns, what) else encoders
        before = getattr(module, what)
        for value in values:
            setattr(module, what, value)
            found = {which: error(data) for which, data in sets.items()}
            print(what, value, {w: round(e, 4) for w, e in found.items()}, flush=True)
        setattr(module, what, before)


RULES = {
    "LEVEL": (0.3, 0.5, 0.7, 1.0, np.nan),
    "FLAG": (0.1, 0.3, 0.7, 1.0, np.nan),
    "MOST_LEVELS": (2, 10, 20, 30, 50),
}

if __name__ == "__main__" and sys.argv[1:] == ["rules"]:
    rules()
