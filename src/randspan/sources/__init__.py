"""Rows, targets, weights and keys in blocks; nothing is computed here.

`Source` is what everything else asks: blocks in order, some rows, vectors of all rows.
`ArraySource` has its rows in memory, `PassSource` reads them anew in every pass, `PickedSource` has
some of another in an order of its own. `blocks` is what a person types.
"""

from .arrays import ArraySource, of_arrays
from .base import EVERY, Array, Block, Matrix, Source, Targets
from .callables import Blocks, blocks, parts_of
from .passes import PassSource
from .picked import PickedSource

__all__ = [
    "EVERY",
    "Array",
    "ArraySource",
    "Block",
    "Blocks",
    "Matrix",
    "PassSource",
    "PickedSource",
    "Source",
    "Targets",
    "blocks",
    "of_arrays",
    "parts_of",
]
