"""Tables as people have them: kinds of columns, missing values, categories, dates, as numbers."""

from .columns import Columns
from .reading import Column, Table, is_frame, of_array, read

__all__ = ["Column", "Columns", "Table", "is_frame", "of_array", "read"]
