"""Rows beyond the range that a family was made for: clipped by it, counted here, warned of once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from ..families.base import OUTSIDE
from ..frame import Frame

# Entries that are looked at together.
AT_ONCE = 2**20


@dataclass
class Outside:
    """How many rows were clipped so far."""

    count: int = 0

    def note(self, frame: Frame, X) -> None:
        """Count rows of X that the family clips, and warn if they are the first ones."""
        found = 0
        step = max(1, AT_ONCE // X.shape[1])
        for start in range(0, X.shape[0], step):
            clipped = frame.family.outside(frame.rows(X[start : start + step], np.float64))
            if clipped is None:
                return
            found += int(clipped.sum())
        if found and not self.count:
            warnings.warn(
                OUTSIDE.format(found, X.shape[0]) + " This is said once; n_outside_ counts them.",
                stacklevel=4,
            )
        self.count += found
