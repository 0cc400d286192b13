"""What cannot be done, said before it is tried: needs that are not met, too little memory."""

from __future__ import annotations

import numpy as np

from ..families.layout import Layout
from . import METHODS
from .method import Method
from .plan import Machine, Shape
from .task import Task


def refuse(task: Task, layout: Layout) -> None:
    """Say which need of a solver asked for, or of the functions, the task does not meet."""
    solver = task.solver
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
            f"{layout.spent} has shown every row to every function, so that none is left to weigh "
            "them by: use bootstrap < 1, or a number for alpha and another solver."
        )
    if solver == "auto":
        return
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


def named(solver: str) -> Method:
    """The method of a name; of several, the one that works on dense functions."""
    return next(method for (name, _), method in METHODS.items() if name == solver)


def too_large(shape: Shape, task: Task, machine: Machine, needed: int, method: str) -> MemoryError:
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
    asked = f"memory={task.memory!r} grants" if task.memory is not None else "there are"
    return MemoryError(
        f"{asked} {machine.granted / 1e9:.3g} GB; {what} need at least {needed / 1e9:.3g} GB "
        f"(solver {method!r}): {advice}."
    )
