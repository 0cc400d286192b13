"""Bags of functions that learn from targets: rows of equal inputs share them, whatever comes."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeRegressor

import randspan as rs
from randspan.families.shared.randomness import bits_of
from randspan.keys import keys_of
from randspan.solvers import out_of_bag
from randspan.statistics import OutOfBagMoments


def data(n=300, d=4, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] ** 2 + noise * rng.normal(size=n)


def twice(X, y):
    return np.concatenate([X, X]), np.concatenate([y, y])


# -- coins -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [np.arange(20_000), np.arange(20_000) << 40], ids=["low", "high"])
def test_coins_of_keys_are_fair_and_independent(keys):
    """Of keys that differ in few bits, for functions next to each other."""
    keys = keys.astype(np.uint64)
    coins = np.array([bits_of(0, f"bag {j}", keys) for j in range(10)]) / 2.0**64
    assert stats.kstest(coins.ravel(), "uniform").pvalue > 1e-4
    inside = coins < 0.8
    for a, b in ((inside[:-1], inside[1:]), (inside[:, :-1], inside[:, 1:])):
        assert stats.binomtest(int((a & b).sum()), a.size, 0.64).pvalue > 1e-4
    # Three functions at two rows each: nothing of higher order either.
    pairs = inside[:, :-1] ^ inside[:, 1:]
    odd = pairs[:-2] ^ pairs[1:-1] ^ pairs[2:]
    share = (1 - (1 - 2 * 0.32) ** 3) / 2
    assert stats.binomtest(int(odd[::3].sum()), odd[::3].size, share).pvalue > 1e-4


def test_rows_of_equal_inputs_share_every_bag():
    X, y = data(50)
    rows, targets = np.concatenate([X, X[:20]]), np.concatenate([y, -y[:20]])
    functions = rs.Trees(max_features=1).draw(rows, 30, 0, targets)
    bags = functions.out_of_bag
    seen = bags.seen(bags.indices(keys_of(rows), targets[:, None]), 30)
    np.testing.assert_array_equal(seen[:20], seen[50:])
    later = bags.seen(bags.indices(keys_of(X), 7 + y[:, None]), 30)
    np.testing.assert_array_equal(later, seen[:50])
    assert 0.7 < seen.mean() < 0.9


@pytest.mark.parametrize("output", ["value", "leaves"])
def test_the_order_of_rows_changes_no_tree(output):
    X, y = data()
    X[:40], order = X[40:80], np.random.default_rng(0).permutation(300)
    family = rs.Trees(output=output, splitter="best")
    one, other = family.draw(X, 10, 0, y), family.draw(X[order], 10, 0, y[order])
    np.testing.assert_array_equal(one.forest.threshold, other.forest.threshold)
    np.testing.assert_array_equal(one.forest.value, other.forest.value)


@pytest.mark.parametrize("classes", [False, True])
def test_hypotheses_do_not_depend_on_the_order_of_rows(classes):
    X, y = data(60)
    order = np.random.default_rng(0).permutation(60)
    for targets in ("given", "random"):
        family = rs.Hypotheses(DecisionTreeRegressor(), targets=targets)
        y = (y > 0).astype(int) if classes else y
        one, other = family.draw(X, 5, 0, y), family.draw(X[order], 5, 0, y[order])
        np.testing.assert_allclose(one(X), other(X), atol=1e-12)


# -- rows that stand twice -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [rs.SpanRegressor, rs.SpanClassifier])
@pytest.mark.parametrize(
    ("family", "same"),
    [
        (rs.Trees(), 1e-6),
        (rs.Trees(replace=True, min_samples_leaf=3), 1e-6),
        # Of two splits as good scikit-learn takes either.
        (rs.Hypotheses(DecisionTreeRegressor(max_depth=4)), 0.02),
    ],
    ids=repr,
)
def test_rows_that_stand_twice_are_rows_of_weight_two(kind, family, same):
    X, y = data(150)
    y = (y > 0.3).astype(int) if kind is rs.SpanClassifier else y
    weighed = kind(family, 20, random_state=0).fit(X, y, np.full(150, 2.0))
    model = kind(family, 20, random_state=0).fit(*twice(X, y))
    assert model.alpha_ == pytest.approx(weighed.alpha_)
    assert model.validation_.error == pytest.approx(weighed.validation_.error, rel=same)
    found, expected = (
        getattr(one, "decision_function", one.predict)(X) for one in (model, weighed)
    )
    assert np.mean((found - expected) ** 2) <= same * expected.var()


@pytest.mark.parametrize("change", ["none", "one target", "weights"])
def test_errors_of_rows_that_stand_twice_are_those_on_new_rows(change):
    """One contradicting pair changes nothing, nor do weights."""
    away = []
    for seed in range(8):
        X, y = data(200, seed=seed)
        rows, targets = twice(X, y)
        weights = None
        if change == "one target":
            targets[3] += 1
        if change == "weights":
            weights = np.concatenate([np.full(200, 0.5), np.full(200, 1.5)])
        model = rs.SpanRegressor(rs.Trees(max_features=2), 30, random_state=seed)
        model.fit(rows, targets, weights)
        new, fresh = data(2000, seed=100 + seed)
        error = np.mean((fresh - model.predict(new)) ** 2)
        away.append((model.validation_.error - error) / model.validation_.standard_error)
    assert abs(np.mean(away)) < 4 / np.sqrt(8)


def test_few_places_are_told_apart():
    """XOR of two binary columns: out of bag by places, no tree would know a quarter of it."""
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(400, 2)).astype(float)
    y = np.logical_xor(X[:, 0], X[:, 1]).astype(int)
    for output in ("value", "leaves"):
        family = rs.Trees(output=output)
        assert rs.SpanClassifier(family, 20, random_state=0).fit(X, y).score(X, y) == 1
        noisy = y + 0.5 * rng.normal(size=400)
        model = rs.SpanRegressor(family, 20, random_state=0).fit(X, noisy)
        np.testing.assert_allclose(model.predict(X), y, atol=4 * 0.5 / 10)
        assert model.validation_.error == pytest.approx(0.25, abs=4 * 0.25 * np.sqrt(2 / 400))
    streamed = rs.SpanRegressor(frame=model.frame_).partial_fit(X[:150], noisy[:150])
    streamed.partial_fit(X[150:], noisy[150:])
    np.testing.assert_allclose(streamed.predict(X), model.predict(X), atol=1e-6)


# -- units -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["one", "several", "weighed"])
@pytest.mark.parametrize(("factor", "offset"), [(1e-8, 0), (-1e-30, 0), (1e30, 0), (3, 1e5)])
def test_trees_do_not_depend_on_the_units_of_targets(shape, factor, offset):
    X, y = data(200)
    Y = np.column_stack([y, X[:, 2] + y**2]) if shape == "several" else y
    weights = np.random.default_rng(0).integers(1, 4, 200).astype(float)
    weights = weights if shape == "weighed" else None
    family = rs.Trees(splitter="auto", min_samples_leaf="auto")
    model = rs.SpanRegressor(family, 10, random_state=0)
    plain = model.fit(X, Y, weights).functions_.forest
    other = model.fit(X, factor * Y + offset, weights).functions_.forest
    np.testing.assert_array_equal(other.feature, plain.feature)
    np.testing.assert_array_equal(other.threshold, plain.threshold)
    np.testing.assert_allclose(other.value, factor * plain.value + offset, rtol=1e-9)
    assert model.score(X, factor * Y + offset, weights) > 0.5


@pytest.mark.parametrize("power", [-200, -30, 100, 300])
def test_trees_do_not_depend_on_the_units_of_columns(power):
    """scikit-learn takes columns that vary by 1e-7 for constant, and float32 ends at 3e38."""
    X, y = data(200)
    family = rs.Trees(max_features=2, bootstrap=1.0)
    scaled = np.ldexp(X, power)
    plain, other = family.draw(X, 5, 0, y), family.draw(scaled, 5, 0, y)
    np.testing.assert_allclose(other(scaled), plain(X), rtol=1e-9)


# -- tiny tables -----------------------------------------------------------------------------------


def tiny(n):
    """Fits of n rows of every kind: estimator, its arguments, targets, weights."""
    rng = np.random.default_rng(n)
    X, y = data(n, 3, seed=n)
    labels = np.arange(n) % min(n, 3)
    several, rare = np.column_stack([y, -y[::-1]]), (np.arange(n) == 0) * 1.0
    weights = np.where(np.arange(n) < 2, 1.0, rng.choice([0, 1, 2.5, 1e-3], n))
    R, C = rs.SpanRegressor, rs.SpanClassifier
    for family, k in ((rs.Trees(), 20), (rs.Trees(0.99, 1), 3), (rs.Trees(0.05, 1), 2)):
        yield R(family, k, random_state=n), X, y, None
        yield C(family, k, random_state=n), X, labels, None
    yield R(rs.Trees(max_features=1, replace=True), 20, random_state=n), X, several, weights
    yield R(rs.Trees(max_features=1), 20, fit_intercept=False, random_state=n), X, rare, None
    yield R(rs.Trees(), 20, solver="out_of_bag", alpha=0.0, random_state=n), X, y, weights
    yield R(rs.Trees(output="leaves"), 5, random_state=n), X, several, None


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 20])
def test_errors_of_tiny_tables_are_known_or_said_to_be_unknown(n):
    for model, X, y, weights in tiny(n):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # solvers of leaves may stop short
            model.fit(X, y, weights)
        told = model.validation_
        assert np.isfinite(model.predict(X)).all()
        assert (told.error >= 0 and told.standard_error >= 0) if told.kind else told.reason


def test_what_no_two_functions_have_out_of_bag_tells_nothing():
    rng = np.random.default_rng(0)
    H, Y, origin = rng.normal(size=(8, 3, 1)), rng.normal(size=(8, 1)), np.zeros(1)
    seen = np.ones((8, 3), dtype=bool)
    seen[:3] = ~np.eye(3, dtype=bool)  # every function has one row, and shares it with none
    for mask in (seen, np.ones((8, 3), dtype=bool)):
        given = OutOfBagMoments.zero(origin, 3).with_block(H, Y, np.ones(8), mask, np.arange(8) % 5)
        for alpha in ("auto", 0.0):
            found = out_of_bag.solve(given, alpha, True, "")
            assert np.isfinite(found.coef).all()
            assert found.validation.kind is None
            assert "too few rows" in found.validation.reason


def test_errors_that_seem_to_be_negative_tell_nothing():
    """Pairs of functions that meet on different rows may have any products of errors."""
    unknown = 0
    for seed in range(40):
        X, y = np.random.default_rng(seed).normal(size=(2, 5, 8))[:, 0, :, None]
        model = rs.SpanRegressor(rs.Trees(max_features=1), 5, random_state=seed)
        model.fit(X, y[:, 0])
        unknown += model.validation_.kind is None
        assert model.validation_.kind is None or model.validation_.error >= 0
    assert 0 < unknown < 20


# -- rows that go ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["classes", "offset", "rare", "constant", "few values"])
def test_rows_that_were_there_are_never_refused(case):
    """Windows of a stream: sums of squares that should be 0 are rounding, of either sign."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, weights = rng.normal(size=(40, 3)), rng.choice([0.1, 0.3, 0.7], 40)
        y = {
            "classes": (X[:, 0] > 0) * 1.0,
            "offset": X[:, 0] + 1e8,
            "rare": np.where(np.arange(40) == 3, 1e6, 0.1),
            "constant": np.full(40, 0.3),
            "few values": rng.integers(3, size=40) * 0.1,
        }[case]
        model = rs.SpanRegressor(rs.Trees(max_features=1), 4, random_state=seed)
        model.partial_fit(X[:10], y[:10], weights[:10])
        for start in range(0, 30, 3):
            new, old = slice(start + 10, start + 13), slice(start, start + 3)
            model.partial_fit(X[new], y[new], weights[new])
            model.forget(X[old], y[old], weights[old])
        again = rs.SpanRegressor(frame=model.frame_).partial_fit(X[30:], y[30:], weights[30:])
        np.testing.assert_allclose(model.predict(X), again.predict(X), rtol=1e-9, atol=1e-9)
        with pytest.raises(ValueError, match="cannot have been in the model"):
            model.forget(X[30:], y[30:] + 1e9, weights[30:])
        model.forget(X[30:36], y[30:36], weights[30:36]).forget(X[36:], y[36:], weights[36:])


def test_the_row_that_goes_is_the_one_that_was_given():
    """Of two rows in the same leaves, with the same target and weight."""
    X, y = data(60)
    y = (y > 0.3) * 1.0
    family = rs.Trees(output="leaves", min_samples_leaf=15, max_features=1)
    model = rs.SpanRegressor(family, 2, random_state=0).fit(X, y)
    for row in range(10):
        model.forget(X[[row]], y[[row]])
        kept = model._model.statistics.kept.arrays["keys"]
        np.testing.assert_array_equal(np.sort(kept), np.sort(keys_of(X[row + 1 :])))
    rest = rs.SpanRegressor(frame=model.frame_).fit(X[10:], y[10:])
    np.testing.assert_allclose(model.predict(X), rest.predict(X), atol=1e-6)
