"""Random hypotheses: kernel expansions, networks, trees, and anybody's estimators."""

import pickle
from itertools import product

import numpy as np
import pytest
from scipy import linalg, sparse, stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeRegressor

import randspan as rs
from randspan.families.shared import forest
from randspan.families.shared.out_of_bag import Training
from randspan.families.shared.pivots import pivots
from randspan.families.shared.rows import Rows
from randspan.keys import keys_of
from table import FAMILIES, PRECISIONS

NEW = ("expansions", "expansions-nystrom", "networks", "trees", "leaves", "hypotheses")


def data(n=200, d=4, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 + noise * rng.normal(size=n)


# -- the matrix ----------------------------------------------------------------------------------


def matrix(*losses, kinked):
    """Family × precision × loss × kind of rows, and every family with a loss that has a kink.

    Losses with a kink are fitted in the same passes over the same features as smooth ones, a few
    hundred times as many: one precision and one kind of rows are enough of them. Held-out rows
    choose alpha from scores alone, so only functions that have learned from some of the rows can
    make a difference to the choice.
    """
    precisions = [(name, dtype) for name, dtype in PRECISIONS if name in NEW]
    cases = list(product(precisions, losses, ("dense", "sparse")))
    cases = [(*which, loss, kind, "auto") for which, loss, kind in cases]
    for name in NEW:
        alpha = "auto" if FAMILIES[name].uses_target else 0.1
        cases.append((name, "float32", kinked, "dense", alpha))
    return pytest.mark.parametrize(("name", "dtype", "loss", "kind", "alpha"), cases)


@matrix("squared", "huber", kinked="absolute")
def test_numbers_of_several_targets_with_weights(name, dtype, loss, kind, alpha):
    X, y = data(260)
    form = X if kind == "dense" else sparse.csr_array(X)
    Y = np.column_stack([y, 10 - 3 * y])
    weights = np.random.default_rng(1).uniform(0.5, 2, size=200)
    model = rs.SpanRegressor(FAMILIES[name], 20, loss=loss, alpha=alpha, dtype=dtype)
    model.set_params(random_state=0).fit(form[:200], Y[:200], weights)
    predicted = model.predict(form[200:])
    assert predicted.shape == (60, 2)
    error = np.mean((predicted - Y[200:]) ** 2, axis=0)
    assert (error < 0.85 * Y[200:].var(axis=0)).all(), error
    again = pickle.loads(pickle.dumps(model)).predict(form[200:])
    assert np.array_equal(again, predicted)
    assert np.array_equal(clone(model).fit(form[:200], Y[:200], weights).predict(form[200:]), again)


@matrix("squared", "logistic", kinked="hinge")
def test_several_classes_with_weights(name, dtype, loss, kind, alpha):
    X, y = load_iris(return_X_y=True)
    form, y = X if kind == "dense" else sparse.csr_array(X), np.array(["a", "b", "c"])[y]
    weights = np.random.default_rng(1).uniform(0.5, 2, size=75)
    model = rs.SpanClassifier(FAMILIES[name], 20, loss=loss, alpha=alpha, dtype=dtype)
    model.set_params(random_state=0).fit(form[::2], y[::2], weights)
    assert model.score(form[1::2], y[1::2]) > 0.85
    shares = model.predict_proba(form[1::2])
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(form[1::2]))


# -- the linear class ----------------------------------------------------------------------------


def test_linear_hypotheses_are_random_projection_and_least_squares():
    X, y = data(d=12)
    family = rs.Projections(scale=0.1)
    model = rs.SpanRegressor(family, 5, alpha=0, standardize=False, random_state=0).fit(X, y)
    directions = model.functions_.weights
    referee = LinearRegression().fit(X @ directions.T, y)
    np.testing.assert_allclose(model.predict(X), referee.predict(X @ directions.T), rtol=1e-10)

    def linear(X, y, rng):
        w = 0.1 * rng.normal(size=X.shape[1])
        return lambda X: X @ w

    asked = rs.Hypotheses(linear, bootstrap=1.0)
    model = rs.SpanRegressor(asked, 5, alpha=0, standardize=False, random_state=0).fit(X, y)
    Z = model.functions_(X)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(Z, y).predict(Z), rtol=1e-9)


# -- kernel expansions ---------------------------------------------------------------------------


