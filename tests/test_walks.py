"""Random walks of streams: the first of ``python -m benchmarks streams``."""

import pytest
from benchmarks import streams


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_every_walk_ends_where_one_fit_begins(start):
    found = [(seed, *streams.outcome(seed)) for seed in range(start, start + 50)]
    assert not [one for one in found if one[1].startswith("BAD")]
