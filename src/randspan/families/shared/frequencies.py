"""Four ways to choose frequencies, all with the same law for each single one.

``iid`` frequencies are independent. ``orthogonal`` ones come in blocks of d mutually orthogonal
directions with independent lengths; ``qmc`` ones are a scrambled Sobol' sequence pushed through
the law; ``structured`` ones are blocks that exist only as a product of diagonals, a permutation
and two Hadamard matrices. Since the law of each single frequency is unchanged, the
kernel stays unbiased. Orthogonal and QMC frequencies lower its variance; structured ones share
their random diagonals, which raises it a little (1.4 times in 8 dimensions), and are for speed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...blas import LIMITS
from .randomness import drawing_bytes, normals, uniforms
from .rows import Rows
from .spectra import Law

# Numbers that are turned into frequencies at once.
AT_ONCE = 2**20


def iid(law: Law, d: int, count: int, seed: int) -> NDArray:
    table, out = uniforms(seed, "frequencies", count, law.uniforms(d)), np.empty((count, d))
    step = max(1, AT_ONCE // d)
    for start in range(0, count, step):
        out[start : start + step] = law.frequencies(table[start : start + step])
    return out


# Bits of Sobol' points.
BITS = 52
# Directions that are made orthogonal together, and entries of small blocks that are.
PANEL, TOGETHER = 64, 2**16


def qmc(law: Law, d: int, count: int, seed: int) -> NDArray:
    return law.frequencies(sobol(law.uniforms(d), count, seed))


def sobol(dimensions: int, count: int, seed: int) -> NDArray[np.float64]:
    """The first ``count`` points of a scrambled Sobol' sequence, each uniform on (0, 1)^d."""
    from scipy.stats import qmc as sequences

    most = sequences.Sobol.MAXDIM
    if dimensions > most:
        raise ValueError(
            f"sampling='qmc' needs {dimensions} Sobol' dimensions, there are {most}: use "
            "sampling='orthogonal' or 'iid' for so many columns."
        )
    sequence = sequences.Sobol(
        dimensions, scramble=True, bits=BITS, rng=np.random.default_rng(seed)
    )
    points = sequence.random_base2(max(0, int(np.ceil(np.log2(count)))))[:count]
    return points + 2.0**-53  # the middle of a point's last digit, away from 0 and 1


def lengths(law: Law, d: int, count: int, seed: int) -> NDArray[np.float64]:
    """Lengths of frequencies of a radial law in d dimensions: a chi variable times the mixing."""
    u = uniforms(seed, "lengths", count, 2)
    return np.sqrt(2 * special.gammaincinv(d / 2, u[:, 0])) * law.mixing(u[:, 1])


def orthogonal(law: Law, d: int, count: int, seed: int) -> NDArray:
    # Gram-Schmidt in panels of fixed size, so that a longer draw repeats a shorter one bit for
    # bit and d × d matrices are built only as far as they are needed. One thread: the number of
    # threads must not reach the draw.
    directions = np.empty((count, d))
    # Blocks of one panel are orthogonalised together: one by one, the calls cost more than the
    # work. The bits are the same, and a stack stays below a few megabytes.
    together = max(1, TOGETHER // d**2) if d <= PANEL else 1
    with LIMITS.at_most(1):
        for start in range(0, count, together * d):
            part = directions[start : start + together * d]
            height = _up(len(part), d)
            numbers = range(start // d, (start + len(part) - 1) // d + 1)
            gaussians = np.stack([normals(seed, f"directions {i}", height, d) for i in numbers])
            basis = np.empty_like(gaussians)
            for s in range(0, height, PANEL):
                rows = gaussians[:, s : s + PANEL]
                known = basis[:, :s]
                for _ in range(2):  # twice is enough for orthogonality to rounding
                    rows = rows - (rows @ known.mT) @ known
                q, r = np.linalg.qr(rows.mT)
                # The sign of r makes q uniform on the sphere.
                signs = np.sign(np.diagonal(r, axis1=1, axis2=2))
                basis[:, s : s + PANEL] = (q * signs[:, None]).mT
            part[:] = basis.reshape(-1, d)[: len(part)]
    return directions * lengths(law, d, count, seed)[:, None]


def _up(count: int, most: int) -> int:
    return min(-(-count // PANEL) * PANEL, most)


@dataclass(frozen=True, eq=False)
class HadamardFrequencies:
    """Frequencies S·H·G·Π·H·B in blocks of the next power of two, never written out.

    B are random signs, Π a permutation, G normal, H Hadamard matrices. A row of H·G·Π·H·B is a
    uniform direction: H_i·G is a normal vector, and what follows it is orthogonal. S gives it the
    length of the law, so each frequency has exactly the law in every dimension (a product of signs
    and Hadamard matrices alone has not, in few dimensions). x costs O(k log d).
    """

    n_features: int
    count: int
    signs: NDArray
    permutations: NDArray
    gains: NDArray
    scales: NDArray

    @classmethod
    def draw(cls, law: Law, d: int, count: int, seed: int) -> HadamardFrequencies:
        size = 1 << max(0, int(d - 1).bit_length())
        blocks = -(-count // size)
        signs = np.sign(uniforms(seed, "signs", blocks, size) - 0.5)
        permutations = np.argsort(uniforms(seed, "permutations", blocks, size), axis=1)
        gains = normals(seed, "gains", blocks, size)
        norms = np.linalg.norm(gains, axis=1, keepdims=True) * np.sqrt(size)
        scales = lengths(law, size, blocks * size, seed).reshape(blocks, size) / norms
        return cls(d, count, signs, permutations.astype(np.int32), gains, scales)

    def products(self, rows: Rows, stretch: NDArray) -> NDArray:
        """x̃·stretch times every frequency."""
        parts = (self.signs, self.permutations, self.gains, self.scales)
        return rows.hadamard(stretch, *parts, self.count)


SAMPLINGS = {
    "iid": iid,
    "orthogonal": orthogonal,
    "qmc": qmc,
    "structured": HadamardFrequencies.draw,
}


def _memory_of_qmc(width: int, count: int) -> int:
    # scipy scrambles with a matrix of bits for every dimension, masks it into another, and makes
    # points up to a power of two.
    return 16 * (BITS + 2) ** 2 * width + drawing_bytes(2 * count, width)


def _memory_of_orthogonal(width: int, count: int) -> int:
    stack = min(TOGETHER, (count + width) * width)
    return 64 * max(stack, _up(count, width) * width) + drawing_bytes(count, width)


def _memory_of_structured(width: int, count: int) -> int:
    size = 1 << max(0, int(width - 1).bit_length())
    return 128 * -(-count // size) * size + drawing_bytes(count, 1) + 64 * width


#: at most how much memory a draw takes, for frequencies of so many numbers and so many of them
MEMORY: dict[str, Callable[[int, int], int]] = {
    "iid": lambda width, count: drawing_bytes(count, width),
    "orthogonal": _memory_of_orthogonal,
    "qmc": _memory_of_qmc,
    "structured": _memory_of_structured,
}
