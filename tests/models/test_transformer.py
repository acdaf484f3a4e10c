"""The stack against the equations of section 5.2 written out with PyTorch's own pieces."""

import pytest
import torch
from cases import BACKEND, DEVICE, needs_triton
from torch import Tensor

from ansgt.errors import InputError
from ansgt.kernels.attention import attention_weights
from ansgt.models.attention import key_bias
from ansgt.models.transformer import Transformer, TransformerLayer, TransformerSettings

HEADS, WIDTH = 4, 32


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    mask = torch.rand(5, 8) < 0.7
    mask[:, 0] = mask[:, -1] = True
    return torch.randn(5, 8, WIDTH), torch.rand(5, 8, 8, 3), key_bias(mask, torch.rand(5, 8))


def make(num_layers: int = 3, per_layer_bias: bool = False) -> Transformer:
    torch.manual_seed(1)
    settings = TransformerSettings(
        WIDTH, num_layers, HEADS, num_proximity=3, num_global=1, per_layer_bias=per_layer_bias
    )
    model = Transformer(settings)
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
    layer = TransformerLayer(TransformerSettings(WIDTH, num_heads=HEADS)).eval()
    theirs = torch.nn.TransformerEncoderLayer(
        WIDTH, HEADS, 2 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    ).eval()
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
        Transformer(TransformerSettings(8, num_layers=0, num_heads=2))


WIDE = 64
FUSED = TransformerSettings(
    WIDE, num_layers=2, num_heads=4, num_proximity=3, num_global=1, dropout=0.0, attention_dropout=0.0
)
"""Sizes that the fused layers take."""


def tokens() -> tuple[Tensor, Tensor, Tensor]:
    """Tokens, proximities and the keys' bias of four sequences."""
    torch.manual_seed(1)
    h = torch.randn(4, 7, WIDE, device=DEVICE, requires_grad=True)
    return h, torch.rand(4, 7, 7, 3, device=DEVICE), torch.zeros(4, 7, device=DEVICE)


@needs_triton
@pytest.mark.parametrize("num_proximity", [0, 3])
def test_the_transformer_takes_the_fused_layers_and_agrees(num_proximity: int) -> None:
    settings = TransformerSettings(**{**vars(FUSED), "num_proximity": num_proximity})
    nets = [Transformer(settings, fused=fused).to(DEVICE) for fused in (False, True)]
    nets[1].load_state_dict(nets[0].state_dict())
    h, proximity, keys = tokens()
    proximity = proximity[..., :num_proximity]
    plainly, fused = (net(h, proximity, keys)[0] for net in nets)
    assert 0 < (plainly - fused).abs().max() < 1e-4
    upstream = torch.randn_like(fused)  # not the squares' sum: a LayerNorm keeps that constant
    for out in (plainly, fused):
        (out * upstream).sum().backward()
    for (name, one), other in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        if one.numel():
            assert (one.grad - other.grad).abs().max() < 1e-3, name  # type: ignore[operator]


@needs_triton
def test_a_compiled_transformer_agrees_with_an_eager_one() -> None:
    torch.manual_seed(0)
    net = Transformer(FUSED, fused=True).to(DEVICE)
    h, proximity, keys = tokens()
    upstream = torch.randn(4, WIDE, device=DEVICE)

    def loss() -> Tensor:
        return (net(h, proximity, keys)[0] * upstream).sum()

    inputs = (h, *net.parameters())
    eager, compiled = loss(), torch.compile(loss, dynamic=False, backend=BACKEND)()
    assert torch.allclose(eager, compiled, rtol=1e-4, atol=1e-4)
    wanted = torch.autograd.grad(eager, inputs)
    assert all(grad.abs().max() > 1e-2 for grad in wanted)
    for one, other in zip(torch.autograd.grad(compiled, inputs), wanted, strict=True):
        assert (one - other).abs().max() < 1e-3


@needs_triton
@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"hidden_channels": 48}, "hidden_channels"),
        ({"per_layer_bias": True}, "num_biases"),
        ({"ffn_multiplier": 0.5}, "ffn_channels"),
        ({"num_heads": 8}, "head_channels"),
    ],
)
def test_fused_layers_that_do_not_fit_are_refused_by_name(wrong: dict[str, int], name: str) -> None:
    net = Transformer(TransformerSettings(**vars(FUSED) | wrong), fused=True).to(DEVICE)
    width = wrong.get("hidden_channels", WIDE)
    given = (torch.zeros(shape, device=DEVICE) for shape in ((1, 3, width), (1, 3, 3, 3), (1, 3)))
    with pytest.raises(InputError, match=f"kernel='triton' does not take these sizes: {name}"):
        net(*given)
