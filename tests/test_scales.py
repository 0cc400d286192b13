"""Learned scales: their gradients, what they find, what they cost and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import randspan as rs
from randspan.families.shared.rows import Rows
from randspan.losses import Squared
from randspan.solvers import Task
from randspan.sources import of_arrays
from randspan.tuning import learning
from randspan.tuning.scales import KERNELS, Learner, Scales, start


def data(n=900, d=12, seed=0):
    """Three columns of d matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, y + 0.2 * rng.normal(size=n), y


def one_by_one(function, items):
    return [function(item) for item in items]


def learner(kernel, X, Y):
    generator = np.random.default_rng(0)
    return Learner(KERNELS[kernel], X, Y, None, generator, one_by_one, lambda steps: None)


def loss(kernel, X, Y, at, inner=None):
    """The mean squared leave-one-out error, one inverse and no gradient."""
    T = X * at.scales
    K = KERNELS[kernel].matrix(T if at.turn is None else T @ at.turn)[0]
    P = np.linalg.inv(K + at.ridge * np.eye(len(K)))
    Y = Y - Y.mean(axis=0)
    each = np.ones(len(Y)) if inner is None else inner
    errors = (P @ Y) / np.diagonal(P)[:, None]
    return (each @ errors**2).sum() / each.sum()


def slope(function, step=1e-5):
    return (function(step) - function(-step)) / (2 * step)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("partly", [False, True])
def test_the_loss_is_that_of_leaving_rows_out_and_has_the_right_gradient(kernel, partly, rng):
    X = rng.normal(size=(80, 4))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.normal(size=(80, 2))
    inner = np.arange(80) < 30 if partly else None
    turn = np.eye(4) + 0.2 * rng.normal(size=(4, 4)) if KERNELS[kernel].turns else None
    at = Scales(rng.uniform(0.3, 1, size=4), None, 0.05)
    found, _, error = learner(kernel, X, Y)._score(at, X, Y, None, inner)
    assert error == pytest.approx(loss(kernel, X, Y, at, inner), rel=1e-5)
    for m in range(4):
        moved = np.eye(4)[m]
        expected = slope(
            lambda h, moved=moved: loss(
                kernel, X, Y, replace(at, scales=at.scales * np.exp(h * moved)), inner
            )
        )
        assert found[m] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    expected = slope(lambda h: loss(kernel, X, Y, replace(at, ridge=at.ridge * np.exp(h)), inner))
    assert found[4] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    if turn is None:
        return
    at = replace(at, turn=turn)
    _, turned, _ = learner(kernel, X, Y)._score(at, X, Y, None, inner)
    for i, j in ((0, 0), (1, 2), (3, 1)):
        moved = np.zeros((4, 4))
        moved[i, j] = 1
        expected = slope(
            lambda h, moved=moved: loss(kernel, X, Y, replace(at, turn=turn + h * moved), inner)
        )
        assert turned.reshape(4, 4)[i, j] == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_leave_one_out_errors_are_those_of_refitting(rng):
    """The formula that the gradient is one of, against thirty fits."""
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 1))
    at = Scales(np.array([0.5, 1.0, 0.2]), None, 0.3)
    K = KERNELS["matern32"].matrix(X * at.scales)[0]
    Yc = Y - Y.mean()
    total = 0.0
    for i in range(30):
        others = np.arange(30) != i
        inside = K[np.ix_(others, others)] + at.ridge * np.eye(29)
        total += (Yc[i] - K[i, others] @ np.linalg.solve(inside, Yc[others])) ** 2
    assert loss("matern32", X, Y, at) == pytest.approx(float(total[0] / 30), rel=1e-10)


