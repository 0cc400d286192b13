"""Scrambled wavelets (Maillard and Munos 2010)."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice, check_positive
from .shared.grids import GRIDS, Ladder, Rung, Term, rung_kernel
from .shared.multiresolution import Multiresolution

# How far PyWavelets goes. (The first Daubechies wavelet is Haar's, which is not continuous.)
ORDERS = {"db": range(2, 39), "sym": range(2, 21)}
# Isotropic wavelets of more columns are for those who ask for them.
FEW_COLUMNS = 3


class ScrambledWavelets(Multiresolution):
    """φ(x) = ξ_0 + Σ_j 2^{-js} Σ_i ξ_ji ψ_ji(x), ξ ~ N(0, 1), over the wavelets of every scale j.

    The ψ_ji are products of Daubechies wavelets and scaling functions, normalised in L2 and
    periodised on the unit cube, of 2^d - 1 types; the constant is their coarsest scaling function.
    Weights of such functions make any function with s derivatives in L2 (a Sobolev space). On the
    other grids scales are taken coordinate by coordinate, and 2^{-Σ_m j_m s_m} is the factor.

    Parameters
    ----------
    wavelet : "auto" or str, default="auto"
        "db2" to "db38" or "sym2" to "sym20". The larger the number the smoother and the wider: a
        row meets (2p - 1)^d functions of every type and scale of "dbp". "auto" is "db3" for one
        column and for products, "db4" for two or three columns, or the first one that is smooth
        enough for a given ``smoothness``.
    smoothness : "auto", float or array of shape (n_features,), default="auto"
        s, larger than d/2 (1/2 for each coordinate on the other grids) and smaller than the number
        of derivatives in L2 that the wavelet itself has (db2 1.000, db3 1.415, db4 1.776, db5
        2.097, db6 2.388, db8 2.915, db10 3.403). "auto" is 1/2 more than the least, or the middle
        where the wavelet has less room.
    depth : "auto" or int, default="auto"
        How many scales: log₂(n)/d + 1 for n rows of d columns; on the sparse grid the largest sum
        of levels, at most log₂ n + 1 and less where a row would meet more than 4,096 products.
    grid : {"isotropic", "tensor", "sparse"}, default="isotropic"
        "isotropic" has one scale for all coordinates. "tensor" has all products of one-dimensional
        wavelets; "sparse" those whose levels sum to ``depth`` at most, where the constant has level
        0 and scale j has level j + 1. Beyond three columns "isotropic" becomes "sparse", unless
        wavelet or smoothness are given.
    interval : (a, b) or None, default=None
        What is mapped to the middle half of the cube, so that no data meet the seam of periodic
        functions; as for `BrownianSheets`. None takes the range of every column. Values more than
        5 % outside are clipped.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).random(size=(100, 2))
    >>> rs.ScrambledWavelets("db4", smoothness=1.25).draw(X, 10, random_state=0)(X).shape
    (100, 10)
    """

    inset = 0.25
    spill = 0.05
    extra_depth = 1
    open_parameters = ("depth", "grid", "wavelet", "smoothness")

    def __init__(
        self, wavelet="auto", smoothness="auto", depth="auto", grid="isotropic", interval=None
    ):
        self.wavelet = wavelet
        self.smoothness = smoothness
        self.depth = depth
        self.grid = grid
        self.interval = interval

    @property
    def differentiable(self) -> bool:
        return self.wavelet not in ("db2", "sym2")  # 0.55 of a derivative

    @property
    def _isotropic(self) -> bool:
        return self.grid == "isotropic"

    def filled(self, sample):
        d = sample.shape[1]
        check_choice("grid", self.grid, ("isotropic", *GRIDS))
        open_ = [value for value in (self.wavelet, self.smoothness) if _is_auto(value)]
        if self._isotropic and d > FEW_COLUMNS and len(open_) == 2:
            return self.with_values(grid="sparse").filled(sample)
        law = self._with_smoothness(d)
        if law.depth == np.inf:
            raise ValueError(
                "Scrambled wavelets of infinite depth have no kernel in closed form: give depth a "
                "number."
            )
        return law.with_depth(sample)

    def _with_smoothness(self, d: int) -> ScrambledWavelets:
        """A wavelet and a smoothness that go together; refuses those that do not."""
        from .shared.cascade import sobolev_exponent

        wavelet, smoothness = self.wavelet, self.smoothness
        least = d / 2 if self._isotropic else 0.5
        per_column = "" if self._isotropic else " for every column"
        if not _is_auto(smoothness):
            smoothness = check_positive("smoothness", smoothness, d)
            if self._isotropic and smoothness.ndim:
                raise ValueError(
                    "grid='isotropic' has one smoothness; one for every column is for "
                    "grid='tensor' and 'sparse'."
                )
            if smoothness.min() <= least:
                raise ValueError(
                    f"smoothness must be larger than {least:g}{per_column}, for functions of {d} "
                    f"column(s) to be continuous; got {self.smoothness!r}. {self._advice(least, d)}"
                )
        if _is_auto(wavelet):
            needed = least if _is_auto(smoothness) else float(smoothness.max())
            wavelet = "db4" if self._isotropic and d > 1 else "db3"
            if sobolev_exponent(_moments(wavelet)) <= needed:
                wavelet = _smooth_enough(needed)
        exponent = sobolev_exponent(_moments(wavelet))
        if _is_auto(smoothness):
            if exponent <= least:
                raise ValueError(
                    f"{wavelet!r} has {exponent:.3f} derivatives in L2; {d} column(s) need more "
                    f"than {least:g}{per_column}. {self._advice(least, d)}"
                )
            smoothness = least + 0.5 if exponent > least + 0.5 else (least + exponent) / 2
        elif smoothness.max() >= exponent:
            raise ValueError(
                f"{wavelet!r} has {exponent:.3f} derivatives in L2, less than "
                f"smoothness={self.smoothness!r} asks for: use "
                f"wavelet={_smooth_enough(float(smoothness.max()))!r}, or a smoothness between "
                f"{least:g} and {exponent:.3f}."
            )
        each = float(smoothness) if np.ndim(smoothness) == 0 else np.asarray(smoothness)
        return self.with_values(wavelet=wavelet, smoothness=each)

    def _advice(self, least: float, d: int) -> str:
        from .shared.cascade import sobolev_exponent

        wavelet = _smooth_enough(least)
        middle = (least + sobolev_exponent(_moments(wavelet))) / 2
        sparse = " or grid='sparse'" if self._isotropic and d > 1 else ""
        return f"wavelet={wavelet!r} with smoothness={middle:.2f} would do{sparse}."

    def ladders(self, n_features):
        if self._isotropic:
            return [Cascade(self.wavelet, int(self.depth), None)] * n_features
        each = np.broadcast_to(self.smoothness, n_features)
        return [Cascade(self.wavelet, int(self.depth), float(s)) for s in each]

    def terms(self, ladders):
        if not self._isotropic:
            yield from GRIDS[self.grid].terms(ladders)
            return
        yield Term(())
        for j in range(int(self.depth)):
            for types in product((0, 1), repeat=len(ladders)):
                if any(types):
                    rungs = enumerate(1 + 2 * j + kind for kind in types)
                    yield Term(tuple(rungs), 2.0 ** (-j * self.smoothness))

    def products(self, n_features, depth):
        widths = [_width(self.wavelet, j) for j in range(depth)]
        if self._isotropic:
            return 1 + (2**n_features - 1) * sum(width**n_features for width in widths)
        return GRIDS[self.grid].products([1, *widths], n_features)

    def kernel_of(self, x, y):
        if not self._isotropic:
            return GRIDS[self.grid].kernel(x, y)
        total = np.ones(1)
        for j in range(int(self.depth)):
            # All types but the one of scaling functions alone: Π (both) - Π (scaling functions).
            both, smooth = np.ones(1), np.ones(1)
            for left, right in zip(x, y, strict=True):
                scaling, wavelet = map(rung_kernel, left[1 + 2 * j :][:2], right[1 + 2 * j :][:2])
                smooth = smooth * scaling
                both = both * (scaling + wavelet)
            total = total + 4.0 ** (-j * self.smoothness) * (both - smooth)
        return total


def _is_auto(value) -> bool:
    return isinstance(value, str) and value == "auto"


def _moments(wavelet) -> int:
    """The number of vanishing moments in a wavelet's name."""
    found = re.fullmatch(r"(db|sym)([1-9]\d*)", wavelet) if isinstance(wavelet, str) else None
    if found is None or int(found[2]) not in ORDERS[found[1]]:
        raise ValueError(
            f"wavelet must be 'auto', one of 'db2' to 'db38' or of 'sym2' to 'sym20'; got "
            f"{wavelet!r}."
        )
    return int(found[2])


