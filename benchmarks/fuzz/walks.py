"""One call: an estimator is fitted at once or in a stream, asked, changed and asked again.

A `Walk` knows which rows its model should hold, and judges all that the model says by `oracle`.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone

import randspan as rs
from randspan.families import as_family

from . import mistakes, oracle
from .calls import ALPHAS
from .families import one_of
from .oracle import expect
from .tables import Table, chosen, take

Rng = np.random.Generator


class Walk:
    """What is done with one estimator, and what it should know."""

    def __init__(self, rng: Rng, model: Any, name: str, table: Table) -> None:
        self.rng, self.model, self.name, self.table = rng, model, name, table
        self.held: list[np.ndarray] = []
        self.exact = True  # whether the rows of the model are those that are held
        self.steps: list[str] = []
        self.answers: list[Any] = []

    def run(self) -> str:
        """How it ends: in a few words, or in a `Defect`."""
        if isinstance(self.model, rs.SpanTransformer):
            numbers = self.table.numbers  # nothing standardises these
            sized = numbers is None or np.abs(numbers.astype(float)).max() < 1e15
            by_itself = self.name not in ("mistake", "auto") and sized and self.rng.random() < 0.4
            return self.drawn() if by_itself else self.transformer()
        refused = self.begun()
        if refused:
            return f"refused: {refused}"
        expect(self.name != "mistake", "a wrong parameter was accepted")
        self.ask()
        changes = [change for change in CHANGES if self.rng.random() < CHANGES[change]]
        for change in changes:
            before = {}
            if change == "with_others":
                before = self.with_other_parameters()
            if not self.attempted(change, lambda step=change: getattr(self, step)()):
                self.ask(few=True)
            else:
                self.model.set_params(**before)
        plain = self.table.numbers is not None and self.model.categories is None
        if plain and self.name != "auto" and self.rng.random() < 0.12:
            self.mistaken(self.mistakes())
        if hasattr(self.model, "feature_names_in_") and self.rng.random() < 0.12:
            self.mistaken(mistakes.OF_FRAMES)
        return "answers"

    def attempted(self, name: str, do: Callable[[], Any]) -> str:
        """Why this was refused, "" where it was done."""
        self.steps.append(name)
        before = oracle.state(self.model)
        try:
            do()
        except oracle.Defect:
            raise
        except Exception as error:
            kind = oracle.refusal(error)
            self.steps[-1] += f" ({kind}: {str(error)[:80]})"
            oracle.unchanged(before, self.model)
            return kind
        return ""

    # -- rows come and go

    def part(self, rows: np.ndarray) -> tuple[Any, Any, Any]:
        table = self.table
        weights = None if table.weights is None else table.weights[rows]
        return take(table.X, rows), take(table.y, rows), weights

    def fit(self) -> None:
        table = self.table
        self.model.fit(table.X, table.y, sample_weight=table.weights)
        self.held = [np.arange(table.n_rows)]

    def stream(self, rows: np.ndarray) -> None:
        X, y, weights = self.part(rows)
        more = {}
        if self.table.classes and not hasattr(self.model, "_model"):
            more = {"classes": np.unique(np.asarray(self.table.y))}
        self.model.partial_fit(X, y, sample_weight=weights, **more)
        self.held.append(rows)

    def begun(self) -> str:
        how = chosen(self.rng, {"fit": 6, "stream": 3})
        if how == "fit" or self.table.n_rows < 3:
            return self.attempted("fit", self.fit)
        refused = ""
        blocks = np.array_split(np.arange(self.table.n_rows), int(self.rng.integers(1, 4)))
        for rows in blocks:
            one = self.attempted("partial_fit", lambda rows=rows: self.stream(rows))
            refused = refused or one
        return "" if self.held else refused

    def more(self) -> None:
        rows = self.rng.integers(0, self.table.n_rows, size=int(self.rng.integers(1, 20)))
        self.stream(rows)

    def forget(self) -> None:
        last = self.held[-1]
        rows = last[: max(len(last) // 2, 1)]
        self.model.forget(*self.part(rows))
        self.held[-1] = last[len(rows) :]
        if not len(self.held[-1]):
            self.held.pop()

    def merge(self) -> None:
        rows = self.rng.integers(0, self.table.n_rows, size=int(self.rng.integers(2, 20)))
        other = clone(self.model)
        if self.name == "auto":
            other = copy.deepcopy(self.model)
            self.exact = False
        else:
            other.set_params(frame=self.model.frame_)
        X, y, weights = self.part(rows)
        more = {"classes": np.unique(np.asarray(self.table.y))} if self.table.classes else {}
        other.partial_fit(X, y, sample_weight=weights, **more)
        self.model.merge(other)
        self.held.append(rows)

    def with_other_parameters(self) -> dict[str, Any]:
        """Other parameters from now on; what they were."""
        names = [name for name in LATER if name in self.model.get_params()]
        changed = [names[self.rng.integers(len(names))] for _ in range(2)]
        before = {name: getattr(self.model, name) for name in changed}
        self.model.set_params(**{name: one_of(self.rng, LATER[name]) for name in changed})
        return before

    def with_others(self) -> None:
        """The next rows are solved for with other parameters."""
        self.stream(np.arange(min(2, self.table.n_rows)))

    def refit(self) -> None:
        """The same parameters and rows: the same bits."""
        whole = len(self.held) == 1 and len(self.held[0]) == self.table.n_rows and self.exact
        if whole and isinstance(self.model.random_state, int):
            again = clone(self.model)
            if self.steps[0] == "fit":
                again.fit(self.table.X, self.table.y, sample_weight=self.table.weights)
                self.compared(again, "fitted again")

    def stored_otherwise(self) -> None:
        """The same numbers, dense, sparse or in a frame: the same model, to rounding."""
        table, model = self.table, self.model
        if not self.well_posed:
            return
        numbers, new = table.numbers, table.new
        new = new.toarray() if sparse.issparse(new) else np.asarray(new)
        other = clone(model)
        store = one_of(self.rng, STORES)
        other.fit(store(numbers), table.y, sample_weight=table.weights)
        oracle.close(
            self.scores(other, store(new)),
            self.scores(model, table.new),
            1e-5 * self.size_of_targets,
            f"stored as {type(store(new)).__name__}",
        )

    @property
    def well_posed(self) -> bool:
        """Whether rounding hardly changes what a fit of these rows says."""
        table, model = self.table, self.model
        plain = table.numbers is not None and table.kind.split()[3] in WELL_SCALED
        settled = isinstance(model.alpha, float) and 1e-3 <= model.alpha <= 1e3
        settled &= isinstance(model.random_state, int)
        if not (plain and settled and model.dtype == "float64" and self.steps[0] == "fit"):
            return False
        searched = model.scales in ("learn", "rotate") or model.categories is not None
        kept = self.exact and len(self.held) == 1 and len(self.held[0]) == table.n_rows
        # Trees cut between values, and go another way where two cuts are equally good.
        return kept and not searched and not model.frame_.family.trains

    def scores(self, model: Any, X: Any) -> np.ndarray:
        return np.asarray((model.decision_function if self.table.classes else model.predict)(X))

    def pickled(self) -> None:
        if self.name == "mistake":  # functions without a name are no matter of ours
            return
        self.model = self.compared(pickle.loads(pickle.dumps(self.model)), "pickled")

    def copied(self) -> None:
        self.model = self.compared(copy.deepcopy(self.model), "copied")

    def saved(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.rsp"
            rs.save(self.model, path)
            self.model = self.compared(rs.load(path), "saved and loaded")

    def compared(self, other: Any, what: str) -> Any:
        ask = "transform" if isinstance(other, rs.SpanTransformer) else "predict"
        found, known = (getattr(model, ask)(self.table.new) for model in (other, self.model))
        if sparse.issparse(found):
            found, known = found.toarray(), known.toarray()
        oracle.same(found, known, what)
        return other

    # -- questions

    def ask(self, few: bool = False) -> None:
        self.attempted("predict", self.regressed if not self.table.classes else self.classified)
        if few:
            return
        asked = QUESTIONS | (OF_CLASSES if self.table.classes else OF_NUMBERS)
        for name, chance in asked.items():
            if self.rng.random() < chance:
                self.attempted(name, getattr(self, name))

    @property
    def present(self) -> np.ndarray:
        """Rows of positive weight; of numbers those that differ."""
        rows = np.unique(np.concatenate(self.held)) if self.held else np.arange(0)
        weights, numbers = self.table.weights, self.table.numbers
        rows = rows if weights is None else rows[weights[rows] > 0]
        return rows if numbers is None else np.unique(numbers[rows], axis=0)

    @property
    def flat(self) -> tuple[int, ...]:
        return np.shape(self.table.y)[1:]

    @property
    def n_new(self) -> int:
        return len(self.table.new) if isinstance(self.table.new, list) else self.table.new.shape[0]

    def regressed(self) -> None:
        table = self.table
        found = self.model.predict(table.new)
        oracle.finite(found, (self.n_new, *self.flat), "predict")
        self.answers.append(found)
        if self.clipped:
            oracle.in_range(found, np.asarray(table.y, dtype=float))
        if isinstance(self.model.clip, float):
            expect(np.abs(found) <= self.model.clip, "predictions beyond clip")
        if self.rng.random() < 0.3:
            self.judged()

    @property
    def clipped(self) -> bool:
        clip = self.model.clip
        if not (isinstance(clip, str) and clip == "auto") or self.name == "auto":
            return False
        given = "clip" in self.model.get_params() and clip is not rs.SpanRegressor().clip
        return given or bool(np.isfinite(self.model.frame_.family.bounded))

    def judged(self) -> None:
        """A minimum is no worse than a constant, for the rows of the model."""
        model = self.model
        if model.loss != "squared" or isinstance(model.clip, float) or not self.exact:
            return
        if self.name == "auto" or model.frame_.family.uses_target or not self.held:
            return
        rows = np.concatenate(self.held)
        X, y, weights = self.part(rows)
        y = np.asarray(y, dtype=float)
        if weights is not None and not weights.any():
            return
        found = model.predict(X)
        size = self.size_of_targets
        oracle.no_worse_than_nothing(found, y, weights, model.fit_intercept, size)

    def classified(self) -> None:
        model, new = self.model, self.table.new
        classes, decided = model.classes_, model.predict(new)
        found = model.predict_proba(new)
        expect(np.isin(classes, np.unique(np.asarray(self.table.y))), "classes_ of no label")
        oracle.probabilities(found, self.n_new, classes, decided)
        chosen = found[np.arange(len(found)), np.searchsorted(classes, decided)]
        expect(chosen >= found.max(axis=1) - 1e-6, "predict: not the most probable class")
        self.answers += [decided, found]

    def decision_function(self) -> None:
        found, count = self.model.decision_function(self.table.new), len(self.model.classes_)
        oracle.finite(found, (self.n_new,) + (() if count == 2 else (count,)), "decision_function")
        self.answers.append(found)

    def score(self) -> None:
        if self.n_new > 1:
            rows = np.arange(self.table.n_rows)
            X, y, weights = self.part(rows)
            found = self.model.score(X, y, sample_weight=weights)
            expect(isinstance(found, float), f"score: {found!r}")

    def alone(self) -> None:
        """A row alone is predicted as among others."""
        found = self.scores(self.model, self.table.new)
        one = self.scores(self.model, take(self.table.new, np.arange(1)))
        if isinstance(self.model.alpha, float) and self.model.alpha >= 1e-3:
            size = np.abs(np.asarray(found)).max() + self.size_of_targets
            oracle.close(one, found[:1], 1e-3 * size, "a row alone")

    @property
    def size_of_targets(self) -> float:
        if self.table.classes:
            return 1.0
        return float(np.abs(np.asarray(self.table.y, dtype=float)).max())

    @property
    def lonely(self) -> bool:
        """Whether one input has all the weight but for what rounding takes."""
        rows = np.concatenate(self.held)
        weights, numbers = self.table.weights, self.table.numbers
        if weights is None or numbers is None:
            return False
        same = np.unique(numbers[rows], axis=0, return_inverse=True)[1].ravel()
        mass = np.bincount(same, weights[rows])
        return mass.sum() - mass.max() <= 1e-8 * mass.max()

    def attributes(self) -> None:
        model = self.model
        repr(model), repr(model.frame_ if self.name != "auto" else model.portfolio_)
        if self.name == "auto":
            found = model.validation_
            expect(found.reason if found.kind is None else found.error >= 0, "validation_")
            return
        solution = model.solution_
        expect(np.isfinite(model.weights_).all(), "weights_: not finite")
        expect(np.isfinite(model.intercept_).all(), "intercept_: not finite")
        expect(model.alpha_ >= 0 and np.isfinite(model.alpha_), f"alpha_ = {model.alpha_}")
        found = model.validation_
        expect(found.kind is None or found.error >= 0, f"validation_: {found.error}")
        # Where functions are as many as rows, or rows one or two, nothing is left to judge by.
        few = found.kind in (None, "gcv") or len(self.present) < 3 or self.lonely
        expect(few or np.isfinite(found.error), f"validation_: {found.error} by {found.kind}")
        expect(bool(solution.reason), "solution_: no reason")
        expect(model.n_features_in_ >= 1, "n_features_in_")

    def functions(self) -> None:
        if self.name != "auto" and self.model.n_components_ != np.inf:
            Z = self.model.functions_(self.table.new)
            expect(Z.shape == (self.n_new, self.model.functions_.n_columns), "functions_: shape")

    def plan_for(self) -> None:
        if self.name != "auto":
            made = self.model.plan_for(int(self.rng.integers(1, 10**6)), 5)
            expect(bool(made.reason) and made.nbytes >= 0, "plan_for: no reason")

    def leave_one_out(self) -> None:
        X, y, weights = self.part(self.held[0])
        found = self.model.leave_one_out(X, y, sample_weight=weights)
        if not self.table.classes:
            oracle.finite(found, (len(self.held[0]), *self.flat), "leave_one_out")
        else:
            expect(np.isin(found, self.model.classes_), "leave_one_out: no class")

    def std(self) -> None:
        mean, std = self.model.predict(self.table.new, return_std=True)
        oracle.finite(mean, (self.n_new, *self.flat), "mean")
        oracle.finite(std, (self.n_new, *self.flat), "std")
        expect(std >= 0, "std: negative")
        self.answers += [std]

    def interval(self) -> None:
        coverage = float(self.rng.choice([0.01, 0.5, 0.9, 0.999]))
        lower, upper = self.model.predict_interval(self.table.new, coverage)
        for side in (lower, upper):
            oracle.finite(side, (self.n_new, *self.flat), "interval")
        expect(lower <= upper, "interval: lower above upper")
        self.answers += [lower, upper]

    def containers(self) -> None:
        """The same numbers in another container: the same predictions, to the last digits of rows.

        Columns of sparse rows are not centred: beside tiny units all digits may be the last.
        """
        numbers, new = self.table.numbers, self.table.new
        if numbers is None or self.model.categories is not None:
            return
        dense = new.toarray() if sparse.issparse(new) else np.asarray(new)
        if hasattr(self.model, "feature_names_in_"):
            return
        found = self.scores(self.model, new)
        size = np.abs(found).max() + self.size_of_targets
        for other in (dense.tolist(), np.asfortranarray(dense), sparse.csr_array(dense)):
            away = 1e-3 * size if sparse.issparse(other) or sparse.issparse(new) else 0.0
            if away and not (isinstance(self.model.alpha, float) and self.model.alpha >= 1e-3):
                continue
            if away:
                beside = self.scores(self.model, dense * (1 + 4 * np.finfo(np.float64).eps))
                away += 8 * np.abs(beside - found).max()
            oracle.close(
                self.scores(self.model, other), found, away, f"rows as {type(other).__name__}"
            )

    # -- others

    def mistakes(self) -> dict[str, mistakes.Mistake]:
        of_kind = mistakes.OF_CLASSIFIERS if self.table.classes else mistakes.OF_REGRESSORS
        return mistakes.CALLS | of_kind

    def mistaken(self, known: dict[str, mistakes.Mistake]) -> None:
        what = list(known)[self.rng.integers(len(known))]
        do = lambda: known[what](self.model, self.table, self.rng)  # noqa: E731
        refused = self.attempted(f"mistake: {what}", do)
        expect(bool(refused), f"accepted: {what}")

    def drawn(self) -> str:
        """The family by itself: its functions, and its kernel."""
        family = as_family(self.model.family)
        X, y, k = self.table.X, self.table.y, int(self.rng.integers(1, 20))
        refused = self.attempted("draw", lambda: self.functions_of(family, X, y, k))
        refused = self.attempted("kernel", lambda: self.kernel_of(family, X)) and refused
        return f"refused: {refused}" if refused else "functions"

    def functions_of(self, family: Any, X: Any, y: Any, k: int) -> None:
        functions = family.draw(X, k, random_state=0, y=y)
        Z = functions(X)
        expect(Z.shape == (self.table.n_rows, functions.n_columns), f"functions: {Z.shape}")
        if family.independent and np.isfinite(family.bounded) and not family.sparse:
            more = family.draw(X, k + 3, random_state=0, y=y)(X)
            first = functions.n_direct + k
            away = 1e-9 * np.abs(Z).max()  # products of matrices round as their shapes are
            if self.table.numbers is not None:
                numbers = np.asarray(self.table.numbers, dtype=float)
                beside = functions(numbers * (1 + 4 * np.finfo(np.float64).eps))
                away += 8 * np.abs(beside - Z).max()
            oracle.close(more[:, :first], Z[:, :first], away, "a larger draw")
        self.answers.append(Z.data if sparse.issparse(Z) else Z)

    def kernel_of(self, family: Any, X: Any) -> None:
        kernel = family.kernel(X)
        n = self.table.n_rows
        oracle.finite(kernel, (n, n), "kernel")
        size = np.abs(kernel).max()
        oracle.close(kernel, kernel.T, 1e-9 * size, "a kernel and its transpose")
        expect(kernel.diagonal() >= -1e-9 * size, "kernel: negative diagonal")
        self.answers.append(kernel)

    def transformer(self) -> str:
        model, table = self.model, self.table
        X, y = table.X, table.y
        begin = model.fit if self.rng.random() < 0.7 else model.partial_fit
        refused = self.attempted("fit", lambda: begin(X, y, sample_weight=table.weights))
        if refused:
            return f"refused: {refused}"
        refused = self.attempted("transform", self.transformed)
        expect(self.name != "mistake" or refused, "a wrong parameter was accepted")
        if not refused and begin == model.fit:
            self.attempted("fit_transform", lambda: self.answered(model.fit_transform(X, y)))
        for step in ("pickled", "saved"):
            if self.rng.random() < 0.15:
                self.attempted(step, lambda step=step: getattr(self, step)())
        return "features"

    def transformed(self) -> None:
        self.answered(self.model.transform(self.table.new))

    def answered(self, Z: Any) -> None:
        names = self.model.get_feature_names_out()
        expect(Z.shape[1] == len(names), f"transform: {Z.shape[1]} columns, {len(names)} names")
        expect(Z.dtype == np.dtype(self.model.dtype), f"transform: {Z.dtype}")
        values = Z.data if sparse.issparse(Z) else Z
        expect(np.isfinite(values).all(), "transform: not finite")
        self.answers.append(values)


WELL_SCALED = ("normal,", "integers,", "duplicated,", "few", "rare,", "positive,", "one")
STORES = (np.array, sparse.csr_array, sparse.csc_matrix, pd.DataFrame, np.asfortranarray)
#: Parameters that may be set after a fit.
LATER: dict[str, tuple] = {
    "alpha": ALPHAS,
    "bound": (None, 1.0),
    "clip": (None, 3.0),
    "solver": ("auto", "auto", "eigen", "cholesky", "qr"),
    "dtype": ("float32", "float64"),
    "fit_intercept": (True, False),
    "memory_limit": (None, "1MB"),
    "n_jobs": (1, 2),
}
CHANGES = {
    "more": 0.08,
    "forget": 0.15,
    "merge": 0.08,
    "with_others": 0.06,
    "refit": 0.05,
    "stored_otherwise": 0.25,
    "pickled": 0.07,
    "copied": 0.05,
    "saved": 0.07,
}
QUESTIONS = {
    "alone": 0.1,
    "attributes": 0.15,
    "containers": 0.1,
    "functions": 0.07,
    "leave_one_out": 0.1,
    "plan_for": 0.05,
    "score": 0.1,
}
OF_NUMBERS = {"std": 0.12, "interval": 0.12}
OF_CLASSES = {"decision_function": 0.12}
