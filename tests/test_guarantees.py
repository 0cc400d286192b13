"""What the inequalities mean for families and fitted models."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks import data
from scipy import sparse

import randspan as rs
from randspan.families.wavelets import Cascade
from randspan.theory import bsw, rks
from randspan.theory.conditions import quietly


def table(n=400, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


# -- constants of families -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "moment"),
    [
        ("gaussian", 2 * (0.3 + 0.7)),
        ("matern32", 3 * 2 * (0.3 + 0.7)),
        ("matern52", 5 / 3 * 2 * (0.3 + 0.7)),
        ("cauchy", 2 * (0.3**2 + 0.7**2)),
        ("matern12", np.inf),
        ("laplacian", np.inf),
    ],
)
def test_second_moments_of_frequencies(kernel, moment):
    X = np.array([[3.0, 4.0], [0.0, 1.0]])
    family = rs.Fourier(kernel, gamma=[0.3, 0.7])
    found = rs.theory.constants(family, X)
    assert found.second_moment == pytest.approx(moment + np.pi**2 / 3)
    assert (found.lipschitz, found.at_zero, found.sup) == (1, 0, np.sqrt(2))
    assert found.radius == pytest.approx(np.sqrt(26))
    if kernel in ("gaussian", "matern52"):  # those with a fourth moment
        omega = family.draw(X, 400_000, random_state=0).frequencies
        assert (omega**2).sum(axis=1).mean() == pytest.approx(moment, rel=0.05)


@pytest.mark.parametrize("activation", ["sigmoid", "tanh", "cos", "gaussian", "sign"])
def test_profiles_of_activations(activation):
    X = np.array([[3.0, 4.0]])
    family = rs.Units(activation, scale=0.5, bias="uniform")
    found = rs.theory.constants(family, X)
    assert found.second_moment == pytest.approx(0.25 * 2 + 1 / 3)
    u = np.linspace(-6, 6, 200_001)
    values = rs.families.shared.activations.activated(activation, u.copy())
    assert values[100_000] == pytest.approx(found.at_zero)
    slope = np.abs(np.diff(values) / np.diff(u)).max()
    if activation == "sign":
        assert found.lipschitz == np.inf
    else:
        assert slope == pytest.approx(found.lipschitz, rel=1e-4)
    assert np.abs(values).max() <= found.sup


def test_functions_of_more_than_one_projection_say_so():
    X = np.zeros((3, 2))
    for family in (rs.Stumps(), rs.Bumps(gamma=1.0), rs.Fourier(gamma=1.0, form="paired")):
        found = rs.theory.constants(family, X)
        assert found.lipschitz is None
        assert found.remark
        assert "lipschitz" not in found.arguments
    relu = rs.theory.constants(rs.Units("relu"), X)
    assert relu.sup == np.inf
    assert "sup" not in relu.arguments


def test_constants_are_arguments_of_how_many():
    X, _ = table()
    known = rs.theory.constants(rs.Fourier(), X)
    found = rs.theory.how_many(0.1, **known.arguments)
    assert found["UA Theorem 3.2"].k > found["UA Theorem 3.1"].k
    assert np.isfinite(found["UA Theorem 3.2"].k)
    sparse_rows = rs.theory.constants(rs.Fourier(gamma=0.5), sparse.csr_array(X))
    assert sparse_rows.radius == pytest.approx(rs.theory.constants(rs.Fourier(gamma=0.5), X).radius)


@pytest.mark.parametrize(
    "family",
    [
        rs.BrownianSheets(interval=(0, 1), depth=6),
        rs.BrownianSheets(interval=(0, 1), depth=6, constant=False),
        rs.BrownianSheets(order=1, interval=(0, 1), depth=4),
        rs.ScrambledWavelets("db3", 1.0, depth=6, interval=(0, 1)),
        rs.ScrambledWavelets("db4", 1.25, depth=4, interval=(0, 1)),
        rs.ScrambledWavelets("db3", 1.0, depth=4, grid="sparse", interval=(0, 1)),
    ],
    ids=str,
)
def test_the_supremum_of_gaussian_objects(family):
    d = 2 if getattr(family, "wavelet", "") == "db4" or family.grid == "sparse" else 1
    X = np.random.default_rng(0).random(size=(400, d))
    X[0] = 1.0
    found = rs.theory.constants(family, X).sup_square
    seen = np.diag(family.kernel(X)).max()
    assert seen <= found * (1 + 1e-9)
    # of products of wavelets the largest values need not meet in one place
    assert found < (1.6 if isinstance(family, rs.BrownianSheets) else 4) * seen


def test_the_published_supremum_of_wavelets_is_above_ours():
    X = np.random.default_rng(0).random(size=(50, 1))
    family = rs.ScrambledWavelets("db3", 1.0, depth=8, interval=(0, 1))
    ours = rs.theory.constants(family, X).sup_square
    # the largest value of db3's wavelet and scaling function is below 1.8, and 5 meet a point
    assert ours < bsw.sup_square_wavelets(1.0, 1, 1.8, 5)
    assert ours < bsw.sup_square_anisotropic([1.0], 1.8, 5)


# -- norms of fitted functions ---------------------------------------------------------------------


def test_norms_of_expansions():
    X, _ = table(30)
    family, a = rs.Fourier(gamma=0.5), np.array([1.0, -2.0, 0.5])
    K = family.kernel(X[:3])
    own = rs.theory.ua.expansion_rkhs_norm(K, a)
    assert own == pytest.approx(np.sqrt(a @ K @ a))
    mixture = rs.theory.mixture_norm(family, X[:3], a)
    assert mixture == pytest.approx(np.sqrt(2) * 3.5)
    assert own <= rs.theory.ua.proposition_4_1(mixture)
    # cosines come near to the bound: sup over θ of |Σ a_t φ(x_t)|
    Z = family.draw(X, 100_000, random_state=0)(X[:3])
    assert 0.9 * mixture < np.abs(rs.theory.ua.equation_11(Z, a)).max() <= mixture
    with pytest.raises(ValueError, match="one number for every point"):
        rs.theory.mixture_norm(family, X, a)


def test_the_norm_of_a_kernel_machine():
    X, y = table(60)
    model = rs.SpanRegressor(rs.Fourier(gamma=0.5), np.inf, alpha=0.1, standardize=False).fit(X, y)
    K, w = rs.Fourier(gamma=0.5).kernel(X), model.weights_
    assert rs.theory.rkhs_norm(model) == pytest.approx(np.sqrt(w @ K @ w), rel=1e-6)


def test_the_norm_of_drawn_functions():
    X, y = table(60)
    model = rs.SpanRegressor(rs.Fourier(gamma=0.5), 40, alpha=0.1).fit(X, np.stack([y, -2 * y], 1))
    found = rs.theory.rkhs_norm(model)
    np.testing.assert_allclose(found, np.sqrt(40) * np.linalg.norm(model.weights_, axis=1))


@pytest.mark.parametrize("depth", [3, 5])
def test_the_sobolev_norm_of_wavelets_is_that_of_their_coefficients(depth):
    """‖f‖² = c² + Σ_j 4^{js} Σ_l c_jl², c the inner products of f with normalised wavelets."""
    rng = np.random.default_rng(1)
    X, s = rng.random(size=(80, 1)), 1.0
    family = rs.ScrambledWavelets("db3", s, depth=depth, interval=(0, 1))
    known = {"alpha": 0, "standardize": False, "fit_intercept": False, "clip": None}
    model = rs.SpanRegressor(family, 12, **known, random_state=0).fit(X, np.sin(6 * X[:, 0]))
    # The middle half of the period is where data are: values of all of it come from the basis.
    places = np.arange(4096) / 4096
    rungs = Cascade("db3", depth, 0.0).rungs(places)  # L2-normalised
    f = np.zeros(len(places))
    for j, rung in enumerate(rungs):
        ladder = 0 if j == 0 else 2 * j  # where isotropic ones have it
        nodes = np.arange(1 if j == 0 else 2 ** (j - 1))[:, None]
        each = model.functions_.coefficients([ladder], nodes) @ model.weights_
        f += (rung.values * each[rung.nodes]).sum(axis=1) * 2.0 ** (-max(j - 1, 0) * s)
    inside = (places > 0.25) & (places < 0.75)
    X_there = (2 * (places[inside] - 0.25))[:, None]
    np.testing.assert_allclose(f[inside], model.predict(X_there), atol=1e-3 * np.abs(f).max())
    total = 0.0
    for j, rung in enumerate(rungs):
        count = 1 if j == 0 else 2 ** (j - 1)
        weighted = rung.values * f[:, None] / len(places)
        c = np.bincount(rung.nodes.ravel(), weighted.ravel(), minlength=count)
        total += 4.0 ** (max(j - 1, 0) * s) * float(c @ c)
    assert rs.theory.rkhs_norm(model) == pytest.approx(np.sqrt(total), rel=0.02)


def test_the_norm_of_a_motion_is_that_of_its_slope():
    """Without the constant ‖f‖² = ∫ f'² (Cameron and Martin); f is linear between dyadic points."""
    X, y = table(50, d=1)
    family = rs.BrownianSheets(constant=False, interval=(-3, 3), depth=4)
    model = rs.SpanRegressor(
        family, 6, alpha=0, standardize=False, fit_intercept=False, clip=None, random_state=0
    ).fit(X.clip(-3, 3), y)
    places = np.linspace(-3, 3, 2**4 + 1)[:, None]
    f = model.predict(places)
    slopes = np.diff(f) * 2**4
    assert rs.theory.rkhs_norm(model) == pytest.approx(np.sqrt((slopes**2).mean()), rel=1e-3)


