"""Examples run, with fewer rows; the demo as the README says."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def loaded(name):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


def test_random_projection(monkeypatch, capsys):
    example = loaded("random_projection")
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
    demo = loaded("demo")
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


@pytest.mark.parametrize("ridge", [0.05, 2.0])
def test_the_slides_recipe_is_ours_with_another_ridge(capsys, ridge):
    example = loaded("slides_recipe")
    theirs, ours = example.main(ridge=ridge)
    np.testing.assert_allclose(theirs, ours, rtol=1e-6, atol=1e-8)
    other, _ = example.main(ridge=3 * ridge)
    assert np.abs(other - ours).max() > 1e-3


@pytest.mark.slow
def test_how_many(tmp_path, monkeypatch, capsys):
    example = loaded("how_many")
    monkeypatch.chdir(tmp_path)
    for name, value in {"COUNTS": [8, 16, 32], "DRAWS": 20, "ROWS": 60}.items():
        monkeypatch.setattr(example, name, value)
    example.main()
    for line in capsys.readouterr().out.splitlines():
        slope = float(line.split("slope")[1].split()[0])
        assert -1 < slope < 0
    assert (tmp_path / "how_many.png").stat().st_size > 10_000


@pytest.mark.filterwarnings("ignore:.* rows lie far outside")
@pytest.mark.parametrize("k", [40, 300])
def test_a_fourier_model_is_read_with_numpy_alone(k, tmp_path):
    import randspan as rs

    source = (EXAMPLES / "read_fourier.py").read_text()
    assert "import randspan" not in source
    assert len(source.splitlines()) <= 60
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(150, 4))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
    model = rs.SpanRegressor(rs.Fourier("matern32"), k, dtype="float64", random_state=0).fit(X, Y)
    rs.save(model, tmp_path / "model.rsp", statistics=False)
    found = loaded("read_fourier").predict(tmp_path / "model.rsp", 3 * X)
    np.testing.assert_allclose(found, model.predict(3 * X), rtol=1e-9, atol=1e-9)
    rs.save(model.set_params(family="stumps").fit(X, Y), tmp_path / "model.rsp")
    with pytest.raises(ValueError, match="these are stumps_functions"):
        loaded("read_fourier").predict(tmp_path / "model.rsp", X)
