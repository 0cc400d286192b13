"""Golden files: one of every kind, as small as they come, with what they predicted when written.

``python tests/golden/make.py`` writes those of the format's present version that are missing, and
never touches one that is there: a file of an old version is kept as it was.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import randspan as rs
from randspan.persistence.saving import VERSION

FOLDER = Path(__file__).parent
R, C, T = rs.SpanRegressor, rs.SpanClassifier, rs.SpanTransformer


def rows(n, seed):
    return np.round(np.random.default_rng(seed).normal(size=(n, 2)), 3)


X, NEW = rows(24, 0), rows(4, 1)
y = np.sin(X[:, 0]) + X[:, 1]
LABELS = np.array(["no", "yes"])[(y > 0).astype(int)]
FIXED = {"alpha": 0.1, "scales": None, "random_state": 0}


def models():
    """Unfitted models by the names of their files, and their targets."""
    families = {
        "fourier": rs.Fourier(),
        "fourier-orthogonal": rs.Fourier("matern52", sampling="orthogonal", form="paired"),
        "fourier-structured": rs.Fourier(sampling="structured"),
        "stumps": rs.Stumps("quantile"),
        "units": rs.Units("tanh", direct=True),
        "bumps": rs.Bumps(),
        "projections": rs.Projections(),
        "bins": rs.Bins(),
        "expansions": rs.KernelExpansions(anchors=4),
        "nystrom": rs.KernelExpansions(coefficients="nystrom"),
        "networks": rs.Networks((3, 2)),
        "trees": rs.Trees(max_features=1),
        "leaves": rs.Trees(output="leaves", max_features=1, min_samples_leaf=4),
        "sheets": rs.BrownianSheets(depth=2),
        "wavelets": rs.ScrambledWavelets("db3", 0.9, depth=2, grid="tensor"),
        "mercer": rs.Dictionary(rs.Mercer(anchors=5)),
        "union": rs.Fourier() + rs.Stumps(),
    }
    for name, family in families.items():
        yield name, R(family, 4, **FIXED), y
    yield "exact", R(rs.Fourier("laplacian"), np.inf, **FIXED), y
    yield "classifier", C(rs.Fourier(), 4, **FIXED), LABELS
    yield "logistic", C(rs.Fourier(), 4, loss="logistic", **FIXED), LABELS
    yield "generator", R(rs.Stumps(), 4, **FIXED | {"random_state": np.random.default_rng(1)}), y
    yield "transformer", T(rs.Bins(), 4, random_state=0), y


def answer(model):
    """What a model says of a few rows, as plain lists."""
    if hasattr(model, "transform"):
        return model.transform(NEW).toarray().tolist()
    if hasattr(model, "predict_proba"):
        return model.predict_proba(NEW).tolist()
    return model.predict(NEW).tolist()


def main():
    for name, model, targets in models():
        for options in ({}, {"statistics": False, "functions": False}):
            if options and name not in ("fourier", "bins", "exact", "trees"):
                continue
            path = FOLDER / f"v{VERSION}-{name}{'-lean' if options else ''}.rsp"
            if path.exists():
                continue
            rs.save(model.fit(X, targets), path, **options)
            path.with_suffix(".json").write_text(json.dumps(answer(model)) + "\n")
            print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
