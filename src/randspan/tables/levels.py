"""Levels of a category: which there were, how often, and what the targets were."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import LARGEST
from ..sums import total, total_in
from .folds import FOLDS
from .reading import Column, number_of
from .statistics import TargetStatistics, beyond_chance

Array = NDArray[np.float64]

# A level of fewer rows is rare: such levels share a column.
RARE = 5
MISSING = "missing"
# The name of all levels that are not kept, where nearly every row has one of its own.
OTHER = "\0 other"
HOLES = "missing values, of which the training data had none"


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels in order, and the place of each; None is the level of what is missing.

    Attributes
    ----------
    names : tuple
        All levels.
    at : ndarray of shape (n_levels,)
        Their places: rare ones may share the last.
    shares : ndarray of shape (n_places,)
        The share of rows in every place.
    pooled : int
        How many levels share the last place.
    holes : float
        The share of rows that are missing.
    numbers : ndarray of shape (n_levels,) or None
        The levels as numbers, the mean for what is missing; None where they are names.
    mean : float
        The mean of these numbers over rows.
    open : bool
        Whether rare levels are not kept: new ones are the rule.
    begins : bool
        Whether levels are what names begin with, up to their first digit.
    """

    names: tuple[Hashable, ...]
    at: NDArray[np.intp]
    shares: Array
    pooled: int
    holes: float
    numbers: Array | None = None
    mean: float = 0.0
    open: bool = False
    begins: bool = False

    @classmethod
    def common(
        cls, rows: Mapping[Hashable, int], weights: Mapping[Hashable, float], most: int
    ) -> Levels:
        """The largest levels of those that are not rare, and one that all others share."""
        names = [name for name, count in rows.items() if count >= RARE and name is not None]
        names = sorted(sorted(names, key=_order), key=lambda name: -rows[name])[:most]
        kept = sorted([*names, *([None] if None in rows else [])], key=_order)
        each = np.array([weights[name] for name in kept])
        whole = max(sum(sorted(weights.values())), 1e-300)
        shares = np.append(each, max(whole - each.sum(), 0.0)) / whole
        holes = weights[None] / whole if None in rows else 0.0
        left = len(rows) - len(kept)
        return cls(tuple(kept), np.arange(len(kept)), shares, left, holes, open=True)

    @property
    def shown(self) -> list[str]:
        """A name for every place."""
        alone = len(self.shares) - (self.pooled > 0)
        names = [""] * alone
        for name, place in zip(self.names, self.at, strict=True):
            if place < alone:
                names[place] = MISSING if name is None else str(name)
        return names + (["rare"] if self.pooled else [])

    @property
    def some(self) -> str:
        """A few of the levels, for people."""
        return ", ".join(self.shown[: min(len(self.names), 3)]) + " …" * (len(self.names) > 3)

    def as_numbers(self, column: Column) -> Array:
        """The number of every row's level; the mean of levels that are not known."""
        assert self.numbers is not None
        known = dict(zip(self.names, self.numbers.tolist(), strict=True))
        values = [known.get(level, self.mean) for level in (*column.levels, None)]
        return np.array(values)[column.values]

    @cached_property
    def _lookup(self) -> dict[Hashable, int]:
        return dict(zip(self.names, self.at.tolist(), strict=True))

    @cached_property
    def _by_number(self) -> dict[float, Hashable]:
        """Levels that are numbers, or text of numbers; none where two are the same number."""
        pairs = [(number_of(name), name) for name in self.names if name is not None]
        found = {number: name for number, name in pairs if number == number}
        return found if len(found) == sum(number == number for number, _ in pairs) else {}

    def known(self, column: Column) -> Column:
        """The column with levels as they were called: 1 where it comes as "1", or "1" as 1."""
        column = beginnings(column) if self.begins else column
        return column.renamed([self._name(level) for level in column.levels])

    def _name(self, level: Hashable) -> Hashable:
        if level in self._lookup:
            return level
        if self.open:
            return OTHER
        name = self._by_number.get(number_of(level), level)
        return level if isinstance(name, str) == isinstance(level, str) else name

    def places(self, column: Column) -> tuple[NDArray[np.intp], str]:
        """The place of every row, one beyond the last where it is not known; what is not known."""
        strange = len(self.shares) - 1 if self.pooled else len(self.shares)
        levels = (*column.levels, None)  # -1 is the last
        known = np.array([self._lookup.get(level, strange) for level in levels], dtype=np.intp)
        there = np.unique(column.values)
        new = [levels[place] for place in there if levels[place] not in self._lookup]
        if None in new:
            return known[column.values], HOLES
        if new and not self.open:
            some = ", ".join(map(repr, new[:3])) + (" …" if len(new) > 3 else "")
            if len(new) == len(there):
                names = ", ".join(repr(name) for name in self.names[:3] if name is not None)
                some += f"; not one that it had, such as {names}"
            return known[column.values], f"levels that the training data had not ({some})"
        return known[column.values], ""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass
