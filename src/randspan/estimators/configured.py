"""The parameters of regressor and classifier, and what they ask for: a `Task`, and its `Plan`."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

import numpy as np

from .. import engines, losses, model
from ..checks import (
    LARGEST,
    check_bound,
    check_choice,
    check_clip,
    check_dtype,
    check_flag,
    check_jobs,
    check_number,
)
from ..engines import Engine
from ..engines.memory import budget
from ..families import Family, Fourier, as_family
from ..footprint import shape_before
from ..frame import Frame
from ..losses import Loss
from ..planning import SOLVERS, exact_machine, plan
from ..solvers import Plan, Task
from ..solvers.task import L1, L2
from ..solvers.validation import KINDS
from ..sources import Source, of_arrays
from ..tuning import racing
from ..tuning.racing import EFFORTS
from ..tuning.width import FIRST, LAST
from .parameters import AUTO, FOURIER, OfFamily, is_auto
from .published import published

# Predictions may leave the range of the targets by this share of it.
MARGIN = 0.1


class Configured(OfFamily):
    """Parameters as they were given; read and refused when a fit begins."""

    _fixed = (*OfFamily._fixed, "n_components", "effort", "dtype")
    _portfolio = ("auto",)

    def __init__(
        self,
        family=FOURIER,
        n_components="auto",
        *,
        loss="squared",
        alpha="auto",
        bound=None,
        clip=AUTO,
        fit_intercept=True,
        standardize=True,
        scales="auto",
        effort="balanced",
        categories=None,
        columns=None,
        frame=None,
        solver="auto",
        memory_limit=None,
        dtype="float32",
        random_state=None,
        n_jobs=None,
        verbose=False,
        penalty="l2",
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
        self.effort = effort
        self.categories = categories
        self.columns = columns
        self.frame = frame
        self.solver = solver
        self.memory_limit = memory_limit
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.penalty = penalty

    @classmethod
    def published(cls, name: str, n_components: int | None = None, **parameters):
        """A system of the documents exactly as published, to compare with: not fitted yet.

        Parameters
        ----------
        name : str
            "Fourier + LS", "Bins + LS" (UA); "RKS stumps" (classes); "RHSS-KRR", "RHSS-MLP",
            "RHSS-Tree", "RFF-KRR", "RVFL", "KRR", "RP-KRR", "RP-RHSS-KRR" (numbers); "Brownian
            sheets", "scrambled wavelets" (BSW, numbers). What each differs by from our defaults,
            and why, is in docs/published.md.
        n_components : int or None, default=None
            How many functions (behind a random projection, how many columns too); None is the
            document's number.
        **parameters
            As for `set_params`: a seed, or what a document leaves open (``family__gamma=...``).

        Returns
        -------
        estimator
            A pipeline where there is a random projection.

        Examples
        --------
        >>> import randspan as rs
        >>> rs.SpanRegressor.published("RHSS-Tree", random_state=0)
        SpanRegressor(alpha=0, clip=None, family=Trees(max_features=1, replace=True),
                      fit_intercept=False, n_components=100, random_state=0,
                      scales=None)
        """
        return published(cls, name, n_components, parameters)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    @property
    def _poor_score(self) -> bool:
        """Whether few functions without a ridge may leave much of a small table unexplained."""
        family = self._known_family
        return family is not None and family.default_alpha == 0

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
            errors would reach the predictions; refused as `fit` would be. Without a number for
            ``n_components`` that is the plan of as many functions as it may come to.

        Examples
        --------
        >>> import randspan as rs
        >>> print(rs.SpanRegressor(n_components=1000, alpha=0.1).plan_for(100_000, 20).method)
        cholesky
        """
        sizes = {"n_rows": n_rows, "n_features": n_features, "n_targets": n_targets}
        for name, value in sizes.items():
            check_number(name, value, at_least=1)
        task = self._task(n_targets)
        rows = (n_rows, n_rows, n_features, n_targets)
        if is_auto(self.family):
            return self._plan_of_race(task, *rows[1:])
        k = self._known_components(task, n_rows, n_rows, n_features)
        threads = self._engine().threads
        shape = shape_before(self._law(), LAST if k is None else k, *rows, threads=threads)
        made = plan(shape, task, self._engine().machine(self.memory_limit))
        most = f" (n_components='auto': this is for {LAST} functions, the most it doubles to)"
        return made if k is not None else replace(made, reason=made.reason + most)

    def _plan_of_race(self, task: Task, n_rows: int, n_features: int, n_targets: int) -> Plan:
        """The largest of a portfolio's fits, as far as it is known before the race."""
        rows, targets = (np.broadcast_to(0.0, (n_rows, width)) for width in (n_features, n_targets))
        source, wanted = of_arrays(rows, targets), self._wanted(self._n_components())
        given = (self._engine(), self._for_classes, self.effort)
        nbytes = racing.needed(wanted, source, task, *given)
        reason = "several families, each in what memory is left beside the others"
        return Plan("", "combined", task.dtype, reason, nbytes=nbytes)

    def _plan(self, task: Task, source: Source, streaming: bool) -> Plan:
        """The plan of these rows, before their frame is read."""
        fitted = 0 if streaming else source.present
        k = self._known_components(task, source.n_rows, fitted, source.n_features)
        k, threads = FIRST if k is None else k, self._engine().threads
        shape = model.shape_of(self._law(), k, source, threads)
        return plan(shape, task, self._engine().machine(task.memory_limit), streaming=streaming)

    def _known_components(
        self, task: Task, n_rows: float, fitted: int, n_features: int
    ) -> float | None:
        """How many functions there will be; None where that is found by doubling.

        ``fitted`` are the rows of a fit, 0 of a stream, which has no end.
        """
        k, law = self._n_components(), self._law()
        if k is None and isinstance(self.frame, Frame):
            k = self.frame.n_components
        if k is None and fitted:
            machine = self._engine().machine(task.memory_limit)
            k = np.inf if exact_machine(law, task, fitted, n_features, machine) else None
        return law.default_components(n_rows) if k is None else k

    def _engine(self) -> Engine:
        return engines.of(n_jobs=check_jobs(self.n_jobs), verbose=bool(self.verbose))

    #: whether targets are classes
    _for_classes = False

    def _task(self, n_targets: int | None = None) -> Task:
        """What is asked for, checked; ``n_targets`` where no targets have been seen yet."""
        check_choice("effort", self.effort, EFFORTS)
        (self._refuse_with_auto if is_auto(self.family) else self._refuse_without_auto)()
        loss = self._loss(n_targets)
        check_choice("solver", self.solver, SOLVERS)
        alpha = self.alpha
        if isinstance(alpha, str):
            check_choice("alpha", alpha, ("auto", *KINDS), " or a number >= 0")
        else:
            alpha = check_number("alpha", alpha, at_least=0)
            if alpha > LARGEST:
                raise ValueError(
                    f"alpha={alpha:g} leaves nothing but a constant: at most {LARGEST:g}."
                )
        check_choice("penalty", self.penalty, (L2, L1))
        ours = None
        if self.penalty == L1:
            self._refuse_open_width()
            alpha = "gcv" if alpha == "auto" else alpha
        elif alpha == "auto":
            ours = self._own_alpha(loss)
        check_clip(self.clip)
        budget(self.memory_limit)  # refuses what it does not understand
        check_jobs(self.n_jobs)
        return Task(
            loss=loss,
            alpha=alpha if ours is None else ours,
            bound=None if self.bound is None else check_bound(self.bound),
            intercept=check_flag("fit_intercept", self.fit_intercept),
            solver=self.solver,
            dtype=check_dtype(self.dtype),
            memory_limit=self.memory_limit,
            heldout=self._needs_heldout,
            lenient=ours is not None,
            clip=self._clipping(),
            margin=0.0 if self._for_classes else MARGIN,
            penalty=self.penalty,
        )

    def _refuse_open_width(self) -> None:
        """An l1 penalty chooses functions: their number is not doubled until it pays no more."""
        given = isinstance(self.frame, Frame) or self._n_components() is not None
        if not given and self._law().default_components(1) is None:
            raise ValueError(
                "penalty='l1' chooses among a number of functions, and n_components='auto' leaves "
                "it open: give a number, such as n_components=500."
            )

    def _clipping(self) -> float | str | None:
        """What predictions are clipped to, as a task says it."""
        extrapolates = is_auto(self.family) or self._law().extrapolates
        if self.clip is None or (self.clip is AUTO and extrapolates):
            return None
        return "auto" if isinstance(self.clip, str) else float(self.clip)

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
        """The loss; ``n_targets`` is how many targets there will be, where none were seen yet."""
        return losses.named(self.loss, self._for_classes)

    def _law(self) -> Family:
        """The family, of a given frame where there is one; of a portfolio its first kernel."""
        if isinstance(self.frame, Frame):
            return self.frame.family
        return (
            Fourier("matern32") if is_auto(self.family) else as_family(self.family, self._portfolio)
        )

    def _refuse_with_auto(self) -> None:
        """A portfolio chooses for itself what is chosen for one family."""
        others = {
            "n_components": "auto",
            "loss": "squared",
            "bound": None,
            "scales": "auto",
            "frame": None,
            "solver": "auto",
            "penalty": "l2",
        }
        for name, only in others.items():
            value = getattr(self, name)
            if not (value is None if only is None else isinstance(value, str) and value == only):
                raise ValueError(
                    f"family='auto' combines several families, and has {name}={only!r}; for "
                    f"{name}={value!r} choose one family, such as rs.Fourier() or rs.Trees()."
                )
        if self.fit_intercept is not True:
            raise ValueError("family='auto' has an intercept: choose one family to do without.")

    def _refuse_without_auto(self) -> None:
        """Of one family nobody asks how much work a portfolio is worth."""
        if self.effort != "balanced":
            raise ValueError(
                f"effort={self.effort!r} is for family='auto', and family={self.family!r} is one "
                "family: leave effort='balanced', and set n_components for more or fewer functions."
            )

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
