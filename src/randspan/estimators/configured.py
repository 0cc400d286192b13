"""The parameters of regressor and classifier, and what they ask for: a `Task`, and its `Plan`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from inspect import signature
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from .. import losses
from ..engines import CPU
from ..engines.memory import budget
from ..families import Family
from ..families.checks import check_choice, check_number
from ..families.layout import Layout
from ..frame import Frame, as_family
from ..losses import Loss
from ..planning import SOLVERS, plan
from ..solvers import Plan, Task
from ..solvers.plan import Shape
from ..sources import Source
from ..tuning.width import FIRST, LAST
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
        family = self._known_family
        return family is not None and family.default_alpha == 0

    @classmethod
    def _default(cls, parameter: str):
        return signature(cls).parameters[parameter].default

    def plan_for(self, n_rows: int, n_features: int, n_targets: int = 1) -> Plan:
        """What `fit` would do with a table of this shape: what it reads, how it solves, and why.

        Parameters
        ----------
        n_rows, n_features : int
        n_targets : int, default=1
            Target columns; of more than two classes there is one for each.

        Returns
        -------
        Plan
            Statistics, precision, method, memory, the reason, and the fallback where rounding
            errors would reach the predictions. Without a number for ``n_components`` that is the
            plan of as many functions as it may come to.

        Raises
        ------
        ValueError, MemoryError
            As `fit` would.

        Examples
        --------
        >>> import randspan as rs
        >>> print(rs.SpanRegressor(n_components=1000, alpha=0.1).plan_for(100_000, 20).method)
        cholesky
        """
        for name, value in (("n_rows", n_rows), ("n_features", n_features)):
            check_number(name, value, at_least=1)
        check_number("n_targets", n_targets, at_least=1)
        k = self._known_components(n_rows)
        shape = self._shape(LAST if k is None else k, n_rows, n_rows, n_features, n_targets)
        made = plan(shape, self._task(n_targets), self._engine().machine(self.memory))
        most = f" (n_components='auto': this is for {LAST} functions, the most it doubles to)"
        return made if k is not None else replace(made, reason=made.reason + most)

    def _plan(self, task: Task, source: Source, streaming: bool) -> Plan:
        """The plan of these rows, before their frame is read."""
        k = self._known_components(source.n_rows)
        k = FIRST if k is None else k
        n, present, d, c = source.n_rows, source.present, source.n_features, source.n_targets
        machine = self._engine().machine(task.memory)
        return plan(self._shape(k, n, present, d, c), task, machine, streaming=streaming)

    def _known_components(self, n_rows: float) -> float | None:
        """How many functions there will be; None where that is found by doubling."""
        k = self._n_components()
        if k is None and isinstance(self.frame, Frame):
            k = self.frame.n_components
        return self._law().default_components(n_rows) if k is None else k

    def _shape(self, k: float, n_rows: int, present: int, n_features: int, n_targets: int) -> Shape:
        if k == np.inf:
            return Shape(n_rows, present, n_features, n_targets, Layout(np.inf, 0))
        family = self._law()
        layout = family.layout(n_features, int(k), n_targets)
        stored = family.stored_bytes(n_rows, n_features, int(k))
        return Shape(n_rows, present, n_features, n_targets, layout, stored=stored)

    def _engine(self) -> CPU:
        return CPU(check_jobs(self.n_jobs), bool(self.verbose))

    @abstractmethod
    def _judges(self, loss: Loss | type[Loss]) -> bool:
        """Whether a loss judges this kind of target."""

    def _task(self, n_targets: int | None = None) -> Task:
        """What is asked for, checked; ``n_targets`` where no targets have been seen yet."""
        loss = self._loss(n_targets)
        check_choice("solver", self.solver, SOLVERS)
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
        check_jobs(self.n_jobs)
        return Task(
            loss=loss,
            alpha=alpha if ours is None else ours,
            bound=None if self.bound is None else check_bound(self.bound),
            intercept=bool(self.fit_intercept),
            solver=self.solver,
            dtype=check_dtype(self.dtype),
            memory=self.memory,
            heldout=self._needs_heldout,
            lenient=ours is not None,
        )

    def _own_alpha(self, loss: Loss) -> float | None:
        """The number that the family takes for "auto", if it has one."""
        known, k = self._law().default_alpha, self.n_components
        if isinstance(self.frame, Frame) and isinstance(k, str):
            k = self.frame.n_components
        # Not every loss has a minimum without a ridge; a kernel machine passes through all rows.
        if isinstance(known, str) or not loss.squared or k == np.inf:
            return None
        return float(known)

    @property
    def _needs_heldout(self) -> bool:
        """Whether a fit should keep scores of models that did not see their rows."""
        return False

    def _loss(self, n_targets: int | None = None) -> Loss:
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

    @property
    def _known_family(self) -> Family | None:
        """The family, None where the parameter is not one."""
        try:
            return self._law()
        except ValueError:
            return None

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