class LevelSums:
    """Rows, weights and sums of targets of every level and fold."""

    places: dict[Hashable, int] = field(default_factory=dict)
    rows: Array = field(default_factory=lambda: np.zeros(0))
    weights: Array = field(default_factory=lambda: np.zeros((0, FOLDS)))
    sums: Array | None = None
    squares: Array | None = None
    origin: Array | None = None

    def add(
        self, column: Column, targets: Array | None, weights: Array, folds: NDArray[np.intp]
    ) -> None:
        levels = (*column.levels, None)
        present = set(np.unique(column.values).tolist())
        for code, level in enumerate(column.levels):
            if code in present:
                self.places.setdefault(level, len(self.places))
        if -1 in present:
            self.places.setdefault(None, len(self.places))
        at = np.array([self.places.get(level, 0) for level in levels], dtype=np.intp)[column.values]
        count = len(self.places)
        self.rows = _longer(self.rows, count) + np.bincount(at, weights > 0, count)
        cells, shape = at * FOLDS + folds, (count, FOLDS)
        added = total_in(cells, weights, count * FOLDS).reshape(shape)
        self.weights = _longer(self.weights, count) + added
        if targets is None:
            return
        if self.origin is None or self.sums is None or self.squares is None:
            # Targets beyond their mean, so that squares do not eat digits.
            weight = total(weights)
            self.origin = total(weights[:, None] * targets) / np.where(weight > 0, weight, 1.0)
            self.sums = np.zeros((0, FOLDS, targets.shape[1]))
            self.squares = np.zeros(targets.shape[1])
        away = targets - self.origin
        each = [
            total_in(cells, weights * values, count * FOLDS).reshape(shape) for values in away.T
        ]
        self.sums = _longer(self.sums, count) + np.stack(each, axis=-1)
        self.squares = self.squares + total(weights[:, None] * away**2)

    def levels(self, most: int) -> tuple[Levels, bool]:
        """Levels in order, and whether they are few enough to have a column each.

        Where most rows have a rare level, these are not few.
        """
        names = sorted(self.places, key=_order)
        rows = self.rows[[self.places[name] for name in names]]
        rare = rows < RARE
        few = int((~rare).sum()) <= most and (
            len(names) <= most or 2 * rows[rare].sum() <= rows.sum()
        )
        if not few and self.sums is None:  # nothing is known of targets: the largest ones remain
            rare, few = np.argsort(np.argsort(-rows, kind="stable")) >= most, True
        if not few or rare.sum() < 2 or rare.all():
            rare[:] = False
        alone = int((~rare).sum())
        at = np.where(rare, alone, np.cumsum(~rare) - 1)
        each = self.weights.sum(axis=1)[[self.places[name] for name in names]]
        shares = np.bincount(at, each, alone + rare.any()) / max(each.sum(), 1e-300)
        holes = float(each[names.index(None)] / each.sum()) if None in names else 0.0
        numbers, mean = _as_numbers(names, each)
        return Levels(tuple(names), at, shares, int(rare.sum()), holes, numbers, mean), few

    def strength(self, beyond: float) -> Array:
        """The prior of target statistics, infinite where levels differ by chance in any target."""
        assert self.sums is not None
        assert self.origin is not None
        assert self.squares is not None
        given = (self.weights, self.sums, self.squares, self.origin)
        return TargetStatistics.of(*given, beyond=beyond_chance(beyond, len(self.squares))).strength

    def statistics(self, levels: Levels) -> TargetStatistics:
        assert self.sums is not None
        assert self.origin is not None
        assert self.squares is not None
        order = [self.places[name] for name in levels.names]
        return TargetStatistics.of(self.weights[order], self.sums[order], self.squares, self.origin)


def beginnings(column: Column) -> Column:
    """What names begin with, up to their first digit: "AB-" of "AB-1234"."""
    found = [re.split(r"\d", str(level), maxsplit=1)[0] for level in column.levels]
    return replace(column.renamed(found), begins=True)


def _longer(array: Array, count: int) -> Array:
    more = np.zeros((count - len(array), *array.shape[1:]))
    return np.concatenate([array, more])


def _as_numbers(names: list, weights: Array) -> tuple[Array | None, float]:
    """Levels as numbers, and their mean; None where they are names, or two."""
    known = [name for name in names if name is not None]
    try:
        numbers = {name: float(name) for name in known}
    except (TypeError, ValueError):
        return None, 0.0
    sizes = np.abs(list(numbers.values()))
    if len(known) < 3 or not (sizes <= LARGEST).all():  # whose squares are numbers, and not nan
        return None, 0.0
    each = np.array([weights[i] for i, name in enumerate(names) if name is not None])
    mean = float(np.average(list(numbers.values()), weights=np.maximum(each, 1e-300)))
    return np.array([mean if name is None else numbers[name] for name in names]), mean


def _order(level) -> tuple:
    """Numbers, then names, then what is missing."""
    if level is None:
        return (3,)
    if isinstance(level, (Real, np.bool_)):
        return (0, float(level))
    return (1, level) if isinstance(level, str) else (2, repr(level))
