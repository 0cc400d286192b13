"""Weights of functions that have learned from targets: fitted to rows that they have not seen."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.tree import DecisionTreeRegressor

import randspan as rs
from randspan.keys import keys_of
from randspan.solvers import out_of_bag
from randspan.statistics import OutOfBagMoments


def data(n=400, d=4, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 + noise * rng.normal(size=n)


def moments(H, Y, weights=None, seen=None, origin=None):
    n, k, c = H.shape
    weights = np.ones(n) if weights is None else weights
    seen = np.zeros((n, k), dtype=bool) if seen is None else seen
    origin = np.zeros(c) if origin is None else origin
    return OutOfBagMoments.zero(origin, k).with_block(H, Y, weights, seen, np.arange(n) % 5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_where_nothing_was_seen_it_is_ridge_regression_towards_the_mean(intercept, weighted, alpha):
    """Σω(y - b - Hw)² + alpha·k·s²·‖w - 1/k‖², solved as one least-squares problem."""
    rng = np.random.default_rng(0)
    n, k = 150, 6
    y = 3 + rng.normal(size=n)
    H = y[:, None] + rng.normal(size=(n, k)) * np.linspace(0.5, 1, k) + 0.3
    weights = rng.uniform(0.5, 2, size=n) if weighted else np.ones(n)
    origin = np.array([2.5])
    found = out_of_bag.solve(
        moments(H[:, :, None], y[:, None], weights, origin=origin), alpha, intercept, ""
    )
    single = np.average((y[:, None] - H) ** 2, axis=0, weights=weights).mean()
    root, pull = np.sqrt(weights), np.sqrt(alpha * k * single)
    columns = np.column_stack([H, np.ones(n)]) if intercept else H
    left = np.vstack([root[:, None] * columns, pull * np.eye(k, columns.shape[1])])
    right = np.concatenate([root * y, np.full(k, pull / k)])
    expected = np.linalg.lstsq(left, right, rcond=None)[0]
    np.testing.assert_allclose(found.coef[:, 0], expected[:k], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.intercept, expected[k:] if intercept else 0, atol=1e-8)
    objective = np.sum((left @ expected - right) ** 2)
    assert found.objective == pytest.approx(objective, rel=1e-8)


@pytest.mark.parametrize("standardize", [True, False, "robust"])
@pytest.mark.parametrize(
    "family", [rs.Trees(max_features=2), rs.Hypotheses(DecisionTreeRegressor())], ids=str
)
def test_noise_is_not_predicted_whatever_is_done_to_inputs(standardize, family):
    """Of rows that a function was trained on it knows the noise; the others do not."""
    X, y = data(300)[0], np.random.default_rng(5).normal(size=300)
    model = rs.SpanRegressor(family, 20, standardize=standardize, random_state=0).fit(X, y)
    assert model.oob_error_ > 0.9 * y.var()
    left_out = model.leave_one_out(X, y)
    assert abs(np.corrcoef(left_out, y)[0, 1]) < 4 / np.sqrt(len(y))


def test_errors_are_cross_validated():
    """Without seen rows: those of ridge regressions that were refitted without each fold."""
    rng = np.random.default_rng(1)
    n, k, alpha = 100, 5, 2.0
    y = rng.normal(size=n)
    H = y[:, None] + rng.normal(size=(n, k))
    found = out_of_bag.solve(moments(H[:, :, None], y[:, None]), alpha, True, "")
    total = 0.0
    for fold in range(5):
        out = np.arange(n) % 5 == fold
        other = moments(H[~out][:, :, None], y[~out][:, None])
        weights = out_of_bag.solve(other, alpha, True, "")
        total += np.sum((y[out] - H[out] @ weights.coef[:, 0] - weights.intercept) ** 2)
    assert found.errors[0] == pytest.approx(total / n, rel=1e-9)


def test_pairs_of_hypotheses_meet_where_neither_has_seen_the_row():
    rng = np.random.default_rng(2)
    H, Y = rng.normal(size=(60, 3, 2)), rng.normal(size=(60, 2))
    seen = rng.uniform(size=(60, 3)) < 0.5
    found = moments(H, Y, seen=seen)
    for i in range(3):
        for j in range(3):
            rows = ~seen[:, i] & ~seen[:, j]
            assert found.counts.sum(axis=0)[i, j] == pytest.approx(rows.sum())
            errors = (Y - H[:, i]) * (Y - H[:, j])
            np.testing.assert_allclose(
                found.sums.sum(axis=0)[:, i, j], errors[rows].sum(axis=0), atol=1e-10
            )


def test_a_useless_target_is_seen_to_be_useless():
    """Grown trees pass through noise; what they say of unseen rows does not."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(1500, 5)), rng.normal(size=1500)
    model = rs.SpanRegressor(rs.Trees(), 60, random_state=0).fit(X, y)
    left = model.leave_one_out(X, y)
    # The error of a constant is 1 with a standard error of √(2/1500) = 0.037.
    assert model.oob_error_ > 1 - 4 * 0.037
    assert np.mean((y - left) ** 2) > 1 - 4 * 0.037
    plain = clone(model).set_params(alpha=0).fit(X, y)
    assert np.mean((y - plain.predict(X)) ** 2) < 0.1
    new = rng.normal(size=(1500, 5))
    fresh = rng.normal(size=1500)
    assert np.mean((fresh - model.predict(new)) ** 2) < np.mean((fresh - plain.predict(new)) ** 2)


