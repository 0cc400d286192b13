"""Items are run one by one, each in a process of its own, and what they found is kept.

An item that is done has a file, written in one step: a run that was killed goes on after the last
of them. One that takes longer than its budget is stopped, and says so in its file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
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
    place = folder(name, quick)
    found: dict[str, dict[str, Any]] = {}
    for number, item in enumerate(items):
        file = place / f"{item.key}.json"
        tick(item.key, number, len(items))
        known = json.loads(file.read_text()) if file.exists() else {"failed": "not run yet"}
        if anew or "failed" in known:
            done = _here(item) if quick else _apart(name, item)
            kept(file, done | {"environment": facts()})
        found[item.key] = json.loads(file.read_text())
    tick("", len(items), len(items))
    return found


def kept(file: Path, result: dict[str, Any]) -> None:
    """Write a result beside its place and move it there."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(result, indent=1) + "\n")
    os.replace(part, file)


def _here(item: Item) -> dict[str, Any]:
    start = time.perf_counter()
    found = item.run()
    return {"seconds": time.perf_counter() - start, **found}


def _apart(name: str, item: Item) -> dict[str, Any]:
    command = [sys.executable, "-m", "experiments.running", name, item.key]
    start = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=item.budget,
            cwd=HERE.parent,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done within its budget of {item.budget:g} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        return {"failed": last[0], "seconds": time.perf_counter() - start}
    return {"seconds": time.perf_counter() - start, **json.loads(done.stdout.splitlines()[-1])}


if __name__ == "__main__":
    name, key = sys.argv[1:]
    item = next(item for item in find(name).items(False) if item.key == key)
    print(json.dumps(item.run()))
