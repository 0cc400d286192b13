"""Unions of families: ``Fourier() + Stumps()``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Family, Functions
from .randomness import child_seed
from .rows import Rows


class Union(Family):
    """Functions of several families, k shared equally; the kernel is the mean of their kernels.

    Component i belongs to part i mod (number of parts), so that a larger draw starts with the
    smaller one here too. Columns that a part has beyond its components (direct links) come first,
    columns of cells last, part by part; where there are any, values are a sparse matrix.

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
    def sparse(self) -> bool:  # type: ignore[override]
        return any(part.sparse for part in self.parts)

    @property
    def default_components(self) -> int | None:  # type: ignore[override]
        return 100 * len(self.parts) if self.sparse else None

    @property
    def rotation_invariant(self):
        return all(part.rotation_invariant for part in self.parts)

    @property
    def differentiable(self):
        return all(part.differentiable for part in self.parts)

    @property
    def nearest_kernel(self):
        return self._leading.nearest_kernel

    @property
    def stretch(self):
        return self._leading.stretch

    @property
    def _leading(self) -> Family:
        """The part whose kernel scales are learned with: one that looks at columns one by one."""
        apart = [part for part in self.parts if part.nearest_kernel == "laplacian"]
        return (apart or self.parts)[0]

    @property
    def sees_scales(self):
        return any(part.sees_scales for part in self.parts)

    def with_bandwidth_of(self, resolved):
        pairs = zip(self.parts, resolved.parts, strict=True)
        return Union([part.with_bandwidth_of(other) for part, other in pairs])

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

    @property
    def n_stored(self) -> int:
        return sum(part.n_stored for part in self.parts)

    @property
    def dense_part(self) -> Functions | None:
        dense = [part for part in self.parts if not part.coded_parts]
        if len(dense) == len(self.parts):
            return self
        if not dense:
            return None
        count = sum(part.n_components for part in dense)
        return UnionFunctions(self.family, self.n_features, count, dense)

    @property
    def coded_parts(self) -> list:
        return [coded for part in self.parts for coded in part.coded_parts]

    def with_coded(self, coded: list) -> UnionFunctions:
        """The same union with other cells."""
        changed = iter(coded)
        parts = [next(changed) if part.coded_parts else part for part in self.parts]
        return replace(self, parts=parts)

    def seeing(self, rows: Rows) -> Functions:
        return self.with_coded([part.seeing(rows) for part in self.coded_parts])

    def evaluate(self, rows: Rows) -> Any:
        if not self.coded_parts:
            return self._interleaved(rows)
        dense = self.dense_part
        values = [] if dense is None else [sparse.csr_array(dense.evaluate(rows))]
        values += [part.evaluate(rows) for part in self.coded_parts]
        return sparse.hstack(values, format="csr")

    def _interleaved(self, rows: Rows) -> NDArray:
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
