"""The table that drives the test matrix: adding a family is adding a row."""

import randspan as rs

FAMILIES = {
    "fourier": rs.Fourier(),
    "fourier-laplacian": rs.Fourier("laplacian"),
    "fourier-cauchy": rs.Fourier("cauchy"),
    "fourier-matern12": rs.Fourier("matern12"),
    "fourier-matern32": rs.Fourier("matern32", form="paired"),
    "fourier-matern52-qmc": rs.Fourier("matern52", sampling="qmc"),
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
    "union-of-three": rs.Units(direct=True) + rs.Bumps() + rs.Fourier("matern52"),
}

#: Families whose draw takes rows of the training data: a weight of two is not a row that stands
#: twice for them, as for scikit-learn's Nystroem.
SAMPLES_ROWS = {"bumps", "union-of-three"}
