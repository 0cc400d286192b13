"""Functions of the user's own: stored by name, and handed in again by whoever reads the file.

A function is code, and files hold none. Of a few that everybody has (numpy's, and scikit-learn's
kernels) the name is enough, and so it is of scipy's distributions with their parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats
from sklearn.metrics import pairwise

from .compounds import Listing, Mapping
from .errors import ModelFileError, ensure
from .kinds import Kind, Number, Text, shown

UFUNCS = (
    *("sin", "cos", "tan", "tanh", "sinh", "cosh", "arctan", "arcsinh", "exp", "expm1", "log1p"),
    *("sqrt", "cbrt", "absolute", "square", "sign", "negative", "positive"),
)
#: functions that need not be handed in
KNOWN: dict[str, Callable] = {f"numpy.{name}": getattr(np, name) for name in UFUNCS}
KNOWN |= {
    f"sklearn.{function.__name__}": function
    for function in pairwise.PAIRWISE_KERNEL_FUNCTIONS.values()
}
_NAMES = {id(function): name for name, function in KNOWN.items()}

#: scipy's distributions of positive numbers, for pitches of grids
DISTRIBUTIONS = (
    *("alpha", "beta", "betaprime", "burr", "burr12", "chi", "chi2", "erlang", "expon"),
    *("exponpow", "exponweib", "f", "fisk", "foldcauchy", "foldnorm", "gamma", "gengamma"),
    *("genpareto", "gompertz", "halfcauchy", "halflogistic", "halfnorm", "invgamma", "invgauss"),
    *(
        "invweibull",
        "levy",
        "loggamma",
        "lognorm",
        "lomax",
        "maxwell",
        "nakagami",
        "ncx2",
        "pareto",
    ),
    *("powerlaw", "rayleigh", "recipinvgauss", "reciprocal", "rice", "triang", "truncexpon"),
    *("truncnorm", "uniform", "wald", "weibull_max", "weibull_min", "norm", "loguniform"),
)

# Bytes of one of them with its parameters: scipy makes a whole class of functions for each.
FROZEN = 12_000


@dataclass
class Brought:
    """The functions that a model was given, by name."""

    by_name: dict[str, Callable] = field(default_factory=dict)

    def name(self, function: Callable, where: str) -> str:
        """The name of a function; two of one name are refused."""
        name = function.__name__
        known = self.by_name.setdefault(name, function)
        if known is not function:
            raise ValueError(
                f"Two different functions are called {name!r} ({where}), and files know functions "
                "by their names: rename one of them."
            )
        return name


def is_nameable(value: Any) -> bool:
    """Whether a callable has a name of its own."""
    name = getattr(value, "__name__", None)
    return callable(value) and isinstance(name, str) and name.isidentifier()


class Function(Kind):
    """A function: one that everybody has, or one of the user's own, by name."""

    told = "a function with a name"

    def takes(self, value):
        return callable(value) and (id(value) in _NAMES or is_nameable(value))

    def write(self, value, to, where):
        if id(value) in _NAMES:
            return {"known": _NAMES[id(value)]}
        return {"function": to.brought.name(value, where)}

    def fits(self, node):
        return isinstance(node, dict) and node.keys() in ({"known"}, {"function"})

    def read(self, node, of, where, scope):
        if not self.fits(node):
            self.refuse(node, where)
        [(kind, name)] = node.items()
        if kind == "known":
            ensure(isinstance(name, str) and name in KNOWN, f"{where} is {shown(name)}: unknown.")
            return KNOWN[name]
        ensure(isinstance(name, str) and name in of.given, f"{where} names no function: {name!r}.")
        return of.given[name]


def handed_in(wanted: Any, given: dict[str, Callable] | None) -> dict[str, Callable]:
    """The functions that a document names, all of them handed in."""
    ensure(
        isinstance(wanted, list)
        and all(isinstance(name, str) and name.isidentifier() for name in wanted)
        and len(set(wanted)) == len(wanted)
        and len(wanted) <= 1000,
        "functions must be a list of different names.",
    )
    missing = [name for name in wanted if name not in (given or {})]
    if missing:
        example = ", ".join(f'"{name}": {name}' for name in missing[:5])
        raise ModelFileError(
            f"The model uses functions of its author's own, which files do not hold: "
            f"{', '.join(missing)}. Hand them in: rs.load(path, functions={{{example}}})."
        )
    return {name: (given or {})[name] for name in wanted}


class Distribution(Kind):
    """One of scipy's distributions, with its parameters."""

    told = "a distribution of scipy.stats"
    _numbers = Listing(Number(any=True), tuple, high=10)
    _named = Mapping(Text(20), Number(any=True), most=10)

    def takes(self, value):
        dist: Any = getattr(value, "dist", None)
        return (
            hasattr(value, "ppf")
            and getattr(dist, "name", None) in DISTRIBUTIONS
            and type(getattr(stats, dist.name)) is type(dist)
            and self._numbers.takes(tuple(value.args))
            and self._named.takes(dict(value.kwds))
        )

    def write(self, value, to, where):
        return {
            "distribution": value.dist.name,
            "args": self._numbers.write(tuple(value.args), to, where),
            "kwds": self._named.write(dict(value.kwds), to, where),
        }

    def fits(self, node):
        return isinstance(node, dict) and node.keys() == {"distribution", "args", "kwds"}

    def read(self, node, of, where, scope):
        if not self.fits(node) or node["distribution"] not in DISTRIBUTIONS:
            self.refuse(node, where)
        args = self._numbers.read(node["args"], of, where, scope)
        kwds = self._named.read(node["kwds"], of, where, scope)
        of.budget.take(FROZEN, where)
        try:
            with np.errstate(all="ignore"):
                return getattr(stats, node["distribution"])(*args, **kwds)
        except Exception as error:  # scipy has no one way to refuse parameters
            raise ModelFileError(f"{where}: {error}.") from None
