"""One place chooses: plans are pure, say why, keep to memory, and are what is done."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import randspan as rs
from randspan.families.shared.layout import Layout
from randspan.losses import NAMED, Softmax
from randspan.planning import SOLVERS, plan
from randspan.solvers import METHODS, Task
from randspan.solvers.plan import Machine, Shape
from randspan.tuning import width
from table import FAMILIES

MACHINE = Machine(threads=2, granted=4 * 10**9)


def data(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)


def shape(n=10_000, k=500, c=1, d=10, **layout):
    return Shape(n, n, d, c, Layout(k, **{"n_columns": k, **layout}))


def task(loss="squared", alpha="auto", **params):
    return Task(NAMED[loss](), alpha, **params)


# -- what was planned is what is done --------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_families_know_what_they_will_draw(name):
    """The layout of a family is that of its functions, so plans can be made before any draw."""
    X, y = data(80)
    for targets in (y, np.column_stack([y, -y])):
        for k in (1, 2, 7):
            functions = FAMILIES[name].draw(X, k, 0, y=targets)
            expected = FAMILIES[name].layout(4, k, np.ndim(targets))
            assert functions.layout == expected


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
@pytest.mark.parametrize("n", [40, 300])
def test_a_plan_before_the_fit_is_the_plan_after_it(name, loss, n):
    X, y = data(n)
    for alpha in ("auto", 0.1) if loss == "squared" else (0.1,):
        model = rs.SpanRegressor(FAMILIES[name], 60, loss=loss, alpha=alpha, random_state=0)
        before = model.plan_for(*X.shape)
        done = model.fit(X, y).solution_
        chain = [before]
        while chain[-1].fallback is not None:
            chain.append(chain[-1].fallback)
        assert (done.solver, done.plan.statistics) in METHODS
        names = ("statistics", "method", "dtype", "cached", "out_of_bag", "smallest_ridge")
        known = [[getattr(made, name) for name in names] for made in chain]
        taken = known.index([getattr(done.plan, name) for name in names])
        assert done.reason.startswith(chain[taken].reason.split(" (")[0])


def test_classes_are_planned_by_their_number():
    model = rs.SpanClassifier(n_components=200, loss="logistic", alpha=0.1)
    assert model.plan_for(1000, 5).method == "newton"
    assert model.plan_for(1000, 5, n_targets=4).method == "lbfgs"
    X, y = data()
    assert model.fit(X, y > 0).solution_.solver == "newton"
    assert model.fit(X, np.digitize(y, [0, 1, 2])).solution_.solver == "lbfgs"


def test_streams_and_fits_have_the_same_plan():
    X, y = data()
    for family, params, statistics in (
        (rs.Fourier(), {}, "moments"),
        (rs.Fourier(), {"solver": "qr"}, "factor"),
        (rs.BrownianSheets(grid="sparse"), {}, "factor"),
        (rs.Trees(), {}, "out_of_bag"),
        (rs.Bins(), {}, "cells"),
        (rs.Fourier(), {"n_components": np.inf}, "kernel rows"),
    ):
        params = {"n_components": 20, "random_state": 0, **params}
        model = rs.SpanRegressor(family, **params).partial_fit(X, y)
        assert model.solution_.plan.statistics == statistics
        whole = rs.SpanRegressor(family, **params).fit(X, y)
        if statistics != "factor" or "solver" in params:
            assert whole.solution_.plan.method == model.solution_.plan.method


def test_an_open_number_of_functions_is_planned_for_the_most_there_may_be():
    made = rs.SpanRegressor().plan_for(50_000, 10)
    assert "4096" in made.reason
    assert made.nbytes > 8 * 4096**2
    known = rs.SpanRegressor(rs.Bins()).plan_for(50_000, 10)
    assert known.statistics == "cells"
    X, _ = data()
    frame = rs.Frame.read([X], rs.Stumps(), 30, random_state=0)
    assert "4096" not in rs.SpanRegressor(frame=frame).plan_for(50_000, 4).reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0, 3), "n_rows"), ((10, 0), "n_features"), ((10, 3, 0), "n_targets"), (("x", 3), "n_rows")],
)
def test_shapes_that_are_none_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        rs.SpanRegressor().plan_for(*arguments)


# -- the choice ------------------------------------------------------------------------------------


def test_plans_are_pure():
    for name in SOLVERS:
        for loss in NAMED:
            for alpha in ("auto", 0.0, 0.1):
                for bound in (None, 1.0):
                    for layout in ({}, {"groups": 5, "n_columns": 0}):
                        asked = task(loss, alpha, solver=name, bound=bound)
                        results = []
                        for _ in range(2):
                            try:
                                results.append(plan(shape(**layout), asked, MACHINE))
                            except (ValueError, MemoryError) as error:
                                results.append(str(error))
                        assert results[0] == results[1]


CHOICES = [
    # rows, functions, task, statistics, method
    (10_000, 500, {}, "moments", "eigen"),
    (10_000, 500, {"alpha": 0.1}, "moments", "cholesky"),
    (10_000, 500, {"alpha": 0.0}, "moments", "cholesky"),
    (300, 500, {}, "factor", "dual"),
    (300, 500, {"alpha": 0.0}, "factor", "dual"),
    # Eigenvectors of so many rows take longer than a few factors of hardly more columns.
    (2000, 2500, {}, "factor", "dual"),
    (2000, 4500, {}, "factor", "dual"),
    (4000, 4500, {}, "moments", "cholesky"),
    (4000, 4500, {"alpha": 0.1}, "factor", "dual"),
    (4000, 4500, {"alpha": 0.0}, "factor", "dual"),
    (4000, 8000, {}, "factor", "dual"),
    (10_000, 500, {"bound": 1.0}, "moments", "box"),
    (10_000, 500, {"solver": "qr"}, "factor", "qr"),
    (10**6, 8000, {"alpha": 0.1}, "", "sketched"),
    (10_000, 500, {"loss": "hinge"}, "", "multipliers"),
    (10_000, 200, {"loss": "logistic"}, "", "newton"),
    (100_000, 2000, {"loss": "logistic"}, "", "lbfgs"),
    (10_000, 500, {"loss": "logistic", "bound": 1.0}, "", "newton"),
    (10_000, 5000, {"loss": "logistic", "bound": 1.0}, "", "lbfgs"),
]


@pytest.mark.parametrize(("n", "k", "params", "statistics", "method"), CHOICES)
def test_the_choice_follows_shape_loss_and_box(n, k, params, statistics, method):
    made = plan(shape(n, k), task(**params), Machine(2, 10**11))
    assert (made.statistics, made.method) == (statistics, method)
    assert len(made.reason) > 10
    assert made.method in str(made)
    assert made.reason in str(made)


def test_what_is_faster_does_not_depend_on_the_threads_of_the_machine():
    for n, k in ((1000, 1200), (4000, 4500), (3000, 3100)):
        made = {plan(shape(n, k), task(), Machine(t, 10**11)).method for t in (1, 2, 16)}
        assert len(made) == 1


def test_the_dual_and_moments_agree_where_either_may_be_chosen():
    X, y = data(120)
    both = [
        rs.SpanRegressor(rs.Fourier(), 150, solver=solver, scales=None, random_state=0).fit(X, y)
        for solver in ("dual", "cholesky")
    ]
    errors = [one.validation_.error for one in both]
    # Ridges are compared in steps of 10^(1/5) and of 10^(1/2).
    assert errors[0] == pytest.approx(errors[1], rel=0.03)


def test_softmax_is_never_fitted_class_by_class():
    made = plan(shape(k=100, c=3), Task(Softmax(), 0.1), MACHINE)
    assert made.method == "lbfgs"


def test_fallbacks_climb_from_float32_to_float64_to_a_factor():
    made = plan(shape(), task(), MACHINE)
    rungs = []
    rung = made
    while rung is not None:
        rungs.append((rung.statistics, rung.method, rung.dtype.name))
        rung = rung.fallback
    assert rungs == [
        ("moments", "eigen", "float32"),
        ("moments", "eigen", "float64"),
        ("factor", "qr", "float64"),
    ]
    assert "too ill-conditioned" in made.fallback.reason
    # A solver asked for by name is not replaced; a ridge that was left to us may grow.
    assert plan(shape(), task(solver="eigen"), MACHINE).fallback is None
    lenient = plan(shape(), task(alpha=0.0, solver="cholesky", lenient=True), MACHINE)
    assert lenient.fallback.smallest_ridge
    # In a stream there are no rows to go back to.
    assert plan(shape(), task(), MACHINE, streaming=True).fallback is None


def test_a_fallback_is_taken_and_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    X = np.column_stack([X, X[:, 0] + 1e-8 * rng.normal(size=400)])
    y = X @ [1.0, 2.0, 3.0]
    model = rs.SpanRegressor(rs.Projections(), 10, alpha=1e-13, random_state=0).fit(X, y)
    assert model.solution_.plan.statistics == "factor"
    assert "ill-conditioned" in model.solution_.reason


@pytest.mark.parametrize(("noise", "d", "dtype"), [(1.0, 20, "float32"), (0.0, 2, "float64")])
def test_a_pilot_decides_precision_by_the_ridge_it_finds(noise, d, dtype, monkeypatch):
    """A pilot of few numbers looks below the ridges of float32; of noise it finds none there."""
    monkeypatch.setattr(width, "DEAR", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6_000, d))
    y = np.sin(X[:, 0]) + noise * rng.normal(size=6_000)
    model = rs.SpanRegressor(rs.Fourier(), 600, random_state=0).fit(X, y)
    assert model.solution_.plan.dtype == dtype


# -- memory ----------------------------------------------------------------------------------------

ROUTES = {
    "moments": {"n_components": 30},
    "box": {"n_components": 30, "bound": 3.0},
    "factor": {"n_components": 30, "solver": "qr"},
    "dual": {"n_components": 400},
    "out_of_bag": {"family": rs.Trees(max_features=2), "n_components": 10},
    "hypotheses": {
        "family": rs.Hypotheses(DecisionTreeRegressor(max_depth=3)),
        "n_components": 10,
    },
    "leaves": {"family": rs.Trees(max_features=2, output="leaves"), "n_components": 10},
    "cells": {"family": rs.Bins(), "n_components": 10},
    "hybrid": {"family": rs.Fourier() + rs.Bins(), "n_components": 10},
    "kernel rows": {"n_components": np.inf},
    "sketched": {"n_components": 30, "solver": "sketched", "alpha": 0.1},
    "newton": {"n_components": 30, "loss": "huber", "alpha": 0.1},
    "multipliers": {"n_components": 30, "loss": "absolute", "alpha": 0.1},
    "auto": {},
}


@pytest.mark.parametrize("name", ROUTES)
def test_every_route_respects_a_limit(name):
    X, y = data()
    model = rs.SpanRegressor(**ROUTES[name], memory_limit=1000, random_state=0)
    with pytest.raises(MemoryError, match=r"memory_limit=1000 grants .* need at least .* GB"):
        model.fit(X, y)
    with pytest.raises(MemoryError, match="memory_limit=1000"):
        model.plan_for(*X.shape)
    if hasattr(model, "partial_fit"):
        with pytest.raises(MemoryError, match="memory_limit=1000"):
            model.partial_fit(X, y)
    assert not hasattr(model, "n_features_in_")


PEAKS = {
    "moments": {"n_components": 500},
    "moments of one alpha": {"n_components": 500, "alpha": 0.1},
    "moments in float64": {"n_components": 500, "dtype": "float64"},
    "box": {"n_components": 200, "bound": 50.0, "alpha": 1.0},
    "factor": {"n_components": 200, "solver": "qr"},
    "dual": {"n_components": 5000, "alpha": 0.1},
    "out_of_bag": {"family": rs.Trees(max_features=2), "n_components": 50},
    "leaves": {
        "family": rs.Trees(max_features=2, output="leaves"),
        "n_components": 10,
        "alpha": 1.0,
    },
    "cells": {"family": rs.Bins(), "n_components": 20, "alpha": 1.0},
    "kernel rows": {"n_components": np.inf},
    "sketched": {"n_components": 500, "solver": "sketched", "alpha": 0.1},
    "newton": {"n_components": 200, "loss": "huber", "alpha": 0.1},
}


@pytest.mark.parametrize("name", PEAKS)
def test_the_estimate_is_not_exceeded(name):
    """What numpy allocates in a fit, by its own account, is within what the plan said.

    (The frame has been read: that takes a sample of the rows, which is the same for all routes.)
    """
    n = {"kernel rows": 700, "dual": 500}.get(name, 6000)
    X, y = data(n, d=8)
    params = {"family": rs.Fourier(), **PEAKS[name]}
    frame = rs.Frame.read([X], params.pop("family"), params["n_components"], random_state=0)
    model = rs.SpanRegressor(**params, frame=frame, n_jobs=2)
    model.fit(X[: n // 2], y[: n // 2])  # whatever is compiled or cached on first use
    made = model.plan_for(*X.shape)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    said = max(made.nbytes, model.solution_.plan.nbytes)
    print(f"{name}: peak {peak / 1e6:.1f} MB, planned {said / 1e6:.1f} MB")
    assert peak <= said
    assert said < 12 * peak  # nor is it far from what is needed


def test_blocks_shrink_before_a_fit_is_refused():
    X, y = data(4000)
    ample = rs.SpanRegressor(n_components=300, alpha=0.1, random_state=0, n_jobs=1)
    tight = rs.SpanRegressor(
        n_components=300, alpha=0.1, random_state=0, n_jobs=1, memory_limit="8MB"
    )
    made = tight.plan_for(*X.shape)
    assert made.method == "cholesky"
    assert 0 < made.block < 4000
    assert ample.plan_for(*X.shape).block == 0
    np.testing.assert_allclose(
        tight.fit(X, y).predict(X), ample.fit(X, y).predict(X), atol=1e-3 * np.abs(y).max()
    )


def test_cells_are_counted_once_they_are_known():
    """Before rows are read nobody knows how many cells they fall into."""
    X, y = data(3000)
    model = rs.SpanRegressor(rs.Bins(gamma=5.0), 50, alpha=1.0, memory_limit="9MB", random_state=0)
    assert model.plan_for(*X.shape).nbytes < 9e6
    with pytest.raises(MemoryError, match=r"with \d+ cells need at least"):
        model.fit(X, y)


def test_a_kernel_machine_too_large_for_memory_is_refused():
    with pytest.raises(MemoryError, match="finite n_components"):
        rs.SpanRegressor(n_components=np.inf).plan_for(10_000_000, 3)
    assert rs.SpanRegressor(n_components=np.inf).plan_for(1000, 3).method == "kernel"


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "layout", "message"),
    [
        ({"loss": "hinge", "solver": "eigen"}, {}, "'eigen' is for the squared loss"),
        ({"loss": "hinge", "solver": "newton"}, {}, "needs a smooth loss"),
        ({"loss": "logistic", "solver": "multipliers"}, {}, "losses with a kink"),
        ({"solver": "box"}, {}, "needs a bound"),
        ({"solver": "sketched", "bound": 1.0}, {}, "knows no box"),
        ({"solver": "conjugate"}, {}, "indicators of cells"),
        ({"solver": "qr"}, {"groups": 5}, "cells are too many"),
        ({"solver": "lbfgs", "loss": "logistic"}, {"groups": 5}, "cells in a box"),
        ({"solver": "dual"}, {"groups": 5, "out_of_bag": True}, "have learned"),
        ({"solver": "out_of_bag"}, {}, "predict the targets"),
        (
            {},
            {"spent": "Trees(bootstrap=1.0)", "n_targets": 1},
            "has trained every function",
        ),
    ],
)
def test_needs_that_are_not_met_are_named(params, layout, message):
    with pytest.raises(ValueError, match=message):
        plan(shape(**layout), task(**params), MACHINE)


def test_a_plan_knows_nothing_of_statistics_but_their_name():
    made = plan(shape(), task(), MACHINE, held="moments")
    assert made == replace(plan(shape(), task(), MACHINE), fallback=None)
