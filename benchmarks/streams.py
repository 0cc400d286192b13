"""Random walks of streams: after any sequence of verbs, the model of one fit of the rows left.

5,000 sequences from a seed, of `fit`, `partial_fit`, `forget`, `merge`, files, pickles, copies,
clones and `set_params`, with all families, on small tables (normal, with a constant column, copies,
integers, sparse, far from zero, of categories, with holes), with and without weights, some of them
zero. On the way and at the end the model is compared with its referee: one new model of the same
frame, given the rows that are left at once. What is refused on the way is a defect.

Both are solved from sums whose rounding errors are about u·S, where u is the unit roundoff and S
the largest sum of squares Σω‖φ(x)‖² that was ever held. A ridge μ = alpha·k lets these through to
predictions as u·S/μ of their size at most; that, times `SLACK` for every step of the walk, is how
far apart the two may be. Where it is more than `TOO_FAR` (float32 and a small ridge, as a rule),
the same walk is walked again with float64 features and a larger ridge. Walks that tell nothing even
then are counted.

``python -m benchmarks streams``; the first walks run in the tests. ``python -m benchmarks.streams
123`` repeats one walk, and shows its steps.
"""

from __future__ import annotations

import copy
import pickle
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

import randspan as rs
from randspan.statistics.kept import RowKeeping

from . import report
from .walks import FAMILIES, NAMELESS, SELDOM, parameters, pool

name = "streams"
slow = True

WALKS, QUICK = 5_000, 30
# Errors of a step are this many times the unit roundoff of what sums hold, and predictions that
# are further apart by rounding alone, beside the size of targets, tell nothing.
SLACK, TOO_FAR = 16.0, 0.05
# Solvers in passes stop at this residual.
RESIDUAL = 1e-6

# How walks end that are no defects, and the share that may tell nothing.
AS_ONE, SHARPER = "as one fit", "as one fit in float64 with a larger ridge"
UNTOLD, MOST_UNTOLD = "too ill-conditioned to tell", 0.002

Held = list[tuple[int, float]]


def run(quick: bool, walks: int | None = None) -> dict[str, Any]:
    count = walks or (QUICK if quick else WALKS)
    outcomes = [outcome(seed) for seed in range(count)]
    kinds = Counter(kind for kind, _ in outcomes)
    bad = [(seed, text) for seed, (kind, text) in enumerate(outcomes) if kind.startswith("BAD")]
    refused = sum("refused" in kind for kind, _ in outcomes)
    untold = sum(kind == UNTOLD for kind, _ in outcomes)
    return {
        "walks": count,
        "kinds": dict(kinds.most_common()),
        "bad": bad,
        "bars": [
            report.bar("walks that end elsewhere", len(bad) - refused, "<=", 0),
            report.bar("false refusals", refused, "<=", 0),
            report.bar("walks that tell nothing, share", untold / count, "<=", MOST_UNTOLD),
        ],
    }


def text(result: dict[str, Any]) -> str:
    rows = [(kind, str(count)) for kind, count in result["kinds"].items()]
    parts = [report.table(("outcome", "walks"), rows), report.bars(result["bars"])]
    parts += [f"walk {seed}: {what}" for seed, what in result["bad"][:20]]
    return "\n\n".join(parts)


def outcome(seed: int, show: bool = False) -> tuple[str, str]:
    """How one walk ends: a kind, and what there is to say."""
    kind, described = _walked(seed, show, sharp=False)
    if kind == UNTOLD:
        kind, described = _walked(seed, show, sharp=True)
        kind = SHARPER if kind == AS_ONE else kind
    return kind, described


def _walked(seed: int, show: bool, sharp: bool) -> tuple[str, str]:
    walk = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            walk = Walk(np.random.default_rng([30, seed]), sharp)
            kind = walk.whole()
        except Differs as found:
            kind = f"BAD: {found.kind}"
            walk.steps.append(str(found))
        except Exception as error:
            if show:
                traceback.print_exc()
            kind = f"BAD: refused, {type(error).__name__}"
            if walk is not None:
                walk.steps.append(str(error)[:300])
    described = "nothing yet" if walk is None else str(walk)
    if show:
        print(described)
    return kind, described


