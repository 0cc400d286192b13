"""``python -m benchmarks.fuzz 123 456``: repeat calls, and show where they end."""

import sys

from . import outcome

for seed in map(int, sys.argv[1:]):
    print(outcome(seed, show=True))
