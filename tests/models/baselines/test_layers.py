"""What the baselines are made of: first layers for dense and sparse features, products, norms by name."""

from typing import get_args

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from cases import close
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ansgt.errors import InputError
from ansgt.linalg import to_torch
from ansgt.models.baselines.layers import (
    NORMS,
    FeatureEncoder,
    FeatureLinear,
    Norm,
    feature_dropout,
    make_norm,
    propagate,
    to_operator,
)


def features() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.rand(12, 40) * (torch.rand(12, 40) < 0.2)


def test_a_linear_map_of_sparse_features() -> None:
    x, layer = features(), FeatureLinear(40, 3)
    close(layer(x.to_sparse_csr()), layer(x))
    plain = FeatureLinear(40, 3, bias=False)
    close(plain(x.to_sparse_csr()), x @ plain.weight.T)


def test_dropout_scales_what_is_left_and_does_nothing_outside_training() -> None:
    x = features()
    assert feature_dropout(x, 0.5, training=False) is x
    assert feature_dropout(x, 0.0, training=True) is x
    for out in (feature_dropout(x, 0.5, True), feature_dropout(x.to_sparse_csr(), 0.5, True).to_dense()):
        kept = out != 0
        assert 0 < kept.sum() < (x != 0).sum()
        assert torch.equal(out[kept], 2 * x[kept])


def test_the_last_columns_are_kept_as_they_are() -> None:
    x = features()
    for out in (
        feature_dropout(x, 0.9, True, 15),
        feature_dropout(x.to_sparse_csr(), 0.9, True, 15).to_dense(),
    ):
        assert torch.equal(out[:, 25:], x[:, 25:])
        assert (out[:, :25] != 0).sum() < (x[:, :25] != 0).sum()


def test_tokens_are_normalised_whatever_the_size_of_the_features() -> None:
    encode = FeatureEncoder(40, 8, dropout=0.0)
    tokens = encode(1e3 * features())
    close(tokens.mean(dim=1), torch.zeros(12))
    close(tokens.var(dim=1, unbiased=False), torch.ones(12))


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


def test_names_and_annotation_agree() -> None:
    assert set(get_args(Norm)) == set(NORMS)
    assert isinstance(make_norm("batch", 4), nn.BatchNorm1d)


def test_an_unknown_norm_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="Unknown norm 'group'; known: batch, layer, none"):
        make_norm("group", 4)
