"""The operations that decide how long a step takes, one folder per operation.

The folder's `__init__.py` holds the plain function of torch, which says what the operation computes, and the function that
callers use. `triton.py` beside it holds the second implementation for CUDA; it is imported only where it is used, because
torch for the CPU comes without triton. `choose.py` says which of them runs.
"""
