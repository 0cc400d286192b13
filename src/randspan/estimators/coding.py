"""Fits of indicators of cells: from rows to codes, from codes to weights.

What is kept of the training rows is their codes (`CodedRows`), and from these any number of rows
can be added, taken away and joined. Few rows are solved for through the n × n matrix of their
kernel, which gives alpha by generalised cross-validation, leave-one-out and standard deviations.
Many are solved for in passes over the codes, alpha then being judged on rows held out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..coded import CodedRows
from ..engines import cpu, memory
from ..engines.codes import Coded, encode
from ..engines.operator import Operator
from ..families import Functions
from ..families.bags import row_keys
from ..families.cells import indicators
from ..features import Features
from ..losses import Squared
from ..solvers import METHODS, LeastSquares, Solution, spectrum
from ..solvers.iterative import Solver
from ..solvers.problem import Problem
from ..tuning.alpha import by_gcv
from ..tuning.heldout import by_heldout, folds, judge
from . import iterating
from .kernel_machine import centred
from .parameters import NO_ROWS
from .progress import Progress

# Up to here the n × n matrix takes a second or two.
FEW_ROWS = 2000
SOLVERS = ("auto", "conjugate", "dual", "lbfgs", "multipliers")


def check_solver(settings: Any, functions: Functions) -> None:
    """Refuse solvers that would need all cells as a dense matrix, and those for cells elsewhere."""
    solver = settings.solver
    if not functions.coded_parts:
        if solver != "auto" and METHODS[solver].coded:
            raise ValueError(
                f"solver={solver!r} is for indicators of cells (rs.Bins()); leave solver='auto'."
            )
        return
    if solver == "lbfgs" and settings.bound is None:
        raise ValueError("solver='lbfgs' is for cells in a box; without one use 'conjugate'.")
    if solver not in SOLVERS:
        raise ValueError(
            f"solver={solver!r} works on dense matrices; cells are too many for that. "
            f"Use one of {', '.join(map(repr, SOLVERS))}."
        )


def read(state: Any, X, targets, weights, settings: Any, growing: bool = True) -> CodedRows:
    """The codes of all rows of X; new cells are added to the functions of ``state``."""
    Y, n = targets(slice(0, X.shape[0])), X.shape[0]
    each = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if not (each > 0).all():  # rows of weight 0 have no cells
        X, Y, each = X[each > 0], Y[each > 0], each[each > 0]
        n = len(each)
    if not n:
        return CodedRows.none()
    progress = Progress(settings.verbose, n, "randspan: cells")
    features = state.features(X)
    coded, codes = encode(state.functions.coded_parts, features, settings.n_jobs, progress, growing)
    if growing:
        state.functions = state.functions.with_coded(coded)
    inputs = None if state.functions.dense_part is None else X.copy()
    keys = None if state.functions.bags is None else row_keys(X, Y)
    rows = CodedRows([codes], [inputs], [Y], [each], [keys])
    unknown = (codes < 0).any(axis=0)
    if not growing and unknown.any():
        raise ValueError(
            f"{int(unknown.sum())} of {n} rows cannot have been in the model: they fall into cells "
            "where it has seen none."
        )
    return rows


def merge(mine: Any, theirs: Any) -> None:
    """Add the rows of another state with the same frame: cells keep the numbers they have here."""
    rows, line, coded = theirs.statistics.joined(), 0, []
    renamed = [codes.copy() for codes in rows.codes]
    for own, other in zip(mine.functions.coded_parts, theirs.functions.coded_parts, strict=True):
        tables = own.own_tables()
        for table, source, count in zip(tables, other.tables, other.counts, strict=True):
            names = np.empty(count, dtype=np.int32)
            table.enter(source.keys[:count], names)
            for codes in renamed:
                codes[line] = names[codes[line]]
            line += 1
        coded.append(own.with_tables(tables))
    mine.functions = mine.functions.with_coded(coded)
    mine.statistics = mine.statistics + replace(rows, codes=renamed)


def solve(state: Any, settings: Any) -> Solution:
    """Weights for all cells, from the rows a state holds."""
    rows = state.statistics = state.statistics.joined()
    if not len(rows):
        raise ValueError(NO_ROWS)
    needed, granted = 4 * 8 * len(rows) ** 2, memory.budget(settings.memory)
    if settings.solver == "dual" and needed > granted:
        raise MemoryError(
            f"solver='dual' needs about {needed / 1e9:.3g} GB for {len(rows)} rows, "
            f"{granted / 1e9:.3g} GB are granted: use 'conjugate'."
        )
    plain = isinstance(settings.loss, Squared) and settings.bound is None
    if state.functions.bags is not None and (settings.alpha == "auto" or settings.heldout):
        plain = False  # formulas of cross-validation take cells for independent of the targets
    few = len(rows) <= FEW_ROWS and needed <= granted and settings.solver == "auto"
    if plain and (few or settings.solver == "dual"):
        return _by_kernel(state, rows, settings)
    state.kernel = None
    return _in_passes(state, rows, settings)


def heldout_error(state: Any, settings: Any, out: NDArray | None) -> float:
    """The squared error on rows held out, at the alpha that suits them best or was given.

    ``out`` are numbers of the rows; folds are made where there are none.
    """
    rows = state.statistics.joined()
    [Y], [each] = rows.targets, rows.weights
    progress = Progress(False, len(rows), "")
    operator, made = _operator(state, rows, settings, progress)
    solver = Solver(operator, made.method, made.sketch_rows)
    problem = Problem(operator, settings.loss, Y, each, 0.0, None, settings.intercept)
    if operator.trace == 0:
        return problem.objective(problem.zero) / float(each.sum()) / Y.shape[1]
    scale, seed = state.frame.ridge_scale, state.frame.seed
    largest = iterating.largest_alpha(operator, state.frame.ridge)
    with cpu.blas_threads(1, 1):
        parts = folds(each, seed, rows.keys[0]) if out is None else [out]
        if settings.alpha != "auto":
            return judge(solver, problem, settings.alpha, scale, parts, [None] * len(parts)).error
        return by_heldout(
            solver, problem, scale, operator.trace, seed, largest=largest, parts=parts
        ).error


def _in_passes(state: Any, rows: CodedRows, settings: Any) -> Solution:
    [Y], [each] = rows.targets, rows.weights
    progress = Progress(settings.verbose, len(rows), "randspan: weights")
    operator, made = _operator(state, rows, settings, progress)
    iterating.solve(state, operator, made, Y, each, settings, progress, rows.keys[0])
    return state.solution


def _operator(
    state: Any, rows: CodedRows, settings: Any, progress: Progress
) -> tuple[Coded, iterating.Plan]:
    [codes], [inputs], [Y], [each] = rows.codes, rows.inputs, rows.targets, rows.weights
    counts = np.concatenate([part.counts for part in state.functions.coded_parts])
    bags = state.functions.bags
    numbers = None if bags is None else bags.located(rows.keys[0])
    method = _method(settings)
    made = iterating.Plan(method, False, 0, "indicators of cells")
    needed = 8 * Y.shape[1] * (8 * int(counts.sum()) + iterating.COPIES * len(rows))
    dense = None
    if inputs is not None:
        functions = state.functions.dense_part
        outside = numbers if settings.alpha == "auto" else None
        features = Features(state.frame, functions, inputs, state.dtype, outside)
        made = iterating.plan(features, Y.shape[1], settings, "sketched", "indicators of cells")
        made = replace(made, method=method)
        dense = Operator(features, each, settings.intercept, made.cached, settings.n_jobs, progress)
    granted = memory.budget(settings.memory)
    if needed > granted:
        raise MemoryError(
            f"memory={settings.memory!r} grants {granted / 1e9:.3g} GB; {counts.sum()} cells and "
            f"{Y.shape[1]} target(s) need about {needed / 1e9:.3g} GB: use fewer grids or a "
            "smaller gamma."
        )
    seen = None if numbers is None else _seen(state.functions, numbers)
    return Coded(codes, counts, each, settings.intercept, dense, settings.n_jobs, seen), made


def _seen(
    functions: Functions, numbers: NDArray[np.int64]
) -> list[tuple[int, NDArray[np.bool_] | None]]:
    """How many groups of cells every part has, and which have learned from which rows."""
    return [
        (k := part.n_components, None if part.bags is None else part.bags.seen(numbers, k).T)
        for part in functions.coded_parts
    ]


def _method(settings: Any) -> str:
    if settings.solver != "auto":
        return settings.solver
    if not settings.loss.smooth:
        return "multipliers"
    return "conjugate" if settings.bound is None else "lbfgs"


@dataclass(frozen=True)
class CodedKernel:
    """The training rows Z, for inner products with the features of other rows.

    ``shares`` s are ω/Σω and ``means`` Σ_j s_j z_i'z_j, where an intercept wants centring.
    """

    train: sparse.csr_array
    shares: NDArray[np.float64] | None
    means: NDArray[np.float64] | None

    def centred(self, Z: sparse.csr_array) -> tuple[NDArray, NDArray]:
        """Inner products of centred rows with the centred training rows, and with themselves."""
        Z = Z.astype(np.float64)
        columns, own = (Z @ self.train.T).toarray(), np.asarray((Z * Z).sum(axis=1)).ravel()
        return centred(columns, own, self.shares, self.means)


def _by_kernel(state: Any, rows: CodedRows, settings: Any) -> LeastSquares:
    """The dual, through inner products of rows."""
    [codes], [inputs], [Y], [each] = rows.codes, rows.inputs, rows.targets, rows.weights
    scale = state.frame.ridge_scale
    state.dtype = np.dtype(np.float64)
    counts = np.concatenate([part.counts for part in state.functions.coded_parts])
    train = indicators(codes, counts, np.float64)
    if inputs is not None:
        dense = state.functions.dense_part.evaluate(state.frame.rows(inputs, np.float64))
        train = sparse.hstack([sparse.csr_array(dense), train], format="csr")
    gram = (train @ train.T).toarray()
    with cpu.blas_threads(settings.n_jobs, len(rows)):
        path = spectrum.from_kernel(gram, Y, each, rows.distinct(), settings.intercept)
    alpha = settings.alpha
    if alpha == "auto":
        alpha = by_gcv(path, scale, np.dtype(np.float64))
    solution = path.solution(alpha, scale, "few rows: the matrix of their inner products")
    shares = each / each.sum() if settings.intercept else None
    state.kernel = CodedKernel(train, shares, solution.mean if settings.intercept else None)
    return replace(solution, coef=train.T @ solution.coef, solver="dual")