@pytest.mark.parametrize("family", [rs.Fourier(), rs.Fourier("matern12"), rs.Bins(), rs.Bumps()])
def test_columns_that_matter_get_the_importance(family):
    X, y, truth = data(500, d=30)
    plain = rs.SpanRegressor(family, 60, scales=None, random_state=0).fit(X, y)
    model = clone(plain).set_params(scales="learn").fit(X, y)
    assert model.scale_shares_.shape == (30,)
    assert model.scale_shares_.sum() == pytest.approx(1)
    assert model.scale_shares_[:3].sum() > 0.9
    new, _, truth = data(d=30, seed=1)
    errors = [np.mean((m.predict(new) - truth) ** 2) for m in (model, plain)]
    assert errors[0] < 0.5 * errors[1]


def test_classes_and_other_losses_learn_too():
    X, y, _ = data(600)
    labels = np.digitize(y, [-0.5, 0.5])
    new, fresh, _ = data(seed=1)
    fresh = np.digitize(fresh, [-0.5, 0.5])
    for loss_name in ("squared", "logistic"):
        model = rs.SpanClassifier(
            rs.Fourier(), 100, loss=loss_name, alpha=0.1, scales="learn", random_state=0
        ).fit(X, labels)
        plain = clone(model).set_params(scales=None).fit(X, labels)
        assert model.scale_shares_[:3].sum() > 0.9
        assert model.score(new, fresh) > plain.score(new, fresh)


def test_a_direction_is_found_by_turning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    direction = np.array([1, -1, 1, -1, 1, -1]) / np.sqrt(6)
    y = np.sin(3 * X @ direction) + 0.1 * rng.normal(size=500)
    new = rng.normal(size=(900, 6))
    errors = {}
    for scales in (None, "learn", "rotate"):
        model = rs.SpanRegressor(rs.Fourier(), 100, scales=scales, random_state=0).fit(X, y)
        errors[scales] = np.mean((model.predict(new) - np.sin(3 * new @ direction)) ** 2)
    assert errors["rotate"] < 0.2 * min(errors[None], errors["learn"])
    # The learned metric has one direction.
    turn = model.frame_.scale[:, None] * model.frame_.rotation
    vectors, values, _ = np.linalg.svd(turn)
    assert abs(vectors[:, 0] @ direction) > 0.95
    assert values[0] > 3 * values[1]


def test_noise_is_not_made_worse():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(400, 8)), rng.normal(size=(2000, 8))
    y, fresh = rng.normal(size=400), rng.normal(size=2000)
    plain = rs.SpanRegressor(rs.Fourier(), 50, random_state=0).fit(X, y)
    model = clone(plain).set_params(scales="learn").fit(X, y)
    errors = [np.mean((m.predict(new) - fresh) ** 2) for m in (model, plain)]
    assert errors[0] < 1.05 * errors[1]


def test_the_same_seed_learns_the_same_scales_on_any_number_of_threads(monkeypatch):
    # More rows than this are learned from in batches, each on a thread of its own.
    monkeypatch.setattr("randspan.tuning.scales.BATCH", 250)
    X, y, _ = data(300)
    frames = [
        rs.SpanRegressor(rs.Bins(), 8, scales="learn", random_state=3, n_jobs=jobs).fit(X, y).frame_
        for jobs in (1, 2, 2)
    ]
    assert frames[1].same_as(frames[2])
    np.testing.assert_allclose(frames[0].scale, frames[1].scale, rtol=1e-10)
    other = rs.SpanRegressor(rs.Bins(), 8, scales="learn", random_state=4).fit(X, y).frame_
    assert not np.allclose(other.scale, frames[0].scale)


def test_neighbourhoods_are_the_nearest_rows(rng):
    X = rng.normal(size=(3000, 3)).astype(np.float32)
    scales = np.array([1.0, 2.0, 0.0])
    found = learner("laplacian", X, X[:, :1].astype(float))._nearest(scales, np.array([7, 9]))
    near = found[0]
    assert found[1][0] == 9
    away = np.abs(X[:, 0] - X[7, 0]) + 2 * np.abs(X[:, 1] - X[7, 1])
    assert near[0] == 7
    assert (np.diff(away[near]) >= -1e-6).all()
    assert away[near].max() <= np.delete(away, near).min() + 1e-6


