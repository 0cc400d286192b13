"""Losses and families of one's own, as CONTRIBUTING describes them."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse, special

import randspan as rs
from randspan.families import Family, Functions
from randspan.families.shared.bandwidth import read_gamma
from randspan.families.shared.randomness import normals
from randspan.families.shared.rows import Rows
from randspan.losses import Loss

R, C = rs.SpanRegressor, rs.SpanClassifier


# -- losses ----------------------------------------------------------------------------------------


class Counts(Loss):
    """exp(s) - ys, as one would write it."""

    name = "counts"
    for_numbers = True
    link = "log"

    def value(self, s, y):
        return np.exp(s) - y * s

    def slope(self, s, y):
        return np.exp(s) - y

    def curvature(self, s, y):
        return np.exp(s)


def counts(n=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(1 + np.sin(2 * X[:, 0]))).astype(float)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("alpha", ["auto", 0.01])
def test_targets_reach_a_loss_as_they_are(solver, alpha):
    """A loss that may be negative: alpha, objective and predictions are those of `Poisson`."""
    X, y = counts()
    build = {"alpha": alpha, "solver": solver, "random_state": 0, "dtype": "float64"}
    own = R(rs.Fourier(), 60, loss=Counts(), **build).fit(X, y)
    ours = R(rs.Fourier(), 60, loss="poisson", **build).fit(X, y)
    assert own.alpha_ == ours.alpha_
    assert own.solution_.residual < 1e-6
    np.testing.assert_allclose(own.predict(X), ours.predict(X), rtol=1e-6)
    constant = float((special.xlogy(y, y) - y).sum())
    assert own.solution_.objective + constant == pytest.approx(ours.solution_.objective, rel=1e-6)
    if alpha == "auto":
        assert own.validation_.error < 0 < ours.validation_.error


@pytest.mark.parametrize("family", [rs.Bins(), rs.Trees(), rs.Fourier() + rs.Bins()], ids=repr)
def test_a_loss_of_ones_own_beside_cells_and_trees(family):
    X, y = counts()
    build = {"random_state": 0, "clip": None, "alpha": 0.3}
    own = R(family, 20, loss=Counts(), **build).fit(X, y)
    ours = R(family, 20, loss="poisson", **build).fit(X, y)
    np.testing.assert_allclose(own.predict(X), ours.predict(X), rtol=1e-3)


def test_a_loss_of_ones_own_in_a_box_and_by_default():
    X, y = counts()
    boxed = R(rs.Fourier(), 60, loss=Counts(), bound=20.0, random_state=0).fit(X, y)
    assert np.abs(boxed.weights_).max() <= 20 / 60 + 1e-12
    default = R(loss=Counts(), random_state=0).fit(X, y)
    assert default.score(X, y) > 0.5


class Square(Loss):
    """(y - s)², without a word of it being the squared loss."""

    name = "square"
    for_numbers = True

    def value(self, s, y):
        return (s - y) ** 2

    def slope(self, s, y):
        return 2 * (s - y)

    def curvature(self, s, y):
        return np.full_like(s, 2.0)


class Distance(Loss):
    """|y - s|."""

    name = "distance"
    for_numbers = True
    smooth = False
    lipschitz = 1.0

    def value(self, s, y):
        return np.abs(s - y)

    def slope(self, s, y):
        return np.sign(s - y)

    def prox(self, s, y, t):
        return s + np.clip(y - s, -t, t)


@pytest.mark.parametrize(
    ("own", "ours"), [(Square(), "squared"), (Distance(), "absolute")], ids=["smooth", "kink"]
)
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_losses_that_are_known_are_what_they_are(own, ours, offset):
    X, y = counts()
    build = {"alpha": 0.1, "random_state": 0, "dtype": "float64"}
    solver = "auto" if ours == "absolute" else "cholesky"
    mine = R(rs.Fourier(), 40, loss=own, **build).fit(X, y + offset).predict(X)
    theirs = R(rs.Fourier(), 40, loss=ours, solver=solver, **build).fit(X, y + offset).predict(X)
    np.testing.assert_allclose(mine, theirs, atol=2e-3 if ours == "absolute" else 1e-6)


def test_a_loss_of_ones_own_for_classes():
    class Margin(rs.losses.Logistic):
        name = "margin"

    X, y = counts()
    one, other = (
        C(rs.Fourier(), 30, loss=loss, random_state=0).fit(X, y > 3)
        for loss in (Margin(), "logistic")
    )
    assert one.alpha_ == other.alpha_


def loss_with(*missing, **changed):
    """`Counts` without some of its parts, or with others."""
    own = {name: value for name, value in vars(Counts).items() if not name.startswith("__")}
    kept = {name: value for name, value in own.items() if name not in missing}
    return type("Own", (Loss,), kept | changed)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: loss_with("name")(), "Own needs a name"),
        (lambda: loss_with("for_numbers")(), "Own needs for_numbers = True"),
        (lambda: loss_with("slope")(), r"Own needs value\(self, s, y\), and slope"),
        (lambda: loss_with("curvature")(), r"Own needs curvature\(self, s, y\).*smooth = False"),
        (lambda: loss_with(smooth=False)(), r"Own has smooth = False and needs prox\("),
        (lambda: loss_with(link="logit")(), r"link = 'logit': link is one of 'identity', 'log'"),
        (lambda: loss_with()(delta=1.0), "Own has no parameter 'delta'; it takes none"),
        (lambda: rs.losses.Huber(detla=1.0), "Huber has no parameter 'detla'.*mean 'delta'"),
    ],
)
def test_what_a_loss_lacks_is_said_when_it_is_made(make, message):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"slope": lambda self, s, y: y - np.exp(s)}, "not the derivative of a convex value"),
        ({"slope": lambda self, s, y: np.exp(s) / 2 - y}, "not the derivative of a convex value"),
        ({"value": lambda self, s, y: y * s - np.exp(s)}, r"falls without limit for y = \d"),
        ({"curvature": lambda self, s, y: 3 * np.exp(s)}, "not its second derivative"),
        ({"curvature": lambda self, s, y: -np.exp(s)}, "not its second derivative"),
        ({"value": lambda self, s, y: float((np.exp(s) - y * s).sum())}, "shape \\(\\) for"),
        ({"smooth": False, "prox": lambda self, s, y, t: s}, "needs a finite lipschitz"),
        ({"value": lambda self, s, y: s - y * np.log(s), "slope": lambda self, s, y: 1 - y / s},
         "must be defined for every score"),
    ],
)  # fmt: skip
def test_a_loss_that_is_none_is_refused_before_the_fit(changed, message):
    X, y = counts(50)
    if "falls" in message:
        changed = changed | {"slope": lambda self, s, y: y - np.exp(s)}
    with pytest.raises(ValueError, match=message):
        R(rs.Fourier(), 10, loss=loss_with(**changed)(), alpha=0.1).fit(X, y + 1)


def test_losses_that_are_not_convex_or_not_made_for_targets():
    class Bounded(Square):
        def value(self, s, y):
            return 1 - np.exp(-((s - y) ** 2))

        def slope(self, s, y):
            return 2 * (s - y) * np.exp(-((s - y) ** 2))

    X, y = counts(50)
    with pytest.raises(ValueError, match="not the derivative of a convex value"):
        R(rs.Fourier(), 10, loss=Bounded(), alpha=0.1).fit(X, y)
    with pytest.raises(ValueError, match="falls without limit for y = -1,"):
        R(rs.Fourier(), 10, loss=Counts(), alpha=0.1).fit(X, y - 1 - y.min())
    for wrong in (Counts, object()):
        with pytest.raises(ValueError, match=r"Counts\(\)|subclass of rs.losses.Loss"):
            R(rs.Fourier(), 10, loss=wrong, alpha=0.1).fit(X, y)


# -- families --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChirpFunctions(Functions):
    weights: np.ndarray

    def evaluate(self, rows):
        return np.sin(rows.products(self.weights) ** 2)


@dataclass(frozen=True, eq=False)
class Width:
    number: float


class Chirps(Family):
    """φ(x) = sin(γ(w'x)²), w ~ N(0, I), γ from the median distance of two rows."""

    rotation_invariant = True

    def __init__(self, gamma="median"):
        self.gamma = gamma

    def read(self, sample, n_components, seed):
        return Width(read_gamma(self.gamma, sample, "euclidean"))

    def sample(self, n_features, n_components, seed):
        weights = normals(seed, "chirps", n_components, n_features)
        root = np.sqrt(self.resolved.number)
        return ChirpFunctions(self, n_features, n_components, root * weights)


@dataclass(frozen=True, eq=False)
class HillFunctions(Functions):
    centres: np.ndarray
    gamma: float

    def evaluate(self, rows):
        squares = rows.norms(self.gamma)[:, None] + self.gamma * (self.centres**2).sum(axis=1)
        return (1 / (1 + squares - rows.products(2 * self.gamma * self.centres))).astype(rows.dtype)


class Hills(Chirps):
    """φ(x) = 1/(1 + γ‖x - z‖²), z ~ N(0, I)."""

    bounded = 1.0

    def sample(self, n_features, n_components, seed):
        centres = normals(seed, "hills", n_components, n_features)
        return HillFunctions(self, n_features, n_components, centres, self.resolved.number)


class Lines(Family):
    """φ(x) = w'x, with its kernel x'y and a bandwidth that means nothing."""

    rotation_invariant = True

    def __init__(self, gamma="median"):
        self.gamma = gamma

    def sample(self, n_features, n_components, seed):
        return rs.Projections().sample(n_features, n_components, seed)

    def closed_form(self, X, Y):
        return X.exact @ Y.exact.T


OWN = {"chirps": Chirps(), "hills": Hills(), "union": Chirps() + rs.Projections(), "lines": Lines()}


def smooth(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin((X[:, 0] + X[:, 1]) ** 2 / 2) + X[:, 0] + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("scales", ["auto", None, "learn", "rotate", (1.0, 2.0, 0.5)], ids=str)
@pytest.mark.parametrize("name", OWN)
def test_a_family_of_ones_own_at_every_scale(name, scales):
    """By default, and with a number of functions: no family needs to have a γ of a certain name."""
    X, y = smooth()
    for k in ("auto", 40):
        model = R(OWN[name], k, scales=scales, random_state=0).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
        assert model.validation_.error < 1.1 * np.var(y)
    clone = R(frame=model.frame_, random_state=0).fit(X, y)
    np.testing.assert_allclose(clone.functions_(X), model.functions_(X))


@pytest.mark.parametrize("name", OWN)
def test_a_family_of_ones_own_streams_forgets_and_takes_sparse_rows(name):
    X, y = smooth()
    build = {"n_components": 30, "random_state": 0, "dtype": "float64", "alpha": 0.01}
    whole = R(OWN[name], **build).fit(X, y)
    stream = R(OWN[name], **build, frame=whole.frame_)
    for rows in np.array_split(np.arange(len(X)), 3):
        stream.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(stream.predict(X), whole.predict(X), rtol=1e-6, atol=1e-8)
    stream.partial_fit(X[:9] + 1, y[:9]).forget(X[:9] + 1, y[:9])
    np.testing.assert_allclose(stream.predict(X), whole.predict(X), rtol=1e-6, atol=1e-8)
    thin = R(OWN[name], **build).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(X), whole.predict(X), rtol=1e-6, atol=1e-8)
    assert C(OWN[name], 30, random_state=0).fit(X, y > 0).score(X, y > 0) > 0.5
    default = R(OWN[name], scales=None, random_state=0).partial_fit(X, y)
    assert np.isfinite(default.partial_fit(X[:20], y[:20]).predict(X)).all()


def test_a_family_that_reads_rows_is_not_asked_for_a_kernel_that_it_does_not_have():
    """`read` sees the rows of a fit, not a probe of one row and one column."""

    class Particular(Chirps):
        def read(self, sample, n_components, seed):
            assert sample.shape[1] == 3
            return super().read(sample, n_components, seed)

    X, y = smooth(100)
    assert R(Particular(), random_state=0).fit(X, y).n_components_ >= 128
    with pytest.raises(NotImplementedError, match="no kernel in closed form: none is known"):
        R(Particular(), np.inf).fit(X, y)


@pytest.mark.parametrize(
    "weights", [None, 2.0, np.float64(0.5), np.array([1.0, 2.0, 0.5])], ids=str
)
@pytest.mark.parametrize("rotated", [False, True])
def test_norms_of_sparse_rows_are_those_of_dense_ones(weights, rotated, rng):
    X = sparse.random_array((20, 3), density=0.5, rng=rng, format="csr")
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0] if rotated else None
    given = (np.array([1.0, 0.0, -1.0]), np.array([1.0, 2.0, 3.0]), np.float64, rotation)
    for centre, scale, *rest in (given, (None, None, *given[2:])):
        thin, dense = (Rows(values, centre, scale, *rest) for values in (X, X.toarray()))
        expected = (dense.exact**2) @ (np.ones(3) if weights is None else weights * np.ones(3))
        np.testing.assert_allclose(thin.norms(weights), expected, atol=1e-12)
        np.testing.assert_allclose(dense.norms(weights), expected, atol=1e-12)
        gamma = 1.0 if weights is None else weights
        np.testing.assert_allclose(
            thin.gaussians(np.eye(3), gamma), dense.gaussians(np.eye(3), gamma), atol=1e-12
        )


# -- names -----------------------------------------------------------------------------------------


def test_kernels_and_draws_have_the_names_of_both_worlds():
    X, y = smooth(80)
    for one, other in (
        (rs.Fourier("rbf"), rs.Fourier("gaussian")),
        (rs.Fourier("rbf", sampling="orthogonal"), rs.Fourier(sampling="orthogonal")),
        (rs.Fourier(sampling="independent"), rs.Fourier(sampling="iid")),
        (rs.KernelExpansions("gaussian", "median"), rs.KernelExpansions("rbf", "median")),
        (rs.KernelExpansions("gaussian", coefficients="nystrom"),
         rs.KernelExpansions("rbf", coefficients="nystrom")),
        (rs.Dictionary(rs.Mercer("gaussian", 0.5)), rs.Dictionary(rs.Mercer("rbf", 0.5))),
    ):  # fmt: skip
        drawn = [family.draw(X, 8, 0)(X) for family in (one, other)]
        np.testing.assert_array_equal(*drawn)
        fitted = [R(family, 8, scales=None, random_state=0).fit(X, y) for family in (one, other)]
        np.testing.assert_array_equal(*(model.predict(X) for model in fitted))
    for family in (rs.Fourier("rbf"), rs.Fourier(sampling="independent")):
        R(family, scales="rotate", random_state=0).fit(X, y)
        assert family.independent
        np.testing.assert_array_equal(family.kernel(X), rs.Fourier().kernel(X))
    assert rs.Fourier("rbf").get_params()["kernel"] == "rbf"


@pytest.mark.parametrize(
    "family",
    [rs.Fourier("rbf", sampling="independent"), rs.KernelExpansions("gaussian", 0.5)],
    ids=repr,
)
def test_other_names_go_into_files_and_onnx(family, tmp_path):
    X, y = smooth(60)
    for k in (6, np.inf):
        model = R(family, k, scales=None, random_state=0).fit(X, y)
        model.save(tmp_path / "model.rsp")
        assert np.array_equal(rs.load(tmp_path / "model.rsp").predict(X), model.predict(X))
        rs.to_onnx(model)


def test_unknown_names_and_parameters_are_answered_with_the_nearest():
    X, y = smooth(30)
    for kind in (R, C):
        with pytest.raises(ValueError, match=r"'auto' or a family such as.*mean 'fourier'\?"):
            kind("fourrier").fit(X, y > 0)
        with pytest.raises(
            TypeError, match=rf"{kind.__name__} has no parameter 'alhpa'; .*'alpha'\?"
        ):
            kind(alhpa=1.0)
        with pytest.raises(
            TypeError, match=rf"{kind.__name__} takes 2 argument\(s\) without a name"
        ):
            kind("fourier", 100, "squared")
    with pytest.raises(ValueError, match=r"Fourier is a class: hand in Fourier\(\)"):
        R(rs.Fourier).fit(X, y)
    with pytest.raises(ValueError, match="'scrambledwavelets' or a family"):
        rs.SpanTransformer("auto").fit(X)
    with pytest.raises(TypeError, match=r"SpanTransformer has no parameter 'loss'"):
        rs.SpanTransformer(loss="squared")
    with pytest.raises(TypeError, match=r"Fourier has no parameter 'kernal'; .* mean 'kernel'\?"):
        rs.Fourier(kernal="rbf")
    with pytest.raises(TypeError, match="Chirps has no parameter 'gama'"):
        Chirps(gama=1.0)
    with pytest.raises(ValueError, match=r"loss must be one of .* Did you mean 'poisson'\?"):
        R(loss="poison").fit(X, y)


@pytest.mark.parametrize("method", ["partial_fit", "forget", "merge", "leave_one_out"])
def test_methods_that_a_loss_does_not_have_say_why(method):
    X, y = counts(40)
    for loss in ("huber", rs.losses.Poisson(), Counts()):
        model = R(rs.Fourier(), 5, loss=loss, alpha=1.0).fit(X, y)
        assert not hasattr(model, method)
        with pytest.raises(AttributeError, match=f"{method} needs the squared loss, .*loss="):
            getattr(model, method)
        with pytest.raises(AttributeError, match=f"{method} needs the squared loss"):
            getattr(R, method)(model, X, y)
    passing = R(rs.Fourier(), 5, solver="lbfgs", alpha=1.0).fit(X, y)
    with pytest.raises(AttributeError, match=f"{method} needs statistics .*solver='lbfgs'"):
        getattr(passing, method)
    assert hasattr(R(), method)
    assert getattr(R, method).__doc__ == getattr(R(), method).__doc__
