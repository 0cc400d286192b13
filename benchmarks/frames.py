"""Random data frames: kinds of columns, holes, unseen levels, other libraries.

Every frame is fitted by a family and a loss drawn at random, in pandas, polars or pyarrow, and
predicts rows with levels it has not seen, holes where it had none and columns of nothing. What may
come out are finite predictions, the same from all three libraries, or an error of ours (ValueError,
TypeError); anything else is counted and shown.
"""

from __future__ import annotations

import datetime
import warnings
from typing import Any

import numpy as np

import randspan as rs

from . import report

name = "frames"
slow = True

FRAMES = 2_000
FAMILIES = ("fourier", "stumps", "units", "bumps", "bins", "trees", "networks", "browniansheets")
KINDS = (
    *("number", "whole", "tiny", "flag", "maybe flag", "word", "many words", "category", "date"),
    *("time", "duration", "nothing", "constant", "numbers as objects", "mixed", "infinite"),
)


def run(quick: bool) -> dict[str, Any]:
    count = 30 if quick else FRAMES
    outcomes: dict[str, int] = {}
    bad = []
    for seed in range(count):
        what, why = one(seed)
        outcomes[what] = outcomes.get(what, 0) + 1
        if what == "bad":
            bad.append({"seed": seed, "why": why})
    bars = [report.bar("frames that end badly", len(bad), "<=", 0)]
    return {"frames": count, "outcomes": outcomes, "bad": bad, "bars": bars}


def text(result: dict[str, Any]) -> str:
    rows = [(what, str(count)) for what, count in result["outcomes"].items()]
    lines = [f"seed {one['seed']}: {one['why']}" for one in result["bad"][:20]]
    return "\n\n".join(
        [report.table(("outcome", "frames"), rows), *lines, report.bars(result["bars"])]
    )


def one(seed: int) -> tuple[str, str]:
    """Fit and predict a frame; what came of it, and why."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 120))
    kinds = [
        str(kind)
        for kind in rng.choice(KINDS[:-2] if rng.random() < 0.9 else KINDS, rng.integers(1, 7))
    ]
    columns = {f"c{j} {kind}": values(kind, n, rng) for j, kind in enumerate(kinds)}
    later = {f"c{j} {kind}": values(kind, 9, rng, new=True) for j, kind in enumerate(kinds)}
    classes = rng.random() < 0.4
    y = rng.choice(["a", "b", "c"], n) if classes else rng.normal(size=n)
    family = str(rng.choice(FAMILIES))
    build = rs.SpanClassifier if classes else rs.SpanRegressor
    named = next((column for column in columns if "whole" in column), None)
    options = {"categories": [named]} if named is not None and rng.random() < 0.5 else {}
    libraries = [pandas, polars, arrow] if seed % 5 == 0 else [(pandas, polars, arrow)[seed % 3]]
    found = []
    for library in libraries:
        try:
            frame, new = library(columns), library(later)
        except Exception:  # the library itself does not want such a column
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = build(family, 10, random_state=0, **options).fit(frame, y)
                predicted = model.predict(new)
        except (ValueError, TypeError) as error:
            found.append(f"refused: {type(error).__name__}")
            if not str(error):
                return "bad", "an error without a word"
            continue
        except Exception as error:
            return "bad", f"{type(error).__name__}: {error} ({kinds}, {family}, {library.__name__})"
        if not classes and not np.isfinite(predicted).all():
            return "bad", f"predictions are not finite ({kinds}, {family})"
        found.append(np.asarray(predicted).tobytes())
    if not found:
        return "no such frame", ""
    if len(set(found)) > 1:
        return "bad", f"libraries differ ({kinds}, {family}, {[str(f)[:30] for f in found]})"
    return (found[0], "") if isinstance(found[0], str) else ("predictions", "")


def values(kind: str, n: int, rng: np.random.Generator, new: bool = False) -> list:
    """A column of Python objects, None where something is missing."""
    start = datetime.datetime(2020, 1, 1)
    made = {
        "number": lambda: float(rng.normal() * 10.0 ** rng.integers(-3, 6)),
        "whole": lambda: int(rng.integers(0, 6)),
        "tiny": lambda: float(rng.normal() * 1e-9),
        "flag": lambda: bool(rng.random() < 0.5),
        "maybe flag": lambda: bool(rng.random() < 0.5),
        "word": lambda: str(rng.choice(["red", "green", "blue", *(["new"] if new else [])])),
        "many words": lambda: f"w{rng.integers(0, 90 if new else 60)}",
        "category": lambda: str(rng.choice(["x", "y", "ü", ""])),
        "date": lambda: (start + datetime.timedelta(days=int(rng.integers(0, 900)))).date(),
        "time": lambda: start + datetime.timedelta(minutes=int(rng.integers(0, 10**6))),
        "duration": lambda: datetime.timedelta(seconds=int(rng.integers(0, 10**6))),
        "nothing": lambda: None,
        "constant": lambda: 3.0,
        "numbers as objects": lambda: float(rng.integers(0, 3)),
        "mixed": lambda: [1.5, "word"][int(rng.integers(2))],
        "infinite": lambda: [1.0, float("inf")][int(rng.integers(2))],
    }[kind]
    holes = 0.0 if kind == "flag" or rng.random() < (0.3 if new else 0.6) else rng.random() * 0.7
    return [None if rng.random() < holes else made() for _ in range(n)]


def pandas(columns: dict[str, list]):
    import pandas as pd

    found = {}
    for name, values in columns.items():
        as_objects = "objects" in name or "mixed" in name or "maybe" in name or "date" in name
        kind = "category" if "category" in name else object if as_objects else None
        found[name] = pd.Series(values, dtype=kind)
    return pd.DataFrame(found)


def polars(columns: dict[str, list]):
    import polars as pl

    return pl.DataFrame({name: pl.Series(name, values) for name, values in columns.items()})


def arrow(columns: dict[str, list]):
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})
