"""Brownian sheets and integrated ones (Maillard and Munos 2010)."""

from __future__ import annotations

from functools import cache
from math import comb, factorial

import numpy as np
from numpy.polynomial import Legendre, Polynomial
from numpy.typing import NDArray

from ..checks import check_choice
from .shared.grids import GRIDS, Ladder, Rung
from .shared.multiresolution import TENSOR_PRODUCTS, Multiresolution

# Beyond this order a motion is 1e-18 of the polynomials beside it.
MOST_ORDER = 12


class BrownianSheets(Multiresolution):
    """φ(x) = Σ_i ξ_i Π_m Λ_{i,m}(x_m), ξ_i ~ N(0, 1): a Brownian sheet on the unit cube.

    Its covariance is Π_m (1 + min(x_m, y_m)), without the 1 if not ``constant``. A factor Λ_{i,m}
    is 1, x, or a hat 2^{-j/2} Λ(2^j x - l) with Λ(x) = min(x, 1 - x), for a scale j ≥ 0 and a place
    0 ≤ l < 2^j (Schauder's functions, which make the Brownian motion of one coordinate); the sum
    is over all products.

    Integrated q times the covariance is, per coordinate,
    Σ_{i≤q} (xy)^i/i!² + ∫ (x - u)₊^q (y - u)₊^q du/q!². The basis is that of integrated Alpert
    multiwavelets, which like the hats vanish outside their cell.

    Parameters
    ----------
    order : int, default=0
        q, how many times motions are integrated, at most 12: 1 is for functions with one more
        derivative. From 3 on next to all of a sheet are its polynomials.
    constant : bool, default=True
        Whether every coordinate has the constant, and the polynomials up to the order: without
        them functions vanish, with q derivatives, where a coordinate is 0.
    depth : "auto", int or np.inf, default="auto"
        How many scales of hats a coordinate has on the tensor grid, log₂(n)/d for n rows of d
        columns; on the sparse grid the largest sum of levels, at most log₂ n and less where a row
        would meet more than 4,096 products. ``np.inf`` is for the kernel alone. A stream has the
        depth for the rows that its frame was read from.
    grid : {"tensor", "sparse"}, default="tensor"
        All products of levels, or those whose levels sum to ``depth`` at most: the level of the
        constant is 0, of x 1, of the hats at scale j it is j + 2 (one less each without the
        constant). The tensor grid has (depth + 2)^d products in a row, and is for few columns:
        where depth="auto" would make more than 16,384 of them, the grid is sparse. From 90 columns
        on its default depth is 1, which is a linear function: give a larger one, at a price.
    interval : (a, b) or None, default=None
        What is mapped to the cube, two numbers or two arrays with one number a column, in the units
        that functions see (of standardised columns, unless ``standardize=False``). None takes the
        range of every column with 5 % more on both sides. Values outside are clipped.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.array([[0.25], [0.5], [1.0]])
    >>> rs.BrownianSheets(constant=False, interval=(0, 1), depth=np.inf).kernel(X)
    array([[0.25, 0.25, 0.25],
           [0.25, 0.5 , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """

    margin = 0.05

    def __init__(self, order=0, constant=True, depth="auto", grid="tensor", interval=None):
        self.order = order
        self.constant = constant
        self.depth = depth
        self.grid = grid
        self.interval = interval

    @property
    def differentiable(self) -> bool:
        return self.order > 0

    def filled(self, sample):
        whole = isinstance(self.order, (int, np.integer)) and not isinstance(self.order, bool)
        if not (whole and 0 <= self.order <= MOST_ORDER):
            raise ValueError(
                f"order must be a whole number from 0 to {MOST_ORDER}, got {self.order!r}: beyond "
                "it what is not polynomial in a sheet is below rounding."
            )
        check_choice("grid", self.grid, GRIDS)
        if self._too_wide(sample):
            return self.with_values(grid="sparse").filled(sample)
        return self.with_depth(sample)

    def _too_wide(self, sample) -> bool:
        """Whether a tensor grid that nobody gave a depth has more products than are worth it."""
        if self.grid != "tensor" or not isinstance(self.depth, str):
            return False
        d = sample.shape[1]
        return self.products(d, self.default_depth(sample.count, d)) > TENSOR_PRODUCTS

    def ladders(self, n_features):
        return [self._ladder(int(self.depth))] * n_features

    def _ladder(self, depth: int) -> Motions:
        hats = depth if self.grid == "tensor" else depth - bool(self.constant)
        return Motions(self.order, bool(self.constant), hats)

    def terms(self, ladders):
        return GRIDS[self.grid].terms(ladders)

    def products(self, n_features, depth):
        return GRIDS[self.grid].products(self._ladder(depth).widths, n_features)

    def kernel_of(self, x, y):
        return GRIDS[self.grid].kernel(x, y)

    def sup_square(self, n_features):
        # The variance of a motion grows from 0 to 1, and more hats make it larger.
        return float(covariance(1.0, 1.0, self.order, self.constant) ** n_features)

    def closed_form(self, X, Y):
        if self.resolved.known["depth"] != np.inf:
            return super().closed_form(X, Y)
        x, y = self.cube.places(X), self.cube.places(Y)
        total = np.ones((len(x), len(y)))
        for left, right in zip(x.T, y.T, strict=True):
            total *= covariance(left[:, None], right, self.order, self.constant)
        return total


