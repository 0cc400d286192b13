"""Models and portfolios: functions, statistics and weights that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...families.shared.kernel_columns import KernelColumns
from ...model import Model
from ...portfolio import Candidate, Candidates, LeftOut, Portfolio, Spread
from ...solvers import LeastSquares
from ...solvers.kernel import KernelPosterior
from ...statistics import Cells, Factor, KernelRows, Moments, OutOfBagMoments
from ..arrays import Array
from ..compounds import Listing, One, optional
from ..errors import ensure
from ..kinds import Flag, Number, Text, Whole
from ..registry import Entry, register
from .common import ANY, NAME, REASON
from .functions import FUNCTIONS

SOLUTIONS = ("solution", "least_squares", "out_of_bag_solution")
STATISTICS = ("moments", "factor", "out_of_bag_moments", "cells", "kernel_rows")
MOST_MODELS = 1_000

_c = Array(("f8",), ("c",))


def _model(values: dict[str, Any], scope: dict[str, int]) -> None:
    frame, functions, c = values["frame"], values["functions"], scope["c"]
    solution, statistics, solved = values["solution"], values["statistics"], values["solved"]
    ensure(functions.n_features == frame.n_features, "Functions and frame differ in columns.")
    exact = isinstance(functions, KernelColumns)
    ensure(
        exact == (frame.n_components == np.inf)
        and (exact or functions.n_components == frame.n_components),
        "Functions and frame differ in number.",
    )
    lower, upper = values["extent"]
    nothing = (lower == np.inf) & (upper == -np.inf)  # the extent of no targets
    ensure(
        (nothing | (np.isfinite(upper - lower) & (lower <= upper))).all(),
        "The extent of targets must be a range, or that of no targets.",
    )
    ensure(solution is not None or statistics is not None, "A model has weights, or statistics.")
    ensure(not (values["lean"] and statistics is not None), "A lean model has no statistics.")
    if solution is not None:
        shape = (functions.n_columns, c)
        ensure(
            solution.coef.shape == shape,
            f"Weights have shape {solution.coef.shape}, and functions and targets {shape}.",
        )
    if statistics is not None:
        _check_statistics(statistics, functions, c)
    ensure(not (values["lean"] and values["sample"] is not None), "A lean model has no sample.")
    _check_sample(values["sample"], frame.n_features)
    recent = values["recent"]
    if recent is not None and recent.arrays:
        arrays = recent.arrays
        ensure("inputs" in arrays, "Rows that are left out to judge alpha have inputs.")
        _check_rows(arrays, functions.n_features, c)
    if solved is not None:
        ensure(
            solved.solution is not None
            and "_solved" not in vars(solved)
            and solution is None
            and solved.extent.shape[1] == c
            and solved.frame is frame,
            "A model that waits to be solved for remembers another model.",
        )


def _check_rows(arrays: dict[str, Any], d: int, c: int) -> None:
    ensure(arrays["targets"].shape[1] == c, "Rows that are kept have other targets.")
    inputs = arrays.get("inputs")
    ensure(inputs is None or inputs.shape[1] == d, "Rows that are kept have other columns.")
    if isinstance(inputs, np.ndarray):
        ensure(np.isfinite(inputs).all(), "Rows that are kept hold nan or infinity.")


def _check_statistics(held: Any, functions: Any, c: int) -> None:
    k, d = functions.n_columns, functions.n_features
    if isinstance(held, Moments):
        found = held.cross.shape == (k, c)
    elif isinstance(held, Factor):
        found = (held.n_targets, held.root.shape[1]) == (c, 1 + k + c)
    elif isinstance(held, OutOfBagMoments):
        found = held.sums.shape[1:3] == (c, functions.n_components + 2)
        found = found and functions.out_of_bag is not None and len(functions.origin) == c
    elif isinstance(held, Cells):
        own = functions.cell_parts
        found = len(own) == len(held.parts) and all(
            a is b for a, b in zip(own, held.parts, strict=True)
        )
        if held.kept.arrays:
            _check_rows(held.kept.arrays, d, c)
            dense, keyed = functions.dense_part is not None, functions.out_of_bag is not None
            ensure(
                ("inputs" in held.kept.arrays) >= dense and ("keys" in held.kept.arrays) >= keyed,
                "Rows of cells lack inputs or keys.",
            )
    else:
        found = isinstance(held, KernelRows) and isinstance(functions, KernelColumns)
        found = found and functions.n_components == held.rows
        if found and held.kept.arrays:
            _check_rows(held.kept.arrays, d, c)
    ensure(found, f"The statistics ({held.name}) are those of other functions or targets.")


def _take(model: Model) -> dict[str, Any]:
    own = {name: getattr(model, name) for name in _FIELDS if name != "solved"}
    return own | {"solved": vars(model).get("_solved")}


def _build(values: dict[str, Any], of: Any) -> Model:
    model = Model(**{name: value for name, value in values.items() if name != "solved"})
    solution = model.solution
    if isinstance(solution, LeastSquares) and isinstance(solution.posterior, KernelPosterior):
        held: Any = model.statistics
        ensure(
            isinstance(held, (KernelRows, Cells)) and held.rows,
            "A posterior of training rows needs these rows.",
        )
        heldout, c = solution.heldout, model.extent.shape[1]
        ensure(
            heldout is None or ((heldout.rows < held.rows).all() and heldout.scores.shape[1] == c),
            "Rows that were held out are not among those that are kept.",
        )
        arrays, functions = held.kept.arrays, model.functions
        columns = 0 if isinstance(held, KernelRows) else functions.layout.n_stored
        inputs = 0 if "inputs" not in arrays else arrays["inputs"].shape[1]
        of.budget.take(32 * held.rows * (columns + inputs + 8), "Inner products of training rows")
        of.later.append((model, solution.posterior))
    if values["solved"] is not None:
        object.__setattr__(model, "_solved", values["solved"])
    return model


def with_products(model: Model, posterior: KernelPosterior) -> None:
    """Put inner products of the rows that a model keeps into its posterior."""
    assert model.statistics is not None
    given = model.statistics.products(model.frame, model.functions)
    object.__setattr__(posterior, "given", given)


def _check_sample(sample: Any, d: int) -> None:
    ensure(
        sample is None or sample.inputs.shape[1] == d,
        "The sample of a model has other columns than its frame.",
    )


def _portfolio(values: dict[str, Any], scope: dict[str, int]) -> None:
    models, c = values["models"], scope["c"]
    ensure(len(values["weights"]) == len(models), "A portfolio has a weight for every model.")
    for one in models:
        ensure(
            one.extent.shape[1] == c and one.frame.n_features == scope["d"],
            "Models of a portfolio have other targets or columns.",
        )
    _check_sample(values["sample"], scope["d"])
    spread = values["spread"]
    if spread is not None:
        ensure(spread.errors.shape[1] == c, "The spread of a portfolio is of other targets.")
        ensure(
            spread.signals is None or len(spread.signals) == len(models),
            "A portfolio has a signal for every model.",
        )
        local = spread.local
        ensure(
            local is None or (local.extent.shape[1] == c and local.frame.n_features == scope["d"]),
            "The local spread of a portfolio is of other targets or columns.",
        )
    left_out = values["left_out"]
    ensure(
        left_out is None or left_out.scores.shape[1] == c,
        "Scores without a row are of other targets.",
    )


def _left_out(values: dict[str, Any], scope: dict[str, int]) -> None:
    keys = values["keys"]
    ensure(len(keys), "There are no scores without a row.")
    ensure((keys[1:] >= keys[:-1]).all(), "Keys of rows must be sorted.")


def _spread(values: dict[str, Any], scope: dict[str, int]) -> None:
    ensure(scope["n"] and values["weights"].sum() > 0, "A spread is that of some rows.")
    scales = values["scales"]
    ensure(scales is None or (scales > 0).all(), "Scales of errors must be positive.")
    ensure((scales is None) == (values["local"] is None), "Scales of errors come from a model.")
    both = (values["ahead"] is None) == (values["signals"] is None)
    ensure(both, "What posteriors expect of rows comes from signals.")


_FIELDS = {
    "frame": One("frame"),
    "functions": One(*FUNCTIONS),
    "statistics": optional(One(*STATISTICS)),
    "solution": optional(One(*SOLUTIONS)),
    "plan": One("plan"),
    "task": One("task"),
    "extent": Array(("f8",), (2, "c"), finite=False),
    "n_outside": Whole(0, 2**48),
    "all_known": Flag(),
    "calibration": optional(One("calibration")),
    "recent": optional(One("kept")),
    "remark": REASON,
    "lean": Flag(),
    "solved": optional(One("model")),
    "sample": optional(One("key_sample")),
}

register(
    Entry("model", Model, _FIELDS, _model, _take, _build, later={"sample": None}),
    Entry(
        "portfolio",
        Portfolio,
        {
            "models": Listing(One("model"), tuple, 1, MOST_MODELS),
            "weights": Array(("f8",), (None,)),
            "offset": _c,
            "candidates": One("candidates"),
            "validation": One("validation"),
            "importances": Array(("f8",), ("d",)),
            "staged": NAME,
            "left_out": optional(One("left_out")),
            "spread": optional(One("spread")),
            "calibration": optional(One("calibration")),
            "sample": optional(One("key_sample")),
        },
        _portfolio,
        later={"sample": None},
    ),
    Entry(
        "candidate",
        Candidate,
        {
            "name": NAME,
            "error": ANY,
            "standard_error": ANY,
            "rows": Whole(0, 2**48),
            "weight": Number(),
            "seconds": ANY,
            "dropped": Text(1_000),
        },
    ),
    Entry("candidates", Candidates, {"entries": Listing(One("candidate"), tuple)}),
    Entry(
        "left_out",
        LeftOut,
        {"keys": Array(("u8",), ("n",)), "scores": Array(("f8",), ("n", "c"), finite=False)},
        _left_out,
    ),
    Entry(
        "spread",
        Spread,
        {
            "errors": Array(("f8",), ("n", "c")),
            "weights": Array(("f8",), ("n",), low=0),
            "local": optional(One("model")),
            "scales": optional(Array(("f8",), ("n", "c"))),
            "ahead": optional(Array(("f8",), ("n", "c"), low=1)),
            "signals": optional(Array(("f8",), (None, "c"), low=0)),
        },
        _spread,
        later={"ahead": None, "signals": None},
    ),
)
