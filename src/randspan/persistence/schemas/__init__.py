"""Schemas: for every class of files its fields, their kinds, and what holds between them.

One file a room. Importing them fills the table of `registry`.
"""

from . import cells, estimators, families, frame, functions, models, resolved, solvers, statistics

ROOMS = (families, resolved, functions, cells, frame, statistics, solvers, models, estimators)