def test_scales_at_full_density_are_smaller_in_extent():
    """A wave that few rows cannot see: neighbourhoods among all rows can."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(20_000, 2)).astype(np.float32)
    Y = np.sin(60 * X[:, :1]).astype(np.float64)
    found = learner("laplacian", X, Y)
    coarse = found.descend(start(KERNELS["laplacian"], X), 20)
    fine = found.descend_nearby(coarse, 20)
    judges = found.scored_rows()
    assert found.error_nearby(fine, judges) < 0.7 * found.error_nearby(coarse, judges)
    assert fine.scales[0] > 3 * fine.scales[1]


def test_rows_of_no_weight_have_no_say():
    X, y, _ = data(600)
    weights = np.ones(600)
    weights[:200] = 0
    wrong = y.copy()
    wrong[:200] = 1e6
    one = rs.SpanRegressor(rs.Fourier(), 30, scales="learn", random_state=0)
    a = one.fit(X, y, weights).frame_.scale
    b = clone(one).fit(X, wrong, weights).frame_.scale
    np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_stream_learns_from_its_first_block_and_merges():
    X, y, _ = data(800)
    model = rs.SpanRegressor(rs.Fourier(), 40, scales="learn", dtype="float64", random_state=0)
    model.partial_fit(X[:500], y[:500])
    assert model.scale_shares_[:3].sum() > 0.9
    other = rs.SpanRegressor(frame=model.frame_, dtype="float64").fit(X[500:], y[500:])
    assert np.array_equal(other.scale_shares_, model.scale_shares_)
    model.merge(other)
    whole = rs.SpanRegressor(frame=model.frame_, dtype="float64").fit(X, y)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-3)


def test_sparse_rows_learn_what_dense_rows_do():
    X, y, _ = data(300)
    X[np.abs(X) < 0.5] = 0
    for family, scales in ((rs.Bins(), "learn"), (rs.Fourier(), "rotate")):
        model = rs.SpanRegressor(family, 20, scales=scales, random_state=0, dtype="float64")
        dense = model.fit(X, y).predict(X)
        thin = clone(model).fit(sparse.csr_array(X), y).predict(sparse.csr_array(X))
        np.testing.assert_allclose(thin, dense, atol=1e-5)


def test_the_transformer_learns_where_it_is_given_targets():
    X, y, _ = data(500)
    transformer = rs.SpanTransformer(rs.Fourier(), 30, scales="learn", random_state=0)
    with pytest.raises(ValueError, match="hand in y"):
        transformer.fit(X)
    assert transformer.fit_transform(X, y).shape == (500, 30)
    assert transformer.frame_.importances[:3].sum() > 0.9
    assert clone(transformer).fit(X, np.where(y > 0, "a", "b")).frame_.importances is not None


def columns_that_matter(n, d=12, seed=0):
    """Two of the columns make the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 3]) * X[:, 7] + 0.3 * rng.normal(size=n)


def test_a_number_of_functions_learns_scales_where_that_is_a_small_part_of_the_fit():
    X, y = columns_that_matter(4000)
    new, truth = X[3500:], y[3500:]
    models = [
        rs.SpanRegressor(rs.Fourier(), 1200, scales=scales, random_state=0).fit(X[:3500], y[:3500])
        for scales in ("auto", None)
    ]
    learned, equal = models
    assert learned.n_components_ == equal.n_components_ == 1200
    assert learned.scale_shares_[[3, 7]].sum() > 0.8
    # The noise is 0.3 of the target's 0.56.
    assert 1 - learned.score(new, truth) < 0.5 * (1 - equal.score(new, truth))


def test_a_number_of_functions_keeps_equal_scales_where_nothing_is_gained(rng):
    X, y = rng.normal(size=(3500, 8)), rng.normal(size=3500)
    model = rs.SpanRegressor(rs.Fourier(), 1300, alpha=1.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.scale_shares_, 1 / 8)


