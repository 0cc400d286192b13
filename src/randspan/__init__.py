"""randspan: draw functions at random, fit only the weights in their span.

>>> import randspan as rs
>>> model = rs.SpanRegressor(rs.Fourier(), n_components=2000)

Families of functions (`randspan.families`) are drawn by estimators (`SpanRegressor`,
`SpanClassifier`, `SpanTransformer`), which follow scikit-learn's conventions. A `Frame` is what an
estimator reads from data before it draws. `blocks` are rows that are read block by block, in place
of X. `randspan.theory` has the bounds: how many functions are enough, and what is guaranteed of a
fit. `save` and `load` keep models in files, without pickle. `randspan.baselines` are the methods
that the documents compare random functions with.
"""

from . import baselines, datasets, losses, sources, theory
from .estimators import SpanClassifier, SpanRegressor, SpanTransformer
from .families import (
    Bins,
    BrownianSheets,
    Bumps,
    Dictionary,
    Fourier,
    Hypotheses,
    Images,
    KernelExpansions,
    Mercer,
    Networks,
    Projections,
    ScrambledWavelets,
    Stumps,
    Trees,
    Union,
    Units,
    estimate_kernel,
)
from .frame import Frame
from .persistence import ModelFileError, load, save, to_onnx
from .sources import blocks
from .version import __version__

__all__ = [
    "Bins",
    "BrownianSheets",
    "Bumps",
    "Dictionary",
    "Fourier",
    "Frame",
    "Hypotheses",
    "Images",
    "KernelExpansions",
    "Mercer",
    "ModelFileError",
    "Networks",
    "Projections",
    "ScrambledWavelets",
    "SpanClassifier",
    "SpanRegressor",
    "SpanTransformer",
    "Stumps",
    "Trees",
    "Union",
    "Units",
    "__version__",
    "baselines",
    "blocks",
    "datasets",
    "estimate_kernel",
    "load",
    "losses",
    "save",
    "sources",
    "theory",
    "to_onnx",
]
