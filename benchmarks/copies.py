"""Rows that stand twice: every kind of estimator, loss and family on doubled rows.

Rows once, rows of weight 2, the same rows twice, twice with one target of another value (or one
label flipped), and twice with weights of 0.5 and 1.5. What says nothing new may change little:
alpha by one step of its lattice and the error on new rows (and the log-loss) by 3 % beside rows of
weight 2, of which the one that is contradicted stands there as two of weight 1. Beside rows once
alpha is another already where nothing stands twice, since a ridge is absolute and its lattice has
steps: errors beyond 3 % are counted for copies and for rows of weight 2.
``validation_`` is compared with the error on new rows in standard errors of both; of exact
estimates one in twenty is beyond two of them, and alpha is the one of many that looks best, so
that the bar is the share of these, beside that of rows once. (Without the protection
``validation_`` of doubled rows is off by tens of standard errors.)
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

import randspan as rs
from randspan.losses import NAMED

from . import report
from .walks import BARE, FAMILIES

name, slow = "copies", True

ROWS, NEW_ROWS, NOISE = 300, 4_000, 0.3
DRAWS = 3
#: of alpha's lattices: a quarter of a decade by formulas, half a decade by rows held out
STEPS = {"leave_one_out": 0.25, "gcv": 0.25, "heldout": 0.25, "out_of_bag": 0.25, "combined": 0.5}
WORSE = 1.03
#: standard errors, and how many of all may be beyond them
FAR, MOST_FAR = 2.0, 0.05
CHANGES = ("exact", "one target", "weights")


def run(quick: bool) -> dict[str, Any]:
    families = ["fourier", "bins"] if quick else list(FAMILIES)
    results = []
    for family in families:
        for loss, found in NAMED.items():
            for classes in (False, True):
                if not (found.for_classes if classes else found.for_numbers):
                    continue
                if quick and (loss != "squared" or classes):
                    continue
                one = outcome(family, loss, classes, 1 if quick else DRAWS)
                if one is not None:
                    results.append(one)
                    if not quick:
                        print(_line(one), flush=True)
    fits = [one["changes"][change] for one in results for change in CHANGES]
    told = [fit["z"] for fit in fits if fit["z"] is not None]
    first = [one["once"] for one in results if one["once"] is not None]
    logs = [fit["log"] for fit in fits if fit["log"] is not None]
    beyond = float(np.mean([fit["to_once"] > WORSE for fit in fits]))
    usual = float(np.mean([one["heavy"] > WORSE for one in results]))
    return {
        "models": results,
        "bars": [
            report.bar("steps of alpha's lattice", max(f["steps"] for f in fits), "<=", 1.001),
            report.bar("error / rows of weight 2", max(f["error"] for f in fits), "<=", WORSE),
            report.bar("log-loss / rows of weight 2", max(logs, default=1.0), "<=", WORSE),
            report.bar("3 % worse than once, share", beyond, "<=", usual + 0.01),
            report.bar("validation_ too low, share", _far(told), "<=", MOST_FAR + _far(first)),
        ],
    }


def _far(values: list[float]) -> float:
    return float(np.mean(np.array(values) < -FAR)) if values else 0.0


def outcome(family: str, loss: str, classes: bool, draws: int) -> dict[str, Any] | None:
    """Means over draws of the data and of functions; None where these do not go together."""
    found = []
    for seed in range(draws):
        try:
            found.append(_draw(family, loss, classes, seed))
        except ValueError:
            return None
    mean: dict[str, Any] = {"family": family, "loss": loss, "classes": classes, "changes": {}}
    mean["once"] = _z([one["once"] for one in found])
    mean["heavy"] = float(np.mean([one["heavy"] for one in found]))
    for change in CHANGES:
        parts = [one[change] for one in found]
        mean["changes"][change] = {
            "steps": max(part["steps"] for part in parts),
            "error": float(np.mean([part["error"] for part in parts])),
            "to_once": float(np.mean([part["to_once"] for part in parts])),
            "log": float(np.mean([part["log"] for part in parts])) if classes else None,
            "z": _z([part["told"] for part in parts]),
        }
    return mean


def _z(told: list[tuple[float, float]]) -> float | None:
    """What is told less what is true, in standard errors, of several draws."""
    away, doubts = np.array(told).T
    found = float(away.sum() / np.sqrt((doubts**2).sum()))
    return found if np.isfinite(found) else None


def _draw(family: str, loss: str, classes: bool, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X, y = _rows(rng, ROWS, classes)
    new = _rows(rng, NEW_ROWS, classes)
    of_logarithms = NAMED[loss].link == "log"
    if of_logarithms:
        y, new = np.exp(y), (new[0], np.exp(new[1]))
    order = rng.permutation(2 * ROWS)
    XX, yy = np.vstack([X, X]), np.concatenate([y, y])
    other = yy.copy()
    other[0] = ~other[0] if classes else other[0] + 1
    each = np.repeat([0.5, 1.5], ROWS)
    kind = rs.SpanClassifier if classes else rs.SpanRegressor
    k: Any = np.inf if family.startswith("kernel") else "auto" if family in ("auto", "open") else 40

    def fitted(X, y, weights=None):
        options = {"alpha": "auto"} if family in BARE else {}
        model = kind(FAMILIES[family](), k, loss=loss, random_state=seed, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y, sample_weight=weights)

    def judged(model):
        scores = model.decision_function(new[0]) if classes else model.predict(new[0])
        scores = np.log(scores) if of_logarithms else scores
        true = np.where(new[1], 1.0, -1.0) if classes else new[1]
        values = NAMED[loss].by_name()
        values = values.resolved(NOISE) if values.open else values
        # The loss that was fitted, in whose units errors are told.
        task = getattr(model._model, "task", None)
        values = task.loss if task is not None and not task.loss.open else values
        lost = values.value(scores[:, None], true[:, None]).reshape(NEW_ROWS, -1).mean(axis=1)
        error = lost.mean()
        doubt = np.hypot(lost.std() / np.sqrt(NEW_ROWS), model.validation_.standard_error or 0)
        told = ((model.validation_.error or np.nan) - error, doubt)
        log = log_loss(new[1], model.predict_proba(new[0])) if classes else np.nan
        wrong = np.mean(model.predict(new[0]) != new[1]) if classes else error
        return told, wrong, log

    once, least, _ = judged(fitted(X, y))
    heavy = fitted(X, y, np.full(ROWS, 2.0))
    apart = np.full(ROWS + 1, 2.0)
    apart[[0, -1]] = 1.0
    contradicted = fitted(np.vstack([X, X[:1]]), np.append(y, other[0]), apart)
    found: dict[str, Any] = {"once": once, "heavy": judged(heavy)[1] / least}
    for change in CHANGES:
        changed = change == "one target"
        targets, beside = (other, contradicted) if changed else (yy, heavy)
        weights = each[order] if change == "weights" else None
        model = fitted(XX[order], targets[order], weights)
        (told, error, log), (_, usual, usual_log) = judged(model), judged(beside)
        found[change] = {"told": told, "error": error / usual, "log": log / usual_log}
        found[change] |= {"to_once": error / least, "steps": _steps(model, beside)}
    return found


def _rows(rng: np.random.Generator, n: int, classes: bool) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + NOISE * rng.normal(size=n)
    return X, y > 0 if classes else y


def _steps(model: Any, heavy: Any) -> float:
    """How many steps of its lattice alpha is away."""
    if not hasattr(model, "alpha_"):  # a portfolio has one for every member
        return 0.0
    one, other = model.alpha_, heavy.alpha_
    if one == other:
        return 0.0
    kind = model.validation_.kind
    return abs(np.log10(one / other)) / STEPS.get(kind, 0.25)


def _line(one: dict[str, Any]) -> str:
    def shown(value: float | None, digits: int) -> str:
        return f"{'':6}" if value is None else f"{value:6.{digits}f}"

    what = f"{one['family']:<20} {one['loss']:<20} {'classes' if one['classes'] else 'numbers'}"
    parts = []
    for change in CHANGES:
        f = one["changes"][change]
        words = (shown(f["error"], 3), shown(f["to_once"], 3), shown(f["log"], 3), shown(f["z"], 1))
        parts.append(" ".join([f"{f['steps']:5.2f}", *words]))
    return f"{what} {shown(one['once'], 1)} | " + " | ".join(parts)


def text(result: dict[str, Any]) -> str:
    head = f"{'family, loss':<49} z once | steps, error beside weight 2, once, log-loss, z: "
    head += "; ".join(CHANGES)
    return "\n".join([head, *map(_line, result["models"]), "", report.bars(result["bars"])])
