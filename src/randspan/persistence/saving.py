"""From a model to a file."""

from __future__ import annotations

import os
from copy import copy
from typing import Any, BinaryIO

from ..checks import check_file, check_path
from ..estimators import SpanClassifier, SpanRegressor, SpanTransformer
from ..families import Family, Functions
from ..frame import Frame
from ..version import __version__
from . import atomic, container
from .codec import Writer
from .drawing import seeds_of
from .refusals import refused
from .strict import dump

FORMAT, VERSION = "randspan", 1


def write(
    model: Any, path: str | bytes | os.PathLike | BinaryIO, statistics: bool, functions: bool
) -> None:
    """See `randspan.save`."""
    file: Any = check_file("path", path, "write")
    metadata, tensors = packed(model, statistics, functions)
    if file is not None:
        container.write(file, metadata, tensors)
        return
    atomic.write(check_path("path", path), lambda file: container.write(file, metadata, tensors))


def packed(model: Any, statistics: bool, functions: bool) -> tuple[dict[str, str], dict]:
    """Strings and tensors of a file."""
    if not isinstance(
        model, (SpanRegressor, SpanClassifier, SpanTransformer, Family, Frame, Functions)
    ):
        raise refused(model, "", "estimators, families, frames and drawn functions of randspan")
    for name, value in (("statistics", statistics), ("functions", functions)):
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be True or False, got {value!r}.")
    if not statistics:
        model = _lean(model)
    writer = Writer(None if functions else seeds_of(model))
    root = writer.one(model, "")
    document = dump(
        {
            "library": __version__,
            "root": root,
            "functions": sorted(writer.brought.by_name),
            "objects": writer.objects,
        }
    )
    facts = {
        name: (container.NAMES[array.dtype], array.shape, writer.digests[name])
        for name, array in writer.tensors.items()
    }
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "document": document,
        "digest": container.digest_of(document, facts),
    }
    return metadata, writer.tensors


def _lean(model: Any) -> Any:
    """A copy of an estimator without statistics, solved for first where rows wait for it."""
    if not isinstance(model, (SpanRegressor, SpanClassifier)) or not hasattr(model, "_model"):
        return model
    if model._model.empty:
        raise ValueError(
            "The model holds no rows, and without its statistics (statistics=False) nothing would "
            "be left of it: save it with statistics=True."
        )
    lean = copy(model)
    lean._model, lean._gathered = model._solved.without_statistics(), None
    return lean
