"""Sparse times dense, the same bits every time."""

from torch import Tensor

from ansgt.kernels.choose import Kernel, choose


def product(matrix: Tensor, x: Tensor, kernel: Kernel = "auto") -> Tensor:
    """matrix [n, k] in CSR times x [k, c], both float32 -> [n, c]."""
    if choose("product", x, kernel) == "triton":
        from ansgt.kernels.product.triton import ordered_product

        return ordered_product(matrix, x)
    return matrix @ x
