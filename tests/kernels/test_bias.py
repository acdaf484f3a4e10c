"""The plain bias against a loop over pairs."""

import torch

from ansgt.kernels.bias import pair_bias


def test_every_pair_by_its_definition() -> None:
    torch.manual_seed(0)
    length, num_global = 5, 2
    proximity, weight, scalars = torch.randn(3, length, length, 4), torch.randn(2, 4), torch.randn(2, 2)
    keys = torch.randn(3, length)
    found = pair_bias(proximity, weight, scalars, keys, num_global, length)
    for i in range(length):
        for j in range(length):
            expected = proximity[:, i, j] @ weight.T + keys[:, j, None]
            is_global = i >= length - num_global, j >= length - num_global
            if is_global == (False, True):
                expected = expected + scalars[:, 0]
            if is_global == (True, False):
                expected = expected + scalars[:, 1]
            assert torch.allclose(found[:, :, i, j], expected, atol=1e-6)
    assert torch.equal(found[:, :, :1], pair_bias(proximity, weight, scalars, keys, num_global, 1))
