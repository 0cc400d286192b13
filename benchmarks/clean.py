"""Small clean tables: what learned scales are worth beside equal ones.

Tables of scikit-learn, a hundred to six hundred rows, whose columns somebody has chosen with care:
there is little that learned scales could add, and much that they could lose. Ten splits in halves
(stratified for classes); errors on the other half are the log-loss of probabilities, or the mean
squared error in shares of the variance. A difference from equal scales is told with its standard
error over the splits: nothing may be behind by more than that.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import randspan as rs

from . import report

name = "clean"
slow = True

SPLITS = 10
EQUAL = "equal scales"
CALLS: dict[str, dict[str, Any]] = {
    EQUAL: {"scales": None},
    "default": {},
    "auto": {"family": "auto"},
}
TABLES: dict[str, tuple[Callable, bool]] = {
    "breast cancer": (datasets.load_breast_cancer, True),
    "wine": (datasets.load_wine, True),
    "iris": (datasets.load_iris, True),
    "diabetes": (datasets.load_diabetes, False),
}


def errors(table: str, split: int) -> dict[str, float]:
    """The error of every call on one half, fitted on the other."""
    load, classes = TABLES[table]
    X, y = load(return_X_y=True)
    halves = train_test_split(
        X, y, test_size=0.5, random_state=split, stratify=y if classes else None
    )
    X_train, X_test, y_train, y_test = halves
    model = rs.SpanClassifier if classes else rs.SpanRegressor
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for who, parameters in CALLS.items():
            fitted = model(random_state=split, **parameters).fit(X_train, y_train)
            if classes:
                found[who] = float(log_loss(y_test, fitted.predict_proba(X_test)))
            else:
                found[who] = 1 - float(fitted.score(X_test, y_test))
    return found


def run(quick: bool, splits: int = SPLITS) -> dict[str, Any]:
    names, splits = (["iris"], 1) if quick else (list(TABLES), splits)
    tables = [
        {"table": table, "errors": [errors(table, split) for split in range(splits)]}
        for table in names
    ]
    return {"tables": tables, "bars": [] if quick else bars(tables)}


def behind(drawn: list[dict[str, float]], who: str) -> tuple[float, float]:
    """The mean difference from equal scales, and its standard error over splits."""
    differences = np.array([one[who] - one[EQUAL] for one in drawn])
    doubt = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return float(differences.mean()), float(doubt)


def bars(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    promises = []
    for one in tables:
        for who in CALLS:
            if who != EQUAL:
                mean, doubt = behind(one["errors"], who)
                said = f"{one['table']}, {who}: behind equal scales, standard errors"
                promises.append(report.bar(said, mean / max(doubt, 1e-12), "<=", 1.0))
    return promises


def text(result: dict[str, Any]) -> str:
    rows = []
    for one in result["tables"]:
        cells = [one["table"]]
        for who in CALLS:
            values = np.array([drawn[who] for drawn in one["errors"]])
            cells.append(f"{values.mean():.4f} ± {values.std():.4f}")
            if who != EQUAL:
                mean, doubt = behind(one["errors"], who)
                cells.append(f"{mean:+.4f} ± {doubt:.4f}")
        rows.append(cells)
    head = ["table", EQUAL]
    for who in CALLS:
        head += [] if who == EQUAL else [who, "behind"]
    return "\n\n".join([report.table(head, rows), report.bars(result["bars"])])
