"""Functions that are indicators of cells, and trees: every index of compiled loops is checked here.

Of a table of cells the keys are stored, in the order of their numbers; slots are filled anew. Keys
that all fall into few slots would make that slow: as many steps as random keys take are granted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...families.bins import BinFunctions
from ...families.shared.cells import Table
from ...families.shared.forest import Forest
from ...families.shared.out_of_bag import OutOfBagRows
from ...families.shared.trained import TrainedOn
from ...families.trees import LeafFunctions, TreeFunctions
from ..arrays import Array
from ..compounds import One, optional
from ..errors import ensure
from ..kinds import Kind, Number, Whole
from ..registry import Entry, register
from .common import SEED
from .functions import functions

# Steps that a key may take to its slot on average: random ones take about one.
STEPS = 16
# Bytes that a key of 8 takes in a table (a copy with room for half as many, and slots), or while
# its steps are counted; bytes that a node of a tree takes while it is checked.
TABLE, NODE = 32, 72
# Bytes of a group beside its keys; groups of so few keys are filled at once, wherever these fall.
GROUP, FEW = 1_000, 64


class Keys(Array):
    """Keys of cells, of which tables are to be filled."""

    def read(self, node, of, where, scope):
        keys = super().read(node, of, where, scope)
        nbytes = TABLE * len(keys) + GROUP * scope["k"]
        of.budget.take(nbytes, f"{where}: {scope['k']} tables of {len(keys)} cells")
        return keys


class Nodes(Array):
    """What nodes of trees have, of which several more arrays are made to check them."""

    def read(self, node, of, where, scope):
        found = super().read(node, of, where, scope)
        of.budget.take(NODE * len(found), f"{where}: checks of {len(found)} nodes")
        return found


def slots_of(count: int) -> int:
    """How many slots a table of so many cells has."""
    return 2 ** int(np.ceil(np.log2(2 * (count + 1) + 1)))


def steps(keys: NDArray[np.uint64]) -> int:
    """How many steps all keys together take from the slot they hash to to that they are put in.

    In linear probing their sum does not depend on the order: sorted by their slots h, key i comes
    to the place p_i = max(h_i, p_{i-1} + 1). (That the table is a circle adds little.)
    """
    away = (keys & np.uint64(slots_of(len(keys)) - 1)).astype(np.int64)
    away.sort()
    away -= np.arange(len(keys))
    return int((np.maximum.accumulate(away) - away).sum())


def _cells(values: dict[str, Any], scope: dict[str, int]) -> None:
    counts, keys = values["counts"], values["keys"]
    ensure(int(counts.sum()) == len(keys), "Groups of cells have other numbers of keys in all.")
    for own in np.split(keys, np.cumsum(counts)[:-1]):
        slow = len(own) > FEW and steps(own) > STEPS * len(own)
        ensure(not slow, "Keys of cells fall into too few slots.")


def _leaves(values: dict[str, Any], scope: dict[str, int]) -> None:
    _cells(values, scope)
    _check_forest(values, scope)


def _check_forest(values: dict[str, Any], scope: dict[str, int]) -> None:
    forest, origin = values["forest"], values["trained_on"].origin
    ensure(len(forest.roots) == scope["k"], "A forest has a tree for every function.")
    ensure(forest.feature.max(initial=-1) < scope["d"], "A tree splits a column that is not there.")
    ensure(forest.value.shape[1] == len(origin), "Leaves have values for every target.")


def _take(names: tuple[str, ...]):
    def take(value: Any) -> dict[str, Any]:
        own = {name: getattr(value, name) for name in names}
        keys = [table.keys[:count] for table, count in zip(value.tables, value.counts, strict=True)]
        joined = np.concatenate(keys) if keys else np.empty(0, np.uint64)
        return own | {"keys": joined, "counts": value.counts}

    return take


def _build(cls: type):
    def build(values: dict[str, Any], of: Any) -> Any:
        groups = np.split(values["keys"], np.cumsum(values["counts"])[:-1])
        rest = {name: value for name, value in values.items() if name != "keys"}
        return cls(**rest, tables=[Table(keys.copy()) for keys in groups])

    return build


def _cell_functions(name: str, cls: type, family: str, check, drawn, **fields: Kind) -> Entry:
    plain = functions(
        name,
        cls,
        (family,),
        check,
        drawn,
        fields={
            "counts": Array(("i8",), ("k",), low=0, high=2**31),
            "keys": Keys(("u8",), (None,)),
            **fields,
        },
    )
    names = tuple(set(plain.fields) - {"keys", "counts"})
    return Entry(name, cls, plain.fields, plain.check, _take(names), _build(cls), drawn)


def _forest(values: dict[str, Any], scope: dict[str, int]) -> None:
    """Children stand after their parent and within its tree, leaves are numbered one by one."""
    feature, other, roots = values["feature"], values["other"].astype(np.int64), values["roots"]
    nodes, leaf = len(feature), values["feature"] < 0
    rising = len(roots) and roots[0] == 0 and (np.diff(roots) > 0).all() and roots[-1] < nodes
    ensure(rising, "Trees of a forest must stand one after the other.")
    sizes = np.diff(np.append(roots, nodes))
    local = np.arange(nodes) - np.repeat(roots, sizes)
    size = np.repeat(sizes, sizes)
    ensure((feature >= -1).all(), "A node is a leaf (-1), or has a column.")
    inside = ~leaf
    ensure(
        (other[inside] > local[inside] + 1).all() and (other[inside] < size[inside]).all(),
        "Children of a node must stand after it, within their tree.",
    )
    count = np.add.reduceat(leaf.astype(np.int64), roots)
    before = np.cumsum(count) - count
    numbers = np.cumsum(leaf) - 1 - np.repeat(before, sizes)
    ensure((other[leaf] == numbers[leaf]).all(), "Leaves must be numbered one by one.")
    ensure(np.array_equal(values["firsts"], before), "firsts must say where leaves of trees begin.")
    ensure(len(values["value"]) == int(leaf.sum()), "A forest has a value for every leaf.")


def _out_of_bag(values: dict[str, Any], scope: dict[str, int]) -> None:
    keys, order = values["keys"], values["order"]
    ensure(len(keys), "Functions that were trained on rows know some.")
    ensure((keys[1:] >= keys[:-1]).all(), "Keys of training rows must be sorted.")
    ensure(
        (np.bincount(order, minlength=len(keys)) == 1).all(), "order must be a permutation of rows."
    )
    inputs = values["inputs"]
    ensure(
        inputs is None or (inputs[1:] > inputs[:-1]).all(),
        "Input keys of training rows must be sorted, and each be there once.",
    )


register(
    _cell_functions(
        "bin_functions",
        BinFunctions,
        "bins",
        _cells,
        ("slopes", "shifts", "first", "second"),
        slopes=Array(("f8",), ("k", "d")),
        shifts=Array(("f8",), ("k", "d")),
        first=Array(("u8",), ("k", "d")),
        second=Array(("u8",), ("k", "d")),
    ),
    _cell_functions(
        "leaf_functions",
        LeafFunctions,
        "trees",
        _leaves,
        (),
        trained_on=One("trained_on"),
        forest=One("forest"),
        max_features=Whole(1, 2**31),
    ),
    functions(
        "tree_functions",
        TreeFunctions,
        ("trees",),
        _check_forest,
        fields={
            "trained_on": One("trained_on"),
            "forest": One("forest"),
            "max_features": Whole(1, 2**31),
        },
    ),
    Entry(
        "forest",
        Forest,
        {
            "feature": Nodes(("i4",), ("n",)),
            "threshold": Array(("f8",), ("n",)),
            "other": Array(("i4",), ("n",), low=0),
            "value": Array(("f8",), ("leaves", "c")),
            "roots": Array(("i8",), ("trees",), low=0),
            "firsts": Array(("i8",), ("trees",), low=0),
        },
        _forest,
    ),
    Entry(
        "trained_on",
        TrainedOn,
        {"out_of_bag": optional(One("out_of_bag_rows")), "origin": Array(("f8",), ("c",))},
    ),
    Entry(
        "out_of_bag_rows",
        OutOfBagRows,
        {
            "share": Number(0, 1),
            "seed": SEED,
            "n_targets": Whole(1, 2**31),
            "keys": Array(("u8",), ("n",)),
            "order": Array(("i8",), ("n",), low=0, high="n"),
            "inputs": optional(Array(("u8",), (None,))),
        },
        _out_of_bag,
        later={"inputs": None},
    ),
)
