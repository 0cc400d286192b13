"""Intervals for the risk of a fixed model, from rows it has not seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .conditions import require, require_chance, require_positive


def clopper_pearson(errors: int, n: int, delta: float = 0.05) -> tuple[float, float]:
    """The exact interval of a probability of which ``errors`` of n were seen, 1 - δ at least.

    Quantiles of Beta(e, n - e + 1) and Beta(e + 1, n - e) (Clopper and Pearson 1934).

    Parameters
    ----------
    errors : int
        e.
    n : int
    delta : float, default=0.05

    Examples
    --------
    >>> import randspan as rs
    >>> lower, upper = rs.theory.clopper_pearson(0, 100)
    >>> lower, round(upper, 4)
    (0.0, 0.0362)
    """
    require_positive(n=n)
    require_chance(delta=delta)
    require(0 <= errors <= n, f"errors must lie between 0 and n = {n}, got {errors!r}")
    lower = special.betaincinv(errors, n - errors + 1, delta / 2) if errors else 0.0
    upper = special.betaincinv(errors + 1, n - errors, 1 - delta / 2) if errors < n else 1.0
    return float(lower), float(upper)


def empirical_bernstein(
    losses: ArrayLike, width: float, delta: float = 0.05
) -> tuple[float, float]:
    """mean ± (√(2V log(4/δ)/n) + 7b log(4/δ)/(3(n-1))), for losses within a range of width b.

    V is the sample variance (Maurer and Pontil 2009, Theorem 4, on both sides).

    Parameters
    ----------
    losses : array of shape (n,)
        The losses of rows that were not used.
    width : float
        b, the difference of the largest and the smallest loss there can be.
    delta : float, default=0.05
    """
    values = np.asarray(losses, dtype=np.float64)
    n = len(values)
    require(n > 1, "an interval needs two rows at least")
    require_chance(delta=delta)
    require(np.isfinite(width) and width > 0, f"the loss must be bounded (width), got {width!r}")
    reach = np.ptp(values)
    require(reach <= width * (1 + 1e-9), f"losses range over {reach:g}, more than width={width:g}")
    logarithm = np.log(4 / delta)
    away = np.sqrt(2 * values.var(ddof=1) * logarithm / n) + 7 * width * logarithm / (3 * (n - 1))
    return float(values.mean() - away), float(values.mean() + away)
