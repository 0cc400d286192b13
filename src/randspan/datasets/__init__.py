"""Public data: that of the four papers, and tables that methods are compared on.

Files are read from the folder that ``RANDSPAN_DATA`` names; what is not there is downloaded from
its public source (``pip install 'randspan[datasets]'``), checked, and kept in a cache
(``RANDSPAN_CACHE``). A file that is missing, cut off or not what it should be is a `DataError`.

>>> import randspan as rs
>>> adult = rs.datasets.load_adult()  # doctest: +SKIP
>>> model = rs.SpanClassifier().fit(adult.X_train, adult.y_train)  # doctest: +SKIP
"""

from .files import DataError
from .papers import (
    load_activity,
    load_adult,
    load_census_house,
    load_compas,
    load_cpu,
    load_crime,
    load_forest_cover,
    load_kddcup99,
    load_mnist,
)
from .tabular import (
    load_ailerons,
    load_bike_hour,
    load_cal_housing,
    load_elevators,
    load_kin40k,
    load_letter,
    load_magic,
    load_pol,
    load_protein,
)

__all__ = [
    "DataError",
    "load_activity",
    "load_adult",
    "load_ailerons",
    "load_bike_hour",
    "load_cal_housing",
    "load_census_house",
    "load_compas",
    "load_cpu",
    "load_crime",
    "load_elevators",
    "load_forest_cover",
    "load_kddcup99",
    "load_kin40k",
    "load_letter",
    "load_magic",
    "load_mnist",
    "load_pol",
    "load_protein",
]
