"""The frame: everything that is read from data before functions are drawn.

Centre and scale of the columns, the family with all its open parameters filled in, the number of
functions, the seed. Given the frame, functions are fixed, and with them everything that is exact
about this library: any split into blocks, forgetting, merging.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks import check_n_components, check_scales, check_standardize
from .equality import same
from .families import Family, Functions, as_family, refuse_scales_on_cube
from .families.shared.kernel_columns import KernelColumns
from .families.shared.out_of_bag import Training
from .families.shared.randomness import seed_from
from .families.shared.rows import Bend, Rows
from .families.shared.sample import Reservoir, capacity, column_range
from .reading import ColumnSums, read_blocks
from .sources import Source
from .tables import Columns, Table, is_frame, read, refuse_lazy
from .text import html_table, percent, short, table

# Entries that are looked at together; columns that are shown.
AT_ONCE, SHOWN = 2**20, 20


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """x̃ = R'((x - centre)·scale), and the distribution of the functions of x̃.

    Attributes
    ----------
    centre, scale : ndarray of shape (n_features,) or None
        None stands for no centring, no scaling. Columns that never changed have the scale 0.
    family : Family
        As it was written, with what was read from rows beside it (`Family.resolved`).
    n_components : int, float("inf") or None
        None as long as it is still to be chosen.
    seed : int
    rotation : ndarray of shape (n_features, n_features) or None
        R, where one was learned.
    importances : ndarray of shape (n_features,) or None
        The share of every column in the learned scales, where these were.
    ridge : float or None
        The alpha that went with them: where a search for alpha may begin.
    trained : Functions or None
        The functions themselves, where they are learned from rows.
    bend : Bend or None
        What columns have gone through before, where tails are bent (``standardize="robust"``).
    constant : ndarray of shape (n_features,) or None
        The value of columns that never changed, nan of the others; None where that does not matter.
    columns : Columns or None
        How columns of a table become the columns above, where not all are numbers that are known.
    mean : ndarray of shape (n_features,) or None
        What is taken for values that are missing.
    """

    centre: NDArray[np.float64] | None
    scale: NDArray[np.float64] | None
    family: Family
    n_features: int
    n_components: Any
    seed: int
    rotation: NDArray[np.float64] | None = None
    importances: NDArray[np.float64] | None = None
    ridge: float | None = None
    trained: Functions | None = None
    bend: Bend | None = None
    constant: NDArray[np.float64] | None = None
    columns: Columns | None = None
    mean: NDArray[np.float64] | None = None

    @classmethod
    def read(
        cls,
        blocks: Iterable,
        family: Family | str = "fourier",
        n_components: Any = None,
        *,
        standardize: bool | str = True,
        scales=None,
        categories=None,
        columns=None,
        random_state=None,
    ) -> Frame:
        """Read a frame from blocks of rows, in bounded memory.

        The frame of a list of blocks, or of ``rs.blocks``, is that of their rows in one array, to
        the last bit. An iterator is read once, and sums of its blocks are put together: the same
        to rounding. Its blocks must be numbers of which none is missing; categories, dates and
        holes are read twice, from a list.

        Parameters
        ----------
        blocks : rs.blocks, or an iterable of X, (X, y) or (X, y, sample_weight)
            One after the other; y is looked at where categories of many levels are told by their
            targets. One table is one block.
        family, n_components, standardize, scales, categories, columns, random_state
            As for the estimators (scales as numbers).

        Examples
        --------
        >>> import numpy as np, randspan as rs
        >>> blocks = np.split(np.random.default_rng(0).normal(3.0, 2.0, size=(1000, 2)), 10)
        >>> frame = rs.Frame.read(blocks, "fourier", 50, random_state=0)
        >>> frame.centre.round()
        array([3., 3.])
        """
        if n_components == "auto":
            n_components = None
        elif n_components not in (None, np.inf):
            check_n_components(n_components)
            n_components = int(n_components)
        seed = seed_from(random_state)
        family = as_family(family)
        made_of, sources = read_blocks(blocks, categories, columns)
        reading = Reading.of(sources, family.rows_wanted(n_components), seed, made_of)
        return reading.frame(family, n_components, check_standardize(standardize), scales)

    def __repr__(self) -> str:
        """What was read, a line for every column of the table."""
        head, titles, lines, more = self._shown()
        return f"{head}\n\n{table(titles, lines)}" + (f"\n{more}" if more else "")

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        head, titles, lines, more = self._shown()
        below = f"<p>{escape(more)}</p>" if more else ""
        return f"<div><p>{escape(head)}</p>{html_table(titles, lines)}{below}</div>"

    def _shown(self) -> tuple[str, tuple[str, ...], list[tuple[str, ...]], str]:
        """A heading, titles and lines of a table, and what was left out of it."""
        k = "k still open" if self.n_components is None else f"k = {self.n_components}"
        head = f"Frame of {self.family!r}, {k}, seed {self.seed}"
        lines = self._lines()
        left = len(lines) - SHOWN
        more = f"… and {left} more columns" if left > 0 else ""
        titles: tuple[str, ...] = (
            *("column", "kind", "missing", "read from it", "numbers", "share"),
        )
        used = slice(0, 5 if self.importances is None else 6)
        return head, titles[used], [line[used] for line in lines[:SHOWN]], more

    def _lines(self) -> list[tuple[str, ...]]:
        shares = self.importances
        if self.columns is None:
            means = ["" if self.mean is None else f"mean {short(value)}" for value in self.means]
            return [
                (f"x{j}", "number", "0 %", mean, "1", _share(shares, j))
                for j, mean in enumerate(means)
            ]
        shares = None if shares is None else self.columns.summed(shares)
        return [
            (one.name, one.kind, percent(one.holes), one.told, str(one.width), _share(shares, j))
            for j, one in enumerate(self.columns.encoders)
        ]

    @property
    def means(self) -> NDArray[np.float64]:
        """Means of the columns as far as they are known."""
        return np.zeros(self.n_features) if self.mean is None else self.mean

    def with_components(self, n_components: float) -> Frame:
        return replace(self, n_components=n_components)

    def with_seed(self, seed: int) -> Frame:
        return replace(self, seed=seed, trained=None)

    def rows(self, X, dtype, kind: type[Rows] = Rows) -> Rows:
        """A block of X as the functions see it; ``kind`` are the rows of an engine."""
        centre = self.centre
        if self.bend is not None:
            X, centre = self.bend(X)
        return kind(X, centre, self.scale, dtype, self.rotation, self.bend)

    def table(self, X) -> Any:
        """Rows as a table like that of training where one was; numbers that are known as they are.

        Its keys are those of the rows.
        """
        refuse_lazy(X)
        if self.columns is None and not isinstance(X, Table):
            if not is_frame(X):
                return X
            X = read(X)
            if X.plain:
                return X.matrix
        if not isinstance(X, Table):
            X = read(X, None if self.columns is None else self.columns.categories)
        return self._columns(X).known(X)

    def encoded(self, X, training: bool = False, targets=None, weights=None) -> Any:
        """Rows of a table as numbers; what are numbers already stays as it is.

        Of ``training`` rows target statistics leave out a fold of rows that has their own; these
        folds may depend on ``targets`` and ``weights``.
        """
        X = self.table(X)
        if not isinstance(X, Table):
            return X
        return self._columns(X).encode(X, training, targets, weights)

    def _columns(self, table: Table) -> Columns:
        return self.columns or Columns.of_numbers(table, self.means)

    @property
    def groups(self) -> NDArray[np.intp] | None:
        """Which columns share a scale, where some do."""
        return None if self.columns is None else self.columns.groups

    def functions(self) -> Functions:
        """The drawn functions: the same ones whenever and wherever this is called."""
        if self.n_components is None:
            raise ValueError("How many functions are to be drawn is still open.")
        if self.n_components == np.inf:
            none = self.rows(np.empty((0, self.n_features)), np.float64)
            return KernelColumns(self.family, self.n_features, 0, none)
        if self.trained is not None:
            if self.trained.n_components != self.n_components:
                raise ValueError(
                    f"The frame holds {self.trained.n_components} functions that were learned from "
                    f"rows; for {self.n_components} of them fit without frame=."
                )
            return self.trained
        return self.family.drawn(self.n_features, int(self.n_components), self.seed)

    def trained_on(
        self, source: Source, classes: bool, workers: int, progress: Callable[[int], None]
    ) -> Frame:
        """The frame with its functions, where these learn from rows and have not yet."""
        if not self.family.trains or self.trained is not None:
            return self
        training = Training(
            self.rows(source.held().X, np.float64),
            None if source.encoded is None else source.targets(),
            source.weights,
            classes,
            workers,
            progress,
            source.keys,
        )
        trained = self.family.train(training, int(self.n_components), self.seed)
        return replace(self, trained=trained)

    def n_outside(self, source: Source) -> int:
        """How many rows the family clips to the range that its functions are drawn for."""
        found = 0
        for block in source.blocks(max(1, AT_ONCE // source.n_features)):
            clipped = self.family.outside(self.rows(block.X, np.float64))
            if clipped is None:
                return 0
            found += int(clipped.sum())
        return found

    def n_moved(self, source: Source) -> int:
        """How many columns that never changed when the frame was read change in these rows."""
        if self.constant is None:
            return 0
        columns = np.flatnonzero(~np.isnan(self.constant))
        if not len(columns):
            return 0
        known, moved = self.constant[columns], np.zeros(len(columns), dtype=bool)
        for block in source.blocks(max(1024, AT_ONCE // source.n_features)):
            X: Any = block.X
            lower, upper = column_range(X[:, columns])
            moved |= (lower != known) | (upper != known)
        return int(moved.sum())

    @property
    def ridge_scale(self) -> float:
        """k in the penalty alpha·k·‖w‖², 1 where the kernel itself takes the functions' place."""
        return 1.0 if self.n_components in (None, np.inf) else float(self.n_components)

    def same_as(self, other: Frame) -> bool:
        """Whether both frames lead to the same functions of the same x̃."""
        learned: dict[str, Any] = {"importances": None, "ridge": None}
        return same(replace(self, **learned), replace(other, **learned))


