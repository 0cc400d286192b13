"""What was asked for, what was planned, and what was found: losses, tasks, plans, solutions."""

from __future__ import annotations

from typing import Any

from ... import losses
from ...calibration import Calibration
from ...planning import SOLVERS
from ...solvers import METHODS, LeastSquares, Plan, Solution, Task
from ...solvers.cholesky import CholeskyPosterior
from ...solvers.dual import DualPosterior
from ...solvers.kernel import KernelPosterior
from ...solvers.out_of_bag import OutOfBagSolution
from ...solvers.solution import HeldOut, NoPosterior
from ...solvers.spectrum import SpectralPosterior
from ...solvers.validation import KINDS, Validation
from ...statistics import KINDS as STATISTICS
from ..arrays import Array
from ..compounds import Either, One, Precision, optional
from ..errors import ensure
from ..kinds import Choice, Flag, Kind, Null, Number, Text, Whole
from ..registry import Entry, register
from .common import ANY, POSITIVE, REASON

METHOD_NAMES = tuple(sorted({method for method, _ in METHODS}))
# A plan has a fallback, which may have one.
MOST_FALLBACKS = 8

#: losses by their names in files, and the numbers that they have
LOSSES: dict[str, tuple[type, dict[str, Kind]]] = {
    "squared": (losses.Squared, {}),
    "hinge": (losses.Hinge, {}),
    "squared_hinge": (losses.SquaredHinge, {}),
    "logistic": (losses.Logistic, {}),
    "softmax": (losses.Softmax, {}),
    "exponential": (losses.Exponential, {}),
    "absolute": (losses.Absolute, {}),
    "pinball": (losses.Pinball, {"quantile": Number(1e-12, 1 - 1e-12)}),
    "huber": (losses.Huber, {"delta": optional(Number(1e-300))}),
    "epsilon_insensitive": (losses.EpsilonInsensitive, {"epsilon": Number(0)}),
    "poisson": (losses.Poisson, {}),
    "gamma": (losses.Gamma, {}),
}
LOSS = One(*(f"{name}_loss" for name in LOSSES))

_c = Array(("f8",), ("c",))
_solution: dict[str, Kind] = {
    "coef": Array(("f8",), ("m", "c")),
    "intercept": _c,
    "alpha": ANY,
    "objective": ANY,
    "solver": Choice(*METHOD_NAMES),
    "reason": REASON,
    "residual": ANY,
    "converged": Flag(),
    "stopped": REASON,
    "iterations": Whole(0, 2**48),
    "seconds": ANY,
    "plan": optional(One("plan")),
    "heldout": optional(One("heldout")),
    "estimate": optional(One("validation")),
}


def _plan(values: dict[str, Any], scope: dict[str, int]) -> None:
    pair = values["method"], values["statistics"]
    ensure(pair in METHODS, f"No solver {pair[0]!r} takes {pair[1]!r}.")
    count, plan = 1, values["fallback"]
    while plan is not None:
        count, plan = count + 1, plan.fallback
        ensure(count <= MOST_FALLBACKS, "A plan has too many fallbacks.")


def _least_squares(values: dict[str, Any], scope: dict[str, int]) -> None:
    posterior, m = values["posterior"], scope["m"]
    late = isinstance(posterior, (KernelPosterior, NoPosterior))
    ensure(late or values["freedoms"] is not None, "Degrees of freedom are missing.")
    named = (
        (CholeskyPosterior, "inverse"),
        (SpectralPosterior, "vectors"),
        (DualPosterior, "rows"),
    )
    for cls, name in named:
        if isinstance(posterior, cls):
            ensure(len(getattr(posterior, name)) == m, "A posterior is of other functions.")
            ensure(values["mean"] is not None, "Features of a posterior have a mean.")


def _heldout(values: dict[str, Any], scope: dict[str, int]) -> None:
    ensure((values["rows"] >= 0).all(), "Rows that were held out have indices from 0.")


