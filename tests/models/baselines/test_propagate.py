"""S h and its gradient against dense autograd."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from ansgt.linalg import to_torch
from ansgt.models.baselines.propagate import propagate, to_operator


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**31), st.booleans())
def test_product_and_gradient(num_nodes: int, width: int, seed: int, symmetric: bool) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(num_nodes, num_nodes)) * (rng.random((num_nodes, num_nodes)) < 0.4)
    dense = dense + dense.T if symmetric else dense
    matrix = sp.csr_array(dense)
    h = torch.from_numpy(rng.normal(size=(num_nodes, width)).astype(np.float32)).requires_grad_()
    upstream = torch.from_numpy(rng.normal(size=(num_nodes, width)).astype(np.float32))
    transposed = None if symmetric else to_torch(sp.csr_array(matrix.T))
    out = propagate(to_torch(matrix), h, transposed)
    (gradient,) = torch.autograd.grad(out, h, upstream)
    expected = torch.from_numpy(dense.astype(np.float32))
    assert torch.allclose(out, expected @ h, atol=1e-5)
    assert torch.allclose(gradient, expected.T @ upstream, atol=1e-5)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_a_well_filled_matrix_becomes_dense(share: float) -> None:
    matrix = sp.random_array((40, 40), density=share, rng=np.random.default_rng(0), format="csr")
    operator = to_operator(matrix)
    assert (operator.layout == torch.strided) == (share > 0.1)
    assert torch.allclose(operator.to_dense(), torch.from_numpy(matrix.toarray().astype(np.float32)))
