"""Unions of families: ``Fourier() + Stumps()``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .base import Family
from .functions import Functions
from .shared.layout import Layout, joined
from .shared.out_of_bag import OutOfBagRows
from .shared.randomness import child_seed
from .shared.rows import Rows


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
    def extrapolates(self):
        return any(part.extrapolates for part in self.parts)

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        return any(part.sparse for part in self.parts)

    @property
    def trains(self) -> bool:  # type: ignore[override]
        return any(part.trains for part in self.parts)

    @property
    def uses_target(self) -> bool:  # type: ignore[override]
        return any(part.uses_target for part in self.parts)

    @property
    def default_alpha(self) -> str | float:  # type: ignore[override]
        return "out_of_bag" if self.uses_target else "gcv"

    @property
    def on_cube(self) -> bool:  # type: ignore[override]
        return all(part.on_cube for part in self.parts)

    def default_components(self, n_rows):
        known = super().default_components(n_rows)
        return None if known is None else known * len(self.parts)

    @property
    def independent(self) -> bool:
        return False  # parts take turns

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
    def gamma_is_open(self):
        return self._leading.gamma_is_open

    @property
    def sees_scales(self):
        return any(part.sees_scales for part in self.parts)

    def layout(self, n_features, n_components, n_targets):
        shared = self._shared(n_components, 0)
        layouts = [part.layout(n_features, k, n_targets) for part, (k, _) in shared]
        return joined(n_components, layouts)

    @property
    def working_bytes(self):
        return max(part.working_bytes for part in self.parts)

    def stored_bytes(self, n_rows, n_features, n_components, n_targets=1):
        shared = self._shared(n_components, 0)
        return sum(part.stored_bytes(n_rows, n_features, k, n_targets) for part, (k, _) in shared)

    def training_bytes(self, n_rows, n_features, n_components, n_targets, threads):
        shared, more = self._shared(n_components, 0), (n_targets, threads)
        return max(part.training_bytes(n_rows, n_features, k, *more) for part, (k, _) in shared)

    def rows_wanted(self, n_components):
        return max(part.rows_wanted(n_components) for part in self.parts)

    def resolve(self, sample, n_components, seed, like=None):
        known = [{} if like is None else {"like": part} for part in (like or self).parts]
        pairs = zip(self.parts, known, strict=True)
        return Union([part.resolve(sample, n_components, seed, **more) for part, more in pairs])

    def outside(self, rows):
        found = [part.outside(rows) for part in self.parts]
        known = [mask for mask in found if mask is not None]
        return np.logical_or.reduce(known) if known else None

    def sample(self, n_features, n_components, seed):
        drawn = [part.drawn(n_features, *own) for part, own in self._shared(n_components, seed)]
        return UnionFunctions(self, n_features, n_components, drawn)

    def train(self, training, n_components, seed):
        drawn = [part.train(training, *own) for part, own in self._shared(n_components, seed)]
        return UnionFunctions(self, training.rows.shape[1], n_components, drawn)

    def _shared(self, n_components: int, seed: int) -> list[tuple[Family, tuple[int, int]]]:
        """The parts that have functions, how many, and the seed of each."""
        step = len(self.parts)
        return [
            (part, (len(range(j, n_components, step)), child_seed(seed, j)))
            for j, part in enumerate(self.parts[:n_components])
        ]

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
    def layout(self) -> Layout:
        return joined(self.n_components, [part.layout for part in self.parts])

    @property
    def dense_part(self) -> Functions | None:
        dense = [part for part in self.parts if not part.cell_parts]
        if len(dense) == len(self.parts):
            return self
        if not dense:
            return None
        count = sum(part.n_components for part in dense)
        return UnionFunctions(self.family, self.n_features, count, dense)

    @property
    def out_of_bag(self) -> OutOfBagRows | None:
        return next((part.out_of_bag for part in self.parts if part.out_of_bag is not None), None)

    @property
    def cell_parts(self) -> list:
        return [cells for part in self.parts for cells in part.cell_parts]

    def with_cells(self, cells: list) -> UnionFunctions:
        """The same union with other cells."""
        changed = iter(cells)
        parts = [next(changed) if part.cell_parts else part for part in self.parts]
        return replace(self, parts=parts)

    def seeing(self, rows: Rows) -> Functions:
        return self.with_cells([part.seeing(rows) for part in self.cell_parts])

    def evaluate(self, rows: Rows) -> Any:
        if not self.cell_parts:
            return self._interleaved([part.values(rows) for part in self.parts])
        dense = self.dense_part
        values = [] if dense is None else [sparse.csr_array(dense.values(rows))]
        values += [part.values(rows) for part in self.cell_parts]
        return sparse.hstack(values, format="csr")

    def out_of_bag_values(self, rows: Rows, indices: NDArray[np.int64]) -> Any:
        if self.cell_parts:
            return self.evaluate(rows)
        return self._interleaved([part.out_of_bag_values(rows, indices) for part in self.parts])

    def _interleaved(self, values: list[NDArray]) -> NDArray:
        out = np.empty((len(values[0]), self.n_columns), dtype=values[0].dtype)
        # Columns of one component: several where a hypothesis predicts several targets.
        widths = [(part.n_columns - part.n_direct) // part.n_components for part in self.parts]
        starts = np.cumsum([0, *widths])
        direct = 0
        for part, own, width, start in zip(self.parts, values, widths, starts, strict=False):
            extra = part.n_direct
            out[:, direct : direct + extra] = own[:, :extra]
            direct += extra
            for column in range(width):
                first = self.n_direct + start + column
                out[:, first :: starts[-1]] = own[:, extra + column :: width]
        return out
