"""How large the error on new rows is, by rows that had no part in the prediction of themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: estimates that are formulas of the squared loss, and take functions for independent of targets
FORMULAS = ("leave_one_out", "gcv")
#: the estimates that alpha can be chosen by
KINDS = (*FORMULAS, "heldout", "out_of_bag")


@dataclass(frozen=True)
class Validation:
    """The error estimate of a fit: that which chose alpha, or what a fit knows anyway.

    Attributes
    ----------
    kind : str or None
        "leave_one_out", rows without themselves, exactly; "gcv", generalised cross-validation;
        "heldout", rows held out in folds; "out_of_bag", rows that functions were not trained on;
        "combined", rows that had no part in models of several kinds, nor in their weights.
        None where an estimate would cost another fit.
    error : float or None
        The mean loss on new rows, over rows and targets: for the squared loss the mean squared
        error, for classes that of the ±1 columns.
    standard_error : float or None
        How far the error may be off because rows are finitely many.
    reason : str
        Why there is none.
    """

    kind: str | None
    error: float | None = None
    standard_error: float | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.kind is None:
            return f"no error estimate: {self.reason}"
        return f"{self.error:.4g} ± {self.standard_error:.2g} ({self.kind})"


UNKNOWN = Validation(None, reason="no rows were held out, which would have cost another fit")


def of_squares(kind: str, error: float, freedoms: float) -> Validation:
    """A mean squared error; that of f normal residuals has the standard error error·√(2/f)."""
    doubt = error * np.sqrt(2 / freedoms) if freedoms > 0 else np.inf
    return Validation(kind, float(error), float(doubt))


def of_losses(values: NDArray[np.float64], weights: NDArray[np.float64]) -> Validation:
    """The mean of the losses of rows held out."""
    share = weights / weights.sum()
    error = float(share @ values)
    # Σ s² (v - v̄)² is the variance of a weighted mean; it is 0 for one row, which tells nothing.
    doubt = np.sqrt(share**2 @ (values - error) ** 2) if len(values) > 1 else np.inf
    return Validation("heldout", error, float(doubt))
