"""What documents claim, and whether it was found: claims.json in every document's folder.

A claim has an ``id``, the ``claim`` in words, the ``published`` value (a number, or null where the
claim is one in words), a ``tolerance`` as a share of it, and the ``source``. Errors are meant, so
that less is better.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPRODUCED, BETTER, EQUAL, FAILED, NONE = (
    "reproduced",
    "better",
    "equal within its error",
    "not reproduced",
    "no verdict",
)


@dataclass(frozen=True)
class Claim:
    """What a document says."""

    id: str
    claim: str
    source: str
    published: float | None = None
    tolerance: float = 0.0
    unit: str = ""


def of(document: str) -> dict[str, Claim]:
    """The claims of a document, by their ids."""
    entries = json.loads((HERE / document / "claims.json").read_text())
    return {entry["id"]: Claim(**entry) for entry in entries}


def verdict(claim: Claim, ours: float | None, error: float = 0.0) -> str:
    """How an error that was found compares with the published one.

    "reproduced" within the tolerance, "better" below it; "equal within its error" where two
    standard errors of the test set reach back to it.
    """
    if ours is None or claim.published is None:
        return NONE
    published, room = claim.published, claim.tolerance * claim.published
    if ours < published - room:
        return BETTER
    if ours <= published + room:
        return REPRODUCED
    return EQUAL if ours - 2 * error <= published + room else FAILED


def verdict_of_slope(claim: Claim, ours: float) -> str:
    """How an exponent compares with the published one, which it should not exceed."""
    assert claim.published is not None
    room = claim.tolerance * abs(claim.published)
    if ours < claim.published - room:
        return BETTER
    return REPRODUCED if ours <= claim.published + room else FAILED
