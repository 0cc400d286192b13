"""How large the error on new rows is, by rows that had no part in the prediction of themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..keys import Keys
from ..text import html_table

Array = NDArray[np.float64]

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
    variance : float or None
        Of the targets, averaged over them, where the error is a mean squared error of a regressor
        and the targets are known well enough.
    """

    kind: str | None
    error: float | None = None
    standard_error: float | None = None
    reason: str = ""
    variance: float | None = None

    @property
    def r2(self) -> float | None:
        """1 - error/variance, the share of the variance of the targets that is explained."""
        if self.error is None or not self.variance:
            return None
        return 1 - self.error / self.variance

    @property
    def rmse(self) -> float | None:
        """The root of a mean squared error, in the units of the targets."""
        if self.error is None or self.variance is None:
            return None
        return float(np.sqrt(self.error))

    def __str__(self) -> str:
        if self.kind is None:
            return f"no error estimate: {self.reason}"
        return "; ".join(text for _, text in reversed(self._lines()))

    def _lines(self) -> list[tuple[str, str]]:
        """What is known, by its names."""
        what = "mean loss" if self.variance is None else "mean squared error (units of y, squared)"
        lines = [(what, f"{self.error:.4g} ± {self.standard_error:.2g} ({self.kind})")]
        if self.rmse is not None:
            lines.append(("its root (units of y)", f"RMSE {self.rmse:.4g}"))
        if self.r2 is not None:
            lines.append(("share of the variance explained", f"R² {self.r2:.4g}"))
        return lines

    def _repr_html_(self) -> str:
        """In a notebook."""
        if self.kind is None:
            return html_table(("error on new rows", ""), [("not known", self.reason)])
        return html_table(("error on new rows", ""), self._lines())


UNKNOWN = Validation(None, reason="no rows were held out, which would have cost another fit")


def of_squares(kind: str, error: float, freedoms: float) -> Validation:
    """A mean squared error; that of f normal residuals has the standard error error·√(2/f)."""
    doubt = error * np.sqrt(2 / freedoms) if freedoms > 0 else np.inf
    return Validation(kind, float(error), float(doubt))


def of_losses(values: Array, weights: Array, keys: Keys | None = None) -> Validation:
    """The mean of the losses of rows held out; those of equal keys were left out together."""
    error, doubt = mean_of(values, weights, keys)
    return Validation("heldout", error, doubt if len(values) > 1 else np.inf)


def uncertain(doubt: float, freedoms: float, rows: float) -> float:
    """The standard error of rows left out, for a model of so many degrees of freedom.

    Left-out errors of rows that share freedoms are not independent: they tell as much as
    ``rows - freedoms`` of them would, as in `of_squares`, and as a quarter of them at least.
    """
    return float(doubt / np.sqrt(max(1 - freedoms / rows, 0.25)))


def mean_of(values: Array, weights: Array, keys: Keys | None = None) -> tuple[float, float]:
    """The weighted mean v̄ and its standard error √Σs²(v - v̄)², s the shares of the weights.

    Rows of equal keys tell no more than one of them: their mean is one value.
    """
    if keys is not None:
        _, sets = np.unique(keys, return_inverse=True)
        total = np.bincount(sets, weights).astype(np.float64)
        values, weights = np.bincount(sets, weights * values) / total, total
    share = weights / weights.sum()
    mean = float(share @ values)
    return mean, float(linalg.norm(share * (values - mean)))  # BLAS scales: no square overflows
