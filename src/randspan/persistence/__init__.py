"""Models in and out; ONNX."""

from .onnx import to_onnx

__all__ = ["to_onnx"]
