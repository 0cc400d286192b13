"""Images of an orthonormal basis under an operator: the general form of Maillard and Munos."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice, check_n_components


@dataclass(frozen=True)
class Images:
    """φ_i = J h_i, (h_i) orthonormal in a Hilbert space H, J a linear operator, for `Dictionary`.

    Σ_i ξ_i J h_i is J of white noise, a Gaussian object with the covariance JJ*; what weights can
    make is the image of J, with the norm ‖f‖ = min{‖g‖_H : Jg = f}. Integration makes Brownian
    motions of any basis of L2, a convolution what is as smooth as its kernel, and the solution
    operator of a differential equation functions that solve it.

    Parameters
    ----------
    operator : callable
        J: ``operator(h)`` is called once for every h_i, a function of h's own points, and returns
        J h_i, a function of rows: an array of shape (n, d) in, n numbers out.
    basis : "cosines", list of callables or callable, default="cosines"
        h_1, h_2, …: "cosines" are 1 and √2 cos(iπu) on [0, 1]; otherwise functions in a list, or
        ``basis(i)`` returns the function of number i = 0, 1, ….
    count : int or None, default=None
        How many of them; None takes a whole list, and 100 otherwise.

    Examples
    --------
    Brownian motion as the integral of white noise, ∫₀ˣ √2 cos(iπu) du.

    >>> import numpy as np, randspan as rs
    >>> nodes, weights = np.polynomial.legendre.leggauss(200)
    >>> def integral(h):
    ...     return lambda X: (h(X * (nodes + 1) / 2) @ weights) * X[:, 0] / 2
    >>> family = rs.Dictionary(rs.Images(integral))
    >>> family.kernel(np.array([[0.25], [0.5], [1.0]])).round(2)
    array([[0.25, 0.25, 0.25],
           [0.25, 0.5 , 0.5 ],
           [0.25, 0.5 , 1.  ]])
    """

    operator: Callable[[Callable], Callable]
    basis: Any = "cosines"
    count: int | None = None
    _made: dict[int, Callable] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self):
        if not callable(self.operator):
            raise ValueError(f"operator must be a callable h -> Jh, got {self.operator!r}.")
        listed = isinstance(self.basis, Sequence) and not isinstance(self.basis, str)
        if listed and not (len(self.basis) and all(map(callable, self.basis))):
            raise ValueError("A list for basis holds functions, and one at least.")
        if not (listed or callable(self.basis)):
            check_choice("basis", self.basis, ("cosines",), " or functions of your own")
        if self.count is None:
            object.__setattr__(self, "count", len(self.basis) if listed else 100)
        check_n_components(self.count, "count")
        if listed and len(self) > len(self.basis):
            raise ValueError(f"count={self.count}, and basis has {len(self.basis)} functions.")

    def __getstate__(self) -> dict[str, Any]:
        # Images are made again from what they are images of: closures have no place in a pickle.
        return {"operator": self.operator, "basis": self.basis, "count": self.count}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in (state | {"_made": {}}).items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        assert self.count is not None
        return self.count

    def __call__(self, X: NDArray, start: int, stop: int) -> NDArray[np.float64]:
        """J h_i for i = start, …, stop - 1 at rows X, a column each."""
        return np.column_stack([self._values(i, X) for i in range(start, stop)])

    def _values(self, i: int, X: NDArray) -> NDArray[np.float64]:
        image = self._made.get(i)
        if image is None:
            image = self._made[i] = self.operator(self._function(i))
            if not callable(image):
                raise ValueError(f"operator must return functions of rows; it returned {image!r}.")
        values = np.asarray(image(X), dtype=np.float64)
        if values.size != len(X):
            raise ValueError(
                f"Image {i} of the basis returned an array of shape {values.shape} for {len(X)} "
                "rows; it must return one number for every row."
            )
        return values.reshape(len(X))

    def _function(self, i: int) -> Callable:
        if isinstance(self.basis, str):
            return cosine(i)
        return self.basis[i] if isinstance(self.basis, Sequence) else self.basis(i)


def cosine(i: int) -> Callable[[NDArray], NDArray]:
    """1, and √2 cos(iπu) for i > 0: orthonormal on [0, 1]."""
    if i == 0:
        return np.ones_like
    return lambda u: np.sqrt(2) * np.cos(i * np.pi * np.asarray(u))
