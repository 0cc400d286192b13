"""alpha by generalised cross-validation, from one factorisation."""

from __future__ import annotations

import numpy as np

from ..solvers import Spectrum

STEPS_PER_DECADE = 10


def by_gcv(spectrum: Spectrum, scale: float) -> float:
    """The alpha with the smallest (RSS/Σω)/(1 - df/Σω)² on the lattice 10^(j/10).

    The lattice is absolute, so that the same alphas are compared however the rows were split. It
    reaches from the smallest ridge that rounding allows to ten times the largest eigenvalue.
    """
    rows = min(spectrum.weight, spectrum.counted)
    if rows <= 1 + spectrum.intercept:
        raise ValueError(
            "alpha='auto' reads sample weights as counts of rows, and needs more than "
            f"{1 + spectrum.intercept} of them; here are {rows:g}. Multiply weights that are no "
            "counts until their mean is 1, give more rows, or set alpha to a number."
        )
    largest = float(spectrum.values.max(initial=0.0))
    if largest <= 0:  # no function varies: every alpha gives the same constant
        return 1.0
    lowest = np.ceil(STEPS_PER_DECADE * np.log10(spectrum.floor / scale))
    highest = np.floor(STEPS_PER_DECADE * np.log10(10 * largest / scale))
    alphas = 10.0 ** (np.arange(lowest, highest + 1) / STEPS_PER_DECADE)
    errors = spectrum.gcv_errors(alphas * scale)
    # Ties (a constant target) go to the largest alpha: the simplest model.
    return float(alphas[np.flatnonzero(errors <= errors.min())[-1]])


def at_floor(alpha: float, spectrum: Spectrum, scale: float) -> bool:
    """Whether rounding alone kept alpha from being smaller."""
    return alpha * scale < spectrum.floor * 10 ** (1 / STEPS_PER_DECADE)
