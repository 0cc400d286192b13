"""All that a fitted estimator holds is plain data: it could be written to a file without pickle."""

from dataclasses import fields, is_dataclass
from types import FunctionType

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator

import randspan as rs
from randspan.families import Family
from randspan.families.hypotheses import Hypothesis
from randspan.families.shared.cells import Table
from randspan.families.shared.rows import Rows
from randspan.losses import Loss
from table import FAMILIES, target

R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer
NUMBERS = (bool, int, float, str, type(None), np.generic, np.dtype)


def walk(value, path, seen):
    """Yield the path of everything that is not plain; what a user brought is let pass."""
    if isinstance(value, NUMBERS) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            yield f"{path}: an array of objects"
    elif sparse.issparse(value):
        yield from walk(value.data, f"{path}.data", seen)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from walk(key, f"{path} key", seen)
            yield from walk(entry, f"{path}[{key!r}]", seen)
    elif isinstance(value, (list, tuple)):
        for i, entry in enumerate(value):
            yield from walk(entry, f"{path}[{i}]", seen)
    elif is_dataclass(value):
        if not value.__dataclass_params__.frozen:
            yield f"{path}: {type(value).__name__} is not frozen"
        if not type(value).__module__.startswith("randspan"):
            yield f"{path}: {type(value).__name__} is not ours"
        if isinstance(value, Hypothesis):
            return  # a predictor that the user brought
        for field in fields(value):
            yield from walk(getattr(value, field.name), f"{path}.{field.name}", seen)
    elif isinstance(value, Table):  # the keys of cells, and how they are found
        yield from walk(value.keys, f"{path}.keys", seen)
    elif isinstance(value, Rows):
        for name, entry in value.__getstate__().items():
            yield from walk(entry, f"{path}.{name}", seen)
    elif isinstance(value, Loss):
        yield from walk(vars(value), path, seen)
    elif isinstance(value, Family) or type(value) is rs.Mercer:
        # Parameters as they were written, and what was read from rows beside them.
        yield from walk(value.get_params(deep=False), repr(value), seen)
        yield from walk(vars(value).get("_resolved"), f"{value!r}.resolved", seen)
    elif not brought(value):
        yield f"{path}: {type(value).__name__}"


def brought(value):
    """A user's callable, estimator or distribution."""
    kinds = (FunctionType, BaseEstimator, type(stats.expon()))
    home = value if isinstance(value, FunctionType) else type(value)
    return isinstance(value, kinds) and not home.__module__.startswith("randspan")


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, target(X)


@pytest.mark.parametrize("kind", [R, C, T])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_fitted_estimator_of_the_table_is_plain(name, kind):
    X, y = data()
    model = kind(FAMILIES[name], 8, random_state=0).fit(X, y > 0.5 if kind is C else y)
    assert not list(walk(vars(model), name, set()))


@pytest.mark.parametrize(
    "model",
    [
        R(rs.Fourier(), np.inf, random_state=0),
        R(rs.Fourier(), 8, scales="learn", random_state=0),
        R(rs.Fourier(), 8, scales="rotate", random_state=0),
        R(rs.Fourier(), 100, random_state=0),
        R(rs.Fourier(), 8, loss="huber", alpha=0.1, random_state=0),
        R(rs.Fourier(), 8, solver="qr", random_state=0),
        R(rs.Fourier(), 8, bound=3.0, random_state=0),
        R(rs.Fourier(), 8, solver="sketched", random_state=0),
    ],
)
def test_every_route_leaves_plain_data(model):
    X, y = data()
    assert not list(walk(vars(model.fit(X, y)), "model", set()))


def test_the_walk_finds_what_is_not_plain():
    model = R(rs.Fourier(), 8).fit(*data())
    for wrong in (lambda: 0, object(), np.array([None])):
        object.__setattr__(model._model, "calibration", wrong)
        found = list(walk(vars(model), "model", set()))
        assert len(found) == (0 if callable(wrong) else 1)
