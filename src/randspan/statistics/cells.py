"""Rows as the cells they fall into: what a model of indicators keeps of its training data.

A row is P small numbers, its targets and its weight; everything that is fitted to indicators of
cells follows from these, exactly. Dense functions beside them (a union) need the inputs as well,
and these are then kept too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..families import Functions
from ..families.shared.cells import CellFunctions, Table, indicators
from ..features import Features
from ..frame import Frame
from .base import Engine, Statistics
from .kept import Kept, RowKeeping
from .products import Products
from .together import Together


@dataclass(frozen=True, eq=False)
class Cells(RowKeeping):
    """The cells of all rows, and the cells that these are numbers of.

    Attributes
    ----------
    kept : Kept
        ``cells`` of shape (n_groups, n_rows), ``targets``, ``weights``; ``inputs`` where dense
        functions are to be evaluated again; ``keys`` by which rows are known again.
    parts : list of CellFunctions
        The groups of cells, with all cells that hold one of the rows (or did).
    """

    name: ClassVar[str] = "cells"

    parts: list[CellFunctions]

    @property
    def n_cells(self) -> int:
        return int(self.counts.sum())

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many cells every group has."""
        return np.concatenate([part.counts for part in self.parts])

    @classmethod
    def none(cls, functions: Functions, n_targets: int) -> Cells:
        return cls(Kept(), functions.cell_parts)

    @classmethod
    def read(cls, features: Features, engine: Engine) -> Cells:
        """The cells of all rows of positive weight; cells that are new get a number."""
        source, functions = features.source.without_absent(), features.functions
        if not source.n_rows:
            return cls.none(functions, 0)
        parts, cells = engine.cells(replace(features, source=source))
        more = {}
        if functions.dense_part is not None:
            more["inputs"] = cast(NDArray, source.held().X.copy())
        if functions.out_of_bag is not None and functions.out_of_bag.inputs is None:
            # Functions from a file of old, whose rows are kept by other keys.
            more["keys"] = functions.out_of_bag.names(source.keys, source.targets())
        return cls(Kept.of(source, cells=cells, **more), parts)

    def plus(self, other: Statistics) -> Cells:
        """The rows of both; cells keep the numbers they have here."""
        if not isinstance(other, Cells):
            raise self.cannot_add(other)
        if self._shares_tables_with(other):
            pairs = zip(self.parts, other.parts, strict=True)
            parts = [replace(a, counts=np.maximum(a.counts, b.counts)) for a, b in pairs]
            return Cells(self.kept.plus(other.kept), parts)
        tables = [part.own_tables() for part in self.parts]
        names = [
            _entered(table, source, count)
            for own, theirs in zip(tables, other.parts, strict=True)
            for table, source, count in zip(own, theirs.tables, theirs.counts, strict=True)
        ]
        parts = [part.with_tables(own) for part, own in zip(self.parts, tables, strict=True)]
        return Cells(self.kept.plus(_renamed(other.kept, names)), parts)

    def minus(self, other: Statistics) -> Cells:
        """The rows that are left; those that were never here are refused."""
        if not isinstance(other, Cells):
            raise self.cannot_add(other)
        gone = other.kept
        if not self._shares_tables_with(other):
            names = [
                _looked_up(table, known, source, count)
                for own, theirs in zip(self.parts, other.parts, strict=True)
                for table, known, source, count in zip(
                    own.tables, own.counts, theirs.tables, theirs.counts, strict=True
                )
            ]
            gone = _renamed(gone, names)
        if len(gone):
            cells, known = gone.arrays["cells"], self.counts[:, None]
            unknown = int(((cells < 0) | (cells >= known)).any(axis=0).sum())
            if unknown:
                raise ValueError(
                    f"{unknown} of {len(gone)} rows cannot have been in the model: they fall into "
                    "cells where it has seen none."
                )
        return Cells(self.kept.without(gone), self.parts)

    def _shares_tables_with(self, other: Cells) -> bool:
        """Whether a number stands for the same cell in both."""
        pairs = zip(self.parts, other.parts, strict=True)
        return all(a is b for p, q in pairs for a, b in zip(p.tables, q.tables, strict=True))

    def columns(self, functions: Functions) -> Functions:
        return functions.with_cells(self.parts)

    def products(self, frame: Frame, functions: Functions) -> Products:
        """Inner products of the features of all rows, dense ones included."""
        arrays = self.kept.arrays
        Z = indicators(arrays["cells"], self.counts, np.float64)
        dense = functions.dense_part
        if dense is not None:
            values = dense.evaluate(frame.rows(arrays["inputs"], np.float64))
            Z = sparse.hstack([sparse.csr_array(values), Z], format="csr")
        together = Together.of_source(self.kept.source)
        known = (together, together, arrays["weights"], self.kept.source.distinct)
        count = 0 if dense is None else dense.n_columns
        return Products(*known, features=Z[together.first], groups=len(self.counts), dense=count)

    def arrays(self) -> dict[str, NDArray]:
        tables = [t.keys[:n] for p in self.parts for t, n in zip(p.tables, p.counts, strict=True)]
        return self.kept.plain() | {"counts": self.counts, "cell_keys": np.concatenate(tables)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray], functions: Functions) -> Self:
        ends = np.cumsum(arrays["counts"])[:-1]
        tables = iter([Table(keys.copy()) for keys in np.split(arrays["cell_keys"], ends)])
        parts = [
            part.with_tables([next(tables) for _ in range(part.n_components)])
            for part in functions.cell_parts
        ]
        rest = {name: a for name, a in arrays.items() if name not in ("counts", "cell_keys")}
        return cls(Kept.from_plain(rest), parts)


def _entered(table: Table, source: Table, count: int) -> NDArray[np.int32]:
    """The numbers that the first cells of ``source`` have in ``table``, new ones included."""
    names = np.empty(count, dtype=np.int32)
    table.enter(source.keys[:count], names)
    return names


def _looked_up(table: Table, known: int, source: Table, count: int) -> NDArray[np.int32]:
    """The same without entering: -1 for cells that are not among the first ``known``."""
    names = np.empty(count, dtype=np.int32)
    table.look_up(source.keys[:count], known, names)
    return names


def _renamed(kept: Kept, names: list[NDArray[np.int32]]) -> Kept:
    """The same rows with other numbers for their cells."""
    if not len(kept):
        return kept
    cells = [new[old] for new, old in zip(names, kept.arrays["cells"], strict=True)]
    return Kept(({**kept.arrays, "cells": np.stack(cells)},))