def test_a_norm_of_too_many_nodes_is_refused():
    X, y = table(40, d=2)
    family = rs.BrownianSheets(depth=12)
    model = rs.SpanRegressor(family, 3, alpha=0).fit(X, y)
    with pytest.raises(ValueError, match="smaller depth"):
        rs.theory.rkhs_norm(model)


def test_the_complexity_of_a_fitted_class():
    X, y = table()
    model = rs.SpanRegressor(rs.Stumps(), 50, random_state=0).fit(X, y)
    estimate, error = rs.theory.complexity(model, X)
    C = 50 * np.abs(model.weights_).max()
    assert 0 < error < estimate <= rks.rademacher(C, len(X))
    bins = rs.SpanRegressor(rs.Bins(), 20, alpha=1.0, random_state=0).fit(X, y)
    estimate, _ = rs.theory.complexity(bins, X)
    assert estimate > 1.5 * rks.rademacher(20 * np.abs(bins.weights_).max(), len(X))
    with pytest.raises(ValueError, match="not bounded"):
        rs.theory.complexity(rs.SpanRegressor(rs.Projections(), 5).fit(X, y), X)


# -- kernels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [rs.Fourier(gamma=0.5), rs.Stumps("normal"), rs.Bins(gamma=0.5)])
def test_kernel_errors_fall_as_predicted(family):
    X, _ = table(60)
    found = rs.theory.kernel_error(family, X, [64, 256, 1024, 4096])
    for seen, expected in (
        (found.spectral, found.spectral_predicted),
        (found.largest, found.largest_predicted),
    ):
        ratios = np.array(seen) / expected
        assert (ratios > 0.4).all()
        assert (ratios < 2).all()
        slope = np.polyfit(np.log(found.k), np.log(expected), 1)[0]
        assert -0.6 < slope < -0.4
    assert found.as_dict()["k"] == (64, 256, 1024, 4096)
    assert len(repr(found).splitlines()) == 6
    K = family.kernel(X)
    apart = rs.estimate_kernel(family, X, n_components=64, random_state=0) - K
    assert found.spectral[0] == pytest.approx(np.linalg.norm(apart, 2))
    assert found.largest[0] == pytest.approx(np.abs(apart).max())
    assert rs.theory.kernel_error(family, X, 64).spectral == found.spectral[:1]


