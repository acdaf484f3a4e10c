"""Packages that may be absent."""

import importlib.util

HAS_TRITON = importlib.util.find_spec("triton") is not None
"""Whether kernels of our own can run on CUDA; torch brings triton there, except on Windows."""
