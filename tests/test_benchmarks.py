"""The benchmarks run: their quick form leaves every number they promise, and all are finite.

Times of a quick run mean nothing, so nothing here looks at their size.
"""

from __future__ import annotations

import importlib
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]


def check_machine(machine):
    assert machine["cpu"]
    assert machine["blas"]
    assert {"numpy", "scipy", "scikit-learn", "numba"} <= set(machine["versions"])


def check_speed(result):
    check_contestants(result["contestants"])
    assert len(result["floor"]) == 3
    assert all(value > 0 for value in result["floor"].values())
    assert len(result["bars"]) == 7
    remarks = {one["name"]: one["remark"] for one in result["contestants"]}
    peer = remarks["RBFSampler + Ridge, float32"]
    assert peer == "weights float32, frequencies float32"


def check_growth(result):
    rows = [size["rows"] for size in result["sizes"]]
    assert rows == sorted(rows)
    assert len(rows) >= 3
    for size in result["sizes"]:
        assert size["fit_seconds"] > 0
        assert size["peak_mb"] >= 0
        assert size["X_mb"] > 0
    assert len(result["bars"]) == 3


def check_memory(result):
    done, refused = result["fits"]
    assert done["peak_mb"] <= result["bars"][0]["limit"] * done["plan_mb"]
    assert "needs at least" in refused["refusal"] or "need at least" in refused["refusal"]
    assert refused["peak_mb"] < 1
    assert all(bar["kept"] for bar in result["bars"])


def check_startup(result):
    assert len(result["seconds"]) == 3
    assert all(min(seconds) > 0 for seconds in result["seconds"].values())
    assert len(result["bars"]) == 4


def check_structured(result):
    for width in result["columns"]:
        assert width["ratio"] > 0
        assert set(width["ns_a_feature"]) == {"iid", "structured"}


def check_intervals(result):
    for one in result["coverage"]:
        for what in ("interval", "deviation"):
            assert all(0 <= value <= 1 for value in one[what])
        assert all(width > 0 for width in one["width"])
    for one in result["times"]:
        assert all(value >= 0 for value in (*one["first"].values(), *one["later"].values()))


def check_peers(result):
    sets = result["sets"]
    assert all(("skipped" in one) != ("contestants" in one) for one in sets)
    run = [one for one in sets if "contestants" in one]
    assert {one["task"] for one in run} == {"regression", "classification"}
    for one in run:
        check_contestants(one["contestants"])


def check_adult(result):
    if "skipped" in result:
        return
    assert len(result["ours"]) == 12
    for one in result["ours"]:
        assert len(one["errors"]) == result["seeds"]
        assert one["converged"]
        assert one["fit_seconds"] > 0
        assert one["log_loss"] > 0
        assert 0 <= one["calibration_error"] <= 1
        assert len(one["reliability"]["said"]) == len(one["reliability"]["seen"])
    peers = {one["name"]: one for one in result["peers"]}
    ours = {(one["loss"], one["alpha"]): one for one in result["ours"]}
    # The same minimum, whoever looks for it; nobody can be below ours by more than its residual.
    for loss, peer in (("hinge", "LinearSVC"), ("logistic", "LogisticRegression")):
        theirs = peers[f"{peer}, same stumps"]["objective"]
        assert theirs >= ours[loss, 0.1]["objectives"][0] * (1 - 1e-4)
    assert len(result["bars"]) == 4


def check_many(result):
    run = [one for one in result["sets"] if "fits" in one]
    for one in run:
        check_fits(one["fits"])
        assert {fit["solver"] for fit in one["fits"]} == {"sketched"}
    assert result["exact"]["seconds"] > 0
    assert len(result["bars"]) == 2 * len(run)


def check_forest(result):
    if "skipped" in result:
        return
    check_fits(result["fits"])
    kept, anew, exact, _ = result["fits"]
    assert kept["alpha"] == anew["alpha"] == exact["alpha"]
    assert exact["beyond_exact"] == 0
    assert len(result["scales"]["scales"]) == result["columns"] == 54
    assert len(result["bars"]) == 7


def check_bins(result):
    forest = result["forest"]
    if "skipped" not in forest:
        for one in forest["fits"]:
            assert one["converged"]
            assert one["error"] > 0
            assert 0 < one["solve_seconds"] <= one["fit_seconds"]
            assert one["whole_mb"] >= one["peak_mb"] >= 0
        # The same solve at one alpha of those that were tried.
        assert any(one["one_solve_seconds"] for one in forest["fits"])
        assert {one["columns"] for one in forest["fits"] + forest["classes"]} == {54}
        assert set(forest["growth"]["exponents"]) == {"rows", "grids"}
        for series, fits in forest["growth"]["series"].items():
            sizes = [one[series] for one in fits]
            assert sizes == sorted(set(sizes))
            assert all(one["fit_seconds"] > one["floor_seconds"] > 0 for one in fits)


