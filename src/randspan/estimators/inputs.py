"""X and y of a call, checked: numbers, or a table whose columns are still to become numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_X_y, validate_data

from ..checks import check_size
from ..families.parts.rows import canonical
from ..tables import Table, is_frame, of_array, read

DTYPES = [np.float64, np.float32]  # of rows as functions see them; others become the first


NO_Y = "no_validation"  # scikit-learn's word for it; None is a y that was forgotten


def checked(
    estimator, X, y: Any = NO_Y, *, reset: bool, learned: bool = True, **options
) -> tuple[Any, Any]:
    """X as an array, a sparse matrix in compressed rows or a `Table`; y as scikit-learn has it.

    ``learned``: whether rows are learned from, so that vanishing numbers are refused.
    """
    options |= {"accept_sparse": "csr", "dtype": DTYPES}
    table = None
    if estimator.categories is not None or _is_mixed(X):
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)  # names of columns
        table = read(X, estimator.categories)
        # What scikit-learn would say of the rows of an array, and of y.
        stand_in = np.zeros((table.n_rows, max(table.shape[1], 1)), np.float32)[:, : table.shape[1]]
        if y is NO_Y:
            check_array(stand_in, estimator=estimator, **options)
        else:
            _, y = check_X_y(stand_in, y, estimator=estimator, **options)
        if table.plain:
            X, table = table.matrix, None
        _refuse_infinities(X, table)
    else:
        framed = is_frame(X)
        X, y = _plain(estimator, X, y, reset, options)
        X = canonical(X)
        if framed and not sparse.issparse(X):  # in one order, so that sums have the same bits
            X = np.ascontiguousarray(X)
    if table is None:
        if not np.isnan(check_size("X", X, learned=learned)):
            return X, y
        if sparse.issparse(X):
            raise ValueError(
                "Input X contains NaN, and is sparse: missing values are understood in dense "
                "arrays and data frames. Fill them, or hand in X.toarray()."
            )
        table = of_array(X, getattr(estimator, "feature_names_in_", None))
    for column in table.columns:
        if column.kind != "category":
            check_size("X", column.values[~column.missing], learned=learned)
    return table, y


def _plain(estimator, X, y, reset: bool, options: dict[str, Any]) -> tuple[Any, Any]:
    options = options | {"ensure_all_finite": "allow-nan"}
    if y is NO_Y:
        return validate_data(estimator, X, y, reset=reset, **options), y
    return validate_data(estimator, X, y, reset=reset, **options)


def _is_mixed(X) -> bool:
    """Whether this is a data frame with other columns than numbers that numpy has."""
    if not is_frame(X):
        return False
    dtypes = getattr(X, "dtypes", None)
    kinds = [getattr(dtype, "kind", "O") for dtype in dtypes] if dtypes is not None else ["O"]
    return type(X).__module__.split(".")[0] != "pandas" or not set(kinds) <= set("fiub")


def _refuse_infinities(X, table: Table | None) -> None:
    columns = [X] if table is None else [c.values for c in table.columns if c.kind != "category"]
    if any(np.isinf(values).any() for values in columns):
        raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
