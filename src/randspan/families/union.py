"""Unions of families: ``Fourier() + Stumps()``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .base import Family, Functions
from .randomness import child_seed
from .rows import Rows


class Union(Family):
    """Functions of several families, k shared equally; the kernel is the mean of their kernels.

    Component i belongs to part i mod (number of parts), so that a larger draw starts with the
    smaller one here too. Columns that a part has beyond its components (direct links) come first.

    Parameters
    ----------
    parts : list of Family
        Usually written with ``+``.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(10, 2))
    >>> (rs.Fourier() + rs.Stumps()).draw(X, 7, random_state=0)(X).shape
    (10, 7)
    """

    def __init__(self, parts):
        self.parts = parts

    def parts_of_union(self):
        return list(self.parts)

    @property
    def bounded(self):
        return max(part.bounded for part in self.parts)

    @property
    def rotation_invariant(self):
        return all(part.rotation_invariant for part in self.parts)

    @property
    def differentiable(self):
        return all(part.differentiable for part in self.parts)

    def resolve(self, sample, n_components, seed):
        return Union([part.resolve(sample, n_components, seed) for part in self.parts])

    def sample(self, n_features, n_components, seed):
        shares = [len(range(j, n_components, len(self.parts))) for j in range(len(self.parts))]
        drawn = [
            part.sample(n_features, share, child_seed(seed, j))
            for j, (part, share) in enumerate(zip(self.parts, shares, strict=True))
            if share
        ]
        return UnionFunctions(self, n_features, n_components, drawn)

    def closed_form(self, X, Y):
        kernels = [part.closed_form(X, Y) for part in self.parts]
        return np.mean(kernels, axis=0)


@dataclass(frozen=True, eq=False)
class UnionFunctions(Functions):
    """The columns of several drawn families, interleaved."""

    parts: list[Functions]

    @property
    def n_columns(self) -> int:
        return sum(part.n_columns for part in self.parts)

    @property
    def n_direct(self) -> int:
        return sum(part.n_direct for part in self.parts)

    def evaluate(self, rows: Rows) -> NDArray:
        out = np.empty((len(rows), self.n_columns), dtype=rows.dtype)
        front = self.n_direct
        start, step = 0, len(self.parts)
        for j, part in enumerate(self.parts):
            values = part.evaluate(rows)
            extra = part.n_direct
            out[:, start : start + extra] = values[:, :extra]
            out[:, front + j :: step] = values[:, extra:]
            start += extra
        return out
