"""Experiments of the documents: they run, can be killed and go on, and are judged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import experiments
import numpy as np
import pytest
from experiments import claims, report, running
from experiments.rks.boosting import ExactAdaBoost
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"


@pytest.fixture
def place(monkeypatch, tmp_path):
    """Real data, and a folder for results."""
    if "RANDSPAN_DATA" not in os.environ:
        if not SHARED.exists():
            pytest.skip("real data are neither in RANDSPAN_DATA nor in ../shared/data")
        monkeypatch.setenv("RANDSPAN_DATA", str(SHARED))
    monkeypatch.setenv("RANDSPAN_RESULTS", str(tmp_path))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_the_quick_form_runs_and_is_drawn(place, name):
    module = experiments.find(name)
    seen = []
    found = running.run(name, True, lambda key, done, total: seen.append((done, total)))
    assert seen[-1] == (len(found), len(found))
    assert not [key for key, run in found.items() if "failed" in run]
    summed = report.summarised(name, True)
    json.dumps(summed)
    for _, head, rows in module.tables(summed):
        assert rows
        assert all(len(row) == len(head) for row in rows)
    for file in report.drawn(name, summed, place / "figures"):
        assert file.stat().st_size > 5_000
    before = {file: file.stat().st_mtime_ns for file in place.rglob("*.json")}
    running.run(name, True)  # nothing is left to do
    assert before == {file: file.stat().st_mtime_ns for file in place.rglob("*.json")}


SLOW_EXPERIMENT = """
import sys, time
sys.path.insert(0, {root!r})
import experiments
from experiments.running import Item
class Module:
    TITLE = "slow"
    @staticmethod
    def items(quick):
        def work(i):
            time.sleep(0.15)
            return {{"i": i}}
        return [Item(f"item {{i}}", lambda i=i: work(i)) for i in range(12)]
experiments.find = lambda name: Module
from experiments import running
running.find = experiments.find
running.run("slow", quick=True)
"""


def test_a_run_that_is_killed_goes_on(tmp_path):
    code = SLOW_EXPERIMENT.format(root=str(ROOT))
    environment = {**os.environ, "RANDSPAN_RESULTS": str(tmp_path)}
    files = tmp_path / "quick" / "slow"
    begun = subprocess.Popen([sys.executable, "-c", code], env=environment)
    limit = time.monotonic() + 60
    while len(list(files.glob("*.json"))) < 3 and time.monotonic() < limit:
        time.sleep(0.02)
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    done = {file: file.stat().st_mtime_ns for file in files.glob("*.json")}
    assert 3 <= len(done) < 12
    assert all(json.loads(file.read_text()) for file in done)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=60)
    assert len(list(files.glob("*.json"))) == 12
    assert all(file.stat().st_mtime_ns == when for file, when in done.items())


def test_an_item_beyond_its_budget_is_stopped(monkeypatch, tmp_path):
    monkeypatch.setenv("RANDSPAN_RESULTS", str(tmp_path))
    worker = running.Worker("table1")
    assert "budget" in worker(running.Item("any", dict, budget=0.01))["failed"]
    assert worker.process is None
    # Another process takes the next, and says what went wrong there.
    assert "StopIteration" in worker(running.Item("no such item", dict, budget=60))["failed"]
    assert not worker.process.daemon  # joblib gives one thread to those that are
    worker.stop()


@pytest.mark.parametrize(
    ("ours", "error", "said"),
    [
        (3.0, 0.0, claims.BETTER),
        (3.7, 0.0, claims.REPRODUCED),
        (4.1, 0.1, claims.EQUAL),
        (5.0, 0.1, claims.FAILED),
        (None, 0.0, claims.NONE),
    ],
)
def test_verdicts(ours, error, said):
    claim = claims.Claim("a", "b", "c", published=3.6, tolerance=0.1)
    assert claims.verdict(claim, ours, error) == said
    assert claims.verdict(claims.Claim("a", "b", "c"), 1.0) == claims.NONE


def test_claims_are_complete():
    for document in ("ua", "rks", "rhss", "bsw"):
        for claim in claims.of(document).values():
            assert claim.claim
            assert claim.source


def test_unknown_experiments_are_refused():
    with pytest.raises(ValueError, match="table1"):
        experiments.find("table99")


def test_our_adaboost_is_adaboost():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).round(1)
    y = np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=400) > 0.5, 1.0, -1.0)
    ours = ExactAdaBoost(30).fit(X, y)
    peer = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=30).fit(X, y)
    agree = np.mean(ours.predict(X) == peer.predict(X))
    # Gini and weighted error choose nearly the same stumps.
    assert agree > 0.95
    # the first stump has the smallest error of all
    errors = [
        min(np.mean(np.where(X[:, m] >= t, s, -s) != y) for s in (-1, 1))
        for m in range(4)
        for t in np.unique(X[:, m])
    ]
    first = ExactAdaBoost(1).fit(X, y)
    assert np.mean(first.predict(X) != y) == pytest.approx(min(errors))
