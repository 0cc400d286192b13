"""Items are run one by one, in a process of their own, and what they found is kept.

An item that is done has a file, written in one step: a run that was killed goes on after the last
of them. One that takes longer than its budget is stopped with the process, and says so in its file;
the next begins another process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import facts

from . import find

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Item:
    """A piece of an experiment.

    Attributes
    ----------
    key : str
        Its name, and that of its file.
    run : callable
        What it does; returns plain data.
    budget : float
        Seconds that it may take.
    """

    key: str
    run: Callable[[], dict[str, Any]]
    budget: float = 600.0


def folder(name: str, quick: bool) -> Path:
    """Where the results of an experiment are kept; some share theirs with another."""
    name = getattr(find(name), "KEPT_AS", name)
    named = os.environ.get("RANDSPAN_RESULTS")
    root = Path(named) if named else HERE / "results"
    return root / ("quick" if quick else "full") / name


def run(
    name: str,
    quick: bool = False,
    tick: Callable[[str, int, int], None] = lambda key, done, total: None,
    anew: bool = False,
) -> dict[str, dict[str, Any]]:
    """Do what is not done yet, or has failed; the results of all items.

    ``tick`` is told of every item before it begins, and once at the end.
    """
    items = find(name).items(quick)
    place, worker = folder(name, quick), Worker(name)
    found: dict[str, dict[str, Any]] = {}
    try:
        for number, item in enumerate(items):
            file = place / f"{item.key}.json"
            tick(item.key, number, len(items))
            known = json.loads(file.read_text()) if file.exists() else {"failed": "not run yet"}
            if anew or "failed" in known:
                done = timed(item.run) if quick else worker(item)
                kept(file, done | {"environment": facts()})
            found[item.key] = json.loads(file.read_text())
    finally:
        worker.stop()
    tick("", len(items), len(items))
    return found


def kept(file: Path, result: dict[str, Any]) -> None:
    """Write a result beside its place and move it there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(part, file)


def timed(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    start = time.perf_counter()
    found = run()
    return {"seconds": time.perf_counter() - start, **found}


class Worker:
    """A process that does items one after the other, so that libraries and data are read once.

    It is not one of `multiprocessing.Pool`: in these, joblib gives everybody one thread.
    """

    def __init__(self, name: str):
        self.name = name
        self.process: Any = None
        self.line: Any = None

    def __call__(self, item: Item) -> dict[str, Any]:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.line, other = context.Pipe()
            self.process = context.Process(target=_serve, args=(self.name, other))
            self.process.start()
            other.close()
        try:
            self.line.send(item.key)
            if self.line.poll(item.budget):
                return self.line.recv()
        except (EOFError, OSError):
            self.stop()
            return {"failed": "its process ended"}
        self.stop()
        return {"failed": f"not done within its budget of {item.budget:g} s"}

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.line.close()
        self.process = self.line = None


def _serve(name: str, line: Any) -> None:
    """Do what is asked for, until nobody listens."""
    while True:
        try:
            key = line.recv()
        except EOFError:
            return
        try:
            line.send(by_key(name, key))
        except Exception as reason:
            line.send({"failed": f"{type(reason).__name__}: {reason}"})


def by_key(name: str, key: str) -> dict[str, Any]:
    """What an item finds, by its name."""
    item = next(item for item in find(name).items(False) if item.key == key)
    return timed(item.run)
