"""What the steps of a solver take, in seconds, as measured: multiplications alone mislead.

An eigendecomposition of n × n numbers takes ten times as long as a Cholesky factor, and cannot be
shared out; products in float32 take half of those in float64. The constants are seconds of one
thread for 10⁹ multiplications (`python -m benchmarks rates` prints them anew, and whether what is
chosen by them is the faster one). Only their ratios matter.
"""

from __future__ import annotations

# AB of n × n matrices takes n³ multiplications, and so do the others, whatever they really do.
PRODUCTS_32, PRODUCTS_64 = 0.019, 0.038
EIGENVECTORS = 0.15
# L, and L⁻¹, in tiles.
FACTOR, INVERSE = 0.012, 0.015
# Threads that share the work: a fixed number, since what is chosen by the threads of one machine
# would have other bits on another.
THREADS = 2
# Factorisations that a search for alpha takes, more or less.
USUAL_STEPS = 5


def dual_seconds(n: int, k: int, searches: bool) -> float:
    """Z̃Z̃', then its eigenvectors U, Z̃'U, and leverages; or L, L⁻¹ and the weights."""
    products = n**2 * k * PRODUCTS_64
    if searches:
        shared, alone = products / 2, EIGENVECTORS * n**3 + products
        shared += products  # leverages of rows, block by block
    else:
        shared, alone = products / 2 + (FACTOR + INVERSE) * n**3, products / 2
    return 1e-9 * (shared / THREADS + alone)


def cholesky_seconds(n: int, k: int, searches: bool) -> float:
    """Moments; then L and L⁻¹ of every ridge that is tried, and the leverages of rows by these."""
    ridge = (FACTOR + INVERSE) * k**3 + n * k**2 * PRODUCTS_64 / 2
    steps = USUAL_STEPS if searches else 1
    return 1e-9 * (n * k**2 * PRODUCTS_32 + steps * ridge) / THREADS
