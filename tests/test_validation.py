"""One error estimate for every fit: what it says of new rows, and where it comes from."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

import randspan as rs
from randspan.solvers.validation import of_losses

R, C = rs.SpanRegressor, rs.SpanClassifier
TREES = rs.Trees(max_features=2)


def data(n=400, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)


KINDS = {
    "leave_one_out": R(rs.Fourier(), 40, random_state=0),
    "leave_one_out by name": R(rs.Fourier(), 40, alpha="leave_one_out", random_state=0),
    "leave_one_out at one alpha": R(rs.Fourier(), 40, alpha=0.1, random_state=0),
    "leave_one_out of the dual": R(rs.Fourier(), 800, random_state=0),
    "leave_one_out of an orthogonal factor": R(rs.Fourier(), 40, solver="qr", random_state=0),
    "leave_one_out of a kernel machine": R(rs.Fourier(), np.inf, random_state=0),
    "leave_one_out of cells": R(rs.Bins(), 50, random_state=0),
    "gcv by name": R(rs.Fourier(), 40, alpha="gcv", random_state=0),
    "heldout by name": R(rs.Fourier(), 40, alpha="heldout", random_state=0),
    "heldout of cells": R(rs.Bins(), 50, alpha="heldout", random_state=0),
    "heldout in a box": R(rs.Fourier(), 40, alpha="heldout", bound=50.0, random_state=0),
    "out_of_bag": R(TREES, 60, random_state=0),
    "out_of_bag by name": R(TREES, 60, alpha="out_of_bag", random_state=0),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_error_is_that_of_new_rows(name):
    """The estimate of one fit lies near the error on very many new rows.

    Its standard error says how near: the mean over eight data sets is within four of these, and
    the spread of what it is off by is neither a third nor three times as large as they say. (Folds
    are fitted on a fifth fewer rows than the model: five per cent of the error are theirs.)
    """
    new, truth = data(20_000, seed=99)
    gaps, doubts, errors = [], [], []
    for seed in range(8):
        X, y = data(seed=seed)
        model = KINDS[name].fit(X, y)
        found = model.validation_
        assert found.kind == name.split()[0]
        errors.append(found.error)
        gaps.append(found.error - ((model.predict(new) - truth) ** 2).mean())
        doubts.append(found.standard_error)
    doubt = float(np.mean(doubts))
    assert abs(np.mean(gaps)) < 4 * doubt / np.sqrt(8) + 0.05 * np.mean(errors)
    assert doubt / 3 < np.std(gaps, ddof=1) < 3 * doubt


@pytest.mark.parametrize("seed", range(8))
def test_residuals_of_float32_features_are_those_of_the_rows(seed):
    """Eigenvalues below the rounding errors of the features have no part in the sum."""
    X, y = data(seed=seed)
    model = R(rs.Fourier(), 40, alpha="gcv", random_state=0).fit(X, y)
    away = y - model.predict(X)
    assert model.solution_.residual_sum[0] == pytest.approx(away @ away, rel=0.02)


def test_gcv_and_its_standard_error_are_their_formulas():
    X, y = data()
    model = R(rs.Fourier(), 40, alpha="gcv", random_state=0).fit(X, y)
    solution, found = model.solution_, model.validation_
    free = 400 - solution.degrees_of_freedom
    assert found.error == model.gcv_error_
    assert found.standard_error == pytest.approx(found.error * np.sqrt(2 / free))
    assert str(found).endswith("(gcv)")
    given = clone(model).set_params(alpha=0.1).fit(X, y)
    stream = R(frame=given.frame_, alpha=0.1).partial_fit(X[:200], y[:200])
    stream.partial_fit(X[200:], y[200:])
    assert stream.gcv_error_ == pytest.approx(given.gcv_error_, rel=1e-4)


def test_weights_are_counts():
    X, y = data(200)
    twice = R(rs.Fourier(), 20, alpha=0.1, random_state=0).fit(X, y, np.full(200, 2.0))
    rows = R(frame=twice.frame_, alpha=0.1).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    for name in ("error", "standard_error"):
        found, known = (getattr(one.validation_, name) for one in (twice, rows))
        assert found == pytest.approx(known, rel=1e-4)


@pytest.mark.parametrize("loss", ["absolute", "huber", "pinball"])
def test_other_losses_have_their_own_unit(loss):
    X, y = data()
    model = R(rs.Fourier(), 40, loss=loss, random_state=0).fit(X, y)
    new, truth = data(20_000, seed=99)
    judged = model._model.task.loss.value(model.predict(new)[:, None], truth[:, None]).mean()
    assert model.validation_.kind == "heldout"
    assert abs(model.validation_.error - judged) < 4 * model.validation_.standard_error


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "squared_hinge"])
def test_classes(loss):
    X, y = data()
    model = C(rs.Fourier(), 40, loss=loss, random_state=0).fit(X, y > 0)
    kind = "leave_one_out" if loss == "squared" else "heldout"
    assert model.validation_.kind == kind
    new, truth = data(20_000, seed=99)
    signs = np.where(truth > 0, 1.0, -1.0)[:, None]
    judged = model._loss().value(model.decision_function(new)[:, None], signs).mean()
    assert abs(model.validation_.error - judged) < 4 * model.validation_.standard_error


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (R(rs.Fourier(), 20, loss="absolute", alpha=1.0), "another fit"),
        (R(rs.Fourier(), 20, solver="sketched", alpha=1.0), "another fit"),
        (R(rs.Bins(), 20, solver="conjugate", alpha=1.0), "another fit"),
        (R(rs.Fourier(), 20, bound=5.0), "in a box there is no formula"),
        (R(TREES, 20, alpha=0.1), "learned"),
    ],
)
def test_where_it_would_cost_another_fit_there_is_a_reason(model, reason):
    found = model.fit(*data()).validation_
    assert (found.kind, found.error, found.standard_error) == (None, None, None)
    assert reason in found.reason
    assert "no error estimate" in str(found)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "gcv", "loss": "absolute"}, "formula of the squared loss"),
        ({"alpha": "gcv", "family": TREES}, "independent of the targets"),
        ({"alpha": "gcv", "solver": "sketched"}, "needs sums over all rows"),
        ({"alpha": "heldout", "solver": "eigen"}, "found in passes over the rows"),
        ({"alpha": "heldout", "n_components": np.inf}, "chooses alpha by 'leave_one_out' or 'gcv'"),
        ({"alpha": "out_of_bag"}, "were trained on some"),
        ({"alpha": "out_of_bag", "family": TREES, "loss": "absolute"}, "squared loss"),
        (
            {"alpha": "loo"},
            "alpha must be one of 'auto', 'leave_one_out', 'gcv', 'heldout', 'out_of_bag'",
        ),
    ],
)
def test_an_estimate_that_is_not_to_be_had_is_refused_by_name(parameters, message):
    with pytest.raises(ValueError, match=message):
        R(**{"family": rs.Fourier(), "n_components": 20, **parameters}).fit(*data())


def test_streams_hold_nothing_out():
    X, y = data()
    with pytest.raises(ValueError, match="alpha='heldout' needs all rows at once"):
        R(rs.Fourier(), 20, alpha="heldout").partial_fit(X, y)
    cells = R(rs.Bins(), 20, alpha="heldout", random_state=0).partial_fit(X, y)
    assert cells.validation_.kind == "heldout"  # cells keep their rows


def test_auto_chooses_among_the_kinds():
    X, y = data()
    assert R(rs.Fourier(), 20).fit(X, y).validation_.kind == "leave_one_out"
    assert R(rs.Fourier(), 20, alpha="gcv").fit(X, y).validation_.kind == "gcv"
    assert R(TREES, 20).fit(X, y).validation_.kind == "out_of_bag"
    assert R(rs.Fourier(), 20, loss="huber").fit(X, y).validation_.kind == "heldout"
    many = data(2_500)
    assert R(rs.Bins(), 20).fit(*many).validation_.kind == "heldout"
    assert R(rs.Bins(), 20, alpha="gcv").fit(*many).validation_.kind == "gcv"


def test_families_can_be_compared():
    """The estimates rank families as cross-validation does."""
    X, y = data(600, noise=0.1)
    models = [R(f, 60, random_state=0) for f in (rs.Fourier(), rs.Projections(), rs.Bins())]
    ours = [model.fit(X, y).validation_.error for model in models]
    folds = KFold(5, shuffle=True, random_state=0)
    theirs = [((cross_val_predict(m, X, y, cv=folds) - y) ** 2).mean() for m in models]
    assert np.array_equal(np.argsort(ours), np.argsort(theirs))


def test_losses_whose_squares_overflow_have_a_standard_error():
    values, weights = np.array([1e200, 3e200, 2e200]), np.array([1.0, 1.0, 2.0])
    small, large = (of_losses(values / size, weights) for size in (1e200, 1.0))
    assert large.error == pytest.approx(1e200 * small.error)
    assert large.standard_error == pytest.approx(1e200 * small.standard_error)


def test_losses_of_rows_that_stand_twice_tell_no_more_than_once():
    values, keys = np.array([1.0, 4.0, 2.0]), np.arange(3, dtype=np.uint64)
    once = of_losses(values, np.ones(3), keys)
    twice = of_losses(np.repeat(values, 2), np.ones(6), np.repeat(keys, 2))
    assert (twice.error, twice.standard_error) == (once.error, pytest.approx(once.standard_error))


def test_a_model_that_passes_through_rows_has_no_error_rather_than_an_infinite_one():
    """A row that outweighs the others by more than rounding is met whatever its target."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3, 1)), rng.normal(size=3)
    weights = np.array([1e12, 1.0, 1.0])
    model = rs.SpanRegressor(rs.Fourier(form="paired"), 60, random_state=0).fit(X, y, weights)
    assert model.validation_.kind is None
    assert "passes through" in model.validation_.reason


