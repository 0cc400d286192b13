"""Rows, and models through files: what the tests of files share."""

import numpy as np
from benchmarks import roundtrip

import randspan as rs


def data(n=80, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


X, y = data()
NEW = data(20, seed=1)[0]


def through(model, path, given=None, **options):
    """What comes back from a file."""
    rs.save(model, path / "model.rsp", **options)
    return rs.load(path / "model.rsp", functions=given)


def same_answers(a, b, rows=NEW):
    found = roundtrip.answers(a, rows)
    assert found
    return roundtrip.same(found, roundtrip.answers(b, rows))
