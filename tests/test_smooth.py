"""Functions without noise: scales of the largest likelihood, and when they are looked for."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import randspan as rs
from randspan.tuning import noise_free
from randspan.tuning.scales import (
    KERNELS,
    Learner,
    Scales,
    _slope_of_likelihood,
    squares_at,
    start,
)

R = rs.SpanRegressor


def bowl(X):
    """Three columns matter."""
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2


def table(n=150, d=5, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, d))
    return X, bowl(X)


def learner(kernel, X, Y, weights=None, groups=None):
    generator = np.random.default_rng(0)
    given = (X, Y, weights, generator, lambda f, items: [f(i) for i in items], lambda steps: None)
    return Learner(KERNELS[kernel], *given, groups, 600)


def surprise(kernel, X, Y, at):
    """log(y'Py/n) + log|K + μI|/n, the mean of targets."""
    n = len(X)
    C = KERNELS[kernel].matrix(X * at.scales)[0] + at.ridge * np.eye(n)
    each = [np.log(y @ np.linalg.solve(C, y) / n) for y in (Y - Y.mean(axis=0)).T]
    return float(np.mean(each) + np.linalg.slogdet(C)[1] / n)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if KERNELS[name].turns])
def test_the_slopes_of_the_likelihood_are_right(kernel, rng):
    X = rng.normal(size=(60, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    Y -= Y.mean(axis=0)
    at = Scales(np.array([0.5, 0.9, 0.3]), None, 1e-3)
    K, known = KERNELS[kernel].matrix(X * at.scales)
    K.flat[::61] += at.ridge
    G, value = _slope_of_likelihood(K, Y)
    assert value == pytest.approx(surprise(kernel, X, Y, at), rel=1e-9)
    slopes = np.append(
        KERNELS[kernel].slopes(X * at.scales, known, G), at.ridge * np.diagonal(G).sum()
    )
    for m in range(4):
        moved = []
        for h in (1e-5, -1e-5):
            factors = np.exp(h * (np.arange(4) == m))
            other = Scales(at.scales * factors[:3], None, at.ridge * factors[3])
            moved.append(surprise(kernel, X, Y, other))
        assert slopes[m] == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=1e-4, abs=1e-6)


def test_no_process_is_likelier():
    """Against scikit-learn's search, which moves the variance as well."""
    X, y = table(80, 3)
    y += 1e-3 * y.std() * np.random.default_rng(1).normal(size=80)  # or ridges would have no end
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    Y = ((y - y.mean()) / y.std())[:, None]
    at = learner("gaussian", X, Y).likeliest(start(KERNELS["gaussian"], X))
    kernel = ConstantKernel() * RBF(np.ones(3)) + WhiteKernel(1e-3, (1e-12, 10.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = GaussianProcessRegressor(kernel, alpha=0, random_state=0).fit(X, Y[:, 0]).kernel_
    variance = theirs.k1.k1.constant_value
    found = Scales(1 / theirs.k1.k2.length_scale, None, theirs.k2.noise_level / variance)
    # -2/n of a log likelihood, one unit of which is 2.5e-2.
    assert surprise("gaussian", X, Y, at) < surprise("gaussian", X, Y, found) + 2.5e-2


def test_weights_and_tied_columns_have_their_say(rng):
    X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 1))
    tied = learner("gaussian", X, Y, groups=np.array([0, 0, 1]))
    at = tied.likeliest(start(KERNELS["gaussian"], X), 5)
    assert at.scales[0] == pytest.approx(at.scales[1], rel=1e-9)
    assert at.scales[0] != pytest.approx(at.scales[2], rel=1e-3)
    # A row of no weight to speak of is one that is not there.
    weights = np.where(np.arange(50) < 40, 1.0, 1e-12)
    at = Scales(np.ones(3), None, 0.1)
    squares = squares_at(KERNELS["gaussian"], X, Y - np.average(Y, 0, weights), weights, at)
    few = squares_at(KERNELS["gaussian"], X[:40], Y[:40], None, at)
    np.testing.assert_allclose(squares[:40], few, rtol=1e-6)


@pytest.mark.parametrize("family", ["fourier", "auto", rs.Fourier("gaussian")])
def test_smooth_functions_are_found_as_well_as_by_a_gaussian_process(family):
    X, y = table()
    new, truth = table(2000, seed=1)
    kernel = ConstantKernel() * RBF(np.ones(5)) + WhiteKernel(1e-3, (1e-10, 10.0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    model = R(family, random_state=0).fit(X, y)
    errors = [np.sqrt(np.mean((m.predict(new) - truth) ** 2)) for m in (model, process)]
    assert errors[0] <= 2 * errors[1]
    assert model.feature_importances_[3:].max() < 0.01


def test_a_kernel_without_errors_has_no_trees_beside_it():
    model = R("auto", random_state=0).fit(*table())
    dropped = {one.name: one.dropped for one in model.portfolio_ if one.dropped}
    assert "less than 0.05 %" in dropped["trees"]


@pytest.mark.parametrize(
    "kind", ["noise", "a little noise", "kinks", "few rows", "classes", "smooth"]
)
def test_what_is_looked_for_where(kind, rng, monkeypatch):
    """Only smooth functions without noise are treated as such."""
    X, y = table(40 if kind == "few rows" else 300)
    y = y / y.std()
    y = {
        "noise": y + 0.5 * rng.normal(size=len(y)),
        "a little noise": y + 0.08 * rng.normal(size=len(y)),
        "kinks": np.abs(X - 0.4).sum(axis=1),
        "classes": (y > np.median(y)).astype(float),
    }.get(kind, y)
    known = []
    ranked = noise_free.ranked

    def told(*given):
        known.append(ranked(*given))
        return known[-1]

    monkeypatch.setattr(noise_free, "ranked", told)
    R(random_state=0).fit(X, y)
    assert bool(known[0]) == (kind == "smooth")


def test_neither_threads_nor_the_order_of_rows_matter_without_noise(rng):
    X, y = table()
    order = rng.permutation(len(X))
    one, other, two = (
        R(random_state=0, n_jobs=jobs).fit(X[rows], y[rows])
        for jobs, rows in ((1, slice(None)), (1, order), (2, slice(None)))
    )
    assert other.frame_.same_as(one.frame_)
    assert two.frame_.same_as(one.frame_)
    np.testing.assert_allclose(two.predict(X), one.predict(X), rtol=1e-6)