def test_as_many_expansions_as_rows_interpolate_like_kernel_ridge():
    X, y = data(80)
    new = data(50, seed=1)[0]
    settings = {"alpha": 0, "fit_intercept": False, "standardize": False, "random_state": 0}
    for k in (80, 200):
        model = rs.SpanRegressor(rs.KernelExpansions(gamma=1.0), k, **settings).fit(X, y)
        referee = KernelRidge(kernel="rbf", gamma=1.0, alpha=1e-13).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
        np.testing.assert_allclose(model.predict(new), referee.predict(new), atol=1e-6)


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("anchors", [None, 30, "rpcholesky"])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_nystrom_is_that_of_scikit_learn_on_the_same_anchors(alpha, anchors, kernel):
    X, y = data()
    family = rs.KernelExpansions(kernel, 0.5, "nystrom", anchors)
    settings = {"alpha": alpha, "standardize": False, "dtype": "float64", "random_state": 0}
    model = rs.SpanRegressor(family, 30, **settings).fit(X, y)
    chosen = model.functions_.anchors
    assert len(np.unique(chosen, axis=0)) == 30
    # With as many components as there are rows scikit-learn takes these rows.
    nystroem = Nystroem(kernel=kernel, gamma=0.5, n_components=30).fit(chosen)
    referee = Ridge(alpha=alpha).fit(nystroem.transform(X), y)
    np.testing.assert_allclose(
        model.predict(X), referee.predict(nystroem.transform(X)), rtol=1e-7, atol=1e-9
    )


def test_nystrom_functions_are_the_formula(rng):
    X = rng.normal(size=(40, 3))
    functions = rs.KernelExpansions(gamma=0.3, coefficients="nystrom").draw(X, 9, 0)
    Z = functions.anchors
    K = pairwise_kernels(Z, metric="rbf", gamma=0.3)
    expected = 3 * pairwise_kernels(X, Z, metric="rbf", gamma=0.3) @ linalg.inv(linalg.sqrtm(K))
    np.testing.assert_allclose(functions(X), expected.real, atol=1e-8)
    np.testing.assert_allclose(functions.kernel(Z), K, atol=1e-8)
    # Fewer rows than functions: the others are zero.
    few = rs.KernelExpansions(gamma=0.3, coefficients="nystrom").draw(X[:4], 9, 0)(X)
    assert few.shape == (40, 9)
    assert (few[:, 4:] == 0).all()


@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        ("rbf", {}),
        ("laplacian", {}),
        ("poly", {"degree": 2, "coef0": 0.5}),
        ("sigmoid", {"coef0": 0.1}),
        ("cosine", {}),
        ("linear", {}),
        ("chi2", {}),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_by_name_are_those_of_scikit_learn(kernel, params, dtype, rng):
    X = rng.uniform(size=(50, 3)).astype(dtype)
    X[0] = 0
    family = rs.KernelExpansions(kernel, anchors=7, kernel_params=params)
    functions = family.draw(X, 5, 0)
    values = pairwise_kernels(X, functions.anchors, metric=kernel, **params)
    expected = values @ functions.coefficients.T
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(functions(X), expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(functions(sparse.csr_array(X)), functions(X), atol=tolerance)


def test_a_triangle_spans_the_same_and_is_nested(rng):
    X = rng.normal(size=(700, 3))
    root, triangle = (
        rs.KernelExpansions("laplacian", 0.3, which).draw(X, 600, 0)
        for which in ("nystrom", "cholesky")
    )
    np.testing.assert_array_equal(root.anchors, triangle.anchors)
    np.testing.assert_allclose(triangle.kernel(X[:50]), root.kernel(X[:50]), atol=1e-9)
    Z = triangle(X[:50])
    np.testing.assert_allclose(Z @ Z.T / 600, root.kernel(X[:50]), atol=1e-9)
    few = rs.KernelExpansions("laplacian", 0.3, "cholesky", triangle.anchors[:300]).draw(X, 300, 0)
    np.testing.assert_allclose(
        few(X[:50]) / np.sqrt(300), triangle(X[:50])[:, :300] / np.sqrt(600), atol=1e-9
    )
    # Equal anchors, which no factor can tell apart.
    copies = rs.KernelExpansions("rbf", 0.3, "cholesky", np.repeat(X[:10], 2, axis=0)).draw(
        X, 30, 0
    )
    plain = rs.KernelExpansions("rbf", 0.3, "nystrom", X[:10]).draw(X, 10, 0)
    np.testing.assert_allclose(copies.kernel(X[:50]), plain.kernel(X[:50]), atol=1e-5)
    assert (copies(X)[:, 20:] == 0).all()


def test_nystrom_keeps_its_digits_in_float32(rng):
    """Small eigenvalues would make much of rounded kernel values."""
    X = rng.normal(size=(600, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=600)
    family = rs.KernelExpansions("rbf", 0.5, "nystrom")
    single, double = (
        rs.SpanRegressor(family, 150, dtype=dtype, random_state=0).fit(X[:400], y[:400])
        for dtype in ("float32", "float64")
    )
    errors = [np.mean((m.predict(X[400:]) - y[400:]) ** 2) for m in (single, double)]
    assert errors[0] < 1.05 * errors[1]


def test_wide_sparse_rows_have_fewer_anchors(rng):
    X = sparse.random_array((300, 200_000), density=1e-4, rng=rng, format="csr")
    functions = rs.KernelExpansions("linear").draw(X, 5, 0)
    assert functions.anchors.shape == (100, 200_000)
    expected = (X @ functions.anchors.T) @ functions.coefficients.T
    np.testing.assert_allclose(functions(X), expected, atol=1e-9)


def test_kernels_may_be_families_or_callables(rng):
    X = rng.normal(size=(50, 3))
    family = rs.Fourier("matern32", gamma=0.5)
    functions = rs.KernelExpansions(family, anchors=7).draw(X, 5, 0)
    values = family.kernel(X, functions.anchors)
    np.testing.assert_allclose(functions(X), values @ functions.coefficients.T)
    called = rs.KernelExpansions(RBF(2.0), anchors=7).draw(X, 5, 0)
    expected = RBF(2.0)(X, called.anchors) @ called.coefficients.T
    np.testing.assert_allclose(called(X), expected)
    with pytest.raises(ValueError, match=r"returned an array of shape \(\)"):
        rs.KernelExpansions(lambda X, Y: 1.0).draw(X, 5, 0)(X)
    with pytest.raises(NotImplementedError, match="no kernel in closed form"):
        rs.KernelExpansions(rs.Units("tanh")).draw(X, 5, 0)


def test_laws_of_coefficients(rng):
    X = rng.normal(size=(2000, 1))
    laws = {
        "normal": stats.norm(),
        "uniform": stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)),
        "laplace": stats.laplace(),
    }
    for name, law in laws.items():
        drawn = rs.KernelExpansions(coefficients=name).draw(X, 20, 0).coefficients
        assert drawn.shape == (20, 2000)
        assert stats.kstest(drawn.ravel(), law.cdf).pvalue > 1e-3
    signs = rs.KernelExpansions(coefficients="bernoulli").draw(X, 20, 0).coefficients
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert stats.binomtest(int((signs > 0).sum()), signs.size).pvalue > 1e-3
    own = rs.KernelExpansions(coefficients=lambda m, rng: rng.normal(5, 1, size=m))
    assert abs(own.draw(X, 20, 0).coefficients.mean() - 5) < 5 / np.sqrt(40_000)


