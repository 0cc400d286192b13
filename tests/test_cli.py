"""The command line: arguments in, a library call, its result printed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import randspan as rs

pytest.importorskip("typer")

from typer.testing import CliRunner

from randspan.cli.app import app


def run(*arguments, **more):
    return CliRunner().invoke(app, list(arguments), terminal_width=200, **more)


def test_how_many_prints_the_table_of_the_library():
    found = run("how-many", "--error", "0.05", "--delta", "0.1", "--rows", "300")
    assert found.exit_code == 0
    assert found.output.strip() == repr(rs.theory.how_many(0.05, 0.1, rows=300)).strip()


def test_how_many_takes_every_constant():
    arguments = {
        "error": 0.1, "delta": 0.05, "norm": 2.0, "sup": 1.4, "lipschitz": 1.0,
        "second-moment": 3.0, "radius": 2.0, "loss": "squared", "box": 3.0, "rows": 50,
        "covering": 1.5, "rkhs-norm": 2.0, "sup-square": 4.0, "bound": 1.0,
    }  # fmt: skip
    given = [part for name, value in arguments.items() for part in (f"--{name}", str(value))]
    found = run("how-many", *given, "--json")
    assert found.exit_code == 0
    answers = {one["bound"]: one for one in json.loads(found.output)["answers"]}
    ours = rs.theory.how_many(
        0.1, 0.05, norm=2.0, sup=1.4, lipschitz=1.0, second_moment=3.0, radius=2.0, loss="squared",
        C=3.0, rows=50, c=1.5, rkhs_norm=2.0, sup_square=4.0, bound=1.0,
    )  # fmt: skip
    for name in ("UA Theorem 3.2", "RKS Lemma 3", "BSW Theorem 8", "RHSS exact law"):
        assert (answers[name]["k"], answers[name]["m"]) == (ours[name].k, ours[name].m)
    assert answers["RHSS Corollary 4.7"]["k"] == "more than 10^18"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--error", "-1"], "error must be positive"),
        (["--error", "0.1", "--delta", "2"], "delta is a probability"),
        (["--error", "0.1", "--loss", "absolute"], "loss must be one of"),
        ([], "--error"),
    ],
)
def test_what_is_wrong_is_said(arguments, said):
    found = run("how-many", *arguments)
    assert found.exit_code == 2
    assert said in found.output


def claims_of_nothing():
    from experiments import claims

    return (claims.REPRODUCED, claims.BETTER, claims.EQUAL, claims.FAILED, claims.NONE, "verdict")


@pytest.mark.parametrize("name", ["table1", "rks-fig1", "rks-fig2", "rhss-fig2", "bsw-rates"])
def test_every_verdict_can_be_left_out(name):
    """Whatever an experiment shows: the results that are kept, without columns that judge."""
    from experiments import find, report

    found = report.summarised(name, quick=False)
    if found is None:
        pytest.skip("no results are kept")
    for table in find(name).tables(found):
        title, head, rows = report.without_verdicts(*table)
        assert all(len(row) == len(head) for row in rows)
        cells = [cell for row in rows for cell in (title, *head, *row)]
        assert not [cell for cell in cells if "reproduced" in cell or "verdict" in cell]


def test_wide_tables_are_printed_in_lines(capsys):
    from rich.console import Console

    from randspan.cli.reproduce import _print

    head = [f"a column of the number {i}" for i in range(9)]
    _print(Console(width=80), "wide", head, [["a cell of some words"] * 9] * 2)
    _print(Console(width=80), "narrow", ["a", "b"], [["1", "2"]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert (
        sum("column of the number 8" in line and "cell of some words" in line for line in lines)
        == 2
    )


def test_data_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    found = run("reproduce", "bsw-rates", "--quick", "--data", str(tmp_path / "none"))
    assert found.exit_code == 2
    assert "does not exist" in " ".join(found.output.replace("│", " ").split())
    monkeypatch.setenv("RANDSPAN_DATA", str(tmp_path / "none"))
    monkeypatch.setattr("randspan.datasets.files._fetched", lambda file: pytest.fail("downloaded"))
    with pytest.raises(rs.datasets.DataError, match=r"RANDSPAN_DATA=.*none' is no folder"):
        rs.datasets.load_cpu()


def test_reproduce_shows_tables_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setenv("RANDSPAN_RESULTS", str(tmp_path))
    found = run("reproduce", "bsw-rates", "--quick", env={"COLUMNS": "80"})
    assert found.exit_code == 0, found.output
    assert "Exponents of N" in found.output
    shown = found.stdout.split("Exponents of N")[1]
    for verdict in claims_of_nothing():  # of sizes like these
        assert verdict not in shown
    lines = [line for line in shown.splitlines() if not line.startswith(str(tmp_path))]
    assert max(map(len, lines)) <= 80
    assert "claim " in shown
    files = list((tmp_path / "quick" / "bsw-rates").glob("*.json"))
    assert len(files) == 9
    before = {file: file.stat().st_mtime_ns for file in files}
    assert run("reproduce", "bsw-rates", "--quick").exit_code == 0
    assert before == {file: file.stat().st_mtime_ns for file in files}
    assert (tmp_path / "quick" / "bsw-rates" / "bsw-rates.png").exists()


def test_reproduce_knows_its_names():
    found = run("reproduce", "table99")
    assert found.exit_code == 2
    assert "table1" in found.output


def test_the_command_is_installed_and_has_help():
    found = subprocess.run(
        [sys.executable, "-c", "from randspan.cli import main; main()", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "how-many" in found.stdout


@pytest.mark.parametrize("asked", [["--version"], ["how-many", "--error", "0.1"]])
def test_the_package_is_a_command(asked):
    found = subprocess.run(
        [sys.executable, "-m", "randspan", *asked], capture_output=True, text=True, check=True
    )
    expected = f"randspan {rs.__version__}" if asked == ["--version"] else "UA Theorem 3.2"
    assert expected in found.stdout


def test_without_typer_the_command_says_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from randspan.cli import main; main()"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert "randspan[cli]" in found.stderr
