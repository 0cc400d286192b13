"""alpha by generalised cross-validation, from one factorisation."""

from __future__ import annotations

import numpy as np

from .solution import LeastSquares
from .spectrum import Spectrum
from .task import Terms

STEPS_PER_DECADE = 10

# The smallest ridge alpha·k beside the trace of Z̃'Z̃, by the precision of the features. In float64
# predictions still agree to 1e-6 under rounding there. float32 features are rounded at 1e-7, and
# ridges below that only serve targets with next to no noise; elsewhere they let a few outlying rows
# have predictions out of all proportion, to which generalised cross-validation is blind.
SMALLEST = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-10}


def by_gcv(spectrum: Spectrum, scale: float, dtype: np.dtype) -> float:
    """The alpha with the smallest (RSS/Σω)/(1 - df/Σω)², to 0.1 %, on the lattice 10^(j/10).

    The lattice is absolute, so that the same alphas are compared however the rows were split. It
    reaches from the smallest ridge that is reliable in ``dtype`` to ten times the largest
    eigenvalue.
    """
    largest = float(spectrum.values.max(initial=0.0))
    if largest <= 0:  # no function varies: every alpha gives the same constant
        return 1.0
    floor = max(SMALLEST[dtype] * float(spectrum.values.sum()), 10 * spectrum.noise)
    lowest = np.ceil(STEPS_PER_DECADE * np.log10(floor / scale))
    highest = np.floor(STEPS_PER_DECADE * np.log10(10 * largest / scale))
    alphas = 10.0 ** (np.arange(lowest, highest + 1) / STEPS_PER_DECADE)
    if spectrum.counted <= 1 + spectrum.intercept:
        if spectrum.rows > 2 and spectrum.weight <= 1 + spectrum.intercept:
            raise ValueError(
                "alpha='auto' reads sample weights as counts of rows, and they sum to only "
                f"{spectrum.weight:g}. Scale them to a mean of 1, or set alpha to a number."
            )
        return float(alphas[-1])  # the beginning of a stream: nothing to choose by yet
    errors = spectrum.gcv_errors(alphas * scale)
    # Near the end of the path errors are ratios of two small numbers. Among those that differ by
    # rounding or little more the largest alpha is taken, the simplest model.
    return float(alphas[np.flatnonzero(errors <= 1.001 * errors.min())[-1]])


def on_path(path: Spectrum, alpha: float | str, terms: Terms, dtype: np.dtype) -> LeastSquares:
    """The solution at a given alpha, or at the one that generalised cross-validation finds."""
    if isinstance(alpha, str):
        alpha = by_gcv(path, terms.scale, dtype)
    return path.solution(alpha, terms.scale, terms.plan.reason)
