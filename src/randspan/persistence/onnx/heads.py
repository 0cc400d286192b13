"""What estimators make of scores: clipped numbers, labels, probabilities; and plain features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calibration import Calibration
from ...estimators import SpanClassifier, SpanRegressor, SpanTransformer
from ...losses import LARGEST_EXPONENT, Logistic, Softmax
from . import functions
from .graph import BOOL, FLOAT32, FLOAT64, INT64, Graph, NoExport, Tensor
from .rows import Inputs, Standardised

# Columns of scores.
ACROSS = np.array([1])


def regression(graph: Graph, model: SpanRegressor, inputs: Inputs, dtype: np.dtype) -> None:
    """``prediction``: that of f(x) within the limits of ``clip``, of the shape of `predict`."""
    scores = _scores(graph, model._solved, inputs, dtype)
    values = _clipped(graph, model, INVERSE_LINKS[model._model.task.loss.link](graph, scores))
    flat = model._flat
    if flat:
        values = graph("Squeeze", values, ACROSS)
    graph.output("prediction", graph.cast(values, dtype), None if flat else model._n_targets)


def classification(graph: Graph, model: SpanClassifier, inputs: Inputs, dtype: np.dtype) -> None:
    """``label``, ``probabilities`` and ``scores``, as `predict` and its like return them."""
    labels, solved = _labels(model.classes_), model._solved
    scores = _scores(graph, solved, inputs, dtype)
    binary = len(labels) == 2
    if binary:
        above = graph("Greater", graph("Squeeze", scores, ACROSS), 0.0, dtype=BOOL)
        number = graph.cast(above, INT64)
    else:
        number = graph("ArgMax", scores, axis=1, keepdims=0, dtype=INT64)
    graph.output("label", graph("Gather", graph.constant(labels), number, dtype=labels.dtype))
    chances = _probabilities(graph, scores, model)
    graph.output("probabilities", graph.cast(chances, dtype), len(labels))
    scores = _clipped(graph, model, scores)
    if binary:
        scores = graph("Squeeze", scores, ACROSS)
    graph.output("scores", graph.cast(scores, dtype), None if binary else len(labels))


def transformation(graph: Graph, model: SpanTransformer, inputs: Inputs, dtype: np.dtype) -> None:
    """``features``: φ(x)/√k, dense where the library has sparse ones too."""
    drawn = model.functions_
    rows = Standardised(inputs, model.frame_).rows(_narrower(dtype, model._dtype))
    values = graph.cast(functions.columns(rows, drawn), FLOAT64)
    values = inputs.marking(graph("Div", values, float(np.sqrt(drawn.n_components))))
    graph.output("features", graph.cast(values, dtype), drawn.n_columns)


def _exponential(graph: Graph, scores: Tensor) -> Tensor:
    return graph("Exp", graph("Clip", scores, -LARGEST_EXPONENT, LARGEST_EXPONENT))


#: `randspan.losses.base.INVERSE_LINKS` as nodes
INVERSE_LINKS: dict[str, Callable[[Graph, Tensor], Tensor]] = {
    "identity": lambda graph, scores: scores,
    "log": _exponential,
}

HEADS = {
    SpanRegressor: regression,
    SpanClassifier: classification,
    SpanTransformer: transformation,
}


def _narrower(wanted: np.dtype, known: np.dtype) -> np.dtype:
    """float32 where both are: functions are never less precise than the library has them."""
    return FLOAT32 if wanted == known == FLOAT32 else FLOAT64


def _scores(graph: Graph, solved: Any, inputs: Inputs, dtype: np.dtype) -> Tensor:
    """b + Σ_m v_m f_m(x) in float64: of one model, or of those of a portfolio."""
    found, offset = [], np.zeros(solved.extent.shape[1]) + solved.offset
    for weight, model in solved.parts:
        solution = model.found
        rows = Standardised(inputs, model.frame).rows(_narrower(dtype, model.plan.dtype))
        found.append(functions.scores(rows, model.functions, weight * solution.coef))
        offset = offset + weight * solution.intercept
    return inputs.marking(graph("Add", graph.total(found), offset))


def _clipped(graph: Graph, model: Any, scores: Tensor) -> Tensor:
    infinite = np.full((2, model._n_targets), np.inf) * [[-1.0], [1.0]]
    lower, upper = model._clipped(infinite)  # what becomes of ±∞
    if not np.isfinite(lower).any():
        return scores
    return graph("Min", graph("Max", scores, lower), upper)


def _labels(classes: NDArray) -> NDArray:
    """Class labels as ONNX has them: int64, bool, double or strings."""
    last = classes[-1]
    if classes.dtype.kind == "O" and len({type(label) for label in classes}) == 1:
        classes = np.array(classes.tolist())
    kind = classes.dtype.kind
    if kind == "b":
        return classes
    if kind == "f" and classes.dtype.itemsize <= 8:
        return classes.astype(np.float64)
    if kind in "iu" and classes.max() <= np.iinfo(np.int64).max:
        return classes.astype(np.int64)
    if kind in "UT":
        return classes.astype(object)
    raise NoExport(
        f"Class labels such as {last!r} have no type in ONNX, which has int64, double, bool and "
        "strings: fit with labels of one of these types."
    )


# -- probabilities ---------------------------------------------------------------------------------


def _probabilities(graph: Graph, scores: Tensor, model: SpanClassifier) -> Tensor:
    """P(class | x): of the loss itself, calibrated, or (1 + f_c)/2 (`predict_proba`)."""
    loss, calibration, one = model._model.task.loss, model._model.calibration, model._n_targets == 1
    if type(loss) is Softmax:
        return graph("Softmax", scores, axis=1)
    if type(loss) is Logistic:
        own = graph("Sigmoid", scores)
        return graph("Concat", graph("Sub", 1.0, own), own, axis=1) if one else own
    if loss.probabilities(np.zeros((1, 1))) is not None:
        raise NoExport(
            f"{loss!r} has probabilities of its own, which ONNX does not know: use loss='logistic'."
        )
    if calibration is None:
        return _by_squares(graph, scores, one)
    return _calibrated(graph, scores, one, calibration)


def _calibrated(graph: Graph, scores: Tensor, one: bool, calibration: Calibration) -> Tensor:
    """softmax(a·f + b·f³); two classes have one score, the first is judged by 0."""
    f = graph("Clip", scores, -1e6, 1e6)
    linear = graph("Mul", f, calibration.slope)
    cube = graph("Mul", graph("Mul", graph("Mul", f, f), f), calibration.cube)
    logits = graph("Add", linear, cube)
    if one:
        logits = graph("Concat", graph("Mul", logits, 0.0), logits, axis=1)
    return graph("Softmax", logits, axis=1)


def _by_squares(graph: Graph, scores: Tensor, one: bool) -> Tensor:
    """(1 + f_c)/2 within [0, 1] and a little of the softmax, divided by their sum."""
    if one:
        scores = graph("Concat", graph("Neg", scores), scores, axis=1)
    inside = graph("Clip", graph("Mul", graph("Add", scores, 1.0), 0.5), 0.0, 1.0)
    values = graph("Add", inside, graph("Mul", graph("Softmax", scores, axis=1), 1e-6))
    return graph("Div", values, graph("ReduceSum", values, ACROSS, keepdims=1))