@pytest.mark.parametrize("loss", ["huber", "absolute", "squared"])
@pytest.mark.parametrize("params", [{}, {"bound": 3.0}])
def test_every_loss_looks_at_unseen_rows(loss, params):
    """In noise no weights are worth anything; in-sample values would say the opposite."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(600, 5)), rng.normal(size=600)
    model = rs.SpanRegressor(rs.Trees(max_features=5), 30, loss=loss, random_state=0, **params)
    new, fresh = rng.normal(size=(2000, 5)), rng.normal(size=2000)
    model.fit(X, y)
    assert np.mean((fresh - model.predict(new)) ** 2) < 1.15


def test_errors_on_unseen_rows_are_those_on_new_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(8000, 4))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=8000)
    X, y, new, fresh = X[:4000], y[:4000], X[4000:], y[4000:]
    model = rs.SpanRegressor(rs.Trees(), 60, random_state=0).fit(X, y)
    squares = (fresh - model.predict(new)) ** 2
    # Both are means over as many rows.
    error = np.sqrt(2 / 4000) * squares.std()
    assert abs(squares.mean() - model.oob_error_) < 4 * error
    trees = ExtraTreesRegressor(60, random_state=0).fit(X, y)
    assert squares.mean() < 1.1 * np.mean((fresh - trees.predict(new)) ** 2)


def test_rows_that_stand_several_times_stream_too():
    rng = np.random.default_rng(5)
    X = rng.integers(3, size=(500, 3)).astype(float)
    y = X[:, 0] * X[:, 1] + rng.integers(3, size=500)
    whole = rs.SpanRegressor(rs.Trees(), 30, random_state=0).fit(X, y)
    streamed = rs.SpanRegressor(frame=whole.frame_)
    for rows in np.split(rng.permutation(500), [7, 100, 300]):
        streamed.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(streamed.weights_, whole.weights_, atol=1e-10)
    streamed.forget(X[:100], y[:100]).forget(X[100:250], y[100:250])
    rest = rs.SpanRegressor(frame=whole.frame_).fit(X[250:], y[250:])
    np.testing.assert_allclose(streamed.weights_, rest.weights_, atol=1e-10)
    with pytest.raises(ValueError, match="cannot have been in the model"):
        streamed.forget(X, y)


@pytest.mark.parametrize("family", [rs.Trees(), rs.Trees(output="leaves")], ids=repr)
def test_parts_merge_also_after_pickling(family):
    X, y = data()
    whole = rs.SpanRegressor(family, 25, random_state=0).fit(X, y)
    one, two = (
        rs.SpanRegressor(frame=pickle.loads(pickle.dumps(whole.frame_))).fit(X[rows], y[rows])
        for rows in (slice(0, 150), slice(150, 400))
    )
    merged = pickle.loads(pickle.dumps(one)).merge(two)
    np.testing.assert_allclose(merged.predict(X), whole.predict(X), atol=1e-6)


def test_rows_of_a_stream_that_came_later_were_seen_by_none():
    X, y = data(600)
    model = rs.SpanRegressor(rs.Trees(), 20, random_state=0)
    model.partial_fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    assert model.score(*data(300, seed=9)) > 0.7
    np.testing.assert_allclose(model.leave_one_out(X[300:], y[300:]), model.predict(X[300:]))
    assert not np.allclose(model.leave_one_out(X[:300], y[:300]), model.predict(X[:300]))


def test_the_plain_fit_stays_available():
    X, y = data()
    model = rs.SpanRegressor(rs.Trees(max_features=1), 20, alpha=0, random_state=0).fit(X, y)
    Z = model.functions_(model.frame_.rows(X, np.float64))
    columns = np.column_stack([np.ones(400), Z])
    expected = columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)


def test_numbers_for_alpha_and_the_solver_by_name():
    X, y = data()
    auto = rs.SpanRegressor(rs.Trees(), 20, random_state=0).fit(X, y)
    named = clone(auto).set_params(solver="out_of_bag", alpha=auto.alpha_).fit(X, y)
    np.testing.assert_allclose(named.weights_, auto.weights_)
    strong = clone(auto).set_params(solver="out_of_bag", alpha=1e12).fit(X, y)
    np.testing.assert_allclose(strong.weights_, 1 / 20, rtol=1e-6)
    with pytest.raises(ValueError, match="weighs functions that predict"):
        rs.SpanRegressor(rs.Fourier(), 20, solver="out_of_bag").fit(X, y)


def test_what_would_take_functions_for_independent_is_refused():
    X, y = data()
    for params in ({}, {"alpha": 0.1}, {"solver": "eigen"}):
        model = rs.SpanRegressor(rs.Trees(), 20, random_state=0, **params).fit(X, y)
        with pytest.raises(ValueError, match="independent of the targets"):
            model.predict(X, return_std=True)
        with pytest.raises(AttributeError, match="independent of the targets"):
            model.gcv_error_  # noqa: B018
        assert np.mean((model.leave_one_out(X, y) - y) ** 2) > 2 * np.mean(
            (model.predict(X) - y) ** 2
        )
    with pytest.raises(AttributeError, match="oob_error_ is known where"):
        model.oob_error_  # noqa: B018
    with pytest.raises(ValueError, match="bootstrap < 1"):
        rs.SpanRegressor(rs.Trees(bootstrap=1.0), 20).fit(X, y)
    every = rs.SpanRegressor(rs.Trees(bootstrap=1.0, max_features=4), 20, alpha=0.1).fit(X, y)
    np.testing.assert_allclose(every.predict(X), y, atol=0.05)


def test_a_frame_carries_its_functions():
    X, y = data()
    model = rs.SpanRegressor(rs.Trees(), 20, random_state=0).fit(X, y)
    again = rs.SpanRegressor(frame=model.frame_).fit(X, y)
    assert again.functions_.forest is model.functions_.forest
    np.testing.assert_allclose(again.weights_, model.weights_)
    with pytest.raises(ValueError, match="20 functions that were learned"):
        rs.SpanRegressor(frame=model.frame_, n_components=30).fit(X, y)
    # Read without targets it has none yet.
    frame = rs.Frame.read([X], rs.Trees(), 20, random_state=0)
    assert rs.SpanRegressor(frame=frame).fit(X, y).score(X, y) > 0.8


@pytest.mark.parametrize("family", [rs.Trees(), rs.Trees(output="leaves")], ids=repr)
def test_probabilities_come_from_unseen_rows(family):
    """Trees that pass through every label would otherwise be sure of themselves."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1500, 3))
    y = rng.uniform(size=1500) < 1 / (1 + np.exp(-X[:, 0]))
    model = rs.SpanClassifier(family, 40, random_state=0).fit(X[:800], y[:800])
    shares = model.predict_proba(X[800:])[:, 1]
    loss = -np.mean(np.where(y[800:], np.log(shares), np.log(1 - shares)))
    assert loss < np.log(2)  # what knowing nothing costs
    assert abs(shares.mean() - y[800:].mean()) < 0.1


