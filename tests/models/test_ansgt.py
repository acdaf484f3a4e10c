"""What must hold of the whole model, whatever its weights."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ansgt.errors import InputError
from ansgt.kernels.choose import Kernel
from ansgt.models.ansgt import ANSGT, ANSGTSettings, InputProjection
from ansgt.sequences.batch import SequenceBatch, SequenceLayout

ROWS, FEATURES, CLASSES, CHANNELS = 30, 12, 4, 3
LAYOUT = SequenceLayout(num_sampled=6, num_supernodes=2, num_global=2)


def make_batch(size: int = 7, masked: float = 0.3, seed: int = 0) -> SequenceBatch:
    generator = torch.Generator().manual_seed(seed)
    length, slots = LAYOUT.length, LAYOUT.globals
    mask = torch.rand(size, length, generator=generator) >= masked
    mask[:, 0] = mask[:, slots] = True
    index = torch.randint(0, ROWS, (size, length), generator=generator)
    index[:, slots] = ROWS + torch.arange(LAYOUT.num_global)
    index[~mask] = 0
    proximity = torch.rand(size, length, length, CHANNELS, generator=generator)
    real = mask.clone()
    real[:, slots] = False
    proximity *= (real[:, :, None] & real[:, None, :])[..., None]
    count = torch.randint(1, 4, (size, length), generator=generator) * real
    count[:, 0] = 0
    log_count = count.clamp(min=1).float().log()
    x = torch.randn(ROWS, FEATURES, generator=generator)
    target = torch.randint(0, CLASSES, (size,), generator=generator)
    return SequenceBatch(LAYOUT, index.clone(), mask, log_count, proximity, x, index, target)


def make_model(**settings: object) -> ANSGT:
    torch.manual_seed(0)
    settings = {"hidden_channels": 32, "num_layers": 3, "num_heads": 4, "num_proximity": CHANNELS} | settings
    model = ANSGT(FEATURES, CLASSES, ANSGTSettings(**settings))  # type: ignore[arg-type]
    for bias in model.transformer.biases:
        torch.nn.init.normal_(bias.global_bias)
    return model.eval()


def permuted(batch: SequenceBatch, order: Tensor) -> SequenceBatch:
    return replace(
        batch,
        ids=batch.ids[:, order],
        mask=batch.mask[:, order],
        log_count=batch.log_count[:, order],
        proximity=batch.proximity[:, order][:, :, order],
        index=batch.index[:, order],
    )


def test_shapes() -> None:
    logits, s = make_model()(make_batch(), significance=True)
    assert logits.shape == (7, CLASSES)
    assert s.shape == (7, LAYOUT.num_sampled)
    assert (s >= 0).all()
    assert make_model()(make_batch(0)).shape == (0, CLASSES)


def test_order_of_the_sampled_nodes_does_not_matter() -> None:
    model, batch = make_model(), make_batch()
    order = torch.arange(LAYOUT.length)
    order[LAYOUT.sampled] = order[LAYOUT.sampled][torch.randperm(LAYOUT.num_sampled)]
    logits, s = model(batch, significance=True)
    logits2, s2 = model(permuted(batch, order), significance=True)
    assert torch.allclose(logits, logits2, atol=1e-5)
    assert torch.allclose(s[:, order[LAYOUT.sampled] - 1], s2, atol=1e-6)


@pytest.mark.parametrize("kernel", ["plain", "sdpa"])
def test_masked_tokens_have_no_influence_and_no_gradient(kernel: Kernel) -> None:
    """Masked slots point at a row of their own, so its gradient is theirs alone: it must be exactly zero."""
    model, batch = make_model(kernel=kernel), make_batch()
    assert not batch.mask.all()
    index = torch.where(batch.mask | (batch.index >= ROWS), batch.index, ROWS - 1)
    index[batch.mask & (index == ROWS - 1)] = 1
    x = batch.x.clone().requires_grad_()
    proximity = batch.proximity.clone().requires_grad_()
    log_count = batch.log_count.clone().requires_grad_()
    out = model(replace(batch, index=index, x=x, proximity=proximity, log_count=log_count))
    out.square().sum().backward()
    assert (x.grad[ROWS - 1] == 0).all()
    assert (log_count.grad[~batch.mask] == 0).all()
    pair = batch.mask[:, :, None] & batch.mask[:, None, :]
    assert (proximity.grad[~pair] == 0).all()
    assert (x.grad[index[batch.mask & (index < ROWS)]] != 0).any(dim=1).all()

    noise = batch.x.clone()
    noise[ROWS - 1] = 1e3 * torch.randn(FEATURES)
    filled = batch.proximity + 50 * torch.rand_like(batch.proximity) * ~pair[..., None]
    assert torch.equal(out, model(replace(batch, index=index, x=noise, proximity=filled)))


def test_masked_tokens_are_as_if_absent() -> None:
    """A sequence with masked slots equals the shorter sequence without them."""
    model, batch = make_model(), make_batch(size=1)
    kept = batch.mask[0].nonzero().flatten()
    nodes = int((kept < LAYOUT.supernodes.start).sum()) - 1
    layout = SequenceLayout(nodes, len(kept) - 1 - nodes - LAYOUT.num_global, LAYOUT.num_global)
    shorter = replace(permuted(batch, kept), layout=layout)
    assert len(kept) < LAYOUT.length
    logits, s = model(batch, significance=True)
    logits2, s2 = model(shorter, significance=True)
    assert torch.allclose(logits, logits2, atol=1e-5)
    assert torch.allclose(s[:, batch.mask[0, LAYOUT.sampled]], s2, atol=1e-6)
    assert (s[:, ~batch.mask[0, LAYOUT.sampled]] == 0).all()


def test_everything_masked_is_finite() -> None:
    batch = make_batch(masked=1.1)
    model = make_model().train()
    logits, s = model(batch, significance=True)
    logits.sum().backward()
    assert logits.isfinite().all()
    assert (s == 0).all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_merged_repeats_equal_repeated_tokens() -> None:
    """A token with log(3) equals the same token three times; its significance is the sum of the copies'."""
    model, batch = make_model(), make_batch(masked=0.0)
    order = torch.tensor([0, 1, 1, 1, 2, 3, *range(LAYOUT.supernodes.start, LAYOUT.length)])
    batch = replace(batch, log_count=torch.zeros_like(batch.log_count))
    repeated = replace(permuted(batch, order), layout=SequenceLayout(5, 2, 2))
    mask = batch.mask.clone()
    mask[:, 4:7] = False
    log_count = torch.zeros(mask.shape)
    log_count[:, 1] = math.log(3)
    merged = replace(batch, mask=mask, log_count=log_count)
    logits, s = model(merged, significance=True)
    logits2, s2 = model(repeated, significance=True)
    assert torch.allclose(logits, logits2, atol=1e-5)
    assert torch.allclose(s[:, 0], s2[:, :3].sum(1), atol=1e-6)
    assert torch.allclose(s[:, 1:3], s2[:, 3:5], atol=1e-6)


