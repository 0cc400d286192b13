"""Random ridge units (Rahimi and Recht 2008; RVFL networks): activations of random projections."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice, check_number
from .base import Family
from .functions import Functions
from .shared.activations import ACTIVATIONS, PROFILES, activated, check_activation, mean_product
from .shared.profile import Profile
from .shared.randomness import normals_or_sampled, uniforms
from .shared.rows import Rows


class Units(Family):
    """φ(x) = σ(w'x + b), w ~ scale·N(0, I), b ~ N(0, 1).

    Closed forms, with angle θ between u = (scale·x, 1) and v = (scale·y, 1) (without a bias
    u = scale·x, v = scale·y):

    - relu: ‖u‖‖v‖(sin θ + (π - θ) cos θ)/2π
    - sign: 1 - 2θ/π
    - cos: (exp(-‖u - v‖²/2) + exp(-‖u + v‖²/2))/2
    - gaussian: 1/√((1 + ‖u‖²)(1 + ‖v‖²) - (u'v)²)

    Parameters
    ----------
    activation : str or callable, default="sigmoid"
        "sigmoid", "tanh", "relu", "sign" (sgn(0) = +1), "cos", "gaussian" (exp(-u²/2)), or a
        function of an array, applied elementwise.
    weights : "normal" or callable, default="normal"
        The distribution of w before ``scale``; a sampler is called as ``weights(d, rng)`` for every
        unit.
    scale : "auto" or float, default="auto"
        "auto" is 1/√d: a plain N(0, I) saturates a sigmoid already at d = 50.
    bias : "normal", "uniform", None or callable, default="normal"
        N(0, 1), U[-1, 1], no bias, or a sampler ``bias(1, rng)``.
    direct : bool, default=False
        Whether the inputs themselves come as columns in front of the units (RVFL: direct links);
        they are not counted in ``n_components``.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.zeros((5, 3))
    >>> rs.Units("tanh", direct=True).draw(X, 10, random_state=0)(X).shape
    (5, 13)
    """

    def __init__(
        self, activation="sigmoid", weights="normal", scale="auto", bias="normal", direct=False
    ):
        self.activation = activation
        self.weights = weights
        self.scale = scale
        self.bias = bias
        self.direct = direct

    @property
    def bounded(self):
        known = self.activation in ACTIVATIONS and self.activation != "relu"
        return 1.0 if known and not self.direct else np.inf

    @property
    def rotation_invariant(self):
        return self.weights == "normal"

    @property
    def differentiable(self):
        return self.activation != "sign"

    def layout(self, n_features, n_components, n_targets):
        plain = super().layout(n_features, n_components, n_targets)
        direct = n_features if self.direct else 0
        return replace(plain, n_columns=plain.n_columns + direct, n_direct=direct)

    def read(self, sample, n_components, seed):
        check_activation(self.activation)
        if not callable(self.weights):
            check_choice("weights", self.weights, ("normal",), " or a callable sampler")
        if not callable(self.bias) and self.bias is not None:
            choices = ("normal", "uniform")
            check_choice("bias", self.bias, choices, ", None or a callable sampler")
        if isinstance(self.scale, str):
            check_choice("scale", self.scale, ("auto",), " or a number")
            return Scaling(1 / float(np.sqrt(sample.shape[1])))
        return Scaling(check_number("scale", self.scale))

    def sample(self, n_features, n_components, seed):
        weights = normals_or_sampled(self.weights, seed, "weights", n_components, n_features)
        if self.bias is None:
            biases = np.zeros(n_components)
        elif self.bias == "uniform":
            biases = 2 * uniforms(seed, "biases", n_components, 1)[:, 0] - 1
        else:
            biases = normals_or_sampled(self.bias, seed, "biases", n_components, 1)[:, 0]
        return UnitFunctions(self, n_features, n_components, self.resolved.scale * weights, biases)

    def profile(self, n_features):
        moments = {"normal": 1.0, "uniform": 1 / 3, None: 0.0}
        known = not callable(self.bias) and not callable(self.weights)
        if self.activation not in PROFILES or self.direct or not known:
            raise ValueError(
                f"{self!r} has functions that are not bounded, or a distribution of yours: the "
                "inequality wants an activation bounded by 1 and normal weights."
            )
        moment = self.resolved.scale**2 * n_features + moments[self.bias]
        return Profile(*PROFILES[self.activation], moment, extended=self.bias is not None)

    def closed_form(self, X, Y):
        if self.direct:
            raise self.no_closed_form("direct links are not drawn, and weigh 1/k beside the units")
        if callable(self.weights) or callable(self.bias) or self.bias == "uniform":
            raise self.no_closed_form("only normal weights, with a normal bias or none, have one")
        u = self.resolved.scale * X.dense.astype(np.float64)
        v = self.resolved.scale * Y.dense.astype(np.float64)
        if self.bias == "normal":
            u = np.column_stack([u, np.ones(len(u))])
            v = np.column_stack([v, np.ones(len(v))])
        values = mean_product(self.activation, u, v)
        if values is None:
            raise self.no_closed_form(f"none is known for the activation {self.activation!r}")
        return values


@dataclass(frozen=True)
class Scaling:
    """What weights are multiplied by."""

    scale: float


@dataclass(frozen=True, eq=False)
class UnitFunctions(Functions):
    """σ(w'x + b) for drawn w and b, after the inputs themselves where there are direct links."""

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]

    @property
    def n_columns(self) -> int:
        return self.n_components + self.n_direct

    @property
    def n_direct(self) -> int:
        return self.n_features if self.family.direct else 0

    def evaluate(self, rows: Rows) -> NDArray:
        values = rows.products(self.weights)
        values += self.biases.astype(rows.dtype)
        values = activated(self.family.activation, values)
        return np.hstack([rows.dense, values]) if self.family.direct else values
