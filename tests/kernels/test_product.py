"""The plain product against scipy; the order of the twin's sums."""

import numpy as np
import scipy.sparse as sp
import torch
from cases import DEVICE, needs_triton

from ansgt.kernels.product import ordered_product, product
from ansgt.linalg import to_torch


def test_equals_scipy() -> None:
    rng = np.random.default_rng(0)
    matrix = sp.csr_array(sp.random_array((5, 7), density=0.5, rng=rng, dtype=np.float32))
    x = rng.standard_normal((7, 3)).astype(np.float32)
    assert np.allclose(product(to_torch(matrix), torch.from_numpy(x)).numpy(), matrix @ x, atol=1e-6)


@needs_triton
def test_a_row_is_summed_in_the_order_of_its_entries() -> None:
    """1 + 2⁻²⁴ + 2⁻²⁴ is 1 from the left and more than 1 from the right."""
    small = 2.0**-24
    x = torch.ones(3, 2, device=DEVICE)
    for values, expected in (([1.0, small, small], 1.0), ([small, small, 1.0], 1.0 + 2 * small)):
        matrix = sp.csr_array(np.array([values], dtype=np.float32))
        assert (ordered_product(to_torch(matrix).to(DEVICE), x) == expected).all()
