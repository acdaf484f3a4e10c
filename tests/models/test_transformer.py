"""The stack against the equations of section 5.2 written out with PyTorch's own pieces."""

import pytest
import torch
from torch import Tensor

from ansgt.errors import InputError
from ansgt.models.attention import attention_weights, key_bias
from ansgt.models.transformer import Transformer, TransformerLayer

HEADS, WIDTH = 4, 32


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    mask = torch.rand(5, 8) < 0.7
    mask[:, 0] = mask[:, -1] = True
    return torch.randn(5, 8, WIDTH), torch.rand(5, 8, 8, 3), key_bias(mask, torch.rand(5, 8))


def make(num_layers: int = 3, per_layer_bias: bool = False) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(WIDTH, num_layers, HEADS, 3, num_global=1, per_layer_bias=per_layer_bias)
    for bias in model.biases:
        torch.nn.init.normal_(bias.global_bias)
    return model.eval()


def heads(h: Tensor) -> Tensor:
    return torch.stack(h.chunk(HEADS, dim=-1), dim=1)


def full_computation(model: Transformer, h: Tensor, proximity: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Every token through every layer, all attention matrices kept: z_c and s [B, T] from the definition."""
    scores = []
    for number, layer in enumerate(model.layers):
        assert isinstance(layer, TransformerLayer)
        bias = model.biases[min(number, len(model.biases) - 1)](proximity, keys, model.num_global)
        query, key, value = (heads(p) for p in layer.attention.in_proj(layer.norm1(h)).chunk(3, dim=-1))
        weights = attention_weights(query, key, bias)  # [B, H, T, T]
        h = h + layer.attention.out_proj(torch.cat((weights @ value).unbind(1), dim=-1))
        h = h + layer.ffn(layer.norm2(h))
        for head in range(HEADS):
            scores.append(weights[:, head, 0] * value[:, head].square().sum(-1).sqrt())
    return model.norm(h)[:, 0], torch.stack(scores).mean(0)


@pytest.mark.parametrize("per_layer_bias", [False, True])
@pytest.mark.parametrize("num_layers", [1, 3])
def test_centre_only_last_layer_equals_the_full_computation(
    num_layers: int, per_layer_bias: bool, inputs: tuple[Tensor, ...]
) -> None:
    model = make(num_layers, per_layer_bias)
    z, s = model(*inputs, significance=True)
    z_full, s_full = full_computation(model, *inputs)
    assert (z - z_full).abs().max() < 1e-5
    assert (s - s_full).abs().max() < 1e-6


def test_significance_costs_no_difference_in_output(inputs: tuple[Tensor, ...]) -> None:
    model = make()
    torch.testing.assert_close(model(*inputs)[0], model(*inputs, significance=True)[0])
    assert model(*inputs)[1] is None


def test_layer_is_pytorchs_pre_norm_encoder_layer() -> None:
    """Without bias a layer is `nn.TransformerEncoderLayer(norm_first=True)`."""
    torch.manual_seed(2)
    layer = TransformerLayer(WIDTH, HEADS)
    theirs = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, 2 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    theirs.self_attn.in_proj_weight.data = layer.attention.in_proj.weight.data
    theirs.self_attn.in_proj_bias.data = layer.attention.in_proj.bias.data
    theirs.self_attn.out_proj.load_state_dict(layer.attention.out_proj.state_dict())
    theirs.linear1.load_state_dict(layer.ffn[0].state_dict())
    theirs.linear2.load_state_dict(layer.ffn[3].state_dict())
    h = torch.randn(2, 6, WIDTH)
    assert torch.allclose(layer(h, torch.zeros(2, HEADS, 6, 6))[0], theirs(h), atol=1e-5)


def test_biases_are_shared_unless_asked() -> None:
    assert len(make(3).biases) == 1
    assert len(make(3, per_layer_bias=True).biases) == 3


def test_needs_a_layer() -> None:
    with pytest.raises(InputError, match="num_layers=0"):
        Transformer(8, 0, 2, 1)
