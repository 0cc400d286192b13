"""The version of this library, which its files name."""

__version__ = "0.1.0"
