"""Adult (a9a) with stumps under four losses, beside linear machines, an exact kernel, LightGBM.

Stumps are sgn(x_i - t), t ~ N(0, 1), as in random kitchen sinks (Rahimi and Recht 2008). Every
loss is fitted with every seed, in turns, at fixed ridges, where a fit is one minimum to find, and
with alpha="auto", which is what a user does. What a fit does beyond the minimum is part of its
time: scores of rows held out for `predict_proba` (hinge, exponential), a second pass with float64
features where the moments of float32 ones are too ill-conditioned (squared, small ridges).

Linear peers get the same features, φ/√k with C = 1/(2·alpha), at one fixed ridge; making the
features is part of their time, and their objective is shown beside ours. (liblinear penalises its
intercept; the objective leaves that out.) Exact support vectors learn from few rows, and once from
all of them; γ is our median rule.
"""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import randspan as rs

from . import report
from .data import ERRORS, Missing, Split, a9a
from .harness import WARM_ROWS, measure, solved
from .peers import ALL_PAIRS

name = "adult"
slow = True

LOSSES = ("squared", "hinge", "logistic", "exponential")
FIXED = (0.1, 1.0)
# The ridge of peers, and of the objectives that are compared.
ALPHA = FIXED[0]
# Losses of the margin y·f(x), written down a second time to judge others by.
PLAIN = {
    "hinge": lambda margins: np.maximum(0, 1 - margins),
    "logistic": lambda margins: np.logaddexp(0, -margins),
}
BINS = 15
PROMISED = 15.6


def run(quick: bool) -> dict[str, Any]:
    k, seeds = (32, range(2)) if quick else (2_000, range(5))
    try:
        split = a9a()
    except Missing as missing:
        return {"functions": k, "skipped": str(missing)}
    if quick:
        split = split.thinned(400)
    fits = _our_fits(split, k, seeds)
    ours = [_summary(loss, alpha, fits[loss, alpha]) for loss, alpha in fits]
    found = {(one["loss"], one["alpha"]): one for one in ours}
    return {
        "rows": len(split.X_train),
        "test_rows": len(split.X_test),
        "columns": split.X_train.shape[1],
        "functions": k,
        "seeds": len(seeds),
        "ours": ours,
        "peers": _peers(split, k, quick, {loss: found[loss, ALPHA] for loss in LOSSES}),
        "absent": {} if find_spec("lightgbm") else {"LightGBM": "not installed"},
        "bars": [
            report.bar(f"{loss}: mean test error, %", found[loss, "auto"]["error"], "<=", PROMISED)
            for loss in LOSSES
        ],
    }


def text(result: dict[str, Any]) -> str:
    if "skipped" in result:
        return f"Adult: SKIPPED, {result['skipped']}"
    wrong = ERRORS["classification"]
    ours = [
        (
            f"{one['loss']}, alpha {one['alpha']}",
            f"{one['error']:.2f}",
            f"{one['error_spread']:.2f}",
            report.number(one["fit_seconds"]),
            report.number(one["peak_mb"]),
            report.number(one["found_alpha"]),
            one["solver"],
            report.number(one["iterations"]),
            f"{one['residual']:.0e}",
            f"{one['objectives'][0]:,.1f}",
            report.number(100 * one["calibration_error"]),
            f"{one['log_loss']:.4f}",
        )
        for one in result["ours"]
    ]
    peers = [
        (
            one["name"],
            f"{one['error']:.2f}",
            report.number(one["fit_seconds"]),
            report.number(one["peak_mb"]),
            "-" if one["objective"] is None else f"{one['objective']:,.1f}",
            "-" if one["our_objective"] is None else f"{one['our_objective']:,.1f}",
            report.number(_percent(one["calibration_error"])),
            "-" if one["log_loss"] is None else f"{one['log_loss']:.4f}",
            one["remark"],
        )
        for one in result["peers"]
    ]
    calibration = ("calibration, %", "log loss")
    reasons: dict[str, list[str]] = {}
    for one in sorted(result["ours"], key=lambda one: LOSSES.index(one["loss"])):
        alphas = reasons.setdefault(f"{one['loss']}: {one['reason']}", [])
        alphas.append(str(one["alpha"]))
    return "\n\n".join(
        [
            f"{result['rows']:,} rows × {result['columns']} columns, {result['test_rows']:,} test "
            f"rows, {result['functions']:,} stumps; mean and spread of {result['seeds']} seeds, "
            "median seconds, largest residual, objective of the first seed; calibration: expected "
            f"error of predict_proba on test rows, {BINS} bins of equal mass",
            report.table(
                (
                    *("", wrong, "±", "fit s", "peak MB", "alpha", "solver", "iterations"),
                    *("residual", "objective", *calibration),
                ),
                ours,
            ),
            "\n".join(f"{what} (alpha {', '.join(which)})" for what, which in reasons.items()),
            report.table(
                ("", wrong, "fit s", "peak MB", "objective", "ours", *calibration, ""),
                peers,
            )
            + "".join(f"\n{name}: SKIPPED, {why}" for name, why in result["absent"].items()),
            report.bars(result["bars"]),
        ]
    )


