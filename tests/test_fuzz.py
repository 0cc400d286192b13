"""Random calls: the first of ``python -m benchmarks fuzz``."""

import pytest
from benchmarks import fuzz


@pytest.mark.parametrize("start", range(0, 500, 50))
def test_every_call_ends_well_or_in_an_error_of_ours(start):
    found = [(seed, *fuzz.outcome(seed)) for seed in range(start, start + 50)]
    assert not [one for one in found if one[1].startswith("BAD")]
