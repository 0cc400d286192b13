"""Random Fourier features (Rahimi and Recht 2008): cosines of random frequency and phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import check_choice, check_number, chosen
from .base import Family
from .functions import Functions
from .shared.bandwidth import Bandwidth, read_gamma
from .shared.frequencies import MEMORY, SAMPLINGS, HadamardFrequencies
from .shared.profile import Profile
from .shared.randomness import sampled, uniforms
from .shared.rows import Rows
from .shared.spectra import LAWS, Law, Stable

# Other names for the same: scikit-learn's, and that of theorems.
# Draws of a sampler of phases that tell whether their law will do.
TRIED_PHASES = 4096
KERNELS, DRAWS = {"rbf": "gaussian"}, {"independent": "iid"}


class Fourier(Family):
    """φ(x) = √2 cos(ω'x + b), b ~ U[-π, π], ω from the spectral law of a kernel k(x - y).

    Then E φ(x) φ(y) = k(x - y), as for any law of the phases with E e^{2ib} = 0. In the paired form
    columns come as (√2 cos ω'x, √2 sin ω'x), two for every frequency and without a phase; its
    variance is lower for the Gaussian kernel.

    Parameters
    ----------
    kernel : str or callable, default="gaussian"
        "gaussian" (or "rbf") exp(-γ‖x-y‖²), "laplacian" exp(-γ‖x-y‖₁), "cauchy" Π 1/(1 + γ²Δ²),
        "matern12", "matern32", "matern52" (length scale 1/√(2γ)), "stable" exp(-(γ‖x-y‖_p)^q); or a
        sampler of frequencies, called as ``kernel(d, rng)`` once for every frequency and returning
        d numbers (γ is then unused).
    gamma : "median", float or array of shape (n_features,), default="median"
        "median" sets it from the median distance of two rows: 1/(2 med²) of Euclidean distances
        (gaussian, Matérn), 1/med of L1 distances (laplacian), of |x_m - y_m| (cauchy), of p-norms
        (stable).
    sampling : {"iid", "orthogonal", "qmc", "structured"}, default="iid"
        How frequencies are chosen ("independent" is "iid"); all four are unbiased. "orthogonal" and
        "qmc" lower the variance. "structured" costs O(k log d) a row instead of O(k d) and is the
        faster one from a few hundred columns on, at a somewhat larger variance. "orthogonal" and
        "structured" need a radial kernel (gaussian, Matérn).
    form : {"phase", "paired"}, default="phase"
        An odd last column of "paired" has no partner, and a random phase instead; only draws of an
        even number continue each other.
    p, q : float, default=1.0
        The norm and the exponent of the stable kernel, 0 < q ≤ p ≤ 2: p = q = 1 is the Laplacian,
        p = 2, q = 1 Matérn 1/2, p = q = 2 the Gaussian kernel; a smaller q is rougher.
    phases : "uniform" or callable, default="uniform"
        U[-π, π], or a sampler of b, called as ``phases(size, rng)`` and returning so many: one for
        every function, and 4,096 on which E e^{2ib} = 0 is checked. (Being symmetric about 0 is not
        enough.)

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> functions = rs.Fourier("matern32", gamma=0.5).draw(X, 400, random_state=0)
    >>> functions(X).shape
    (100, 400)
    """

    bounded = property(lambda self: float(np.sqrt(2)))

    def __init__(
        self,
        kernel="gaussian",
        gamma="median",
        sampling="iid",
        form="phase",
        p=1.0,
        q=1.0,
        phases="uniform",
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.sampling = sampling
        self.form = form
        self.p = p
        self.q = q
        self.phases = phases

    @property
    def _law(self) -> Law:
        """The law of the frequencies of a kernel that has a name."""
        name = self._kernel
        if name == "stable":
            p, q = (check_number(name, getattr(self, name)) for name in ("p", "q"))
            if not 0 < q <= p <= 2:
                raise ValueError(f"The stable kernel has 0 < q <= p <= 2, got p={p:g}, q={q:g}.")
            return Stable(p, q)
        return LAWS[name]

    @property
    def _kernel(self) -> str:
        """The kernel's first name."""
        known = (*LAWS, "stable")
        otherwise = " or a callable that samples frequencies"
        return chosen("kernel", self.kernel_name, known, KERNELS, otherwise)

    @property
    def _sampling(self) -> str:
        return chosen("sampling", self.sampling, SAMPLINGS, DRAWS)

    @property
    def rotation_invariant(self) -> bool:
        named = not callable(self.kernel_name)
        return named and self._law.radial and np.ndim(self.gamma) == 0

    @property
    def independent(self) -> bool:
        return self.form == "phase" and self._sampling == "iid"

    @property
    def nearest_kernel(self) -> str:
        if callable(self.kernel_name) or self.kernel_name == "cauchy":
            return "matern52"
        if self.kernel_name == "stable":
            return "laplacian" if self.p < 1.5 else "matern12"
        return self._kernel

    @property
    def nearest_power(self) -> float:
        return float(self.q) if self.kernel_name == "stable" else 1.0

    @property
    def stretch(self):
        if callable(self.kernel_name):
            return None
        return self._law.stretch(np.asarray(self.resolved.gamma, dtype=np.float64))

    def read(self, sample, n_components, seed):
        sampling = self._sampling
        check_choice("form", self.form, ("phase", "paired"))
        self._check_phases(seed)
        if callable(self.kernel_name):
            if sampling != "iid":
                raise ValueError(
                    f"sampling={self.sampling!r} needs a distribution that randspan knows; with a "
                    "sampler of your own use sampling='iid'."
                )
            return Bandwidth(1.0)
        law = self._law
        if sampling in ("orthogonal", "structured") and not law.radial:
            radial = ", ".join(repr(name) for name in LAWS if LAWS[name].radial)
            raise ValueError(
                f"sampling={self.sampling!r} turns directions freely, which keeps the distribution "
                f"of frequencies only for radial kernels ({radial}); the {self.kernel_name} kernel "
                "is a product over the columns: use sampling='iid' or 'qmc'."
            )
        return Bandwidth(read_gamma(self.gamma, sample, law.metric))

    def _check_phases(self, seed: int) -> None:
        """Refuse a law of phases with which the kernel would not be that of the frequencies."""
        if not callable(self.phases):
            check_choice("phases", self.phases, ("uniform",), " or a callable sampler")
            return
        if self.form == "paired":
            raise ValueError("Paired cosines and sines have no phases: leave phases='uniform'.")
        drawn = sampled(self.phases, seed, "phases, tried", 1, TRIED_PHASES)[0]
        mean = abs(np.exp(2j * drawn).mean())
        # |e^{2ib}| = 1: the standard error of the mean is at most 1/√n.
        if mean > 5 / np.sqrt(TRIED_PHASES):
            raise ValueError(
                f"phases must have E exp(2ib) = 0, or E φ(x) φ(y) is not the kernel; of "
                f"{TRIED_PHASES} draws of this sampler it has modulus {mean:.3g}. U[-π, π] has 0, "
                "and so have b and b + π/2 with equal chances."
            )

    def numbers(self, n_features):
        return n_features if callable(self.kernel_name) else self._law.uniforms(n_features)

    def drawing_bytes(self, n_features, n_components):
        return MEMORY[self._sampling](self.numbers(n_features), n_components)

    def sample(self, n_features, n_components, seed):
        paired = self.form == "paired"
        count = -(-n_components // 2) if paired else n_components
        if callable(self.phases):
            phases = sampled(self.phases, seed, "phases", count, 1)[:, 0] / (2 * np.pi)
            phases -= np.round(phases)
        else:
            phases = uniforms(seed, "phases", count, 1)[:, 0] - 0.5
        if callable(self.kernel_name):
            stretch = np.ones(n_features)
            frequencies: Any = sampled(self.kernel_name, seed, "frequencies", count, n_features)
        else:
            law = self._law
            stretch = law.stretch(
                np.broadcast_to(self.resolved.gamma, n_features).astype(np.float64)
            )
            frequencies = SAMPLINGS[self._sampling](law, n_features, count, seed)
        if isinstance(frequencies, np.ndarray):
            frequencies *= stretch
        return FourierFunctions(self, n_features, n_components, frequencies, stretch, phases)

    def profile(self, n_features):
        if self.form == "paired":
            raise ValueError(
                "Paired cosines and sines have no phase, and cos(0) = 1 is not 0: the inequality "
                "is for form='phase'."
            )
        if not self.independent:
            raise ValueError(f"The inequality is for independent frequencies, not {self!r}.")
        if callable(self.phases):
            raise ValueError("The inequality is for phases that are uniform on [-π, π].")
        if callable(self.kernel_name):
            raise ValueError("Nothing is known of the frequencies of a sampler of yours.")
        law = self._law
        stretch = law.stretch(np.broadcast_to(self.resolved.gamma, n_features).astype(np.float64))
        # A cosine is a sine with another phase, still uniform on [-π, π].
        moment = law.second_moment * float(stretch @ stretch) + np.pi**2 / 3
        return Profile(1.0, 0.0, moment, extended=True)

    def closed_form(self, X, Y):
        if callable(self.kernel_name):
            raise self.no_closed_form("the frequencies come from a sampler of yours")
        law = self._law
        stretch = law.stretch(np.asarray(self.resolved.gamma, dtype=np.float64))
        return law.kernel(*(rows.dense.astype(np.float64, copy=False) * stretch for rows in (X, Y)))


@dataclass(frozen=True, eq=False)
class FourierFunctions(Functions):
    """√2 cos(ω'x + b) for drawn ω and b, the phases b in turns (b/2π); or √2 (cos, sin) ω'x."""

    frequencies: NDArray | HadamardFrequencies
    stretch: NDArray
    phases: NDArray

    def evaluate(self, rows: Rows) -> NDArray:
        if isinstance(self.frequencies, HadamardFrequencies):
            turns = self.frequencies.products(rows, self.stretch / (2 * np.pi))
        else:
            turns = rows.products(self.frequencies, 2 * np.pi)
        if self.family.form == "phase":
            return rows.cosines(turns, self.phases)
        values = rows.paired_cosines(turns)
        if self.n_components % 2:
            alone = rows.cosines(turns[:, -1:].copy(), self.phases[-1:])
            values = np.hstack([values[:, :-2], alone])
        return values
