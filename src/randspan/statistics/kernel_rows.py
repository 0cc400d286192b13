"""The training rows themselves: what the exact kernel machine is solved from, and predicts with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..families import Functions
from ..features import Features
from ..frame import Frame
from ..keys import keys_of
from .base import Engine, Statistics
from .kept import Kept, RowKeeping
from .products import Products
from .together import Together


@dataclass(frozen=True, eq=False)
class KernelRows(RowKeeping):
    """Rows, targets and weights as they came: ``inputs`` of ``kept`` are not standardised."""

    name: ClassVar[str] = "kernel rows"

    @classmethod
    def none(cls, functions: Functions, n_targets: int) -> KernelRows:
        return cls(Kept())

    @classmethod
    def read(cls, features: Features, engine: Engine) -> KernelRows:
        return cls(Kept.with_inputs(features.source.without_absent()))

    def plus(self, other: Statistics) -> KernelRows:
        if not isinstance(other, KernelRows):
            raise self.cannot_add(other)
        return KernelRows(self.kept.plus(other.kept))

    def minus(self, other: Statistics) -> KernelRows:
        if not isinstance(other, KernelRows):
            raise self.cannot_add(other)
        return KernelRows(self.kept.without(other.kept))

    def columns(self, functions: Functions) -> Functions:
        arrays = self.kept.arrays
        return functions.with_training_rows(arrays["inputs"]) if arrays else functions

    def products(self, frame: Frame, functions: Functions) -> Products:
        """k(x_i, x_j) of all different rows, in closed form."""
        source, each = self.kept.source, self.kept.arrays["weights"]
        together = inputs = Together.of_source(source)
        if source.left_out_keys is not source.keys:  # equal rows are one line all the same
            inputs = Together.of(keys_of(source.X), source.targets(), each)
        # Where all rows differ they are not copied.
        every = np.array_equal(inputs.first, np.arange(len(each)))
        rows = frame.rows(source.X if every else source.X[inputs.first], np.float64)
        return Products(inputs, together, each, source.distinct, functions, rows)

    def arrays(self) -> dict[str, NDArray]:
        return self.kept.plain()

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], functions: Functions) -> Self:
        return cls(Kept.from_plain(arrays))
