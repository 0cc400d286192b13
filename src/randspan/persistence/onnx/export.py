"""`to_onnx`: a fitted estimator as an ONNX model."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ...checks import check_dtype
from ...frame import Frame
from ...tables.encoders import Number
from ...version import __version__
from .. import atomic
from .graph import Graph, NoExport


def to_onnx(model, path: str | bytes | PathLike | None = None, *, dtype="float32") -> Any:
    """A fitted estimator as an ONNX graph, which runs without Python.

    Everything between rows and predictions is inside: standardisation and scales, functions and
    weights, clipping, class labels, the calibration of probabilities.

    Parameters
    ----------
    model : SpanRegressor, SpanClassifier or SpanTransformer
        Fitted on numbers; with functions of `Fourier`, `Stumps`, `Units`, `Bumps`, `Projections`,
        `Networks`, `KernelExpansions`, `Trees`, `Bins`, unions of these, their exact kernel
        machines (``n_components=np.inf``), or a portfolio (``family="auto"``) of these. Other
        families, and functions of your own, are refused by name.
    path : str or path, optional
        Where to write the model; usually ends in ``.onnx``.
    dtype : {"float32", "float64"}, default="float32"
        Of the numbers that go in and come out. With "float64" predictions are those of the model to
        rounding. With "float32" functions are computed in float32 where the model computes them so,
        and summed up in float64; thresholds, trees and cells decide as the model decides on the
        same float32 rows.

    Returns
    -------
    onnx.ModelProto
        The input is ``X`` of shape (N, n_features), N any number of rows. A missing value (NaN) is
        taken for the mean of its column, as `predict` does; a row with an infinite one, which
        `predict` refuses, has NaN for an answer. Outputs are ``prediction`` of a
        regressor; ``label``, ``probabilities`` and ``scores`` (`decision_function`) of a
        classifier; ``features`` of a transformer.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = rs.SpanRegressor(rs.Fourier(), 50, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> graph = rs.to_onnx(model, dtype="float64")
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(graph.SerializeToString())
    >>> (found,) = session.run(["prediction"], {"X": X})
    >>> bool(np.allclose(found, model.predict(X), rtol=1e-9, atol=1e-9))
    True
    """
    # Here, because few sessions export. (The first three register what they export.)
    from . import cells, dense, kernels  # noqa: F401
    from .heads import HEADS
    from .rows import Inputs

    head = HEADS.get(type(model))
    if head is None:
        kinds = ", ".join(kind.__name__ for kind in HEADS)
        raise TypeError(
            f"to_onnx takes a fitted {kinds}, got {type(model).__name__}. Of a pipeline export the "
            "estimator at its end, and convert the steps before it with skl2onnx."
        )
    check_is_fitted(model)
    number = check_dtype(dtype)
    _require_onnx()
    frame = model.frame_
    _refuse_tables(frame)
    graph = Graph()
    inputs = Inputs(graph, graph.input("X", number, frame.n_features), frame.means)
    head(graph, model, inputs, number)
    made = graph.model(type(model).__name__, __version__, repr(frame.family))
    if path is not None:
        atomic.write(path, lambda file: file.write(made.SerializeToString()))
    return made


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx: pip install 'randspan[onnx]'") from error


def _refuse_tables(frame: Frame) -> None:
    """Say that a graph takes numbers, where the model takes a table."""
    if frame.columns is None:
        return
    others = [
        one
        for one in frame.columns.encoders
        if not isinstance(one, Number) or one.holes > 0 or one.form is not None
    ]
    if others:
        first = others[0]
        kind = f"a {first.kind}"
        if isinstance(first, Number):
            kind = "a number with missing values" if first.form is None else "text of numbers"
        raise NoExport(
            f"Column {first.name!r} is {kind}, and an ONNX graph of randspan takes numbers that "
            "are known: encode categories and dates, and fill what is missing, before the fit "
            "(with scikit-learn's ColumnTransformer, say, which skl2onnx converts)."
        )
