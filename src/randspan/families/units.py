"""Random ridge units (Rahimi and Recht 2008; RVFL networks): activations of random projections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .base import Family, Functions, check_choice, check_number
from .randomness import normals_or_sampled, uniforms
from .rows import Rows


def _sigmoid(u):
    # Through tanh: no overflow for either sign, vectorised by numpy, in place.
    u *= 0.5
    np.tanh(u, out=u)
    u *= 0.5
    u += 0.5
    return u


def _gaussian(u):
    np.square(u, out=u)
    u *= -0.5
    return np.exp(u, out=u)


ACTIVATIONS = {
    "sigmoid": _sigmoid,
    "tanh": lambda u: np.tanh(u, out=u),
    "relu": lambda u: np.maximum(u, 0, out=u),
    "sign": lambda u: np.where(u >= 0, u.dtype.type(1), u.dtype.type(-1)),
    "cos": lambda u: np.cos(u, out=u),
    "gaussian": _gaussian,
}


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
        The law of w before ``scale``; a sampler is called as ``weights(d, rng)`` for every unit.
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

    def resolve(self, sample, n_components, seed):
        if not callable(self.activation):
            check_choice("activation", self.activation, ACTIVATIONS, " or a callable")
        if not callable(self.weights):
            check_choice("weights", self.weights, ("normal",), " or a callable sampler")
        if not callable(self.bias) and self.bias is not None:
            choices = ("normal", "uniform")
            check_choice("bias", self.bias, choices, ", None or a callable sampler")
        if isinstance(self.scale, str):
            check_choice("scale", self.scale, ("auto",), " or a number")
            return self.with_values(scale=1 / np.sqrt(sample.shape[1]))
        check_number("scale", self.scale)
        return self

    def sample(self, n_features, n_components, seed):
        weights = normals_or_sampled(self.weights, seed, "weights", n_components, n_features)
        if self.bias is None:
            biases = np.zeros(n_components)
        elif self.bias == "uniform":
            biases = 2 * uniforms(seed, "biases", n_components, 1)[:, 0] - 1
        else:
            biases = normals_or_sampled(self.bias, seed, "biases", n_components, 1)[:, 0]
        return UnitFunctions(self, n_features, n_components, self.scale * weights, biases)

    def closed_form(self, X, Y):
        if self.direct:
            raise self.no_closed_form("direct links are not drawn, and weigh 1/k beside the units")
        if callable(self.weights) or callable(self.bias) or self.bias == "uniform":
            raise self.no_closed_form("only normal weights, with a normal bias or none, have one")
        kernel = None if callable(self.activation) else KERNELS.get(self.activation)
        if kernel is None:
            raise self.no_closed_form(f"none is known for the activation {self.activation!r}")
        u = self.scale * X.dense.astype(np.float64)
        v = self.scale * Y.dense.astype(np.float64)
        if self.bias == "normal":
            u = np.column_stack([u, np.ones(len(u))])
            v = np.column_stack([v, np.ones(len(v))])
        return kernel(u @ v.T, (u**2).sum(axis=1)[:, None], (v**2).sum(axis=1))


def _angle(dot, uu, vv):
    norms = np.sqrt(uu * vv)
    # A zero vector has no angle; with norms of 0 every formula below still gives its limit.
    return norms, np.arccos(np.clip(dot / np.where(norms > 0, norms, 1), -1, 1))


def _relu_kernel(dot, uu, vv):
    norms, angle = _angle(dot, uu, vv)
    return norms * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)


def _sign_kernel(dot, uu, vv):
    norms, angle = _angle(dot, uu, vv)
    # sgn(0) = +1: a zero vector without bias always gives +1, the other one averages out.
    both = (uu == 0) & (vv == 0)
    return np.where(both, 1.0, np.where(norms > 0, 1 - 2 * angle / np.pi, 0.0))


def _cos_kernel(dot, uu, vv):
    return (np.exp(-(uu + vv - 2 * dot) / 2) + np.exp(-(uu + vv + 2 * dot) / 2)) / 2


def _gaussian_kernel(dot, uu, vv):
    return 1 / np.sqrt((1 + uu) * (1 + vv) - dot**2)


KERNELS = {
    "relu": _relu_kernel,
    "sign": _sign_kernel,
    "cos": _cos_kernel,
    "gaussian": _gaussian_kernel,
}


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
        values = rows.project(self.weights)
        values += self.biases.astype(rows.dtype)
        activation = self.family.activation
        values = (activation if callable(activation) else ACTIVATIONS[activation])(values)
        return np.hstack([rows.dense, values]) if self.family.direct else values