# -- certificates ----------------------------------------------------------------------------------


def classes(n=600, seed=0):
    X, y = table(n, seed=seed)
    return X, np.where(y > 0, "yes", "no")


@pytest.mark.parametrize("loss", ["hinge", "squared", "logistic", "squared_hinge", "exponential"])
def test_a_certificate_shows_every_term(loss):
    X, y = classes()
    model = rs.SpanClassifier(rs.Stumps(), 30, loss=loss, bound=2.0, alpha=0.01, random_state=0)
    model.fit(X, y)
    found = rs.theory.certify(model, X, y, 0.1, held_out=classes(300, seed=1))
    C = 30 * np.abs(model.weights_).max() + abs(model.intercept_[0])
    assert pytest.approx(C) == found.C
    assert found.C_j >= C > found.C_j / 2 or found.C_j == 2
    assert found.bound == pytest.approx(sum(found.terms.values()))
    signs = np.where(y == "yes", 1.0, -1.0)
    own = rs.losses.named(loss, classes=True)
    risk = own.value(model.decision_function(X), signs).mean()
    assert found.terms["empirical risk"] == pytest.approx(risk)
    L, at_zero = rks.loss_constants(loss, found.C_j)
    with quietly():
        gap = rks.theorem_2(
            rks.rademacher(found.C_j, 600), L, found.C_j, at_zero, 600, found.delta_j
        )
    assert found.bound - risk == pytest.approx(gap, rel=1e-3)
    wrong, mean = found.held_out
    assert wrong.lower < wrong.value < wrong.upper
    assert mean.lower < mean.value < mean.upper
    text = repr(found)
    for part in ("empirical risk", "C_j", "δ_j", "L of the loss", "c(0)", "Clopper", "bound of"):
        assert part in text
    json.dumps(found.as_dict())


