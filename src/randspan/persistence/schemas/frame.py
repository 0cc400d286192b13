"""Frames, rows as functions see them, and how columns of tables become numbers."""

from __future__ import annotations

from math import inf
from typing import Any

from ...families.shared.rows import Bend, Rows
from ...frame import Frame
from ...tables.amounts import Amounts, Flags
from ...tables.columns import Columns
from ...tables.dates import DAY, MONTH, YEAR, Dates
from ...tables.encoders import PERIODS, Date, Identifier, OneHot, Targets
from ...tables.encoders import Number as NumberColumn
from ...tables.folds import FOLDS
from ...tables.levels import Levels
from ...tables.reading import CATEGORY, DATE, IDENTIFIER, NUMBER
from ...tables.relations import MOST_COLUMNS, Relations
from ...tables.statistics import TargetStatistics
from ..arrays import FLOATS, Array, Compressed
from ..compounds import Either, Listing, One, Precision, optional
from ..errors import ensure, ensure_different
from ..kinds import Choice, Flag, Null, Number, Text, Whole
from ..registry import Entry, register
from .common import NAME, SEED, SHARE
from .families import FAMILIES, is_resolved
from .functions import FUNCTIONS
from .resolved import check_columns

_d = Array(("f8",), ("d",))
MOST_LEVELS = 50_000_000


def _frame(values: dict[str, Any], scope: dict[str, int]) -> None:
    d, family, trained = scope["d"], values["family"], values["trained"]
    ensure(is_resolved(family), "The family of a frame must be resolved.")
    check_columns(family, d)
    if values["scale"] is not None:
        ensure((values["scale"] >= 0).all(), "Scales must not be negative.")
    bend, columns = values["bend"], values["columns"]
    ensure(bend is None or len(bend.centre) == d, "A frame is bent in other columns.")
    if columns is not None:
        ensure(columns.width == d, f"Columns of the table become {columns.width}, not {d}.")
    if trained is not None:
        ensure(
            trained.n_features == d and trained.n_components == values["n_components"],
            "Functions that a frame has trained are others, or of other columns.",
        )
        ensure(trained.frame is None, "Functions that a frame has trained have no frame.")


def _columns(values: dict[str, Any], scope: dict[str, int]) -> None:
    numbers = sum(encoder.kind == NUMBER for encoder in values["encoders"])
    relations = values["relations"]
    ensure(
        relations is None or len(relations.mean) == numbers,
        f"A table has {numbers} columns of numbers, and relations of others.",
    )


def _levels(values: dict[str, Any], scope: dict[str, int]) -> None:
    names = values["names"]
    ensure_different(names, "Levels must differ from each other.")
    pooled = values["open"] or values["pooled"] <= len(names)
    ensure(pooled, "More levels share a place than there are.")
    ensure(len(values["shares"]), "A category has a place at least.")


def _targets(values: dict[str, Any], scope: dict[str, int]) -> None:
    places = len(values["levels"].shares)
    ensure(len(values["statistics"].weights) == places, "Target statistics are of other levels.")


def _relations(values: dict[str, Any], scope: dict[str, int]) -> None:
    ensure((values["deviation"] > 0).all(), "Deviations of columns must be positive.")
    ensure(scope["m"] <= MOST_COLUMNS, f"Relations are for {MOST_COLUMNS} columns at most.")
    ensure((values["lower"] <= values["upper"]).all(), "lower must not be above upper.")


def _rows_take(rows: Rows) -> dict[str, Any]:
    return rows.__getstate__()


def _rows_build(values: dict[str, Any], of: Any) -> Rows:
    return Rows(**values)


def _rows(values: dict[str, Any], scope: dict[str, int]) -> None:
    bend = values["bend"]
    ensure(bend is None or len(bend.centre) == scope["d"], "Rows are bent in other columns.")


def _kind(word: str) -> Choice:
    return Choice(word)


