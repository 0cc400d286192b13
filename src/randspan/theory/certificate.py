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

from . import rhss, rks
from .conditions import log_inverse, quietly, require_chance
from .tables import table


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
    C_j, delta_j = in_union(C, delta)
    L, at_zero = constants(C_j)
    share = delta_j if cellwise is None else delta_j / 2
    with quietly():
        zero = rks.theorem_2(0.0, L, 0.0, at_zero, rows, share)
        deviation = rks.theorem_2(0.0, L, C_j, 0.0, rows, share)
    terms = {"empirical risk": empirical}
    if cellwise is None:
        terms["complexity, 4LC/√m"] = 4 * L * rks.rademacher(C_j, rows)
    else:
        terms["complexity of cells, 4LC Σ√n_c/(Pm)"] = 4 * L * C_j * cellwise
        # One row more or less changes it by 2C/m at most.
        terms["its deviation, 4LC√(2 log(2/δ_j)/m)"] = 2 * 4 * L * C_j * _root(share, rows)
    terms["2c(0)/√m"] = zero
    terms["deviation, 2LC√(log(1/δ_j)/2m)"] = deviation
    fields: dict[str, Any] = {
        "result": "RKS Lemma 3",
        "rows": rows,
        "delta": delta,
        "C": C,
        "C_j": C_j,
        "delta_j": delta_j,
        "constants": {"L of the loss on [-C_j, C_j]": L, "c(0)": at_zero},
        "terms": terms,
        "bound": sum(terms.values()),
        "trivial": at_zero,
    }
    return Certificate(**fields, **known)


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
    C_j, delta_j = in_union(C, delta)
    share = delta_j if cellwise is None else delta_j / 2
    with quietly():
        deviation = rhss.theorem_4_9(0.0, T, 0.0, rows, share)
    terms = {"empirical risk": empirical}
    if cellwise is None:
        terms["complexity, 8TC/√n"] = 8 * T * rks.rademacher(C_j, rows)
    else:
        terms["complexity of cells, 8TC Σ√n_c/(Pn)"] = 8 * T * C_j * cellwise
        terms["its deviation, 8TC√(2 log(2/δ_j)/n)"] = 2 * 8 * T * C_j * _root(share, rows)
    terms["deviation, T²√(8 log(1/δ_j)/n)"] = deviation
    fields: dict[str, Any] = {
        "result": "RHSS Theorem 4.9",
        "rows": rows,
        "delta": delta,
        "C": C,
        "C_j": C_j,
        "delta_j": delta_j,
        "constants": {"T, of |f| and |y|": T},
        "terms": terms,
        "bound": sum(terms.values()),
        "trivial": trivial,
    }
    return Certificate(**fields, **known)


def _root(delta: float, rows: int) -> float:
    """√(log(1/δ)/2m)."""
    return float((log_inverse(delta) / (2 * rows)) ** 0.5)