def test_pivots_have_the_law_of_drawing_one_by_one():
    """Of a small matrix, pairs of pivots come as often as the definition says."""
    X = np.array([[0.0], [0.1], [1.0], [3.0], [3.2]])
    K = np.exp(-((X - X.T) ** 2)) * np.outer([1, 1, 2, 1, 1.5], [1, 1, 2, 1, 1.5])
    expected = np.zeros((5, 5))
    for i in range(5):
        left = np.maximum(np.diagonal(K) - K[i] ** 2 / K[i, i], 0)
        left[i] = 0
        expected[i] = K[i, i] / np.trace(K) * left / left.sum()
    found, draws = np.zeros((5, 5)), 4000
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        first, second = pivots(lambda at: K[:, at].copy(), np.diagonal(K).copy(), 2, rng)
        found[first, second] += 1
    likely = expected > 1e-3
    assert found[~likely].sum() <= draws * expected[~likely].sum() + 20
    counts = np.append(found[likely], found[~likely].sum() + 1e-9)
    shares = np.append(expected[likely], expected[~likely].sum())
    statistic = ((counts - draws * shares) ** 2 / (draws * shares))[:-1].sum()
    assert stats.chi2.sf(statistic, likely.sum() - 1) > 1e-3


def test_pivots_are_distinct_and_stop_where_nothing_is_left(rng):
    X = np.repeat(rng.normal(size=(6, 2)), 20, axis=0)
    family = rs.KernelExpansions(gamma=0.5, coefficients="nystrom", anchors="rpcholesky")
    functions = family.draw(X, 50, 0)
    assert functions.anchors.shape == (6, 2)
    assert len(np.unique(functions.anchors, axis=0)) == 6
    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    np.testing.assert_allclose(functions(X) @ functions(X).T / 50, K, atol=1e-7)


def test_pivots_approximate_better_than_rows_at_random(rng):
    X = np.concatenate([rng.normal(size=(950, 2)), rng.normal(6, 0.5, size=(50, 2))])
    K = pairwise_kernels(X, metric="rbf", gamma=1.0)

    def left(anchors, seed):
        family = rs.KernelExpansions(gamma=1.0, coefficients="nystrom", anchors=anchors)
        Z = family.draw(X, 40, seed)(X)
        return np.trace(K - Z @ Z.T / 40)

    chosen, uniform = ([left(a, seed) for seed in range(5)] for a in ("rpcholesky", None))
    assert max(chosen) < min(uniform)


# -- networks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [7, (7,), (6, 3), (5, 4, 3)])
@pytest.mark.parametrize("bias", [True, False])
def test_networks_are_networks(hidden, bias, rng):
    X = rng.normal(size=(300, 5))
    functions = rs.Networks(hidden, "tanh", scale=1.3, bias=bias).draw(X, 11, 0)
    values = functions(X)
    for j in range(11):
        layer = X
        for depth, weights in enumerate(functions.weights):
            layer = layer @ weights[j].T + (functions.biases[depth][j] if bias else 0)
            layer = np.tanh(layer) if depth < len(functions.weights) - 1 else layer
        np.testing.assert_allclose(values[:, j], layer[:, 0], atol=1e-12)
    if not bias:
        np.testing.assert_allclose(functions(-X), -values, atol=1e-12)