def test_several_targets_of_different_size_are_weighed_apart():
    X, y = data(600)
    Y = np.column_stack([y, 1e6 * np.cos(X[:, 2]) + 1e7])
    both = rs.SpanRegressor(rs.Trees(max_features=3), 30, random_state=0).fit(X[:400], Y[:400])
    assert both.weights_.shape == (2, 60)
    assert (both.weights_[0, 1::2] == 0).all()
    for t in range(2):
        spread = Y[400:, t].var()
        assert np.mean((both.predict(X[400:])[:, t] - Y[400:, t]) ** 2) < 0.5 * spread


def test_rows_of_weight_zero_do_not_exist():
    X, y = data(300)
    weights = np.r_[np.ones(200), np.zeros(100)]
    for family in (rs.Trees(), rs.Hypotheses(DecisionTreeRegressor(max_depth=4))):
        model = rs.SpanRegressor(family, 15, random_state=0).fit(X, y, weights)
        spoiled = clone(model).fit(X, np.where(weights > 0, y, 1e6), weights)
        np.testing.assert_allclose(spoiled.predict(X), model.predict(X))


@pytest.mark.parametrize("n", [2, 3, 6])
def test_very_few_rows(n):
    X, y = data(n)
    for family in (rs.Trees(), rs.Trees(output="leaves"), rs.Hypotheses(DecisionTreeRegressor())):
        model = rs.SpanRegressor(family, 5, random_state=0).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        constant = clone(model).fit(X, np.full(n, 7.0))
        np.testing.assert_allclose(constant.predict(X), 7.0, atol=1e-6)


