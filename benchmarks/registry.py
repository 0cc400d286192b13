"""The list of benchmarks: a new one is a module and a line here."""

from __future__ import annotations

from typing import Any, Protocol

from . import growth, peers, speed, startup, structured


class Benchmark(Protocol):
    """What a module of this package has to offer to be run."""

    name: str

    def run(self, quick: bool) -> dict[str, Any]:
        """Measure; the result is plain data, ready for JSON."""

    def text(self, result: dict[str, Any]) -> str:
        """The result as tables."""


BENCHMARKS: dict[str, Benchmark] = {
    module.name: module for module in (speed, growth, startup, structured, peers)
}