def _our_fits(split: Split, k: int, seeds: range) -> dict[tuple[str, Any], list[dict[str, Any]]]:
    """Every loss at every ridge, in turns, seed by seed."""

    def build(loss: str, alpha: Any, seed: int) -> rs.SpanClassifier:
        # Memory by name, so that what is free just now decides nothing.
        options = {"loss": loss, "alpha": alpha, "memory_limit": "4GB", "random_state": seed}
        return rs.SpanClassifier(rs.Stumps("normal"), k, **options)

    alphas = (*FIXED, "auto")
    few = split.head(WARM_ROWS)
    for loss in LOSSES:
        build(loss, ALPHA, 0).set_params(n_components=32).fit(few.X_train, few.y_train)
    fits: dict[tuple[str, Any], list[dict[str, Any]]] = {
        (loss, alpha): [] for alpha in alphas for loss in LOSSES
    }
    for seed in seeds:
        for loss, alpha in fits:
            model = build(loss, alpha, seed)
            # Whether it stopped short is in what `solved` says.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                found = {**measure(model, split), **solved(model)}
            judged = _judged(model.predict_proba(split.X_test)[:, 1], split.y_test > 0)
            fits[loss, alpha].append({**found, **judged})
    return fits


def _summary(loss: str, alpha: Any, fits: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds; what the first seed's solver said stands for all."""

    def all_(what: str) -> list[Any]:
        return [one[what] for one in fits]

    return {
        "loss": loss,
        "alpha": alpha,
        "errors": all_("error"),
        "error": mean(all_("error")),
        "error_spread": stdev(all_("error")),
        "fit_seconds": median(all_("fit_seconds")),
        "fit_seconds_all": all_("fit_seconds"),
        "peak_mb": max(all_("peak_mb")),
        "found_alpha": median(all_("alpha")),
        "found_alphas": all_("alpha"),
        "solver": fits[0]["solver"],
        "reason": fits[0]["reason"] + ("" if all(all_("converged")) else "; STOPPED SHORT"),
        "converged": all(all_("converged")),
        "iterations": median(all_("iterations")),
        "residual": max(all_("residual")),
        "objectives": all_("objective"),
        "calibration_error": mean(all_("calibration_error")),
        "log_loss": mean(all_("log_loss")),
        "reliability": fits[0]["reliability"],
    }


def _judged(probabilities: np.ndarray, positive: np.ndarray) -> dict[str, Any]:
    """Expected calibration error Σ_b (n_b/n)|mean P - share| over bins of equal mass; log loss."""
    bins = np.array_split(np.argsort(probabilities, kind="stable"), BINS)
    said = np.array([probabilities[rows].mean() for rows in bins])
    seen = np.array([positive[rows].mean() for rows in bins])
    sizes = np.array([len(rows) for rows in bins])
    return {
        "calibration_error": float(sizes @ np.abs(said - seen) / sizes.sum()),
        "log_loss": float(log_loss(positive, probabilities)),
        "reliability": {"said": said.tolist(), "seen": seen.tolist()},
    }


def _peers(
    split: Split, k: int, quick: bool, ours: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """Everybody else, one fit each; ``ours`` by loss, at the same ridge."""
    cost = 1 / (2 * ALPHA)
    pilot = rs.SpanTransformer(rs.Fourier(), k, random_state=0).fit(split.X_train)
    gamma = float(pilot.frame_.family.resolved.gamma)
    few = split.thinned(ALL_PAIRS)
    fewer = "" if few is split else f", {ALL_PAIRS:,} rows only"
    svm = partial(LinearSVC, loss="hinge", random_state=0)

    def stumps(name: str, loss: str, last: Any) -> dict[str, Any]:
        features = rs.SpanTransformer(rs.Stumps("normal"), k, random_state=0)
        model = make_pipeline(features, last)
        found = _peer(f"{name}, same stumps", model, split, f"alpha {ALPHA}, {loss} objective")
        margins = split.y_train * model.decision_function(split.X_train)
        value = PLAIN[loss](margins).sum() + ALPHA * (last.coef_**2).sum()
        objectives = {"objective": float(value), "our_objective": ours[loss]["objectives"][0]}
        return {**found, **objectives}

    def kernel(name: str, rows: Split, remark: str) -> dict[str, Any]:
        model = make_pipeline(StandardScaler(), SVC(gamma=gamma))
        return _peer(name, model, rows, f"γ {gamma:.3g}, C 1{remark}")

    found = [
        stumps("LinearSVC", "hinge", svm(C=cost)),
        stumps("LinearSVC, 10,000 rounds", "hinge", svm(C=cost, max_iter=10_000)),
        stumps("LogisticRegression", "logistic", LogisticRegression(C=cost, max_iter=1_000)),
        stumps(
            "LogisticRegression, tol 1e-6",
            "logistic",
            LogisticRegression(C=cost, max_iter=10_000, tol=1e-6),
        ),
        _peer("LinearSVC, inputs", svm(), split, "C 1"),
        kernel("SVC, inputs", few, fewer),
    ]
    if few is not split:
        found.append(kernel("SVC, inputs, all rows", split, ""))
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        # One thread where other tests have the other cores (see `peers`).
        trees = LGBMClassifier(verbose=-1, random_state=0, n_jobs=1 if quick else None)
        found.append(_peer("LightGBM, inputs", trees, split, "defaults"))
    return found


def _peer(name: str, model: Any, split: Split, remark: str) -> dict[str, Any]:
    """One fit of somebody else."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        found = measure(model, split)
    if any(issubclass(one.category, ConvergenceWarning) for one in caught):
        remark += "; STOPPED SHORT, it warns"
    judged: dict[str, Any] = {"calibration_error": None, "log_loss": None}
    if hasattr(model, "predict_proba"):
        judged = _judged(model.predict_proba(split.X_test)[:, 1], split.y_test > 0)
    nothing = {"objective": None, "our_objective": None}
    return {"name": name, **found, **nothing, **judged, "remark": remark}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