@dataclass(frozen=True)
class Reading:
    """What one pass over the rows has left: enough for any frame."""

    columns: ColumnSums
    reservoir: Reservoir
    seed: int
    made_of: Columns | None

    @classmethod
    def of(
        cls, sources: Iterable[Source], wanted: int, seed: int, made_of: Columns | None = None
    ) -> Reading:
        """Read all rows, one source after the other, and keep ``wanted`` of these at least.

        ``made_of`` says what their columns were made of. Of one source the bits do not depend on
        blocks or order; sums of several are put together.
        """
        columns, reservoir = None, None
        for source in sources:
            d = source.n_features
            if columns is None or reservoir is None:
                columns = ColumnSums.none(d)
                reservoir = Reservoir(capacity(d, wanted), seed)
            if d != len(columns.mean):
                raise ValueError(f"A block has {d} columns, the first had {len(columns.mean)}.")
            blocks = (block.X for block in source.blocks(max(AT_ONCE // max(d, 1), 1024)))
            reservoir.add(source.keys, source.weights, source.take, blocks)
            columns = columns.plus(ColumnSums.of(source, reservoir))
        if columns is None or reservoir is None:
            raise ValueError("There are no rows to read the frame from.")
        return cls(columns, reservoir, seed, made_of)

    def frame(
        self,
        family: Family,
        n_components: Any,
        standardize: bool | str,
        scales=None,
        rotation: NDArray[np.float64] | None = None,
        like: Family | None = None,
        more: bool = False,
    ) -> Frame:
        """A frame of these rows, scaled and turned; some families know how many functions.

        With the bandwidth of ``like``, the family of another frame of these rows, if given. Where
        ``more`` rows are to come, a column that has not changed yet may still do so.
        """
        if n_components is None:
            n_components = family.default_components(self.reservoir.count)
        d = len(self.columns.mean)
        centre = scale = bend = constant = None
        if standardize:
            centre, scale, constant = self._standard(more)
            if standardize == "robust":
                bend, centre, scale = self._bend(centre, scale), None, None
        if scales is not None:
            refuse_scales_on_cube(family)
            factors = self._factors(scales)
            scale = factors if scale is None else scale * factors
        sample = self.reservoir.sample(centre, scale, rotation, bend)
        wanted = len(sample.rows) if n_components in (None, np.inf) else int(n_components)
        known = {} if like is None else {"like": like}
        family = family.resolve(sample, wanted, self.seed, **known)
        frame = Frame(centre, scale, family, d, n_components, self.seed, rotation)
        mean = self.columns.mean
        return replace(frame, bend=bend, constant=constant, columns=self.made_of, mean=mean)

    def of_other_family(self, frame: Frame, family: Family, n_components: int) -> Frame:
        """A frame of these rows with the scales of another, and functions of another family."""
        sample = self.reservoir.sample(frame.centre, frame.scale, frame.rotation, frame.bend)
        family = family.resolve(sample, n_components, self.seed)
        return replace(frame, family=family, n_components=n_components, ridge=None)

    def _factors(self, scales) -> NDArray[np.float64]:
        """One number for every column, handed in for those of the table or for all of these."""
        d, made_of = len(self.columns.mean), self.made_of
        if made_of is None or np.shape(scales) == (d,):
            return check_scales(scales, d)
        return check_scales(scales, len(made_of.encoders))[made_of.places]

    def _standard(self, more: bool) -> tuple[NDArray, NDArray, NDArray | None]:
        """Mean and 1/standard deviation of every column, and what never changed."""
        mean, still = self.columns.mean, self.reservoir.constant
        scale = 1 / self.columns.deviation(still)
        if self.made_of is not None:
            units = self.made_of.units
            scale = np.where(np.isnan(units), scale, units)
        if more or not still.any():
            return mean, scale, None
        return mean, np.where(still, 0.0, scale), np.where(still, self.reservoir.lower, np.nan)

    def _bend(self, mean: NDArray, scale: NDArray) -> Bend:
        """Median and 1.349/interquartile range; of columns that mostly repeat, mean and scale."""
        low, middle, high = self.reservoir.quantiles([0.25, 0.5, 0.75])
        wide = (high > low) & (scale > 0)
        with np.errstate(divide="ignore", over="ignore"):
            robust = 1.349 / (high - low)
        wide &= np.isfinite(robust)
        if self.made_of is not None:
            wide &= np.isnan(self.made_of.units)
        return Bend(np.where(wide, middle, mean), np.where(wide, robust, scale))


def _share(shares: NDArray[np.float64] | None, place: int) -> str:
    return "" if shares is None else percent(shares[place])
