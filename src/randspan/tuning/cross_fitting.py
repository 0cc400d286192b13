"""Few rows: scales, kernel, width and ridge are judged by rows that none of them has seen.

Scales that were learned from all rows suit these better than any others. Of few rows they are
therefore learned in folds, by the key of inputs: a row of fold F is predicted by the kernel machine
of all other rows, with scales s_F that were learned from the other folds,

    f₋ᵢ(x_i) = y_i - a_i/P'_ii,   P' = P - P11'P/(1'P1),   P = (K(s_F) + μW⁻¹)⁻¹,   a = P'y.

Equal scales e are one end of a path, s_t = e^(1-t)·s^t, whose other end are the learned ones. The
linear model and the smoothest kernel at the median distance are plainer still: they have nothing
but a ridge to choose, and the better of them is where all begins. All are compared by these
errors, and a plainer one stays unless another lowers the error clearly: the best of many kernels,
widths and scales looks better than it is, and one standard error is gained by chance. What is said
of new rows goes likewise: every fold is predicted by what the others would have chosen.

Tried and left: one standard error. Beside the smoothest kernel with equal scales, log-losses on
small clean tables rose by 3 % to 5 % (`benchmarks clean`). Two of them for numbers too: steps of 40
rows were smoothed over, with errors a quarter larger.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..calibration import Calibration
from ..engines import Engine
from ..families.shared.randomness import generator
from ..solvers.left_out import walk
from ..solvers.validation import mean_of
from .learning import Law, Table
from .scales import (
    STEPS,
    Kernel,
    Learner,
    Pool,
    Scales,
    kernel_of,
    left_out_predictions,
    start,
)

Array = NDArray[np.float64]

FOLDS = 4
# Exponents t of the path from equal scales to learned ones.
EQUAL, HALF, LEARNED = 0.0, 0.5, 1.0
# Ridges are powers of 10^(1/4), in steps of 10^(1/2) at first; widths are powers of 2^(1/2).
FINE, STEP = 4, 2
WIDTHS = range(-5, 6)
SMALLEST, LARGEST = 1e-9, 1e3
# Errors are compared to this share.
CHANCE = 1e-3
# The place of the linear model among laws.
LINEAR = -1
# Standard errors by which a plainer model has to be beaten, for numbers and for classes: log-losses
# are made by few rows, and their standard error is itself uncertain.
CLEARLY = (1.5, 2.0)
# The rank of the models that have nothing but a ridge to choose.
PLAINEST = -1.0


@dataclass(frozen=True)
class Choice:
    """A model: the place of its kernel, t, the width 2^(width/2) and the ridge 10^(ridge/4)."""

    law: int
    path: float = EQUAL
    width: int = 0
    ridge: int = 0

    @property
    def mu(self) -> float:
        return float(10.0 ** (self.ridge / FINE))


@dataclass(eq=False)
class CrossFitted:
    """Choices, compared by predictions of rows without them.

    Attributes
    ----------
    table : Table
        In the order of keys.
    laws : sequence of Law
        The first of each distance is learned with.
    intercept : bool
    linear : bool
        Whether the linear model is one of the choices.
    cautious : bool
        Whether a plainer model has to be beaten clearly.
    classes : (mean, spread) or None
        What targets of ±1 were divided by, of classes: these are judged by their probabilities.
    """

    table: Table
    laws: Sequence[Law]
    intercept: bool
    linear: bool
    cautious: bool
    engine: Engine
    classes: tuple[Array, Array] | None = None
    kernels: list[Kernel] = field(init=False)
    folds: NDArray[np.intp] = field(init=False)
    #: equal scales, and those that were learned without each fold, by distance
    equal: dict[str, Scales] = field(default_factory=dict)
    learned: dict[str, list[Scales]] = field(default_factory=dict)
    predicted: dict[Choice, Array] = field(default_factory=dict)
    squares: dict[Choice, Array] = field(default_factory=dict)
    #: kernel matrices that were made last, by distance and path
    latest: dict[tuple[str, float, bool], tuple] = field(default_factory=dict)
    #: errors at ridges that machines of all rows have tried
    own: dict[Choice, float] = field(default_factory=dict)
    surprises: dict[Choice, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, seed = len(self.table.rows), self.laws[0].plain.seed
        self.kernels = [kernel_of(law.plain.family) for law in self.laws]
        self.folds = generator(seed, "scales", 5).permutation(n) % FOLDS
        with self.engine.pool() as pool:
            self._learn(pool)
            self._look_around(pool)
        self.latest.clear()

    @property
    def each(self) -> Array:
        weights = self.table.weights
        return np.ones(len(self.table.rows)) if weights is None else weights

    def _learn(self, pool: Pool) -> None:
        """Scales for every distance, without every fold; the first distance leads the others."""
        firsts = [(laws[0], self.kernels[laws[0]]) for laws in self.ladders.values()]

        def learn(fold: int) -> list[Scales]:
            some, found = self.table.some(np.flatnonzero(self.folds != fold)), []
            equal = [start(kernel, some.rows) for _, kernel in firsts]
            begin, steps = equal[0], STEPS
            for (number, kernel), its in zip(firsts, equal, strict=True):
                plain = self.laws[number].plain
                rng = generator(plain.seed, "scales", 6 + fold)
                given = (some.rows, some.targets, some.weights, rng, _one_by_one, _quiet)
                learner = Learner(kernel, *given, plain.groups)
                begin = begin.times(float(its.scales[0] / equal[0].scales[0]))
                found.append(learner.descend(begin, steps))
                begin, steps = found[0], STEPS // 3
            return found

        folds = pool(learn, list(range(FOLDS)))
        for place, (metric, (_, kernel)) in enumerate(zip(self.ladders, firsts, strict=True)):
            self.learned[metric] = [found[place] for found in folds]
            self.equal[metric] = start(kernel, self.table.rows)

    @cached_property
    def ladders(self) -> dict[str, list[int]]:
        """The laws of every distance, as they come."""
        found: dict[str, list[int]] = {}
        for number, kernel in enumerate(self.kernels):
            found.setdefault(kernel.metric, []).append(number)
        return found

    def _smoothest(self, among: Collection[int]) -> int:
        return max(among, key=lambda number: (self.kernels[number].smoothness, -number))

    def _look_around(self, pool: Pool) -> None:
        """All kinds of models, each at its best width and ridge."""
        paths = [(laws, path) for laws in self.ladders.values() for path in (LEARNED, EQUAL)]
        pool(lambda one: self._ladder(*one), paths)
        if self.linear:  # elsewhere what is looked at once is not at its best
            number = self._smoothest(range(len(self.laws)))
            ridge = _place(self._scales(number, EQUAL)[0].ridge)
            self._with_ridge(Choice(number, ridge=ridge))
        # Halfway between, the best kernel of each distance.
        best = [
            min((one for one in self.squares if one.law in laws), key=self._error)
            for laws in self.ladders.values()
        ]
        pool(self._walk, [replace(one, path=HALF) for one in best])
        if self.linear:
            size = float((self.table.rows.astype(np.float64) ** 2).sum(axis=1).mean())
            self._walk(Choice(LINEAR, ridge=_place(size or 1.0)))

    def _ladder(self, laws: list[int], path: float) -> None:
        """Kernels from rough to smooth, from the one that was learned with downhill."""
        order = sorted(laws, key=lambda number: self.kernels[number].smoothness)
        ridge = _place(self._scales(laws[0], path)[0].ridge)
        best = {laws[0]: self._walk(Choice(laws[0], path, ridge=ridge))}

        def error(place: int) -> float:
            number = order[place]
            if number not in best:
                near = min(best, key=lambda other: abs(order.index(other) - place))
                best[number] = self._walk(replace(best[near], law=number))
            return self._error(best[number])

        walk(error, order.index(laws[0]), 0, len(order) - 1)

    def _walk(self, at: Choice) -> Choice:
        """Downhill to the best width, at the ridge that all rows choose for it."""
        at = self._with_ridge(at)
        if at.law == LINEAR:
            return at
        # Kernels that are wider fall less, and so does the ridge that goes with them.
        power = 1 if self.kernels[at.law].metric == "cityblock" else 2
        found = {at.width: at}

        def error(width: int) -> float:
            if width not in found:
                near = found[min(found, key=lambda other: abs(other - width))]
                moved = round(power * (width - near.width) * FINE * np.log10(2) / 2)
                begin = replace(near, width=width, ridge=near.ridge + moved)
                found[width] = self._with_ridge(begin)
            return self._error(found[width])

        return found[walk(error, at.width, WIDTHS[0], WIDTHS[-1])]

    def _with_ridge(self, at: Choice) -> Choice:
        """The same with the ridge that the machine of all rows finds for itself.

        Its scales have seen them all: a ridge that they want smaller than new rows do is part of
        what a choice is judged by.
        """
        low, high = (_place(limit) for limit in (SMALLEST, LARGEST))
        at = replace(at, ridge=int(np.clip(at.ridge, low, high)))
        for step in (STEP, 1):
            begin = at

            def error(j: int, begin: Choice = begin, step: int = step) -> float:
                return self._own_error(replace(begin, ridge=begin.ridge + step * j))

            limits = (low - begin.ridge) // step, (high - begin.ridge) // step
            at = replace(begin, ridge=begin.ridge + step * walk(error, 0, *limits))
        return at

    def _own_error(self, choice: Choice) -> float:
        """The error of rows left out by a machine whose scales have seen them."""
        if choice.path == EQUAL:
            return self._error(choice)
        if choice not in self.own:
            predicted = self._without_each(self._matrices(choice, own=True)[0], choice)
            squares = ((self.table.targets - predicted) ** 2).mean(axis=1)
            self.own[choice] = float(self.each @ squares)
        return self.own[choice]

    def _error(self, choice: Choice) -> float:
        return float(self.each @ self._look(choice))

    def _look(self, choice: Choice) -> Array:
        """Squared errors of rows left out, the mean of targets."""
        if choice not in self.squares:
            predicted = self._predicted(choice)
            self.predicted[choice] = predicted
            self.squares[choice] = ((self.table.targets - predicted) ** 2).mean(axis=1)
        return self.squares[choice]

    def _scales(self, number: int, path: float) -> list[Scales]:
        """Those of every fold; where they are equal, one for all."""
        metric = self.kernels[number].metric
        equal = self.equal[metric]
        if path == EQUAL:
            return [equal]
        return [_between(equal, one, path) for one in self.learned[metric]]

    def _predicted(self, choice: Choice) -> Array:
        """What is said of every row without it, by scales that do not know its fold."""
        if choice.law == LINEAR:
            T = self.table.rows.astype(np.float64)
            return self._without_each(T @ T.T, choice)
        found, matrices = np.empty_like(self.table.targets), self._matrices(choice)
        for fold, K in enumerate(matrices):
            mine = self.folds == fold if len(matrices) > 1 else slice(None)
            found[mine] = self._without_each(K, choice)[mine]
        return found

    def _without_each(self, K: Array, choice: Choice) -> Array:
        return left_out_predictions(K, choice.mu / self.each, self.table.targets, self.intercept)

    def _matrices(self, choice: Choice, own: bool = False) -> list[Array]:
        """The kernel of all rows with the scales of every fold, or with their ``own``.

        The last ones are kept: ridges are tried one after the other.
        """
        kernel = self.kernels[choice.law]
        slot, wanted = (kernel.metric, choice.path, own), (choice.law, choice.width)
        known = self.latest.get(slot)
        if known is None or known[0] != wanted:
            rows, factor = self.table.rows, 2.0 ** (choice.width / 2)
            all_scales = self._scales(choice.law, choice.path)
            if own:
                all_scales = [_mean(all_scales)]
            scaled = [rows * at.times(factor).scales.astype(rows.dtype) for at in all_scales]
            known = wanted, [kernel.matrix(T)[0] for T in scaled]
            self.latest[slot] = known
        return known[1]

    # -- which one -----------------------------------------------------------------------------

    def chosen(
        self, rows: NDArray[np.bool_] | None = None, among: Collection[int] | None = None
    ) -> Choice:
        """The plainest choice that none clearly beats, by errors of some rows, of some kernels."""
        rows = np.ones(len(self.each), bool) if rows is None else rows
        among = [LINEAR, *range(len(self.laws))] if among is None else among
        weights, usual = self.each[rows], self._smoothest([law for law in among if law != LINEAR])
        best: dict[float, tuple[float, Choice]] = {}

        def rank_of(one: Choice) -> float:
            plain = one.law == LINEAR or (one.law, one.path, one.width) == (usual, EQUAL, 0)
            plain &= self.linear
            return PLAINEST if plain else one.path

        def order(one: Choice) -> tuple:
            return rank_of(one), one.law, one.width, -one.ridge

        for choice in sorted(self.squares, key=order):
            if choice.law not in among:
                continue
            rank = rank_of(choice)
            # Only the plainest are so few that their best is no chance.
            errors = self._losses(choice) if rank == PLAINEST else self.squares[choice]
            error = float(weights @ errors[rows])
            if rank not in best or error < (1 - CHANCE) * best[rank][0]:
                best[rank] = error, choice
        ranks = iter(sorted(best))
        needed = CLEARLY[self.classes is not None] if self.linear else 1.0
        found = best[next(ranks)][1]
        for rank in ranks:
            other = best[rank][1]
            gain, doubt = mean_of((self._losses(found) - self._losses(other))[rows], weights)
            if gain > (needed * doubt if self.cautious else 0):
                found = other
        return found

    def _losses(self, choice: Choice) -> Array:
        """Squared errors; of classes the log-loss of probabilities that are calibrated by them."""
        if self.classes is None:
            return self.squares[choice]
        if choice not in self.surprises:
            mean, spread = self.classes
            truth, scores = (
                mean + spread * values for values in (self.table.targets, self.predicted[choice])
            )
            found = Calibration.of(scores, truth, self.each)(scores)
            chances = np.maximum(found, np.finfo(np.float64).eps)
            if truth.shape[1] == 1:
                truth = np.hstack([-truth, truth])
            # Rows of equal inputs may be of several classes.
            self.surprises[choice] = -((1 + truth) / 2 * np.log(chances)).sum(axis=1)
        return self.surprises[choice]

    def unseen(self, among: Collection[int] | None = None) -> Array:
        """Predictions of every fold by what the others would have chosen."""
        found = np.empty_like(self.table.targets)
        for fold in range(FOLDS):
            mine = self.folds == fold
            found[mine] = self.predicted[self.chosen(~mine, among)][mine]
        return found

    def scales(self, choice: Choice) -> Scales:
        """Scales for all rows."""
        found = _mean(self._scales(choice.law, choice.path))
        return replace(found.times(2.0 ** (choice.width / 2)), ridge=choice.mu)


def _one_by_one(function, items: list) -> list:
    return [function(item) for item in items]


def _quiet(steps: int) -> None:
    """No progress is shown of a fold."""


def _place(ridge: float) -> int:
    return round(FINE * np.log10(ridge))


def _between(equal: Scales, learned: Scales, path: float) -> Scales:
    """s_t = e^(1-t)·s^t."""

    def mean(one, other):
        return np.exp((1 - path) * np.log(one) + path * np.log(other))

    return Scales(mean(equal.scales, learned.scales), None, float(mean(equal.ridge, learned.ridge)))


def _mean(scales: list[Scales]) -> Scales:
    """Of the folds, in logarithms."""
    logs = [np.log(one.scales) for one in scales]
    return replace(scales[0], scales=np.exp(np.mean(logs, axis=0)))
