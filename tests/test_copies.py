"""Rows of equal inputs are left out together; rows twice are rows of weight two."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import randspan as rs
from randspan import losses
from randspan.keys import alone, by_chance, few_places, keys_of
from randspan.sources import of_arrays
from randspan.statistics.together import Together
from randspan.tuning import near_copies, width
from table import suited

R, C = rs.SpanRegressor, rs.SpanClassifier


def smooth(X):
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def table(rng, n, noise=0.7):
    X = rng.normal(size=(n, 3))
    return X, smooth(X) + noise * rng.normal(size=n)


def twice(*arrays):
    return [np.repeat(array, 2, axis=0) for array in arrays]


def test_equal_inputs_are_one_set_whatever_their_targets(rng):
    X = rng.normal(size=(10, 2))[np.repeat(np.arange(10), 3)]
    Y, each = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30).astype(float)
    each[:3] = 0.0
    found = Together.of_source(of_arrays(X, Y, each))
    assert len(found) == 9
    assert (found.places[:3] == -1).all()
    for s in range(len(found)):
        rows = np.flatnonzero((X[found.first[s]] == X).all(axis=1) & (each > 0))
        assert (found.places[rows] == s).all()
        mean = np.average(Y[rows], axis=0, weights=each[rows])
        np.testing.assert_allclose(found.targets[s], mean)
        np.testing.assert_allclose(found.scatter[s], each[rows] @ (Y[rows] - mean) ** 2)


def test_in_few_places_rows_are_told_apart():
    places = np.repeat(np.arange(4.0), 50)[:, None]
    keys, Y = keys_of(places), np.tile([0.0, 1.0], 100)[:, None]
    assert few_places(keys)
    assert not few_places(keys[::5])  # ten rows each: the others tell
    repeated = keys_of(np.repeat(np.arange(30.0), 20)[:, None])
    assert not few_places(repeated)  # every one twenty times: somebody has repeated the rows
    assert len(np.unique(alone(keys, Y))) == 200
    order = np.random.default_rng(0).permutation(200)
    assert set(alone(keys, Y)) == set(alone(keys[order], Y[order]))
    assert len(Together.of_source(of_arrays(places, Y))) == 200


def test_rows_of_one_input_that_many_have_are_told_apart():
    """Among others, zero everywhere in a third of all rows: new rows will be there too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    X[60:90] = 0.0
    X[90:] = X[:10]
    apart = by_chance(keys_of(X))
    np.testing.assert_array_equal(np.flatnonzero(apart), np.arange(60, 90))
    assert not by_chance(keys_of(np.delete(X, np.s_[70:90], axis=0))).any()
    assert len(Together.of_source(of_arrays(X, rng.normal(size=(100, 1))))) == 90


