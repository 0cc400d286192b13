"""A progress bar on standard error, for work that takes longer than a second."""

from __future__ import annotations

import sys
import threading
import time


class Progress:
    """Counts rows; shows itself once ``patience`` seconds have passed, if ``verbose``."""

    def __init__(self, verbose: bool, total: int, label: str, patience: float = 1.0):
        self.total, self.label = total, label
        self.next_show = time.monotonic() + patience if verbose else float("inf")
        self.shown = False
        self.done = 0
        self.lock = threading.Lock()

    def __call__(self, rows: int) -> None:
        with self.lock:
            self.done += rows
            finished = self.shown and self.done >= self.total
            if finished or time.monotonic() >= self.next_show:
                self._show()

    def note(self, text: str) -> None:
        """A line of its own, once work takes long enough to be shown."""
        if time.monotonic() >= self.next_show or self.shown:
            print(text, file=sys.stderr, flush=True)

    def _show(self) -> None:
        self.shown = True
        share = min(self.done / max(self.total, 1), 1.0)
        bar = "#" * round(30 * share)
        end = "\n" if self.done >= self.total else ""
        print(f"\r{self.label} |{bar:<30}| {share:4.0%}", end=end, file=sys.stderr, flush=True)
        self.next_show = time.monotonic() + 0.1 if self.done < self.total else float("inf")
