"""The operations that decide how long a step takes, one file per operation.

First comes the plain function of torch, which says what the operation computes, and the function that callers use; behind
them its twin, a second implementation in Triton for CUDA. `choose.py` says which of them runs, `autograd.py` makes one
function of a forward and a backward pass, `language.py` brings Triton where it is installed. The fused layers are larger:
`layers_passes.py` and `layers_kernels.py` hold their twin.
"""
