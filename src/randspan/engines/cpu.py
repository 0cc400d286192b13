"""Blocks on the cores of this machine: one thread a core, one block a thread.

Threads own whole blocks: each evaluates features, multiplies and adds into an accumulator of its
own, with BLAS held to one thread. That keeps all cores busy through every step, where a threaded
BLAS would leave them idle between its calls; the benchmark ``speed`` sets both side by side. Blocks
are dealt out by index, so a run repeats itself bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..families import Functions
from ..families.shared.cells import CellFunctions
from ..features import Features
from ..frame import Frame
from ..solvers.in_passes import OperatorRows
from ..solvers.plan import Machine, Plan
from ..sources import Block
from ..statistics.base import Total
from ..statistics.cells import Cells
from . import cells, memory
from .operator import Operator
from .progress import Progress
from .threads import ACCUMULATORS, blas_threads, deal, in_turn, n_threads, threads


@dataclass(frozen=True)
class CPU:
    """The cores of this machine.

    ``n_jobs`` is as in scikit-learn, None for all cores; ``verbose`` shows progress bars.
    """

    n_jobs: int | None = None
    verbose: bool = False

    @property
    def threads(self) -> int:
        return n_threads(self.n_jobs)

    def machine(self, granted: int | str | None) -> Machine:
        """What a fit may use, memory as it was asked for."""
        return Machine(self.threads, memory.budget(granted))

    def blas(self, size: int, alone: bool = False) -> AbstractContextManager[None]:
        """BLAS threads as matrices of ``size`` columns want them; one, where ``alone``."""
        return blas_threads(1 if alone else self.n_jobs, size)

    def pool(self) -> AbstractContextManager[Callable[[Callable, list], list]]:
        """A map over all threads, BLAS held to one thread each."""
        return threads(self.threads, self.n_jobs, 1)

    def deal(self, function: Callable[[Iterable], Any], items: Iterable) -> list:
        """``function`` of every thread's share of items that are read while it runs."""
        return deal(function, items, self.threads, self.n_jobs, 1)

    def quiet(self) -> CPU:
        """The same engine without progress bars."""
        return CPU(self.n_jobs)

    def progress(self, total: int, label: str) -> Progress:
        return Progress(self.verbose, total, f"randspan: {label}")

    def reduce(
        self,
        features: Features,
        zero: Callable[[], Total],
        add: Callable[[Total, NDArray, Block], Total],
        size: int,
    ) -> Total:
        """Every block of features added to ``zero()``; an accumulator takes ``size`` bytes."""
        progress = self.progress(len(features), f"{features.functions.n_components} functions")

        def run(mine: Iterable[Block]) -> Total:
            total = zero()
            with np.errstate(over="ignore", invalid="ignore"):  # `check_finite` refuses such sums
                for block in mine:
                    total = add(total, features.values(block), block)
                    progress(len(block))
            return total

        workers = self._workers(features, max(1, ACCUMULATORS // max(size, 1)))
        parts = deal(run, features.blocks(), workers, self.n_jobs, features.n_columns)
        total = parts[0]
        for part in parts[1:]:
            total = total.absorb(part)
        return total

    def map(self, features: Features, function: Callable[[NDArray, Block], NDArray]) -> NDArray:
        """``function(Z, block)`` of every block, one below the other."""

        def run(block: Block) -> NDArray:
            return function(features.values(block), block)

        workers, stored = self._workers(features), features.functions.n_stored
        parts = in_turn(run, features.blocks(), workers, self.n_jobs, stored)
        if sparse.issparse(parts[0]):
            return sparse.vstack(parts, format="csr")
        return np.concatenate(parts)

    def _workers(self, features: Features, most: int = 1 << 30) -> int:
        """No more threads than there are blocks."""
        return max(1, min(self.threads, len(features.slices()), most))

    def cells(self, features: Features) -> tuple[list[CellFunctions], NDArray[np.int32]]:
        """Functions with all cells that rows are in, and the cell of every row in every group."""
        return cells.numbered(features, self.n_jobs, self.progress(len(features), "cells"))

    def operator(self, features: Features, centred: bool, cached: bool) -> OperatorRows:
        """Rows as an operator; features are kept where ``cached``, else computed in every pass."""
        source = features.source
        operator = self._operator(features, source.each, centred, cached)
        return OperatorRows(operator, source.targets(), source.each, source.left_out_keys)

    def cell_operator(
        self, held: Cells, frame: Frame, functions: Functions, plan: Plan, centred: bool
    ) -> OperatorRows:
        """Rows that are kept as cells as an operator."""
        arrays, dense = held.kept.arrays, None
        targets, each = arrays["targets"], arrays["weights"]
        if functions.dense_part is not None:
            source = held.kept.source
            part, out_of_bag = functions.dense_part, plan.out_of_bag
            features = Features(frame, part, source, plan.dtype, out_of_bag, plan.block)
            dense = self._operator(features, each, centred, plan.cached)
        operator = cells.operator(held, dense, centred, self.n_jobs)
        return OperatorRows(operator, targets, each, held.kept.source.left_out_keys)

    def _operator(
        self, features: Features, weights: NDArray, centred: bool, cached: bool
    ) -> Operator:
        progress = self.progress(len(features), f"{features.functions.n_components} functions")
        return Operator(features, weights, centred, cached, self.n_jobs, progress)
