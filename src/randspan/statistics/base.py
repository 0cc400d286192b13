"""The protocol of everything that adds up over blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from typing import ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..families import Functions
from ..families.shared.cells import CellFunctions
from ..features import Features
from ..frame import Frame
from ..sources import Block
from .products import Products

Array = NDArray[np.float64]
Total = TypeVar("Total", bound="Sums")

NOT_FINITE = (
    "Functions of these rows, or sums of their squares, are not finite numbers: standardize inputs "
    "that are very large (standardize=True), divide targets by their size, and look at what "
    "functions of your own return."
)
NO_ROWS = "The model holds no rows (all were forgotten, or have weight 0)."


class CannotFit(ValueError):
    """What was asked for is not wrong, but these rows, or sums of them, do not allow it.

    Of several candidates the others may do. (Any other ValueError is one for all.)
    """


class Engine(Protocol):
    """Who runs the blocks of features."""

    def reduce(
        self,
        features: Features,
        zero: Callable[[], Total],
        add: Callable[[Total, NDArray, Block], Total],
        size: int,
    ) -> Total:
        """Every block of features added to ``zero()``; an accumulator takes ``size`` bytes."""

    def cells(self, features: Features) -> tuple[list[CellFunctions], NDArray[np.int32]]:
        """Functions with all cells that rows are in, and the cell of every row in every group."""


class Sums(Protocol):
    """What engines add up over blocks of rows."""

    def absorb(self, other: Self) -> Self:
        """The sum of both, for an accumulator that nobody else holds."""


class Statistics(ABC):
    """Sums over rows, or what is kept of the rows; adding and removing rows is exact."""

    #: what it is called in a plan
    name: ClassVar[str]
    #: whether features have gone into sums, so that their precision is settled
    settled: ClassVar[bool] = True
    #: how many rows of positive weight
    rows: int
    #: Σω
    weight: float

    @classmethod
    @abstractmethod
    def none(cls, functions: Functions, n_targets: int) -> Self:
        """The statistics of no rows."""

    @classmethod
    @abstractmethod
    def read(cls, features: Features, engine: Engine) -> Self:
        """The statistics of all rows of ``features``, in blocks."""

    @abstractmethod
    def plus(self, other: Statistics) -> Statistics:
        """Both together; it may be a weaker kind (moments, of a factor and moments)."""

    @abstractmethod
    def minus(self, other: Statistics) -> Statistics:
        """These without ``other``; refused with the reason where that cannot be."""

    def arrays(self) -> dict[str, NDArray]:
        """Everything these statistics know, as arrays: `from_arrays` takes them back."""
        known = ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return {name: np.asarray(value) for name, value in known if value is not None}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], functions: Functions) -> Self:
        """The statistics that `arrays` came from, of the same functions."""
        numbers = {name: value.item() for name, value in arrays.items() if value.ndim == 0}
        return cls(**(arrays | numbers))

    def absorb(self, other: Self) -> Self:
        """`plus` for an accumulator that nobody else holds: its arrays may be written to."""
        return self.plus(other)  # type: ignore[return-value]

    def summed(self) -> Statistics:
        """The same rows as a kind that any number of rows can be added to and removed from."""
        return self

    def columns(self, functions: Functions) -> Functions:
        """The functions that weights are fitted to: with the cells, or rows, that were seen."""
        return functions

    def products(self, frame: Frame, functions: Functions) -> Products:
        """Inner products of all rows, where rows are kept; ``functions`` are our `columns`."""
        raise NotImplementedError(f"{self.name} keep no rows.")

    @property
    def target_variance(self) -> float | None:
        """The variance of the targets, averaged over them; None where it is not known."""
        return None

    @property
    def drowned(self) -> bool:
        """Whether little more is left than the rounding errors of what was forgotten."""
        return False

    @property
    @abstractmethod
    def size(self) -> int:
        """The size of the matrices that weights are solved for with."""

    @property
    def n_cells(self) -> int:
        """Cells that were seen, in all groups together."""
        return 0

    def check_finite(self) -> None:
        """Refuse sums that are not finite: functions of some row were not."""
        for array in self.arrays().values():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise CannotFit(NOT_FINITE)

    def cannot_add(self, other: Statistics) -> ValueError:
        return ValueError(
            f"One model holds {self.name} and the other {other.name}, which do not add up: fit "
            "both with the same solver and alpha."
        )
