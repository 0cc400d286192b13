"""A certificate: a bound on the risk with every term of it, beside what held-out rows say.

C, the size of a fitted class, is read from the fit. A bound that holds for one C fixed beforehand
holds for all C_j = 2^j at once with δ_j = δ/(j(j + 1)), since these sum to δ: the smallest C_j ≥ C
is the one that is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from math import ceil, log2
from typing import Any

import numpy as np

from ..text import table
from . import rhss, rks
from .conditions import log_inverse, quietly, require_chance


@dataclass(frozen=True)
class Interval:
    """A risk on rows that the model has not seen.

    Attributes
    ----------
    risk : str
        Which: the share of wrong classes, or the mean of a loss.
    value : float
    lower, upper : float
    method : str
    rows : int
    """

    risk: str
    value: float
    lower: float
    upper: float
    method: str
    rows: int


@dataclass(frozen=True)
class Certificate:
    """With probability 1 - δ the risk is at most ``bound``, the sum of ``terms``.

    The bound, the excess and every interval have this probability each, not all together.

    Attributes
    ----------
    result : str
        The theorem.
    risk : str
        The risk it is about.
    rows, functions : int
        m and k.
    delta : float
        δ.
    C, C_j : float
        sup|φ|·k‖w‖_∞ + |b| of the fit, and the power of two above it.
    delta_j : float
        The share of δ that the bound for C_j has.
    constants : dict
        What else enters: the loss's L and c(0), or T.
    terms : dict
        The summands; the first is the empirical risk.
    bound : float
    trivial : float
        The risk of predicting nothing: a bound above it says nothing.
    excess : float or None
        RKS Theorem 1: R[f̂] - min R, with probability 1 - δ; None where it does not apply.
    remarks : tuple of str
        What the bound rests on, and why Theorem 1 does not apply.
    held_out : tuple of Interval
        What rows say that the model has not seen, each with probability 1 - δ.
    """

    result: str
    risk: str
    rows: int
    functions: int
    delta: float
    C: float
    C_j: float
    delta_j: float
    constants: dict[str, float]
    terms: dict[str, float]
    bound: float
    trivial: float
    excess: float | None = None
    remarks: tuple[str, ...] = ()
    held_out: tuple[Interval, ...] = field(default=())

    @property
    def vacuous(self) -> bool:
        """Whether the bound is above the risk of predicting nothing."""
        return self.bound >= self.trivial

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"vacuous": self.vacuous}

    def __repr__(self) -> str:
        said = [
            ("rows m", f"{self.rows:,}"),
            ("functions k", f"{self.functions:,}"),
            ("C = sup|φ|·k‖w‖_∞ + |b|", f"{self.C:.4g}"),
            ("C_j = 2^j above it", f"{self.C_j:g}"),
            ("δ_j = δ/(j(j + 1))", f"{self.delta_j:.4g}"),
            *((name, f"{value:.4g}") for name, value in self.constants.items()),
            *((name, f"{value:.4g}") for name, value in self.terms.items()),
            (f"bound of the {self.risk}", f"{self.bound:.4g}"),
        ]
        lines = [
            f"{self.result}, with probability {1 - self.delta:g}:",
            "",
            table(("term", "value"), said),
            "",
        ]
        if self.vacuous:
            lines.append(
                f"The bound is vacuous: predicting nothing has {self.risk} {self.trivial:.4g}."
            )
        if self.excess is not None:
            lines.append(
                f"RKS Theorem 1, with the same probability: at most {self.excess:.4g} above the "
                "least risk of mixtures in the box."
            )
        lines += [f"* {remark}" for remark in self.remarks]
        if self.held_out:
            lines += ["", "Measured on rows that the model has not seen:", ""]
            rows = [
                (
                    one.risk,
                    f"{one.value:.4g}",
                    f"{one.lower:.4g}",
                    f"{one.upper:.4g}",
                    one.method,
                )
                for one in self.held_out
            ]
            lines.append(table(("risk", "value", "from", "to", "interval"), rows))
        return "\n".join(lines)


def in_union(C: float, delta: float) -> tuple[float, float]:
    """The smallest C_j = 2^j ≥ C, j ≥ 1, and δ_j = δ/(j(j + 1)).

    Parameters
    ----------
    C, delta : float
    """
    require_chance(delta=delta)
    j = max(1, ceil(log2(C))) if C > 0 else 1
    return 2.0**j, delta / (j * (j + 1))


def of_classifier(
    empirical: float,
    C: float,
    constants: Callable[[float], tuple[float, float]],
    rows: int,
    delta: float,
    cellwise: float | None = None,
    **known: Any,
) -> Certificate:
    """RKS Lemma 3 for all C_j: R[f] ≤ R_emp[f] + 4L·R_m + 2c(0)/√m + 2LC√(log(1/δ_j)/2m).

    Parameters
    ----------
    empirical : float
        R_emp, the mean loss of the rows.
    C : float
        Of the fit.
    constants : callable
        From C to L on [-C, C] and c(0).
    rows : int
        m.
    delta : float
    cellwise : float, optional
        The empirical complexity of the class with C = 1 where functions are indicators of cells; it
        is read from the rows, so that half of δ_j goes to its own deviation.
    known
        Other fields of the certificate.
    """
    union = _Union.of(C, delta, rows, cellwise)
    L, at_zero = constants(union.C)
    with quietly():
        zero = rks.theorem_2(0.0, L, 0.0, at_zero, rows, union.share)
        deviation = rks.theorem_2(0.0, L, union.C, 0.0, rows, union.share)
    terms = {"empirical risk": empirical, **union.complexity("4L", 4 * L)}
    terms |= {"2c(0)/√m": zero, "deviation, 2LC√(log(1/δ_j)/2m)": deviation}
    named = {"L of the loss on [-C_j, C_j]": L, "c(0)": at_zero}
    made: dict[str, Any] = {"result": "RKS Lemma 3", "C": C, "delta": delta, "constants": named}
    return union.certificate(terms, trivial=at_zero, **made, **known)


def of_regressor(
    empirical: float,
    C: float,
    T: float,
    rows: int,
    delta: float,
    trivial: float,
    cellwise: float | None = None,
    **known: Any,
) -> Certificate:
    """RHSS Theorem 4.9 for all C_j = Mk: er ≤ er_n + 8T·R_n(F) + T²√(8 log(1/δ_j)/n).

    Parameters
    ----------
    empirical : float
        er_n, the mean squared error of the rows.
    C : float
        Of the fit; R_n(F) ≤ C/√n.
    T : float
        |f| ≤ T and |y| ≤ T.
    rows : int
        n.
    delta : float
    trivial : float
        The mean squared error of the best constant.
    cellwise, known
        As in `of_classifier`.
    """
    union = _Union.of(C, delta, rows, cellwise)
    with quietly():
        deviation = rhss.theorem_4_9(0.0, T, 0.0, rows, union.share)
    terms = {"empirical risk": empirical, **union.complexity("8T", 8 * T)}
    terms["deviation, T²√(8 log(1/δ_j)/n)"] = deviation
    made: dict[str, Any] = {"result": "RHSS Theorem 4.9", "C": C, "delta": delta}
    made["constants"] = {"T, of |f| and |y|": T}
    return union.certificate(terms, trivial=trivial, **made, **known)


@dataclass(frozen=True)
class _Union:
    """The part of the union that is used: C_j, δ_j, and how much of it a deviation has.

    A complexity that is read from the rows has a deviation of its own, and half of δ_j.
    """

    C: float
    delta: float
    share: float
    rows: int
    cellwise: float | None

    @classmethod
    def of(cls, C: float, delta: float, rows: int, cellwise: float | None) -> _Union:
        C_j, delta_j = in_union(C, delta)
        return cls(C_j, delta_j, delta_j if cellwise is None else delta_j / 2, rows, cellwise)

    def complexity(self, name: str, factor: float) -> dict[str, float]:
        """``factor`` times the complexity of the class."""
        if self.cellwise is None:
            return {f"complexity, {name}C/√m": factor * rks.rademacher(self.C, self.rows)}
        # One row more or less changes it by 2C/m at most.
        deviation = 2 * self.C * float(np.sqrt(log_inverse(self.share) / (2 * self.rows)))
        return {
            f"complexity of cells, {name}C Σ√n_c/(Pm)": factor * self.C * self.cellwise,
            f"its deviation, {name}C√(2 log(2/δ_j)/m)": factor * deviation,
        }

    def certificate(self, terms: dict[str, float], **known: Any) -> Certificate:
        at: dict[str, Any] = {"rows": self.rows, "C_j": self.C, "delta_j": self.delta}
        return Certificate(terms=terms, bound=sum(terms.values()), **at, **known)
