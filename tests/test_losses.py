"""Losses by finite differences, proximal maps by their own definition."""

import numpy as np
import pytest
from scipy import optimize

from randspan import losses
from randspan.losses import NAMED, Huber, Pinball, Softmax
from table import suited

LOSSES = {
    **{name: kind() for name, kind in NAMED.items()},
    "huber-narrow": Huber(0.3),
    "pinball-high": Pinball(0.9),
}
SMOOTH = [name for name, loss in LOSSES.items() if loss.smooth]
KINKED = [name for name, loss in LOSSES.items() if not loss.smooth]


def points(loss, rng, n=400):
    """Scores and targets, none within 1e-3 of a kink or a jump of the curvature."""
    s = rng.normal(scale=2, size=n)
    y = np.sign(rng.normal(size=n)) if not loss.for_numbers else rng.normal(size=n)
    y = suited(loss, y)
    corners = {"huber": [loss.delta] if hasattr(loss, "delta") else [], "squared_hinge": []}
    away = np.abs(s - y)
    margin = np.abs(1 - y * s)
    keep = (away > 1e-3) & (margin > 1e-3)
    keep &= np.abs(away - getattr(loss, "epsilon", -1)) > 1e-3
    for corner in corners.get(loss.name, []):
        keep &= np.abs(away - corner) > 1e-3
    return s[keep], y[keep]


@pytest.mark.parametrize("name", LOSSES)
def test_slope_is_the_derivative(name, rng):
    loss = LOSSES[name]
    s, y = points(loss, rng)
    h = 1e-6
    numeric = (loss.value(s + h, y) - loss.value(s - h, y)) / (2 * h)
    # Differences of large values have few digits.
    digits = 1e-7 + 1e-15 / h * loss.value(s, y).max()
    np.testing.assert_allclose(loss.slope(s, y), numeric, rtol=1e-5, atol=digits)


@pytest.mark.parametrize("name", SMOOTH)
def test_curvature_is_the_second_derivative(name, rng):
    loss = LOSSES[name]
    s, y = points(loss, rng)
    h = 1e-6
    numeric = (loss.slope(s + h, y) - loss.slope(s - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(s, y), numeric, rtol=1e-5, atol=1e-7)


def test_softmax_derivatives(rng):
    loss, h = Softmax(), 1e-6
    s = rng.normal(size=(50, 4))
    y = np.where(np.arange(4) == rng.integers(4, size=(50, 1)), 1.0, -1.0)
    for c in range(4):
        step = h * (np.arange(4) == c)
        numeric = (loss.value(s + step, y) - loss.value(s - step, y)) / (2 * h)
        np.testing.assert_allclose(loss.slope(s, y)[:, c], numeric, atol=1e-8)
        second = (loss.slope(s + step, y) - loss.slope(s - step, y))[:, c] / (2 * h)
        np.testing.assert_allclose(loss.curvature(s, y)[:, c], second, atol=1e-8)
    np.testing.assert_allclose(loss.probabilities(s).sum(axis=1), 1)


@pytest.mark.parametrize("name", KINKED)
@pytest.mark.parametrize("t", [0.05, 0.7, 5.0])
def test_the_proximal_map_minimises(name, t, rng):
    loss = LOSSES[name]
    for s, y in zip(*points(loss, rng, 40), strict=True):

        def total(u, s=s, y=y):
            return t * float(loss.value(np.array(u), np.array(y))) + (u - s) ** 2 / 2

        found = float(loss.prox(np.array(s), np.array(y), t))
        best = optimize.minimize_scalar(
            total, bounds=(s - 10, s + 10), method="bounded", options={"xatol": 1e-9}
        )
        assert total(found) <= best.fun + 1e-9


@pytest.mark.parametrize("name", LOSSES)
def test_facts(name, rng):
    """Convex, as steep as stated, and the curvature bounded as stated."""
    loss = LOSSES[name]
    s, y = points(loss, rng)
    other = rng.normal(scale=2, size=len(s))
    middle = loss.value((s + other) / 2, y)
    assert (middle <= (loss.value(s, y) + loss.value(other, y)) / 2 + 1e-12).all()
    assert np.abs(loss.slope(s, y)).max() <= loss.lipschitz + 1e-12
    if loss.smooth:
        assert loss.curvature(s, y).max() <= loss.steepest + 1e-12
    assert loss.for_classes or loss.for_numbers


def test_logistic_is_the_softmax_of_two_classes(rng):
    s = rng.normal(size=(20, 1))
    y = np.sign(rng.normal(size=(20, 1)))
    two = Softmax().value(np.hstack([0 * s, s]), np.hstack([-y, y]))
    np.testing.assert_allclose(two, NAMED["logistic"]().value(s, y)[:, 0])


def test_huber_is_squared_in_the_limit(rng):
    s, y = rng.normal(size=(2, 50))
    np.testing.assert_allclose(Huber(1e6).value(s, y), NAMED["squared"]().value(s, y))


def test_large_scores_stay_finite():
    s = np.array([1e3, -1e3, 1e8])
    for name, loss in LOSSES.items():
        y = suited(loss, -np.ones(3))
        assert np.isfinite(loss.value(s, np.ones(3))).all(), name
        assert np.isfinite(loss.slope(s, y)).all(), name
        if loss.smooth:
            assert np.isfinite(loss.curvature(s, y)).all(), name


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pinball(0.0),
        lambda: Pinball(1.0),
        lambda: Huber(0.0),
        lambda: Huber(np.inf),
        lambda: losses.EpsilonInsensitive(-0.1),
    ],
)
def test_wrong_parameters_of_losses(make):
    with pytest.raises(ValueError, match="must"):
        make()
