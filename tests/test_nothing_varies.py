"""Rows with equal inputs, and functions that hardly vary: what rounding leaves is nothing."""

import warnings

import numpy as np
import pytest

import randspan as rs
from randspan import losses
from randspan.solvers import spectrum
from randspan.solvers.alpha import lattice
from randspan.solvers.multipliers import Smoothed
from randspan.statistics import Moments
from randspan.statistics.moments import left_of_mean

FAMILIES = {
    "fourier": rs.Fourier(),
    "expansions": rs.KernelExpansions(),
    "units": rs.Units(),
    "projections": rs.Projections(),
}


def far_outside(model, X, y):
    """Whether a prediction of these inputs is more than the range of y away from it."""
    found, span = model.predict(X), np.ptp(y)
    return bool((np.abs(found - np.clip(found, y.min(), y.max())) > span).any())


@pytest.mark.parametrize("solver", ["auto", "cholesky"])
@pytest.mark.parametrize("family", FAMILIES)
def test_equal_rows_streamed_into_a_given_frame_predict_their_mean(family, solver):
    rng = np.random.default_rng(0)
    for seed in range(3):
        kept = {"n_components": 60, "clip": None, "random_state": seed}
        frame = rs.SpanRegressor(FAMILIES[family], alpha=1.0, **kept)
        frame = frame.fit(rng.normal(size=(50, 3)), rng.normal(size=50)).frame_
        model = rs.SpanRegressor(FAMILIES[family], frame=frame, solver=solver, **kept)
        X, y = np.tile(rng.normal(size=3), (400, 1)), 1e4 * rng.normal(size=400)
        for part in np.split(np.arange(400), np.sort(rng.integers(1, 400, 6))):
            if len(part):
                model.partial_fit(X[part], y[part])
        assert not far_outside(model, X, y), (seed, model.alpha_)
        new = rng.normal(size=(50, 3))  # where functions do vary
        assert not far_outside(model, new, y), (seed, model.alpha_)


@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("inputs", [1, 2])
def test_one_or_two_inputs_without_a_ridge_stay_within_the_targets(loss, dtype, inputs):
    solver = "sketched" if loss == "squared" else "auto"
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = np.tile(rng.normal(size=(inputs, 3)), (40, 1))
        y = rng.normal(size=len(X))
        model = rs.SpanRegressor(
            rs.Fourier(), 60, loss=loss, alpha=0, solver=solver, dtype=dtype, clip=None,
            standardize=False, random_state=seed,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        assert not far_outside(model, X, y)


def test_slopes_of_envelopes_hold_far_from_the_targets():
    """With no row at a kink a Newton step may lead to 1e14, where σ(v - prox v) has no digits."""
    scores = np.array([[-1e17], [-1e14], [0.0], [1e14], [1e17]])
    nothing = np.zeros_like(scores)
    for stiffness in (1.0, 1000.0, 0.1):
        envelope = Smoothed(
            operator=None, loss=losses.NAMED["absolute"](), targets=nothing, weights=np.ones(5),
            penalty=0.0, limits=None, intercept=False, original=None, multipliers=nothing,
            stiffness=stiffness,
        )  # fmt: skip
        _near, slopes = envelope.near(scores, slice(0, 5))
        np.testing.assert_allclose(slopes[:, 0], [-1, -1, 0, 1, 1], atol=1e-6)


def test_ridges_begin_above_what_rounding_leaves_of_the_mean():
    """Features of rounding errors alone, and the same beside what varies by 1e-3 of the mean."""
    rng, n, k, unit = np.random.default_rng(1), 1000, 8, 2.0**-24
    mean = rng.normal(size=k)
    for varies in (0.0, 1e-3):
        Z = mean * (1 + 2 * unit * rng.normal(size=(n, k)) + varies * rng.normal(size=(n, k)))
        moments = Moments.of(Z.copy(), rng.normal(size=(n, 1)), None)
        floor = left_of_mean(moments.weight, moments.mean, np.dtype(np.float32))
        path = spectrum.from_moments(moments, True, np.dtype(np.float32))
        alphas = lattice(path, k, np.dtype(np.float32), 10)
        assert (alphas * k >= floor).all()
        assert bool(len(alphas)) == bool(varies)


@pytest.mark.filterwarnings("error")
def test_of_means_without_squares_rounding_leaves_more_than_any_scatter():
    mean = np.array([1e277, -1e277])
    assert left_of_mean(1.0, mean, np.dtype(np.float64)) == np.inf
    assert 0 < left_of_mean(1.0, 1e-130 * mean, np.dtype(np.float64)) < np.inf


def test_out_of_bag_moments_that_are_no_squares_do_not_blow_up():
    """Means over the rows of each pair have negative eigenvalues: no ridge below them is one."""
    rng = np.random.default_rng(209)
    for seed in range(3):
        X, y = rng.normal(size=(90, 3)), rng.normal(size=90)
        X[:, 1:] = 0.0
        model = rs.SpanRegressor(
            rs.Trees(), 10, solver="out_of_bag", alpha=1e-3, clip=None, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.abs(model.fit(X, y).predict(X)).max() < 3 * np.abs(y).max()


@pytest.mark.parametrize("solver", ["auto", "eigen", "qr", "cholesky"])
@pytest.mark.parametrize("k", [5, 100])
@pytest.mark.parametrize("size", [1e-60, 1e-78, 1e-100, 1e-155, 1e-160])
def test_functions_whose_squares_underflow_have_no_weight(size, k, solver, rng):
    X = rng.normal(size=(60, 3))
    y = 5 + X[:, 0]
    tiny = rs.Projections(scale=size)
    for intercept in (True, False):
        options = {"solver": solver, "fit_intercept": intercept, "standardize": False}
        model = rs.SpanRegressor(tiny, k, **options, dtype="float64", scales=None, random_state=0)
        found = model.fit(X, y).predict(X)
        assert np.isfinite(found).all()
        if size < 1e-75:
            expected = y.mean() if intercept else 0.0
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