def test_functions_of_ones_own_are_certified_by_their_users_word():
    """Hypotheses that look at no row: sup|φ| is given, and what rows contradict is refused."""
    X, y = classes()

    def waves(X, y, rng):
        frequencies = rng.normal(size=X.shape[1])
        return lambda X: np.sin(X @ frequencies)

    family = rs.Hypotheses(waves, targets="random")
    model = rs.SpanClassifier(family, 20, loss="hinge", alpha=0.1, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="sup="):
        rs.theory.certify(model, X, y)
    found = rs.theory.certify(model, X, y, sup=1.0)
    largest = 20 * np.abs(model.weights_).max()
    assert pytest.approx(largest + abs(model.intercept_[0])) == found.C
    assert "your word" in found.remarks[0]
    with pytest.raises(ValueError, match="beyond sup"):
        rs.theory.certify(model, X, y, sup=0.5)


def test_theorem_1_is_for_a_minimiser_in_a_box():
    X, y = classes()
    known = {"loss": "hinge", "random_state": 0}
    boxed = rs.SpanClassifier(
        rs.Stumps(), 30, bound=2.0, alpha=0, fit_intercept=False, **known
    ).fit(X, y)
    found = rs.theory.certify(boxed, X, y)
    with quietly():
        assert found.excess == pytest.approx(rks.theorem_1(1.0, 2.0, 1.0, 600, 30, 0.025))
    assert "Theorem 1" in repr(found)
    free = rs.SpanClassifier(rs.Stumps(), 30, alpha=0.1, **known).fit(X, y)
    found = rs.theory.certify(free, X, y)
    assert found.excess is None
    said = " ".join(found.remarks)
    for reason in ("bound=", "alpha=0", "fit_intercept=False"):
        assert reason in said


def test_what_was_read_from_the_same_rows_is_said():
    X, y = classes()
    model = rs.SpanClassifier(rs.Fourier(), 30, loss="hinge", alpha=0.1).fit(X, y)
    said = " ".join(rs.theory.certify(model, X, y).remarks)
    assert "median γ" in said
    assert "centre and scale" in said
    learned = rs.SpanClassifier(rs.Fourier(), 30, scales="learn", alpha=0.1).fit(X, y)
    assert "seen the targets" in " ".join(rs.theory.certify(learned, X, y).remarks)
    stumps = rs.SpanClassifier(rs.Stumps(), 30, alpha=0.1, standardize=False).fit(X, y)
    assert "ranges" in " ".join(rs.theory.certify(stumps, X, y).remarks)
    fixed = rs.SpanClassifier(rs.Fourier(gamma=1.0), 30, alpha=0.1, standardize=False).fit(X, y)
    assert "fixed in advance" not in " ".join(rs.theory.certify(fixed, X, y).remarks)
    given = rs.SpanClassifier(frame=model.frame_, loss="hinge", alpha=0.1).fit(X, y)
    assert "handed in" in " ".join(rs.theory.certify(given, X, y).remarks)


def test_a_certificate_of_a_regressor():
    X, y = table()
    model = rs.SpanRegressor(rs.Stumps(), 30, random_state=0).fit(X, y)
    new = table(300, seed=3)
    found = rs.theory.certify(model, X, y, held_out=new)
    assert found.result == "RHSS Theorem 4.9"
    T = 1.1 * max(abs(y.min()), abs(y.max())) + 0.1 * min(abs(y.min()), abs(y.max()))
    assert "read from the same targets" in " ".join(found.remarks)
    assert found.constants["T, of |f| and |y|"] == pytest.approx(T, rel=1e-6)
    assert found.held_out[0].value == pytest.approx(((model.predict(new[0]) - new[1]) ** 2).mean())
    assert found.bound > found.held_out[0].upper
    with pytest.raises(ValueError, match="clip"):
        rs.theory.certify(model.set_params(clip=None), X, y)
    with pytest.raises(ValueError, match="smaller than the largest"):
        rs.theory.certify(model.set_params(clip=0.5), X, y)


