"""Probabilities, class weights, and alpha by held-out rows."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

import randspan as rs
from randspan.calibration import Calibration
from randspan.keys import keys_of
from randspan.solvers import heldout

LOSSES = ["squared", "hinge", "squared_hinge", "logistic", "exponential"]


def noisy(n, classes=2, seed=0):
    X, y = make_classification(
        n, 6, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.1, class_sep=0.8,
        random_state=seed,
    )  # fmt: skip
    return X, y


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("alpha", ["auto", 0.3])
def test_probabilities_are_calibrated(loss, classes, alpha):
    """On new rows: sums of 1, the class predicted is the most probable one, and in every tenth of
    the rows as many are right as the probabilities say, to five standard errors and 4 % of bias
    (6 % for the logistic loss, whose probabilities are its own: labels were flipped at random, so
    that no true probability is near 1, which a linear model of log-odds cannot know)."""
    X, y = noisy(9000, classes)
    train, test = slice(0, 3000), slice(3000, None)
    model = rs.SpanClassifier(rs.Fourier(), 200, loss=loss, alpha=alpha, random_state=0)
    p = model.fit(X[train], y[train]).predict_proba(X[test])
    assert p.shape == (6000, classes)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (p >= 0).all()
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X[test]))
    sure = p[:, 1]
    right = y[test] == 1
    for part in np.array_split(np.argsort(sure), 10):
        expected = sure[part].mean()
        error = np.sqrt(expected * (1 - expected) / len(part))
        assert abs(right[part].mean() - expected) < 5 * error + (
            0.06 if loss == "logistic" else 0.04
        )


def test_calibration_finds_known_numbers(rng):
    """Labels drawn from 1/(1 + exp(-(2s + s³/2))) give 2 and ½ back."""
    s = rng.normal(size=(200_000, 1))
    p = 1 / (1 + np.exp(-(2 * s + 0.5 * s**3)))
    y = np.where(rng.uniform(size=s.shape) < p, 1.0, -1.0)
    found = Calibration.of(s, y, np.ones(len(s)))
    assert found.slope == pytest.approx(2, abs=0.06)
    assert found.cube == pytest.approx(0.5, abs=0.06)


def test_separable_classes_have_finite_probabilities():
    X = np.r_[np.random.default_rng(0).normal(size=(50, 2)) + 8, np.zeros((50, 2))]
    y = np.repeat([0, 1], 50)
    for loss in LOSSES:
        p = rs.SpanClassifier(rs.Fourier(), 50, loss=loss, alpha=1e-3, random_state=0)
        p = p.fit(X, y).predict_proba(X)
        assert np.isfinite(p).all()
        assert log_loss(y, p) < 0.2, loss


def test_streams_have_probabilities_too():
    X, y = noisy(3000)
    model = rs.SpanClassifier(rs.Fourier(), 100, random_state=0)
    for s in range(0, 2000, 500):
        model.partial_fit(X[s : s + 500], y[s : s + 500])
    p = model.predict_proba(X[2000:])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X[2000:]))
    assert log_loss(y[2000:], p) < 0.6
    # And a fit that is added to forgets its calibration instead of keeping a stale one.
    whole = rs.SpanClassifier(rs.Fourier(), 100, random_state=0).fit(X[:2000], y[:2000])
    before = whole.predict_proba(X[2000:])
    after = whole.partial_fit(X[:100], y[:100]).predict_proba(X[2000:])
    assert np.abs(before - after).max() > 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_class_weights_are_weights_of_rows(loss):
    X, y = noisy(600, 3)
    each = np.array([1.0, 3.0, 0.5])
    params = {"loss": loss, "alpha": 0.1, "dtype": "float64", "random_state": 0}
    weighted = rs.SpanClassifier(
        rs.Fourier(gamma=0.1), 40, class_weight={0: 1, 1: 3, 2: 0.5}, standardize=False, **params
    ).fit(X, y)
    rows = rs.SpanClassifier(rs.Fourier(gamma=0.1), 40, standardize=False, **params)
    rows.fit(X, y, sample_weight=each[y])
    np.testing.assert_allclose(
        weighted.decision_function(X),
        rows.decision_function(X),
        atol=0.02 if loss == "hinge" else 1e-5,
    )
    np.testing.assert_array_equal(weighted.class_weight_, each)


def test_balanced_weights_find_the_rare_class():
    X, y = make_classification(3000, 5, weights=[0.97], class_sep=0.5, random_state=0)
    for loss in LOSSES:
        params = {"loss": loss, "alpha": 0.1, "random_state": 0}
        plain = rs.SpanClassifier(rs.Fourier(), 50, **params).fit(X, y)
        even = rs.SpanClassifier(rs.Fourier(), 50, class_weight="balanced", **params).fit(X, y)
        assert even.predict(X)[y == 1].mean() > plain.predict(X)[y == 1].mean() + 0.1, loss


def test_balanced_weights_need_all_rows():
    X, y = noisy(100)
    model = rs.SpanClassifier(rs.Fourier(), 10, class_weight="balanced")
    with pytest.raises(ValueError, match="class_weight='balanced' needs to see all rows"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="class_weight"):
        rs.SpanClassifier(rs.Fourier(), 10, class_weight={7: 1.0}).fit(X, y)
    weighted = rs.SpanClassifier(rs.Fourier(), 10, class_weight={0: 2.0, 1: 1.0}, random_state=0)
    weighted.partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(X[50:], y[50:])
    weighted.forget(X[50:], y[50:])
    assert weighted.score(X, y) > 0.4


@pytest.mark.parametrize("n", [50, 2000, 9000, 10**6])
def test_folds(n):
    """Enough rows are held out, no row twice, the same ones every time and in any order."""
    keys = keys_of(np.arange(float(n))[:, None])
    parts = heldout.Folds.of(np.ones(n), 3, keys).parts
    every = np.concatenate(parts)
    assert len(np.unique(every)) == len(every)
    assert len(every) >= min(n, heldout.ENOUGH_ROWS) * 0.8
    assert len(parts) == (5 if n <= 2000 else 1)
    order = np.random.default_rng(0).permutation(n)
    others = heldout.Folds.of(np.ones(n), 3, keys[order]).parts
    for part, other in zip(parts, others, strict=True):
        np.testing.assert_array_equal(part, np.sort(order[other]))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "exponential"])
def test_alpha_by_held_out_rows_is_near_the_best(loss):
    """Among alphas a factor of ten apart none does much better on new rows."""
    X, y = noisy(6000, seed=1)
    train, test = slice(0, 1500), slice(1500, None)
    model = rs.SpanClassifier(rs.Fourier(), 150, loss=loss, random_state=0)
    chosen = model.fit(X[train], y[train])
    found, error = chosen.alpha_, 1 - chosen.score(X[test], y[test])
    for factor in (1e-3, 1e-2, 0.1, 10, 100):
        other = model.set_params(alpha=found * factor).fit(X[train], y[train])
        assert error <= 1 - other.score(X[test], y[test]) + 0.012