@pytest.mark.parametrize(
    ("n", "d", "k", "pays"),
    [
        (8000, 10, 100, False),
        (8000, 10, 300, False),
        (8000, 10, 1000, True),
        (8000, 1000, 1000, False),
        (8000, 1000, 4000, True),
        (300, 10, 4000, False),
        (100_000, 10, 500, True),
        (8000, 10, np.inf, False),
    ],
)
def test_learning_briefly_is_weighed_against_the_fit(n, d, k, pays):
    source = of_arrays(np.broadcast_to(0.0, (n, d)), np.broadcast_to(0.0, (n, 1)), None)
    task = Task(Squared(), "auto")
    assert learning.pays_briefly(k, source, task) == pays


@pytest.mark.parametrize("n", [1_400, 3_000])
def test_learning_briefly_takes_a_weight_of_two_for_a_row_twice(n, rng):
    X = rng.normal(size=(n + 500, 6))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    given = {"alpha": 0.01, "random_state": 0, "standardize": False, "clip": None}
    twice = np.tile(np.arange(n), 2)
    one = rs.SpanRegressor(rs.Fourier(), 1_500, **given).fit(X[:n], y[:n], np.full(n, 2.0))
    other = rs.SpanRegressor(rs.Fourier(), 1_500, **given).fit(X[twice], y[twice])
    np.testing.assert_allclose(one.predict(X[n:]), other.predict(X[n:]), atol=2e-3)


def test_refusals():
    X, y, _ = data(200)
    with pytest.raises(ValueError, match="scales must be one of 'auto', 'learn', 'rotate'"):
        rs.SpanRegressor(scales="lern").fit(X, y)
    for family in (rs.Bins(), rs.Fourier("laplacian"), rs.Fourier(gamma=np.ones(12))):
        with pytest.raises(ValueError, match="same in all directions"):
            rs.SpanRegressor(family, 10, scales="rotate").fit(X, y)
    with pytest.raises(ValueError, match="scales mean nothing to it"):
        rs.SpanRegressor(rs.Stumps(), 10, scales="learn").fit(X, y)
    plain = rs.SpanRegressor(n_components=10, scales=None).fit(X, y)
    with pytest.raises(AttributeError, match="use scales='auto', 'learn'"):
        _ = plain.scale_shares_


def test_few_rows_and_constant_targets_keep_equal_scales():
    X, y, _ = data(200, d=3)
    for rows, targets in ((slice(0, 5), y[:5]), (slice(0, 200), np.ones(200))):
        model = rs.SpanRegressor(n_components=5, scales="learn", random_state=0)
        model.fit(X[rows], targets)
        np.testing.assert_allclose(model.scale_shares_, 1 / 3)


@pytest.mark.parametrize(
    "family",
    [rs.Fourier(gamma=0.3), rs.Fourier(gamma=0.3, sampling="structured"), rs.Bumps(gamma=0.3)],
)
def test_turned_rows_are_rows_that_were_turned(family, rng):
    X = rng.normal(size=(50, 4)) * (rng.uniform(size=(50, 4)) < 0.6)
    centre, scale = rng.normal(size=4), rng.uniform(0.5, 2, size=4)
    turn = rng.normal(size=(4, 4))
    turned = ((X - centre) * scale) @ turn
    functions = family.draw(turned, 16, 0)
    for values in (X, sparse.csr_array(X)):
        rows = Rows(values, centre, scale, np.float64, turn)
        np.testing.assert_allclose(rows.dense, turned, atol=1e-12)
        np.testing.assert_allclose(rows.norms(), (turned**2).sum(axis=1), atol=1e-12)
        np.testing.assert_allclose(functions(rows), functions(turned), atol=1e-10)
        np.testing.assert_allclose(rows[:7].dense, turned[:7], atol=1e-12)


