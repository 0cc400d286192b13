"""Random tables: rows, targets and weights that are extreme, sparse, mixed, repeated or few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

Rng = np.random.Generator


@dataclass(frozen=True)
class Table:
    """What a call is made with; ``new`` are rows to predict, ``numbers`` X as a dense array."""

    X: Any
    y: Any
    weights: np.ndarray | None
    new: Any
    kind: str
    classes: bool
    numbers: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return len(self.y)


def take(X: Any, rows: np.ndarray) -> Any:
    """Some rows, of whatever kind of table."""
    if isinstance(X, list):
        return [X[i] for i in rows]
    if isinstance(X, (pd.DataFrame, pd.Series)):
        return X.iloc[rows]
    if isinstance(X, pa.Table):
        return X.take(pa.array(rows))
    if sparse.issparse(X):
        return X.tocsr()[rows].asformat(X.format)
    return X[rows]


def chosen(rng: Rng, odds: dict[str, float]) -> str:
    names = list(odds)
    p = np.array(list(odds.values()))
    return names[rng.choice(len(names), p=p / p.sum())]


# -- rows ------------------------------------------------------------------------------------------

NUMBERS: dict[str, Callable[[Rng, int, int], np.ndarray]] = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "integers": lambda rng, n, d: rng.integers(0, 3, size=(n, d)).astype(float),
    "constant": lambda rng, n, d: np.full((n, d), rng.choice([0.0, 1.0, 1e6, 0.1])),
    "one constant": lambda rng, n, d: np.where(np.arange(d) == 0, 0.1, rng.normal(size=(n, d))),
    "duplicated": lambda rng, n, d: rng.normal(size=(max(n // 4, 1), d))[
        rng.integers(0, max(n // 4, 1), n)
    ],
    "huge": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.choice([30, 60, 70, 200]),
    "tiny": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.choice([-30, -60, -70, -300]),
    "mixed scales": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-70, 70, d),
    "far from zero": lambda rng, n, d: 1e8 + rng.normal(size=(n, d)),
    "rare": lambda rng, n, d: (rng.random(size=(n, d)) < 0.05).astype(float),
    "heavy tails": lambda rng, n, d: rng.standard_cauchy(size=(n, d)) ** 3,
    "collinear": lambda rng, n, d: rng.normal(size=(n, 1)) * np.arange(1, d + 1),
    "nearly equal": lambda rng, n, d: 1 + 1e-9 * rng.normal(size=(n, d)),
    "positive": lambda rng, n, d: rng.exponential(size=(n, d)),
    "few entries": lambda rng, n, d: rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3),
}
USUAL = ("normal", "few entries", "integers", "duplicated")
PLAIN = {name: 3.0 if name in USUAL else 1.0 for name in NUMBERS}

FORMS = {
    "array": 8.0,
    "float32": 1.0,
    "Fortran order": 0.5,
    "read only": 0.5,
    "every second row": 0.3,
    "list": 0.3,
    "whole numbers": 0.5,
    "holes": 1.0,
    "csr": 1.0,
    "csc": 0.6,
    "coo": 0.6,
    "pandas": 0.4,
    "polars": 0.4,
    "mixed pandas": 0.7,
    "mixed polars": 0.7,
    "mixed pyarrow": 0.2,
    "objects": 0.3,
}


def rows(rng: Rng, n: int, d: int) -> tuple[Any, np.ndarray | None, str]:
    """X, the same as numbers where it is numbers, and words."""
    form = chosen(rng, FORMS)
    if form.startswith("mixed") or form == "objects":
        made = mixed(rng, n, d)
        return MIXED[form](made), None, form
    kind = chosen(rng, PLAIN)
    X = NUMBERS[kind](rng, n, d)
    if rng.random() < 0.1:  # copies of rows
        X = X[rng.integers(0, n, size=n)]
    X = SHAPED[form](rng, X)
    numbers = None
    if form != "holes":
        numbers = np.asarray(X.toarray() if sparse.issparse(X) else X)
    return X, numbers, f"{kind}, {form}"


def _every_second(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.repeat(X, 2, axis=0)[::2]


def _read_only(rng: Rng, X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


def _whole(rng: Rng, X: np.ndarray) -> np.ndarray:
    kind = rng.choice(["int8", "int64", "uint16", "bool"])
    return np.abs(np.clip(np.nan_to_num(X), -100, 100)).astype(kind)


def _holes(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.where(rng.random(X.shape) < rng.choice([0.1, 0.5]), np.nan, X)


def _sparse(form: str) -> Callable[[Rng, np.ndarray], Any]:
    def make(rng: Rng, X: np.ndarray) -> Any:
        stored = (X != 0) | (rng.random(X.shape) < 0.1)  # some zeros are stored
        at = np.nonzero(stored)
        kind = sparse.coo_array if rng.random() < 0.7 else sparse.coo_matrix
        return kind((X[at], at), shape=X.shape).asformat(form)

    return make


def _named(X: np.ndarray) -> list[str]:
    return [f"column {j}" for j in range(X.shape[1])]


SHAPED: dict[str, Callable[[Rng, np.ndarray], Any]] = {
    "array": lambda rng, X: X,
    "float32": lambda rng, X: np.clip(X, -1e38, 1e38).astype(np.float32),
    "Fortran order": lambda rng, X: np.asfortranarray(X),
    "read only": _read_only,
    "every second row": _every_second,
    "list": lambda rng, X: X.tolist(),
    "whole numbers": _whole,
    "holes": _holes,
    "csr": _sparse("csr"),
    "csc": _sparse("csc"),
    "coo": _sparse("coo"),
    "pandas": lambda rng, X: pd.DataFrame(X, columns=_named(X)),
    "polars": lambda rng, X: pl.DataFrame(X, schema=_named(X)),
}


# -- tables of mixed columns -----------------------------------------------------------------------

COLUMNS: dict[str, Callable[[Rng, int], Any]] = {
    "float": lambda rng, n: rng.normal(size=n),
    "holes": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
    "whole": lambda rng, n: rng.integers(-5, 100, size=n),
    "bool": lambda rng, n: rng.random(n) < 0.5,
    "words": lambda rng, n: rng.choice(["red", "green", "blue", "a'b\"", ""], n).astype(object),
    "words, holes": lambda rng, n: np.where(
        rng.random(n) < 0.3, None, rng.choice(["x", "y"], n).astype(object)
    ),
    "many words": lambda rng, n: np.array([f"w{i}" for i in rng.integers(0, n, n)], dtype=object),
    "numerals": lambda rng, n: rng.integers(0, 20, n).astype(str).astype(object),
    "amounts": lambda rng, n: np.array(
        [f"€{v:,.2f}" for v in rng.exponential(1_000, n)], dtype=object
    ),
    "percent": lambda rng, n: np.array([f"{i}%" for i in rng.integers(0, 101, n)], dtype=object),
    "words, decimal comma": lambda rng, n: np.array(
        [f"{v:.1f}".replace(".", ",") for v in rng.normal(0, 50, n)], dtype=object
    ),
    "written days": lambda rng, n: np.array(
        [f"{d:02d}/{m:02d}/2024" for d, m in zip(*rng.integers(1, 13, (2, n)), strict=True)],
        dtype=object,
    ),
    "yes, no": lambda rng, n: rng.choice(["yes", "No", "y", ""], n).astype(object),
    "days": lambda rng, n: np.datetime64("2020-01-01") + rng.integers(0, 900, n),
    "moments": lambda rng, n: (
        np.datetime64("2020-01-01T00:00:00", "us") + rng.integers(0, 10**13, n)
    ),
    "durations": lambda rng, n: rng.integers(0, 10**6, n).astype("timedelta64[s]"),
    "constant": lambda rng, n: np.full(n, "same", dtype=object),
    "nothing": lambda rng, n: np.full(n, np.nan),
}


def mixed(rng: Rng, n: int, d: int) -> pd.DataFrame:
    """A data frame of pandas with columns of all kinds."""
    names = list(COLUMNS)
    made = {}
    for j in range(d):
        kind = names[rng.integers(len(names))]
        values = pd.Series(COLUMNS[kind](rng, n))
        if "words" in kind and rng.random() < 0.3:
            values = values.astype("category")
        elif kind == "days":
            values = pd.to_datetime(values)
            values[rng.random(n) < 0.1] = pd.NaT
        elif kind == "whole" and rng.random() < 0.3:
            values = values.astype("Int64")
            values[rng.random(n) < 0.2] = pd.NA
        made[f"{kind} {j}"] = values
    return pd.DataFrame(made)


MIXED: dict[str, Callable[[pd.DataFrame], Any]] = {
    "mixed pandas": lambda X: X,
    "mixed polars": lambda X: pl.from_pandas(X),
    "mixed pyarrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
    "objects": lambda X: X.astype(object).to_numpy(),
}


# -- targets and weights ---------------------------------------------------------------------------

TARGETS: dict[str, Callable[[Rng, np.ndarray], Any]] = {
    "plain": lambda rng, y: y,
    "constant": lambda rng, y: np.full_like(y, rng.choice([0.0, 3.0, 1e30])),
    "huge": lambda rng, y: y * 10.0 ** rng.choice([30, 60, 70, 300]),
    "tiny": lambda rng, y: y * 10.0 ** rng.choice([-30, -60, -70, -300]),
    "small": lambda rng, y: y * 1e-8,
    "far": lambda rng, y: y + 1e8,
    "whole": lambda rng, y: np.round(y).astype(int),
    "flags": lambda rng, y: y > 0,
    "float32": lambda rng, y: y.astype(np.float32),
    "heavy": lambda rng, y: y**7 * 100,
    "list": lambda rng, y: y.tolist(),
    "series": lambda rng, y: pd.Series(y) if y.ndim == 1 else pd.DataFrame(y),
}
ODDS = {name: 8.0 if name == "plain" else 1.0 for name in TARGETS}

LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "numbers": lambda y: y,
    "words": lambda y: np.array(["no", "yes", "perhaps", "never"])[y],
    "objects": lambda y: np.array(["no", "yes", "perhaps", "never"], dtype=object)[y],
    "floats": lambda y: y.astype(float) - 1,
    "series": lambda y: pd.Series(np.array(["no", "yes", "perhaps", "never"])[y]),
    "categories": lambda y: pd.Series(np.array(["no", "yes", "more", "less"])[y], dtype="category"),
    "list": lambda y: y.tolist(),
}

WEIGHTS: dict[str, Callable[[Rng, int], np.ndarray]] = {
    "counts": lambda rng, n: rng.integers(0, 4, size=n).astype(float),
    "sum to one": lambda rng, n: rng.dirichlet(np.ones(n)),
    "huge": lambda rng, n: rng.integers(0, 4, size=n) * 10.0 ** rng.choice([20, 40, 49, 150]),
    "tiny": lambda rng, n: rng.integers(0, 4, size=n) * 10.0 ** rng.choice([-20, -40, -49, -150]),
    "wide": lambda rng, n: 10.0 ** rng.uniform(-8, 8, size=n),
    "one row": lambda rng, n: (np.arange(n) == rng.integers(n)).astype(float),
    "ones": lambda rng, n: np.ones(n, dtype=int),
}


def targets(rng: Rng, n: int) -> tuple[Any, str]:
    shape = one = chosen(rng, {"flat": 8, "one column": 0.3, "two": 1, "three": 0.3})
    shape = {"flat": (n,), "one column": (n, 1), "two": (n, 2), "three": (n, 3)}[one]
    form = chosen(rng, ODDS)
    return TARGETS[form](rng, rng.normal(size=shape)), f"{form} targets ({one})"


def labels(rng: Rng, n: int) -> tuple[Any, str]:
    count = int(rng.integers(2, 5))
    y = rng.integers(0, count, size=n)
    if rng.random() < 0.2:  # rare classes
        y = np.where(rng.random(n) < 0.9, 0, y)
    y[:2] = [0, 1]
    form = list(LABELS)[rng.integers(len(LABELS))]
    return LABELS[form](y), f"{form} of {count} classes"


def table(rng: Rng) -> Table:
    """A table of a random kind."""
    n, d = int(rng.integers(2, 9 if rng.random() < 0.2 else 60)), int(rng.integers(1, 6))
    classes = bool(rng.random() < 0.35)
    X, numbers, kind = rows(rng, n, d)
    y, words = labels(rng, n) if classes else targets(rng, n)
    weights, heavy = None, ""
    if rng.random() < 0.3:
        form = list(WEIGHTS)[rng.integers(len(WEIGHTS))]
        weights, heavy = WEIGHTS[form](rng, n), f", weights ({form})"
    new = take(X, rng.integers(0, n, size=int(rng.integers(1, 8))))
    if isinstance(new, np.ndarray) and new.dtype.kind == "f" and rng.random() < 0.5:
        with np.errstate(over="ignore"):
            new = new * new.dtype.type(rng.choice([1.0, 1.5, 10.0])) + new.dtype.type(0.1)
    return Table(X, y, weights, new, f"{n} × {d} {kind}, {words}{heavy}", classes, numbers)
