"""Corners of losses, boxes and passes: units, sizes, few rows, refusals."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

import randspan as rs
from randspan.losses import NAMED, Hinge, Loss, Softmax
from table import suited

CLASSES = [name for name, loss in NAMED.items() if loss.for_classes]
NUMBERS = [name for name, loss in NAMED.items() if loss.for_numbers]


def data(n=300, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, -1] ** 2 / 2 + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("loss", ["absolute", "pinball", "epsilon_insensitive", "huber"])
def test_alpha_follows_the_units_of_y(loss):
    X, y = data(1000)
    Xt, yt = data(1000, seed=1)
    make = {
        "epsilon_insensitive": lambda size: rs.losses.EpsilonInsensitive(0.1 * size),
        "huber": lambda size: rs.losses.Huber(1.35 * size),
    }.get(loss, lambda size: loss)
    plain, *others = (
        rs.SpanRegressor(rs.Fourier(), 100, loss=make(size), random_state=0)
        .fit(X, size * y + 2 * size)
        .score(Xt, size * yt + 2 * size)
        for size in (1.0, 1e-4, 1e5)
    )
    assert others == pytest.approx([plain, plain], abs=0.02)
    assert plain > 0.85


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_slopes_of_any_size_go_into_float32(size):
    """Those of absolute errors are about 1/size, and products with them overflowed."""
    X, y = data()
    plain, scaled = (
        rs.SpanRegressor(rs.Fourier(), 20, loss="absolute", alpha=1e-3 / s, random_state=0)
        .fit(X, s * y)
        .score(X, s * y)
        for s in (1.0, size)
    )
    assert scaled == pytest.approx(plain, abs=1e-4)


@pytest.mark.parametrize("heavy", [1e-45, 1e45])
def test_heavy_rows_with_large_targets_are_no_matter_of_numpy(heavy):
    X, y = data(40)
    model = rs.SpanRegressor(rs.Bins(), 3, alpha="heldout", random_state=0)
    plain = model.fit(X, y).predict(X)
    found = model.fit(X, 1e70 * y, sample_weight=np.full(40, heavy)).predict(X) / 1e70
    np.testing.assert_allclose(found, plain, atol=1e-2)


@pytest.mark.parametrize("loss", ["absolute", "huber", "squared"])
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_outputs_of_different_size(loss, size):
    """Each column is the fit of that column alone."""
    X, y = data()
    other = np.cos(X[:, 1])
    params = {"loss": loss, "alpha": 1e-3, "bound": 1e9, "random_state": 0, "dtype": "float64"}
    if loss == "huber":  # by its name it would read delta from residuals
        params["loss"] = rs.losses.Huber(1.35)
    params["solver"] = "lbfgs" if loss == "squared" else "auto"
    both = rs.SpanRegressor(rs.Fourier(), 60, **params).fit(X, np.column_stack([size * y, other]))
    alone = rs.SpanRegressor(rs.Fourier(), 60, **params).fit(X, other)
    np.testing.assert_allclose(both.predict(X)[:, 1], alone.predict(X), atol=0.02)
    assert both.solution_.residual < 1e-5


@pytest.mark.parametrize("loss", NUMBERS)
@pytest.mark.parametrize(("offset", "size"), [(1e6, 0.01), (1e8, 1.0)])
def test_small_differences_beside_a_large_offset(loss, offset, size):
    X, y = data()
    model = rs.SpanRegressor(rs.Fourier(), 40, loss=loss, alpha=0.1 / size, random_state=0)
    model = model.set_params(alpha=0.1) if loss in ("squared", "huber") else model
    if loss == "poisson":  # as curved as y is large
        model.set_params(alpha=0.05 * offset)
    model.fit(X, offset + size * y)
    assert model.solution_.converged
    assert np.abs(model.predict(X) - offset).max() < 5 * size + (
        0.11 if loss == "epsilon_insensitive" else 0
    )


@pytest.mark.parametrize(("n", "k", "bound"), [(1000, 300, 30.0), (400, 200, 1e3), (100, 400, 1e4)])
def test_a_box_without_ridge(n, k, bound):
    """RKS eq. 4, where projected steps alone would zigzag: optimal by its certificate."""
    X, y = data(n)
    model = rs.SpanRegressor(
        rs.Fourier(), k, alpha=0, bound=bound, random_state=0, dtype="float64"
    ).fit(X, y)
    assert model.solution_.residual < 1e-6
    newton = rs.SpanRegressor(
        rs.Fourier(), k, alpha=0, bound=bound, random_state=0, loss=rs.losses.Huber(1e6)
    ).fit(X, y)
    assert newton.solution_.objective == pytest.approx(model.solution_.objective, rel=1e-4)


@pytest.mark.parametrize("loss", CLASSES)
@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_very_few_rows(loss, n, seed):
    X, _ = data(n, seed)
    y = np.arange(n) % 2
    model = rs.SpanClassifier(rs.Fourier(), 10, loss=loss, alpha=0.1, random_state=seed).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("loss", CLASSES)
def test_few_rows_of_positive_weight(loss):
    X, y = data(40)
    weights = np.zeros(40)
    weights[[3, 20, 31, 33]] = 1.0
    y = np.arange(40) % 2
    model = rs.SpanClassifier(rs.Fourier(), 10, loss=loss, alpha=0.1, random_state=0)
    assert np.isfinite(model.fit(X, y, sample_weight=weights).predict_proba(X)).all()


@pytest.mark.parametrize("loss", NUMBERS)
@pytest.mark.parametrize("alpha", ["auto", 0.1])
def test_rows_and_targets_that_do_not_vary(loss, alpha):
    X, y = data(60)
    y = suited(loss, y)
    build = {"loss": loss, "alpha": alpha, "random_state": 0}
    flat = rs.SpanRegressor(rs.Fourier(), 20, **build).fit(np.ones_like(X), y)
    assert np.ptp(flat.predict(X[:5] * 0 + 1)) < 1e-6
    same = rs.SpanRegressor(rs.Fourier(), 20, **build).fit(X, 0 * y + 3)
    np.testing.assert_allclose(same.predict(X), 3, atol=0.11)
    if loss == "squared":
        passes = rs.SpanRegressor(rs.Fourier(), 20, solver="sketched", alpha=0.1, random_state=0)
        np.testing.assert_allclose(passes.fit(X, 0 * y + 3).predict(X), 3, atol=1e-6)


def test_weights_that_sum_to_one_are_calibrated_too():
    X, y = data(1000)
    Xt, yt = data(1000, seed=1)
    for loss in CLASSES:
        build = {"loss": loss, "random_state": 0}
        plain = rs.SpanClassifier(rs.Fourier(), 60, alpha=0.1, **build).fit(X, y > 0.3)
        small = rs.SpanClassifier(rs.Fourier(), 60, alpha=0.1 / 1000, **build)
        small.fit(X, y > 0.3, sample_weight=np.full(1000, 1e-3))
        losses = [log_loss(yt > 0.3, model.predict_proba(Xt)) for model in (plain, small)]
        assert losses[1] == pytest.approx(losses[0], abs=0.02), loss


def test_probabilities_in_a_box_and_without_ridge():
    X, y = data(1000)
    Xt, yt = data(1000, seed=1)
    for params in (
        {"bound": 2.0},
        {"bound": 2.0, "solver": "newton"},
        {"alpha": 0, "loss": "hinge"},
    ):
        model = rs.SpanClassifier(rs.Fourier(), 60, random_state=0, **params).fit(X, y > 0.3)
        assert log_loss(yt > 0.3, model.predict_proba(Xt)) < 0.55, params


def test_the_loss_that_was_fitted_is_the_one_that_counts():
    X, y = data(200)
    model = rs.SpanClassifier(rs.Fourier(), 30, loss="hinge", alpha=0.1, random_state=0)
    before = model.fit(X, y > 0.3).predict_proba(X)
    model.set_params(loss="logistic")
    np.testing.assert_array_equal(model.predict_proba(X), before)


class Quartic(Loss):
    """(y - s)⁴: a loss of one's own."""

    name = "quartic"
    for_numbers = True

    def value(self, s, y):
        return (s - y) ** 4

    def slope(self, s, y):
        return 4 * (s - y) ** 3

    def curvature(self, s, y):
        return 12 * (s - y) ** 2


