"""Few rows: the plainest model that nothing clearly beats, and honest estimates of its error."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import randspan as rs
from randspan.engines import CPU
from randspan.families import Fourier
from randspan.sources import of_arrays
from randspan.tuning import cross_fitting, frames
from randspan.tuning.cross_fitting import Choice, CrossFitted
from randspan.tuning.learning import Law, Table
from randspan.tuning.scales import left_out_predictions

CALLS = {"default": (), "auto": ("auto",)}


def linear(seed, n=50, d=15, tested=500):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + tested, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:]


def waves(seed, n=80, d=10, tested=500):
    """Few directions of many: scales that are learned from all rows look too good."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + tested, d))
    y = np.sin(1.5 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X))
    return X[:n], y[:n], X[n:], y[n:]


# -- the plain model can win -----------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS)
def test_a_linear_target_is_left_to_a_linear_model(call):
    ratios = []
    for seed in range(4):
        X, y, new, truth = linear(seed)
        ridge = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 5, 65))).fit(X, y)
        ours = rs.SpanRegressor(*CALLS[call], random_state=seed).fit(X, y)
        errors = [np.sqrt(np.mean((one.predict(new) - truth) ** 2)) for one in (ours, ridge)]
        ratios.append(errors[0] / errors[1])
    assert np.mean(ratios) < 1.05


@pytest.mark.parametrize("call", CALLS)
def test_of_noise_little_is_learned_and_the_estimate_says_so(call):
    rng = np.random.default_rng(0)
    errors, told, covered = [], [], []
    for seed in range(4):
        X, y = rng.normal(size=(550, 15)), rng.normal(size=550)
        model = rs.SpanRegressor(*CALLS[call], random_state=seed).fit(X[:50], y[:50])
        errors.append(np.mean((model.predict(X[50:]) - y[50:]) ** 2))
        told.append(model.validation_.error)
        lower, upper = model.predict_interval(X[50:], 0.9)
        covered.append(np.mean((lower <= y[50:]) & (y[50:] <= upper)))
    # A straight line fitted to all 50 rows would have the error 50/(50 - 16) = 1.47.
    assert np.mean(errors) < 1.2
    # The mean square of 4 × 50 rows is known to 10 %.
    assert np.mean(told) > 0.8 * np.mean(errors)
    # Quantiles of 50 errors have a standard error of 0.04 in coverage, of four draws 0.02.
    assert 0.84 < np.mean(covered) < 0.96


@pytest.mark.parametrize("call", CALLS)
def test_the_estimate_is_that_of_new_rows(call):
    apart = []
    for seed in range(5):
        X, y, new, truth = waves(seed)
        model = rs.SpanRegressor(*CALLS[call], random_state=seed).fit(X, y)
        squares = (model.predict(new) - truth) ** 2
        known = model.validation_
        doubt = np.hypot(known.standard_error, squares.std() / np.sqrt(len(squares)))
        apart.append((squares.mean() - known.error) / doubt)
    # Five draws: their mean has a standard error of 0.45 and little more.
    assert abs(np.mean(apart)) < 1.35


def test_small_clean_tables_lose_nothing_by_scales_that_might_be_learned():
    X, y = load_iris(return_X_y=True)
    losses = []
    for seed in (0, 3, 7):
        halves = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        X_train, X_test, y_train, y_test = halves
        losses.append(
            [
                log_loss(y_test, model.fit(X_train, y_train).predict_proba(X_test))
                for model in (
                    rs.SpanClassifier(scales=scales, random_state=seed) for scales in ("auto", None)
                )
            ]
        )
    # The best of all kernels, widths and scales had nearly twice the log-loss.
    default, equal = np.mean(losses, axis=0)
    assert default < 1.1 * equal


# -- how it is found -------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
def test_left_out_predictions_are_those_of_refitting(intercept, rng):
    Z, Y, added = rng.normal(size=(12, 4)), rng.normal(size=(12, 2)), rng.uniform(0.5, 2, size=12)
    K = Z @ Z.T + np.eye(12)
    found = left_out_predictions(K, added, Y, intercept)
    for i in range(12):
        rest = np.arange(12) != i
        C = K[np.ix_(rest, rest)] + np.diag(added[rest])
        border = np.ones((11, 1)) if intercept else np.zeros((11, 0))
        m = border.shape[1]
        system = np.block([[C, border], [border.T, np.zeros((m, m))]])
        solved = np.linalg.solve(system, np.vstack([Y[rest], np.zeros((m, 2))]))
        expected = K[i, rest] @ solved[:11] + solved[11:].sum(axis=0)
        np.testing.assert_allclose(found[i], expected, rtol=1e-8)


