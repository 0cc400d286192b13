"""The parameters of regressor and classifier, and what they ask for: `fitting.Settings`."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from .. import losses
from ..engines.memory import budget
from ..families import NAMED, Family
from ..families.base import check_choice, check_number
from ..frame import Frame, as_family
from ..losses import Loss, Squared
from . import fitting
from .fitting import Settings
from .parameters import check_bound, check_clip, check_dtype, check_jobs


class Configured(BaseEstimator):
    """Parameters as they were given; read and refused when a fit begins."""

    def __init__(
        self,
        family="fourier",
        n_components="auto",
        *,
        loss="squared",
        alpha="auto",
        bound=None,
        clip=None,
        fit_intercept=True,
        standardize=True,
        scales=None,
        frame=None,
        solver="auto",
        memory=None,
        dtype="float32",
        random_state=None,
        n_jobs=None,
        verbose=False,
    ):
        self.family = family
        self.n_components = n_components
        self.loss = loss
        self.alpha = alpha
        self.bound = bound
        self.clip = clip
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.scales = scales
        self.frame = frame
        self.solver = solver
        self.memory = memory
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _poor_score(self) -> bool:
        """Whether few functions without a ridge may leave much of a small table unexplained."""
        family = NAMED.get(self.family) if isinstance(self.family, str) else self.family
        return getattr(family, "default_alpha", "gcv") == 0

    @abstractmethod
    def _judges(self, loss: Loss | type[Loss]) -> bool:
        """Whether a loss judges this kind of target."""

    def _settings(self) -> Settings:
        loss = self._loss()
        check_choice("solver", self.solver, fitting.SOLVERS)
        alpha = self.alpha
        if isinstance(alpha, str):
            check_choice("alpha", alpha, ("auto", "gcv"), " or a number >= 0")
        else:
            alpha = check_number("alpha", alpha, at_least=0)
        ours = self._own_alpha(loss) if alpha == "auto" else None
        if alpha == "gcv":
            alpha = "auto"
            if self._law().default_alpha == "out_of_bag":
                raise ValueError(
                    "alpha='gcv' takes functions for independent of the targets, from which those "
                    f"of {self._law()!r} learn: leave alpha='auto'."
                )
        check_clip(self.clip)
        budget(self.memory)  # refuses what it does not understand
        settings = Settings(
            loss=loss,
            alpha=alpha if ours is None else ours,
            bound=None if self.bound is None else check_bound(self.bound),
            intercept=bool(self.fit_intercept),
            solver=self.solver,
            dtype=check_dtype(self.dtype),
            n_jobs=check_jobs(self.n_jobs),
            verbose=bool(self.verbose),
            memory=self.memory,
            heldout=self._needs_heldout,
            lenient=ours is not None,
        )
        fitting.check_method(self.solver, settings)
        return settings

    def _own_alpha(self, loss: Loss) -> float | None:
        """The number that the family takes for "auto", if it has one."""
        known, k = self._law().default_alpha, self.n_components
        if isinstance(self.frame, Frame) and isinstance(k, str):
            k = self.frame.n_components
        # Not every loss has a minimum without a ridge; a kernel machine passes through all rows.
        if isinstance(known, str) or not isinstance(loss, Squared) or k == np.inf:
            return None
        return float(known)

    @property
    def _needs_heldout(self) -> bool:
        """Whether a fit should keep scores of models that did not see their rows."""
        return False

    def _loss(self) -> Loss:
        """The loss by its name or as itself, if it judges this model's kind of target."""
        if isinstance(self.loss, Loss):
            loss = self.loss
        else:
            names = [name for name, kind in losses.NAMED.items() if self._judges(kind)]
            check_choice("loss", self.loss, names, " or a loss such as rs.losses.Huber(delta=1.0)")
            loss = losses.NAMED[self.loss]()
        if not self._judges(loss):
            kind = "classes" if loss.for_classes else "numbers"
            raise ValueError(f"The {loss.name} loss judges {kind}: not for {type(self).__name__}.")
        return loss

    def _law(self) -> Family:
        """The family, of a given frame where there is one."""
        return self.frame.family if isinstance(self.frame, Frame) else as_family(self.family)

    def _n_components(self) -> int | float | None:
        k = self.n_components
        if isinstance(k, str) and k == "auto":
            return None
        if isinstance(k, float) and k == np.inf:
            return np.inf
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise ValueError(
                f"n_components must be 'auto', a positive whole number, or np.inf for the exact "
                f"kernel machine; got {k!r}."
            )
        return int(k)
