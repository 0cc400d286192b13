"""The table that drives the test matrix: adding a family is adding a row."""

from scipy import sparse, stats

import randspan as rs


def plain(values):
    """Values of functions as a plain array, whatever the family."""
    return values.toarray() if sparse.issparse(values) else values


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
    "bins": rs.Bins(),
    "bins-hat": rs.Bins(pitch=2.0),
    "bins-law": rs.Bins(pitch=stats.expon(0.5)),
    "hybrid": rs.Fourier() + rs.Bins(),
    "union-of-three": rs.Units(direct=True) + rs.Bumps() + rs.Fourier("matern52"),
}

#: Families whose draw takes rows of the training data: a weight of two is not a row that stands
#: twice for them, as for scikit-learn's Nystroem.
SAMPLES_ROWS = {"bumps", "union-of-three"}

#: Families with a parameter that has no name of its own: it would name tests by its address.
NAMELESS = {"fourier-sampler", "bins-law"}
