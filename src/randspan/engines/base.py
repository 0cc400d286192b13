"""What a model asks of whoever runs its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from numpy.typing import NDArray

from ..families import Functions
from ..features import Features
from ..frame import Frame
from ..solvers.in_passes import OperatorRows
from ..solvers.plan import Machine, Plan
from ..sources import Block
from ..statistics import base
from ..statistics.cells import Cells
from .progress import Progress


class Engine(base.Engine, Protocol):
    """`reduce` and `cells` for statistics, and what else a fit and a prediction need.

    An engine may have rows of its own (`Features.kind`): these answer what functions ask of a block
    (products, cosines, signs, norms, hashes).
    """

    def map(self, features: Features, function: Callable[[NDArray, Block], NDArray]) -> NDArray:
        """``function(Z, block)`` of every block, one below the other."""

    def operator(self, features: Features, centred: bool, cached: bool) -> OperatorRows:
        """Rows as an operator; features are kept where ``cached``, else computed in every pass."""

    def cell_operator(
        self, held: Cells, frame: Frame, functions: Functions, plan: Plan, centred: bool
    ) -> OperatorRows:
        """Rows that are kept as cells as an operator."""

    def blas(self, size: int, alone: bool = False) -> AbstractContextManager[None]:
        """BLAS threads as matrices of ``size`` columns want them; one, where ``alone``."""

    def machine(self, memory_limit: int | str | None) -> Machine:
        """What a fit may use, memory as it was asked for."""

    def progress(self, total: int, label: str) -> Progress:
        """A progress bar."""

    def pool(self) -> AbstractContextManager[Callable[[Callable, list], list]]:
        """A map over all threads, BLAS held to one thread each."""

    def deal(self, function: Callable[[Iterable], Any], items: Iterable) -> list:
        """``function`` of every thread's share of items that are read while it runs."""

    def quiet(self) -> Engine:
        """The same engine without progress bars."""

    @property
    def threads(self) -> int:
        """How many blocks run at once."""