def test_an_activation_may_return_another_precision(rng):
    X = rng.normal(size=(50, 3)).astype(np.float32)
    steps = rs.Networks((6, 4), lambda u: (u > 0).astype(float)).draw(X, 5, 0)
    assert steps(X).dtype == np.float32


def test_weights_of_networks_have_their_law(rng):
    X = rng.normal(size=(5, 16))
    functions = rs.Networks((50, 30), scale=2.0).draw(X, 40, 0)
    for weights, deviation in zip(
        functions.weights, (2 / 4, 2 / 50**0.5, 1 / 30**0.5), strict=True
    ):
        assert stats.kstest(weights.ravel() / deviation, "norm").pvalue > 1e-3
    plain = rs.Networks((50, 30), weights="standard", scale=2.0).draw(X, 40, 0)
    for layer, inner in zip((0, 1, 2), (X.shape[1], 50, 30), strict=True):
        rooted = functions.weights[layer] * np.sqrt(inner)
        np.testing.assert_allclose(plain.weights[layer], rooted, rtol=1e-12)
        assert np.array_equal(plain.biases[layer], functions.biases[layer])
    own = rs.Networks(weights=lambda size, rng: np.full(size, 3.0)).draw(X, 4, 0)
    assert (own.weights[0] == 3 / 4).all()


# -- trees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("several", [False, True])
def test_a_tree_says_the_mean_of_what_it_has_seen_in_the_leaf(several):
    X, y = data(300)
    Y = np.column_stack([y, y**2]) if several else y
    functions = rs.Trees(max_features=2, min_samples_leaf=4).draw(X, 8, 0, Y)
    assert_means_of_leaves(functions, Rows(X), Y.reshape(300, -1), least=4)


def assert_means_of_leaves(functions, rows, Y, least=1):
    k = functions.n_components
    values = functions(rows).reshape(len(Y), k, -1)
    bags = functions.out_of_bag
    seen = bags.seen(bags.indices(keys_of(rows.values), Y), k)
    leaves = functions.forest.leaves(rows, slice(None))
    for j in range(k):
        for leaf in np.unique(leaves[j]):
            here = leaves[j] == leaf
            known = here & seen[:, j]
            assert known.sum() >= least
            mean = np.tile(Y[known].mean(axis=0), (here.sum(), 1))
            np.testing.assert_allclose(values[here, j], mean, atol=1e-12)


def test_leaves_are_indicators_of_the_same_trees():
    X, y = data(300)
    law = {"max_features": 2, "min_samples_leaf": 4}
    values = rs.Trees(**law).draw(X, 8, 0, y)
    leaves = rs.Trees(output="leaves", **law).draw(X, 8, 0, y)
    Z = leaves(X)
    assert sparse.issparse(Z)
    assert (Z.sum(axis=1) == 8).all()
    assert Z.shape[1] == len(values.forest.value)
    weights = np.linalg.lstsq(Z.toarray(), values(X).sum(axis=1), rcond=None)[0]
    np.testing.assert_allclose(Z @ weights, values(X).sum(axis=1), atol=1e-8)


def test_bags_hold_their_share_of_the_rows():
    X, y = data(5000)
    for share in (0.5, 0.8):
        trees = rs.Trees(bootstrap=share, max_features=1, min_samples_leaf=1000)
        out_of_bag = trees.draw(X, 20, 0, y).out_of_bag
        seen = out_of_bag.seen(out_of_bag.indices(keys_of(X), y[:, None]), 20)
        assert stats.binomtest(int(seen.sum()), seen.size, share).pvalue > 1e-3
        both = int((seen[:, :10] & seen[:, 10:]).sum())  # independent of each other
        assert stats.binomtest(both, 50_000, share**2).pvalue > 1e-3
    new, other = (out_of_bag.indices(keys_of(A), y[:, None] + 1) for A in (X + 1, X))
    assert not out_of_bag.seen(new, 20).any()
    np.testing.assert_array_equal(out_of_bag.seen(other, 20), seen)  # whatever the targets


def test_max_features_is_chosen_by_unseen_rows(rng):
    X, y = data(600, d=16, noise=0.01)
    assert rs.Trees().draw(X, 5, 0, y).max_features >= 10  # few columns matter
    noise = rng.normal(size=600)
    flat = X @ np.ones(16) / 4 + 4 * noise  # all alike, and much noise
    assert rs.Trees().draw(X, 5, 0, flat).max_features <= 10
    assert rs.Trees(max_features=3).draw(X, 5, 0, y).max_features == 3