def test_a_loss_of_ones_own():
    X, y = data()
    model = rs.SpanRegressor(rs.Fourier(), 50, loss=Quartic(), alpha=0.01, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.8
    assert model.solution_.residual < 1e-6
    assert not hasattr(model, "partial_fit")


def test_softmax_of_two_classes_is_logistic():
    X, y = data()
    two = rs.SpanClassifier(rs.Fourier(), 30, loss=Softmax(), alpha=0.1, random_state=0)
    one = rs.SpanClassifier(rs.Fourier(), 30, loss="logistic", alpha=0.1, random_state=0)
    np.testing.assert_allclose(
        two.fit(X, y > 0.3).predict_proba(X), one.fit(X, y > 0.3).predict_proba(X)
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"loss": "hinge", "solver": "cholesky"}, "is for the squared loss"),
        ({"loss": "hinge", "solver": "newton"}, "needs a smooth loss"),
        ({"loss": "logistic", "solver": "multipliers"}, "losses with a kink"),
        ({"solver": "qr", "bound": 1.0}, "knows no box"),
        ({"solver": "sketched", "bound": 1.0}, "knows no box"),
        ({"solver": "box"}, "needs a bound"),
        ({"loss": "absolute"}, "loss must be one of"),
        ({"loss": rs.losses.Absolute()}, "judges numbers"),
        ({"loss": "hinge", "n_components": np.inf}, "exact kernel machine, has the squared loss"),
    ],
)
def test_what_does_not_go_together_is_refused(params, message):
    X, y = data(60)
    model = rs.SpanClassifier(**{"family": rs.Fourier(), "n_components": 10, **params})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y > 0.3)