def covariance(x, y, order: int, constant: bool):
    """Σ_{i≤q} (xy)^i/i!² + ∫ (x - u)₊^q (y - u)₊^q du/q!², one coordinate."""
    least, gap = np.minimum(x, y), np.abs(x - y)
    # With v = min - u: ∫ v^q (v + gap)^q dv, by the binomial theorem.
    total = 0.0
    for i in range(order + 1):
        power = order + i + 1
        total = total + comb(order, i) * gap ** (order - i) * least**power / power
    total = total / factorial(order) ** 2
    if constant:
        total = total + sum((x * y) ** i / factorial(i) ** 2 for i in range(order + 1))
    return total


class Motions(Ladder):
    """Schauder functions, integrated ``order`` times.

    Rungs are the constant (if there is one), polynomials on the whole interval, and from then on
    order + 1 functions on every cell of scale j = 0, 1, ….
    """

    def __init__(self, order: int, constant: bool, scales: int):
        self.order, self.constant, self.scales = order, constant, scales
        whole = [1] * constant + [len(_polynomials(order, constant))]
        self.widths = whole + [order + 1] * scales
        self.sizes = whole + [(order + 1) * 2**j for j in range(scales)]

    def rungs(self, places):
        n, q = len(places), self.order
        found = [Rung(np.zeros((n, 1), np.int64), np.ones((n, 1)))] * self.constant
        whole = _polynomials(q, self.constant)
        values = np.column_stack([polynomial(places) for polynomial in whole])
        found.append(Rung(np.tile(np.arange(len(whole)), (n, 1)), values))
        numbers = np.arange(q + 1)
        for j in range(self.scales):
            scaled = places * 2.0**j
            cells = np.minimum(np.floor(scaled), 2.0**j - 1)
            values = 2.0 ** (-j * (q + 0.5)) * _hats(scaled - cells, q)
            nodes = cells.astype(np.int64)[:, None] * (q + 1) + numbers
            found.append(Rung(nodes, values))
        return found


def _hats(x: NDArray, order: int) -> NDArray[np.float64]:
    """The functions of the cell [0, 1] at x in it, a column each."""
    if order == 0:
        return np.minimum(x, 1 - x)[:, None]
    right = x >= 0.5
    if order > 2:
        return np.column_stack(
            [np.where(right, b(1 - x), a(x)) for a, b in _integrated_from_both_ends(order)]
        )
    halves = _integrated_multiwavelets(order)
    return np.column_stack([np.where(right, b(x), a(x)) for a, b in halves])