register(
    Entry(
        "frame",
        Frame,
        {
            "n_features": Whole(1, 2**31, symbol="d"),
            "centre": optional(_d),
            "scale": optional(_d),
            "family": One(*FAMILIES),
            "n_components": Either(Null(), Whole(1, 2**48), Number(inf, inf, any=True)),
            "seed": SEED,
            "rotation": optional(Array(("f8",), ("d", "d"))),
            "importances": optional(_d),
            "ridge": optional(Number(any=True)),
            "trained": optional(One(*FUNCTIONS)),
            "bend": optional(One("bend")),
            "constant": optional(Array(("f8",), ("d",), finite=False)),
            "columns": optional(One("columns")),
            "mean": optional(_d),
        },
        _frame,
    ),
    Entry("bend", Bend, {"centre": _d, "scale": _d, "knee": Number(1e-300)}),
    Entry(
        "rows",
        Rows,
        {
            "values": Either(Array(FLOATS, ("n", "d")), Compressed()),
            "centre": optional(_d),
            "scale": optional(_d),
            "rotation": optional(Array(("f8",), ("d", "d"))),
            "dtype": Precision(),
            "bend": optional(One("bend")),
        },
        _rows,
        _rows_take,
        _rows_build,
    ),
    Entry(
        "columns",
        Columns,
        {
            "encoders": Listing(
                One("number", "date", "one_hot", "target_statistics_of", "identifier"), tuple
            ),
            "copies": Flag(),
            "relations": optional(One("relations")),
        },
        _columns,
    ),
    Entry(
        "number",
        NumberColumn,
        {
            "name": NAME,
            "mean": Number(),
            "holes": SHARE,
            "kind": _kind(NUMBER),
            "form": optional(One("amounts", "flags")),
        },
        later={"form": None},
    ),
    Entry(
        "amounts",
        Amounts,
        {"decimal": Choice(".", ","), "unit": Text(10), "odd": Flag()},
    ),
    Entry("flags", Flags, {"odd": Flag()}),
    Entry(
        "dates",
        Dates,
        {"order": Choice(YEAR, DAY, MONTH), "undecided": Flag(), "odd": Flag()},
    ),
    Entry(
        "identifier",
        Identifier,
        {
            "name": NAME,
            "n_levels": Whole(0, 2**48),
            "holes": SHARE,
            "alone": Flag(),
            "kind": _kind(IDENTIFIER),
        },
    ),
    Entry(
        "date",
        Date,
        {
            "name": NAME,
            "mean": Number(),
            "holes": SHARE,
            "periods": Listing(Choice(*PERIODS), tuple, high=len(PERIODS)),
            "kind": _kind(DATE),
            "form": optional(One("dates")),
        },
        later={"form": None},
    ),
    Entry("one_hot", OneHot, {"name": NAME, "levels": One("levels"), "kind": _kind(CATEGORY)}),
    Entry(
        "target_statistics_of",
        Targets,
        {
            "name": NAME,
            "levels": One("levels"),
            "statistics": One("target_statistics"),
            "kind": _kind(CATEGORY),
        },
        _targets,
    ),
    Entry(
        "levels",
        Levels,
        {
            "names": Listing(
                Either(Null(), Flag(), Whole(-(2**64), 2**64), Number(any=True), Text(100_000)),
                tuple,
                1,
                MOST_LEVELS,
                symbol="levels",
            ),
            "shares": Array(("f8",), ("places",)),
            "at": Array(("i8",), ("levels",), low=0, high="places"),
            "pooled": Whole(0, 2**31),
            "holes": SHARE,
            "numbers": optional(Array(("f8",), ("levels",))),
            "mean": Number(),
            "open": Flag(),
            "begins": Flag(),
        },
        _levels,
        later={"open": False, "begins": False},
    ),
    Entry(
        "target_statistics",
        TargetStatistics,
        {
            "weights": Array(("f8",), ("levels", FOLDS)),
            "sums": Array(("f8",), ("levels", FOLDS, "c")),
            "mean": Array(("f8",), ("c",)),
            "strength": Array(("f8",), ("c",), finite=False, low=0),
        },
    ),
    Entry(
        "relations",
        Relations,
        {
            "mean": Array(("f8",), ("m",)),
            "deviation": Array(("f8",), ("m",)),
            "precision": Array(("f8",), ("m", "m")),
            "lower": Array(("f8",), ("m",)),
            "upper": Array(("f8",), ("m",)),
        },
        _relations,
    ),
)
