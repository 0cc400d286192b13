"""Models in and out of files, without pickle; models out as ONNX graphs.

`save` takes a model apart into names and numbers: a table (`registry`, filled by `schemas`) says
which classes there are, what fields they have and of which kind; `codec` walks along it, and
`container` is the file. `load` walks back, and believes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, BinaryIO

from .errors import ModelFileError
from .onnx import to_onnx

__all__ = ["ModelFileError", "load", "save", "to_onnx"]


def save(
    model: Any,
    path: str | bytes | os.PathLike | BinaryIO,
    *,
    statistics: bool = True,
    functions: bool = True,
) -> None:
    """Write a model to a file that holds numbers and names only, and no code.

    The file is written as a whole or not at all: who is stopped in between leaves an older file of
    that name as it was. What it holds is described in ``docs/files.md``.

    Parameters
    ----------
    model : SpanRegressor, SpanClassifier, SpanTransformer, Family, Frame or Functions
        Fitted or not; ``family="auto"`` too.
    path : str, bytes, os.PathLike or binary file
        By custom it ends in ``.rsp``. To a file that is open for writing (``open(path, "wb")``,
        ``io.BytesIO()``) the model is written where it stands, and it stays open.
    statistics : bool, default=True
        Whether to write what rows are added to and removed from. Without it files are smaller, and
        models predict, but have no `partial_fit`, `forget`, `merge`, `leave_one_out` and standard
        deviations.
    functions : bool, default=True
        Whether to write arrays that the seed can make again. Without them files are kilobytes, and
        are read only where the draw has the same bits; trees, cells, and rows of kernel machines
        and of anchors are written in any case.

    Examples
    --------
    >>> import numpy as np, randspan as rs, tempfile
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = rs.SpanRegressor(rs.Fourier(), 50, random_state=0).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rs.save(model, f"{folder}/model.rsp")
    ...     same = rs.load(f"{folder}/model.rsp")
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    from .saving import write  # here, because few sessions write files

    write(model, path, statistics, functions)


def load(
    path: str | bytes | os.PathLike | BinaryIO,
    *,
    memory_limit: int | str | None = None,
    functions: dict[str, Callable] | None = None,
) -> Any:
    """Read what `save` has written: a model with the same predictions, to the last bit.

    No code of the file is run, since it holds none, and every number that is used as an index or a
    size is checked before. That makes files of strangers safe to open; it does not make their
    predictions right. A digest tells damage, not an author.

    Parameters
    ----------
    path : str, bytes, os.PathLike or binary file
        A file that is open for reading (``open(path, "rb")``, ``io.BytesIO(data)``) is read from
        where it stands to its end.
    memory_limit : int, str or None, default=None
        What reading may take, in bytes or in words ("3GB"); eight times the size of the file and
        64 MiB if None. It counts before anything is allocated or drawn.
    functions : dict of callables, optional
        Functions of your own that the model was given (activations, samplers, kernels, bases), by
        the names they had.

    Returns
    -------
    estimator, family, frame or functions

    Raises
    ------
    ModelFileError
        Where the file is damaged, was written by a later version, or is no model.
    OSError
        Where it is not there, or must not be read.
    """
    from .loading import read

    return read(path, memory_limit, functions)
