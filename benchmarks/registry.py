"""The list of benchmarks: a new one is a module and a line here."""

from __future__ import annotations

from typing import Any, Protocol

from . import (
    adult,
    auto,
    bins,
    clean,
    copies,
    default,
    determinism,
    few,
    files,
    forest,
    frames,
    fuzz,
    growth,
    hypotheses,
    importances,
    intervals,
    learned,
    many,
    memory,
    messy,
    onnx,
    peers,
    rates,
    samples,
    sheets,
    sizes,
    smooth,
    speed,
    startup,
    streams,
    structured,
    tables,
)


class Benchmark(Protocol):
    """What a module of this package has to offer to be run.

    One that says ``slow = True`` takes many minutes, and runs only when it is named.
    """

    name: str

    def run(self, quick: bool) -> dict[str, Any]:
        """Measure; the result is plain data, ready for JSON."""

    def text(self, result: dict[str, Any]) -> str:
        """The result as tables."""


MODULES = (
    *(speed, growth, startup, structured, intervals, peers, onnx, rates),
    *(adult, many, forest, bins, learned, hypotheses, sheets, default, fuzz, tables, frames, auto),
    *(few, clean, files, copies, determinism, memory, streams, importances),
    *(smooth, sizes, messy, samples),
)
BENCHMARKS: dict[str, Benchmark] = {module.name: module for module in MODULES}
SLOW = [name for name, module in BENCHMARKS.items() if getattr(module, "slow", False)]
USUAL = [name for name in BENCHMARKS if name not in SLOW]
