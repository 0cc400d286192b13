"""What columns do to predictions: shares of their total effects.

    T_j = ½ E (f(x) - f(x with column j of another row))²

is the part of the variance of f that is gone where column j is known nowhere (Sobol' 2001, Jansen
1999): it has no units of j in it, no learned scale and no weights, so that it means the same for
every family and for several families together. Columns that one column of a table became are
exchanged together. The expectation is over a key sample of the training rows (`KeySample`), and
only predictions that an exchange can change are made: a constant column costs nothing.

Of very many columns groups are exchanged, and the groups of the largest effect halved until the
work is done: the effect of a group is no smaller than that of a part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .engines import Engine
from .families.shared.randomness import generator
from .model import Model
from .once import once
from .portfolio import Portfolio
from .predictions import scores
from .sources import of_arrays
from .statistics.key_sample import KeySample
from .sums import total_in

Array = NDArray[np.float64]

# Pairs of rows that an effect is the mean of, and how few there are at least.
PAIRS, FEWEST_PAIRS = 1024, 16
# Multiplications that all predictions may take, and entries of a block of rows. To make a row takes
# as long as so many functions of it.
WORK, AT_ONCE, MAKING = 2**37, 2**22, 128
# Rows that are predicted at once at least; groups that are halved together: one of so many trials.
FEW_ROWS, AT_A_TIME = 1024, 16

NO_SAMPLE = (
    "feature_importances_ ask a model about some of its training rows, and this one has none ({}): "
    "use sklearn.inspection.permutation_importance with rows of your own."
)


def importances(model: Model | Portfolio, engine: Engine) -> Array:
    """The share of every column of the table in the sum of total effects; they sum to 1.

    All are 0 where predictions are the same everywhere.
    """
    return once(model, "_importances", lambda: _shares(model, engine))


def _shares(model: Model | Portfolio, engine: Engine) -> Array:
    sample, columns = model.sample, model.frame.columns
    if sample is None or not len(sample):
        why = "all were forgotten"
        if sample is None:
            why = "it was saved with statistics=False" if model.lean else "its file knew of none"
        raise ValueError(NO_SAMPLE.format(why))
    d = model.frame.n_features
    places = np.arange(d) if columns is None else columns.places
    count = d if columns is None else len(columns.encoders)
    found = _Exchange.of(model, sample, places, engine).effects(count)
    total = found.sum()
    return found / total if total > 0 else found


@dataclass(frozen=True, eq=False)
class _Exchange:
    """Pairs of rows, ``first`` and ``second``, and what is predicted of them."""

    model: Model | Portfolio
    engine: Engine
    inputs: Any
    places: NDArray[np.intp]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    scores: Array
    units: Array

    @classmethod
    def of(
        cls, model: Model | Portfolio, sample: KeySample, places: NDArray[np.intp], engine: Engine
    ) -> _Exchange:
        """As many pairs of rows as there may be; a row comes as often as it weighs."""
        reached = np.cumsum(sample.weights)
        at = (np.arange(PAIRS) + 0.5) / PAIRS * reached[-1]
        first = np.minimum(np.searchsorted(reached, at, side="right"), len(sample) - 1)
        # The first pairs are as good as any: fewer may do.
        order = generator(0, "importances", 0).permutation(PAIRS)
        other = generator(0, "importances", 1).permutation(PAIRS)
        found = scores(model, of_arrays(sample.inputs, None), engine)
        variance = found[first].var(axis=0)
        units = np.where(variance > 0, variance, 1.0)
        return cls(model, engine, sample.inputs, places, first[order], first[other], found, units)

    def effects(self, count: int) -> Array:
        """T of every column of the table; a group of them shares what it has alike."""
        functions = sum(one.functions.n_stored for _, one in self.model.parts)
        affordable = WORK / (self.inputs.shape[1] * max(functions, MAKING))
        alone = np.arange(count)
        pairs, numbers = self._changes(alone, PAIRS)
        if len(pairs) <= affordable:
            return self._effects(alone, pairs, numbers, PAIRS)
        most = int(PAIRS * affordable / len(pairs))
        if most < FEWEST_PAIRS and count > 1:
            return self._halved(count, max(int(affordable / FEWEST_PAIRS), 1))
        few = pairs < max(most, FEWEST_PAIRS)
        return self._effects(alone, pairs[few], numbers[few], max(most, FEWEST_PAIRS))

    def _halved(self, count: int, trials: int) -> Array:
        """The same of groups of columns, of which the strongest are halved."""
        effects = {(0, count): 0.0}
        waiting = [(-np.inf, 0, count)]
        while waiting and trials > 0:
            halves = []
            # Several at a time, so that rows are predicted in large blocks.
            for _ in range(min(len(waiting), trials // AT_A_TIME + 1)):
                _, start, stop = heappop(waiting)
                del effects[start, stop]
                middle = (start + stop) // 2
                halves += [(start, middle), (middle, stop)]
            trials -= len(halves)
            group = np.full(count, -1)
            for number, (start, stop) in enumerate(halves):
                group[start:stop] = number
            found = self._effects(group, *self._changes(group, FEWEST_PAIRS), FEWEST_PAIRS)
            for (start, stop), effect in zip(halves, found.tolist(), strict=True):
                effects[start, stop] = effect
                if stop - start > 1 and effect > 0:
                    heappush(waiting, (-effect, start, stop))
        shared = np.zeros(count)
        for (start, stop), effect in effects.items():
            shared[start:stop] = effect / (stop - start)
        return shared

    def _changes(
        self, group: NDArray[np.intp], n_pairs: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Some of the first pairs, and the groups of columns in which their rows differ.

        ``group`` is that of every column of the table, -1 of those that stay.
        """
        X, own, count = self.inputs, group[self.places], int(group.max()) + 1
        first, second = self.first[:n_pairs], self.second[:n_pairs]
        if sparse.issparse(X):
            differ = (X[first] != X[second]).tocoo()
            numbers = own[differ.col]
            known = np.unique((differ.row.astype(np.intp) * count + numbers)[numbers >= 0])
            return known // count, known % count
        columns = np.flatnonzero(own >= 0)
        columns = columns[np.argsort(own[columns], kind="stable")]
        present, starts = np.unique(own[columns], return_index=True)
        found = []
        step = max(1, AT_ONCE // X.shape[1])
        for start in range(0, n_pairs if len(columns) else 0, step):
            mine, theirs = (rows[start : start + step] for rows in (first, second))
            differ = X[mine[:, None], columns] != X[theirs[:, None], columns]
            pairs, numbers = np.nonzero(np.logical_or.reduceat(differ, starts, axis=1))
            found.append((pairs + start, present[numbers]))
        if not found:
            return np.empty(0, np.intp), np.empty(0, np.intp)
        pairs, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return pairs, numbers

    def _effects(
        self,
        group: NDArray[np.intp],
        pairs: NDArray[np.intp],
        numbers: NDArray[np.intp],
        n_pairs: int,
    ) -> Array:
        """T of groups from so many pairs, of which these change if a group is exchanged."""
        own, count = group[self.places], int(group.max()) + 1
        squares = np.empty(len(pairs))
        step = max(FEW_ROWS, AT_ONCE // self.inputs.shape[1])
        for start in range(0, len(pairs), step):
            some = slice(start, start + step)
            mine, theirs = self.first[pairs[some]], self.second[pairs[some]]
            X = _exchanged(self.inputs, mine, theirs, own, numbers[some])
            moved = scores(self.model, of_arrays(X, None), self.engine) - self.scores[mine]
            squares[some] = (moved**2 / self.units).mean(axis=1)
        return total_in(numbers, squares, count) / (2 * n_pairs)


def _exchanged(
    inputs: Any,
    mine: NDArray[np.intp],
    theirs: NDArray[np.intp],
    group: NDArray[np.intp],
    numbers: NDArray[np.intp],
) -> Any:
    """Rows, each with the columns of one group as another row has them."""
    if not sparse.issparse(inputs):
        return np.where(group == numbers[:, None], inputs[theirs], inputs[mine])

    def kept(rows: Any, exchanged: bool) -> Any:
        of_entry = np.repeat(numbers, np.diff(rows.indptr))
        chosen = (group[rows.indices] == of_entry) == exchanged
        ends = np.append(0, np.cumsum(chosen))[rows.indptr]
        return sparse.csr_array((rows.data[chosen], rows.indices[chosen], ends), rows.shape)

    return kept(inputs[mine], False) + kept(inputs[theirs], True)
