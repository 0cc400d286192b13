"""Functions that predict the targets they were trained on (see `out_of_bag`)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...checks import check_number
from ..functions import Functions
from .out_of_bag import OutOfBagRows
from .rows import Rows


@dataclass(frozen=True, eq=False)
class TrainedOn:
    """What functions were trained on: which rows are out of bag, and the mean of the targets.

    ``out_of_bag`` is None where every function was trained on every row.
    """

    out_of_bag: OutOfBagRows | None
    origin: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainedFunctions(Functions):
    """h_j(x), a prediction of every target: a column for each, one hypothesis after the other."""

    trained_on: TrainedOn

    @abstractmethod
    def predictions(self, rows: Rows) -> NDArray:
        """h_j(x) for every row, hypothesis and target."""

    @property
    def n_columns(self) -> int:
        return self.n_components * self.n_targets

    @property
    def n_targets(self) -> int:
        return len(self.trained_on.origin)

    @property
    def out_of_bag(self) -> OutOfBagRows | None:
        return self.trained_on.out_of_bag

    @property
    def origin(self) -> NDArray[np.float64]:
        return self.trained_on.origin

    def evaluate(self, rows: Rows) -> NDArray:
        return self.predictions(rows).reshape(len(rows), self.n_columns)

    def out_of_bag_values(self, rows: Rows, indices: NDArray[np.int64]) -> Any:
        """Out-of-bag predictions; for a function trained on the row, that of one that was not.

        So predictions differ from each other as much as they do for new rows. With means in the
        gaps they would not, and weights of differences would seem to cost nothing.
        """
        values = self.predictions(rows)
        if self.out_of_bag is not None:
            seen = self.out_of_bag.seen(indices, self.n_components)
            at = self.out_of_bag.others(seen, indices)
            values = np.take_along_axis(values, at[:, :, None], axis=1)
            # Rows that every function was trained on have the mean.
            values[seen.all(axis=1)] = self.trained_on.origin
        return values.reshape(len(rows), self.n_columns)


def weighted_mean(
    targets: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The mean of every target; 0 where there is no weight. No sum depends on threads."""
    if weights is None:
        return targets.mean(axis=0)
    total = max(float(weights.sum()), np.finfo(np.float64).tiny)
    return (weights[:, None] * targets).sum(axis=0) / total


def check_share(share) -> None:
    """Refuse what is no share of the rows that a function may learn from."""
    number = check_number("bootstrap", share)
    if not 0 < number <= 1:
        raise ValueError(f"bootstrap is a share of the rows, above 0 and at most 1; got {share!r}.")
