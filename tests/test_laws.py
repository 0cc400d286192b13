"""Laws that a user may choose: phases of cosines, thresholds and columns of stumps."""

import numpy as np
import pytest

import randspan as rs
from test_kernels import agrees, estimates, points, upper


def quarters(size, rng):
    return np.pi / 2 * rng.integers(4, size=size)


def symmetric(size, rng):
    """Symmetric about 0, which is not enough."""
    return rng.normal(size=size) / 4


@pytest.mark.parametrize("phases", [symmetric, lambda size, rng: np.zeros(size)])
def test_phases_that_change_the_kernel_are_refused(phases):
    with pytest.raises(ValueError, match=r"E exp\(2ib\) = 0"):
        rs.Fourier(phases=phases).draw(points(3), 3, 0)


def tilted(size, rng):
    return 0.3 + quarters(size, rng)


def half_a_turn(size, rng):
    """U[0, π]: e^{2ib} goes round once."""
    return np.pi * rng.random(size)


@pytest.mark.parametrize("phases", [tilted, half_a_turn])
def test_other_laws_of_phases_have_the_same_kernel(phases):
    X, family = points(3), rs.Fourier(gamma=0.5, phases=phases)
    assert agrees(estimates(family, X, 100), upper(family.kernel(X)), 0.01)


def test_phases_of_a_sampler_are_those_of_the_functions():
    X = points(3)
    functions = rs.Fourier(gamma=0.5, phases=quarters).draw(X, 500, 0)
    plain = rs.Fourier(gamma=0.5).draw(X, 500, 0)
    assert np.array_equal(functions.frequencies, plain.frequencies)
    turns = np.unique(np.round(functions.phases * 4, 12) % 4)
    assert np.array_equal(turns, [0, 1, 2, 3])
    expected = np.sqrt(2) * np.cos(X @ functions.frequencies.T + 2 * np.pi * functions.phases)
    np.testing.assert_allclose(functions(X), expected, atol=1e-6)
    more = rs.Fourier(gamma=0.5, phases=quarters).draw(X, 700, 0)
    assert np.array_equal(more.phases[:500], functions.phases)
    for family, message in (
        (rs.Fourier(phases="normal"), "phases must be one of"),
        (rs.Fourier(phases=quarters, form="paired"), "have no phases"),
        (rs.Fourier(phases=lambda size, rng: [0.0, 1.0]), "must return 4096 finite"),
    ):
        with pytest.raises(ValueError, match=message):
            family.draw(X, 4, 0)


def exponential(d, rng):
    return rng.exponential(size=d) * np.arange(1, d + 1)


def mostly_last(size, rng):
    return 2 if rng.random() < 0.8 else 0


def test_thresholds_of_a_sampler_have_their_kernel():
    X = 1 + points(3)
    family = rs.Stumps(exponential)
    F = 1 - np.exp(-np.maximum(X, 0) / [1, 2, 3])
    expected = 1 - 2 * np.abs(F[:, None] - F).mean(axis=2)
    assert agrees(estimates(family, X, 300), upper(expected), 0.005)
    assert not agrees(estimates(rs.Stumps("normal"), X, 1000), upper(expected), 0.005)
    with pytest.raises(NotImplementedError, match="sampler of yours"):
        family.kernel(X)
    with pytest.raises(ValueError, match="sampler of yours"):
        rs.SpanRegressor(family, np.inf).fit(X, X[:, 0])


def test_columns_have_their_probabilities():
    X = points(3)
    given = rs.Stumps("normal", probabilities=[0.0, 1.0, 3.0]).draw(X, 40_000, 0)
    shares = np.bincount(given.columns, minlength=3) / 40_000
    assert shares[0] == 0
    assert abs(shares[1] - 0.25) <= 4 * np.sqrt(0.25 * 0.75 / 40_000)
    own = rs.Stumps("normal", probabilities=mostly_last).draw(X, 2000, 0)
    shares = np.bincount(own.columns, minlength=3) / 2000
    assert shares[1] == 0
    assert abs(shares[2] - 0.8) <= 4 * np.sqrt(0.8 * 0.2 / 2000)
    equal = rs.Stumps(probabilities=[2, 2, 2]).draw(X, 300, 0)
    assert np.array_equal(equal.columns, rs.Stumps().draw(X, 300, 0).columns)
    for wrong in ([1.0, 1.0], [-1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0], "all"):
        with pytest.raises(ValueError, match=r"probabilities|could not convert"):
            rs.Stumps(probabilities=wrong).draw(X, 3, 0)
    with pytest.raises(ValueError, match="index of a column"):
        rs.Stumps(probabilities=lambda size, rng: 3).draw(X, 3, 0)
    with pytest.raises(ValueError, match="threshold must be one of"):
        rs.Stumps("cauchy").draw(X, 3, 0)


@pytest.mark.parametrize(
    "family",
    [
        rs.Fourier(phases=quarters),
        rs.Stumps(exponential, probabilities=[1.0, 2.0, 0.0]),
        rs.Stumps("normal", probabilities=mostly_last),
        rs.Networks(weights="standard"),
        rs.BrownianSheets(4, depth=1),
    ],
    ids=["phases", "thresholds", "columns", "networks", "sheets"],
)
def test_models_of_these_laws_come_back_from_files(family, tmp_path, rng):
    X = rng.normal(size=(60, 3))
    model = rs.SpanRegressor(family, 12, alpha=0.1, random_state=0).fit(X, X[:, 0])
    rs.save(model, tmp_path / "model.rsp")
    known = {one.__name__: one for one in (quarters, exponential, mostly_last)}
    again = rs.load(tmp_path / "model.rsp", functions=known)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert repr(again.family) == repr(model.family)