@pytest.mark.parametrize("family", ["fourier", "bins"])
def test_interactions_of_two_binary_columns_are_learned(family, rng):
    X = rng.integers(0, 2, size=(200, 2)).astype(float)
    y = X[:, 0] != X[:, 1]
    assert C(family, random_state=0).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("copies", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("k", [50, 800, np.inf])
def test_sets_that_are_left_out_are_refits_without_them(k, intercept, copies, rng):
    """The error that chooses alpha, against models that have not seen the inputs."""
    X, y = table(rng, 40)
    X, y = np.repeat(X, copies, axis=0), np.repeat(y, copies)
    y += rng.normal(size=len(y))  # repeated measurements
    given = {"fit_intercept": intercept, "dtype": "float64", "scales": None, "random_state": 0}
    model = R(rs.Fourier(gamma=0.3), k, **given).fit(X, y)
    errors = []
    for start in range(0, len(y), copies):
        rest = np.r_[0:start, start + copies : len(y)]
        fixed = R(n_components=k, alpha=model.alpha_, frame=model.frame_, **given)
        fixed.set_params(scales=None, random_state=None).fit(X[rest], y[rest])
        mine = slice(start, start + copies)
        errors.append(np.mean((fixed.predict(X[mine]) - y[mine]) ** 2))
    assert model.validation_.kind == "leave_one_out"
    assert model.validation_.error == pytest.approx(np.mean(errors), rel=1e-5)


FITS = {
    "default": lambda: R(random_state=0),
    "few functions": lambda: R(rs.Fourier(), 100, random_state=0),
    "many functions": lambda: R(rs.Fourier(), 1500, random_state=0),
    "stumps": lambda: R(rs.Stumps(), 200, random_state=0),
    "bins": lambda: R(rs.Bins(), 30, random_state=0),
    "bins by folds": lambda: R(rs.Bins(), 30, alpha="heldout", random_state=0),
    "union": lambda: R(rs.Fourier() + rs.Bins(), 30, random_state=0),
    "absolute": lambda: R(rs.Fourier(), 60, loss="absolute", random_state=0),
    "sketched": lambda: R(rs.Fourier(), 60, solver="sketched", random_state=0),
    "classes": lambda: C(random_state=0),
    "classes, few functions": lambda: C(rs.Fourier(), 100, random_state=0),
    "classes, bins": lambda: C(rs.Bins(), 30, random_state=0),
    "logistic": lambda: C(rs.Fourier(), 60, loss="logistic", random_state=0),
    "hinge": lambda: C(rs.Stumps(), 60, loss="hinge", random_state=0),
}


@pytest.mark.parametrize("name", FITS)
def test_rows_twice_are_rows_of_weight_two(name, rng):
    X, y = table(rng, 300)
    new, truth = table(rng, 4000)
    classes = isinstance(FITS[name](), C)
    if classes:
        y, truth = y > 0, truth > 0

    def judged(X, y, weights=None):
        model = FITS[name]().fit(X, y, sample_weight=weights)
        wrong = log_loss(truth, model.predict_proba(new)) if classes else 0
        return model, np.mean((model.predict(new) - truth.astype(float)) ** 2), wrong

    once, least, least_log = judged(X, y)
    XX, yy = twice(X, y)
    changed = yy.copy()
    changed[0] = ~yy[0] if classes else yy[0] + 1
    weights = np.tile([0.5, 1.5], 300)
    step = np.sqrt(10) * 1.001
    heavy = judged(X, y, np.full(300, 2.0))[0]
    for other in (None, "changed", "weights"):
        target = changed if other == "changed" else yy
        model, error, log = judged(XX, target, weights if other == "weights" else None)
        # Of another width the ridge is another.
        if model.frame_.same_as(heavy.frame_):
            assert 1 / step <= model.alpha_ / heavy.alpha_ <= step
        # Of few rows another target may tip the choice of a kernel.
        assert error <= (1.1 if name == "default" else 1.03) * least + 0.01 * classes
        assert log <= 1.03 * least_log
        near = model.validation_.error - once.validation_.error
        assert abs(near) < 2 * np.hypot(1, 1) * once.validation_.standard_error


@pytest.mark.parametrize(
    ("loss", "alpha"), [*((loss, 1e-3) for loss in losses.NAMED), ("huber", "auto")]
)
def test_rows_several_times_are_rows_of_that_weight(loss, alpha, rng):
    """For every loss, to the tolerance of the solvers."""
    X, y = table(rng, 120)
    times = rng.integers(1, 4, len(X))
    classes = not losses.NAMED[loss].for_numbers
    kept = {"n_components": 60, "loss": loss, "alpha": alpha, "random_state": 0}
    model = C(rs.Fourier(), **kept) if classes else R(rs.Fourier(), clip=None, **kept)
    y = y > 0 if classes else suited(loss, y)
    model.set_params(frame=clone(model).set_params(alpha=1.0).fit(X, y).frame_)
    heavy = clone(model).fit(X, y, sample_weight=times.astype(float))
    often = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert 1 / np.sqrt(10.001) <= often.alpha_ / heavy.alpha_ <= np.sqrt(10.001)
    if alpha == "auto" and often.alpha_ != heavy.alpha_:
        return
    one, other = (
        fitted.decision_function(X) if classes else fitted.predict(X) for fitted in (heavy, often)
    )
    np.testing.assert_allclose(one, other, atol=1e-3 * one.std())


def test_samples_that_set_the_scale_of_residuals_are_of_different_rows(rng, monkeypatch):
    monkeypatch.setattr(width, "PILOT_ROWS", 100)
    X, y = table(rng, 150)
    model = R(rs.Fourier(), 60, loss="huber", alpha=1e-2, clip=None, random_state=0)
    heavy = model.fit(X, y, sample_weight=np.full(150, 2.0)).predict(X)
    often = clone(model).fit(*twice(X, y)).predict(X)
    np.testing.assert_allclose(often, heavy, atol=1e-3 * y.std())


def test_one_contradiction_among_copies_changes_little(rng):
    """One label of 800 doubled rows flipped, and counts, of which equal ones are common."""
    X = rng.normal(size=(400, 5))
    signal = X[:, 0] + 0.5 * X[:, 1]
    y = signal + rng.normal(size=400) > 0
    new = rng.normal(size=(4000, 5))
    truth = new[:, 0] + 0.5 * new[:, 1] + rng.normal(size=4000) > 0
    model = C(rs.Fourier(), 200, random_state=0)
    once, (XX, yy) = clone(model).fit(X, y), twice(X, y)
    yy[7] = ~yy[7]
    often = clone(model).fit(XX, yy)
    assert often.alpha_ > once.alpha_ / 2
    assert often.score(new, truth) > once.score(new, truth) - 0.01
    assert often.validation_.error > 0.9 * once.validation_.error
    counts = rng.poisson(np.exp(0.5 * signal)).astype(float)
    regressor = R(rs.Fourier(), 200, random_state=0)
    once, (XX, yy) = clone(regressor).fit(X, counts), twice(X, counts)
    yy[3] += 1
    often = clone(regressor).fit(XX, yy)
    assert often.validation_.error == pytest.approx(once.validation_.error, rel=0.05)


@pytest.mark.parametrize(
    "model",
    [R(rs.Bins(gamma=0.5), 20), C(rs.Fourier(gamma=0.3), 30, loss="logistic")],
)
def test_folds_do_not_depend_on_the_order_of_rows(model, rng):
    X, y = table(rng, 2500)
    y = y if isinstance(model, R) else y > 0
    order = rng.permutation(2500)
    model.set_params(random_state=0, dtype="float64", scales=None)
    there, back = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    assert back.alpha_ == there.alpha_
    assert back.validation_.error == pytest.approx(there.validation_.error, rel=1e-4)


@pytest.mark.parametrize("model", [R(rs.Fourier(), 60), R(rs.Bins(), 30), R(scales=None)])
def test_intervals_of_doubled_rows_cover(model, rng):
    covered = []
    for _ in range(20):
        X, y = table(rng, 100, noise=0.5)
        new, truth = table(rng, 500, noise=0.5)
        model = model.set_params(random_state=0)
        for rows in ((X, y), twice(X, y)):
            lower, upper = clone(model).fit(*rows).predict_interval(new)
            covered.append(np.mean((lower <= truth) & (truth <= upper)))
    once, often = np.reshape(covered, (20, 2)).mean(axis=0)
    # Of 100 errors the quantiles are off by 3 points, of a mean over 20 draws by 0.7.
    assert 0.90 - 4 * 0.007 < often < 0.94
    assert abs(once - often) < 0.01


def test_what_few_rows_count_as_is_known_after_forgetting(rng):
    """alpha by a formula for 60 rows twice, whatever was there and went."""
    X, y = table(rng, 60)
    others, theirs = table(rng, 200)
    frame = R(rs.Fourier(), 100, random_state=0).fit(X, y).frame_
    model = R(n_components=100, frame=frame, alpha="gcv")
    known = clone(model).partial_fit(*twice(X, y))
    model.partial_fit(*twice(X, y)).partial_fit(others, theirs).forget(others, theirs)
    assert model.alpha_ == known.alpha_
    assert model.gcv_error_ == pytest.approx(known.gcv_error_, rel=1e-6)


@pytest.mark.parametrize("solver", ["auto", "qr"])
@pytest.mark.parametrize(("n", "k"), [(100, 150), (100, 40)])
def test_cross_validation_by_a_formula_counts_inputs(n, k, solver):
    """Whether doubled rows are more than functions, as their inputs are not, or both are."""
    X, y = table(np.random.default_rng(3), n, noise=1.5)
    frame = R(rs.Fourier(), k, random_state=0).fit(X, y).frame_
    model = R(n_components=k, frame=frame, alpha="gcv", solver=solver, dtype="float64")
    once, often = clone(model).partial_fit(X, y), clone(model).partial_fit(*twice(X, y))
    heavy = clone(model).partial_fit(X, y, sample_weight=np.full(n, 2.0))
    for other in (often, heavy):
        assert other.alpha_ == pytest.approx(2 * once.alpha_, rel=0.3)  # a step of the lattice
        assert other.gcv_error_ == pytest.approx(once.gcv_error_, rel=0.01)
        told = other.validation_.standard_error
        assert told == pytest.approx(once.validation_.standard_error, rel=0.05)
    apart = twice(X, y)[0] + 1e-3 * np.random.default_rng(0).normal(size=(2 * n, 3))
    assert clone(model).partial_fit(apart, twice(y)[0]).solution_.counted == 2 * n


def test_copies_with_a_little_noise_are_warned_of(rng):
    X, y = table(rng, 400)
    XX, yy = twice(X, y)
    with pytest.warns(UserWarning, match="nearly equal"):
        R(rs.Fourier(), 50, random_state=0).fit(XX + 1e-6 * rng.normal(size=XX.shape), yy)
    R(rs.Fourier(), 50, random_state=0).fit(XX, yy)  # copies to the last bit are no secret
    R(rs.Fourier(), 50, random_state=0).fit(np.round(XX + 0.1 * rng.normal(size=XX.shape), 1), yy)
    time = np.linspace(0, 1, 2000)[:, None]
    R(rs.Fourier(), 50, random_state=0).fit(time, np.sin(9 * time[:, 0]))


def test_nearly_equal_rows_are_looked_for_where_columns_are_many(rng):
    X = rng.normal(size=(220, 1500))  # fewer rows are looked at than would be asked
    assert near_copies.MOST_PRODUCTS // (near_copies.ASKED * 1500) < near_copies.ASKED
    source = of_arrays(X, None)
    frame = R(rs.Stumps(), 5, random_state=0).fit(X, X[:, 0]).frame_
    assert near_copies.share_of(frame, source) == 0.0
    doubled = of_arrays(np.vstack([X, X + 1e-7]), None)
    assert near_copies.share_of(frame, doubled) > 0.1


@pytest.mark.parametrize("k", [200, 1100])
@pytest.mark.parametrize("tails", ["targets", "columns"])
def test_the_error_of_many_rows_is_that_of_all(tails, k, rng, monkeypatch):
    """Few rows make most of the error: those that judge ridges for all do not tell it."""
    monkeypatch.setattr("randspan.judging.MANY_ROWS", 2500)
    X, noise = rng.normal(size=(3000, 4)), 0.3 * rng.standard_t(2.2, size=3000)
    family = rs.Fourier()
    if tails == "columns":
        X, noise, family = np.exp(1.5 * X), 0.3 * rng.normal(size=3000), rs.Units("relu")
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + noise
    model = R(family, k, scales=None, random_state=0).fit(X, y)
    squares = (model.leave_one_out(X, y) - y) ** 2
    # A leverage h is known to a share of √(2/64), and few rows of h near 1 are computed exactly.
    assert model.validation_.error == pytest.approx(squares.mean(), rel=0.01)
    doubt = squares.std() / np.sqrt(3000)
    assert model.validation_.standard_error == pytest.approx(doubt, rel=0.05)


def interacting(seed, classes=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=300)
    return X, y > 0 if classes else y


@pytest.mark.parametrize(
    ("model", "weights", "seed"),
    [
        (C(rs.Fourier("matern52", sampling="qmc", form="paired"), 40, random_state=0), (1, 1), 0),
        (R(rs.Units(), 40, random_state=0), (0.5, 1.5), 0),
        (R(rs.Bumps(), 40, random_state=6), (1, 1), 6),
    ],
)
def test_of_two_minima_the_lower_is_found_in_either_precision(model, weights, seed):
    """One of them lies below the ridges that float32 carries; copies change where those end."""
    X, y = interacting(seed, classes=isinstance(model, C))
    errors = []
    order = np.random.default_rng(2).permutation(600)
    for rows in (
        (X, y, np.full(300, 2.0)),
        (np.tile(X, (2, 1))[order], np.tile(y, 2)[order], np.repeat(weights, 300)[order]),
    ):
        found = model.fit(*rows)
        sharp = clone(model).set_params(dtype="float64").fit(*rows)
        assert found.alpha_ == sharp.alpha_
        errors.append(found.validation_.error)
    assert errors[0] == pytest.approx(errors[1], rel=0.01)


def cosines(X):
    numbers = np.arange(1, 9)
    return np.concatenate([np.cos(column[:, None] * numbers) / numbers for column in X.T], axis=1)


@pytest.mark.parametrize(
    ("family", "loss", "seed"),
    [
        (rs.Fourier("laplacian", gamma=0.3), "pinball", 1),
        (rs.Projections(), "hinge", 1),
        (rs.Dictionary(cosines), "epsilon_insensitive", 5),
    ],
    ids=["small", "flat", "large"],
)
def test_ridges_that_were_solved_for_roughly_are_compared_by_minima(family, loss, seed):
    """Rough minima of small ridges may look better than they are, and hide the best of others.

    Flat paths are decided by better minima, and larger ridges tried where rough ones leave it open.
    """
    X, y = interacting(seed, classes=loss == "hinge")
    model = (C if loss == "hinge" else R)(family, 40, loss=loss, alpha="auto", random_state=seed)
    once = model.fit(X, y, sample_weight=np.full(300, 2.0))
    told, alpha = once.validation_.error, once.alpha_
    order = np.random.default_rng(seed).permutation(600)
    twice = model.fit(np.vstack([X, X])[order], np.concatenate([y, y])[order])
    assert twice.alpha_ == alpha
    assert twice.validation_.error == pytest.approx(told, rel=1e-3)
