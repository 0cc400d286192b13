"""Whether what a loss of one's own defines is a convex function and its derivatives.

A function g is the derivative (or a subgradient) of a convex f exactly where
f(u) >= f(s) + g(s)(u - s) for all s and u: one inequality for sign, size and convexity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .base import Loss

Array = NDArray[np.float64]

# Targets of a sample, and scores on both sides of their minimisers, as shares of their range.
TARGETS = 40
SHARES = np.concatenate([np.linspace(-2, 2, 9), np.linspace(-2, 2, 9) + 0.01])
# What rounding errors may make of an inequality, and how far second differences may be off.
ROUNDING, EPSILON, CURVED = 1e-8, 1e-14, 0.1
# How far a minimiser is looked for, in doublings, and when the rest of the way is too flat.
DOUBLINGS, FLAT, HALVINGS = 240, 1e-9, 60


def refuse_wrong(loss: Loss, targets: Array) -> None:
    """Refuse a loss whose slope is not the derivative of a convex function, on a few targets."""
    if not loss.smooth and not np.isfinite(loss.lipschitz):
        raise ValueError(
            f"The {loss.name} loss has kinks (smooth = False) and needs a finite lipschitz, its "
            f"largest slope; got {loss.lipschitz!r}."
        )
    if loss.joint:
        return  # judges rows, not numbers
    known = np.unique(targets)
    y = known[np.unique(np.linspace(0, len(known) - 1, TARGETS).astype(int))]
    with np.errstate(all="ignore"):
        _evaluated(loss, np.zeros((2, len(y))), np.stack([y, y]))
        _refuse_wrong_slope(loss, y, _scores(loss, y))


def _scores(loss: Loss, y: Array) -> Array:
    """Scores around the minimisers of targets, a line for each."""
    middle, far = _minimisers(loss, y)
    middle = np.zeros(1) if far.all() else middle[~far]
    spread = float(np.ptp(middle)) or float(np.abs(middle).max()) or 1.0
    scores = np.median(middle) + spread * SHARES
    return scores[:, None] + np.zeros(len(y))


def _evaluated(loss: Loss, s: Array, Y: Array) -> dict[str, Array]:
    """Value, slope and curvature, which must be arrays like those that they are given."""
    found: dict[str, Any] = {"value": loss.value(s, Y), "slope": loss.slope(s, Y)}
    if loss.smooth:
        found["curvature"] = loss.curvature(s, Y)
    for name, array in found.items():
        if np.shape(array) != s.shape:
            raise ValueError(
                f"{name} of the {loss.name} loss returned an array of shape {np.shape(array)} for "
                f"scores and targets of shape {s.shape}: it must work on every number by itself."
            )
    return found


def _refuse_wrong_slope(loss: Loss, y: Array, s: Array) -> None:
    Y = np.broadcast_to(y, s.shape).copy()
    found = _evaluated(loss, s, Y)
    value, slope = found["value"], found["slope"]
    undefined = np.isnan(value) | np.isnan(slope)
    if undefined.any():
        at = tuple(np.argwhere(undefined)[0])
        raise ValueError(
            f"The {loss.name} loss must be defined for every score, of either sign: its value is "
            f"{value[at]:.4g} and its slope {slope[at]:.4g} at s = {s[at]:.4g}, y = {Y[at]:.4g}."
        )
    # f(u) - f(s) - g(s)(u - s) for all pairs of scores and every target.
    step = (s[:, None] - s[None, :]) * slope[None, :]
    above = value[:, None] - value[None, :] - step
    size = np.abs(value[:, None]) + np.abs(value[None, :]) + np.abs(step)
    digits = EPSILON * (np.abs(s).max() + np.abs(y).max()) * np.abs(slope)
    below = above < -ROUNDING * size - digits[:, None] - digits[None, :]
    if below.any():
        i, j, t = np.argwhere(below)[0]
        raise ValueError(
            f"The slope of the {loss.name} loss is not the derivative of a convex value: at "
            f"y = {y[t]:.4g} it is {slope[j, t]:.4g} at s = {s[j, t]:.4g}, and value({s[i, t]:.4g})"
            f" = {value[i, t]:.6g} lies below value({s[j, t]:.4g}) = {value[j, t]:.6g} plus slope "
            "times the difference of the scores. Solvers need a convex loss and its derivative."
        )
    if loss.smooth:
        _refuse_wrong_curvature(loss, s, Y, slope, found["curvature"])


def _refuse_wrong_curvature(loss: Loss, s: Array, Y: Array, slope: Array, curvature: Array) -> None:
    half = len(SHARES) // 2  # the second half lies a little to the right of the first
    measured = (slope[half:] - slope[:half]) / (s[half:] - s[:half])
    told = (curvature[half:] + curvature[:half]) / 2
    size = np.maximum(np.abs(measured), np.abs(told))
    # Near jumps the two may differ; not at most places.
    off = np.abs(measured - told) > CURVED * size + ROUNDING * size.max(
        initial=0.0, where=np.isfinite(size)
    )
    negative = curvature < 0
    if negative.any() or off.mean() > 0.5:
        at = tuple(np.argwhere(negative)[0] if negative.any() else np.argwhere(off)[0])
        seen = "" if negative.any() else f", where slope changes at a rate of {measured[at]:.4g}"
        raise ValueError(
            f"The curvature of the {loss.name} loss is not its second derivative in s: "
            f"{curvature[at]:.4g} at s = {s[at]:.4g}, y = {Y[at]:.4g}{seen}."
        )


def minimisers(loss: Loss, y: Array) -> Array:
    """argmin_s loss(s, y) for every target; far out where the loss only approaches its infimum.

    Refuses targets for which the loss falls without limit.
    """
    known, inverse = np.unique(y, return_inverse=True)
    with np.errstate(all="ignore"):
        return _minimisers(loss, known)[0][inverse].reshape(np.shape(y))


def _minimisers(loss: Loss, y: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The same of different targets, and which of them are at infinity."""
    origin = np.zeros_like(y)
    slope, start = loss.slope(origin, y), loss.value(origin, y)
    towards, step = -np.sign(slope), np.where(y != 0, np.abs(y), 1.0)
    low, high, value = origin.copy(), origin.copy(), start.copy()
    searching, far = slope != 0, np.zeros(len(y), dtype=bool)
    for _ in range(DOUBLINGS):
        high = np.where(searching, towards * step, high)
        following = loss.value(high, y)
        passed = loss.slope(high, y) * towards >= 0
        still = ~passed & (value - following <= FLAT * (start - following))
        far |= searching & still
        searching = searching & ~(passed | still)
        low, value = np.where(searching, high, low), np.where(searching, following, value)
        step = 2 * step
        if not searching.any():
            break
    else:
        raise ValueError(
            f"The {loss.name} loss falls without limit for y = {y[searching][0]:.6g}, where no "
            "score is best: it is not made for such targets (check_targets may say so)."
        )
    reached = high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beyond = loss.slope(middle, y) * towards >= 0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.where(far, reached, (low + high) / 2), far