def test_targets_with_much_noise_have_large_leaves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 4))
    clean = X[:, 0] + X[:, 1]
    noisy = clean + 5 * rng.normal(size=1000)
    family = rs.Trees(max_features=4, min_samples_leaf="auto")
    few, many = (len(family.draw(X, 10, 0, y).forest.value) / 10 for y in (noisy, clean))
    assert many > 700  # a leaf for each of 800 rows, all but those that cannot be cut off alone
    assert few < 200
    alone = rs.Trees(max_features=4).draw(X, 10, 0, clean)
    np.testing.assert_array_equal(family.draw(X, 10, 0, clean)(X), alone(X))


@pytest.mark.parametrize("k", [5, 30])
@pytest.mark.parametrize("classes", [False, True])
def test_trees_of_a_trial_are_those_of_the_forest(k, classes):
    """Fewer trees than were tried, and more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 9))
    y = (X[:, 0] > X[:, 1]).astype(int) if classes else X[:, 0] - X[:, 1]
    kind = rs.SpanClassifier if classes else rs.SpanRegressor
    tried = kind(rs.Trees(), k, random_state=0).fit(X, y)
    columns = tried.functions_.max_features
    told = kind(rs.Trees(max_features=columns), k, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tried.functions_(X), told.functions_(X))


def test_many_sparse_columns_do_not_become_dense(monkeypatch, rng):
    """Where they are too many: thresholds are then carried from scaled to standardised columns."""
    X = sparse.random_array((400, 30), density=0.2, rng=rng, format="csr")
    y = X[:, [0]].toarray()[:, 0] - X[:, [1]].toarray()[:, 0]
    monkeypatch.setattr(forest, "MOST_ENTRIES", 100)
    rows = rs.Frame.read([X], rs.Trees()).rows(X, np.float64)
    training = Training(rows, y[:, None])
    assert sparse.issparse(forest.Nursery.of(training, 0.8, None, 0).seen.columns.X)
    assert_means_of_leaves(rs.Trees(max_features=3).train(training, 8, 0), rows, y[:, None])


# -- anybody's hypotheses ------------------------------------------------------------------------


def neighbours(X, y, rng):
    columns = rng.choice(X.shape[1], size=2, replace=False)
    model = KNeighborsRegressor(5).fit(X[:, columns], y)
    return lambda X: model.predict(X[:, columns])


def test_a_sampler_of_ones_own():
    X, y = data(600)
    model = rs.SpanRegressor(rs.Hypotheses(neighbours), 40, random_state=0).fit(X[:400], y[:400])
    single = KNeighborsRegressor(5).fit(X[:400], y[:400]).score(X[400:], y[400:])
    assert model.score(X[400:], y[400:]) > single
    assert model.solution_.solver == "out_of_bag"


@pytest.mark.parametrize(
    "sampler",
    [KNeighborsClassifier(5), LogisticRegression(), LinearSVC(), Ridge(), DecisionTreeRegressor()],
    ids=repr,
)
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_estimators_of_classes_and_of_numbers_classify(sampler, load):
    X, y = load(return_X_y=True)
    model = rs.SpanClassifier(rs.Hypotheses(sampler), 10, random_state=0).fit(X[::2], y[::2])
    floor = 0.75 if isinstance(sampler, Ridge | LinearSVC) else 0.88
    assert model.score(X[1::2], y[1::2]) > floor
    assert model.predict_proba(X[:3]).shape == (3, len(model.classes_))


def test_classes_that_a_bag_misses():
    """A class of few rows is missing from many out_of_bag, and some have one class only."""
    X, y = load_iris(return_X_y=True)
    rare = np.concatenate([np.arange(50), np.arange(50, 53), np.arange(100, 102)])
    for sampler in (LogisticRegression(), LinearSVC(), KNeighborsClassifier(1)):
        model = rs.SpanClassifier(rs.Hypotheses(sampler, bootstrap=0.5), 12, random_state=0)
        model.fit(X[rare], y[rare])
        assert model.score(X[:50], y[:50]) > 0.9
    two = rs.SpanClassifier(rs.Hypotheses(LogisticRegression(), bootstrap=0.3), 12, random_state=0)
    two.fit(X[rare[:52]], y[rare[:52]])
    assert np.isfinite(two.decision_function(X)).all()


def test_a_prediction_does_not_depend_on_the_rows_beside_it():
    X, y = load_iris(return_X_y=True)
    rare = np.concatenate([np.arange(50), np.arange(50, 90), np.arange(100, 103)])
    model = rs.SpanClassifier(rs.Hypotheses(LinearSVC(), bootstrap=0.5), 10, random_state=0)
    model.fit(X[rare], y[rare])
    together = model.decision_function(X)
    alone = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(0, 150, 10)])
    np.testing.assert_allclose(alone, together[::10], atol=1e-9)


def returns_classes(X, y, rng):
    return KNeighborsClassifier(3).fit(X, y).predict


def returns_proba(X, y, rng):
    class Only:
        predict_proba = KNeighborsClassifier(3).fit(X, y).predict_proba

    return Only()


@pytest.mark.parametrize(
    "sampler", [returns_classes, returns_proba, SVC(decision_function_shape="ovo")]
)
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_classes_in_every_form(sampler, load):
    X, y = load(return_X_y=True)
    model = rs.SpanClassifier(rs.Hypotheses(sampler), 8, fit_intercept=False, random_state=0)
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9


def test_models_of_estimators_merge_after_pickling():
    X, y = data()
    family = rs.Hypotheses(DecisionTreeRegressor(max_depth=4))
    whole = rs.SpanRegressor(family, 8, random_state=0).fit(X, y)
    one, two = (
        rs.SpanRegressor(frame=whole.frame_).fit(X[rows], y[rows])
        for rows in (slice(0, 90), slice(90, 200))
    )
    merged = one.merge(pickle.loads(pickle.dumps(two)))
    np.testing.assert_allclose(merged.predict(X), whole.predict(X), atol=1e-9)


def test_targets_of_any_kind_for_a_transformer():
    X, y = data(60)
    trees = rs.SpanTransformer(rs.Trees(), 5, random_state=0)
    numbers = trees.fit_transform(X, y)
    assert numbers.shape == (60, 5)
    assert np.array_equal(trees.fit_transform(X, y.astype(object)), numbers)
    assert trees.fit_transform(X, np.where(y > 0, "a", "b")).shape == (60, 5)
    assert trees.fit_transform(X, np.digitize(y, [0, 1])).shape == (60, 15)
    with pytest.raises(ValueError, match="one class only"):
        trees.fit(X, np.full(60, "a"))
    kernel = rs.estimate_kernel(rs.Trees(), X, n_components=20, random_state=0, y=y)
    np.testing.assert_allclose(kernel, kernel.T)


def test_a_tree_that_was_shown_no_rows_predicts_the_mean():
    X, y = data(3)
    functions = rs.Trees(bootstrap=0.2, max_features=1).draw(X, 30, 0, y=y)
    # Each of three rows is in a bag with probability 1/5: every other bag is empty.
    empty = ~functions.out_of_bag.seen(np.arange(3), 30).any(axis=0)
    assert 5 < empty.sum() < 25
    np.testing.assert_allclose(functions(X)[:, empty], y.mean())


def test_random_targets_are_not_the_targets():
    X, y = data()
    family = rs.Hypotheses(DecisionTreeRegressor(max_depth=3), targets="random")
    assert not family.uses_target
    Z = family.draw(X, 30, 0)(X)
    assert np.array_equal(Z, family.draw(X, 30, 0, y)(X))
    mean, std = rs.SpanRegressor(family, 30, random_state=0).fit(X, y).predict(X, return_std=True)
    assert mean.shape == std.shape == (200,)
    random_classes = rs.Hypotheses(KNeighborsClassifier(3), targets="random").draw(X, 5, 0)(X)
    assert random_classes.shape == (200, 5)


def test_estimators_get_random_states_and_weights():
    X, y = data()
    family = rs.Hypotheses(DecisionTreeRegressor(splitter="random", max_depth=3), bootstrap=1.0)
    functions = family.draw(X, 3, 0, y)
    states = {h.predictor.random_state for h in functions.hypotheses}
    assert len(states) == 3
    weights = np.where(X[:, 0] > 0, 1.0, 0.0)
    model = rs.SpanRegressor(rs.Hypotheses(Ridge(1e-8)), 3, alpha=1.0, random_state=0)
    assert np.isfinite(model.fit(X, y, weights).predict(X)).all()
    # A sampler that knows no weights sees only rows that have some.
    seen = []
    asked = rs.Hypotheses(lambda X, y, rng: (seen.append(X), lambda X: X[:, 0])[1])
    rs.SpanRegressor(asked, 3, standardize=False, random_state=0).fit(X, y, weights)
    assert all((rows[:, 0] > 0).all() for rows in seen)


class Fussy(RegressorMixin, BaseEstimator):
    """Raises when it is fitted, or when it predicts more than five rows."""

    def __init__(self, when="fit"):
        self.when = when

    def fit(self, X, y):
        if self.when == "fit":
            raise RuntimeError("I refuse")
        return self

    def predict(self, X):
        if len(X) > 5:
            raise RuntimeError("too many")
        return np.zeros(len(X))


def wrong_shape(X, y, rng):
    return lambda X: np.zeros((len(X), 3))


def not_a_number(X, y, rng):
    return lambda X: np.full(len(X), np.nan)


def raises(X, y, rng):
    raise KeyError("nothing here")


def third_raises(X, y, rng):
    third_raises.calls += 1
    if third_raises.calls == 5:  # two calls tell that it looks at targets
        raise KeyError("nothing here")
    return lambda X: X[:, 0] * y[0]


def no_predictor(X, y, rng):
    return 3.0


def words(X, y, rng):
    return lambda X: np.array(["a"] * len(X))


@pytest.mark.parametrize(
    ("sampler", "message"),
    [
        (
            wrong_shape,
            r"Hypothesis 0 of the sampler wrong_shape returned .*\(5, 3\).*expected \(5,\)",
        ),
        (not_a_number, "Hypothesis 0 of the sampler not_a_number predicted NaN"),
        (raises, "Hypothesis 0 of the sampler raises could not be drawn: KeyError.*nothing here"),
        (third_raises, "Hypothesis 2 of the sampler third_raises could not be drawn: KeyError"),
        (no_predictor, "Hypothesis 0 of the sampler no_predictor is neither"),
        (words, "Hypothesis 0 of the sampler words failed to predict: ValueError"),
        (
            Fussy(),
            r"Hypothesis 0 of the sampler Fussy\(\) could not be drawn: RuntimeError.*refuse",
        ),
        (
            Fussy("predict"),
            r"Hypothesis 0 of the sampler Fussy\(.*\) failed to predict: .*too many",
        ),
        ("knn", r"sampler must be a callable \(X, y, rng\)"),
    ],
)
def test_what_is_wrong_with_a_sampler_is_said(sampler, message):
    X, y = data(50)
    third_raises.calls = 0
    with pytest.raises(ValueError, match=message):
        rs.SpanRegressor(rs.Hypotheses(sampler), 5, random_state=0).fit(X, y).predict(X)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (rs.KernelExpansions("gauss"), "kernel must be one of"),
        (rs.KernelExpansions(gamma=-1.0), "gamma must be positive"),
        (rs.KernelExpansions("linear", gamma=1.0), "has no gamma"),
        (rs.KernelExpansions("poly", gamma="median"), "gamma='median' is for"),
        (rs.KernelExpansions(kernel_params={"degree": 2}), "kernel_params"),
        (rs.KernelExpansions(kernel_params={"gamma": 2.0}), "gamma is a parameter of its own"),
        (rs.KernelExpansions("laplacian", kernel_params={"degree": 2}), "kernel_params"),
        (rs.KernelExpansions("chi2"), "see standardize=False"),
        (rs.KernelExpansions(lambda X, Y: np.full((len(X), len(Y)), np.nan)), "NaN"),
        (rs.KernelExpansions(anchors=np.full((3, 4), np.nan)), "anchors hold NaN"),
        (rs.KernelExpansions(coefficients="cauchy"), "coefficients must be one of"),
        (rs.KernelExpansions(anchors=0), "anchors must be"),
        (rs.KernelExpansions(anchors="kmeans"), "anchors must be one of"),
        (rs.KernelExpansions(anchors=np.zeros((3, 7))), r"shape \(m, 4\)"),
        (rs.Networks(()), "hidden must name"),
        (rs.Networks((5, 0)), "hidden must name"),
        (rs.Networks("wide"), "hidden must name"),
        (rs.Networks(activation="swish"), "activation must be one of"),
        (rs.Trees(bootstrap=0.0), "bootstrap"),
        (rs.Trees(bootstrap=1.5), "bootstrap"),
        (rs.Trees(max_features=5), "from 1 to 4"),
        (rs.Trees(output="paths"), "output must be one of"),
        (rs.Trees(min_samples_leaf=0), "min_samples_leaf"),
        (rs.Trees(min_samples_leaf="few"), "min_samples_leaf"),
        (rs.Hypotheses(Ridge(), targets="shuffled"), "targets must be one of"),
    ],
    ids=lambda value: repr(value)[:40].partition(" at ")[0],
)
def test_parameters_that_make_no_sense_are_refused(family, message):
    X, y = data(50)
    with pytest.raises(ValueError, match=message):
        rs.SpanRegressor(family, 5).fit(X, y)


def test_rows_at_thresholds_do_not_depend_on_the_block_they_come_in():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) * [1.0, 7.0, 0.3] + [0.0, 5.0, -2.0]
    model = rs.SpanRegressor(rs.Trees(output="leaves"), 20, random_state=0).fit(X, X[:, 0])
    frame, forest = model.frame_, model.functions_.forest
    inner = np.flatnonzero(forest.feature >= 0)[:600]
    columns = forest.feature[inner]
    rows = np.tile(X[:1], (len(inner), 1))
    at = forest.threshold[inner] / frame.scale[columns] + frame.centre[columns]
    rows[np.arange(len(inner)), columns] = at
    together = model.predict(rows)
    few = np.concatenate([model.predict(rows[s : s + 100]) for s in range(0, len(rows), 100)])
    np.testing.assert_allclose(together, few, rtol=0, atol=1e-4)


# -- samplers that look at no targets ----------------------------------------------------------


def waves(X, y, rng):
    frequencies, phase = rng.normal(size=X.shape[1]), rng.uniform(0, 2 * np.pi)
    return lambda X: np.cos(X @ frequencies + phase)


def hidden_units(X, y, rng):
    weights, outer = rng.normal(size=(X.shape[1], 10)), rng.normal(size=10)
    return lambda X: np.tanh(X @ weights / np.sqrt(X.shape[1])) @ outer


def sometimes(X, y, rng):
    """Nine times of ten a random wave; else it has learned."""
    return waves(X, y, rng) if rng.random() < 0.9 else Ridge().fit(X, y)


def waving(rng, n=1000):
    X = rng.normal(size=(n, 5))
    truth = 1.6 * np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1]
    return X, truth, truth + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("sampler", [waves, hidden_units])
def test_functions_that_ignore_targets_are_fitted_like_those_of_other_families(sampler, rng):
    X, truth, y = waving(rng)
    assert truth.std() > 1.2
    model = rs.SpanRegressor(rs.Hypotheses(sampler), random_state=0).fit(X[:500], y[:500])
    assert np.sqrt(np.mean((model.predict(X[500:]) - truth[500:]) ** 2)) <= 0.65
    assert model.validation_.kind == "leave_one_out"
    asked = rs.Hypotheses(sampler, targets="random")
    random = rs.SpanRegressor(asked, random_state=0).fit(X[:500], y[:500])
    assert np.array_equal(random.predict(X), model.predict(X))
    _, deviation = model.predict(X, return_std=True)
    assert (deviation > 0).all()
    left = model.leave_one_out(X[:500], y[:500])[3]
    rest = np.delete(np.arange(500), 3)
    known = {"alpha": model.alpha_, "frame": model.frame_}
    without = rs.SpanRegressor(**known).fit(X[rest], y[rest])
    np.testing.assert_allclose(left, without.predict(X[3:4])[0], rtol=1e-4)
    stream = rs.SpanRegressor(frame=model.frame_)
    for start in range(0, 500, 100):
        stream.partial_fit(X[start : start + 100], y[start : start + 100])
    np.testing.assert_allclose(stream.predict(X), model.predict(X), atol=1e-4)


def test_what_has_learned_now_and_then_has_learned(rng):
    X, _, y = waving(rng, 300)
    model = rs.SpanRegressor(rs.Hypotheses(sometimes), 60, random_state=0).fit(X, y)
    assert model.validation_.kind == "out_of_bag"
    few = rs.SpanRegressor(rs.Hypotheses(sometimes), 2, random_state=0).fit(X, y)
    assert few.validation_.kind == "leave_one_out"  # both of them are waves


def test_a_classifier_of_functions_that_ignore_targets(rng):
    X, truth, _ = waving(rng)
    model = rs.SpanClassifier(rs.Hypotheses(waves), random_state=0)
    assert model.fit(X[:500], truth[:500] > 0).score(X[500:], truth[500:] > 0) > 0.85


def fit_and_wave(X, y, rng):
    """Least squares in one random direction, and a large wave that has nothing to do with it."""
    direction, frequencies = rng.normal(size=(2, X.shape[1]))
    projected = X @ direction
    slope = projected @ (y - y.mean()) / (projected @ projected)
    return lambda X: X @ direction * slope + 40 * np.cos(X @ frequencies)


def test_the_ridge_pulls_towards_zero_where_the_mean_of_hypotheses_is_no_model(rng):
    """The mean of a few hypotheses that are mostly noise is worse than a constant."""
    X = rng.normal(size=(4000, 3))
    y = X @ [1.0, -2.0, 0.5] + 5 + 0.3 * rng.normal(size=4000)
    model = rs.SpanRegressor(rs.Hypotheses(fit_and_wave), 20, random_state=0).fit(X, y)
    assert "towards zero" in model.solution_.reason
    mean = np.mean([hypothesis(X) for hypothesis in model.frame_.trained.hypotheses], axis=0)
    assert model.oob_error_ < 1.01 * y.var() < 0.1 * np.mean((y - mean[:, 0]) ** 2)
    trees = rs.SpanRegressor(rs.Trees(), 20, random_state=0).fit(X[:1000], y[:1000])
    assert "towards zero" not in trees.solution_.reason


def test_samplers_that_shrink_small_targets_to_nothing_have_learned(rng):
    """A penalty of 1 leaves nothing of N(0, 1) targets; of these it leaves a good fit."""
    X = rng.normal(size=(600, 8))
    y = 1000 * (X @ rng.normal(size=8)) + 10 * rng.normal(size=600)

    def sampler(X, y, rng):
        columns = rng.choice(8, 4, replace=False)
        model = Lasso(alpha=1.0, fit_intercept=False).fit(X[:, columns], y)
        return lambda X: model.predict(X[:, columns])

    model = rs.SpanRegressor(rs.Hypotheses(sampler), 20, random_state=0, clip=None)
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.8
    assert model.functions_.learned
