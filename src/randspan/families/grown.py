"""Functions that predict the targets they have learned from (`bags`)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bags import Bags
from .base import Functions
from .checks import check_number
from .randomness import raw_bits
from .rows import Rows


@dataclass(frozen=True, eq=False)
class Growth:
    """What functions have learned from: their bags, and the mean of the targets.

    ``bags`` is None where every function has seen every row.
    """

    bags: Bags | None
    origin: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GrownFunctions(Functions):
    """h_j(x), a prediction of every target: a column for each, one hypothesis after the other."""

    growth: Growth

    @abstractmethod
    def predictions(self, rows: Rows) -> NDArray:
        """h_j(x) for every row, hypothesis and target."""

    @property
    def n_columns(self) -> int:
        return self.n_components * self.n_targets

    @property
    def n_targets(self) -> int:
        return len(self.growth.origin)

    @property
    def bags(self) -> Bags | None:
        return self.growth.bags

    @property
    def origin(self) -> NDArray[np.float64]:
        return self.growth.origin

    def evaluate(self, rows: Rows) -> NDArray:
        return self.predictions(rows).reshape(len(rows), self.n_columns)

    def unseen(self, rows: Rows, numbers: NDArray[np.int64]) -> Any:
        """Predictions; for a function that knows the row that of another one that does not.

        So predictions differ from each other as much as they do for new rows. With means in the
        gaps they would not, and weights of differences would seem to cost nothing.
        """
        values, k = self.predictions(rows), self.n_components
        if self.bags is not None:
            seen = self.bags.seen(numbers, k)
            others = k - seen.sum(axis=1)
            unseen_first = np.argsort(seen, axis=1, kind="stable")
            lots = raw_bits(self.bags.seed, "others", k) | np.uint64(1)
            lots = (lots * (numbers[:, None] + 1).astype(np.uint64)) >> np.uint64(33)
            chosen = (lots % np.maximum(others, 1)[:, None].astype(np.uint64)).astype(np.intp)
            other = np.take_along_axis(unseen_first, chosen, axis=1)
            at = np.where(seen, other, np.arange(k))
            values = np.take_along_axis(values, at[:, :, None], axis=1)
            # What all functions know nobody is left to judge.
            values[others == 0] = self.growth.origin
        return values.reshape(len(rows), self.n_columns)


def weighted_mean(
    targets: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """The mean of every target; 0 where there is no weight."""
    if weights is None:
        return targets.mean(axis=0)
    return weights @ targets / max(float(weights.sum()), np.finfo(np.float64).tiny)


def check_share(share) -> None:
    """Refuse what is no share of the rows that a function may learn from."""
    number = check_number("bootstrap", share)
    if not 0 < number <= 1:
        raise ValueError(f"bootstrap is a share of the rows, above 0 and at most 1; got {share!r}.")
