"""X and y of a call, checked: numbers, or a table whose columns are still to become numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_X_y, validate_data

from ..checks import HEAVIEST, check_size
from ..families.shared.rows import canonical
from ..reading import opened
from ..sources import Blocks, PassSource, Source
from ..tables import Table, is_frame, is_missing, names_of, of_array, read, refuse_lazy
from . import started

DTYPES = [np.float64, np.float32]  # of rows as functions see them; others become the first


NO_Y = "no_validation"  # scikit-learn's word for it; None is a y that was forgotten


def checked(
    estimator, X, y: Any = NO_Y, *, reset: bool, learned: bool = True, **options
) -> tuple[Any, Any]:
    """X as an array, a sparse matrix in compressed rows or a `Table`; y as scikit-learn has it.

    ``learned``: whether rows are learned from, so that vanishing numbers are refused.
    """
    if isinstance(X, Blocks):
        return _opened(estimator, X, y, reset, learned, options)
    if isinstance(X, Source):  # opened and checked already
        return X, y
    options |= {"accept_sparse": "csr", "dtype": DTYPES}
    refuse_lazy(X)
    if y is not NO_Y:
        refuse_lazy(y, "y")
        y = as_targets(y)
    if is_frame(X):
        names_of(X)  # refuses columns of the same name
    given = (estimator.categories, estimator.columns) if reset else started.kinds(estimator)
    table = None
    if given[0] is not None or given[1] or _is_mixed(X):
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)  # names of columns
        table = read(X, *given)
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


def _opened(
    estimator, blocks: Blocks, y: Any, reset: bool, learned: bool, options: dict[str, Any]
) -> tuple[PassSource, Any]:
    """The source of blocks, each checked as an array is, and the targets of all."""
    wanted = y is not NO_Y
    if wanted and y is not None:
        raise ValueError("y comes from the blocks (X, y) of rs.blocks: leave it out of the call.")
    least = options.pop("ensure_min_samples", 1)

    def check(X, y, first: bool) -> tuple[Any, Any]:
        if wanted and y is None:
            raise ValueError(
                "This needs targets: every block of rs.blocks must be a tuple (X, y) or "
                "(X, y, sample_weight)."
            )
        given = (X, y if wanted else NO_Y)
        X, y = checked(estimator, *given, reset=reset and first, learned=learned, **options)
        if isinstance(X, Table):
            raise ValueError(
                "Blocks of rs.blocks must hold numbers, none of them missing: categories, dates "
                "and holes are read from all rows of a data frame at once."
            )
        return X, y

    source, targets = opened(blocks, check)
    if wanted and len({one.shape[1:] for one in targets}) > 1:
        raise ValueError("y of some blocks has another shape: as many targets in every block.")
    if source.n_rows < least:
        raise ValueError(
            f"Found {source.n_rows} sample(s), while a minimum of {least} is required."
        )
    if source.weights is not None:
        check_size("sample_weight", source.weights, HEAVIEST)
    return source, np.concatenate(targets) if wanted else y


def unpacked(estimator, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """X, y and sample weights of a call; those of `rs.blocks` come from the blocks."""
    if not isinstance(X, Blocks):
        return X, y, sample_weight
    source, y = checked(estimator, X, y, reset=False, learned=False)
    return source, y, weights_of(source, sample_weight)


def weights_of(X: Any, sample_weight: Any) -> Any:
    """Sample weights as they were handed in, or those of the blocks of a source."""
    if not isinstance(X, Source):
        return sample_weight
    if sample_weight is not None:
        raise ValueError(
            "Sample weights come from the blocks (X, y, sample_weight) of rs.blocks: leave "
            "sample_weight out of the call."
        )
    return X.weights


def as_targets(y: Any) -> Any:
    """y as numpy has it, of nullable types too; missing entries are refused with advice."""
    if y is None or sparse.issparse(y):
        return y
    known = y if isinstance(y, np.ndarray) else np.asarray(y, object if _is_list(y) else None)
    if known.dtype.kind == "O":
        flat = known.ravel().tolist()
        missing = np.array([is_missing(value) for value in flat], bool).reshape(known.shape)
    else:
        missing = known != known  # nan, and dates that are none
    if missing.any():
        rows = np.flatnonzero(missing.reshape(len(known), -1).any(axis=1))
        some = ", ".join(map(str, rows[:3])) + (", …" if len(rows) > 3 else "")
        raise ValueError(
            f"Input y contains NaN: the target is missing in {len(rows)} of {len(known)} rows "
            f"({some}). Leave these rows out: keep = ~pandas.isna(y), X[keep], y[keep]."
        )
    if _is_list(y):
        return y
    if known.dtype.kind == "O" and known.size:
        kinds = {type(value) for value in flat}
        if len(kinds) == 1 and issubclass(kinds.pop(), (bool, np.bool_, int, float)):
            return np.array(flat).reshape(known.shape)
    return known


def _is_list(y: Any) -> bool:
    return isinstance(y, (list, tuple))


def _plain(estimator, X, y, reset: bool, options: dict[str, Any]) -> tuple[Any, Any]:
    options = options | {"ensure_all_finite": "allow-nan"}
    # Sums of large numbers in float32 overflow, upon which scikit-learn looks at each of them.
    with np.errstate(invalid="ignore"):
        if y is NO_Y:
            return validate_data(estimator, X, y, reset=reset, **options), y
        return validate_data(estimator, X, y, reset=reset, **options)


def _is_mixed(X) -> bool:
    """Whether this is a data frame with other columns than numbers that numpy has."""
    if not is_frame(X):
        return False
    dtypes = getattr(X, "dtypes", None)
    if type(X).__module__.split(".")[0] != "pandas" or dtypes is None or not len(dtypes):
        return True
    # Sparse columns are a sparse matrix where what they do not mention is zero.
    return any(
        getattr(dtype, "kind", "O") not in "fiub" or getattr(dtype, "fill_value", 0) != 0
        for dtype in dtypes
    )


def _refuse_infinities(X, table: Table | None) -> None:
    columns = [X] if table is None else [c.values for c in table.columns if c.kind != "category"]
    if any(np.isinf(values).any() for values in columns):
        raise ValueError("Input X contains infinity or a value too large for dtype('float64').")
