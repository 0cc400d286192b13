"""RKS Fig. 2: the largest weight against k on Adult, claimed to fall like 1/k.

Minimum-norm least squares (as published), with the ridge that leave-one-out chooses, and with one
ridge for all k, on the 123 binary columns, where stumps are few distinct functions, and on the
census's own numbers. Every run is a draw of stumps.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.utils import Bunch

import randspan as rs
from experiments.running import Item
from experiments.sets import QUICK_ROWS, thinned
from randspan import datasets

NAME = "rks-fig2"
TITLE = "RKS Fig. 2: the largest weight against k"
DOCUMENT = "rks"

WIDTHS = (10, 20, 50, 100, 200, 500)
RUNS = 50
# The ridge of the kernel machine that averages of stumps tend to.
FIXED = 500
ALPHAS: dict[str, float | str] = {"least squares": 0, "ridge": "auto", "one ridge": FIXED}
FORMS = ("binary", "raw")


def items(quick: bool) -> list[Item]:
    return [
        Item(f"{form} {k}", partial(weights, form, k, quick), budget=900)
        for form in (FORMS[1:] if quick else FORMS)
        for k in (WIDTHS[:2] if quick else WIDTHS)
    ]


@lru_cache(maxsize=1)
def loaded(form: str, rows: int) -> Bunch:
    return thinned(datasets.load_adult(form, scaled=True), rows, 0)


def weights(form: str, k: int, quick: bool) -> dict[str, Any]:
    """‖w‖_∞ of every run, and how many of the functions differ."""
    data = loaded(form, QUICK_ROWS if quick else 5_000)
    found: dict[str, Any] = {name: [] for name in ALPHAS} | {"distinct": [], "k": k}
    for seed in range(3 if quick else RUNS):
        known = {"standardize": False, "scales": None, "random_state": seed, "dtype": "float64"}
        for name, alpha in ALPHAS.items():
            model = rs.SpanClassifier(rs.Stumps("normal"), k, alpha=alpha, **known)
            model.fit(data.X_train, data.y_train)
            found[name].append(float(np.abs(model.weights_).max()))
        Z = model.functions_(data.X_train)
        # A function and its negative are one; constants are none.
        signed = Z * Z[:1]
        distinct = {column.tobytes() for column in signed.T}
        found["distinct"].append(len(distinct - {np.ones_like(Z[:, 0]).tobytes()}))
    return found


def summary(results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Means, deviations, and the slope of log ‖w‖_∞ against log k."""
    curves = []
    for form in FORMS:
        runs = [run for key, run in results.items() if key.startswith(form) and "failed" not in run]
        for name in ALPHAS if runs else ():
            if not all(name in run for run in runs):  # of a run before it was thought of
                continue
            means = [float(np.mean(run[name])) for run in runs]
            k = [run["k"] for run in runs]
            slope = float(np.polyfit(np.log(k), np.log(means), 1)[0])
            curves.append(
                {
                    "form": form,
                    "fit": name,
                    "k": k,
                    "mean": means,
                    "deviation": [float(np.std(run[name])) for run in runs],
                    "distinct": [float(np.mean(run["distinct"])) for run in runs],
                    "slope": slope,
                }
            )
    return {"curves": curves}


def tables(found: dict[str, Any]) -> list[tuple[str, list[str], list[list[str]]]]:
    head = ["Adult", "fit", "‖w‖_∞ at the smallest k", "at the largest", "distinct functions there",
            "slope", "claimed", "verdict"]  # fmt: skip
    rows = [
        [
            one["form"],
            one["fit"],
            f"{one['mean'][0]:.3g}",
            f"{one['mean'][-1]:.3g}",
            f"{one['distinct'][-1]:.0f} of {one['k'][-1]}",
            f"{one['slope']:.2f}",
            "-1",
            "reproduced" if abs(one["slope"] + 1) <= 0.2 else "not reproduced",
        ]
        for one in found["curves"]
    ]
    return [("The exponent of k in the largest weight", head, rows)]


def explained(found: dict[str, Any]) -> list[str]:
    """Why the claim does not hold, and where it does."""
    slopes = {
        name: [one["slope"] for one in found["curves"] if one["fit"] == name] for name in ALPHAS
    }
    least = slopes["least squares"]
    last = [
        np.log(one["mean"][-1] / one["mean"][-2]) / np.log(one["k"][-1] / one["k"][-2])
        for one in found["curves"]
        if one["fit"] == "one ridge"
    ]
    if not last:
        return []
    few = [one["distinct"][-1] for one in found["curves"]]
    return [
        "Under least squares the largest weight does not fall (slopes "
        f"{', '.join(f'{slope:.2f}' for slope in least)}): of {found['curves'][0]['k'][-1]} "
        f"stumps only {min(few):.0f} to {max(few):.0f} differ, and one that was drawn once keeps "
        "its whole weight however many others there are. 1/k is what a ridge gives that does not "
        f"change with k, since weights then tend to a function divided by k: with alpha = {FIXED} "
        "the slopes between the two largest k are "
        f"{', '.join(f'{slope:.2f}' for slope in last)}. Leave-one-out chooses a weaker ridge for "
        "more functions and lies between."
    ]


def figure(found: dict[str, Any]) -> Any:
    """The largest weight against k, with deviations, and what 1/k would be."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, 3.4), layout="constrained")
    axes = drawn.subplots(1, 2, sharey=True)
    for axis, form in zip(axes, FORMS, strict=True):
        for one in (curve for curve in found["curves"] if curve["form"] == form):
            axis.errorbar(
                one["k"], one["mean"], one["deviation"], marker="o", ms=3, label=one["fit"]
            )
            if one["fit"] == "one ridge":
                last = one["mean"][-1] * one["k"][-1]
                axis.plot(one["k"], [last / k for k in one["k"]], "k:", label="1/k")
        axis.set(xscale="log", yscale="log", xlabel="stumps k", title=f"Adult, {form}")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("largest weight")
    axes[1].legend(fontsize=8)
    return drawn
