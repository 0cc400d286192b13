"""Files as they should be: one small model of every kind, with and without statistics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import randspan as rs
from randspan.persistence import container
from randspan.persistence.budget import Budget


def cosines(X):
    """A basis of the user's own."""
    return np.cos(X[:, :1] * np.arange(1, 9))


def table(X):
    """Rows as a data frame: categories of few and of many levels, holes, dates."""
    import pandas as pd

    days = pd.Timestamp("2020-02-29") + pd.to_timedelta(np.round(100 * X[:, 1]), "D")
    frame = pd.DataFrame({"number": X[:, 0], "other": X[:, 2], "day": days})
    frame["few"] = ["abc"[int(10 * abs(value)) % 3] for value in X[:, 2]]
    frame["many"] = [f"level {int(20 * value)}" for value in X[:, 1]]
    frame.loc[:2, "number"] = np.nan
    return frame


def _models() -> dict[str, Callable[[], Any]]:
    """One model of every kind, as small as they come."""
    R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
    Y = np.column_stack([y, -y, X[:, 1]])
    words = np.array(["no", "yes"])[(y > 0).astype(int)]
    three = np.digitize(y, [-0.5, 0.5])
    thin = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    mixed = table(X)
    fixed: dict[str, Any] = {"random_state": 0, "alpha": 0.1, "scales": None}

    def fit(kind, family, target=y, rows=X, k=4, **more):
        return lambda: kind(family, k, **(fixed | more)).fit(rows, target)

    def transform(family, rows=X, **more):
        return lambda: T(family, 4, random_state=0, **more).fit(rows, y)

    def stream():
        model = R(rs.Fourier(), 4, **fixed).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
        model.predict(X[:2])
        return model

    return {
        "fourier": fit(R, rs.Fourier()),
        "structured": fit(R, rs.Fourier(sampling="structured"), Y),
        "paired": fit(C, rs.Fourier("matern32", sampling="orthogonal", form="paired"), words, k=5),
        "stream": stream,
        "exact": fit(R, rs.Fourier("laplacian"), k=np.inf, alpha="auto"),
        "sparse": fit(R, rs.Fourier(), rows=thin, k=np.inf),
        "stumps": fit(C, rs.Stumps("quantile"), three, random_state=np.random.default_rng(5)),
        "uniform": fit(R, rs.Stumps(), loss="huber", solver="newton"),
        "units": fit(R, rs.Units(np.tanh, direct=True), Y),
        "bumps": fit(R, rs.Bumps(), standardize="robust"),
        "projections": fit(C, rs.Projections(), three, loss="logistic"),
        "expansions": fit(R, rs.KernelExpansions(anchors=6)),
        "cholesky": fit(R, rs.KernelExpansions(coefficients="cholesky")),
        "networks": fit(R, rs.Networks((3, 2))),
        "trees": fit(R, rs.Trees(max_features=2), Y, alpha="auto"),
        "leaves": fit(C, rs.Trees(output="leaves", max_features=2), words),
        "bins": fit(R, rs.Bins(), Y),
        "cells": fit(C, rs.Bins() + rs.Units(), words, solver="dual"),
        "sheets": fit(R, rs.BrownianSheets(grid="sparse", depth=3)),
        "wavelets": fit(R, rs.ScrambledWavelets(depth=2, grid="sparse")),
        "dictionary": fit(R, rs.Dictionary(cosines)),
        "mercer": fit(R, rs.Dictionary(rs.Mercer(anchors=9))),
        "union": fit(R, rs.Fourier() + rs.Trees(max_features=2), alpha="auto", k=6),
        "table": fit(R, rs.Fourier(), rows=mixed, random_state=np.random.RandomState(3)),
        "auto": lambda: R("auto", effort="fast", random_state=0).fit(X, y),
        "transformer": transform(rs.Bins()),
        "leaf transformer": transform(rs.Trees(output="leaves")),
        "frame": lambda: rs.Frame.read(X, rs.Bumps(), 4, random_state=0),
        "family": lambda: rs.Fourier(gamma=[1.0, 2.0, 3.0]) + rs.Stumps(),
        "drawn": lambda: rs.Networks().draw(X, 3, random_state=0),
    }


@dataclass(frozen=True)
class Seed:
    """A file as it should be: its bytes, metadata and tensors."""

    name: str
    raw: bytes
    metadata: dict[str, str]
    tensors: dict[str, np.ndarray]


def seeds(folder: Path) -> list[Seed]:
    """All models in files, with and without statistics and functions."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (name, made) in enumerate(_models().items()):
            model = made()
            for lean in (False, True):
                path = folder / "seed.rsp"
                rs.save(model, path, statistics=not lean, functions=not (lean or number % 3 == 2))
                raw = path.read_bytes()
                with path.open("rb") as file:
                    inside = container.read(file, len(raw), Budget(2**30))
                label = f"{name}{', lean' if lean else ''}"
                found.append(Seed(label, raw, inside.metadata, inside.tensors))
    return found
