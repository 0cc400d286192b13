"""Fitted estimators as ONNX graphs: predictions where there is no Python.

A graph computes what `predict` computes, from rows to labels: standardisation (`rows`), functions
(`dense`, `kernels`, `cells`; `functions` knows which is whose) and what an estimator makes of
scores (`heads`). `graph` writes nodes, `export` puts all together.
"""

from .export import to_onnx
from .graph import NoExport

__all__ = ["NoExport", "to_onnx"]
