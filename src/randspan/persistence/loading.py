"""From a file to a model: nothing is believed before it is checked.

In this order: the layout of the container; format and version; the digest of everything; the
document against the schemas, object by object; then what is drawn anew, and compared. Only then is
there a model.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from ..checks import check_file, check_path
from ..engines.memory import budget as in_bytes
from . import container
from .budget import BESIDES, TIMES, Budget
from .callables import handed_in
from .codec import Reader
from .drawing import finish
from .errors import ModelFileError, ensure
from .saving import FORMAT, VERSION
from .schemas.models import with_products
from .strict import parse

#: what a refusal begins with that no check has foreseen: a defect of this library
UNFORESEEN = "The file cannot be read: "


def read(
    path: str | bytes | os.PathLike | BinaryIO,
    memory_limit: int | str | None,
    functions: dict[str, Callable] | None,
) -> Any:
    """See `randspan.load`."""
    given = check_file("path", path, "read")
    name = check_path("path", path) if given is None else _name_of(given)
    limit = None if memory_limit is None else in_bytes(memory_limit)
    if functions is not None and not (
        isinstance(functions, dict)
        and all(isinstance(name, str) and callable(one) for name, one in functions.items())
    ):
        raise ValueError("functions must be a dictionary of callables by their names.")
    with open(name, "rb", buffering=0) if given is None else _held(given, limit) as file:
        if isinstance(file, io.BytesIO):
            size = file.getbuffer().nbytes
        else:
            size = os.fstat(file.fileno()).st_size
        allowed = Budget(TIMES * size + BESIDES if limit is None else limit)
        try:
            if given is not None and limit is not None and size > limit:
                allowed.take(size, "The file")
            return _read(file, size, allowed, functions)
        except ModelFileError as error:
            raise ModelFileError(f"{name!r}: {error}") from error.__cause__
        except OSError:
            raise
        except MemoryError:
            raise ModelFileError(f"{name!r}: there is not enough memory.") from None
        except Exception as error:
            message = f"{name!r}: {UNFORESEEN}{type(error).__name__}: {error}"
            raise ModelFileError(message) from error


def _name_of(file: BinaryIO) -> str:
    """What an open file is called."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else type(file).__name__


def _held(file: BinaryIO, limit: int | None) -> io.BytesIO:
    """What an open file has left, no more of it than may be read."""
    found = file.read() if limit is None else file.read(limit + 1)
    if not isinstance(found, bytes):
        raise TypeError(
            f"path is {file!r}, which reads {type(found).__name__} where bytes are expected: open "
            "it with mode 'rb'."
        )
    return io.BytesIO(found)


def _read(file: Any, size: int, allowed: Budget, functions: dict[str, Callable] | None) -> Any:
    found = container.read(file, size, allowed)
    document = _checked(found, allowed)
    ensure(isinstance(document, dict), "The document is not a JSON object.")
    given = handed_in(document.get("functions"), functions)
    reader = Reader(found.tensors, allowed, given)
    # Numbers of strangers may overflow where ours do not; what comes of it is checked.
    with np.errstate(all="ignore"):
        root = reader.root(document)
        finish(reader.unfinished, reader)
        for model, posterior in reader.later:
            with_products(model, posterior)
    return root


def _checked(found: container.Container, allowed: Budget) -> Any:
    """The document of a container whose format, version and digest are right."""
    known = found.metadata
    ensure(
        known.get("format") == FORMAT,
        "This is a safetensors file, but no model of randspan: its format is "
        f"{known.get('format', 'not named')[:100]!r}.",
    )
    version = known.get("version", "")
    ensure(version.isascii() and version.isdigit() and len(version) < 10, "It names no version.")
    ensure(
        int(version) <= VERSION,
        f"It has version {int(version)} of the format, and this randspan reads versions up to "
        f"{VERSION}: install a later one.",
    )
    ensure(int(version) >= 1, f"There is no version {int(version)} of the format.")
    ensure(
        known.keys() == {"format", "version", "document", "digest"},
        "It must have format, version, document and digest, and nothing else.",
    )
    digests = container.digests(found.tensors)
    facts = {
        name: (container.NAMES[array.dtype], array.shape, digests[name])
        for name, array in found.tensors.items()
    }
    digest = container.digest_of(known["document"], facts)
    ensure(digest == known["digest"], "Its digest is wrong: the file was damaged or changed.")
    return parse(known["document"], "The document", allowed)
