"""The smallest number of functions, and of rows, for which each bound promises a wanted error."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..text import count, table
from . import bsw, rhss, rks, ua
from .conditions import quietly, require_chance, require_positive, smallest


@dataclass(frozen=True)
class Answer:
    """What one bound asks for.

    Attributes
    ----------
    bound : str
        Which result of which document.
    about : str
        What its error is.
    k : float or None
        Functions; None where they do not enter, or where something is missing.
    m : float or None
        Rows; None where they do not enter.
    remark : str
        What it rests on, or what is missing.
    """

    bound: str
    about: str
    k: float | None
    m: float | None
    remark: str


@dataclass(frozen=True)
class HowMany:
    """An answer for every bound; its ``repr`` is a table."""

    error: float
    delta: float
    answers: tuple[Answer, ...]

    def __getitem__(self, bound: str) -> Answer:
        known = {answer.bound: answer for answer in self.answers}
        if bound not in known:
            raise KeyError(f"{bound!r} is none of {', '.join(known)}.")
        return known[bound]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __repr__(self) -> str:
        rows = [
            (
                answer.bound,
                answer.about,
                "-" if answer.k is None else count(answer.k),
                "-" if answer.m is None else count(answer.m),
                answer.remark,
            )
            for answer in self.answers
        ]
        wanted = f"an error of {self.error:g}, δ = {self.delta:g}"
        title = f"How many functions (k) and rows (m) for {wanted}"
        return f"{title}\n\n{table(('bound', 'error', 'k', 'm', 'remark'), rows)}\n\n{ADVICE}"


ADVICE = (
    "These are guarantees for the worst case: what is observed is usually smaller, by factors that "
    'docs/how_many.md shows. n_components="auto" asks the data instead.'
)


def how_many(
    error: float,
    delta: float = 0.05,
    *,
    norm: float = 1.0,
    sup: float = 1.0,
    lipschitz: float | None = None,
    second_moment: float | None = None,
    radius: float | None = None,
    at_zero: float = 0.0,
    loss: str = "hinge",
    C: float = 1.0,
    rows: int | None = None,
    c: float = 1.0,
    rkhs_norm: float = 1.0,
    sup_square: float | None = None,
    bound: float | None = None,
) -> HowMany:
    """Smallest k (and m) for which each bound promises ``error`` with probability 1 - ``delta``.

    Parameters
    ----------
    error : float
        The error that is wanted: of f̂ in the norm that a bound is about, of the risk for RKS, a
        share of the mean square of y for RHSS.
    delta : float, default=0.05
        δ. Bounds that hold in expectation do not use it.
    norm : float, default=1.0
        ‖f‖_p of the target: 1 makes ``error`` a share of it.
    sup : float, default=1.0
        sup|φ|, ``family.bounded``.
    lipschitz, second_moment, radius, at_zero : float
        L of φ/sup|φ|, E θ'θ, B = sup‖x‖ and φ(0), for UA Theorem 3.2;
        ``rs.theory.constants(family, X).arguments`` has them.
    loss : str, default="hinge"
        Of the classifier (RKS): "hinge", "squared", "squared_hinge", "exponential", "logistic".
    C : float, default=1.0
        |f| ≤ C, the ``bound`` of a classifier times sup|φ|.
    rows : int, optional
        Rows there are: n of RHSS; m of RKS Theorem 1, which otherwise gives half of the error to k
        and half to m.
    c : float, default=1.0
        The constant of RHSS's covering number, for which nobody has given a number.
    rkhs_norm : float, default=1.0
        ‖f‖_K of the target, for BSW.
    sup_square : float, optional
        sup‖φ‖² of Gaussian objects, for BSW.
    bound : float, optional
        L ≥ |f|, for BSW Theorem 8.

    Returns
    -------
    HowMany
        Its ``repr`` is a table; ``found["UA Theorem 3.1"].k`` is a number.

    Examples
    --------
    >>> import randspan as rs
    >>> rs.theory.how_many(0.05)["UA Theorem 3.1"].k
    4755
    """
    require_positive(error=error, norm=norm, sup=sup, C=C, c=c, rkhs_norm=rkhs_norm)
    require_chance(delta=delta)
    at = {"lipschitz": lipschitz, "radius": radius, "second_moment": second_moment}
    answers = (
        *_mixtures(error, delta, norm * sup, at, at_zero),
        *_classifiers(error, delta, loss, C, rows),
        *_subspaces(error, delta, rows, c),
        *_gaussian_objects(error, rkhs_norm, sup_square, bound),
    )
    return HowMany(float(error), float(delta), answers)


def _mixtures(
    error: float, delta: float, norm: float, at: dict[str, float | None], at_zero: float
) -> list[Answer]:
    k = smallest(lambda k: ua.theorem_3_1(norm, k, delta), error)
    known = f"sup|φ|·‖f‖_p = {norm:g}"
    found = [Answer("UA Theorem 3.1", "L2 norm of f̂ - f", k, None, known)]
    name, about = "UA Theorem 3.2", "largest |f̂ - f|"
    missing = _missing(at)
    if missing:
        return [*found, Answer(name, about, None, None, missing)]

    def bound(k: int) -> float:
        return ua.theorem_3_2(norm, k, delta, at_zero=at_zero, **at)  # type: ignore[arg-type]

    try:
        answer = Answer(name, about, smallest(bound, error), None, f"{known}, {_listed(at)}")
    except ValueError as reason:
        answer = Answer(name, about, None, None, str(reason))
    return [*found, answer]


def _classifiers(error: float, delta: float, loss: str, C: float, rows: int | None) -> list[Answer]:
    L, at_zero = rks.loss_constants(loss, C)

    def drawn(k: int, delta: float) -> float:
        return rks.lemma_2(L, C, k, delta)

    def seen(m: int, delta: float) -> float:
        return rks.lemma_3(L, C, at_zero, m, delta)

    k = smallest(lambda k: drawn(k, delta), error)
    m = smallest(lambda m: seen(m, delta), error)
    known = f"{loss}: L = {L:g}, C = {C:g}"
    found = [
        Answer("RKS Lemma 2", "risk above the best mixture's", k, None, known),
        Answer("RKS Lemma 3", "risk above the empirical risk", None, m, known),
    ]
    known += "; a box, no ridge, no intercept"
    share = error / 2
    if rows is None:
        m = smallest(lambda m: 2 * seen(m, delta / 2), error / 2)
        known += "; half of the error each"
    else:
        with quietly():
            share, m = error - 2 * seen(rows, delta / 2), rows
    if share <= 0:
        answer = Answer("RKS Theorem 1", "excess risk", None, None, f"{m:,} rows are too few")
    else:
        k = smallest(lambda k: drawn(k, delta / 2), share)
        answer = Answer("RKS Theorem 1", "excess risk", k, m, known)
    return [*found, answer]


def _subspaces(error: float, delta: float, rows: int | None, c: float) -> list[Answer]:
    names, about = ("RHSS Corollary 4.7", "RHSS exact law"), "share of ‖y‖² that is left"
    if rows is None or rows < 3:
        return [Answer(name, about, None, None, "needs rows (3 at least)") for name in names]
    radius = float(np.sqrt(rows))  # so that errors are shares

    def exact(k: int) -> float:
        return rhss.exact_quantile(k, rows, radius, delta) if k < rows else 0.0

    k = smallest(lambda k: rhss.corollary_4_7(k, rows, delta, radius, c), error)
    known = f"n = {rows:,}, c = {c:g}: the best line of k alone"
    if k > rows:
        known += "; k = n interpolates"
    return [
        Answer(names[0], about, k, None, known),
        Answer(names[1], about, smallest(exact, error), None, f"n = {rows:,}, uniform subspaces"),
    ]


def _gaussian_objects(
    error: float, norm: float, sup_square: float | None, bound: float | None
) -> list[Answer]:
    about, known = "root mean squared error", f"in expectation; ‖f‖_K = {norm:g}"
    found = []
    for name, needed in (
        ("BSW Lemma 7", {"sup_square": sup_square}),
        ("BSW Theorem 8", {"sup_square": sup_square, "bound": bound}),
    ):
        missing = _missing(needed)
        if missing:
            found.append(Answer(name, about, None, None, missing))
            continue
        if bound is None or name == "BSW Lemma 7":
            k = smallest(lambda P: bsw.lemma_7(norm, sup_square, P), error**2)
        else:
            k = smallest(lambda P: bsw.theorem_8(norm, sup_square, P, bound), error**2, first=62)
        found.append(Answer(name, about, k, None, f"{known}, {_listed(needed)}"))
    return found


def _missing(needed: dict[str, float | None]) -> str:
    names = [name for name, value in needed.items() if value is None]
    return f"needs {', '.join(names)}" if names else ""


def _listed(values: dict[str, float | None]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items())
