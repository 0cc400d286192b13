"""An ONNX graph under construction: nodes, constants, and tensors that know their type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
INT64, UINT64, BOOL = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.bool_)

# Operators of 2022, which runtimes of several years know. Opset 4 of ai.onnx.ml has keys of a
# LabelEncoder as tensors, and is the last one with a TreeEnsembleRegressor that is not deprecated.
OPSETS = {"": 18, "ai.onnx.ml": 4}
IR_VERSION = 8
# Constants of so few entries are written once.
FEW = 16
# A file in protocol buffers is smaller than this.
LARGEST = 2**31


class NoExport(NotImplementedError, ValueError):
    """A model that has no ONNX graph, and what to do instead."""


@dataclass(frozen=True)
class Tensor:
    """A value in the graph, by its name."""

    name: str
    dtype: np.dtype


class Graph:
    """Nodes and constants, written down one call at a time: ``graph("Add", x, 1.0)``.

    Numbers and arrays become constants: floating ones of the type of the first floating tensor
    beside them, so that a formula reads the same in both precisions.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self._known: dict[tuple, Tensor] = {}

    def __call__(
        self,
        kind: str,
        *inputs: Tensor | NDArray | float,
        dtype: Any = None,
        domain: str = "",
        **attributes: Any,
    ) -> Tensor:
        """One more node; its value has the type of the first tensor, or ``dtype``."""
        from onnx import helper

        types = [one.dtype for one in inputs if isinstance(one, Tensor)]
        out = np.dtype(types[0] if dtype is None else dtype)
        floating = next((one for one in (*types, out) if one.kind == "f"), FLOAT64)
        names = [self._tensor(one, floating).name for one in inputs]
        made = Tensor(f"{kind}_{len(self.nodes)}", out)
        self.nodes.append(
            helper.make_node(kind, names, [made.name], name=made.name, domain=domain, **attributes)
        )
        return made

    def _tensor(self, value: Tensor | NDArray | float, floating: np.dtype) -> Tensor:
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value)
        return self.constant(array.astype(floating) if array.dtype.kind == "f" else array)

    def constant(self, array: NDArray) -> Tensor:
        """An array in the graph."""
        from onnx import numpy_helper

        few = array.size <= FEW and array.dtype.kind != "O"
        key = (array.dtype.str, array.shape, array.tobytes() if few else id(array))
        if few and key in self._known:
            return self._known[key]
        made = Tensor(f"constant_{len(self.constants)}", array.dtype)
        plain = np.ascontiguousarray(array).reshape(array.shape)  # of a number it makes a vector
        self.constants.append(numpy_helper.from_array(plain, made.name))
        if few:
            self._known[key] = made
        return made

    def cast(self, value: Tensor, dtype: Any) -> Tensor:
        """The same numbers in another type."""
        dtype = np.dtype(dtype)
        if value.dtype == dtype:
            return value
        return self("Cast", value, dtype=dtype, to=onnx_type(dtype))

    def product(self, values: Tensor, matrix: NDArray) -> Tensor:
        """values·matrix, of a matrix that is known."""
        # Not a MatMul: onnxruntime pulls numbers that stand beside one into it, in float32.
        return self("Gemm", values, matrix)

    def total(self, values: list[Tensor]) -> Tensor:
        """The sum of tensors of one shape."""
        return values[0] if len(values) == 1 else self("Sum", *values)

    def input(self, name: str, dtype: np.dtype, n_columns: int) -> Tensor:
        """Rows that come in."""
        from onnx import helper

        shape: list[Any] = ["N", n_columns]
        self.inputs.append(helper.make_tensor_value_info(name, onnx_type(dtype), shape))
        return Tensor(name, dtype)

    def output(self, name: str, value: Tensor, columns: int | None = None) -> None:
        """What goes out: a row of ``columns`` for every row, a number if None."""
        from onnx import helper

        shape: list[Any] = ["N"] if columns is None else ["N", columns]
        self.nodes.append(helper.make_node("Identity", [value.name], [name], name=name))
        self.outputs.append(helper.make_tensor_value_info(name, onnx_type(value.dtype), shape))

    def model(self, name: str, version: str, told: str) -> Any:
        """The finished graph as a model, checked."""
        import onnx
        from onnx import helper

        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid(domain, number) for domain, number in OPSETS.items()]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="randspan",
            producer_version=version,
            doc_string=told,
        )
        if model.ByteSize() >= LARGEST:
            raise NoExport(
                f"The graph takes {model.ByteSize() / 1e9:.1f} GB, and an ONNX file holds 2.1 GB: "
                "use fewer functions, fewer training rows or dtype='float32'."
            )
        onnx.checker.check_model(model, full_check=True)
        return model


def onnx_type(dtype: Any) -> int:
    """The number that ONNX has for a type; objects are strings."""
    from onnx import TensorProto, helper

    dtype = np.dtype(dtype)
    return TensorProto.STRING if dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(dtype)
