"""The training rows themselves: what the exact kernel machine is solved from, and predicts with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..families import Functions
from ..features import Features
from ..frame import Frame
from . import copies
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
        """k(x_i, x_j) of all different rows, in closed form."""
        arrays, inputs = self.kept.arrays, self.kept.places()
        targets, each, X = arrays["targets"], arrays["weights"], arrays["inputs"]
        kinds, present = copies.Kinds.of(inputs, targets, each), each > 0
        gone = np.zeros(len(each))
        known = (inputs[present], targets[present], each[present], X[present])
        gone[present] = copies.weights_gone(*known)
        rows = frame.rows(X[kinds.first], np.float64)
        return Products(kinds, targets[kinds.first], each, gone, functions, rows)

    def arrays(self) -> dict[str, NDArray]:
        return self.kept.plain()

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], functions: Functions) -> Self:
        return cls(Kept.from_plain(arrays))
