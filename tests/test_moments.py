"""Moments and factors add up, whatever the blocks."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from randspan.statistics import Factor, Moments


def problem(n, k, q, seed, offset=0.0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, k)) + offset
    return Z, rng.normal(size=(n, q)) + offset, rng.exponential(size=n)


def direct(Z, Y, w):
    """The definitions, in one go."""
    mean, target_mean = w @ Z / w.sum(), w @ Y / w.sum()
    Zc, Yc = Z - mean, Y - target_mean
    return {
        "weight": w.sum(),
        "mean": mean,
        "target_mean": target_mean,
        "scatter": (Zc * w[:, None]).T @ Zc,
        "cross": (Zc * w[:, None]).T @ Yc,
        "target_scatter": (w[:, None] * Yc**2).sum(axis=0),
    }


def assert_equal(moments, expected, rtol=1e-9):
    for name, value in expected.items():
        value = np.asarray(value)
        np.testing.assert_allclose(
            getattr(moments, name), value, rtol=rtol, atol=rtol * np.abs(value).max(), err_msg=name
        )


@given(
    n=st.integers(2, 60),
    k=st.integers(1, 8),
    q=st.integers(1, 3),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    weighted=st.booleans(),
    offset=st.sampled_from([0.0, 100.0]),
    seed=st.integers(0, 2**31),
)
@settings(deadline=None, max_examples=80)
def test_any_split_gives_the_same_moments(n, k, q, cuts, weighted, offset, seed):
    Z, Y, w = problem(n, k, q, seed, offset)
    w = w if weighted else np.ones(n)
    edges = sorted({0, n, *(min(c, n) for c in cuts)})
    total, factor = Moments.zero(k, q), Factor.zero(k, q)
    for a, b in pairwise(edges):
        part = w[a:b] if weighted else None
        total = total.plus(Moments.of(Z[a:b].copy(), Y[a:b], part))
        factor = factor.plus(Factor.of(Z[a:b], Y[a:b], part))
    assert total.rows == factor.rows == n
    assert_equal(total, direct(Z, Y, w))
    assert_equal(factor.summed(), direct(Z, Y, w))


@given(cut=st.integers(2, 58), weighted=st.booleans(), seed=st.integers(0, 2**31))
@settings(deadline=None, max_examples=50)
def test_minus_undoes_plus(cut, weighted, seed):
    Z, Y, w = problem(60, 5, 2, seed, offset=3.0)
    w = w if weighted else np.ones(60)
    weights = w if weighted else None
    both = Moments.of(Z.copy(), Y, weights)
    second = Moments.of(Z[cut:].copy(), Y[cut:], None if weights is None else w[cut:])
    assert_equal(both.minus(second), direct(Z[:cut], Y[:cut], w[:cut]), rtol=1e-8)


def test_plus_and_minus_leave_their_arguments_alone():
    Z, Y, _ = problem(20, 3, 1, 0)
    a, b = Moments.of(Z[:10].copy(), Y[:10], None), Moments.of(Z[10:].copy(), Y[10:], None)
    before = a.scatter.copy(), b.scatter.copy()
    both = a.plus(b)
    assert np.array_equal(a.scatter, before[0])
    both.minus(b)
    assert np.array_equal(a.scatter, before[0])
    assert np.array_equal(b.scatter, before[1])


def test_removing_everything_leaves_nothing():
    Z, Y, _ = problem(20, 3, 1, 0)
    moments = Moments.of(Z.copy(), Y, None)
    left = moments.minus(moments)
    assert left.rows == 0
    assert left.weight == 0
    assert not left.scatter.any()


def test_rows_of_weight_zero_count_for_nothing():
    Z, Y, w = problem(20, 3, 1, 0)
    w[:5] = 0
    assert_equal(Moments.of(Z.copy(), Y, w), direct(Z[5:], Y[5:], w[5:]))
    nothing = Moments.of(Z.copy(), Y, np.zeros(20))
    assert nothing.weight == 0


def test_a_large_offset_costs_no_digits():
    """Centred sums: an offset of 1e6 leaves the scatter as it was, to the input's own rounding."""
    Z, Y, w = problem(1000, 4, 1, 0)
    plain = direct(Z, Y, w)["scatter"]
    total = Moments.zero(4, 1)
    for s in range(0, 1000, 100):
        total = total.plus(Moments.of(Z[s : s + 100] + 1e6, Y[s : s + 100], w[s : s + 100]))
    np.testing.assert_allclose(total.scatter, plain, atol=1e-9 * np.abs(plain).max())


@pytest.mark.parametrize("blocks", [1, 16])
@pytest.mark.parametrize("kind", ["cosines", "stumps"])
def test_the_measured_noise_bounds_float32_rounding(kind, blocks, rng):
    """The error of all blocks is within twice what one block showed, and not far below it."""
    for k in (50, 300):
        if kind == "cosines":
            Z = np.sqrt(2) * np.cos(rng.normal(size=(16_384, k)) * 3)
        else:
            Z = np.where(rng.normal(size=(16_384, 1)) > rng.normal(size=k), 1.0, -1.0)
        Z = Z.astype(np.float32)
        exact = Moments.of(Z.astype(np.float64), np.zeros((len(Z), 1)), None)
        total = Moments.zero(k, 1)
        for i, part in enumerate(np.split(Z, blocks)):
            known = None if i == 0 else total.rounding
            total = total.absorb(Moments.of(part.copy(), np.zeros((len(part), 1)), None, known))
        error = total.scatter - exact.scatter
        if kind == "stumps":
            # Equal products are rounded alike, which scales the scatter; what is left is noise.
            error -= exact.scatter * (error * exact.scatter).sum() / (exact.scatter**2).sum()
        error = np.linalg.norm(error, 2)
        print(f"{kind}, {blocks} blocks, {k} functions: {error / total.noise:.2f} of the estimate")
        assert error < 2 * total.noise
        assert error > 0.02 * total.noise
        assert exact.error < 1e-6 * total.error


def test_a_factor_stays_small():
    factor = Factor.zero(5, 1)
    rng = np.random.default_rng(0)
    for _ in range(50):
        factor = factor.plus(Factor.of(rng.normal(size=(40, 5)), rng.normal(size=(40, 1)), None))
    assert factor.rows == 2000
    assert len(factor.root) <= 2 * 7 + 40