def test_every_row_is_encoded_once() -> None:
    model, batch = make_model(), make_batch(size=20)
    seen: list[int] = []
    model.input.register_forward_hook(lambda _m, args, _out: seen.append(args[0].shape[0]))
    model(batch)
    assert seen == [ROWS]


def test_sparse_features_equal_dense() -> None:
    torch.manual_seed(0)
    x = torch.randn(ROWS, FEATURES) * (torch.rand(ROWS, FEATURES) < 0.3)
    x[3] = 0.0
    grads = []
    for features in (x, x.to_sparse_csr()):
        layer = InputProjection(FEATURES, 5)
        torch.nn.init.constant_(layer.bias, 0.5)
        layer.weight.data = torch.arange(FEATURES * 5.0).view(FEATURES, 5) / 7
        out = layer(features)
        assert torch.allclose(out, x @ layer.weight + 0.5, atol=1e-5)
        out.square().sum().backward()
        grads.append(layer.weight.grad)
    assert torch.allclose(*grads, rtol=1e-4, atol=1e-4)
    model, batch = make_model(), make_batch()
    assert torch.allclose(model(replace(batch, x=batch.x.to_sparse_csr())), model(batch), atol=1e-5)


@pytest.mark.parametrize("amp", [False, True])
def test_tables_may_be_half_precision(amp: bool) -> None:
    """A table of bfloat16 features and proximities serves a float32 model, with and without autocast."""
    model, batch = make_model(), make_batch()
    exact = replace(batch, x=batch.x.bfloat16().float(), proximity=batch.proximity.bfloat16().float())
    half = replace(batch, x=batch.x.bfloat16(), proximity=batch.proximity.bfloat16())
    with torch.autocast("cpu", torch.bfloat16, enabled=amp):
        out = model(half)
    assert torch.allclose(out.float(), model(exact), atol=0.05 if amp else 1e-6)