def test_few_noisy_rows_do_no_harm():
    """Moments of pairs are then known so badly that weights must stay with the mean of all."""
    ratios = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1100, 6))
        y = X[:, 0] + 0.5 * X[:, 1] + 2 * rng.normal(size=1100)
        model = rs.SpanRegressor(rs.Trees(max_features=3), 40, random_state=seed)
        model.fit(X[:100], y[:100])
        even = clone(model).set_params(solver="out_of_bag", alpha=1e12).fit(X[:100], y[:100])
        errors = [np.mean((one.predict(X[100:]) - y[100:]) ** 2) for one in (model, even)]
        ratios.append(errors[0] / errors[1])
        assert 0.3 * errors[0] < model.oob_error_ < 3 * errors[0]
    assert max(ratios) < 1.4
    assert np.mean(ratios) < 1.05


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_a_large_offset_of_the_target_changes_nothing_but_the_offset(offset):
    X, y = data()
    for family in (rs.Trees(max_features=2), rs.Trees(output="leaves", max_features=2)):
        plain = rs.SpanRegressor(family, 15, random_state=0).fit(X, y)
        far = clone(plain).fit(X, y + offset)
        # Folds, and ties between splits, may fall another way.
        away = np.abs(far.predict(X) - offset - plain.predict(X))
        assert np.median(away) < 0.02
        assert away.max() < 0.5
        parts = np.concatenate([far.predict(X[:150]), far.predict(X[150:])])
        np.testing.assert_allclose(parts, far.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    "family", [rs.Trees() + rs.Fourier(), rs.Trees(output="leaves"), rs.Trees()], ids=repr
)
def test_rows_that_stand_twice_stream_in_every_way(family):
    X, y = data(150)
    both = np.concatenate([X, X]), np.concatenate([y, y])
    whole = rs.SpanRegressor(family, 20, dtype="float64", random_state=0).fit(*both)
    streamed = rs.SpanRegressor(frame=whole.frame_, dtype="float64").partial_fit(X, y)
    streamed.partial_fit(X, y)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), atol=1e-5)
    single = rs.SpanRegressor(frame=whole.frame_, dtype="float64").fit(X, y)
    np.testing.assert_allclose(streamed.forget(X, y).predict(X), single.predict(X), atol=1e-5)