REFUSED = {
    "cells=True": (rs.SpanClassifier(rs.Bins(), 10, alpha=1.0), True),
    "n_components a number": (rs.SpanClassifier(rs.Fourier(), np.inf), True),
    "trained on these rows": (rs.SpanClassifier(rs.Trees(), 5), True),
    "not bounded": (rs.SpanClassifier(rs.Units("relu"), 10, alpha=1.0), True),
    "squared loss": (rs.SpanRegressor(rs.Stumps(), 10, loss="absolute", alpha=1.0), False),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_certified_is_refused_with_the_reason(reason):
    model, for_classes = REFUSED[reason]
    X, y = classes() if for_classes else table()
    with pytest.raises(ValueError, match=reason):
        rs.theory.certify(model.fit(X, y), X, y)


def test_several_classes_and_targets_are_refused():
    X, y = table()
    three = rs.SpanClassifier(rs.Stumps(), 10, alpha=1.0).fit(X, np.digitize(y, [-0.5, 0.5]))
    with pytest.raises(ValueError, match="two classes"):
        rs.theory.certify(three, X, np.digitize(y, [-0.5, 0.5]))
    both = rs.SpanRegressor(rs.Stumps(), 10, alpha=1.0).fit(X, np.stack([y, y], 1))
    with pytest.raises(ValueError, match="one target"):
        rs.theory.certify(both, X, np.stack([y, y], 1))


def test_bins_are_certified_by_their_cells():
    X, y = classes()
    model = rs.SpanClassifier(rs.Bins(), 10, alpha=1.0, random_state=0).fit(X, y)
    found = rs.theory.certify(model, X, y, cells=True)
    by_hand = rks.cellwise_rademacher(
        np.diff(sparse.csc_array(model.functions_(X)).indptr), found.C_j, 10
    )
    L = found.constants["L of the loss on [-C_j, C_j]"]
    term = next(value for name, value in found.terms.items() if "cells" in name)
    assert term == pytest.approx(4 * L * by_hand)
    stumps = rs.SpanClassifier(rs.Stumps() + rs.Bins(), 10, alpha=1.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="cells=True"):
        rs.theory.certify(stumps, X, y)
    assert rs.theory.certify(stumps, X, y, cells=True).bound > 0


# What a fit looks like, what is changed, and what the certificate says (or what it refuses).
ORDINARY = {
    "robust": ({"standardize": "robust"}, "centre and scale"),
    "own scales": ({"standardize": False, "scales": [1.0, 2.0]}, ""),
    "class weights": ({"class_weight": {"no": 1.0, "yes": 3.0}}, "classes have weights"),
    "clipped": ({"clip": 1.0}, "clipped"),
    "paired": ({"family": rs.Fourier(gamma=1.0, form="paired")}, "not drawn independently"),
    "qmc": ({"family": rs.Fourier(gamma=1.0, sampling="qmc")}, "not drawn independently"),
    "data centres": ({"family": rs.Bumps(gamma=1.0)}, "centres"),
    "union": ({"family": rs.Units() + rs.Fourier(), "standardize": False}, "median γ"),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_certificates_say_what_they_rest_on(name):
    changes, said = ORDINARY[name]
    X, y = classes()
    known = {"family": rs.Stumps("normal"), "n_components": 20, "loss": "squared"}
    known |= {"bound": 2.0, "alpha": 0, "fit_intercept": False, "random_state": 0}
    model = rs.SpanClassifier(**known | changes).fit(X, y)
    found = rs.theory.certify(model, X, y)
    text = " ".join(found.remarks)
    assert said in text
    if name == "own scales":
        assert "fixed in advance" not in text
        assert found.excess is not None
    elif name != "robust":
        assert found.excess is None or name == "union"


def test_parameters_that_changed_after_the_fit_do_not_matter():
    X, y = classes()
    model = rs.SpanClassifier(rs.Stumps("normal"), 20, loss="hinge", alpha=0.1).fit(X, y)
    model.set_params(bound=2.0, fit_intercept=False)
    assert rs.theory.certify(model, X, y).excess is None


@pytest.mark.parametrize("form", ["frame", "sparse", "float32", "lists", "column"])
def test_rows_of_every_kind(form):
    import pandas as pd

    X, y = classes()
    model = rs.SpanClassifier(rs.Stumps("normal"), 20, loss="hinge", bound=2.0, alpha=0.1)
    model.set_params(standardize=False, random_state=0)
    plain = rs.theory.certify(model.fit(X, y), X, y, held_out=(X[:50], y[:50]))
    rows = {
        "frame": (pd.DataFrame(X), pd.Series(y)),
        "sparse": (sparse.csr_array(X), y),
        "float32": (X.astype(np.float32), y),
        "lists": (X.tolist(), y.tolist()),
        "column": (X, y),
    }[form]
    few = (rows[0][:50], rows[1][:50])
    if form == "frame":
        model = rs.SpanClassifier(**model.get_params(deep=False)).fit(*rows)
    found = rs.theory.certify(model, *rows, held_out=few)
    assert found.bound == pytest.approx(plain.bound, rel=1e-3)
    assert found.held_out[0].value == pytest.approx(plain.held_out[0].value, abs=0.021)


def test_labels_that_the_model_does_not_know_are_refused():
    X, y = classes()
    model = rs.SpanClassifier(rs.Stumps(), 20, loss="hinge", bound=2.0, alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="class"):
        rs.theory.certify(model, X, np.where(y == "yes", "ja", "nein"))
    with pytest.raises(ValueError, match="class"):
        rs.theory.certify(model, X, y, held_out=(X[:2], np.array(["yes", "maybe"])))
    X, y = table()
    regressor = rs.SpanRegressor(rs.Stumps(), 20).fit(X, y)
    with pytest.raises(ValueError, match="shape"):
        rs.theory.certify(regressor, X, y[:, None])
    with pytest.raises(ValueError, match="NaN"):
        rs.theory.certify(regressor, X, np.where(y > 1, np.nan, y))


def test_held_out_targets_beyond_the_range_are_said():
    X, y = table()
    model = rs.SpanRegressor(rs.Stumps(), 30, random_state=0).fit(X, y)
    far = np.append(y[:50], 100.0)
    found = rs.theory.certify(model, X, y, held_out=(X[:51], far))
    assert found.held_out == ()
    assert "1 of 51" in " ".join(found.remarks)
    one = rs.theory.certify(model, X, y, held_out=(X[:1], y[:1]))
    assert one.held_out == ()


def test_the_complexity_that_a_certificate_of_cells_uses_is_above_the_empirical_one():
    X, y = classes()
    for family in (rs.Bins(), rs.Fourier(gamma=0.5) + rs.Bins()):
        model = rs.SpanClassifier(family, 20, alpha=1.0, random_state=0).fit(X, y)
        found = rs.theory.certify(model, X, y, cells=True)
        term = next(value for name, value in found.terms.items() if "cells" in name)
        ours = term / (4 * found.constants["L of the loss on [-C_j, C_j]"] * found.C_j)
        # a box of C = 1 with sup|φ| in it
        Z = model.functions_(X)
        estimate, error = rks.empirical_rademacher(Z, 1 / family.bounded, k=20)
        assert estimate - 3 * error < ours < 2 * estimate


# -- Adult -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def adult():
    try:
        return data.a9a()
    except data.Missing as missing:
        pytest.skip(f"Adult: {missing}")


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_adult_with_stumps_in_a_box(adult, loss):
    model = rs.SpanClassifier(rs.Stumps(), 200, loss=loss, bound=20.0, alpha=1e-3, random_state=0)
    model.fit(adult.X_train, adult.y_train)
    held_out = (adult.X_test, adult.y_test)
    found = rs.theory.certify(model, adult.X_train, adult.y_train, held_out=held_out)
    print(f"\n{found!r}")
    assert found.bound == pytest.approx(sum(found.terms.values()))
    wrong = found.held_out[0]
    assert 0.13 < wrong.lower < wrong.value < wrong.upper < 0.25
    # Halves of the test rows, 200 times: p̂₁ - p̂₂ has the standard deviation √2·se of one half, so
    # that the interval of one half, ±1.96 se, covers the other's share with the chance that a
    # normal variable is within 1.96/√2; and intervals of both meet in nearly all splits.
    errors = model.predict(adult.X_test) != adult.y_test
    rng = np.random.default_rng(0)
    covers, meets = [], []
    for _ in range(200):
        order = rng.permutation(len(errors))
        halves = np.array_split(errors[order], 2)
        first, second = (rs.theory.clopper_pearson(int(h.sum()), len(h)) for h in halves)
        covers.append(first[0] <= halves[1].mean() <= first[1])
        meets.append(first[0] <= second[1] and second[0] <= first[1])
    chance = 0.8342
    assert abs(np.mean(covers) - chance) < 3 * np.sqrt(chance * (1 - chance) / 200)
    assert np.mean(meets) >= 0.95
