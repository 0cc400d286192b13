"""The table that drives the test matrix: adding a family is adding a row."""

import numpy as np
from scipy import sparse, stats
from sklearn.tree import DecisionTreeRegressor

import randspan as rs
from randspan.losses import NAMED


def target(X):
    """Something to learn, for families that look at the target."""
    X = X.toarray() if sparse.issparse(X) else X
    return np.sin(X[:, 0]) + X[:, -1] ** 2


def suited(loss, y):
    """Targets that a loss is made for: positive ones where scores are logarithms."""
    loss = NAMED[loss] if isinstance(loss, str) else loss
    return np.exp(y) if loss.link == "log" else y


def plain(values):
    """Values of functions as a plain array, whatever the family."""
    return values.toarray() if sparse.issparse(values) else values


def cosines(X):
    """A basis for `rs.Dictionary`."""
    numbers = np.arange(1, 41)
    return np.concatenate([np.cos(column[:, None] * numbers) / numbers for column in X.T], axis=1)


FAMILIES = {
    "fourier": rs.Fourier(),
    "fourier-laplacian": rs.Fourier("laplacian"),
    "fourier-cauchy": rs.Fourier("cauchy"),
    "fourier-matern12": rs.Fourier("matern12"),
    "fourier-matern32": rs.Fourier("matern32", form="paired"),
    "fourier-matern52-qmc": rs.Fourier("matern52", sampling="qmc"),
    "fourier-stable": rs.Fourier("stable", p=1.5, q=1.2),
    "fourier-orthogonal": rs.Fourier(sampling="orthogonal"),
    "fourier-structured": rs.Fourier(sampling="structured"),
    "fourier-sampler": rs.Fourier(lambda d, rng: rng.standard_t(4, size=d)),
    "stumps": rs.Stumps(),
    "stumps-normal": rs.Stumps("normal"),
    "stumps-quantile": rs.Stumps("quantile"),
    "units": rs.Units(),
    "units-tanh-uniform": rs.Units("tanh", bias="uniform"),
    "units-relu": rs.Units("relu"),
    "units-sign": rs.Units("sign", bias=None),
    "units-direct": rs.Units("cos", direct=True),
    "bumps": rs.Bumps(),
    "bumps-normal": rs.Bumps(centers="normal"),
    "projections": rs.Projections(),
    "union": rs.Fourier() + rs.Stumps(),
    "bins": rs.Bins(),
    "bins-hat": rs.Bins(pitch=2.0),
    "bins-law": rs.Bins(pitch=stats.expon(0.5)),
    "hybrid": rs.Fourier() + rs.Bins(),
    "expansions": rs.KernelExpansions(),
    "expansions-nystrom": rs.KernelExpansions("laplacian", coefficients="nystrom"),
    "expansions-pivots": rs.KernelExpansions("poly", 0.1, anchors="rpcholesky"),
    "networks": rs.Networks(),
    "networks-deep": rs.Networks((8, 5), "tanh"),
    "trees": rs.Trees(),
    "leaves": rs.Trees(output="leaves", min_samples_leaf=3),
    # (Rows of next to no weight must not make leaves of their own: scikit-learn asks for that.)
    "hypotheses": rs.Hypotheses(DecisionTreeRegressor(max_depth=6, min_weight_fraction_leaf=0.01)),
    "hypotheses-random": rs.Hypotheses(DecisionTreeRegressor(max_depth=4), targets="random"),
    "union-of-grown": rs.Trees() + rs.Fourier(),
    "sheets": rs.BrownianSheets(grid="sparse"),
    "sheets-smooth": rs.BrownianSheets(1, grid="sparse"),
    "sheets-bare": rs.BrownianSheets(constant=False, depth=1),
    "wavelets": rs.ScrambledWavelets(),
    "wavelets-tensor": rs.ScrambledWavelets("sym4", 0.8, depth=1, grid="tensor"),
    "dictionary": rs.Dictionary(cosines),
    "mercer": rs.Dictionary(rs.Mercer("laplacian", anchors=150)),
    "union-of-sheets": rs.BrownianSheets(grid="sparse") + rs.Fourier(),
    "union-of-three": rs.Units(direct=True) + rs.Bumps() + rs.Fourier("matern52"),
}

#: Families that compute in float64 whatever is asked for: models of both precisions are the same,
#: bit for bit (`test_determinism`), so that a test of one of them is a test of both.
FLOAT64 = {
    *("bins", "bins-hat", "bins-law", "trees", "leaves", "hypotheses"),
    *("sheets", "sheets-smooth", "sheets-bare", "wavelets", "wavelets-tensor"),
    *("dictionary", "mercer"),
}

#: Every family in each precision that makes a difference to it.
PRECISIONS = [
    (name, dtype)
    for dtype in ("float32", "float64")
    for name in FAMILIES
    if dtype == "float32" or name not in FLOAT64
]

#: Families with a parameter that has no name of its own: it would name tests by its address.
NAMELESS = {"fourier-sampler", "bins-law", "dictionary"}

#: Families of which every function changes with the number of functions: they have an anchor each.
ANCHORED = {"expansions-nystrom", "expansions-pivots"}
