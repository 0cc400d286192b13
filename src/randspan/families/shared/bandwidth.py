"""The median heuristic: γ from the median distance between two rows.

A pair is two rows drawn independently by weight; pairs at distance zero (a row with itself or
with its copy) say nothing about the scale and are left out. So a weight of two and a row that
stands twice give the same γ, as long as all rows are looked at; of more than 512 a sample is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from ...checks import check_choice, check_positive
from .sample import Sample


@dataclass(frozen=True, eq=False)
class Bandwidth:
    """γ, one number or one for every column."""

    gamma: float | NDArray[np.float64]


def read_gamma(gamma, sample: Sample, metric: str | float) -> float | NDArray[np.float64]:
    """The parameter gamma: "median", one positive number, or one for every column."""
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ("median",), " or positive number(s)")
        return median_gamma(sample, metric)
    numbers = check_positive("gamma", gamma, sample.shape[1])
    return numbers if numbers.ndim else float(numbers)


def median_gamma(sample: Sample, metric: str | float) -> float:
    """1/(2 med²) of Euclidean distances, 1/med of "cityblock", "coordinate" or Minkowski's.

    "coordinate" pools |x_m - y_m| over the columns m; a number is Minkowski's p. Where no two rows
    differ, γ = 1.
    """
    d = sample.shape[1]
    work = 2e6 if metric == "coordinate" else 4e8
    rows, weights = sample.head(int(np.clip(np.sqrt(work / max(d, 1)), 32, 512)))
    i, j = np.triu_indices(len(rows), 1)
    pair_weights = weights[i] * weights[j]
    if metric == "coordinate":
        distances = np.abs(rows[i] - rows[j]).ravel()
        pair_weights = np.repeat(pair_weights, d)
    elif isinstance(metric, str):
        distances = pdist(rows, metric)
    else:
        distances = pdist(rows, "minkowski", p=metric)
    apart = distances > 0
    if not apart.any():
        return 1.0
    median = weighted_median(distances[apart], pair_weights[apart])
    return float(1 / (2 * median**2) if metric == "euclidean" else 1 / median)


def weighted_median(values: NDArray, weights: NDArray) -> float:
    """The smallest value at which half of the weight is reached."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(reached, reached[-1] / 2)]])
