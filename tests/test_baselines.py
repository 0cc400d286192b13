"""The methods that random draws are compared with, beside their referees."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import orthogonal_mp
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import randspan as rs
from randspan.baselines import BoostedStumps, JointTraining, MatchingPursuit
from randspan.baselines.joint_training import SLOPES, objective
from randspan.families.shared.activations import ACTIVATIONS


@parametrize_with_checks(
    [
        BoostedStumps(5),
        MatchingPursuit(n_components=50, n_steps=20, random_state=0),
        MatchingPursuit("bins", 5, n_steps=20, orthogonal=True, random_state=0),
        JointTraining(5, max_iter=5, dtype="float64", random_state=0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def sets():
    """Two classes, three classes, and classes that one stump has nearly all right."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    yield "noise", (X, np.where(X[:, 0] + X[:, 1] + rng.normal(size=400) > 0, "yes", "no"))
    four = np.argmax(X @ rng.normal(size=(5, 4)) + rng.normal(size=(400, 4)), axis=1)
    yield "four classes", (X, four)
    for load in (load_breast_cancer, load_wine):
        found = load()
        # Equal gains are decided by the order of columns in one place and at random in the other.
        X = found.data + 1e-3 * rng.normal(size=found.data.shape)
        yield load.__name__, (X, found.target)


SETS = dict(sets())


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_boosted_stumps_are_adaboost_round_by_round(name, rate):
    (X, y), rounds = SETS[name], 40
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    tree = DecisionTreeClassifier(max_depth=1, random_state=0)
    peer = AdaBoostClassifier(tree, n_estimators=rounds, learning_rate=rate, random_state=0)
    peer.fit(X, y, weights)
    ours = BoostedStumps(rounds, learning_rate=rate).fit(X, y, weights)
    assert len(ours.columns_) == len(peer.estimators_)
    for t, stump in enumerate(peer.estimators_):
        assert ours.columns_[t] == stump.tree_.feature[0], t
        assert ours.thresholds_[t] == stump.tree_.threshold[0]
    errors, votes = (
        found[: len(ours.columns_)] for found in (peer.estimator_errors_, peer.estimator_weights_)
    )
    assert ours.estimator_errors_ == pytest.approx(errors, abs=1e-9)
    assert ours.estimator_weights_ == pytest.approx(votes, rel=1e-8)
    staged = zip(ours.staged_predict(X), peer.staged_predict(X), strict=True)
    assert all(np.array_equal(one, other) for one, other in staged)


def test_the_best_stump_by_error_has_the_smallest_error():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, size=(80, 3)).astype(float), rng.integers(0, 3, 80)
    weights = rng.uniform(size=80)
    model = BoostedStumps(1, criterion="error").fit(X, y, weights)
    least = min(
        1
        - sum(max(np.bincount(y[side], weights[side], 3)) for side in (X[:, m] <= t, X[:, m] > t))
        / weights.sum()
        for m in range(3)
        for t in np.arange(5) + 0.5
    )
    assert model.estimator_errors_[0] == pytest.approx(least)


def test_stumps_end_where_nothing_is_left_to_learn():
    X = np.arange(10.0)[:, None]
    right = BoostedStumps(20).fit(X, X[:, 0] > 4)
    assert len(right.columns_) == 1
    assert right.score(X, X[:, 0] > 4) == 1
    with pytest.raises(ValueError, match="better than chance"):
        BoostedStumps(20).fit(np.ones((4, 1)), [0, 1, 0, 1])


