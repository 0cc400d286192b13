"""Inner products of the training rows: what kernel machines are solved from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Products:
    """k(x_i, x_j) of all training rows, or z_i'z_j of their features Z.

    ``distinct`` is how many different rows there are. ``features`` is Z where the model has a
    weight for every column of it, None where it has one for every training row.
    """

    gram: Array
    targets: Array
    weights: Array
    distinct: int
    features: sparse.csr_array | None = None
