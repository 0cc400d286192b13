"""The square root of moments: R with R'R = A'A for the rows A = √ω·(1, z, y).

It adds up too (stack and factor again) but has no minus. It serves where squaring the condition
number would lose the answer, and where there are fewer rows than functions and R is just the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..families import Functions
from ..features import Features
from ..sources import Block
from .base import Array, Engine, Statistics
from .moments import NO_KEYS, Keys, Moments, counted, joined, most_keys, of_present


@dataclass(frozen=True, eq=False)
class Factor(Statistics):
    """R with R'R = Σω(1, z, y)(1, z, y)': the square root of moments, or the rows themselves."""

    name: ClassVar[str] = "factor"

    rows: int
    weight: float
    root: Array
    n_targets: int
    keys: Keys | None = None

    @classmethod
    def of(cls, Z: NDArray, Y: Array, weights: Array | None, keys: Keys | None = None) -> Factor:
        """The factor of one block: its rows, weighted. There are no products to round."""
        root = np.column_stack([np.ones(len(Z)), Z, Y])
        if weights is not None:
            root *= np.sqrt(weights)[:, None]
        weight = float(len(Z)) if weights is None else float(weights.sum())
        rows = len(Z) if weights is None else int(np.count_nonzero(weights))
        return cls(rows, weight, root, Y.shape[1], of_present(keys, weights))

    @classmethod
    def zero(cls, n_functions: int, n_targets: int) -> Factor:
        """The factor of no rows."""
        return cls(0, 0.0, np.zeros((0, 1 + n_functions + n_targets)), n_targets, NO_KEYS)

    @classmethod
    def none(cls, functions: Functions, n_targets: int) -> Factor:
        return cls.zero(functions.n_columns, n_targets)

    @classmethod
    def read(cls, features: Features, engine: Engine) -> Factor:
        source, k = features.source, features.n_columns
        few = source.present <= most_keys(k)

        def add(total: Factor, Z: NDArray, block: Block) -> Factor:
            keys = block.key if few else None
            return total.plus(cls.of(Z, block.Y, block.weight, keys))

        return engine.reduce(features, lambda: cls.zero(k, source.n_targets), add, 16 * k**2)

    def plus(self, other: Statistics) -> Factor:
        if not isinstance(other, Factor):
            raise self.cannot_add(other)
        root = np.vstack([self.root, other.root])
        if len(root) > 2 * root.shape[1]:
            root = np.asarray(np.linalg.qr(root, mode="r"))
        rows, weight = self.rows + other.rows, self.weight + other.weight
        keys = joined(self.keys, other.keys, +1, most_keys(self.n_functions))
        return Factor(rows, weight, root, self.n_targets, keys)

    def minus(self, other: Statistics) -> Factor:
        raise ValueError(
            "This model holds an orthogonal factor (solver='qr' or 'dual'), from which rows "
            "cannot be removed reliably: use solver='auto' with a larger alpha, or fit anew."
        )

    def summed(self) -> Moments:
        """The moments this is a square root of."""
        Z, Y, mean, target_mean = self.centred(intercept=True)
        scatter = Z.T @ Z
        return Moments(
            rows=self.rows,
            weight=self.weight,
            mean=mean,
            target_mean=target_mean,
            scatter=scatter,
            cross=Z.T @ Y,
            target_scatter=(Y**2).sum(axis=0),
            peak=float(np.trace(scatter)),
            keys=self.keys,
        )

    @property
    def target_variance(self) -> float | None:
        if self.weight <= 0:
            return None
        Y = self.centred(intercept=True)[1]
        return float((Y**2).sum(axis=0).mean() / self.weight)

    @property
    def size(self) -> int:
        return self.n_functions

    @property
    def n_functions(self) -> int:
        return self.root.shape[1] - 1 - self.n_targets

    @property
    def counted(self) -> float:
        """What degrees of freedom are compared with."""
        return counted(self.rows, self.n_functions, self.weight, self.keys)

    @property
    def trace(self) -> float:
        """Σω‖z‖², not centred."""
        Z = self.root[:, 1 : 1 + self.n_functions]
        return float(np.einsum("ij,ij->", Z, Z))

    def centred(self, intercept: bool) -> tuple[Array, Array, Array, Array]:
        """Features, targets and their means, with the constant projected out of the rows.

        Orthogonal steps that led to R do not change this: only inner products matter.
        """
        ones, rest = self.root[:, :1], self.root[:, 1:]
        means = np.zeros(rest.shape[1])
        if intercept and self.weight > 0:
            means = (ones.T @ rest)[0] / (ones.T @ ones)[0, 0]
            rest = rest - ones * means
        split = rest.shape[1] - self.n_targets
        return rest[:, :split], rest[:, split:], means[:split], means[split:]
