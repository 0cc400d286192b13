"""Kinds that several schemas use."""

from __future__ import annotations

from ..arrays import NUMBERS, Array
from ..compounds import Either, Listing, Mapping, Tuple, optional
from ..kinds import Choice, Flag, Null, Number, Text, Whole


class Own(Array):
    """An array that is a parameter, and its user's to write to: it is shared with nobody."""

    def read(self, node, of, where, scope):
        array = super().read(node, of, where, scope)
        of.budget.take(array.nbytes, where)
        return array.copy(order="K")


#: seeds of draws, 63 bits
SEED = Whole(0, 2**63 - 1)
SHARE = Number(0, 1)
ANY = Number(any=True)
POSITIVE = Number(1e-300)
REASON = Text(10_000)
NAME = Text(1_000)

#: a bandwidth, one or one for every column
GAMMA = Either(Number(0), Array(("f8",), ("d",), low=0))

_one = Either(Number(any=True), Own(NUMBERS, None, finite=False))
_row = Either(_one, Listing(_one), Tuple(_one))
#: numbers as a user writes them: one, an array, or lists of these
NUMBERS_GIVEN = Either(_one, Listing(_row), Tuple(_row))
#: a number, a word or a flag
PLAIN = Either(Null(), Flag(), Number(any=True), Text(1_000))
OPTIONS = optional(Mapping(Text(100), PLAIN, most=100))


def word_or(word: str, *others) -> Either:
    """A word, or something else."""
    return Either(Choice(word), *others)
