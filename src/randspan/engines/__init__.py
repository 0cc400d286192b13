"""Where blocks run. Today the CPU; the only room that may import torch or dask."""