def _width(wavelet: str, scale: int) -> int:
    """How many wavelets of a scale meet a place."""
    return min(2**scale, 2 * _moments(wavelet) - 1)


def _smooth_enough(smoothness: float) -> str:
    """The first Daubechies wavelet with more derivatives than this."""
    from .shared.cascade import sobolev_exponent

    for order in ORDERS["db"]:
        if sobolev_exponent(order) > smoothness:
            return f"db{order}"
    raise ValueError(
        f"No wavelet has more than {sobolev_exponent(ORDERS['db'][-1]):.2f} derivatives in L2; "
        f"a smoothness of {smoothness:g} asks for more."
    )


class Cascade(Ladder):
    """Periodised wavelets on [0, 1], L2-normalised.

    Rung 0 is the constant. With a smoothness s of its own, rung j + 1 has the wavelets of scale j
    times 2^{-js}. Without, rung 2j + 1 has scaling functions of scale j and rung 2j + 2 wavelets.
    """

    constant = True

    def __init__(self, wavelet: str, scales: int, smoothness: float | None):
        self.wavelet, self.scales, self.smoothness = wavelet, scales, smoothness
        self.widths, self.sizes = [1], [1]
        for j in range(scales):
            kinds = 2 if smoothness is None else 1
            self.widths += [_width(wavelet, j)] * kinds
            self.sizes += [2**j] * kinds

    def rungs(self, places):
        from .shared.cascade import filters, refine

        low, high, start = filters(self.wavelet)
        n, full = len(places), len(start)
        scaling, wavelet = np.empty((2, self.scales, n, full))
        refine(places, low, high, start, scaling, wavelet)
        found = [Rung(np.zeros((n, 1), np.int64), np.ones((n, 1)))]
        for j in range(self.scales):
            # φ(2^j x - l) is one of the values at 2^j x mod 1, for l = ⌊2^j x⌋, ⌊2^j x⌋ - 1, ….
            first = np.floor(places * 2.0**j).astype(np.int64)
            nodes = (first[:, None] - np.arange(min(2**j, full))) % 2**j
            if self.smoothness is None:
                found.append(Rung(nodes, 2.0 ** (j / 2) * _folded(scaling[j], 2**j)))
            factor = 2.0 ** (j / 2 - j * (self.smoothness or 0.0))
            found.append(Rung(nodes, factor * _folded(wavelet[j], 2**j)))
        return found


def _folded(values: NDArray, period: int) -> NDArray[np.float64]:
    """Values of functions that are the same ones after ``period`` places, added."""
    width = values.shape[1]
    if width <= period:
        return values
    total = values[:, :period].copy()
    for start in range(period, width, period):
        more = values[:, start : start + period]
        total[:, : more.shape[1]] += more
    return total
