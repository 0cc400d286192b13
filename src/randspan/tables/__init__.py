"""Tables as people have them: kinds of columns, missing values, categories, dates, as numbers."""

from .columns import Columns
from .reading import (
    KINDS,
    Column,
    Table,
    is_frame,
    is_missing,
    names_of,
    of_array,
    read,
    refuse_lazy,
)

__all__ = [
    "KINDS",
    "Column",
    "Columns",
    "Table",
    "is_frame",
    "is_missing",
    "names_of",
    "of_array",
    "read",
    "refuse_lazy",
]