def test_refusals_of_streams_and_of_several_classes():
    X, y = data(90)
    for solver in ("newton", "sketched", "lbfgs"):
        with pytest.raises(AttributeError) as refused:
            rs.SpanRegressor(rs.Fourier(), 10, solver=solver).partial_fit(X, y)
        assert "passes over all rows" in str(refused.value)
    with pytest.raises(ValueError, match="knows no box"):
        rs.SpanRegressor(rs.Fourier(), 10, solver="qr", bound=1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="several classes"):
        rs.SpanClassifier(rs.Fourier(), 10, loss="logistic", solver="newton").fit(
            X, np.digitize(y, [0, 0.5])
        )
    with pytest.raises(ValueError, match="class_weight='balanced'"):
        rs.SpanClassifier(rs.Fourier(), 10, class_weight="balanced").partial_fit(X, y > 0.3)
    model = rs.SpanClassifier(rs.Fourier(), 10, class_weight={0: 2.0, 1: 1.0})
    model.partial_fit(X, (y > 0.3).astype(int))
    with pytest.raises(ValueError, match="classes the model was not started with"):
        model.partial_fit(X, (y > 0.3) + 5)


def test_all_weight_in_one_class():
    X, y = data(60)
    for loss in CLASSES:
        with pytest.raises(ValueError, match="All weight is in one class"):
            rs.SpanClassifier(rs.Fourier(), 10, loss=loss, alpha=0.1).fit(
                X, y > 0.3, sample_weight=(y > 0.3).astype(float)
            )


@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_a_class_of_one_row(loss):
    X, y = data(200)
    classes = np.digitize(y, [0, 0.7])
    classes[5] = 9
    model = rs.SpanClassifier(rs.Fourier(), 30, loss=loss, random_state=0).fit(X, classes)
    assert model.predict_proba(X).shape == (200, 4)
    assert model.score(X, classes) > 0.55


@pytest.mark.parametrize("solver", ["sketched", "newton", "lbfgs"])
def test_the_number_of_functions_for_solvers_in_passes(solver):
    X, y = data()
    model = rs.SpanRegressor(solver=solver, random_state=0).fit(X, y)
    assert model.solution_.solver == solver
    assert model.score(X, y) > 0.8


def test_many_functions_without_ridge():
    """Beyond the size of Newton's method, and flat in most directions."""
    X, y = data(120)
    for loss in (Hinge(), "logistic", "squared_hinge"):
        model = rs.SpanClassifier(rs.Fourier(), 4200, loss=loss, alpha=0, random_state=0)
        assert model.fit(X, y > 0.3).score(X, y > 0.3) == 1.0
