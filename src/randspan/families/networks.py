"""Random networks (Cao and Lan 2022): whole multilayer perceptrons, all weights drawn."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice, check_number, is_count
from .base import Family
from .functions import Functions
from .shared.activations import activated, check_activation, mean_product
from .shared.randomness import normals_or_sampled
from .shared.rows import Rows

# Values of a hidden layer that are worked on at once: they should stay in the cache.
AT_ONCE = 2**19


class Networks(Family):
    """φ(x) = v'h_L/√n_L + c, h_l = σ(scale·W_l h_{l-1}/√n_{l-1} + b_l), h_0 = x: a random network.

    All entries of W_l, b_l, v and c are N(0, 1); n_l are the numbers of units, n_0 = d. Cao and Lan
    have no roots: all weights and biases are N(0, 1) as they are, which is ``weights="standard"``
    here. The inputs of a unit then have d times the variance (of the next layer, n_1 times as
    much), so that biases hardly count and bounded activations saturate; least squares does not mind
    that hypotheses are as large, a ridge does. With one hidden layer the kernel is
    E σ(w'u) σ(w'v) + 1, u = (scale·x/√d, 1), v = (scale·y/√d, 1), w ~ N(0, I), as for `Units`
    (without biases: no ones; "standard": no √d, and n_1 times the expectation); with several there
    is no closed form for a finite number of units.

    Parameters
    ----------
    hidden : int or tuple of int, default=(20,)
        Units of every hidden layer.
    activation : str or callable, default="relu"
        As for `Units`: "sigmoid", "tanh", "relu", "sign", "cos", "gaussian", or a function of an
        array, applied elementwise.
    weights : "normal", "standard" or callable, default="normal"
        The distribution of the entries of W_l and v before ``scale`` and the division by the root
        of the number of inputs; a sampler is called as ``weights(size, rng)`` for every layer of
        every network. "standard" is "normal" without that division, in every layer.
    scale : float, default=1.0
    bias : bool, default=True
        Whether there are b_l and c.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> rs.Networks(hidden=(30, 10), activation="tanh").draw(X, 4, random_state=0)(X).shape
    (5, 4)
    """

    def __init__(self, hidden=(20,), activation="relu", weights="normal", scale=1.0, bias=True):
        self.hidden = hidden
        self.activation = activation
        self.weights = weights
        self.scale = scale
        self.bias = bias

    @property
    def rotation_invariant(self):
        return not callable(self.weights)

    def in_kernel(self, n_features: int) -> tuple[float, float]:
        """What x, and the expectation, are multiplied by in the kernel of one hidden layer."""
        if self.weights == "standard":
            return float(self.scale), float(self._hidden[0])
        return float(self.scale / np.sqrt(n_features)), 1.0

    @property
    def differentiable(self):
        return self.activation != "sign"

    @property
    def _hidden(self) -> tuple[int, ...]:
        """The numbers of units, checked."""
        layers = tuple(np.atleast_1d(np.asarray(self.hidden, dtype=object)))
        if not layers or not all(map(is_count, layers)):
            raise ValueError(
                "hidden must name the units of one hidden layer or more, such as (20,) or (50, 20);"
                f" got {self.hidden!r}."
            )
        return tuple(map(int, layers))

    def read(self, sample, n_components, seed):
        check_activation(self.activation)
        if not callable(self.weights):
            check_choice("weights", self.weights, ("normal", "standard"), " or a callable sampler")
        check_number("scale", self.scale)
        return Layers(self._hidden)

    def numbers(self, n_features):
        sizes = [n_features, *self.resolved.hidden, 1]
        return sum((inner + 1) * outer for inner, outer in pairwise(sizes))

    def sample(self, n_features, n_components, seed):
        sizes = [n_features, *self.resolved.hidden, 1]
        weights, biases = [], []
        for layer, (inner, outer) in enumerate(pairwise(sizes)):
            stream, size = f"weights {layer}", inner * outer
            drawn = normals_or_sampled(self.weights, seed, stream, n_components, size)
            factor = 1.0 if layer == len(sizes) - 2 else self.scale
            factor = factor if self.weights == "standard" else factor / np.sqrt(inner)
            weights.append(factor * drawn.reshape(n_components, outer, inner))
            if self.bias:
                stream = f"biases {layer}"
                biases.append(normals_or_sampled("normal", seed, stream, n_components, outer))
        return NetworkFunctions(self, n_features, n_components, weights, biases)

    def stored_bytes(self, n_rows, n_features, n_components, n_targets=1):
        sizes = [n_features, *self._hidden, 1]
        return 8 * n_components * sum((inner + 1) * outer for inner, outer in pairwise(sizes))

    def closed_form(self, X, Y):
        if len(self.resolved.hidden) > 1:
            raise self.no_closed_form("only networks of one hidden layer have one")
        if callable(self.weights):
            raise self.no_closed_form("the weights come from a sampler of yours")
        factor, times = self.in_kernel(X.shape[1])
        u, v = (factor * rows.dense.astype(np.float64) for rows in (X, Y))
        if self.bias:
            u, v = (np.column_stack([part, np.ones(len(part))]) for part in (u, v))
        values = mean_product(self.activation, u, v)
        if values is None:
            raise self.no_closed_form(f"none is known for the activation {self.activation!r}")
        return times * values + bool(self.bias)


@dataclass(frozen=True)
class Layers:
    """Units of every hidden layer."""

    hidden: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NetworkFunctions(Functions):
    """Outputs of drawn networks.

    ``weights[l]`` has the shape (networks, units, inputs) of layer l, ``biases[l]`` (networks,
    units); there are no biases where the family has none.
    """

    weights: list[NDArray[np.float64]]
    biases: list[NDArray[np.float64]]

    def evaluate(self, rows: Rows) -> NDArray:
        out = np.empty((len(rows), self.n_components), dtype=rows.dtype)
        weights = [layer.astype(rows.dtype) for layer in self.weights]
        biases = [layer.astype(rows.dtype) for layer in self.biases]
        widest = max(layer.shape[1] for layer in weights)
        step = max(64, AT_ONCE // (self.n_components * widest))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            self._run(rows[part], weights, biases, out[part])
        return out

    def _run(self, rows: Rows, weights: list[NDArray], biases: list[NDArray], out: NDArray) -> None:
        k, units = self.n_components, weights[0].shape[1]
        # The first layer of all networks is one product, all others are one for every network.
        values = rows.products(weights[0].reshape(k * units, -1))
        if biases:
            values += biases[0].ravel()
        values = self._activated(values).reshape(len(rows), k, units)
        for layer in range(1, len(weights) - 1):
            inner = values.transpose(1, 0, 2)
            values = np.matmul(inner, weights[layer].transpose(0, 2, 1))
            if biases:
                values += biases[layer][:, None]
            values = self._activated(values).transpose(1, 0, 2)
        np.einsum("nki,ki->nk", values, weights[-1][:, 0], out=out)
        if biases:
            out += biases[-1][:, 0]

    def _activated(self, values: NDArray) -> NDArray:
        return activated(self.family.activation, values).astype(values.dtype, copy=False)