def pool(family="fourier", k=60, n=300, seed=0, targets=1):
    """Rows, targets that are few functions of a pool, and the pool's values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Z = rs.SpanTransformer(family, k, dtype="float64", random_state=seed).fit_transform(X)
    Z = Z.toarray() if sparse.issparse(Z) else Z
    W = np.zeros((Z.shape[1], targets))
    chosen = rng.choice(Z.shape[1], 5, replace=False)
    W[chosen] = rng.normal(size=(5, targets))
    return X, Z, Z @ W + 2.0, np.sort(chosen)


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("family", ["fourier", "bins"])
def test_errors_are_those_of_the_residual(family, orthogonal, targets):
    """After every step the error is that of a pursuit of as many steps, and it falls."""
    k = 60 if family == "fourier" else 4
    X, _, Y, _ = pool(family, k, targets=targets)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    given = {"orthogonal": orthogonal, "dtype": "float64", "random_state": 0}
    model = MatchingPursuit(family, k, n_steps=8, **given).fit(X, Y, weights)
    assert (np.diff(model.errors_) < 0).all()
    for steps in (1, 4, 8):
        few = MatchingPursuit(family, k, n_steps=steps, **given).fit(X, Y, weights)
        left = ((Y - few.predict(X).reshape(Y.shape)) ** 2).mean(axis=1)
        assert model.errors_[steps] == pytest.approx(np.average(left, weights=weights), rel=1e-8)
        assert np.array_equal(few.chosen_, model.chosen_[:steps])


def test_orthogonal_pursuit_is_that_of_scikit_learn():
    X, Z, Y, _ = pool()
    y = Y[:, 0] + 0.1 * np.random.default_rng(2).normal(size=len(X))
    model = MatchingPursuit(
        "fourier", 60, n_steps=12, orthogonal=True, dtype="float64", random_state=0
    ).fit(X, y)
    away = Z - Z.mean(axis=0)
    lengths = np.linalg.norm(away, axis=0)
    found = orthogonal_mp(away / lengths, y - y.mean(), n_nonzero_coefs=12) / lengths
    # Weights are those of plain functions, and Z has these divided by √k.
    assert model.weights_ * np.sqrt(60) == pytest.approx(found, rel=1e-8)
    assert set(model.chosen_) == set(np.flatnonzero(found))


def test_greedy_steps_are_projections_on_the_best_function():
    X, Z, Y, _ = pool()
    away, left = Z - Z.mean(axis=0), Y[:, 0] - Y[:, 0].mean()
    lengths = np.linalg.norm(away, axis=0)
    chosen = []
    for _ in range(30):
        i = int(np.argmax(np.abs(away.T @ left) / lengths))
        left = left - away[:, i] * (away[:, i] @ left) / lengths[i] ** 2
        chosen.append(i)
    model = MatchingPursuit("fourier", 60, n_steps=30, dtype="float64", random_state=0)
    model.fit(X, Y[:, 0])
    assert list(model.chosen_) == chosen
    assert Y[:, 0] - model.predict(X) == pytest.approx(left, abs=1e-9)


def test_an_orthogonal_pursuit_ends_where_nothing_is_left_over():
    narrow = rs.Fourier(gamma=3.0)  # functions that are nearly orthogonal
    X, _, Y, chosen = pool(narrow)
    model = MatchingPursuit(
        narrow, 60, n_steps=60, orthogonal=True, dtype="float64", random_state=0
    ).fit(X, Y)
    assert len(model.chosen_) < 60
    assert model.errors_[-1] < 1e-9 * model.errors_[0]
    assert set(chosen) <= set(model.chosen_)


def test_rows_of_weight_two_are_rows_twice_and_sparse_rows_dense_ones():
    X, _, Y, _ = pool()
    twice = np.concatenate([X, X[:100]]), np.concatenate([Y, Y[:100]])
    weights = np.where(np.arange(300) < 100, 2.0, 1.0)
    model = MatchingPursuit("stumps", 50, n_steps=10, standardize=False, random_state=0)
    heavy = model.fit(X, Y, weights).predict(X)
    assert model.fit(*twice).predict(X) == pytest.approx(heavy, abs=1e-5)
    assert model.fit(sparse.csr_array(X), Y, weights).predict(X) == pytest.approx(heavy, abs=1e-5)
    stumps = BoostedStumps(10).fit(X, Y[:, 0] > 2, weights)
    again = BoostedStumps(10).fit(twice[0], twice[1][:, 0] > 2)
    assert np.array_equal(stumps.columns_, again.columns_)
    joint = JointTraining(5, max_iter=5, dtype="float64", random_state=0)
    assert joint.fit(X, Y, weights).predict(X) == pytest.approx(
        joint.fit(*twice).predict(X), abs=1e-4
    )


@pytest.mark.parametrize("activation", SLOPES)
def test_the_gradient_of_joint_training_by_differences(activation):
    """Central differences are wrong by h²/6 of the third derivative, about 1e-9 here."""
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(40, 4)), rng.normal(size=(40, 2))
    rows[:, -1] = 1
    share, point = rng.dirichlet(np.ones(40)), rng.normal(size=4 * 3 + 3 * 2 + 2)
    given = (rows, targets, share, 0.1, activation)
    slopes = objective(point, *given)[1]
    h = 1e-5
    for i in range(len(point)):
        e = h * np.eye(len(point))[i]
        by_hand = (objective(point + e, *given)[0] - objective(point - e, *given)[0]) / (2 * h)
        assert slopes[i] == pytest.approx(by_hand, abs=1e-7 if activation != "relu" else 1e-4), i
    assert set(SLOPES) < set(ACTIVATIONS)


def test_joint_training_is_where_its_gradient_vanishes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.tanh(2 * X[:, 0])
    few = {"method": "l-bfgs", "dtype": "float64", "alpha": 1e-2, "random_state": 0}
    model = JointTraining(3, max_iter=500, **few).fit(X, y)
    start = JointTraining(3, max_iter=1, **few).fit(X, y)
    assert model.objective_ < start.objective_
    unit, W = y.std(), np.asarray(model.weights_)
    rows = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(200)])
    point = np.concatenate([model.inner_.ravel(), W / unit, [(model.intercept_ - y.mean()) / unit]])
    value, slopes = objective(
        point, rows, ((y - y.mean()) / unit)[:, None], np.full(200, 1 / 200), 1e-2, "sigmoid"
    )
    assert value * unit**2 == pytest.approx(model.objective_)
    assert np.abs(slopes).max() < 1e-3


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (BoostedStumps(0), "n_estimators must be a positive whole number"),
        (BoostedStumps(criterion="entropy"), "criterion"),
        (MatchingPursuit(n_steps=0), "n_steps must be a positive whole number"),
        (MatchingPursuit(orthogonal="yes"), "orthogonal"),
        (JointTraining(activation="sign"), "activation"),
        (JointTraining(method="adam"), "method"),
        (JointTraining(alpha=-1), "alpha"),
    ],
)
def test_parameters_are_refused_by_name(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(8.0)[:, None], np.arange(8) % 2)