def crossed(X, Y, **changes):
    source = of_arrays(X, Y, None)
    reading = frames.reading_of(source, 0, 0)
    laws = [
        Law(reading.frame(Fourier(name), np.inf, True), lambda scales, rotation: None)
        for name in ("matern32", "laplacian")
    ]
    engine = CPU(1)
    table = Table.of(laws[0].plain, source, np.empty(0, np.intp), 10**8, engine)
    given = {"intercept": True, "linear": True, "cautious": True, "engine": engine}
    return CrossFitted(table, laws, **(given | changes))


def test_no_row_has_a_part_in_its_own_prediction(rng):
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 1))
    before = crossed(X, Y)
    # The table is in the order of keys: find the row that was changed.
    changed = Y.copy()
    changed[7] += 100.0
    after = crossed(X, changed)
    (place,) = np.flatnonzero((before.table.targets != after.table.targets)[:, 0])
    fold = before.folds[place]
    assert before.learned["euclidean"][fold] is not after.learned["euclidean"][fold]
    for metric in ("euclidean", "cityblock"):
        mine = [one.learned[metric][fold].scales for one in (before, after)]
        np.testing.assert_array_equal(*mine)
    for law, path in ((0, 1.0), (1, 0.5), (0, 0.0), (cross_fitting.LINEAR, 0.0)):
        choice = Choice(law, path)
        found = [one._look(choice) is not None and one.predicted[choice] for one in (before, after)]
        assert found[0][place] == pytest.approx(found[1][place], abs=1e-9)
        assert not np.allclose(np.delete(found[0], place), np.delete(found[1], place))


@pytest.mark.parametrize("classes", [False, True])
def test_a_plainer_model_stays_unless_another_is_clearly_better(classes, rng):
    X, Y = rng.normal(size=(60, 3)), np.sign(rng.normal(size=(60, 1)))
    scale = (np.zeros(1), np.ones(1)) if classes else None
    found = crossed(X, Y, classes=scale)
    plain, better = Choice(cross_fitting.LINEAR), Choice(1, path=1.0)
    needed = cross_fitting.CLEARLY[classes]
    for times, chosen in ((0.9, plain), (1.1, better)):
        # Gains of mean times·needed·s and a standard error of s.
        gains = rng.normal(size=60)
        gains = (gains - gains.mean()) / gains.std() + times * needed / np.sqrt(60)
        found.squares = {plain: np.full(60, 9.0) + gains, better: np.full(60, 9.0)}
        found.surprises = dict(found.squares)
        assert found.chosen() == chosen


def test_what_is_told_and_covered_comes_from_these_predictions():
    X, y, *_ = waves(0)
    model = rs.SpanRegressor(random_state=0).fit(X, y)
    held = model.solution_.heldout
    assert model.validation_.error == pytest.approx(np.mean((y - held.scores[:, 0]) ** 2))
    # Those of the final model, whose scales have seen all rows, look better.
    assert np.mean((y - model.leave_one_out(X, y)) ** 2) < model.validation_.error
    # Rows that come later are in no such prediction.
    model.partial_fit(X[:1] + 1, y[:1])
    assert model.solution_.heldout is None
    assert model.validation_.kind == "leave_one_out"


@pytest.mark.parametrize("family", [rs.Fourier("cauchy"), rs.Fourier() + rs.Fourier("laplacian")])
def test_a_kernel_that_is_only_the_nearest_does_not_speak_for_another(family):
    X, y, *_ = waves(3)
    model = rs.SpanRegressor(family, np.inf, random_state=0).fit(X, y)
    assert model.solution_.heldout is None
    errors = y - model.leave_one_out(X, y)
    assert model.validation_.error == pytest.approx(np.mean(errors**2), rel=1e-6)


def test_copies_count_as_weights():
    X, y, new, _ = waves(1, n=250, d=3)  # copies would be more rows than are cross-fitted
    copied = np.concatenate([np.arange(250)] * 3)
    thrice, heavy = (
        rs.SpanRegressor(random_state=0, standardize=False).fit(X[rows], y[rows], weights)
        for rows, weights in ((copied, None), (np.arange(250), np.full(250, 3.0)))
    )
    np.testing.assert_allclose(heavy.predict(new), thrice.predict(new), rtol=1e-6)
    assert thrice.alpha_ == pytest.approx(heavy.alpha_)
    assert heavy.validation_.error == pytest.approx(thrice.validation_.error)
