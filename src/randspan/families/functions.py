"""Drawn functions, frozen: called with rows they return the n × k matrix of plain values φ_i(x).

There is no factor 1/√k. A kind of functions writes `evaluate`, and what else it knows of itself.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .shared.layout import Layout
from .shared.out_of_bag import OutOfBagRows
from .shared.rows import Rows, as_rows

if TYPE_CHECKING:
    from .base import Family


class Standardising(Protocol):
    """A frame: what takes rows to x̃."""

    def rows(self, X, dtype) -> Rows: ...

    def encoded(self, X) -> Any: ...


OUTSIDE = (
    "{} of {} rows have values outside of the range that the functions were drawn for (that of the "
    "training data, or interval=): these values are clipped to it."
)


@dataclass(frozen=True, eq=False)
class Functions(ABC):
    """Drawn functions φ_1, …, φ_k: ``functions(X)`` is the n × k matrix of φ_i(x).

    Attributes
    ----------
    family : Family
        The resolved family they were drawn from.
    n_features : int
        Number of inputs.
    n_components : int
        k, as the family counts it.
    frame : Frame or None
        What standardises the rows that these functions are called with, as those of a fitted model
        are; None where rows are taken as they are.
    """

    family: Family
    n_features: int
    n_components: int
    frame: Standardising | None = field(default=None, kw_only=True, repr=False, compare=False)

    @property
    def n_columns(self) -> int:
        """Columns of ``functions(X)``."""
        return self.n_components

    @property
    def n_direct(self) -> int:
        """How many of the first columns are not drawn (direct links): no box holds for them."""
        return 0

    @property
    def n_stored(self) -> int:
        """How many values of a row differ from zero."""
        return self.n_columns

    @property
    def layout(self) -> Layout:
        """What these functions look like from outside: that of their family."""
        dense = self.dense_part
        return Layout(
            self.n_components,
            0 if dense is None else dense.n_columns,
            sum(part.n_components for part in self.cell_parts),
            self.n_direct,
            self.n_targets,
            self.out_of_bag is not None,
            repr(self.family) if self.family.uses_target and self.out_of_bag is None else "",
        )

    def __getstate__(self) -> dict[str, Any]:
        # What was computed along the way can be computed again.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def dense_part(self) -> Functions | None:
        """The functions whose values are dense; their columns come first."""
        return self

    @property
    def out_of_bag(self) -> OutOfBagRows | None:
        """Which rows are out of bag for which function, where functions were trained on some."""
        return None

    @property
    def n_targets(self) -> int:
        """How many targets every function predicts, a column for each; 0 if it predicts none."""
        return 0

    @property
    def origin(self) -> NDArray[np.float64]:
        """The mean of the targets that functions have learned to predict."""
        return np.zeros(self.n_targets)

    def out_of_bag_values(self, rows: Rows, indices: NDArray[np.int64]) -> Any:
        """Out-of-bag values for rows of the training data, by their indices there."""
        return self.evaluate(rows)

    @property
    def cell_parts(self) -> list:
        """The functions that are indicators of cells, each with cells of its own."""
        return []

    def with_cells(self, cells: list) -> Functions:
        """The same functions with other cells in place of `cell_parts`."""
        return self

    def seeing(self, rows: Rows) -> Functions:
        """The same functions, with a column for every cell that ``rows`` fall into."""
        return self

    def with_training_rows(self, values) -> Functions:
        """The same functions; where these are kernels at training rows, at other rows."""
        return self

    def rkhs_norm(self, weights: NDArray) -> float:
        """‖f‖ of f = Σ w_i φ_i in the RKHS of the kernel (1/k) Σ φ_i(x) φ_i(y): √k‖w‖."""
        return float(np.sqrt(self.n_components) * np.linalg.norm(weights))

    @property
    def plain(self) -> tuple[Functions, NDArray[np.float64]] | None:
        """Functions ψ and a matrix C with φ = Cψ, where sums of ψ are cheaper than those of φ."""
        return None

    def squares(self, rows: Rows) -> NDArray[np.float64] | None:
        """k(x, x) of rows where columns are kernels k(x, x_i); None where columns are features."""
        return None

    def __call__(self, X):
        rows = self._rows(X)
        clipped = self.family.outside(rows)
        if clipped is not None and clipped.any():
            warnings.warn(OUTSIDE.format(int(clipped.sum()), len(rows)), stacklevel=2)
        values = self.values(rows)
        if not np.isfinite(values.data if sparse.issparse(values) else values).all():
            raise ValueError(
                "Functions of these rows are not finite numbers: look for very large inputs, or at "
                "what functions of your own return."
            )
        return values

    def framed(self, frame: Standardising) -> Self:
        """The same functions, called with rows as a user has them."""
        return replace(self, frame=frame)

    def _rows(self, X) -> Rows:
        if self.frame is not None and not isinstance(X, Rows):
            X = self.frame.encoded(X)
        rows = as_rows(X)
        if rows.shape[1] != self.n_features:
            raise ValueError(
                f"These functions were drawn for {self.n_features} columns, X has {rows.shape[1]}."
            )
        if self.frame is None or rows is X:  # `Rows` are standardised already
            return rows
        return self.frame.rows(rows.values, rows.dtype)

    def values(self, rows: Rows) -> Any:
        """What `evaluate` returns, if it is a row for every row and a column for every function."""
        with np.errstate(over="ignore", invalid="ignore"):  # whoever uses values asks if finite
            values = self.evaluate(rows)
        if getattr(values, "shape", None) != (len(rows), self.n_columns):
            raise ValueError(
                f"{type(self).__name__}.evaluate returned "
                f"{getattr(values, 'shape', type(values).__name__)} for {len(rows)} rows and "
                f"{self.n_columns} columns: it must return an array of shape (rows, n_columns)."
            )
        return values

    @abstractmethod
    def evaluate(self, rows: Rows) -> Any:
        """The values φ_i of a block of rows, in the block's precision; sparse where cells."""

    def kernel(self, X, Y=None) -> NDArray[np.float64]:
        """k(x, y) = E φ(x) φ(y) under the distribution they were drawn from."""
        rows = self._rows(X)
        return self.family.closed_form(rows, rows if Y is None else self._rows(Y))