def test_leaves_beside_bins_are_judged_by_their_own_number():
    X, y = data(1000, noise=0.3)
    new, fresh = data(1000, seed=1, noise=0.3)
    errors = [
        np.mean((rs.SpanRegressor(f, random_state=0).fit(X, y).predict(new) - fresh) ** 2)
        for f in (rs.Trees(output="leaves") + rs.Bins(), rs.Trees(output="leaves"), rs.Bins())
    ]
    assert errors[0] < 1.1 * max(errors[1:])


def test_a_frame_is_for_its_targets_and_its_seed():
    X, y = data()
    for family in (rs.Trees(), rs.Trees(output="leaves"), rs.Trees(bootstrap=1.0)):
        model = rs.SpanRegressor(family, 10, alpha=0.1, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="have learned 1 target"):
            rs.SpanRegressor(frame=model.frame_).fit(X, np.column_stack([y, y]))
    model = rs.SpanRegressor(rs.Trees(), 10, random_state=0).fit(X, y)
    other = rs.SpanRegressor(frame=model.frame_, random_state=1).fit(X, y)
    assert not np.allclose(other.predict(X), model.predict(X))
    assert other.functions_.forest is not model.functions_.forest


def test_every_part_of_a_union_must_leave_rows_out():
    X, y = data()
    with pytest.raises(ValueError, match=r"Trees\(bootstrap=1.0.*\) has trained every function"):
        rs.SpanRegressor(rs.Trees() + rs.Trees(bootstrap=1.0), 20).fit(X, y)


def test_leave_one_out_says_what_it_does_not_know():
    X, y = data()
    model = rs.SpanRegressor(rs.Trees(), 20, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="400 of 400 rows are not among those"):
        model.leave_one_out(X, y + 1)
    every = rs.SpanRegressor(rs.Trees(bootstrap=1.0), 20, alpha=1.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="use bootstrap < 1"):
        every.leave_one_out(X, y)
    leaves = rs.SpanRegressor(rs.Trees(output="leaves"), 20, alpha=0.1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="leaves have weights that were"):
        leaves.leave_one_out(X, y)


@pytest.mark.parametrize("alpha", ["auto", 0.1, 10.0])
def test_leaves_are_not_surer_than_they_should_be(alpha):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(1200, 3))
    y = rng.uniform(size=1200) < 1 / (1 + np.exp(-X[:, 0]))
    model = rs.SpanClassifier(rs.Trees(output="leaves"), 40, alpha=alpha, random_state=0)
    shares = model.fit(X[:400], y[:400]).predict_proba(X[400:])[:, 1]
    loss = -np.mean(np.where(y[400:], np.log(shares), np.log(1 - shares)))
    assert loss < np.log(2)


def test_bags_with_replacement_hold_a_poisson_number_of_every_row():
    """With mean 0.8 a row is in a bag with chance 1 - exp(-0.8), and 0.8 times on average."""
    X, y = np.random.default_rng(0).normal(size=(2000, 3)), np.arange(2000.0)
    family = rs.Trees(replace=True, max_features=1)
    bags = family.draw(X, 5, 0, y=y).out_of_bag
    assert bags.share == pytest.approx(1 - np.exp(-0.8))
    rows = bags.indices(keys_of(X), y[:, None])
    times = np.concatenate([bags.times(j, 0.8, rows) for j in range(5)])
    inside = np.concatenate([bags.in_bag(j, rows) for j in range(5)])
    np.testing.assert_array_equal(times > 0, inside)
    assert abs(times.mean() - 0.8) < 4 * np.sqrt(0.8 / 10_000)
    assert abs(times.var() - 0.8) < 4 * np.sqrt((0.8 + 2 * 0.8**2) / 10_000)
    np.testing.assert_array_equal(times[100:300], bags.times(0, 0.8, rows[100:300]))
    model = rs.SpanRegressor(family, 20, random_state=0).fit(X, X[:, 0])
    assert model.oob_error_ < 0.9
    with pytest.raises(ValueError, match="replace must be True or False"):
        rs.SpanRegressor(rs.Trees(replace=2), 5).fit(X, y)