class Differs(Exception):
    """A model that is not the one of the rows that are left."""

    def __init__(self, kind: str, what: str):
        super().__init__(what)
        self.kind = kind


class Walk:
    """A model, the rows that should be in it, and what was done so far."""

    def __init__(self, rng: np.random.Generator, sharp: bool = False):
        odds = np.array([SELDOM.get(family, 1.0) for family in FAMILIES])
        self.rng, self.steps, self.tells = rng, [], True
        self.family = str(rng.choice(list(FAMILIES), p=odds / odds.sum()))
        classes = rng.random() < 0.35
        self.kind = rs.SpanClassifier if classes else rs.SpanRegressor
        self.pool = pool(rng, classes, self.family in ("dictionary",))
        self.more = {"classes": np.unique(self.pool.y)} if classes else {}
        self.weighted = str(rng.choice(["none", "counts", "random"], p=[0.5, 0.25, 0.25]))
        self.params = parameters(rng, self.family, classes)
        self.sharp = sharp
        if sharp:
            ridge = {} if self.family == "auto" else {"alpha": 1.0}
            self.params |= {"dtype": "float64"} | ridge
        self.unused = [int(i) for i in rng.permutation(len(self.pool))]
        self.held: Held = []
        self.largest = 0.0
        self.size = 1.0 if classes else float(np.abs(self.pool.y).max())

    def __str__(self) -> str:
        head = f"{self.kind.__name__}({self.family}, {self.params}) of {self.pool.kind}, weights "
        return f"{head}{self.weighted}: " + "; ".join(self.steps)

    # -- rows ------------------------------------------------------------------------------------

    def some(self, least: int, most: int, zero: bool = False) -> Held:
        """Rows that were not in the model before, or some of those again, and their weights."""
        count = int(self.rng.integers(least, most + 1))
        if len(self.unused) < count:
            self.unused += [int(i) for i in self.rng.permutation(len(self.pool))]
        rows, self.unused = self.unused[:count], self.unused[count:]
        each = np.ones(count)
        if self.weighted == "counts":
            each = self.rng.integers(0, 4, size=count).astype(float)
        elif self.weighted == "random":
            each = self.rng.uniform(0.1, 3, size=count)
        return list(zip(rows, (each * (not zero)).tolist(), strict=True))

    def given(self, held: Held) -> tuple[Any, np.ndarray, np.ndarray | None]:
        rows = np.array([row for row, _ in held], dtype=int)
        each = np.array([weight for _, weight in held])
        weights = None if (each == 1).all() and self.rng.random() < 0.7 else each
        return self.pool.rows(rows), self.pool.y[rows], weights

    def tells_all(self, held: Held) -> bool:
        """Whether these rows are enough to begin with: of all classes, ten with a weight."""
        present = [row for row, weight in held if weight > 0]
        found = len(np.unique(self.pool.y[present])) if self.more else 0
        return len(present) >= 10 and found == len(self.more.get("classes", ()))

    # -- verbs -----------------------------------------------------------------------------------

    def whole(self) -> str:
        self.start()
        verbs = [self.add, self.add, self.forget, self.forget, self.forget, self.merge, self.copied]
        verbs += [self.cloned, self.set, self.set_what_is_fixed, self.nothing]
        for _ in range(int(self.rng.integers(2, 7))):
            verbs[self.rng.integers(len(verbs))]()
            if self.rng.random() < 0.3:
                self.check()
        self.check()
        return AS_ONE if self.tells else UNTOLD

    def start(self) -> None:
        held = self.some(20, max(20, len(self.pool) // 2))
        while not self.tells_all(held):
            held += self.some(10, 20)
        self.model = self.kind(FAMILIES[self.family](), **self.params)
        self.took("fit" if self.rng.random() < 0.5 else "partial_fit", self.model, held)
        self.held += held
        self.begun = pickle.dumps((self.model, held)) if self.family == "auto" else None
        self.measured()

    def took(self, verb: str, model: Any, held: Held) -> None:
        """Rows added to a model."""
        X, y, weights = self.given(held)
        more = self.more if verb == "partial_fit" else {}
        self.steps.append(f"{verb} {len(held)} rows")
        getattr(model, verb)(X, y, sample_weight=weights, **more)

    def add(self) -> None:
        rows = self.some(1, 30, self.rng.random() < 0.1)
        self.took("partial_fit", self.model, rows)
        self.held += rows
        self.measured()

    def forget(self) -> None:
        if not self.held:
            return
        share = 1.0 if self.rng.random() < 0.05 else self.rng.uniform(0, 0.7)
        order = self.rng.permutation(len(self.held))
        gone = order[: max(1, int(share * len(order)))]
        X, y, weights = self.given([self.held[i] for i in gone])
        self.steps.append(f"forget {len(gone)} of {len(order)} rows")
        self.model.forget(X, y, sample_weight=weights)
        left = set(order.tolist()) - set(gone.tolist())
        self.held = [self.held[i] for i in sorted(left)]

    def merge(self) -> None:
        if self.begun is not None:
            other, rows = pickle.loads(self.begun)
            news = self.some(1, 20)
            self.took("partial_fit", other, news)
            rows = rows + news
        else:
            other, rows = self.anew(), self.some(10, 40)
            fitted = self.tells_all(rows) and self.rng.random() < 0.5
            self.took("fit" if fitted else "partial_fit", other, rows)
        if self.family not in NAMELESS and self.rng.random() < 0.5:
            other = pickle.loads(pickle.dumps(other))
        self.steps.append("merge")
        self.model.merge(other)
        self.held += rows
        self.measured()

    def copied(self) -> None:
        ways = [self.through_file, copy.deepcopy]
        ways += [] if self.family in NAMELESS else [lambda model: pickle.loads(pickle.dumps(model))]
        if self.rng.random() < 0.4:
            self.model.predict(self.pool.X) if self.present else None
        way = int(self.rng.integers(self.family in NAMELESS, len(ways)))
        self.steps.append(("file", "deepcopy", "pickle")[way])
        self.model = ways[way](self.model)

    def through_file(self, model: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model.rsp")
            return rs.load(Path(folder) / "model.rsp")

    def cloned(self) -> None:
        """A clone with the frame, and the same rows in blocks of any order."""
        if self.family == "auto" or not self.held:
            return
        self.steps.append("clone")
        model = clone(self.model).set_params(frame=self.model.frame_, random_state=None)
        order = self.rng.permutation(len(self.held))
        for part in np.array_split(order, int(self.rng.integers(1, 4))):
            if len(part):
                self.took("partial_fit", model, [self.held[i] for i in part])
        self.model = model
        self.params["random_state"] = None

    def set(self) -> None:
        """What counts from the next rows on."""
        free: dict[str, list[Any]] = {"memory_limit": ["1GB", None], "verbose": [False]}
        if self.family != "auto":
            free["fit_intercept"] = [True, False]
            if not self.trained:
                free["alpha"] = [1.0, 4.0] if self.sharp else [0.02, 0.5]
        one = str(self.rng.choice(list(free)))
        value = free[one][int(self.rng.integers(len(free[one])))]
        self.steps.append(f"{one}={value}")
        self.model.set_params(**{one: value})
        self.params[one] = value
        self.add()

    def set_what_is_fixed(self) -> None:
        """What was read before functions were drawn is refused by name, and changes nothing."""
        if not self.held:
            return
        values = {"family": rs.Stumps(interval=(-9, 9)), "standardize": self, "random_state": 99}
        one = str(self.rng.choice(list(values)))
        before = getattr(self.model, one)
        X, y, weights = self.given(self.held[:1])
        self.steps.append(f"{one}=...")
        try:
            self.model.set_params(**{one: values[one]}).forget(X, y, sample_weight=weights)
        except ValueError as reason:
            if "was set after" not in str(reason):
                raise
        else:
            raise Differs("silent", f"{one} was set, and nobody said that it has no effect")
        finally:
            self.model.set_params(**{one: before})

    def nothing(self) -> None:
        """Weights are found in between, or not."""
        if self.present:
            self.steps.append("predict")
            self.model.predict(self.pool.X)

    # -- the referee -----------------------------------------------------------------------------

    @property
    def present(self) -> bool:
        return any(weight > 0 for _, weight in self.held)

    @property
    def trained(self) -> bool:
        return self.family in ("trees", "leaves", "hypotheses", "union with trees")

    def anew(self, frame: Any = None, **params: Any) -> Any:
        """A model of no rows with the frame of ours."""
        fixed = ("n_components", "random_state", "standardize", "effort")
        kept = {key: value for key, value in self.params.items() if key not in fixed}
        if self.family != "auto":  # a fit that needed more digits goes on with them
            kept["dtype"] = self.model._model.plan.dtype.name
        return self.kind(frame=frame or self.model.frame_, **kept | params)

    def referee(self, frame: Any = None, **params: Any) -> Any:
        model, steps = self.anew(frame, **params), list(self.steps)
        order = self.rng.permutation(len(self.held))
        self.took("partial_fit", model, [self.held[i] for i in order])
        self.steps = steps
        return model

    def answers(self, model: Any) -> np.ndarray:
        found = model.decision_function if self.more else model.predict
        return found(self.pool.X)

    def check(self) -> None:
        if not self.present:
            self.check_empty()
            return
        found, error = self.answers(self.model), 0.0
        expected = np.zeros_like(found)
        for weight, one in self.model._solved.parts:
            alpha = one.found.alpha
            single = self.family != "auto"
            referee = self.referee(one.frame, **({} if single else {"alpha": self.alpha_of(one)}))
            if referee.alpha_ != alpha:
                error_of = [m.found.validation.error for m in (one, referee._solved)]
                what = f"alpha {alpha:.3g}, of one fit {referee.alpha_:.3g}; errors {error_of}"
                if self.off(one) < 1e-4:
                    raise Differs("another alpha", what)
                referee = self.referee(one.frame, alpha=alpha)
            expected = expected + weight * self.answers(referee)
            error += weight * self.off(one)
        offset = np.asarray(self.model._model.offset)
        expected = expected + (offset if expected.ndim == 2 or not offset.ndim else offset[0])
        size = max(float(np.abs(expected).max()), self.size)
        if not np.isfinite(error) or error > TOO_FAR:
            self.tells = False
            return
        away = float(np.abs(found - expected).max()) / size
        self.steps.append(f"check {away:.1e} of {error:.1e}")
        if not away <= error:
            raise Differs("other predictions", f"{away:.2e} apart, rounding is {error:.2e}")

    def alpha_of(self, one: Any) -> Any:
        return "auto" if one.frame.family.trains else self.params["alpha"]

    def check_empty(self) -> None:
        try:
            self.model.predict(self.pool.X)
        except ValueError as reason:
            if "holds no rows" in str(reason):
                return
            raise
        raise Differs("empty", "a model of no rows predicts")

    def measured(self) -> None:
        """The largest sum of squares that was ever held."""
        each = np.zeros(len(self.pool))
        for row, weight in self.held:
            each[row] += weight
        self.weight = max(float(each.sum()), getattr(self, "weight", 0.0))
        if self.family == "auto" or self.model.n_components_ == np.inf:
            return
        Z = self.model.functions_(self.pool.X)
        squares = Z.multiply(Z).sum(axis=1) if sparse.issparse(Z) else (Z.astype(float) ** 2).sum(1)
        heaviest = max(self.params.get("class_weight", {"": 1.0}).values())
        self.largest = max(self.largest, heaviest * float(each @ np.asarray(squares).ravel()))

    def off(self, one: Any) -> float:
        """How far apart predictions may be by rounding, beside their size."""
        alpha, held = one.found.alpha, one.statistics
        if held.name == "out_of_bag":  # alpha·k·s²·‖w - 1/k‖² beside sums of e², s² a mean of them
            condition = 1 + self.weight / alpha
        else:
            mu, largest = alpha * one.frame.ridge_scale, self.largest or 4 * self.weight
            condition = 1 + largest / mu if mu > 0 else np.inf
        kept = isinstance(held, RowKeeping)
        unit = 2.0**-24 if one.plan.dtype == np.float32 and not kept else 2.0**-53
        if one.found.solver in ("conjugate", "lbfgs", "multipliers"):
            unit = RESIDUAL
        return SLACK * unit * condition * max(len(self.steps), 1)


if __name__ == "__main__":
    for seed in map(int, sys.argv[1:]):
        print(outcome(seed, show=True)[0])
