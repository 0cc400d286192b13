"""What the theory asks of functions that are one function of one projection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """φ(x)/sup|φ| as a function u ↦ g(u) of u = θ'x, or of u = θ'(x, 1) where there is a phase.

    Attributes
    ----------
    lipschitz : float
        The Lipschitz constant of g, infinite where there is none.
    at_zero : float
        g(0).
    second_moment : float
        E θ'θ, infinite where there is none.
    extended : bool
        Whether θ has a coordinate for the constant 1 beside those of x.
    """

    lipschitz: float
    at_zero: float
    second_moment: float
    extended: bool