def check_learned(result):
    for one in result["sets"]:
        if "skipped" in one:
            continue
        fits = {(fit["family"], fit["scales"]): fit for fit in one["fits"]}
        assert len(fits) == 5
        for (family, scales), fit in fits.items():
            assert fit["ratio"] == fit["error"] / fits[family, "None"]["error"]
            if scales != "None":
                assert len(fit["importances"]) == one["columns"]
                assert math.isclose(sum(fit["importances"]), 1)
        [trials], [chosen] = one["chosen"]["trials"], one["chosen"]["names"]
        assert chosen == min(trials, key=lambda trial: trial["error"])["name"]
        assert one["chosen"]["seconds"] >= sum(trial["seconds"] for trial in trials)
        assert len(one["few"]["errors"]) == result["few_splits"]
    assert len(result["synthetic"]) == 2
    # Strong enough to be seen in a few hundred rows.
    assert all(one["share"] > 0.5 for one in result["synthetic"])


def check_hypotheses(result):
    trees = result["trees"]
    if "skipped" not in trees:
        for one in trees["sets"]:
            assert len(one["max_features"]) == len(one["runs"]) == trees["splits"]
            for run in one["runs"]:
                assert len(run) == 6
                assert all(fit["error"] > 0 and fit["seconds"] > 0 for fit in run.values())
    assert result["networks"]["ratio"] > 0
    assert result["expansions"]["fits"][0]["who"] == "ours"
    assert all(fit["error"] > 0 for fit in result["expansions"]["fits"])


def check_frames(result):
    assert sum(result["outcomes"].values()) == result["frames"]
    assert not result["bad"]


def check_tables(result):
    for part in ("holes", "categories", "levels"):
        if "skipped" not in result[part]:
            for one in result[part]["sets"]:
                assert all(run["error"] > 0 for run in one["runs"].values())
    assert len(result["told"]["runs"]) == 4


def check_messy(result):
    assert all(0 < one[which]["r2"] < 1 for one in result["runs"] for which in ("messy", "clean"))
    assert result["bars"][1]["kept"]


def check_sheets(result):
    assert all(ns > 0 for ns in result["cost"]["coefficients"].values())
    for law in result["cost"]["laws"]:
        assert all(run["seconds"] > 0 and run["floor"] > 0 for run in law["runs"])
    assert all(
        fit["error"] > 0 and fit["functions"] == 32 for fit in result["fits"]["fits"].values()
    )
    for one in result["others"]["tables"]:
        assert all(run["error"] < 1.5 for runs in one["runs"].values() for run in runs)


def check_fits(fits):
    for one in fits:
        assert one["converged"]
        assert one["fit_seconds"] > 0
        assert one["error"] > 0
        assert one["whole_mb"] >= one["peak_mb"] >= 0


def check_contestants(contestants):
    for one in contestants:
        assert one["fit_seconds"] == min(one["fit_seconds_all"]) > 0
        assert one["peak_mb"] >= 0
        assert (one["ratio"] is None) == (one["rival"] is None)
        if not one["name"].startswith("floor"):
            assert one["predict_seconds"] > 0
            assert one["error"] > 0
    assert any(one["ratio"] for one in contestants)