@cache
def _polynomials(order: int, constant: bool) -> list[Polynomial]:
    """x^i/i! (i = 1, …, q) if there are constants, and q + 1 integrals of Legendre polynomials."""
    powers = [Polynomial([0.0] * i + [1 / factorial(i)]) for i in range(1, order + 1)]
    integrals = [_legendre(i, 0, 1).integ(order + 1, lbnd=0) for i in range(order + 1)]
    return powers * constant + integrals


@cache
def _integrated_multiwavelets(order: int) -> list[tuple[Polynomial, Polynomial]]:
    """∫ (x - u)₊^q/q! ψ_i(u) du on both halves of [0, 1], ψ_i Alpert's multiwavelets.

    The ψ_i are orthonormal polynomials of degree q on each half, orthogonal to all polynomials of
    degree q on the whole; that is why what is integrated q + 1 times is 0 again from 1 on.
    """
    count = order + 1
    halves = [[_legendre(i, a, a + 0.5) for i in range(count)] for a in (0.0, 0.5)]
    moments = np.array(
        [
            [_integral(p * Polynomial([0.0] * m + [1.0]), a) for m in range(count)]
            for a, half in zip((0.0, 0.5), halves, strict=True)
            for p in half
        ]
    )
    free = np.linalg.qr(moments, mode="complete")[0][:, count:].T
    found = []
    for row in free:
        row = row * np.sign(row[np.argmax(np.abs(row) > 1e-9)])
        left = sum((c * p for c, p in zip(row[:count], halves[0], strict=True)), Polynomial([0.0]))
        right = sum((c * p for c, p in zip(row[count:], halves[1], strict=True)), Polynomial([0.0]))
        for _ in range(count):
            left = left.integ(lbnd=0)
            right = right.integ(lbnd=0.5, k=left(0.5))
        found.append((left, right))
    return found


@cache
def _integrated_from_both_ends(order: int) -> list[tuple[Polynomial, Polynomial]]:
    """The same for orders from 3 on, as polynomials of x on the left half, of 1 - x on the right.

    Powers of x of degree 2q + 1 lose their digits towards 1, where what is left is nearly 0. As
    q + 1 moments vanish, what is integrated from 0 is, up to the sign (-1)^{q+1}, what is
    integrated from 1: each end has its own powers, whose first q + 1 are missing. Moments are
    taken with Legendre polynomials, in which they are well conditioned.
    """
    count = order + 1
    nodes, weights = np.polynomial.legendre.leggauss(count + 1)
    nodes, weights = (nodes + 1) / 4, weights / 4  # of the left half
    at = np.column_stack([_legendre(i, 0, 0.5)(nodes) for i in range(count)])
    whole = [_legendre(m, 0, 1) for m in range(count)]
    # A polynomial of the right half is that of the left one mirrored.
    moments = np.vstack(
        [
            (at * weights[:, None]).T @ np.column_stack([p(places) for p in whole])
            for places in (nodes, 1 - nodes)
        ]
    )
    free = np.linalg.qr(moments, mode="complete")[0][:, count:].T
    basis = [_legendre(i, 0, 0.5) for i in range(count)]
    found = []
    for row in free:
        row = row * np.sign(row[np.argmax(np.abs(row) > 1e-9)])
        left, right = (
            sum((c * p for c, p in zip(part, basis, strict=True)), Polynomial([0.0]))
            for part in (row[:count], row[count:])
        )
        found.append((left.integ(count, lbnd=0), (-1) ** count * right.integ(count, lbnd=0)))
    return found


def _legendre(degree: int, a: float, b: float) -> Polynomial:
    """The orthonormal Legendre polynomial on [a, b], in powers of x."""
    basis = Legendre.basis(degree, domain=[a, b]).convert(kind=Polynomial, domain=[-1, 1])
    return np.sqrt((2 * degree + 1) / (b - a)) * basis


def _integral(polynomial: Polynomial, a: float) -> float:
    """∫ over [a, a + 1/2]."""
    return float(polynomial.integ(lbnd=a)(a + 0.5))
