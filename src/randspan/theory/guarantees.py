"""What the inequalities mean for a family or a fitted model: constants, norms, certificates.

The one file of the theory that knows families and models; what it reads from them goes into the
other files as plain numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..checks import check_n_components, check_number
from ..estimators import SpanClassifier, SpanRegressor
from ..families import Family, as_family
from ..families.shared.randomness import seed_from
from ..families.shared.rows import Rows, as_rows
from ..families.shared.sample import Sample
from ..losses import Loss
from ..text import table
from . import certificate, rks, ua
from .certificate import Certificate, Interval
from .conditions import quietly
from .intervals import clopper_pearson, empirical_bernstein

# Independent draws by which `kernel_error` predicts, and the share of k that they have.
PILOTS, SHARE = 4, 4
# Rows whose functions are evaluated at once.
ROWS = 2048


# -- families --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constants:
    """The numbers of a family that bounds ask for.

    Attributes
    ----------
    sup : float
        sup|φ|, infinite where there is none.
    sup_square : float
        sup_x k(x, x) (of Gaussian objects sup‖φ(x)‖²), or a bound of it.
    radius : float
        B = sup‖x‖ of the rows, as functions see them; of (x, 1) where functions have a phase.
    lipschitz, at_zero, second_moment : float or None
        L and φ(0) of φ/sup|φ| as a function of θ'x, and E θ'θ; None where functions are not
        functions of one projection.
    remark : str
        Why not.
    """

    sup: float
    sup_square: float
    radius: float
    lipschitz: float | None = None
    at_zero: float | None = None
    second_moment: float | None = None
    remark: str = ""

    @property
    def arguments(self) -> dict[str, float]:
        """Those that `how_many` takes."""
        found = {name: value for name, value in asdict(self).items() if name != "remark"}
        if np.isfinite(self.sup):  # sup‖φ‖² is asked of Gaussian objects, which are not bounded
            found.pop("sup_square")
        return {name: v for name, v in found.items() if v is not None and np.isfinite(v)}


def constants(family: Family | str, X: ArrayLike) -> Constants:
    """sup|φ|, sup k(x, x), and L, φ(0), E θ'θ and B of UA Theorem 3.2, as the family knows them.

    Parameters
    ----------
    family : Family or str
        What it leaves open ("median", ranges) is read from X.
    X : array, sparse matrix or data frame
        Rows as functions see them: standardised, if a model standardises.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> found = rs.theory.constants(rs.Fourier(gamma=0.5), np.array([[0.6, 0.8]]))
    >>> round(found.second_moment, 4)  # 2γd + π²/3
    5.2899
    """
    rows = as_rows(X)
    law = _resolved(family, rows)
    longest = float(np.sqrt(np.max(_squared_lengths(rows.exact), initial=0.0)))
    d = rows.shape[1]
    found = Constants(float(law.bounded), float(law.sup_square(d)), longest)
    try:
        profile = law.profile(d)
    except ValueError as reason:
        return replace(found, remark=str(reason))
    radius = float(np.hypot(longest, 1.0)) if profile.extended else longest
    return replace(
        found,
        radius=radius,
        lipschitz=profile.lipschitz,
        at_zero=profile.at_zero,
        second_moment=profile.second_moment,
    )


def mixture_norm(family: Family, points: ArrayLike, coefficients: ArrayLike) -> float:
    """‖f‖_p of f = Σ_t a_t k(·, x_t), from above: sup|φ| Σ_t |a_t|.

    Parameters
    ----------
    family : Family
    points : array of shape (n_points, n_features)
        x_t.
    coefficients : array of shape (n_points,)
        a.
    """
    a = np.asarray(coefficients, dtype=np.float64)
    if a.shape != (len(as_rows(points)),):
        raise ValueError(f"coefficients must be one number for every point, got shape {a.shape}.")
    return ua.expansion_mixture_norm(a, family.bounded)


@dataclass(frozen=True)
class KernelError:
    """How far the kernel of k drawn functions is from the exact one, for some k.

    Attributes
    ----------
    k : tuple of int
    spectral, largest : tuple of float
        ‖K̂ - K‖ and max |K̂ - K|.
    spectral_predicted, largest_predicted : tuple of float
        c/√k with c from independent draws.
    """

    k: tuple[int, ...]
    spectral: tuple[float, ...]
    largest: tuple[float, ...]
    spectral_predicted: tuple[float, ...]
    largest_predicted: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        columns = (self.spectral, self.spectral_predicted, self.largest, self.largest_predicted)
        numbers = zip(self.k, *columns, strict=True)
        rows = [(str(k), *(f"{value:.4g}" for value in values)) for k, *values in numbers]
        return table(("k", "‖K̂ - K‖", "c/√k", "max |K̂ - K|", "c/√k"), rows)


def kernel_error(
    family: Family, X: ArrayLike, k: int | Sequence[int], random_state: int = 0
) -> KernelError:
    """‖K̂ - K‖ and max |K̂ - K|, K̂ = (1/k) Σ_i φ_i(x) φ_i(y), beside what 1/√k predicts.

    The prediction is the mean error of four independent draws of k/4 functions, halved. Errors of
    independent functions follow it; those of "orthogonal" and "qmc" frequencies may fall faster.

    Parameters
    ----------
    family : Family
        With a kernel in closed form.
    X : array, sparse matrix or data frame
        Some hundred rows are enough; K is n × n.
    k : int or sequence of int
        Functions.
    random_state : int, default=0

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> found = rs.theory.kernel_error(rs.Fourier(), X, 1000)
    >>> found.largest[0] < 0.2
    True
    """
    counts = tuple(int(one) for one in np.atleast_1d(np.asarray(k)))
    for count in counts:
        check_n_components(count)
    rows = as_rows(X)
    law = _resolved(family, rows)  # once, so that all draws have the bandwidth of the kernel
    exact = law.closed_form(rows, rows)

    def errors(count: int, seed: int) -> tuple[float, float]:
        drawn = law.drawn(rows.shape[1], count, seed_from(seed))
        Z = drawn.seeing(rows).values(rows).astype(np.float64)
        products = Z @ Z.T
        dense = products.toarray() if sparse.issparse(products) else products
        apart = dense / count - exact
        return float(np.linalg.norm(apart, 2)), float(np.abs(apart).max())

    found, predicted = [], []
    for count in counts:
        few = max(count // SHARE, 1)
        pilots = [errors(few, random_state + 1 + i) for i in range(PILOTS)]
        predicted.append(np.mean(pilots, axis=0) * np.sqrt(few / count))
        found.append(errors(count, random_state))
    seen = zip(*found, strict=True)
    expected = np.array(predicted).T
    spectral, largest = (tuple(column) for column in seen)
    return KernelError(
        counts, spectral, largest, *(tuple(float(v) for v in row) for row in expected)
    )


# -- fitted models ---------------------------------------------------------------------------------


def rkhs_norm(model: SpanRegressor | SpanClassifier) -> float | NDArray[np.float64]:
    """‖f‖ of a fitted function without its intercept, in the space that its ridge speaks of.

    √k‖w‖ for drawn functions (the RKHS of the kernel that they make), √(w'Kw) for an exact kernel
    machine, and for Gaussian objects the length of the coefficients on their basis, ‖A'w‖: of
    scrambled wavelets a Sobolev norm.

    Parameters
    ----------
    model : SpanRegressor or SpanClassifier
        Fitted.

    Returns
    -------
    float, or ndarray with a number for every target
    """
    check_is_fitted(model)
    weights = np.atleast_2d(model.weights_)
    found = np.array([model.functions_.rkhs_norm(own) for own in weights])
    return float(found[0]) if len(found) == 1 else found


def complexity(
    model: SpanRegressor | SpanClassifier, X: ArrayLike, n_signs: int = 100, random_state: int = 0
) -> tuple[float, float]:
    """The empirical Rademacher complexity of {Σ w_i φ_i : |w_i| ≤ C/k}, C = k‖w‖_∞ of the fit.

    (C/k) Σ_i |(1/m) Σ_j σ_j φ_i(x_j)|, averaged over random signs σ; for bins a sum over cells. The
    intercept is left out.

    Parameters
    ----------
    model : SpanRegressor or SpanClassifier
        Fitted, with functions that are bounded.
    X : array, sparse matrix or data frame
        Rows, as they are handed to `predict`.
    n_signs : int, default=100
    random_state : int, default=0

    Returns
    -------
    estimate, standard error : float
    """
    _refuse_unbounded(model)
    _refuse_machine(model)
    functions, rows = model.functions_, as_rows(X)
    signs = rks.random_signs(len(rows), n_signs, random_state)
    sums: Any = 0.0
    for start in range(0, len(rows), ROWS):
        some = slice(start, start + ROWS)
        sums = sums + functions(rows.values[some]).T @ signs[some]
    k, weights = functions.n_components, float(np.abs(model.weights_).max())
    return rks.of_signed_sums(sums, k * weights, k, len(rows))


def certify(
    model: SpanRegressor | SpanClassifier,
    X: ArrayLike,
    y: ArrayLike,
    delta: float = 0.05,
    *,
    held_out: tuple[ArrayLike, ArrayLike] | None = None,
    cells: bool = False,
    sup: float | None = None,
) -> Certificate:
    """What is guaranteed of the risk of a fitted model, with probability 1 - δ, term by term.

    A classifier of two classes: RKS Lemma 3, R[f] ≤ R_emp[f] + 4LC/√m + 2c(0)/√m +
    2LC√(log(1/δ)/2m), for the loss it was fitted with (L on the range of f). C is read from the
    fit, so that the bound is that of a union over C_j = 2^j with δ_j = δ/(j(j+1)). A minimiser
    without ridge and intercept in a box fixed beforehand also has RKS Theorem 1. A regressor with
    the squared loss: RHSS Theorem 4.9, the same union, for predictions that are clipped.

    These bounds hold for every function of the class at once, and are far above what is seen; a
    user acts on the interval from ``held_out`` rows.

    Parameters
    ----------
    model : SpanClassifier or SpanRegressor
        Fitted, with a family of bounded functions.
    X, y : array, sparse matrix or data frame; array
        The rows the model was fitted on.
    delta : float, default=0.05
    held_out : (X, y), optional
        Rows that the model has not seen: the risk measured on them, with an interval (Clopper and
        Pearson for the share of wrong classes, empirical Bernstein for mean losses).
    cells : bool, default=False
        Whether bins, whose class has not the complexity C/√m, are certified by that of their cells.
    sup : float, optional
        sup|φ| of functions of one's own (`Hypotheses`) that were drawn without a look at these
        rows. Both are your word: what X shows of it is checked.

    Returns
    -------
    Certificate
        Its ``repr`` is a table of all terms; ``as_dict()`` has the same as plain data.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> y = X[:, 0] > 0
    >>> model = rs.SpanClassifier(rs.Stumps(), 50, loss="hinge", bound=2.0, random_state=0)
    >>> found = rs.theory.certify(model.fit(X, y), X, y)
    >>> found.bound > found.terms["empirical risk"]
    True
    """
    check_is_fitted(model)
    family, functions = model.frame_.family, model.functions_
    _refuse_machine(model)
    if family.trains and sup is None:
        raise ValueError(
            f"Functions of {family!r} were trained on these rows: bounds are for functions drawn "
            "independently of them. Hold out rows, and trust their interval; or give sup= if "
            "yours were drawn without a look at any row."
        )
    if sup is None:
        _refuse_unbounded(model)
    bounded = family.bounded if sup is None else _vouched(sup, functions, X)
    if family.sparse and not cells:
        raise ValueError(
            f"The class of {family!r} has not the complexity C/√m: one grid with every row in a "
            "cell of its own fits anything. cells=True certifies it by the complexity of its cells."
        )
    weights = np.atleast_2d(model.weights_)
    if len(weights) > 1:
        several = isinstance(model, SpanClassifier)
        wanted = "two classes" if several else "one target"
        raise ValueError(f"These bounds are for {wanted}; the model has {len(weights)} columns.")
    largest = functions.n_components * float(np.abs(weights).max(initial=0.0))
    C = bounded * largest + float(np.abs(model.intercept_).max())
    cellwise = _cellwise(functions, X) if family.sparse else None
    known = {"functions": functions.n_components, "cellwise": cellwise}
    rows = _Rows.of(model, X, y)
    new = None if held_out is None else _Rows.of(model, *held_out)
    of_kind = _of_classifier if isinstance(model, SpanClassifier) else _of_regressor
    found = of_kind(model, rows, new, delta, C, known)
    return found if sup is None else replace(found, remarks=(_WORD.format(sup), *found.remarks))


_WORD = "That |φ| ≤ {:g}, and that functions were drawn without a look at these rows, is your word."


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows and targets as a fit would take them: numbers, or ±1 for two classes."""

    X: Any
    targets: NDArray[np.float64]

    @classmethod
    def of(cls, model, X, y) -> _Rows:
        X, y = model._validate(X, y, first=False, min_rows=1)
        return cls(X, model._source(X, y, None).targets()[:, 0])

    def __len__(self) -> int:
        return len(self.targets)


def _of_classifier(
    model, rows: _Rows, new: _Rows | None, delta: float, C: float, known: dict[str, Any]
) -> Certificate:
    loss: Loss = model._model.task.loss
    both = np.array([-1.0, 1.0])

    def constants_of(C: float) -> tuple[float, float]:
        # A convex loss is steepest at an end.
        L = loss.lipschitz
        if not np.isfinite(L):
            L = max(float(np.abs(loss.slope(np.array([C * s]), np.ones(1)))[0]) for s in both)
        return L, float(loss.value(np.zeros(1), np.ones(1))[0])

    def losses(some: _Rows) -> NDArray[np.float64]:
        return loss.value(model.decision_function(some.X), some.targets)

    excess, why = _theorem_1(model, constants_of, len(rows), delta)
    remarks = [*_fixed_in_advance(model), *why]
    measured: list[Interval] = []
    if new is not None:
        said = np.where(model.predict(new.X) == model.classes_[1], 1.0, -1.0)
        wrong, m = int((said != new.targets).sum()), len(new)
        between = clopper_pearson(wrong, m, delta)
        name = "share of wrong classes"
        measured.append(Interval(name, wrong / m, *between, "Clopper-Pearson", m))
        ends = loss.value(C * both, np.ones(2))
        width = float(max(ends) - min(0.0, *ends))
        measured += _bernstein(f"{loss.name} risk", losses(new), width, delta)
    empirical = float(losses(rows).mean())
    known |= {"risk": f"{loss.name} risk", "excess": excess}
    known |= {"remarks": tuple(remarks), "held_out": tuple(measured)}
    return certificate.of_classifier(empirical, C, constants_of, len(rows), delta, **known)


def _of_regressor(
    model, rows: _Rows, new: _Rows | None, delta: float, C: float, known: dict[str, Any]
) -> Certificate:
    if not model._model.task.loss.squared:
        raise ValueError(
            f"RHSS Theorem 4.9 is about the squared loss, the model has {model.loss!r}: measure "
            "its risk on held-out rows (rs.theory.empirical_bernstein)."
        )
    if model.clip is None:
        raise ValueError(
            "RHSS Theorem 4.9 needs predictions within a range: clip='auto' or a number."
        )
    lower, upper = (float(side[0]) for side in model._clipped(np.array([[-np.inf], [np.inf]])))
    T, truth = max(abs(lower), abs(upper)), rows.targets
    if np.abs(truth).max() > T or T == 0:
        raise ValueError(
            f"clip={model.clip!r} is smaller than the largest |y|, {np.abs(truth).max():g}, or 0: "
            "Theorem 4.9 needs |y| ≤ T and |f| ≤ T."
        )
    remarks = _fixed_in_advance(model)
    remarks.append(f"y within [{lower:g}, {upper:g}] is assumed of new rows too.")
    if isinstance(model.clip, str):
        remarks.append("That range was read from the same targets; strictly, give clip a number.")
    measured: list[Interval] = []
    if new is not None:
        beyond = int(((new.targets < lower) | (new.targets > upper)).sum())
        if beyond:
            remarks.append(f"It fails: {beyond} of {len(new)} held-out rows are outside of it.")
        else:
            squares = (model.predict(new.X) - new.targets) ** 2
            measured = _bernstein("mean squared error", squares, (upper - lower) ** 2, delta)
    squares = (model.predict(rows.X) - truth) ** 2
    known |= {"risk": "mean squared error", "remarks": tuple(remarks), "held_out": tuple(measured)}
    empirical, trivial = float(squares.mean()), float(truth.var())
    return certificate.of_regressor(empirical, C, T, len(rows), delta, trivial, **known)


def _theorem_1(model, constants_of, rows: int, delta: float) -> tuple[float | None, list[str]]:
    """RKS Theorem 1 where it applies, and why it does not."""
    task, family = model._model.task, model.frame_.family
    weights = getattr(model, "class_weight_", None)
    reasons = {
        "no box was fixed beforehand (bound=)": task.bound is None,
        "the fit has a ridge (alpha=0)": model.alpha_ > 0,
        "the intercept is in no box (fit_intercept=False)": task.intercept,
        "classes have weights": weights is not None and bool(np.ptp(np.asarray(weights)) > 0),
        "predictions are clipped (clip=None)": model.clip is not None,
        "cells have another complexity": family.sparse,
        "functions were not drawn independently": not family.independent,
        "the solver stopped short": not model.solution_.converged,
    }
    found = [reason for reason, holds in reasons.items() if holds]
    if found:
        return None, [f"RKS Theorem 1 does not apply: {'; '.join(found)}."]
    C = family.bounded * float(task.bound)
    L, at_zero = constants_of(C)
    k = model.functions_.n_components
    with quietly():
        excess = rks.theorem_1(L, C, at_zero, rows, k, delta / 2)
    return excess, ["RKS Theorem 1 is for a fit of all of these rows, and no others, unweighted."]


def _fixed_in_advance(model) -> list[str]:
    """What the draw was told by the rows themselves."""
    if model.frame is not None:
        return ["The frame was handed in: functions were fixed in advance if other rows made it."]
    frame, family = model.frame_, model.frame_.family
    read = {
        "centre and scale of the columns": frame.centre is not None or frame.bend is not None,
        "learned scales, which have seen the targets": frame.importances is not None,
        "levels and statistics of columns": frame.columns is not None,
        "a median γ": _reads_gamma(family),
        "ranges or centres": _reads_rows(family),
        "the number of functions": isinstance(model.n_components, str),
    }
    found = [what for what, holds in read.items() if holds]
    if not found:
        return []
    return [
        f"The draw was not fixed in advance: {', '.join(found)} were read from the same rows. "
        "Strictly the bound is for a frame read from other rows (frame=rs.Frame.read(...)); a few "
        "numbers read from many rows hardly move it, learned scales and centres may."
    ]


def _reads_gamma(family: Family) -> bool:
    parts = getattr(family, "parts", [])
    return any(map(_reads_gamma, parts)) if parts else family.gamma_is_open


def _reads_rows(family: Family) -> bool:
    """Whether a family takes ranges or points from rows."""
    if any(_reads_rows(part) for part in getattr(family, "parts", [])):
        return True
    params = family.get_params(deep=False)
    ranged = params.get("interval", 0) is None and params.get("threshold") != "normal"
    return ranged or params.get("centers") == "data" or "anchors" in params


def _resolved(family: Family | str, rows: Rows) -> Family:
    """A family that has read what it leaves open."""
    return as_family(family).resolve(Sample.of(rows, 0, len(rows)), len(rows), 0)


def _refuse_machine(model) -> None:
    check_is_fitted(model)
    if model.n_components_ == np.inf:
        raise ValueError(
            "An exact kernel machine has no box of weights, which the bounds are about: give "
            "n_components a number."
        )


def _refuse_unbounded(model) -> None:
    check_is_fitted(model)
    family = model.frame_.family
    if not np.isfinite(family.bounded):
        raise ValueError(
            f"Functions of {family!r} are not bounded, and every bound here rests on sup|φ|: use a "
            "bounded family (Fourier, Stumps, sigmoid units, Bumps, Bins)."
        )


def _vouched(sup: float, functions, X) -> float:
    """A sup|φ| that somebody gave, if these rows do not contradict it."""
    sup = check_number("sup", sup, at_least=0)
    rows = as_rows(X)
    for start in range(0, len(rows), ROWS):
        values = functions(rows.values[start : start + ROWS])
        largest = float(abs(values).max()) if values.size else 0.0
        if largest > sup * (1 + 1e-5):  # features are computed in float32
            raise ValueError(
                f"A function has the value ±{largest:g} on these rows, beyond {sup=:g}."
            )
    return sup


def _cellwise(functions, X) -> float:
    """The complexity of the class with C = 1: (1/P) Σ_cells √n_c/m, and 1/√m for dense functions.

    C contains sup|φ|, by which the weights of cells are smaller.
    """
    values = sparse.csc_array(functions(X))
    dense = functions.n_columns - sum(part.n_columns for part in functions.cell_parts)
    m, P = values.shape[0], functions.n_components
    counts = np.diff(values.indptr)[dense:]
    # Rows in no known cell are each in a cell of their own, at worst.
    unknown = m * sum(part.n_components for part in functions.cell_parts) - counts.sum()
    cells = (np.sqrt(counts).sum() + unknown) / (P * m * functions.family.bounded)
    return float(max(cells + dense / P / np.sqrt(m), 1 / np.sqrt(m)))


def _bernstein(risk: str, losses: NDArray, width: float, delta: float) -> list[Interval]:
    """An interval, of two rows or more."""
    if len(losses) < 2:
        return []
    lower, upper = empirical_bernstein(losses, width, delta)
    found = ("empirical Bernstein", len(losses))
    return [Interval(risk, float(losses.mean()), max(lower, 0.0), upper, *found)]


def _squared_lengths(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.multiply(X).sum(axis=1) if sparse.issparse(X) else (X**2).sum(axis=1))
