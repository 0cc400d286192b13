"""All columns of a table as numbers: read in one pass, part of the frame.

Each has what was read from it (`encoders`). A number that is missing is guessed from those of its
row that are known (`relations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..keys import Keys
from ..sums import total, total_in
from ..text import warn
from .encoders import DAY, PERIODS, Date, Number, OneHot, Targets
from .folds import folds_of
from .levels import LevelSums
from .names import Block, settled
from .reading import CATEGORY, DATE, NOTHING, NUMBER, Column, Table
from .recognition import recognised
from .relations import ROWS, Relations

Array = NDArray[np.float64]

# A category of more levels is told by statistics of targets.
MOST_LEVELS = 10
# So many columns are named in a warning.
MOST_TOLD = 20


@dataclass(frozen=True, eq=False)
class Columns:
    """How the columns of a table become numbers.

    Attributes
    ----------
    encoders : tuple of Encoder
    copies : bool
        Whether rows of equal inputs are told apart, as these are few (`folds.told_apart`).
    relations : Relations or None
        How numbers depend on each other, where some are missing.
    """

    encoders: tuple[Any, ...]
    copies: bool = False
    relations: Relations | None = None

    @classmethod
    def read(
        cls, blocks: Iterable[tuple[Table, Array | None, Array | None]], copies: bool | None = None
    ) -> Columns:
        """Read blocks of (table, targets, weights).

        What text is, and which columns are names of rows, is found in all blocks together; what
        follows sees rows as they are then.
        """
        present = [Block.of(*block) for block in blocks]
        if not present:
            raise ValueError("There are no rows to read the frame from.")
        for block in present[1:]:
            _check_width(present[0].table.shape[1], block.table)
        tables = recognised([block.table for block in present])
        present = [replace(b, table=t) for b, t in zip(present, tables, strict=True)]
        left, present = settled(present, copies, MOST_LEVELS)
        if copies is None:
            copies = present[0].told_apart
        readers = [_Reader(column.name) for column in present[0].table.columns]
        samples: list[tuple[Keys, Array, Array]] = []
        for block in present:
            table, each, folds = block.table, block.each, block.folds(copies)
            some, first, weighed = _sample(table.keys, each)
            rows = np.column_stack([column.values[first] for column in table.columns])
            samples.append((some, rows, weighed))
            for reader, column in zip(readers, table.columns, strict=True):
                reader.add(column, block.targets, each, folds)
        encoders = tuple(left.get(j) or reader.done() for j, reader in enumerate(readers))
        if not any(encoder.width for encoder in encoders):
            encoders = (replace(encoders[0], alone=True), *encoders[1:])
        keys, rows, weighed = (np.concatenate(parts) for parts in zip(*samples, strict=True))
        _, first, weighed = _sample(keys, weighed)
        numbers = [encoder.kind == NUMBER for encoder in encoders]
        relations = Relations.of(rows[first][:, numbers].astype(np.float64), weighed)
        _warn(encoders, [column.wanted for column in present[0].table.columns])
        return cls(encoders, copies, relations)

    @classmethod
    def of_numbers(cls, table: Table, means: Array) -> Columns:
        """Numbers of which none was missing when they were read."""
        _check_width(len(means), table)
        pairs = zip(table.columns, means.tolist(), strict=True)
        return cls(tuple(Number(column.name, value, 0.0) for column, value in pairs))

    def known(self, table: Table) -> Table:
        """The table as that of training was: text of numbers as numbers, levels by their names."""
        _check_width(len(self.encoders), table)
        pairs = zip(self.encoders, table.columns, strict=True)
        return Table(tuple(encoder.known(column) for encoder, column in pairs), table.n_rows)

    def encode(
        self,
        table: Table,
        training: bool = False,
        targets: Array | None = None,
        weights: Array | None = None,
    ) -> Array:
        """Rows as numbers; of ``training`` rows statistics of targets leave out their own fold."""
        table, folds = self.known(table), None
        if training and any(isinstance(encoder, Targets) for encoder in self.encoders):
            folds = folds_of(table.keys, self.copies, targets, weights)
        blocks, strange = [], []
        for encoder, column in zip(self.encoders, self._guessed(table), strict=True):
            block, unknown = encoder.encode(column, folds)
            blocks.append(block)
            if unknown:
                strange.append(f"{encoder.name!r} has {unknown}")
        if strange:
            more = f" and {len(strange) - 5} more columns" if len(strange) > 5 else ""
            warn(
                f"Column {'; '.join(strange[:5])}{more}: the mean is taken for them.",
            )
        return np.hstack(blocks) if blocks else np.empty((table.n_rows, 0))

    def _guessed(self, table: Table) -> list[Column]:
        """The columns, with guesses for numbers that are missing."""
        columns = list(table.columns)
        places = [j for j, encoder in enumerate(self.encoders) if encoder.kind == NUMBER]
        if self.relations is None:
            return columns
        guesses = self.relations(np.column_stack([columns[j].values for j in places]))
        for j, guess in zip(places, guesses.T, strict=True):
            columns[j] = replace(columns[j], guess=guess)
        return columns

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """Which column of the table every column of numbers comes from."""
        return np.repeat(np.arange(len(self.encoders)), [e.width for e in self.encoders])

    @cached_property
    def groups(self) -> NDArray[np.intp]:
        """Numbers that are the same where columns share a scale."""
        found: list[int] = []
        for encoder in self.encoders:
            first = max(found, default=-1) + 1
            found += [first + group for group in encoder.groups]
        return np.array(found, dtype=np.intp)

    @property
    def units(self) -> Array:
        """Scales of columns of 0 and 1; nan of others."""
        return np.array([unit for encoder in self.encoders for unit in encoder.units])

    @property
    def parts(self) -> list[str]:
        return [part for encoder in self.encoders for part in encoder.parts]

    @property
    def width(self) -> int:
        """How many columns of numbers there are."""
        return sum(encoder.width for encoder in self.encoders)

    @property
    def categories(self) -> list[int]:
        """Which columns of the table are categories."""
        return [j for j, encoder in enumerate(self.encoders) if encoder.kind == CATEGORY]

    def summed(self, shares: Array) -> Array:
        """Shares of the columns of numbers, for the columns of the table."""
        found = np.zeros(len(self.encoders))
        np.add.at(found, self.places, shares)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in ("encoders", "copies", "relations")}


def _warn(encoders: Sequence[Any], wanted: Sequence[str]) -> None:
    """Say which columns are not taken for what they look like, where nobody has said so."""
    told = [
        (encoder.name, encoder.remark)
        for encoder, kind in zip(encoders, wanted, strict=True)
        if encoder.remark and not (kind and encoder.expected)
    ]
    if told:
        shown = "; ".join(f"{name!r} {remark}" for name, remark in told[:MOST_TOLD])
        left = len(told) - MOST_TOLD
        more = f"; and {left} more columns" if left > 0 else ""
        warn(
            f"Column {shown}{more}. To have one read otherwise, say so, such as "
            f"columns={{{told[0][0]!r}: 'category'}}; print(model.frame_) shows all.",
        )


def _sample(keys: Keys, weights: Array) -> tuple[Keys, NDArray[np.intp], Array]:
    """Some of the different rows, by their keys: where they are, and what all like them weigh."""
    known, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return known[:ROWS], first[:ROWS], total_in(places, weights, len(known))[:ROWS]


def _check_width(expected: int, table: Table) -> None:
    if table.shape[1] != expected:
        raise ValueError(f"X has {table.shape[1]} columns, and {expected} are expected.")


@dataclass
class _Reader:
    """What a pass over the rows leaves of a column."""

    name: str
    kind: str = NOTHING
    weight: float = 0.0
    missing: float = 0.0
    total: float = 0.0
    lower: float = np.inf
    upper: float = -np.inf
    timed: bool = False
    form: Any = None
    begins: bool = False
    sums: LevelSums = field(default_factory=LevelSums)

    def add(self, column: Column, targets: Array | None, weights: Array, folds: NDArray) -> None:
        if column.kind != NOTHING and self.kind == NOTHING:
            self.kind = column.kind
        if column.kind not in (self.kind, NOTHING):
            raise ValueError(
                f"Column {self.name!r} is a {self.kind} in one block and a {column.kind} in "
                "another."
            )
        self.form = column.form if self.form is None else self.form
        self.begins |= column.begins
        missing = column.missing
        self.missing += float(total(weights[missing]))
        self.weight += float(total(weights))
        if self.kind == CATEGORY:
            self.sums.add(
                column.holes(CATEGORY) if column.kind == NOTHING else column,
                targets,
                weights,
                folds,
            )
            return
        there = ~missing
        values = column.values[there]
        if not len(values):
            return
        self.total += float(total(weights[there] * values))
        self.lower, self.upper = min(self.lower, values.min()), max(self.upper, values.max())
        self.timed |= bool((values % DAY != 0).any())

    def done(self) -> Any:
        if self.kind == CATEGORY:
            levels, few = self.sums.levels(MOST_LEVELS)
            levels = replace(levels, begins=self.begins)
            if few:
                return OneHot(self.name, levels)
            return Targets(self.name, levels, self.sums.statistics(levels))
        there = self.weight - self.missing
        mean = self.total / there if there > 0 else 0.0
        share = self.missing / self.weight if self.weight > 0 else 0.0
        if self.kind != DATE:
            return Number(self.name, mean, share, form=self.form)
        span = self.upper - self.lower
        periods = [
            name
            for name, length in PERIODS.items()
            if span > length and (name != "day" or self.timed)
        ]
        return Date(self.name, mean, share, tuple(periods), form=self.form)
