"""A shop's table as `pandas.read_csv` reads it, beside the same one cleaned by hand.

Twelve columns: a price in euros, a discount in percent, a weight with a decimal comma, a balance
with negative numbers in parentheses, dates in three forms, a flag in several spellings, a region,
two identifiers and a comment. Cleaned, they are numbers, dates, a flag and a region, without the
identifiers and with a flag for the comment. The errors should be the same, and a warning should
name every column that was not taken for what it looks like.
"""

from __future__ import annotations

import io
import time
import warnings
from typing import Any

import numpy as np

import randspan as rs

from . import report

name = "messy"

ROWS, SEEDS = 4_000, (1, 2, 3)
FAMILIES = {"fourier": "fourier", "stumps": "stumps", "trees": "trees", "auto": "auto"}
RENAMED = (
    *("price", "discount", "weight", "balance", "ordered", "delivered", "signed", "member"),
    *("customer", "uuid", "comment"),
)


def tables(n: int, seed: int) -> tuple[Any, Any, np.ndarray]:
    """The table as it was read, the same cleaned, and targets."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    price, discount = np.exp(rng.normal(6, 1, n)).round(2), rng.integers(0, 60, n)
    weight, balance = np.exp(rng.normal(5, 1.5, n)).round(1), rng.normal(0, 2_000, n).round(2)
    first = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1_000, n), "D")
    days = [first + pd.to_timedelta(rng.integers(0, 40, n), "D") for _ in range(3)]
    member, commented = rng.random(n) < 0.4, rng.random(n) < 0.7
    region = rng.choice(["north", "south", "east", "west"], n)
    y = np.log(price) * (1 - discount / 100) + 0.3 * np.log(weight) + balance / 2_000
    y += np.sin(2 * np.pi * days[0].day_of_year / 365) + 0.5 * commented
    y += np.where(member, 1.0, 0.0) + (region == "north") + 0.3 * rng.normal(size=n)
    words = np.where(member, *(rng.choice(w, n) for w in (["yes", "Yes", "Y"], ["no", "NO", "n"])))
    clean = pd.DataFrame(
        {
            "price": price,
            "discount": discount / 100,
            "weight": weight,
            "balance": balance,
            "ordered": days[0],
            "delivered": days[1],
            "signed": days[2],
            "member": member,
            "region": region,
            "commented": commented,
        }
    )
    messy = pd.DataFrame(
        {
            "customer": [f"C-{i:06d}" for i in rng.permutation(10 * n)[:n]],
            "price": [f"€{value:,.2f}" for value in price],
            "discount": [f"{value}%" for value in discount],
            "weight": [_comma(f"{value:,.1f}") for value in weight],
            "balance": [f"({-v:,.2f})" if v < 0 else f"{v:,.2f}" for v in balance],
            "ordered": days[0].strftime("%Y-%m-%d"),
            "delivered": days[1].strftime("%d/%m/%Y"),
            "signed": days[2].strftime("%b %d, %Y"),
            "member": words,
            "region": region,
            "uuid": [f"{a:08x}-{b:04x}" for a, b in rng.integers(0, 2**16, (n, 2)) * (2**16, 1)],
            "comment": [f"note {i} of the day" if c else "" for i, c in enumerate(commented)],
        }
    )
    file = io.StringIO()
    messy.to_csv(file, index=False)
    file.seek(0)
    return pd.read_csv(file), clean, y


def _comma(text: str) -> str:
    return text.translate(str.maketrans(",.", ".,"))


def judged(family: Any, X: Any, y: np.ndarray, rows: int) -> dict[str, Any]:
    """R² on the rows that were not fitted, seconds, and what was warned of."""
    model = rs.SpanRegressor(family, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X[:rows], y[:rows])
        seconds = time.perf_counter() - start
        away = model.predict(X[rows:]) - y[rows:]
    told = [str(one.message) for one in caught]
    return {
        "r2": float(1 - np.mean(away**2) / np.var(y[rows:])),
        "seconds": seconds,
        "told": sum(any(f"{name!r}" in one for one in told) for name in RENAMED),
        "warnings": told,
    }


def run(quick: bool) -> dict[str, Any]:
    n, seeds = (300, SEEDS[:1]) if quick else (ROWS, SEEDS)
    families = {"stumps": "stumps"} if quick else FAMILIES
    found = []
    for which, family in families.items():
        for seed in seeds:
            messy, clean, y = tables(2 * n, seed)
            pair = (judged(family, messy, y, n), judged(family, clean, y, n))
            found.append({"family": which, "seed": seed, "messy": pair[0], "clean": pair[1]})
    worst = max(one["clean"]["r2"] - one["messy"]["r2"] for one in found)
    silent = max(len(RENAMED) - one["messy"]["told"] for one in found)
    bars = [
        report.bar("R² below that of the cleaned table, at most", worst, "<=", 0.01),
        report.bar("columns that were read otherwise without a word", silent, "<=", 0),
    ]
    return {"rows": n, "runs": found, "bars": bars}


def text(result: dict[str, Any]) -> str:
    rows = [
        (
            *(one["family"], str(one["seed"])),
            *(f"{one[which]['r2']:.4f}" for which in ("messy", "clean")),
            *(report.number(one[which]["seconds"]) for which in ("messy", "clean")),
            str(one["messy"]["told"]),
        )
        for one in result["runs"]
    ]
    head = ("", "seed", "R², as read", "R², cleaned", "s, as read", "s, cleaned", "columns named")
    title = f"A table of twelve columns as pandas reads it, {result['rows']:,} rows to learn from"
    return f"{title}\n\n{report.table(head, rows)}\n\n{report.bars(result['bars'])}"