def test_columns_of_zeros_behind_the_features_change_nothing() -> None:
    layer = InputProjection(FEATURES, 5)
    x = torch.randn(4, FEATURES)
    wide = torch.nn.functional.pad(x, (0, 3))
    assert torch.allclose(layer(wide), layer(x), atol=1e-6)
    layer(wide).sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.shape == (FEATURES, 5)


def test_input_dropout_acts_on_entries() -> None:
    layer = InputProjection(1000, 1, dropout=0.5)
    torch.nn.init.ones_(layer.weight)
    for x in (torch.ones(50, 1000), torch.ones(50, 1000).to_sparse_csr()):
        out = layer(x)
        assert abs(out.mean().item() - 1000) < 20
        assert out.std().item() > 10
        assert torch.allclose(layer.eval()(x), torch.full((50, 1), 1000.0))
        layer.train()


def test_kept_columns_are_never_dropped() -> None:
    layer = InputProjection(40, 40, dropout=0.8, num_kept=3)
    torch.nn.init.eye_(layer.weight)
    x = torch.rand(20, 40) + 0.1
    wide = torch.nn.functional.pad(x, (0, 8))
    for given in (x, x.to_sparse_csr(), wide):
        out = layer(given)
        assert torch.equal(out[:, 37:], x[:, 37:])
        assert (out[:, :37] == 0).float().mean() > 0.6


def test_dropout_only_in_training() -> None:
    model, batch = make_model(), make_batch()
    assert torch.equal(model(batch), model(batch))
    model.train()
    assert not torch.equal(model(batch), model(batch))


@torch.no_grad()
@pytest.mark.parametrize("own_features", [False, True])
def test_magnitude_reaches_the_head_by_own_features_alone(own_features: bool) -> None:
    """Layers that add nothing leave LN(H), which does not know how large a node's features are."""
    model, batch = make_model(own_features=own_features, kind_embedding=False), make_batch()
    for layer in model.transformer.layers:
        for silenced in (layer.attention.out_proj, layer.linear[1]):
            torch.nn.init.zeros_(silenced.weight)
            torch.nn.init.zeros_(silenced.bias)
    larger = replace(batch, x=3 * batch.x)
    assert torch.allclose(model(batch), model(larger), atol=1e-3) is not own_features


@pytest.mark.parametrize(
    "setting",
    [{"kind_embedding": False}, {"per_layer_bias": True}, {"num_layers": 1}, {"own_features": True}],
)
def test_all_parameters_learn(setting: dict[str, object]) -> None:
    model, batch = make_model(**setting), make_batch()
    torch.nn.functional.cross_entropy(model(batch), batch.target).backward()
    unused = {"global_bias"} if setting.get("num_layers") == 1 else set()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert name.split(".")[-1] in unused or bool((parameter.grad != 0).any()), name


def test_wrong_batches_are_named() -> None:
    with pytest.raises(InputError, match="2 global nodes, the model 1"):
        make_model(num_global=1)(make_batch())
    with pytest.raises(InputError, match="3 proximity channels, the model 5"):
        make_model(num_proximity=5)(make_batch())
    with pytest.raises(InputError, match="out_channels=0"):
        ANSGT(3, 0)