@pytest.mark.parametrize("density", [0.5, 1.0])
def test_lengths_of_sparse_rows_far_from_zero_have_their_digits(density, rng):
    """Offsets of 1e8 deviations beside a column of none: what is not stored adds up exactly."""
    offsets = np.array([1e8, -1e8, 3e4, 0.0, 1.0])
    X = (rng.normal(size=(40, 5)) + offsets) * (rng.random((40, 5)) < density)
    stored = Rows(sparse.csr_array(X), offsets, np.full(5, 0.7), np.float64)
    dense = Rows(X, offsets, np.full(5, 0.7), np.float64)
    np.testing.assert_allclose(stored.norms(), dense.norms(), rtol=1e-13)
    weights = rng.random(5)
    np.testing.assert_allclose(stored.norms(weights), dense.norms(weights), rtol=1e-13)


# -- corners that were wrong once ------------------------------------------------------------------


def test_inputs_far_from_zero_and_of_wild_sizes_are_learned_from():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
    model = rs.SpanRegressor(n_components=60, standardize=False, scales="learn", random_state=0)
    assert model.fit(X + 2000, y).score(X + 2000, y) > 0.9
    # Kernels look at differences: slopes know no offset.
    assert model.fit(X + 1e6, y).score(X + 1e6, y) > model.fit(X, y).score(X, y) - 0.01
    wild = X.copy()
    wild[:5] *= 1e7
    rs.SpanRegressor(n_components=60, scales="learn", random_state=0).fit(wild, y)
    skewed = np.exp(2.5 * rng.normal(size=(150, 4)))
    twice = np.vstack([skewed, skewed])
    rs.SpanRegressor(n_components=60, scales="learn", random_state=0).fit(twice, y)


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_scales_are_learned_in_any_unit(unit, rng):
    """They are learned in float32, which has no numbers for the squares of such inputs."""
    X = rng.normal(size=(300, 4))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=300)
    given = {"scales": "learn", "standardize": False, "dtype": "float64", "random_state": 0}
    model = rs.SpanRegressor(rs.Fourier(), 100, **given)
    usual, here = model.fit(X, y).score(X, y), model.fit(unit * X, y).score(unit * X, y)
    assert usual > 0.9
    assert here == pytest.approx(usual, abs=1e-3)


def test_weights_count_in_small_sets_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    light = np.arange(600) < 300
    y = np.where(light, np.sin(2 * X[:, 1]), np.sin(2 * X[:, 0]))
    weights = np.where(light, 1e-3, 1.0)
    model = rs.SpanRegressor(n_components=60, scales="learn", random_state=0)
    assert model.fit(X, y, weights).scale_shares_[0] > 0.9


def test_a_learned_frame_does_not_hold_back_alpha():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 4))
    first = rs.SpanRegressor(rs.Bins(), 20, scales="learn", random_state=0)
    first.fit(X[:600], np.sign(X[:600, 0]))
    noise = rs.SpanRegressor(frame=first.frame_).fit(X, rng.normal(size=2500))
    assert noise.predict(X).std() < 0.1


def test_more_combinations():
    X, y, _ = data(400)
    assert rs.SpanRegressor(rs.Bins(), np.inf, scales="learn", random_state=0).fit(X, y)
    assert rs.SpanRegressor(rs.Fourier() + rs.Bins(), 1, scales="learn").fit(X, y)
    frame = rs.SpanRegressor(n_components=5).fit(X, y).frame_
    with pytest.raises(ValueError, match="A frame has its scales already"):
        rs.SpanRegressor(frame=frame, scales="learn").fit(X, y)
    whole = np.round(50 * np.sin(2 * X[:, 0]) + 100)
    transformer = rs.SpanTransformer(n_components=20, scales="learn", random_state=0)
    assert transformer.fit(X, whole).frame_.importances[0] > 0.9
    wide = np.random.default_rng(0).normal(size=(50, 1001))
    with pytest.raises(ValueError, match="use scales='learn'"):
        rs.SpanRegressor(n_components=5, scales="rotate").fit(wide, wide[:, 0])