def _kernel_posterior(values: dict[str, Any], of: Any) -> KernelPosterior:
    # Inner products follow from the rows that the model keeps: `models` puts them in.
    return KernelPosterior(None, **values)  # type: ignore[arg-type]


def _taken_apart(posterior: KernelPosterior) -> dict[str, Any]:
    return {"mu": posterior.mu, "intercept": posterior.intercept}


register(
    *(Entry(f"{name}_loss", cls, fields) for name, (cls, fields) in LOSSES.items()),
    Entry("calibration", Calibration, {"slope": Number(0), "cube": Number(0)}),
    Entry(
        "validation",
        Validation,
        {
            "kind": optional(Choice(*KINDS, "combined")),
            "error": optional(ANY),
            "standard_error": optional(ANY),
            "reason": REASON,
            "variance": optional(Number(0, any=True)),
        },
        later={"variance": None},
    ),
    Entry(
        "plan",
        Plan,
        {
            "statistics": Choice("", *STATISTICS),
            "method": Choice(*METHOD_NAMES),
            "dtype": Precision(),
            "reason": REASON,
            "block": Whole(0, 2**31),
            "out_of_bag": Flag(),
            "cached": Flag(),
            "sketch_rows": Whole(0, 2**48),
            "smallest_ridge": Flag(),
            "nbytes": Whole(0, 2**62),
            "fallback": optional(One("plan")),
        },
        _plan,
    ),
    Entry(
        "task",
        Task,
        {
            "loss": LOSS,
            "alpha": Either(Choice("auto", *KINDS), Number(0)),
            "bound": optional(Number(0)),
            "intercept": Flag(),
            "solver": Choice(*SOLVERS),
            "dtype": Precision(),
            "memory_limit": Either(Null(), Number(0), Text(100)),
            "heldout": Flag(),
            "lenient": Flag(),
            "clip": Either(Choice("auto"), Either(Null(), Number(0))),
            "margin": Number(0),
            "penalty": Choice("l2", "l1"),
        },
        later={"clip": None, "margin": 0.0, "penalty": "l2"},
    ),
    Entry(
        "heldout",
        HeldOut,
        {
            "rows": Array(("i8",), ("n",)),
            "scores": Array(("f8",), ("n", "c"), finite=False),
            "leverages": optional(Array(("f8",), ("n",), finite=False)),
        },
        _heldout,
        later={"leverages": None},
    ),
    Entry("solution", Solution, _solution),
    Entry(
        "least_squares",
        LeastSquares,
        _solution
        | {
            "mean": optional(Array(("f8",), ("m",))),
            "weight": POSITIVE,
            "counted": POSITIVE,
            "freedoms": optional(Number()),
            "residual_sum": Array(("f8",), ("c",), low=0),
            "target_scatter": Array(("f8",), ("c",), low=0),
            "posterior": One(
                "no_posterior",
                "cholesky_posterior",
                "spectral_posterior",
                "dual_posterior",
                "kernel_posterior",
            ),
        },
        _least_squares,
    ),
    Entry(
        "out_of_bag_solution",
        OutOfBagSolution,
        _solution
        | {"errors": Array(("f8",), ("c",), finite=False), "weight": Number(0), "doubt": ANY},
    ),
    Entry("no_posterior", NoPosterior, {}),
    Entry("cholesky_posterior", CholeskyPosterior, {"inverse": Array(("f8",), ("m", "m"))}),
    Entry(
        "spectral_posterior",
        SpectralPosterior,
        {
            "values": Array(("f8",), ("r",)),
            "vectors": Array(("f8",), ("m", "r")),
            "mu": Number(0),
        },
    ),
    Entry(
        "dual_posterior",
        DualPosterior,
        {
            "rows": Array(("f8",), ("m", "r")),
            "inverse": Array(("f8",), ("r", "r")),
            "mu": Number(1e-300),
        },
    ),
    Entry(
        "kernel_posterior",
        KernelPosterior,
        {"mu": Number(0), "intercept": Flag()},
        take=_taken_apart,
        build=_kernel_posterior,
    ),
)
