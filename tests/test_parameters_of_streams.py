"""Every parameter, set between a fit and what changes its rows, counts or is refused by name."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import randspan as rs

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer
rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3))
y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=90)
LABELS = np.where(y > 0.2, "a", "b")
OLD, NEW = slice(0, 60), slice(60, 90)

#: parameters that functions, sums and weights of rows were made by
FIXED = {
    "family": rs.Stumps(),
    "n_components": 20,
    "standardize": False,
    "scales": None,
    "effort": "fast",
    "categories": [0],
    "columns": {0: "category"},
    "frame": R(n_components=10, random_state=3).fit(X, y).frame_,
    "dtype": "float64",
    "random_state": 7,
    "class_weight": {"a": 2.0, "b": 1.0},
}
#: parameters of weights, which are found anew: these are the same as one fit with them
NEXT = {
    "alpha": 0.3,
    "bound": 1.0,
    "fit_intercept": False,
    "solver": "cholesky",
    "penalty": "l1",
}
#: parameters that change no number, or count when predictions are made
FREE = {"clip": 0.5, "memory_limit": "2GB", "n_jobs": 1, "verbose": True}
#: the loss has sums, or there is nothing to add to
OTHERS = {"loss": "hinge"}


def started(kind, family=None, **params):
    family = rs.Fourier() if family is None else family
    targets = y if kind is R else LABELS
    k = "auto" if isinstance(family, str) else 10
    return kind(family, k, random_state=0, **params).fit(X[OLD], targets[OLD]), targets


def calls(model, targets):
    """What changes rows, or depends on them."""
    other = clone(model).set_params(frame=model.frame_, random_state=None)
    other.fit(X[NEW], targets[NEW])
    return {
        "partial_fit": lambda: model.partial_fit(X[NEW], targets[NEW]),
        "forget": lambda: model.forget(X[:9], targets[:9]),
        "merge": lambda: model.merge(other),
        "leave_one_out": lambda: model.leave_one_out(X[:9], targets[:9]),
    }


def test_every_parameter_is_in_a_table():
    known = FIXED | NEXT | FREE | OTHERS
    assert known.keys() == (R().get_params() | C().get_params()).keys()


@pytest.mark.parametrize("kind", [R, C])
@pytest.mark.parametrize("name", FIXED)
def test_what_rows_have_gone_through_cannot_change(kind, name, tmp_path):
    if name not in kind().get_params():
        return
    model, targets = started(kind, "auto" if name == "effort" else None)
    verbs = {} if name == "effort" else calls(model, targets)
    verbs |= {"forget": lambda: model.forget(X[:9], targets[:9])}
    before = getattr(model, name)
    model.set_params(**{name: FIXED[name]})
    given = "another frame" if name == "frame" else f"{name}="
    expected = model.predict(X[NEW])
    for call in verbs.values():
        with pytest.raises(
            ValueError, match=f"^{given}.* was set after .*set it back, or fit anew"
        ):
            call()
    model.save(tmp_path / "model.rsp")
    for back in (rs.load(tmp_path / "model.rsp"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(back.predict(X[NEW]), expected)
        with pytest.raises(ValueError, match=f"^{given}.* was set after"):
            back.forget(X[:9], targets[:9])
    model.set_params(**{name: before}).forget(X[:9], targets[:9])


@pytest.mark.parametrize("kind", [R, C])
@pytest.mark.parametrize("name", NEXT | FREE)
def test_what_weights_are_found_by_counts_from_now_on(kind, name):
    value = (NEXT | FREE)[name]
    model, targets = started(kind)
    verbs, began = calls(model, targets), clone(model).set_params(frame=model.frame_)
    model.set_params(**{name: value})
    left = {
        "partial_fit": np.arange(90),
        "forget": np.arange(9, 90),
        "merge": np.append(np.arange(9, 90), np.arange(60, 90)),
    }
    answer = model.predict if kind is R else model.decision_function
    for verb, rows in left.items():
        verbs[verb]()
        one = clone(began).set_params(**{name: value}).partial_fit(X[rows], targets[rows])
        said = one.predict if kind is R else one.decision_function
        np.testing.assert_allclose(answer(X), said(X), atol=2e-5, err_msg=verb)


@pytest.mark.parametrize("kind", [R, C])
def test_a_loss_without_sums_takes_the_verbs_away(kind):
    model, targets = started(kind)
    verbs = calls(model, targets)
    model.set_params(loss="huber" if kind is R else "hinge")
    for call in verbs.values():
        with pytest.raises(AttributeError):
            call()


@pytest.mark.parametrize("changed", [{"alpha": 0.1}, {"bound": 1.0}, {"solver": "cholesky"}])
def test_trees_weighed_by_out_of_bag_rows_stay_so(changed):
    model, targets = started(R, rs.Trees())
    verbs = calls(model, targets)
    before = {name: getattr(model, name) for name in changed}
    model.set_params(**changed)
    for verb in ("partial_fit", "forget", "merge"):
        with pytest.raises(ValueError, match=f"^{verb} goes on with .* set them back, or fit anew"):
            verbs[verb]()
    model.set_params(**before)
    verbs["partial_fit"]()


def test_rows_go_at_the_weight_they_came_with():
    weights = {"a": 2.0, "b": 0.5}
    model, _ = started(C, class_weight=weights, alpha=0.1)
    assert model.class_weight_.tolist() == [2.0, 0.5]
    other = C(frame=model.frame_, alpha=0.1).fit(X[NEW], LABELS[NEW])
    with pytest.raises(ValueError, match="same class_weight"):
        model.merge(other)
    rest = C(frame=model.frame_, alpha=0.1, class_weight=weights).fit(X[9:60], LABELS[9:60])
    model.forget(X[:9], LABELS[:9])
    np.testing.assert_allclose(model.decision_function(X), rest.decision_function(X), atol=1e-5)


def test_the_same_in_other_words_is_no_change():
    model = R("stumps", 10, random_state=0).fit(X[OLD], y[OLD])
    model.set_params(family=rs.Stumps(), frame=model.frame_, dtype=np.float32)
    model.partial_fit(X[NEW], y[NEW])


def test_a_family_that_was_changed_in_place_is_another():
    model, _ = started(R, rs.Bumps() + rs.Fourier())
    model.family.parts_of_union()[0].set_params(gamma=3.0)
    with pytest.raises(ValueError, match=r"^family=.* was set after"):
        model.forget(X[:9], y[:9])


def test_portfolios_keep_to_what_they_began_with():
    model = R("auto", alpha=0.1, random_state=0, effort="fast").fit(X[OLD], y[OLD])
    model.partial_fit(X[NEW], y[NEW]).forget(X[:9], y[:9])
    for changed in ({"bound": 1.0}, {"solver": "eigen"}, {"fit_intercept": False}):
        before = {name: getattr(model, name) for name in changed}
        model.set_params(**changed)
        with pytest.raises(ValueError, match="family='auto'"):
            model.forget(X[9:20], y[9:20])
        model.set_params(**before)


def test_transformers_go_on_with_what_they_began_with():
    model = T(rs.Bins(), 10, random_state=0).partial_fit(X[OLD])
    for name in (
        "family",
        "standardize",
        "scales",
        "categories",
        "columns",
        "frame",
        "random_state",
    ):
        before, value = getattr(model, name), FIXED[name]
        value = [1.0, 2.0, 3.0] if name == "scales" else value
        model.set_params(**{name: value})
        with pytest.raises(ValueError, match=f"({name}=|another {name}).* was set after"):
            model.partial_fit(X[NEW])
        model.set_params(**{name: before})
    model.set_params(dtype="float64").partial_fit(X[NEW])
