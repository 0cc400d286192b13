"""Brownian sheets and scrambled wavelets: their law, their values, and what they refuse."""

import math
import pickle
import subprocess
import sys
import tracemalloc
import warnings
from itertools import pairwise, product
from math import comb

import numpy as np
import pytest
from scipy import integrate, sparse, stats

import randspan as rs
from randspan import model as models
from randspan.families.shared import cascade
from randspan.families.shared.grids import GRIDS
from randspan.families.sheets import Motions, covariance
from test_kernels import agrees, upper

UNIT = (0.0, 1.0)


def drawn(family, d, k, seed=0, X=None):
    """Functions of a family that reads nothing from X but, where it is asked to, its length."""
    X = np.array([[0.0] * d, [1.0] * d]) if X is None else X
    return family.draw(X, k, seed)


@pytest.mark.parametrize("family", [rs.BrownianSheets(), rs.ScrambledWavelets()], ids=repr)
def test_weights_that_are_no_counts_ask_for_a_function_a_row_at_most(family):
    """√Σω functions and log₂ Σω scales of 30 rows were more than any memory, or 64 bits."""
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(30, 1)), rng.integers(1, 4, size=30)
    model = rs.SpanRegressor(family, random_state=0)
    model.fit(X, X[:, 0], sample_weight=np.full(30, 1e40))
    assert model.n_components_ == 30
    assert np.isfinite(model.predict(X)).all()
    # Weights that are counts are rows as many times.
    model.fit(X, X[:, 0], sample_weight=counts)
    assert model.n_components_ == np.ceil(np.sqrt(counts.sum()))


# -- the coefficients ----------------------------------------------------------------------------


def coefficients(k, nodes=2000, seed=0, rung=13):
    functions = drawn(rs.BrownianSheets(depth=20, interval=UNIT), 1, k, seed)
    return functions.coefficients([rung], np.arange(nodes)[:, None])


def test_coefficients_are_standard_normal():
    xi = coefficients(400).ravel()  # 800,000 of them
    n = len(xi)
    for power, (mean, variance) in {1: (0, 1), 2: (1, 2), 3: (0, 15), 4: (3, 96)}.items():
        assert abs((xi**power).mean() - mean) < 4.5 * np.sqrt(variance / n), power
    assert stats.kstest(xi, "norm").pvalue > 1e-4
    # The tails: as many beyond 4 as a normal law has.
    beyond = 2 * stats.norm.sf(4) * n
    assert abs((np.abs(xi) > 4).sum() - beyond) < 5 * np.sqrt(beyond)


@pytest.mark.parametrize("seed", range(3))
def test_every_function_and_every_node_is_normal(seed):
    xi = coefficients(300, 1500, seed)
    for axis in (0, 1):
        # The test of Kolmogorov and Smirnov for all lines at once.
        lines = np.sort(stats.norm.cdf(np.moveaxis(xi, axis, 0)), axis=1)
        n = lines.shape[1]
        below, above = lines - np.arange(n) / n, np.arange(1, n + 1) / n - lines
        p = stats.kstwo.sf(np.maximum(below, above).max(axis=1), n)
        assert stats.kstest(p, "uniform").pvalue > 1e-4
        squares = (xi**2).sum(axis=axis)
        chances = stats.chi2.cdf(squares, xi.shape[axis])
        assert stats.kstest(chances, "uniform").pvalue > 1e-4


def test_nodes_functions_and_seeds_are_uncorrelated():
    xi = coefficients(257, 1000)
    others = {
        "functions": (xi[:, :-1], xi[:, 1:]),
        "the two that share a radius": (xi[:, :16], xi[:, 16:32]),
        "nodes": (xi[:-1], xi[1:]),
        "distant nodes": (xi[:-512], xi[512:]),
        "rungs": (xi, coefficients(257, 1000, rung=14)),
        "seeds": (xi, coefficients(257, 1000, seed=1)),
    }
    for name, (a, b) in others.items():
        for left, right in ((a, b), (a**2 - 1, b**2 - 1), (a, b**2 - 1), (a**2 - 1, b)):
            scale = np.sqrt((left**2).mean() * (right**2).mean() / left.size)
            assert abs((left * right).mean()) < 4.5 * scale, name


def test_whole_matrices_of_coefficients_have_the_spectrum_of_noise():
    # Eigenvalues of a Wishart matrix lie within the law of Marchenko and Pastur.
    for shape in ((200, 4000), (4000, 200)):
        xi = coefficients(shape[1], shape[0], rung=14)
        values = np.linalg.svd(xi, compute_uv=False) ** 2 / max(shape)
        edge = (1 + np.sqrt(200 / 4000)) ** 2, (1 - np.sqrt(200 / 4000)) ** 2
        assert values.max() < edge[0] * 1.04
        assert values.min() > edge[1] * 0.96


# -- the functions are Σ ξ φ ---------------------------------------------------------------------


def hat(x, j, place):
    y = 2.0**j * x - place
    return np.where((y >= 0) & (y <= 1), 2.0 ** (-j / 2) * np.minimum(y, 1 - y), 0.0)


