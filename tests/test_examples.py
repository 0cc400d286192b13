"""The demo runs as the README says, with fewer rows, and fewer widths in its plot."""

import importlib.util
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


def test_random_projection(monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location(
        "projection", DEMO.with_name("random_projection.py")
    )
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.delenv("RANDSPAN_DATA", raising=False)
    monkeypatch.setattr(example, "DIRECTIONS", [2, 20])
    monkeypatch.setattr(example, "RUNS", 2)
    example.main()
    lines = capsys.readouterr().out.splitlines()[-3:]
    few, many, exact = ([float(cell) for cell in line.split()[-2:]] for line in lines)
    for method in range(2):  # more directions come nearer to all columns
        assert few[method] > many[method]
        assert abs(many[method] - exact[method]) < abs(few[method] - exact[method])


@pytest.mark.slow
def test_demo(tmp_path, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "WIDTHS", [16, 32])
    for name in ("load_diabetes", "load_breast_cancer", "load_digits"):
        X, y = getattr(demo, name)(return_X_y=True)
        few = X[:300], y[:300]
        monkeypatch.setattr(demo, name, lambda return_X_y, few=few: few)
    demo.main()
    printed = capsys.readouterr().out
    for name in ("diabetes", "breast cancer", "digits", "linear", "exact", *demo.FAMILIES):
        assert name in printed
    assert (tmp_path / "demo.png").stat().st_size > 10_000
