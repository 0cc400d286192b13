"""Random calls of random estimators on random tables: every one ends well, or in an error of ours.

10,000 calls from a seed: regressors, classifiers and transformers of all families (`families`), on
tables that are extreme, sparse, mixed, repeated or few (`tables`), fitted at once or in a stream,
then given more rows, merged, forgotten, copied or saved (`walks`), with mistakes among them
(`mistakes`). A call ends well if all its answers are what they should be (`oracle`): of the shape
of the targets, finite, within the range where they are clipped, on training rows no worse than a
constant; a seed repeats its bits. Or it is refused by a `ValueError` or `TypeError` (or a
`MemoryError` that says what was needed) that this library or scikit-learn's validation raises on
purpose, and leaves the estimator as it was. Anything else is a defect: other exceptions, numpy's
words in place of ours, a mistake that was taken, warnings of numpy or of what is deprecated.

``python -m benchmarks fuzz --seeds 200000:300000``; the first calls run in the tests.
``python -m benchmarks.fuzz 123`` repeats one call, and shows where it ends.
"""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from collections import Counter
from typing import Any

import numpy as np

from .. import report
from . import oracle
from .calls import estimator
from .tables import table
from .walks import Walk

name = "fuzz"
slow = True

CALLS, QUICK = 10_000, 30
# One call in so many is made twice.
TWICE = 10


def run(quick: bool, seeds: range | None = None) -> dict[str, Any]:
    seeds = range(QUICK if quick else CALLS) if seeds is None else seeds
    kinds: Counter[str] = Counter()
    bad, taken, begun = [], [], time.process_time()
    for seed in seeds:
        start = time.process_time()
        kind, words = outcome(seed)
        taken.append((time.process_time() - start, seed))
        kinds[kind] += 1
        if kind.startswith("BAD"):
            bad.append((seed, words))
            print(f"call {seed}: {words}", file=sys.stderr, flush=True)
    return {
        "calls": len(seeds),
        "first": seeds.start,
        "kinds": dict(kinds.most_common()),
        "bad": bad,
        "ms": 1e3 * (time.process_time() - begun) / len(seeds),
        "slowest": sorted(taken, reverse=True)[:5],
        "bars": [report.bar("silent or foreign outcomes", len(bad), "<=", 0)],
    }


def text(result: dict[str, Any]) -> str:
    rows = [(kind, str(count)) for kind, count in result["kinds"].items()]
    slowest = ", ".join(f"{seed} ({seconds:.1f} s)" for seconds, seed in result["slowest"])
    parts = [report.table(("outcome", "calls"), rows), report.bars(result["bars"])]
    parts.append(f"{result['ms']:.1f} ms of the processor a call; slowest: {slowest}")
    parts += [f"call {seed}: {what}" for seed, what in result["bad"][:20]]
    return "\n\n".join(parts)


def outcome(seed: int, show: bool = False) -> tuple[str, str]:
    """How one call ends: a kind, and what there is to say."""
    kind, words, answers = _ended(seed, show)
    if seed % TWICE == 0 and not kind.startswith("BAD"):
        again = _ended(seed, False)
        try:
            oracle.expect(again[0] == kind, f"the second time {again[0]}, {again[1]}")
            for one, other in zip(answers, again[2], strict=True):
                oracle.same(other, one, "the second time")
        except oracle.Defect as defect:
            return "BAD", f"{words} -> {defect}"
    return kind, words


def _ended(seed: int, show: bool) -> tuple[str, str, list]:
    rng = np.random.default_rng([8, seed])
    words, walk = "nothing yet", None
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            rows = table(rng)
            model, name, words = estimator(rng, rows)
            words += f" of {rows.kind}"
            if show:
                print(words)
            walk = Walk(rng, model, name, rows)
            kind = walk.run()
            warned = oracle.warned(seen)
            oracle.expect(warned is None, str(warned))
        except oracle.Defect as defect:
            if show:
                traceback.print_exc()
            kind, words = "BAD", f"{words} -> {defect}"
    steps = walk.steps if walk else []
    return kind, f"{words} [{', '.join(steps)}]", walk.answers if walk else []
