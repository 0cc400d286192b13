"""What a solver returns, and how it says that it cannot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..once import Remembers, once
from ..statistics.base import CannotFit
from ..statistics.products import Pool
from .plan import Plan
from .validation import UNKNOWN, Validation, of_squares

Array = NDArray[np.float64]

# Columns of a triangle that are multiplied at once.
PANEL = 256


NEVER_SEEN = (
    "Rows were forgotten that cannot have been in the model: without them a variance is negative. "
    "To add these rows again (partial_fit, with the same targets and weights) repairs it; forget "
    "only rows, targets and weights that it was fitted on."
)

#: what a model from a file without statistics cannot do; ``format`` takes the method
SAVED_WITHOUT = (
    "{} needs what this model was saved without (statistics=False): load a file that was saved "
    "with statistics=True, or fit anew."
)


class IllConditioned(np.linalg.LinAlgError):
    """The statistics at hand are too ill-conditioned; the message says what would do."""


class Posterior(Remembers, ABC):
    """(Z̃'Z̃ + μI)⁻¹, however it was factored."""

    @property
    def degrees_of_freedom(self) -> float:
        """The trace of the smoother, for those that compute it late."""
        raise NotImplementedError

    def prepare(self, pool: Pool) -> None:
        """Compute what all rows need, by the threads of ``pool``, where that is left for later."""
        return

    @abstractmethod
    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        """z'(Z̃'Z̃ + μI)⁻¹z for rows z; ``squares`` are ‖z‖² where Z does not tell them."""

    def left_out(self) -> tuple[Array, Array] | None:
        """Scores of training rows without what is left out with them, where it holds the rows.

        And their leverages h/(1 - gh) in the fits without them.
        """
        return None

    @property
    def root(self) -> Array:
        """T with ‖Tz‖² = z'(Z̃'Z̃ + μI)⁻¹z for training rows z."""
        raise NotImplementedError

    def through(self, C: Array, mean: Array | None) -> Posterior | None:
        """The same for rows ψ with z = Cψ - mean, where that saves the product."""
        return None

    def of_mixed(self, C: Array, mean: Array | None) -> Posterior | None:
        """`through` for the one C and mean that the functions of this solution have."""
        return once(self, "_of_mixed", lambda: self.through(C, mean))


@dataclass(frozen=True)
class NoPosterior(Posterior):
    """What stands in its place in a file without statistics, and says so."""

    @property
    def degrees_of_freedom(self) -> float:
        self._refuse()

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(SAVED_WITHOUT.format("A standard deviation or an error estimate"))


@dataclass(frozen=True)
class Triangle(Posterior):
    """‖Tz - shift‖², T lower triangular."""

    matrix: Array
    shift: Array | float = 0.0

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        found = np.zeros(len(Z))
        shift = np.broadcast_to(self.shift, len(self.matrix))
        for first in range(0, len(self.matrix), PANEL):  # the rest of a panel is zero
            panel = slice(first, first + PANEL)
            half = Z[:, : panel.stop] @ self.matrix[panel, : panel.stop].T
            half -= shift[panel]
            found += np.einsum("ij,ij->i", half, half)
        return found

    def after(self, C: Array, mean: Array | None) -> Triangle:
        """The same of z = Cψ - mean for rows ψ, C lower triangular."""
        return Triangle(self.matrix @ C, 0.0 if mean is None else self.matrix @ mean)


@dataclass(frozen=True)
class HeldOut:
    """Scores of rows by models that did not see them: row indices, and a line of scores each.

    ``leverages`` are those of the rows in these models, where a formula knows them.
    """

    rows: NDArray[np.intp]
    scores: Array
    leverages: Array | None = None


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Weights that minimise Σω·loss(b + z'w, y) + μ‖w‖², μ = alpha·k, and how they were found.

    Attributes
    ----------
    coef : ndarray of shape (n_columns, n_targets)
        One row for every function; for a kernel machine, for every training row.
    intercept : ndarray of shape (n_targets,)
    alpha : float
        The ridge, in the kernel's scale.
    objective : float
        The value of what is minimised, summed over targets.
    solver, reason : str
        Which solver, and why this one.
    residual : float
        The KKT residual: the gradient of the objective, without what a box holds back, divided by
        the gradient without weights. For least squares ‖(Z̃'Z̃ + μI)w - Z̃'y‖/‖Z̃'y‖.
    converged : bool
        Whether the solver reached what it was asked for.
    stopped : str
        Why an iterative solver stopped.
    iterations : int
    seconds : float
    plan : Plan or None
        What was planned, and carried out: what was read, in which precision, in how much memory.
    heldout : HeldOut or None
        Scores of rows that had no part in them, where a fit asked for these.
    estimate : Validation or None
        What rows that were held out said.
    """

    coef: Array = field(repr=False)
    intercept: Array = field(repr=False)
    alpha: float
    objective: float
    solver: str
    reason: str
    residual: float
    converged: bool = True
    stopped: str = ""
    iterations: int = 1
    seconds: float = 0.0
    plan: Plan | None = field(default=None, repr=False)
    heldout: HeldOut | None = field(default=None, repr=False)
    estimate: Validation | None = field(default=None, repr=False)

    @property
    def validation(self) -> Validation:
        """The error on new rows, as far as it is known."""
        return self.estimate or UNKNOWN

    @property
    def least_squares(self) -> LeastSquares | None:
        """The solution as one that knows degrees of freedom and leverages, where it does."""
        return None

    @property
    def oob_error(self) -> float | None:
        """Mean squared error of out-of-bag predictions, where it is known."""
        return None

    def for_predictions(self) -> Self:
        """The same weights without what tells of rows."""
        return replace(self, heldout=None)


@dataclass(frozen=True, kw_only=True)
class LeastSquares(Solution):
    """A solution for the squared loss from statistics that tell more than the weights.

    Attributes
    ----------
    mean : ndarray or None
        The mean z̄ that was taken off the features (zero without intercept); None where weights are
        those of training rows, and where there is no posterior.
    weight, counted : float
        Σω, and what degrees of freedom are compared with (see `gcv`).
    freedoms : float or None
        The degrees of freedom, None where they are computed when somebody asks.
    degrees_of_freedom : float
        Trace of the smoother, the intercept included.
    residual_sum, target_scatter : ndarray of shape (n_targets,)
        Σω(y - f)² and Σω(y - ȳ)² on the training rows.
    gcv_error : float
        (RSS/Σω)/(1 - df/n)², averaged over targets: a mean squared error on new rows (see `gcv`).
    posterior : Posterior
        For standard deviations and leave-one-out.
    """

    mean: Array | None = field(repr=False)
    weight: float
    counted: float
    freedoms: float | None
    residual_sum: Array = field(repr=False)
    target_scatter: Array = field(repr=False)
    posterior: Posterior = field(repr=False)

    @property
    def least_squares(self) -> LeastSquares:
        return self

    def for_predictions(self) -> Self:
        return replace(super().for_predictions(), mean=None, posterior=NoPosterior())

    def leverages(self, Z: Array, squares: Array | None = None) -> Array:
        """z̃'(Z̃'Z̃ + μI)⁻¹z̃; ``squares`` are k(x, x) where Z has kernels for columns."""
        return self.posterior.quadratic(Z if self.mean is None else Z - self.mean, squares)

    @property
    def degrees_of_freedom(self) -> float:
        return self.posterior.degrees_of_freedom if self.freedoms is None else self.freedoms

    @property
    def validation(self) -> Validation:
        known = self.estimate
        return known or of_squares("gcv", self.gcv_error, self.counted - self.degrees_of_freedom)

    @property
    def gcv_error(self) -> float:
        residuals, total = self.residual_sum.mean(), self.target_scatter.mean()
        return float(gcv(residuals, total, self.degrees_of_freedom, self.weight, self.counted))

    @property
    def noise_variance(self) -> Array:
        """(RSS/Σω)/(1 - df/n) for every target, n what degrees of freedom are compared with."""
        free = self.weight * (1 - self.degrees_of_freedom / self.counted)
        if free <= 1e-10 * self.weight:
            raise CannotFit(
                f"With {self.degrees_of_freedom:.4g} degrees of freedom for rows that count as "
                f"{self.counted:.4g}, nothing is left to estimate the noise from: use a larger "
                "alpha or fewer functions, and scale sample weights to a mean of 1."
            )
        return self.residual_sum / free


def gcv(residual_sum, target_scatter, degrees_of_freedom, weight, counted):
    """(RSS/Σω)/(1 - df/n)²; infinite where the model has as many freedoms as rows.

    df is compared with the number of distinct inputs where that is smaller than Σω, or than the
    number of functions (``counted``). A model that passes through every point has as many freedoms
    as points, and no more for points that stand twice or weigh more: beside Σω it would seem to
    have some left, and its residual of zero would win over every other model.

    Residuals are differences of sums and known to about 1e-12 of the target's scatter only. That
    much is added, so that models which all fit perfectly are not ranked by their rounding errors.
    """
    free = np.maximum(1 - np.asarray(degrees_of_freedom) / counted, 0)
    # Of rows that were forgotten so much may be left that the scatter is a little below zero.
    residual_sum = residual_sum + 1e-12 * np.maximum(target_scatter, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(free > 1e-10, residual_sum / weight / free**2, np.inf)


def relative(residual: Array, right: Array) -> float:
    """‖residual‖/‖right‖, 0 for a problem whose right side is zero."""
    # Of vectors BLAS scales what it squares, so that nothing overflows.
    norm = float(linalg.norm(right.ravel()))
    return float(linalg.norm(residual.ravel())) / norm if norm > 0 else 0.0