def schauder(x, depth, constant=True):
    """All functions of one coordinate as (rung, node, values)."""
    found = [(0, 0, np.ones(len(x)))] if constant else []
    found.append((int(constant), 0, x))
    for j in range(depth):
        found += [(j + 1 + constant, place, hat(x, j, place)) for place in range(2**j)]
    return found


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("grid", ["tensor", "sparse"])
def test_sheets_are_sums_over_products_of_hats(constant, grid, rng):
    X = rng.uniform(size=(30, 2))
    depth = 3
    family = rs.BrownianSheets(constant=constant, depth=depth, grid=grid, interval=UNIT)
    functions = drawn(family, 2, 40)
    scales = depth if grid == "tensor" else depth - constant
    total, kernel = np.zeros((30, 40)), np.zeros((30, 30))
    for a, b in product(*(schauder(column, scales, constant) for column in X.T)):
        if grid == "tensor" or a[0] + b[0] <= depth:
            phi = a[2] * b[2]
            total += phi[:, None] * functions.coefficients([a[0], b[0]], [[a[1], b[1]]])
            kernel += np.outer(phi, phi)
    np.testing.assert_allclose(functions(X), total, atol=1e-12)
    np.testing.assert_allclose(functions.kernel(X), kernel, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_sparse_grid_has_all_levels_up_to_a_sum(d, depth):
    ladders = [Motions(0, True, depth - 1)] * d
    terms = {term.rungs for term in GRIDS["sparse"].terms(ladders)}
    assert len(terms) == comb(depth + d, d) == GRIDS["sparse"].products(ladders[0].widths, d)
    assert max(sum(rung for _, rung in term) for term in terms) == depth


def test_oracle_weights_have_the_variance_of_the_papers_lemma(rng):
    """g = Σ_p β_p W_p with β = Aα/P: mean f, variance (f² + ‖α‖² Σφ²)/P at every point."""
    x = np.array([0.11, 0.3, 0.62, 0.97])
    P, runs, scales = 20, 4000, 3
    basis = schauder(x, scales)
    alpha = rng.normal(size=len(basis))
    phi = np.array([values for *_, values in basis])
    f = alpha @ phi
    family = rs.BrownianSheets(depth=scales, interval=UNIT)
    # Functions are independent, so every P of them are a run.
    functions = drawn(family, 1, P * runs)
    xi = np.vstack([functions.coefficients([rung], [[node]]) for rung, node, _ in basis])
    weighted = functions(x[:, None]) * (alpha @ xi) / P
    values = weighted.reshape(len(x), runs, P).sum(axis=2).T
    variance = (f**2 + alpha @ alpha * (phi**2).sum(axis=0)) / P
    assert (np.abs(values.mean(axis=0) - f) < 4.5 * np.sqrt(variance / runs)).all()
    # A product of normals has a fourth moment of at most 9 times the squared variance.
    assert (np.abs(values.var(axis=0) / variance - 1) < 4.5 * np.sqrt(9 / runs)).all()


# -- covariance ----------------------------------------------------------------------------------


def estimate(family, X, k=4000, draws=100):
    found = []
    for seed in range(draws):
        Z = drawn(family, X.shape[1], k, seed)(X)
        found.append(upper(Z @ Z.T / k))
    return np.array(found)


def limit(X, order, constant):
    total = np.ones((len(X), len(X)))
    for x in X.T:
        least, most = np.minimum.outer(x, x), np.maximum.outer(x, x)
        one = least if order == 0 else least**2 * (3 * most - least) / 6
        total *= one + constant * sum(np.outer(x, x) ** i for i in range(order + 1))
    return total


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("order", [0, 1])
def test_sheets_have_the_covariance_of_brownian_motions(order, constant, d):
    X = np.random.default_rng(d).uniform(size=(6, d))
    family = rs.BrownianSheets(order, constant, depth=13 // d, interval=UNIT)
    expected = limit(X, order, constant)
    exact = rs.BrownianSheets(order, constant, depth=np.inf, interval=UNIT).kernel(X)
    np.testing.assert_allclose(exact, expected, rtol=1e-12)
    values, size = estimate(family, X), expected.max()
    assert agrees(values / size, upper(family.kernel(X)) / size)
    if d == 1:  # deep enough for the limit
        assert agrees(values / size, upper(expected) / size)
    assert not agrees(values / size, 1.1 * upper(expected) / size)


def test_the_test_sees_a_missing_hat():
    """The paper's text starts hats at scale 1: that covariance is not min(s, t)."""
    X = np.random.default_rng(0).uniform(size=(6, 1))
    values = estimate(rs.BrownianSheets(constant=False, depth=13, interval=UNIT), X)
    first = hat(X[:, 0], 0, 0)
    assert agrees(values, upper(np.minimum(X, X.T)))
    assert not agrees(values, upper(np.minimum(X, X.T) - np.outer(first, first)))


@pytest.mark.parametrize("order", [0, 1, 2])
def test_truncation_falls_by_the_order_with_every_scale(order, rng):
    x = rng.uniform(size=300)
    exact = covariance(x, x, order, True)
    errors = []
    for scales in range(1, 7):
        rungs = Motions(order, True, scales).rungs(x)
        known = sum((rung.values**2).sum(axis=1) for rung in rungs)
        assert (known < exact + 1e-12).all()
        errors.append((exact - known).max())
    steps = np.diff(np.log2(errors[: 5 if order < 2 else 4]))
    np.testing.assert_allclose(steps, -(2 * order + 1), atol=0.35)


@pytest.mark.parametrize("order", [3, 4, 5])
def test_covariances_of_any_order_are_the_integral(order):
    """∫ (s - u)₊^q (t - u)₊^q du/q!² by quadrature, and the sum over the basis."""
    x = np.linspace(0, 1, 9)[1:]

    def by_quadrature(s, t):
        def product(u):
            return (s - u) ** order * (t - u) ** order / math.factorial(order) ** 2

        return integrate.quad(product, 0, min(s, t), epsabs=0, epsrel=1e-12)[0]

    expected = np.array([[by_quadrature(s, t) for t in x] for s in x])
    closed = covariance(x[:, None], x, order, False)
    np.testing.assert_allclose(closed, expected, rtol=1e-10)
    whole = sum((x[:, None] * x) ** i / math.factorial(i) ** 2 for i in range(order + 1))
    np.testing.assert_allclose(covariance(x[:, None], x, order, True), whole + expected, rtol=1e-10)
    found = np.zeros_like(expected)
    for rung in Motions(order, False, 5).rungs(x):
        same = rung.nodes[:, None, :, None] == rung.nodes[None, :, None, :]
        products = rung.values[:, None, :, None] * rung.values[None, :, None, :]
        found += (same * products).sum(axis=(2, 3))
    # What is left out falls by 2^{-(2q + 1)} with every scale.
    assert np.abs(found - expected).max() <= 1e-9 * expected.max()


def test_sheets_of_order_four_are_drawn_and_fitted(rng):
    X = rng.uniform(size=(300, 2))
    family = rs.BrownianSheets(4, interval=UNIT, depth=2)
    expected = family.kernel(X[:6])
    assert agrees(estimate(family, X[:6]) / expected.max(), upper(expected) / expected.max())
    y = np.sin(3 * X[:, 0]) * X[:, 1]
    model = rs.SpanRegressor(family, 60, random_state=0, standardize=False).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.999


@pytest.mark.parametrize("order", [3, 7])
def test_functions_of_high_order_vanish_outside_their_cell(order):
    x = np.linspace(0, 1, 2**9 + 1)
    values = Motions(order, True, 1).rungs(x)[2].values
    assert (values[[0, -1]] == 0).all()
    for _ in range(2):  # smooth across the middle too
        values = np.diff(values, axis=0)
        assert np.abs(np.diff(values, axis=0)).max() < 0.1 * np.abs(values).max()


@pytest.mark.parametrize("order", [1, 2])
def test_integrated_functions_vanish_outside_their_cell_and_are_smooth(order):
    x = np.linspace(0, 1, 2**12 + 1)
    values = Motions(order, True, 1).rungs(x)[2].values
    assert np.abs(values[[0, -1]]).max() < 1e-12
    slopes = np.gradient(values, x, axis=0)
    assert np.abs(slopes[[0, -1]]).max() < 5e-3 * np.abs(slopes).max()
    assert np.abs(np.diff(slopes, axis=0)).max() < 0.02 * np.abs(slopes).max()


WAVELETS = {
    "one column": (1, rs.ScrambledWavelets("db2", 0.8, depth=4)),
    "two columns": (2, rs.ScrambledWavelets("db4", 1.25, depth=4)),
    "three columns": (3, rs.ScrambledWavelets("db4", 1.6, depth=2)),
    "symlets": (1, rs.ScrambledWavelets("sym5", 1.0, depth=5)),
    "tensor": (2, rs.ScrambledWavelets("db3", [0.7, 1.2], depth=3, grid="tensor")),
    "sparse": (4, rs.ScrambledWavelets("db3", 1.0, depth=4, grid="sparse")),
}


def periodic(name, x, j, place, wavelet):
    """A periodised function at x, summed over what PyWavelets' own filter refines to."""
    start = cascade.filters(name)[2]
    total = np.zeros(len(x))
    for shift in range(-40, 41):
        y = 2.0**j * (x + shift) - place
        inside = (y >= 0) & (y < len(start))
        if inside.any():
            whole = np.floor(y[inside]).astype(int)
            # Exact at dyadic points, which is what the caller has.
            values = dyadic(name, y[inside] - whole, wavelet)[np.arange(inside.sum()), whole]
            total[inside] += values
    return 2.0 ** (j / 2) * total


def dyadic(name, y, wavelet):
    """φ(y + i) or ψ(y + i) at dyadic y, by recursion down to the integers."""
    low, high, start = cascade.filters(name)
    width = len(start)

    def phi(points):
        points = np.asarray(points)
        values = np.zeros(points.shape)
        inside = (points > 0) & (points < width)
        whole = inside & (points == np.floor(points))
        values[whole] = start[points[whole].astype(int)]
        rest = inside & ~whole
        if rest.any():
            # Whole shifts come to the same points again and again.
            once, which = np.unique(points[rest], return_inverse=True)
            values[rest] = refined(once, low)[which]
        return values

    def refined(points, taps):
        return phi(2 * points[..., None] - np.arange(len(taps))) @ taps

    points = y[:, None] + np.arange(width)
    return refined(points, high) if wavelet else phi(points)


@pytest.mark.parametrize("name", ["db2", "db3", "db4", "sym4"])
def test_wavelets_are_exact_at_dyadic_points(name):
    low, high, start = cascade.filters(name)
    places = np.arange(16, 48) / 64
    scaling, wavelet = np.empty((2, 3, len(places), len(start)))
    cascade.refine(places, low, high, start, scaling, wavelet)
    for j in range(3):
        y = 2.0**j * places % 1
        np.testing.assert_allclose(scaling[j], dyadic(name, y, False), atol=1e-11)
        np.testing.assert_allclose(wavelet[j], dyadic(name, y, True), atol=1e-11)


@pytest.mark.parametrize("name", ["db3", "db4", "db8", "db20", "sym6"])
def test_wavelets_are_those_of_pywavelets(name):
    """Its cascade is good to its step: the difference halves with every level, to nothing."""
    import pywt

    low, high, start = cascade.filters(name)
    places = 0.25 + np.random.default_rng(0).uniform(size=400) / 2
    scaling, wavelet = np.empty((2, 1, 400, len(start)))
    cascade.refine(places, low, high, start, scaling, wavelet)
    at = places[:, None] + np.arange(len(start))
    differences = []
    for level in (10, 12):
        phi, psi, x = pywt.Wavelet(name).wavefun(level)
        gaps = np.interp(at, x, phi) - scaling[0], np.interp(at, x, psi) - wavelet[0]
        differences.append([np.abs(gap).max() for gap in gaps])
    coarse, fine = np.array(differences)
    assert (fine < 0.3 * coarse).all()
    # Extrapolated to a step of zero they are the same.
    for function, column in ((1, scaling), (2, wavelet)):
        values = []
        for level in (13, 14):
            table = pywt.Wavelet(name).wavefun(level)
            values.append(np.interp(at, table[2], table[function - 1]))
        assert np.abs(2 * values[1] - values[0] - column[0]).max() < 5e-4


@pytest.mark.parametrize("name", ["db2", "db5", "db10", "sym8"])
def test_wavelets_are_orthonormal_and_have_vanishing_moments(name):
    low, high, start = cascade.filters(name)
    n, width = 2**13, len(start)
    places = 0.25 + (np.arange(n) + 0.5) / n / 4
    scaling, wavelet = np.empty((2, 3, n, width))
    cascade.refine(places, low, high, start, scaling, wavelet)
    phi, psi = scaling[2], wavelet[2]  # 4·places mod 1 runs over [0, 1)
    moments = int("".join(c for c in name if c.isdigit()))
    tolerance = 2e-3 if name == "db2" else 1e-4
    for shift in range(3):
        expected = 1.0 if shift == 0 else 0.0

        def product_of(a, b, shift=shift):
            return (a[:, shift:] * b[:, : width - shift]).sum() / n

        assert product_of(phi, phi) == pytest.approx(expected, abs=tolerance)
        assert product_of(psi, psi) == pytest.approx(expected, abs=tolerance)
        assert product_of(psi, phi) == pytest.approx(0, abs=tolerance)
    x = (4 * places % 1)[:, None] + np.arange(width)
    for power in range(min(moments, 4)):
        centred = (x / width - 0.5) ** power
        assert abs((centred * psi).sum() / n) < tolerance
    np.testing.assert_allclose(phi.sum(axis=1), 1, atol=1e-9)


def test_wavelets_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pywt", None)
    with pytest.raises(ImportError, match=r"pip install 'randspan\[wavelets\]'"):
        cascade.filters.__wrapped__("db3")


def test_sobolev_exponents_are_the_published_ones():
    published = {2: 1.0, 3: 1.415, 4: 1.776, 5: 2.097, 6: 2.388, 8: 2.915, 10: 3.403}
    for moments, exponent in published.items():
        assert cascade.sobolev_exponent(moments) == pytest.approx(exponent, abs=6e-4)
    exponents = [cascade.sobolev_exponent(moments) for moments in range(1, 39)]
    assert (np.diff(exponents) > 0.2).all()


def test_isotropic_wavelets_are_sums_over_all_types():
    family = rs.ScrambledWavelets("db2", 1.0 + 1e-9 - 0.2, depth=3, interval=UNIT)
    X = np.arange(0, 17, 3)[:, None] / 16.0
    functions = drawn(family, 1, 20)
    places = 0.25 + X[:, 0] / 2
    total = np.ones((len(X), 1)) * functions.coefficients([0], [[0]])
    for j in range(3):
        for place in range(2**j):
            phi = 2.0 ** (-j * family.smoothness) * periodic("db2", places, j, place, True)
            total = total + phi[:, None] * functions.coefficients([2 * j + 2], [[place]])
    np.testing.assert_allclose(functions(X), total, atol=1e-10)


def test_two_columns_have_three_types():
    family = rs.ScrambledWavelets("db3", 1.2, depth=2, interval=UNIT)
    X = np.random.default_rng(0).integers(0, 17, size=(12, 2)) / 16.0
    functions = drawn(family, 2, 10)
    u, v = 0.25 + X.T / 2
    total = np.ones((len(X), 1)) * functions.coefficients([0, 0], [[0, 0]])
    for j in range(2):
        for one, two in ((0, 1), (1, 0), (1, 1)):
            for a, b in product(range(2**j), repeat=2):
                phi = periodic("db3", u, j, a, one) * periodic("db3", v, j, b, two)
                xi = functions.coefficients([1 + 2 * j + one, 1 + 2 * j + two], [[a, b]])
                total = total + 2.0 ** (-j * 1.2) * phi[:, None] * xi
    np.testing.assert_allclose(functions(X), total, atol=1e-10)


@pytest.mark.parametrize("name", WAVELETS)
def test_wavelets_have_their_kernel(name):
    d, family = WAVELETS[name]
    family = family.with_values(interval=UNIT)
    X = np.random.default_rng(d).uniform(size=(5, d))
    expected = family.kernel(X)
    values, size = estimate(family, X, 2500), expected.max()
    assert agrees(values / size, upper(expected) / size, 0.004)
    assert not agrees(values / size, 1.1 * upper(expected) / size, 0.004)


@pytest.mark.parametrize(
    ("d", "family", "scales"),
    [
        (1, rs.ScrambledWavelets("db3", 1.0), range(2, 11)),
        (1, rs.ScrambledWavelets("db6", 2.0), range(3, 11)),
        (2, rs.ScrambledWavelets("db4", 1.25), range(2, 7)),
        (2, rs.ScrambledWavelets("db4", 1.7), range(2, 7)),
    ],
)
def test_the_variance_of_a_scale_falls_as_the_smoothness_says(d, family, scales, rng):
    """A deeper draw has the same coefficients: the difference of two depths is one scale."""
    X = rng.uniform(size=(400, d))
    fields = [
        drawn(family.with_values(depth=depth, interval=UNIT), d, 60)(X)
        for depth in (*scales, scales[-1] + 1)
    ]
    variances = [((b - a) ** 2).mean() for a, b in pairwise(fields)]
    slope = np.polyfit(scales, np.log2(variances), 1)[0]
    assert slope == pytest.approx(-2 * (family.smoothness - d / 2), rel=0.05)


# -- the same function everywhere ----------------------------------------------------------------

EVERYWHERE = {
    "sheets": (3, rs.BrownianSheets(depth=4)),
    "deep sheets": (1, rs.BrownianSheets(depth=30)),
    "smooth sheets": (2, rs.BrownianSheets(1, depth=5)),
    "sparse sheets": (6, rs.BrownianSheets(grid="sparse")),
    "wavelets": (2, rs.ScrambledWavelets()),
    "sparse wavelets": (5, rs.ScrambledWavelets()),
}


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_point_is_the_same_alone_in_a_block_and_after_pickling(name, rng):
    d, family = EVERYWHERE[name]
    X = rng.normal(size=(3000, d)) * 10.0 ** rng.integers(-3, 4, size=d)
    functions = family.draw(X, 70, 5)
    Z = functions(X)
    some = rng.permutation(3000)[:40]
    assert np.array_equal(functions(X[some]), Z[some])
    for row in some[:5]:
        assert np.array_equal(functions(X[row : row + 1]), Z[row : row + 1])
    again = pickle.loads(pickle.dumps(functions))
    assert np.array_equal(again(X[some]), Z[some])
    assert np.array_equal(functions(sparse.csr_array(X[some])), Z[some])
    single = functions.evaluate(rs.Frame(None, None, functions.family, d, 70, 5).rows(X, "float32"))
    assert np.array_equal(single, Z.astype(np.float32))


def test_another_process_sees_the_same_functions(tmp_path, rng):
    X = rng.uniform(size=(50, 2))
    families = [rs.BrownianSheets(depth=5), rs.ScrambledWavelets("db4", 1.25)]
    values = [family.draw(X, 40, 3)(X[::7]) for family in families]
    np.save(tmp_path / "X.npy", X)
    code = f"""
import numpy as np, randspan as rs
X = np.load({str(tmp_path / "X.npy")!r})
families = [rs.BrownianSheets(depth=5), rs.ScrambledWavelets("db4", 1.25)]
np.save({str(tmp_path / "Z.npy")!r}, [family.draw(X, 40, 3)(X[::7]) for family in families])
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert np.array_equal(np.load(tmp_path / "Z.npy"), values)


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", range(1, 9))
def test_auto_finds_a_pair_that_goes_together(d, rng):
    family = rs.ScrambledWavelets().draw(rng.uniform(size=(200, d)), 3, 0).family.law
    exponent = cascade.sobolev_exponent(int(family.wavelet[2:]))
    least = d / 2 if d <= 3 else 0.5
    assert family.grid == ("isotropic" if d <= 3 else "sparse")
    assert least < family.smoothness < exponent


@pytest.mark.parametrize(
    ("d", "family", "message"),
    [
        (1, rs.ScrambledWavelets("db2", 1.1), "wavelet='db3'"),
        (2, rs.ScrambledWavelets("db3", 1.0), "larger than 1"),
        (2, rs.ScrambledWavelets("db3", 1.5), "wavelet='db4'"),
        (3, rs.ScrambledWavelets("db3"), "wavelet='db4' with smoothness=1.64"),
        (4, rs.ScrambledWavelets("db4"), "grid='sparse'"),
        (2, rs.ScrambledWavelets(smoothness=[1.2, 1.2]), "one smoothness"),
        (2, rs.ScrambledWavelets(smoothness=[1.2, 0.4], grid="tensor"), "larger than 0.5"),
        (2, rs.ScrambledWavelets(smoothness=12.0), "No wavelet"),
        (1, rs.ScrambledWavelets("db1"), "one of 'db2'"),
        (1, rs.ScrambledWavelets("db04"), "one of 'db2'"),
        (1, rs.ScrambledWavelets("sym1"), "one of 'db2'"),
        (1, rs.ScrambledWavelets(depth=0), "whole number of scales from 1 to 50"),
        (1, rs.ScrambledWavelets(depth=60), "whole number of scales from 1 to 50"),
        (1, rs.ScrambledWavelets(depth=np.inf), "no kernel in closed form"),
        (1, rs.ScrambledWavelets(grid="full"), "grid must be one of"),
        (1, rs.BrownianSheets(13), "order must be a whole number from 0 to 12"),
        (1, rs.BrownianSheets(-1), "order must be a whole number from 0 to 12"),
        (1, rs.BrownianSheets(1.0), "order must be a whole number from 0 to 12"),
        (1, rs.BrownianSheets(depth="deep"), "depth must be"),
        (1, rs.BrownianSheets(depth=np.inf), "cannot be drawn"),
        (1, rs.BrownianSheets(grid="isotropic"), "grid must be one of 'tensor', 'sparse'"),
        (1, rs.BrownianSheets(interval=(1, 0)), "interval must be"),
        (30, rs.BrownianSheets(depth=1), "use grid='sparse'"),
        (2000, rs.BrownianSheets(depth=1), "use grid='sparse'"),
        (5, rs.ScrambledWavelets("db8", 2.7, depth=5), "use grid='sparse'"),
    ],
)
def test_what_does_not_fit_is_refused_with_advice(d, family, message, rng):
    with pytest.raises(ValueError, match=message):
        family.draw(rng.uniform(size=(20, d)), 3, 0)


@pytest.mark.parametrize(("s", "wavelet"), [(0.9, "db3"), (1.5, "db4"), (2.0, "db5"), (3.0, "db9")])
def test_a_given_smoothness_finds_its_wavelet(s, wavelet, rng):
    found = rs.ScrambledWavelets(smoothness=s).draw(rng.uniform(size=(20, 1)), 3, 0).family.law
    assert found.wavelet == wavelet


def test_depth_follows_rows_and_columns(rng):
    def depth(family, n, d):
        return family.draw(rng.uniform(size=(n, d)), 1, 0).family.law.depth

    sheets, wavelets = rs.BrownianSheets(), rs.ScrambledWavelets()
    assert [depth(sheets, n, 1) for n in (2, 64, 65, 1000)] == [1, 6, 7, 10]
    assert [depth(sheets, n, 2) for n in (64, 65, 1000)] == [3, 4, 5]
    assert [depth(wavelets, n, 2) for n in (64, 1000)] == [4, 6]
    deep = rs.BrownianSheets(grid="sparse")
    assert depth(deep, 1000, 2) == 10
    for d in (4, 8, 20, 80):
        assert GRIDS["sparse"].products([1] * (depth(deep, 1000, d) + 1), d) <= 4096
    assert depth(deep, 1000, 80) == 2
    assert depth(deep, 1000, 5000) == 1


@pytest.mark.parametrize("d", [8, 10, 40])
def test_a_default_grid_of_many_columns_is_sparse(d, rng):
    X = rng.uniform(size=(300, d))
    functions = rs.BrownianSheets().draw(X, 5, 0)
    assert functions.family.law.grid == "sparse"
    assert functions(X).shape == (300, 5)


def test_a_sparse_grid_without_constants_has_every_column_in_every_product(rng):
    X = rng.uniform(size=(5, 1500))
    functions = rs.BrownianSheets(constant=False, grid="sparse", depth=1).draw(X, 2, 0)
    assert functions._plan.factors.size == 1501
    assert np.isfinite(functions(X)).all()


def test_a_pickle_holds_no_plan(rng):
    X = rng.uniform(size=(20, 8))
    functions = rs.BrownianSheets(grid="sparse").draw(X, 5, 0)
    before = len(pickle.dumps(functions))
    functions(X)
    assert len(pickle.dumps(functions)) == before < 2000


def test_coefficients_are_told_of_nodes_that_exist(rng):
    functions = rs.BrownianSheets(depth=3, grid="sparse").draw(rng.uniform(size=(9, 2)), 4, 0)
    assert functions.coefficients([1, 2], [[0, 0]]).shape == (1, 4)
    for rungs, nodes, message in (
        ([2], [[0, 0]], "2 number"),
        ([9, 0], [[0, 0]], "2 number"),
        ([3, 0], [[2, 0]], "2, 1. nodes"),
        ([3, 0], [[-1, 0]], "nodes each"),
        ([3, 0], [0, 0], "shape"),
        ([3, 3], [[0, 0]], "no product of rungs"),
    ):
        with pytest.raises(ValueError, match=message):
            functions.coefficients(rungs, nodes)


def test_kernels_of_deep_laws_need_little_memory(rng):
    X = rng.uniform(size=(1500, 1))
    family = rs.BrownianSheets(depth=45, interval=UNIT)
    tracemalloc.start()
    kernel = family.kernel(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(kernel, 1 + np.minimum(X, X.T), atol=1e-12)
    assert peak < 8 * kernel.nbytes


def test_inputs_are_mapped_to_the_cube(rng):
    X = rng.normal(size=(100, 3)) * [1e-3, 1.0, 1e5]
    X[:, 1] = 4.0
    for family, edge in ((rs.BrownianSheets(depth=1), 0.05 / 1.1), (rs.ScrambledWavelets(), 0.25)):
        law = family.draw(X, 1, 0).family
        places = law.cube.places(rs.families.shared.rows.as_rows(X))
        assert places[:, [0, 2]].min() == pytest.approx(edge)
        assert places[:, [0, 2]].max() == pytest.approx(1 - edge)
        assert (places[:, 1] == 0.5).all()
    given = rs.BrownianSheets(interval=([0, 0, 0], [1, 8, 10])).draw(X, 1, 0).family
    assert (given.cube.places(rs.families.shared.rows.as_rows(X))[:, 1] == 0.5).all()


@pytest.mark.parametrize("family", [rs.BrownianSheets(), rs.ScrambledWavelets()])
def test_values_outside_are_clipped_warned_of_and_counted_in_fits(family, rng):
    X = rng.uniform(size=(200, 1))
    y = np.sin(6 * X[:, 0])
    model = rs.SpanRegressor(family, random_state=0).fit(X, y)
    new = np.array([[-3.0], [0.5], [40.0], [50.0]])
    with pytest.warns(UserWarning, match="3 of 4 rows"):
        found = model.predict(new)
    assert found[2] == found[3]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)
    assert model.n_outside_ == 0  # a prediction changes nothing
    with pytest.warns(UserWarning, match="3 of 4 rows"):
        model.functions_(model.frame_.rows(new, np.float64))
    transformer = rs.SpanTransformer(family, random_state=0).fit(X)
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        transformer.transform(new[:1])
    assert transformer.n_outside_ == 0
    narrow = family.with_values(interval=(-0.5, 0.5))
    for kind in (rs.SpanRegressor, rs.SpanTransformer):
        with pytest.warns(UserWarning, match="of 200 rows"):
            assert kind(narrow, random_state=0).fit(X, y).n_outside_ > 100
    stream = rs.SpanRegressor(family, random_state=0).partial_fit(X, y)
    with pytest.warns(UserWarning, match="3 of 4 rows"):
        stream.partial_fit(new, np.zeros(4))
    assert rs.SpanRegressor(frame=stream.frame_).fit(X, y).merge(stream).n_outside_ == 3
    union = rs.SpanRegressor(family + rs.Fourier(), 20, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="3 of 4 rows"):
        union.predict(new)


@pytest.mark.parametrize("family", [rs.BrownianSheets(), rs.ScrambledWavelets()])
@pytest.mark.parametrize("scales", ["learn", "rotate", np.ones(2)])
def test_scales_mean_nothing_on_the_cube(family, scales, rng):
    X = rng.uniform(size=(50, 2))
    for kind in (rs.SpanRegressor, rs.SpanTransformer):
        with pytest.raises(ValueError, match="unit interval, where scales mean nothing"):
            kind(family, 10, scales=scales).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="unit interval, where scales mean nothing"):
        rs.Frame.read([X], family, 10, scales=np.ones(2))


# -- fits ----------------------------------------------------------------------------------------


def test_defaults_are_least_squares_on_as_many_functions_as_the_root_of_the_rows(rng):
    X = rng.uniform(size=(1001, 1))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=1001)
    model = rs.SpanRegressor(rs.BrownianSheets(), random_state=0).fit(X, y)
    assert (model.n_components_, model.alpha_) == (32, 0)
    Z = np.column_stack([np.ones(1001), model.functions_(model.frame_.rows(X, np.float64))])
    expected = Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)
    # Weights are counts of rows, and rows without any do not count.
    weights = np.where(np.arange(1001) < 100, 4.0, 0.0)
    assert rs.SpanRegressor(rs.BrownianSheets()).fit(X, y, weights).n_components_ == 20
    assert rs.SpanRegressor(rs.BrownianSheets()).fit(X, y, weights / 1e6).n_components_ == 10
    ridge = rs.SpanRegressor(rs.BrownianSheets(), alpha=0.1, random_state=0).fit(X, y)
    assert ridge.alpha_ == 0.1
    chosen = rs.SpanRegressor(rs.BrownianSheets(), 300, alpha="gcv", random_state=0).fit(X, y)
    plain = rs.SpanRegressor(rs.BrownianSheets(), 300, random_state=0).fit(X, y)
    assert chosen.alpha_ > 0
    assert chosen.gcv_error_ < plain.gcv_error_
    with pytest.raises(ValueError, match="alpha='gcv' takes functions for independent"):
        rs.SpanRegressor(rs.Trees(), 5, alpha="gcv").fit(X, y)
    # A loss without a minimum gets a ridge, and so does the kernel machine.
    labels = np.where(y > 0, 1, -1)
    hinge = rs.SpanClassifier(rs.BrownianSheets(), loss="logistic", random_state=0)
    assert hinge.fit(X, labels).alpha_ > 0
    exact = rs.SpanRegressor(rs.BrownianSheets(depth=np.inf), np.inf).fit(X[:300], y[:300])
    assert exact.alpha_ > 0
    assert exact.score(X, y) > 0.95
    again = rs.SpanRegressor(frame=exact.frame_).fit(X[:300], y[:300])
    assert again.alpha_ == exact.alpha_


@pytest.mark.parametrize("kind", [rs.SpanRegressor, rs.SpanClassifier])
def test_functions_that_do_not_vary_leave_the_mean(kind, rng):
    X, y = np.full((50, 2), 0.7), rng.normal(size=50)
    if kind is rs.SpanClassifier:
        y = np.where(np.arange(50) < 20, 1, 0)
    expected = y.mean() if kind is rs.SpanRegressor else 2 * y.mean() - 1
    constant = rs.Dictionary(lambda X: np.full((len(X), 4), 0.3))
    for family in (rs.BrownianSheets(), rs.ScrambledWavelets(), constant):
        for model in (kind(family, 10, random_state=0), kind(family, 60, random_state=0)):
            model.fit(X, y)
            found = getattr(model, "decision_function", model.predict)(X[:1])
            assert found == pytest.approx(expected, abs=1e-9)
    one = rs.SpanRegressor(rs.BrownianSheets(), 10, random_state=0)
    one.partial_fit(rng.uniform(size=(1, 2)), [3.0])
    assert one.predict(X[:1]) == pytest.approx(3.0)


@pytest.mark.parametrize("family", [rs.BrownianSheets(2), rs.Dictionary(rs.Mercer())])
def test_streams_of_ill_conditioned_functions_are_fits(family, rng):
    X = rng.uniform(size=(600, 1))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=600)
    whole = rs.SpanRegressor(family, random_state=0).fit(X, y)
    stream, other = (rs.SpanRegressor(family, frame=whole.frame_) for _ in range(2))
    stream.partial_fit(X[:200], y[:200]).partial_fit(X[200:400], y[200:400])
    stream.merge(other.partial_fit(X[400:], y[400:]))
    assert stream.alpha_ == whole.alpha_ == 0
    np.testing.assert_allclose(stream.predict(X), whole.predict(X), atol=1e-4)
    # Forgetting and mixed merges go through moments, with the least ridge that these can carry.
    rest = rs.SpanRegressor(family, frame=whole.frame_).fit(X[:400], y[:400])
    whole.forget(X[400:], y[400:])
    gap = whole.predict(X) - rest.predict(X)
    assert np.sqrt((gap**2).mean()) < 0.3 * 0.1
    rest.merge(whole)
    whole.merge(rest)
    for solver in ("eigen", "dual", "cholesky"):
        named = rs.SpanRegressor(family, solver=solver, frame=rest.frame_).fit(X, y)
        gap = named.predict(X) - stream.predict(X)
        assert np.sqrt((gap**2).mean()) < 0.3 * 0.1


def test_named_solvers_stream_as_they_fit(rng):
    X = rng.uniform(size=(300, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=300)
    for solver in ("eigen", "cholesky", "qr", "dual"):
        whole = rs.SpanRegressor(rs.BrownianSheets(2), 60, solver=solver, random_state=0)
        whole.fit(X, y)
        stream = rs.SpanRegressor(rs.BrownianSheets(2), 60, solver=solver, frame=whole.frame_)
        stream.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
        assert stream.solution_.solver == whole.solution_.solver
        np.testing.assert_allclose(stream.alpha_, whole.alpha_, rtol=0.2)
        gap = stream.predict(X) - whole.predict(X)
        assert np.sqrt((gap**2).mean()) < 0.1 * 0.1
    with pytest.raises(ValueError, match="orthogonal factor"):
        rs.SpanRegressor(rs.BrownianSheets(1), 20, solver="qr").fit(X, y).forget(X[:9], y[:9])


def test_what_is_refused_leaves_the_model_as_it_was(rng):
    X = rng.uniform(size=(200, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=200)
    model = rs.SpanRegressor(rs.BrownianSheets(1), 50, random_state=0).partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="cannot have been in the model"):
        model.forget(X[:50], y[:50] + 1000)
    model.partial_fit(X[:1], y[:1], sample_weight=[1e-12])
    np.testing.assert_allclose(model.predict(X), before, atol=1e-6)
    model.set_params(alpha=0.1).forget(X[:100], y[:100])  # a ridge, and the factor is left
    rest = rs.SpanRegressor(alpha=0.1, frame=model.frame_).fit(X[100:], y[100:])
    np.testing.assert_allclose(model.predict(X), rest.predict(X), atol=1e-4)

    def broken(X):
        return np.full(X.shape, np.nan) if (X > 50).any() else X

    fragile = rs.SpanRegressor(rs.Dictionary(broken), 2, standardize=False, random_state=0)
    fragile.partial_fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        fragile.partial_fit(100 + X, y + 1000)
    assert np.abs(fragile._model.extent).max() < 10


def test_too_much_forgetting_is_refused(rng, monkeypatch):
    """Where rows are too many to be kept; few are read again."""
    monkeypatch.setattr(models, "KEPT_ROWS", 0)
    X = rng.uniform(size=(200, 2))
    y, heavy = np.sin(5 * X[:, 0]), np.full(100, 1e12)
    model = rs.SpanRegressor(rs.BrownianSheets(), random_state=0).partial_fit(X, y)
    model.partial_fit(X[:100], y[:100], heavy).forget(X[:100], y[:100], heavy)
    with pytest.raises(np.linalg.LinAlgError, match="So much was forgotten"):
        model.predict(X)
    flat = rs.SpanRegressor(rs.BrownianSheets(), random_state=0).partial_fit(np.ones((200, 2)), y)
    flat.forget(np.ones((10, 2)), y[:10])
    assert flat.predict(np.ones((1, 2))) == pytest.approx(y[10:].mean(), abs=1e-6)


def test_the_least_ridge_that_moments_carry(rng):
    X = rng.uniform(size=(400, 1))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.normal(size=400)
    smooth = rs.BrownianSheets(2)  # eigenvalues fall like i^-6
    whole = rs.SpanRegressor(smooth, 60, random_state=0).fit(X, y)
    assert whole.alpha_ == 0
    stream = rs.SpanRegressor(smooth, 60, frame=whole.frame_).partial_fit(X, y)
    stream.forget(X[300:], y[300:])
    assert 0 < stream.alpha_ < 1e-5
    rest = rs.SpanRegressor(smooth, 60, frame=whole.frame_).partial_fit(X[:300], y[:300])
    # So small a ridge makes a fit a little smoother, nothing else.
    risks = [((model.predict(X) - np.sin(5 * X[:, 0])) ** 2).mean() for model in (stream, rest)]
    assert risks[0] < 1.1 * risks[1]
    refused = rs.SpanRegressor(smooth, 60, alpha=0, frame=whole.frame_).partial_fit(X, y)
    with pytest.raises(np.linalg.LinAlgError, match="Raise alpha"):
        refused.predict(X)


@pytest.mark.parametrize("family", [rs.BrownianSheets(), rs.ScrambledWavelets()])
def test_streams_merge_and_forget_with_default_parameters(family, rng):
    X = rng.uniform(size=(600, 2))
    y = X[:, 0] * np.sin(5 * X[:, 1])
    whole = rs.SpanRegressor(family, random_state=0).fit(X, y)
    a, b = (rs.SpanRegressor(family, frame=whole.frame_) for _ in range(2))
    a.partial_fit(X[:200], y[:200]).partial_fit(X[200:300], y[200:300])
    a.merge(b.partial_fit(X[300:], y[300:]))
    np.testing.assert_allclose(a.predict(X), whole.predict(X), atol=1e-7)
    a.forget(X[300:], y[300:])
    part = rs.SpanRegressor(family, frame=whole.frame_).fit(X[:300], y[:300])
    np.testing.assert_allclose(a.predict(X), part.predict(X), atol=1e-7)
    np.testing.assert_allclose(
        part.leave_one_out(X[:300], y[:300])[7],
        rs.SpanRegressor(family, frame=whole.frame_)
        .fit(np.delete(X[:300], 7, 0), np.delete(y[:300], 7))
        .predict(X[7:8])[0],
        atol=1e-7,
    )
