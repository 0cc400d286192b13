"""Activations of units and networks, and E σ(w'u) σ(w'v), w ~ N(0, I), where it is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...checks import check_choice
from .spectra import squares_apart


def _sigmoid(u):
    # Through tanh: no overflow for either sign, vectorised by numpy, in place.
    u *= 0.5
    np.tanh(u, out=u)
    u *= 0.5
    u += 0.5
    return u


def _cos(u):
    # Of numbers that differ by whole turns from their neighbours rounding decides, and so the other
    # rows of a block: there it is that of no angle, as in Fourier features.
    u[abs(u) > 1 / np.finfo(u.dtype).eps] = 0
    return np.cos(u, out=u)


def _gaussian(u):
    np.square(u, out=u)
    u *= -0.5
    return np.exp(u, out=u)


ACTIVATIONS = {
    "sigmoid": _sigmoid,
    "tanh": lambda u: np.tanh(u, out=u),
    "relu": lambda u: np.maximum(u, 0, out=u),
    "sign": lambda u: np.where(u >= 0, u.dtype.type(1), u.dtype.type(-1)),
    "cos": _cos,
    "gaussian": _gaussian,
}


# Lipschitz constants, and values at 0, of those that are bounded (by 1).
PROFILES = {
    "sigmoid": (0.25, 0.5),
    "tanh": (1.0, 0.0),
    "sign": (np.inf, 1.0),
    "cos": (1.0, 1.0),
    "gaussian": (float(np.exp(-0.5)), 1.0),
}


def check_activation(activation) -> None:
    if not callable(activation):
        check_choice("activation", activation, ACTIVATIONS, " or a callable")


def activated(activation, values: NDArray) -> NDArray:
    """σ of every value; ``values`` may be overwritten."""
    return (activation if callable(activation) else ACTIVATIONS[activation])(values)


def mean_product(activation, u: NDArray, v: NDArray) -> NDArray[np.float64] | None:
    """E σ(w'u) σ(w'v), w ~ N(0, I), for the rows of u and v; None where no formula is known."""
    kernel = None if callable(activation) else KERNELS.get(activation)
    if kernel is None:
        return None
    return kernel(u, v)


def _products(u, v):
    """u'v, ‖u‖² and ‖v‖²."""
    return u @ v.T, (u**2).sum(axis=1)[:, None], (v**2).sum(axis=1)


def _angle(u, v):
    dot, uu, vv = _products(u, v)
    norms = np.sqrt(uu * vv)
    # A zero vector has no angle; with norms of 0 every formula below still gives its limit.
    return norms, np.arccos(np.clip(dot / np.where(norms > 0, norms, 1), -1, 1))


def _relu_kernel(u, v):
    norms, angle = _angle(u, v)
    return norms * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)


def _sign_kernel(u, v):
    norms, angle = _angle(u, v)
    # sgn(0) = +1: a zero vector without bias always gives +1, the other one averages out.
    both = ~np.logical_or.outer((u**2).any(axis=1), (v**2).any(axis=1))
    return np.where(both, 1.0, np.where(norms > 0, 1 - 2 * angle / np.pi, 0.0))


def _cos_kernel(u, v):
    return (np.exp(-squares_apart(u, v) / 2) + np.exp(-squares_apart(u, -v) / 2)) / 2


def _gaussian_kernel(u, v):
    # (1 + ‖u‖²)(1 + ‖v‖²) - (u'v)²; ‖u‖²‖v‖² - (u'v)² by u - v, as they may be nearly equal.
    dot, uu, vv = _products(u, v)
    square = np.maximum(squares_apart(u, v) * vv - (dot - vv) ** 2, 0)
    return 1 / np.sqrt(1 + uu + vv + square)


KERNELS = {
    "relu": _relu_kernel,
    "sign": _sign_kernel,
    "cos": _cos_kernel,
    "gaussian": _gaussian_kernel,
}
