"""Sparse times dense against scipy; where: `triton_cases.py`."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from triton_cases import DEVICE

from ansgt.linalg import to_torch
from ansgt.sequences.triton_product import COLUMNS, ordered_product


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "density"),
    [
        (5, 7, 3, 0.5),
        (3, 4, COLUMNS + 9, 0.4),
        (4, 4, 1, 0.0),
        (1, 1, 1, 1.0),
        (0, 3, 2, 0.0),
        (3, 2, 0, 1.0),
    ],
)
def test_equals_scipy(rows: int, inner: int, columns: int, density: float) -> None:
    rng = np.random.default_rng(rows)
    matrix = sp.csr_array(sp.random_array((rows, inner), density=density, rng=rng, dtype=np.float32))
    x = rng.standard_normal((inner, columns)).astype(np.float32)
    got = ordered_product(to_torch(matrix).to(DEVICE), torch.from_numpy(x).to(DEVICE))
    assert got.shape == (rows, columns)
    assert np.allclose(got.cpu().numpy(), matrix @ x, atol=1e-6)


def test_a_row_is_summed_in_the_order_of_its_entries() -> None:
    """1 + 2⁻²⁴ + 2⁻²⁴ is 1 from the left and more than 1 from the right."""
    small = 2.0**-24
    x = torch.ones(3, 2, device=DEVICE)
    for values, expected in (([1.0, small, small], 1.0), ([small, small, 1.0], 1.0 + 2 * small)):
        matrix = sp.csr_array(np.array([values], dtype=np.float32))
        assert (ordered_product(to_torch(matrix).to(DEVICE), x) == expected).all()