def test_residuals_beside_sums_of_huge_squares_do_not_overflow():
    X = 1e45 * np.random.default_rng(0).normal(size=(20, 3))
    family = rs.KernelExpansions("linear", anchors=3)
    params = {"alpha": 1e75, "dtype": "float64", "standardize": False, "random_state": 0}
    model = rs.SpanRegressor(family, 3, **params).fit(X, 1e74 * X[:, 0] / 1e45)
    assert np.isfinite(model.solution_.residual)


@pytest.mark.parametrize(
    "given",
    [
        {"family": rs.Fourier(), "n_components": 30},
        {"family": rs.Fourier(), "n_components": np.inf},
        {"family": rs.Fourier(), "n_components": 400, "solver": "dual"},
        {"family": rs.Trees(), "n_components": 20},
        {"family": rs.Bins(), "n_components": 20},
        {"family": "auto", "effort": "fast"},
    ],
    ids=["moments", "kernel rows", "factor", "trees", "cells", "auto"],
)
def test_errors_are_told_beside_the_variance_and_in_the_units_of_y(given):
    generator = np.random.default_rng(0)
    X, weights = generator.normal(size=(150, 2)), generator.uniform(0.5, 2, size=150)
    y = 1000 + 50 * X[:, 0] + 5 * generator.normal(size=150)
    model = rs.SpanRegressor(**given, random_state=0).fit(X, y, weights)
    found = model.validation_
    mean = np.average(y, weights=weights)
    np.testing.assert_allclose(found.variance, np.average((y - mean) ** 2, weights=weights))
    assert found.r2 == pytest.approx(1 - found.error / found.variance)
    assert found.rmse == pytest.approx(np.sqrt(found.error))
    assert f"R² {found.r2:.4g}" in str(found)
    assert f"<td>RMSE {found.rmse:.4g}</td>" in found._repr_html_()
    assert "units of y" in found._repr_html_()
    classes = rs.SpanClassifier(**given, random_state=0).fit(X, y > mean)
    assert classes.validation_.r2 is None
    assert "<td>" in classes.validation_._repr_html_()


def test_a_frame_has_a_form_for_notebooks():
    X = np.random.default_rng(0).normal(size=(50, 25))
    frame = rs.SpanRegressor(rs.Fourier(), 10).fit(X, X[:, 0]).frame_
    shown = frame._repr_html_()
    assert shown.count("<tr>") == 21
    assert "and 5 more columns" in shown
    assert "<script>" not in rs.Frame._repr_html_(frame.with_components("<script>"))
