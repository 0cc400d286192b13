"""What methods that pass over the rows have in common: what they are given, and what they need."""

from __future__ import annotations

from dataclasses import dataclass

from ..keys import Keys
from .method import OPERATOR, Method
from .plan import Cost, Machine, Shape
from .problem import Operator
from .solution import Array, Solution
from .task import Task, Terms

# Products with all features that a fit takes, more or less.
USUAL = 50


@dataclass(frozen=True, eq=False)
class OperatorRows:
    """Rows as an operator, with their targets and weights.

    ``keys`` are those of what is left out together with every row: folds are made by them.
    """

    operator: Operator
    targets: Array
    weights: Array
    keys: Keys


class InPasses(Method[OperatorRows]):
    """A method that sees rows through products with their features, in any number of passes."""

    takes = OPERATOR

    def own_bytes(self, shape: Shape, machine: Machine) -> int:
        """What it needs besides blocks, targets and a sketch."""
        return 0

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        products = USUAL * shape.n_rows * shape.layout.n_stored * shape.n_targets
        return Cost(products, self.own_bytes(shape, machine))

    def solve(self, given: OperatorRows, task: Task, terms: Terms) -> Solution:
        from .passes import solve  # here, because it brings all of these methods together

        return solve(given, task, terms)


def squares(shape: Shape, machine: Machine) -> int:
    """Bytes of k × k matrices: one for every thread, and some to solve with."""
    return 8 * (machine.threads + 4) * shape.layout.n_columns**2
