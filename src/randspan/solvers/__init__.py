"""From moments, factors or Gram matrices to weights; one file a method.

`cholesky` solves for one alpha, `spectrum` for all of them at once. Solvers know neither X nor
where it lives; each returns a `Solution`, or refuses with `IllConditioned`.
"""

from .solution import IllConditioned, Solution
from .spectrum import Spectrum

__all__ = ["IllConditioned", "Solution", "Spectrum"]
