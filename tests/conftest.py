"""What all tests share: seeds, and where real data lie."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real data, or a visible skip."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RANDSPAN_DATA", beside))
    if not folder.is_dir():
        pytest.skip("no real data: set RANDSPAN_DATA to the folder that holds them")
    return folder
