"""The only place that chooses: what is read, by which method it is solved, in which precision.

`plan` is pure: it sees the shape of a fit, what is asked for, and what the machine grants, and says
what will be done, why, and what instead where rounding errors would reach the predictions. Methods
state their needs and costs beside their code (`randspan.solvers`) and know nothing of each other.

The squared loss without a box is solved from sums. Fewer rows than columns: the dual, from the rows
themselves, unless sums are clearly faster. A number for alpha: Cholesky of the moments.
``alpha="auto"``: their eigenvectors, which give every alpha at once, and beyond a thousand
functions Cholesky for a few alphas. Where rounding errors of the moments would reach the
predictions, float64 features take the place of float32 ones, and then an orthogonal factor the
place of moments. Very many functions, other losses and boxes are solved in passes over the rows.
Indicators of cells, predictors that learned from targets and exact kernel machines have statistics
of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from .families import Family
from .families.shared.layout import Layout
from .footprint import beside
from .solvers import METHODS, Method, Plan, Task
from .solvers.iterative import FEW_FUNCTIONS, FEW_PRODUCTS
from .solvers.newton import MODERATE
from .solvers.plan import Machine, Shape, block_bytes
from .solvers.preconditioner import sketch_rows
from .solvers.rates import cholesky_seconds, dual_seconds
from .solvers.refusals import named, refuse, too_large
from .solvers.task import L1
from .solvers.validation import FORMULAS

#: solvers that can be asked for
SOLVERS = tuple(dict.fromkeys(("auto", *(name for name, kind in METHODS if kind != "kernel rows"))))
# From here on the squared loss is solved in passes where moments would take longer than this many
# multiplications (about half a minute on two cores).
MANY_FUNCTIONS = 5000
MANY_PRODUCTS = 2e12
# Moments of more columns than rows are read where the dual takes so many times as long.
CLEARLY = 1.2
# Up to here eigenvectors, which give all alphas at once, take less than a second.
MOST_EIGENVECTORS = 1024
# Two n × n matrices of an exact kernel machine that nobody asked for.
MOST_KERNEL_BYTES = 10**9
# Cells of up to so many rows are solved for through an n × n matrix: it takes a second or two.
FEW_ROWS_OF_CELLS = 2000
# Arrays of the size of the targets that passes hold: scores, slopes, values, multipliers, and those
# of a fold; and vectors of the length of all cells. Each of five folds keeps three of its own.
COPIES, VECTORS, OF_FOLDS = 14, 8, 15
# Groups whose keys are computed together, and cells that a table always has room for.
KEYS, ROOM = 8, 8192
# A sketch is not worth having with fewer rows, nor is a block.
LEAST_SKETCH, LEAST_BLOCK = 64, 256

FLOAT64 = np.dtype(np.float64)


def plan(
    shape: Shape, task: Task, machine: Machine, *, streaming: bool = False, held: str = ""
) -> Plan:
    """What a fit of this shape will do.

    Parameters
    ----------
    shape : Shape
        Rows, columns, targets, and what the functions look like.
    task : Task
        Loss, ridge, box, and what was asked for by name.
    machine : Machine
        Threads and memory.
    streaming : bool
        Whether rows come and go, so that statistics must take any number of them.
    held : str
        The name of the statistics that are held already, where only the method is open.

    Raises
    ------
    ValueError
        A solver, a loss, a box or a ridge that do not go together, by name.
    MemoryError
        The least that would be needed, and what was granted.
    """
    refuse(task, shape.layout)
    smallest = replace(shape, block=LEAST_BLOCK)
    machine = replace(machine, taken=beside(shape, task, held))
    kind = held or _kind(smallest, task, machine, streaming)
    all_rows = ("heldout", "leave_one_out") if streaming or held else ("heldout",)
    if task.alpha in all_rows and kind in ("moments", "factor"):
        raise ValueError(
            f"alpha={task.alpha!r} needs all rows at once, and sums of them are all that a stream "
            "keeps: leave alpha='auto', or use fit."
        )
    makers = {
        "": _in_passes,
        "moments": _from_moments,
        "factor": _from_factor,
        "out_of_bag": _from_out_of_bag,
        "cells": _from_cells,
        "kernel rows": _from_kernel_rows,
    }
    machine = replace(machine, taken=beside(shape, task, kind))
    for block in _halved(shape.block_rows):
        tried = replace(shape, block=block)
        made = makers.get(kind, partial(_asked_for, kind))(tried, task, machine)
        made = replace(made, nbytes=max(made.nbytes + machine.taken, shape.before), block=block)
        if made.nbytes <= machine.granted:
            break
    else:
        raise too_large(shape, task, machine, made.nbytes, made.method)
    rungs = task.solver == "auto" and task.penalty != L1
    if kind == "moments" and not (held or streaming) and rungs:
        return _with_rungs(made, tried, task, machine)
    return made


def exact_machine(
    family: Family, task: Task, n_rows: int, n_features: int, machine: Machine
) -> bool:
    """Whether ``n_components="auto"`` takes all functions: the kernel of so few rows is cheaper.

    That is for the squared loss without a box, and families that would be doubled and whose kernel
    has a closed form.
    """
    plain = task.plain and task.solver == "auto" and task.alpha not in ("heldout", "out_of_bag")
    if not plain or family.default_components(n_rows) is not None:
        return False
    return kernel_fits(n_rows, machine) and family.has_kernel(n_features)


def kernel_fits(n_rows: int, machine: Machine) -> bool:
    """Whether an exact kernel machine that nobody asked for is small enough."""
    return 16 * n_rows**2 <= min(MOST_KERNEL_BYTES, machine.left)


def _halved(rows: int) -> Iterator[int]:
    """The usual number of rows in a block, then smaller ones where memory is short."""
    yield 0
    while rows > LEAST_BLOCK:
        rows = max(rows // 2, LEAST_BLOCK)
        yield rows


def _kind(shape: Shape, task: Task, machine: Machine, streaming: bool) -> str:
    """Which statistics are read; "" where the method passes over the rows."""
    layout = shape.layout
    if layout.n_components == np.inf:
        return "kernel rows"
    if task.penalty == L1:
        return "moments"
    if by_out_of_bag(layout, task):
        return "out_of_bag"
    if layout.groups:
        return "cells"
    if streaming:
        # Least squares without a ridge is safe in an orthogonal factor; moments are for forgetting.
        bare = task.lenient and task.bound is None
        if task.solver == "auto":
            return "factor" if bare else "moments"
        return named(task.solver).kinds[0] or "moments"
    if task.solver != "auto":
        return named(task.solver).kinds[0]
    if not task.loss.squared:
        return ""
    k = layout.n_columns
    if task.alpha == "heldout":
        return ""
    if task.bound is not None:
        fits = METHODS["box", "moments"].cost(shape, task, machine).nbytes <= machine.left
        return "moments" if k <= MODERATE and fits else ""
    few = _by_rows(shape, task)
    if task.alpha == 0 and shape.n_rows <= k:  # passes would not find the solution of minimal norm
        return "factor" if shape.present < k else "moments"
    return "" if _too_dear(shape, task, machine) else "factor" if few else "moments"


def _by_rows(shape: Shape, task: Task) -> bool:
    """Whether rows themselves are read, not moments: fewer rows than columns, and no slower.

    The dual sees float64 features, and ridges that moments cannot carry: these must be worth it.
    """
    n, k = shape.present, shape.layout.n_columns
    if n >= k or task.alpha == 0:
        return n < k
    return dual_seconds(n, k, task.searches) <= CLEARLY * cholesky_seconds(n, k, task.searches)


def by_out_of_bag(layout: Layout, task: Task) -> bool:
    """Whether predictors that learned from targets are weighed by out-of-bag moments."""
    if task.solver == "out_of_bag":
        return True
    predictors = layout.out_of_bag and layout.n_targets > 0
    found = task.alpha in ("auto", "out_of_bag")
    return predictors and task.plain and task.solver == "auto" and found


def _too_dear(shape: Shape, task: Task, machine: Machine) -> str:
    """Why the squared loss is solved in passes, or nothing."""
    if task.alpha in FORMULAS:
        return ""
    if task.alpha == "heldout":
        return "alpha by rows held out"
    k, few = shape.layout.n_columns, shape.n_rows < shape.layout.n_columns
    name = "dual" if few else "cholesky"
    cost = METHODS[name, "factor" if few else "moments"].cost(shape, task, machine)
    if k >= MANY_FUNCTIONS and cost.products > MANY_PRODUCTS:
        return f"{k} functions: passes are cheaper than moments"
    if cost.nbytes > machine.left:
        return f"moments would need {cost.nbytes / 1e9:.3g} GB"
    return ""


def _precision(task: Task, layout: Layout) -> np.dtype:
    """Of the features: without a ridge, and for predictions with the digits of y, float64."""
    return FLOAT64 if task.alpha == 0 or layout.n_targets > 0 else task.dtype


def _out_of_bag_wanted(task: Task, layout: Layout) -> bool:
    """Whether a fit looks at values from functions that have not learned from the row."""
    return layout.out_of_bag and (task.searches or task.solver == "out_of_bag")


# -- one kind of statistics each -------------------------------------------------------------------


def _from_moments(shape: Shape, task: Task, machine: Machine) -> Plan:
    if task.penalty == L1:
        nbytes = METHODS["lasso", "moments"].cost(shape, task, machine).nbytes
        reason = "the squared loss with an l1 penalty: coordinate descent on moments"
        return Plan("moments", "lasso", FLOAT64, reason, nbytes=nbytes)
    if task.bound is not None:
        method, reason = "box", "the squared loss in a box: moments suffice"
    elif not task.searches and task.solver != "eigen":
        method = "cholesky"
        reason = "one alpha, at least as many rows as columns: moments by Cholesky"
    elif shape.layout.n_columns > MOST_EIGENVECTORS and task.solver != "eigen":
        method = "cholesky"
        reason = "alpha by cross-validation, a few ridges: moments by Cholesky"
    else:
        method = "eigen"
        reason = "alpha by cross-validation from the eigenvectors of the moments"
        reason = reason if task.searches else "asked for"
    if task.solver not in ("auto", method) and (task.solver, "moments") in METHODS:
        method, reason = task.solver, "asked for"
    made = Plan(
        "moments",
        method,
        _precision(task, shape.layout),
        reason,
        out_of_bag=_out_of_bag_wanted(task, shape.layout),
        nbytes=METHODS[method, "moments"].cost(shape, task, machine).nbytes,
    )
    return _with_least_ridge(made, task)


def _with_rungs(made: Plan, shape: Shape, task: Task, machine: Machine) -> Plan:
    """The plan with what follows where moments are too ill-conditioned and rows are at hand."""
    rungs = [made]
    if made.dtype != FLOAT64:
        exact = _from_moments(shape, replace(task, dtype=FLOAT64), machine)
        rungs.append(exact)
    if task.bound is None:
        rungs.append(_from_factor(shape, task, machine))
    found: Plan | None = None
    for rung, before in reversed(list(zip(rungs[1:], rungs, strict=False))):
        rung = replace(rung, nbytes=max(rung.nbytes + machine.taken, shape.before))
        if rung.nbytes <= machine.granted:
            lost = f"; moments of {before.dtype.name} features were too ill-conditioned"
            then = found or rung.fallback
            found = replace(rung, reason=rung.reason + lost, fallback=then, block=made.block)
    return replace(made, fallback=found)


def _from_factor(shape: Shape, task: Task, machine: Machine) -> Plan:
    few = shape.present < shape.layout.n_columns
    nbytes = METHODS["qr", "factor"].cost(shape, task, machine).nbytes
    orthogonal = Plan(
        "factor",
        "qr",
        FLOAT64,
        "orthogonal factor of the rows",
        out_of_bag=_out_of_bag_wanted(task, shape.layout),
        nbytes=nbytes,
    )
    if task.solver == "dual":
        asked = "fewer rows than columns: the dual" if few else "asked for"
        return _with_least_ridge(replace(orthogonal, method="dual", reason=asked), task)
    if task.solver != "auto" or not few:
        return orthogonal
    small = "orthogonal factor of the rows; the ridge is too small for the dual"
    return replace(
        orthogonal,
        method="dual",
        reason="fewer rows than columns: the dual",
        fallback=replace(orthogonal, reason=small),
    )


def _with_least_ridge(made: Plan, task: Task) -> Plan:
    """Where alpha was left to us, the smallest ridge that is numerically reliable comes last."""
    if not task.lenient or made.method == "box":
        return made
    reason = made.reason + "; the smallest ridge that is numerically reliable"
    return replace(made, fallback=replace(made, reason=reason, smallest_ridge=True))


def _from_out_of_bag(shape: Shape, task: Task, machine: Machine) -> Plan:
    nbytes = METHODS["out_of_bag", "out_of_bag"].cost(shape, task, machine).nbytes
    reason = "functions that learned from targets: out-of-bag errors"
    return Plan("out_of_bag", "out_of_bag", FLOAT64, reason, nbytes=nbytes)


def _asked_for(kind: str, shape: Shape, task: Task, machine: Machine) -> Plan:
    """Statistics that are read because a solver was named that takes them."""
    nbytes = METHODS[task.solver, kind].cost(shape, task, machine).nbytes
    return Plan(kind, task.solver, _precision(task, shape.layout), "asked for", nbytes=nbytes)


def _from_kernel_rows(shape: Shape, task: Task, machine: Machine) -> Plan:
    nbytes = METHODS["kernel", "kernel rows"].cost(shape, task, machine).nbytes
    reason = "infinitely many functions: the exact kernel machine"
    return Plan("kernel rows", "kernel", FLOAT64, reason, nbytes=nbytes)


def _from_cells(shape: Shape, task: Task, machine: Machine) -> Plan:
    layout, n = shape.layout, shape.present
    squares = METHODS["dual", "cells"].cost(replace(shape, n_rows=n), task, machine).nbytes
    few = n <= FEW_ROWS_OF_CELLS and squares <= machine.left and task.solver == "auto"
    few &= task.alpha != "heldout"
    # Formulas of cross-validation take cells for independent of the targets.
    formula = not (layout.out_of_bag and (task.searches or task.heldout))
    if task.plain and ((few and formula) or task.solver == "dual" or task.alpha in FORMULAS):
        reason = "few rows: the matrix of their inner products"
        return Plan("cells", "dual", FLOAT64, reason, nbytes=squares)
    method = task.solver
    if method == "auto":
        method = "conjugate" if task.bound is None else "lbfgs"
        method = method if task.loss.smooth else "multipliers"
    dtype, reason = _precision(task, layout), "indicators of cells"
    # Codes, tables of the cells, vectors over cells and over rows; a block of keys for each thread.
    nbytes = 4 * layout.groups * n + 24 * (shape.n_cells + layout.groups * min(n, ROOM))
    vectors = VECTORS + (OF_FOLDS if task.searches or task.heldout else 0)
    nbytes += 8 * shape.n_targets * (vectors * shape.n_cells + COPIES * n)
    nbytes += 16 * machine.threads * shape.block_rows * (KEYS + shape.n_features)
    if not layout.n_columns:
        return Plan("cells", method, dtype, reason, nbytes=nbytes)
    # Dense functions beside the cells have a sketch of their own, in what memory is left.
    dense = replace(shape, n_rows=n, layout=replace(layout, groups=0))
    left = replace(machine, taken=machine.taken + nbytes)
    beside = _sketched(METHODS["sketched", ""], reason, dtype, dense, task, left)
    return replace(
        beside,
        statistics="cells",
        method=method,
        nbytes=nbytes + beside.nbytes,
        out_of_bag=_out_of_bag_wanted(task, layout),
    )


def _in_passes(shape: Shape, task: Task, machine: Machine) -> Plan:
    """Keep the features in memory if they fit beside what the method itself needs."""
    layout, n, k, c = shape.layout, shape.n_rows, shape.layout.n_columns, shape.n_targets
    name, why = task.solver, "asked for"
    if name == "auto":
        name, why = _iterative(task, n, k, c)
        dear = _too_dear(shape, task, machine) if task.plain else ""
        name, why = ("sketched", dear) if dear else (name, why)
    dtype = _precision(task, layout)
    method = METHODS[name, ""]
    if name == "newton" and task.solver == "auto":
        needed = _least(shape, dtype, machine) + method.cost(shape, task, machine).nbytes
        if needed > machine.left:
            squares = method.cost(shape, task, machine).nbytes
            why = f"{why}; k × k matrices would need {squares / 1e9:.3g} GB"
            method = METHODS["lbfgs", ""]
    made = _sketched(method, why, dtype, shape, task, machine)
    return replace(made, out_of_bag=_out_of_bag_wanted(task, layout))


def _iterative(task: Task, n: int, k: int, c: int) -> tuple[str, str]:
    """The iterative method for a loss, a box and a number of functions."""
    loss = task.loss
    if not loss.smooth:
        return "multipliers", f"the {loss.name} loss has a kink"
    if task.bound is not None and not loss.joint:
        return "newton" if k <= MODERATE else "lbfgs", "a smooth loss in a box"
    few = k <= FEW_FUNCTIONS or n * k * min(n, k) * c <= FEW_PRODUCTS
    few &= k <= MODERATE or task.alpha != 0
    if few and not loss.joint:
        return "newton", "a smooth loss and few functions or rows"
    return "lbfgs", "a smooth loss and many functions"


def _sketched(
    method: Method, why: str, dtype: np.dtype, shape: Shape, task: Task, machine: Machine
) -> Plan:
    """A method in passes with as many rows in its sketch, and features kept, as memory allows."""
    n, k = shape.n_rows, shape.layout.n_columns
    least = _least(shape, dtype, machine)
    fixed = method.cost(shape, task, machine).nbytes
    sketches = method.sketches
    rows = sketch_rows(n, k)

    def needed(rows: int) -> int:
        square = 8 * 3 * min(rows, k) ** 2
        sketch = machine.threads * rows * k * dtype.itemsize + square if sketches else 0
        return least + max(fixed, sketch)

    while sketches and rows > LEAST_SKETCH and needed(rows) > machine.left:
        rows //= 2
    all_features = n * k * dtype.itemsize
    cached = needed(rows) + all_features <= machine.left
    kept = "features cached" if cached else "features computed anew in every pass"
    return Plan(
        "",
        method.name,
        dtype,
        f"{why}; {kept} ({machine.granted / 1e9:.3g} GB granted)",
        cached=cached,
        sketch_rows=rows,
        nbytes=needed(rows) + (all_features if cached else 0),
    )


def _least(shape: Shape, dtype: np.dtype, machine: Machine) -> int:
    """What a pass needs at least: a block for every thread, and arrays of the size of targets."""
    return block_bytes(shape, machine, dtype) + COPIES * 8 * shape.n_rows * shape.n_targets