def numbers(value):
    """All numbers anywhere inside a result."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def check_default(result):
    if "skipped" not in result["sets"]:
        for one in result["sets"]["sets"]:
            ours, *peers = one["entries"].values()
            assert ours["seconds"] > 0
            assert len(peers) == 4 - len(result["absent"])
        # alphas between those of the grid may be a little better
        assert all(pair["gcv"] > 0.9 for pair in result["alpha"]["pairs"])
        assert set(result["ranges"]["families"]) == {"Stumps"}


def check_fuzz(result):
    assert sum(result["kinds"].values()) == result["calls"]
    assert result["bars"][0]["kept"]


def check_streams(result):
    assert sum(result["kinds"].values()) == result["walks"]
    assert all(bar["kept"] for bar in result["bars"])


def check_onnx(result):
    assert len(result["models"]) == 3
    assert result["bars"][0]["kept"]
    for one in result["models"]:
        assert min(*one["ms"]["one"].values(), *one["ms"]["many"].values()) > 0


def check_few(result):
    assert [one["kind"] for one in result["tables"]] == ["linear", "smooth", "stepwise"]
    for one in result["tables"]:
        assert all(error > 0 for error in one["error"].values())
        assert all(0 < ours["covered"] <= 1 < 10 * ours["told"] for ours in one["ours"].values())


def check_clean(result):
    (one,) = result["tables"]
    assert one["table"] == "iris"
    assert all(error > 0 for drawn in one["errors"] for error in drawn.values())


def check_rates(result):
    assert all(seconds > 0 for one in result["steps"] for seconds in one.values())
    for one in result["fits"]:
        assert all(seconds >= 0 for seconds in one["seconds"].values())
        assert one["chosen"] in one["seconds"]


def check_files(result):
    assert sum(result["mutations"]["ends"].values()) == 100
    assert not result["mutations"]["defects"]
    assert result["kills"]["readable"] == result["kills"]["times"]
    assert result["matrix"]["models"] > 10
    assert not result["matrix"]["differing"]
    assert result["fourier_bytes"] <= 20_000
    assert len(result["bars"]) == 7


def check_determinism(result):
    assert len(result["fits"]) == 6
    assert all(bar["kept"] for bar in result["bars"])


def check_copies(result):
    assert [one["family"] for one in result["models"]] == ["fourier", "bins"]
    assert result["bars"][0]["kept"]  # one draw says little of the others


def check_importances(result):
    fits = result["agreement"].get("fits", [])
    assert all(-1 <= one["correlation"] <= 1 for one in fits)
    assert all("bmi" in kept for kept in result["selection"]["kept"].values())
    assert all(one["seconds"] > 0 for one in result["time"]["fits"])
    assert len(result["bars"]) == 1


def check_smooth(result):
    assert [one["function"] for one in result["sets"]] == ["Borehole", "Friedman", "Piston"]
    for one in result["sets"]:
        for fit in one["runs"]:
            assert set(fit) == {"default", "auto", "Gaussian process"}
            assert all(0 < found["error"] < 0.5 for found in fit.values())
    assert len(result["bars"]) == 12


def check_sizes(result):
    assert [len(one["sizes"]) for one in result["tables"]] == [2, 2]
    assert all(one["seconds"] > 0 for table in result["tables"] for one in table["sizes"])
    assert len(result["bars"]) == 2


def check_samples(result):
    assert result["distinct"] == result["by numpy"] < result["rows"]
    assert result["bars"][0]["kept"]


CHECKS = {
    "samples": check_samples,
    "speed": check_speed,
    "growth": check_growth,
    "startup": check_startup,
    "memory": check_memory,
    "structured": check_structured,
    "intervals": check_intervals,
    "peers": check_peers,
    "onnx": check_onnx,
    "tables": check_tables,
    "messy": check_messy,
    "frames": check_frames,
    "adult": check_adult,
    "many": check_many,
    "forest": check_forest,
    "bins": check_bins,
    "learned": check_learned,
    "hypotheses": check_hypotheses,
    "sheets": check_sheets,
    "smooth": check_smooth,
    "sizes": check_sizes,
    "default": check_default,
    "fuzz": check_fuzz,
    "streams": check_streams,
    "few": check_few,
    "clean": check_clean,
    "rates": check_rates,
    "files": check_files,
    "copies": check_copies,
    "determinism": check_determinism,
    "importances": check_importances,
}


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "error", "ignore:.* that had one value only", "ignore:.* rows lie far outside"
)
@pytest.mark.parametrize("name", CHECKS)
def test_the_quick_form_leaves_finite_numbers(name, tmp_path, monkeypatch):
    # By name: slow ones would not run otherwise.
    arguments = [name, "--quick", "--out", str(tmp_path)]
    # Other tests have the other cores.
    for library in ("OMP", "OPENBLAS"):
        monkeypatch.setenv(f"{library}_NUM_THREADS", "1")
    if name == "startup":  # as anybody would start it; importing takes longer than the others
        command = [sys.executable, "-W", "error", "-m", "benchmarks", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    else:
        monkeypatch.syspath_prepend(ROOT)
        main = importlib.import_module("benchmarks.__main__").main
        with threadpool_limits(1):
            main(arguments)
    content = json.loads((tmp_path / f"{name}.json").read_text())
    assert content["benchmark"] == name
    assert content["quick"] is True
    check_machine(content["machine"])
    found = list(numbers(content["result"]))
    if not found and "skipped" in json.dumps(content["result"]):
        pytest.skip(f"{name}: its data are neither in RANDSPAN_DATA nor in ../shared/data")
    assert found
    assert all(map(math.isfinite, found))
    CHECKS[name](content["result"])


def test_two_checkouts_are_timed_in_turns(tmp_path):
    out = tmp_path / "times.json"
    command = [sys.executable, "-m", "benchmarks.checkouts", "--quick", "--only", "one row more"]
    subprocess.run([*command, "--out", str(out), str(ROOT), str(ROOT)], cwd=ROOT, check=True)
    (found,) = json.loads(out.read_text()).values()
    assert [len(times) for times in found["all"]] == [1, 1]
    assert found["ratio"] == pytest.approx(found["new"] / found["old"])


def test_two_checkouts_have_the_same_errors(tmp_path):
    data = importlib.import_module("benchmarks.data")
    try:
        data.cpu()
    except data.Missing as missing:
        pytest.skip(str(missing))
    out = tmp_path / "errors.json"
    command = [sys.executable, "-m", "benchmarks.errors", "--sets", "CPU", "--calls", "default"]
    command += ["--rows", "300", "--out", str(out), str(ROOT), str(ROOT)]
    subprocess.run(command, cwd=ROOT, check=True)
    (found,) = json.loads(out.read_text())
    assert found["old"]["error"] == found["new"]["error"]
