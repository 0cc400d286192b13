"""Sums that have the same bits in any order: exact, but for what is lost below 2⁻⁵⁰."""

import math

import numpy as np
import pytest

from randspan.sums import total, total_in

NUMBERS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "offset": lambda rng, n: 1e8 + rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_cauchy(n),
    "scales": lambda rng, n: rng.choice([-1, 1], n) * 10 ** rng.uniform(-12, 12, n),
    "nothing": lambda rng, n: np.zeros(n),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("n", [1, 7, 40_000])
def test_sums_are_exact_and_have_no_order(kind, n):
    rng = np.random.default_rng(n)
    values = np.column_stack([NUMBERS[kind](rng, n) for _ in range(3)])
    found, order = total(values), rng.permutation(n)
    np.testing.assert_array_equal(found, [math.fsum(column) for column in values.T])
    np.testing.assert_array_equal(total(values[order]), found)
    cells = rng.integers(0, 5, n)
    parts = total_in(cells, values[:, 0], 5)
    np.testing.assert_array_equal(parts, [math.fsum(values[cells == c, 0]) for c in range(5)])
    np.testing.assert_array_equal(total_in(cells[order], values[order, 0], 5), parts)
