"""The training rows themselves: what the exact kernel machine is solved from, and predicts with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..families import Functions
from ..features import Features
from ..frame import Frame
from .base import Engine, Statistics
from .kept import Kept, RowKeeping
from .products import Products


@dataclass(frozen=True, eq=False)
class KernelRows(RowKeeping):
    """Rows, targets and weights as they came: ``inputs`` of ``kept`` are not standardised."""

    name: ClassVar[str] = "kernel rows"

    @classmethod
    def none(cls, functions: Functions, n_targets: int) -> KernelRows:
        return cls(Kept())

    @classmethod
    def read(cls, features: Features, engine: Engine) -> KernelRows:
        source = features.source
        return cls(Kept.of(source, inputs=cast(NDArray, source.X.copy())))

    def plus(self, other: Statistics) -> KernelRows:
        if not isinstance(other, KernelRows):
            raise self.cannot_add(other)
        return KernelRows(self.kept.plus(other.kept))

    def minus(self, other: Statistics) -> KernelRows:
        if not isinstance(other, KernelRows):
            raise self.cannot_add(other)
        return KernelRows(self.kept.without(other.kept))

    def columns(self, functions: Functions) -> Functions:
        return functions.with_training_rows(self.kept.arrays["inputs"]) if self.rows else functions

    def products(self, frame: Frame, functions: Functions) -> Products:
        """k(x_i, x_j) of all rows, in closed form."""
        arrays = self.kept.arrays
        gram = functions.evaluate(frame.rows(arrays["inputs"], np.float64))
        places = self.kept.places()[arrays["weights"] > 0]
        return Products(gram, arrays["targets"], arrays["weights"], len(np.unique(places)))

    def arrays(self) -> dict[str, NDArray]:
        return self.kept.plain()

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], functions: Functions) -> Self:
        return cls(Kept.from_plain(arrays))
