"""scikit-learn's contract, and the one place that wires the rest together."""

from .classifier import SpanClassifier
from .regressor import SpanRegressor
from .transformer import SpanTransformer

__all__ = ["SpanClassifier", "SpanRegressor", "SpanTransformer"]
