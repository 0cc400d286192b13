"""How many functions: doubled until the cross-validated error stops falling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from .. import model
from ..engines import Engine
from ..frame import Frame
from ..losses import Squared
from ..model import Array, Model
from ..solvers import Task
from ..solvers.method import OPERATOR
from ..solvers.refusals import named
from ..sources import Source

Fit = TypeVar("Fit")

FIRST, LAST = 128, 4096
WORTH_IT = 0.99


def fit(frame: Frame, source: Source, task: Task, largest: Array, engine: Engine) -> Model:
    """The model of all rows, its number of functions chosen where the frame leaves it open."""
    if frame.n_components is not None:
        return model.fit(frame, source, task, largest, engine)
    # How many functions is a question that the squared loss answers well and fast, for all losses.
    by_statistics = task.solver == "auto" or named(task.solver).takes != OPERATOR
    plain = task.plain and by_statistics and task.alpha != "heldout"
    asking = task
    if not plain:
        alpha = "auto" if task.searches else task.alpha
        asking = replace(task, loss=Squared(), bound=None, solver="auto", alpha=alpha)

    def attempt(k: int) -> tuple[float, Model]:
        found = model.fit(frame.with_components(k), source, asking, largest, engine)
        known = found.found.least_squares
        return (np.inf if known is None else known.gcv_error), found

    found = doubled(attempt)
    return found if plain else model.fit(found.frame, source, task, largest, engine)


def start(frame: Frame, source: Source, task: Task, largest: Array, engine: Engine) -> Model:
    """The model of a stream's first block, which goes on with as many functions."""
    if frame.n_components is not None:
        begun = model.start(frame, source, task, engine)
        return begun.added(source, task, largest, engine)
    fitted = fit(frame, source, task, largest, engine)
    begun = model.start(fitted.frame, source, task, engine)
    known = begun.going_on_from(fitted, task)
    return begun.added(source, task, largest, engine) if known is None else known


def doubled(fit: Callable[[int], tuple[float, Fit]]) -> Fit:
    """The fit after which doubling k no longer pays, for ``fit(k) -> (error, result)``.

    k = 128, 256, … at most 4096, as long as a doubling lowers the error by more than one per cent.
    Draws are nested, so each step keeps the functions of the one before.
    """
    k = FIRST
    error, result = fit(k)
    while k < LAST:
        k *= 2
        next_error, next_result = fit(k)
        if not next_error < WORTH_IT * error:
            break
        error, result = next_error, next_result
    return result
