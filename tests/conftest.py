"""What all tests share."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture(autouse=True)
def seeded():
    """What has no ``random_state`` draws the same numbers in every run of a test."""
    np.random.seed(20240607)  # noqa: NPY002 - the generator that ``random_state=None`` stands for
