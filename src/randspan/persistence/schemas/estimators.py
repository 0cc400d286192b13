"""Estimators: parameters as they were given, and what a fit has left behind."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from scipy import sparse

from ... import losses
from ...estimators import SpanClassifier, SpanRegressor, SpanTransformer, started
from ...estimators.gathered import Gathered
from ...estimators.parameters import DEFAULTS, OfFamily
from ...families import NAMED
from ...planning import SOLVERS
from ...solvers.validation import KINDS as ALPHAS
from ...tables import KINDS
from ...tables.reading import CATEGORY, DATE, NOTHING, NUMBER, Column
from ...tuning.racing import EFFORTS
from ..arrays import NUMBERS, Array, Words
from ..compounds import Either, Listing, Mapping, One, Precision, Tuple, optional
from ..errors import ensure, ensure_different
from ..kinds import Choice, Flag, Kind, Null, Number, Text, Whole
from ..random_states import Generator
from ..refusals import refused
from ..registry import Entry, register
from .common import NAME, NUMBERS_GIVEN
from .families import FAMILIES
from .functions import FUNCTIONS
from .solvers import LOSS

_level = Either(Flag(), Whole(-(2**64), 2**64), Number(any=True), Text(100_000))
_label = Either(Flag(), Whole(-(2**63), 2**64), Number(any=True), Text(10_000))
_column = Either(NAME, Flag(), Whole(-(2**31), 2**31))
_dtype = Either(Choice("float32", "float64"), Precision())

_shared: dict[str, Kind] = {
    "family": Either(Choice("auto", *NAMED), One(*FAMILIES)),
    "standardize": Either(Flag(), Choice("robust")),
    "scales": Either(Null(), Choice("auto", "learn", "rotate"), NUMBERS_GIVEN),
    "categories": Either(
        Null(), _column, Listing(_column), Tuple(_column), Array(NUMBERS, (None,)), Words()
    ),
    "columns": optional(Mapping(Either(NAME, Whole(-(2**31), 2**31)), Choice(*KINDS))),
    "frame": optional(One("frame")),
    "dtype": _dtype,
    "random_state": Either(Null(), Whole(0, 2**64 - 1), Generator()),
    "n_jobs": optional(Whole(-(2**20), 2**20)),
}
_models: dict[str, Kind] = _shared | {
    "n_components": Either(Choice("auto"), Whole(1, 2**48), Number(inf, inf, any=True)),
    "loss": Either(Choice(*losses.NAMED), LOSS),
    "alpha": Either(Choice("auto", *ALPHAS), Number(0)),
    "bound": optional(Number(0)),
    "clip": Either(Null(), Choice("auto"), Number(0)),
    "fit_intercept": Flag(),
    "effort": Choice(*EFFORTS),
    "solver": Choice(*SOLVERS),
    "memory_limit": Either(Null(), Number(0), Text(100)),
    "verbose": Either(Flag(), Whole(-(2**20), 2**20)),
    "penalty": Choice("l2", "l1"),
}
_fitted: dict[str, Kind] = {
    "n_features_in_": optional(Whole(1, 2**31, symbol="width")),
    "feature_names_in_": optional(Words("width")),
}
_solved: dict[str, Kind] = _fitted | {
    "_n_targets": optional(Whole(1, 2**31)),
    "_model": optional(One("model", "portfolio")),
    "_gathered": optional(One("gathered")),
}


def _estimator(name: str, cls: type[OfFamily], parameters, fitted, check) -> Entry:
    """An estimator; what a fit leaves behind is None before it."""

    def take(estimator: Any) -> dict[str, Any]:
        own = vars(estimator)
        known = (*parameters, *fitted, "_started")
        strange = [key for key in own if key not in known]
        if strange:
            raise refused(own[strange[0]], f"{cls.__name__}.{strange[0]}", _WANTED)
        default = [key for key, value in DEFAULTS.items() if own.get(key) is value]
        found = {key: own.get(key) for key in (*parameters, *fitted)}
        return found | {"default": default, "changed": started.changed(estimator)}

    def build(values: dict[str, Any], of: Any) -> Any:
        own = {key: DEFAULTS[key] for key in values["default"]}
        estimator = cls(**{key: own.get(key, values[key]) for key in parameters})
        for key in fitted:
            if values[key] is not None:
                setattr(estimator, key, values[key])
        if values["n_features_in_"] is not None:
            began = started.parameters(estimator).items()
            estimator._started = {k: v for k, v in began if k not in values["changed"]}
        return estimator

    default = Listing(Choice(*(key for key in DEFAULTS if key in parameters)), list, 0, 2)
    changed = Listing(Choice(*cls._fixed), list, 0, len(cls._fixed))
    fields = parameters | fitted | {"default": default, "changed": changed}
    later = {key: value for key, value in _LATER.items() if key in fields}
    return Entry(name, cls, fields, check, take, build, later=later)


_LATER: dict[str, Any] = {
    "changed": [],
    "columns": None,
    "_gathered": None,
    "penalty": "l2",
}
_WANTED = "parameters and what a fit leaves behind; delete attributes of your own first"


def _default(values: dict[str, Any]) -> None:
    for key in values["default"]:
        ensure(values[key] == DEFAULTS[key], f"The default of {key} is {DEFAULTS[key]!r}.")


def _columns(frame: Any) -> int:
    """How many columns a table has that a frame is for."""
    return frame.n_features if frame.columns is None else len(frame.columns.encoders)


def _of_model(values: dict[str, Any], scope: dict[str, int], others: tuple[str, ...]) -> Any:
    """The model, which all that a fit leaves behind agrees with."""
    _default(values)
    model = values["_model"]
    known = [values[name] is not None for name in ("n_features_in_", "_n_targets", *others)]
    ensure(all(known) if model is not None else True, "A fitted estimator lacks an attribute.")
    if model is None:
        return None
    ensure(
        scope["width"] == _columns(model.frame), "The estimator and its model have other columns."
    )
    c = model.extent.shape[1]
    ensure(values["_n_targets"] == c, f"The estimator has other targets than its model ({c}).")
    gathered = values["_gathered"]
    if gathered is not None and len(gathered):
        arrays = gathered.kept.arrays
        shapes = arrays["inputs"].shape[1], arrays["targets"].shape[1]
        ensure(shapes == (scope["width"], c), "Rows of a stream have other columns or targets.")
    return model


def _regressor(values: dict[str, Any], scope: dict[str, int]) -> None:
    model = _of_model(values, scope, ("_flat",))
    if model is not None:
        ensure(not values["_flat"] or values["_n_targets"] == 1, "One target has one column.")
        ensure(model.task.loss.for_numbers, "A regressor has a loss for numbers.")


def _classifier(values: dict[str, Any], scope: dict[str, int]) -> None:
    model = _of_model(values, scope, ("classes_", "class_weight_"))
    if model is None:
        return
    classes, count = values["classes_"], scope["classes"]
    ensure(count >= 2, "A classifier has two classes at least.")
    ensure(
        values["_n_targets"] == (1 if count == 2 else count),
        f"{count} classes have a column of targets each, two have one.",
    )
    rising = all(a < b for a, b in zip(classes[:-1].tolist(), classes[1:].tolist(), strict=True))
    ensure(rising, "Classes must be sorted, and different.")
    ensure(model.task.loss.for_classes, "A classifier has a loss for classes.")
    ensure(not model.task.loss.joint or count > 2, "The softmax loss is for three classes or more.")


def _of_stream(values: dict[str, Any], scope: dict[str, int]) -> None:
    kept, columns = values["kept"].arrays, values["columns"]
    if not kept:
        return
    ensure({"inputs", "keys"} <= kept.keys(), "Rows of a stream have inputs and keys.")
    inputs = kept["inputs"]
    if columns is None:
        finite = sparse.issparse(inputs) or np.isfinite(inputs).all()
        ensure(finite, "Rows of a stream hold nan or infinity.")
        return
    known = not sparse.issparse(inputs) and inputs.shape[1] == len(columns)
    ensure(known, "Rows of a stream have other columns than their table.")
    for column, cells in zip(columns, inputs.T, strict=True):
        ensure(not len(column.values), "Columns of a stream stand without their values.")
        ensure(not np.isinf(cells).any(), "Rows of a stream hold infinity.")
        ensure_different(column.levels, "Levels must differ from each other.")
        if column.kind == CATEGORY:
            codes = cells[~np.isnan(cells)]
            there = (codes >= 0) & (codes < len(column.levels)) & (codes == np.floor(codes))
            ensure(there.all(), f"A row of {column.name!r} has a level that is not there.")


def _transformer(values: dict[str, Any], scope: dict[str, int]) -> None:
    _default(values)
    functions, frame = values["functions_"], values["frame_"]
    known = [values[name] is not None for name in ("n_features_in_", "frame_", "n_outside_")]
    if functions is None:
        return
    ensure(all(known), "A fitted transformer lacks an attribute.")
    ensure(scope["width"] == _columns(frame), "The transformer and its frame have other columns.")
    ensure(
        functions.n_features == frame.n_features and functions.frame is frame,
        "The functions of a transformer are those of its frame.",
    )


register(
    Entry(
        "gathered",
        Gathered,
        {
            "kept": One("kept"),
            "columns": optional(Listing(One("table_column"), tuple)),
            "framed": Whole(0, 2**48),
        },
        _of_stream,
    ),
    Entry(
        "table_column",
        Column,
        {
            "name": NAME,
            "kind": Choice(NUMBER, CATEGORY, DATE, NOTHING),
            "values": Array(("f8",), (None,)),
            "levels": Listing(_level, tuple, 0, 2**24),
            "guess": Null(),
            "text": Flag(),
            "wanted": Choice("", *KINDS),
            "form": optional(One("amounts", "flags", "dates")),
            "begins": Flag(),
        },
    ),
    _estimator(
        "regressor", SpanRegressor, _models, _solved | {"_flat": optional(Flag())}, _regressor
    ),
    _estimator(
        "classifier",
        SpanClassifier,
        _models
        | {"class_weight": Either(Null(), Choice("balanced"), Mapping(_label, Number(any=True)))},
        _solved
        | {
            "classes_": optional(
                Either(Array(NUMBERS, ("classes",), finite=False), Words("classes"))
            ),
            "class_weight_": optional(Array(("f8",), ("classes",), low=0)),
        },
        _classifier,
    ),
    _estimator(
        "transformer",
        SpanTransformer,
        _shared | {"n_components": Whole(1, 2**48)},
        _fitted
        | {
            "functions_": optional(One(*FUNCTIONS)),
            "frame_": optional(One("frame")),
            "n_outside_": optional(Whole(0, 2**48)),
            "_sklearn_output_config": optional(
                Mapping(Choice("transform"), Choice("default", "pandas", "polars"))
            ),
        },
        _transformer,
    ),
)
