"""Where blocks run. Today the CPU; the only room that may import torch or dask."""

from .base import Engine
from .cpu import CPU

__all__ = ["CPU", "Engine"]
