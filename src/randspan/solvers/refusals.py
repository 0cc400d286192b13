"""What cannot be done, said before it is tried: needs that are not met, too little memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import losses
from ..families.shared.layout import Layout
from . import METHODS
from .method import OPERATOR, Method
from .plan import Machine, Shape
from .task import L1, Task
from .validation import FORMULAS


def refuse(task: Task, layout: Layout) -> None:
    """Say which need of a solver asked for, or of the functions, the task does not meet."""
    solver = task.solver
    if task.penalty == L1:
        _refuse_l1(task, layout)
        if task.alpha == 0:
            raise ValueError(
                "penalty='l1' with alpha=0 penalises nothing: use penalty='l2', alpha=0, which is "
                "least squares of minimum norm, or alpha > 0."
            )
    _refuse_kind(task, layout)
    if layout.n_components == np.inf:
        if not task.plain:
            raise ValueError(
                "n_components=inf, the exact kernel machine, has the squared loss and no box; use "
                f"a finite n_components for loss={task.loss.name!r} and bound={task.bound!r}."
            )
        if solver != "auto":
            raise ValueError(
                f"n_components=inf has one solver; leave solver='auto' instead of {solver!r}."
            )
        return
    if layout.spent and (task.searches or solver == "out_of_bag"):
        raise ValueError(
            f"{layout.spent} has trained every function on every row, so that there are no "
            "out-of-bag rows: use bootstrap < 1, or a number for alpha and another solver."
        )
    if solver == "auto":
        return
    if task.alpha == "heldout" and named(solver).takes != OPERATOR and not layout.groups:
        raise ValueError(
            f"alpha='heldout' is found in passes over the rows, solver={solver!r} sees sums of "
            "them: leave one of the two at 'auto'."
        )
    if task.alpha in FORMULAS and named(solver).takes == OPERATOR:
        raise ValueError(
            f"alpha={task.alpha!r} needs sums over all rows, solver={solver!r} passes over them: "
            "leave one of the two at 'auto'."
        )
    if solver == "out_of_bag" and not layout.n_targets:
        raise ValueError(
            "solver='out_of_bag' weighs functions that predict the targets (rs.Trees(), "
            "rs.Hypotheses(...)): leave solver='auto' for others."
        )
    on_cells = [name for name, kind in METHODS if kind == "cells"]
    if not layout.groups and named(solver).kinds == ("cells",):
        raise ValueError(
            f"solver={solver!r} is for indicators of cells (rs.Bins()); leave solver='auto'."
        )
    if layout.groups and solver not in on_cells:
        known = ", ".join(map(repr, sorted(["auto", *on_cells])))
        raise ValueError(
            f"solver={solver!r} works on dense matrices; cells are too many for that. "
            f"Use one of {known}."
        )
    if layout.groups and solver == "lbfgs" and task.bound is None:
        raise ValueError("solver='lbfgs' is for cells in a box; without one use 'conjugate'.")
    if layout.groups and layout.out_of_bag and solver == "dual" and (task.searches or task.heldout):
        raise ValueError(
            "solver='dual' finds alpha and probabilities by formulas that take cells for "
            "independent of the targets, from which these have learned: leave solver='auto'."
        )
    problem = named(task.solver).refuses(task)
    if problem is not None:
        raise ValueError(f"solver={solver!r} {problem}; solver='auto' chooses one that fits.")


def _refuse_l1(task: Task, layout: Layout) -> None:
    """Say what an ℓ1 penalty, which is fitted from moments, does not go together with."""
    learned = layout.n_targets > 0 or layout.out_of_bag or bool(layout.spent)
    reason = ""
    if not task.loss.squared:
        reason = f"loss={task.loss.name!r}: it is for the squared loss, whose sums add up over rows"
    elif task.bound is not None:
        reason = f"bound={task.bound!r}: leave out one of the two"
    elif layout.n_components == np.inf:
        reason = "n_components=inf, which has no weights of functions: give a number"
    elif layout.groups:
        reason = "indicators of cells (rs.Bins(), leaves of trees): they are too many for moments"
    elif learned:
        reason = "functions that learned from targets, which are weighed by out-of-bag rows"
    elif task.searches and task.alpha != "gcv":
        reason = f"alpha={task.alpha!r}: use a number, 'gcv' or 'auto', which is the same"
    if reason:
        raise ValueError(f"penalty='l1' does not go together with {reason}.")


def _refuse_kind(task: Task, layout: Layout) -> None:
    """Say where an error estimate that was asked for by name is not to be had."""
    kind, learned = task.alpha, layout.out_of_bag or layout.n_targets > 0 or bool(layout.spent)
    if kind in FORMULAS and not task.loss.squared:
        raise ValueError(
            f"alpha={kind!r} is a formula of the squared loss, not of loss={task.loss.name!r}: use "
            "alpha='heldout' or 'auto'."
        )
    if kind in FORMULAS and learned:
        raise ValueError(
            f"alpha={kind!r} takes functions for independent of the targets, from which these have "
            "learned, or may have: leave alpha='auto' (a sampler that ignores targets is "
            "rs.Hypotheses(sampler, targets='random'))."
        )
    if kind == "heldout" and layout.n_components == np.inf:
        raise ValueError(
            "n_components=inf chooses alpha by 'leave_one_out' or 'gcv': leave alpha='auto'."
        )
    if kind == "out_of_bag" and not (layout.out_of_bag and layout.n_targets and task.plain):
        raise ValueError(
            "alpha='out_of_bag' is for functions that predict the targets and were trained on some "
            "of the rows (rs.Trees(), rs.Hypotheses(...)), under the squared loss without a box: "
            "leave alpha='auto'."
        )


def keeps_no_sums(solver: Any, loss: Any, cells: bool) -> str:
    """What a stream would need that a solver or a loss does not keep; "" where nothing is missing.

    What is no solver and no loss is refused elsewhere; ``cells`` are kept whatever the solver.
    """
    known = isinstance(solver, str) and any(name == solver for name, _ in METHODS)
    if known and named(solver).takes == OPERATOR and not cells:
        return (
            f"statistics of fixed size; solver={solver!r} passes over all rows several times and "
            "keeps none: use fit, or solver='auto'."
        )
    kind = losses.NAMED.get(loss) if isinstance(loss, str) else loss
    if not getattr(kind, "squared", True):
        return (
            f"the squared loss, whose sums add up over rows; loss={loss!r} has no such sums: use "
            "fit."
        )
    return ""


def named(solver: str) -> Method:
    """The method of a name; of several, the one that works on dense functions."""
    return next(method for (name, _), method in METHODS.items() if name == solver)


class TooLarge(MemoryError):
    """A fit that needs more bytes than are granted."""

    def __init__(self, message: str, needed: int):
        super().__init__(message)
        self.needed = needed


def too_large(shape: Shape, task: Task, machine: Machine, needed: int, method: str) -> TooLarge:
    """The error of a fit that does not fit."""
    layout = shape.layout
    what = f"{shape.n_rows} rows"
    if layout.n_components == np.inf:
        advice = "use fewer rows, or a finite n_components"
    elif layout.groups:
        what += f" in {layout.groups} grids or trees"
        what += f" with {shape.n_cells} cells" if shape.n_cells else ""
        advice = "use fewer of them, a smaller gamma, or more memory"
    else:
        what += f" and {layout.n_columns} functions"
        advice = "use fewer functions or more memory"
    limit = task.memory_limit
    asked = "there are" if limit is None else f"memory_limit={limit!r} grants"
    return TooLarge(
        f"{asked} {machine.granted / 1e9:.3g} GB; {what} need at least {needed / 1e9:.3g} GB "
        f"(solver {method!r}): {advice}.",
        needed,
    )
