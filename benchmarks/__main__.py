"""``python -m benchmarks [names] [--quick] [--seeds FIRST:LAST] [--out DIR]``."""

from __future__ import annotations

import argparse
import gc
import time
from importlib.util import find_spec
from pathlib import Path

from . import machine, report
from .registry import BENCHMARKS, SLOW, USUAL

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    everything = (
        f"any of {', '.join(BENCHMARKS)}; default: all but {', '.join(SLOW)}, which are slow"
    )
    parser.add_argument("names", nargs="*", help=everything)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    seeds = "of fuzz: the calls, from the first to the one before the last"
    parser.add_argument("--seeds", type=_range, metavar="FIRST:LAST", help=seeds)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the JSON files")
    options = parser.parse_args(arguments)
    # Not by `choices`: argparse would hold the empty list against them.
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    # What was imported stays: garbage is collected before every fit, and need not be sought there.
    gc.collect()
    gc.freeze()
    for name in options.names or USUAL:
        # Read before the run: afterwards the load would be our own.
        facts = machine.facts()
        start = time.perf_counter()
        given = {"seeds": options.seeds} if name == "fuzz" else {}
        result = BENCHMARKS[name].run(options.quick, **given)
        seconds = time.perf_counter() - start
        path = options.out / f"{name}.json"
        report.write(path, name, options.quick, facts, seconds, result)
        quick = ", quick: the numbers mean nothing" if options.quick else ""
        print(f"\n=== {name} ({seconds:.0f} s{quick}) ===\n")
        print(BENCHMARKS[name].text(result))
        print(f"\n-> {path}", flush=True)
        if find_spec("matplotlib") and hasattr(BENCHMARKS[name], "figures"):
            for figure in BENCHMARKS[name].figures(result, options.out):
                print(f"-> {figure}", flush=True)


def _range(words: str) -> range:
    first, last = map(int, words.split(":"))
    return range(first, last)


if __name__ == "__main__":
    main()
