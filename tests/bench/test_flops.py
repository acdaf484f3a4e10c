"""The count against PyTorch's own counter of matrix products."""

import pytest
import torch
from cases import LAYOUT, NODES, SEQUENCES, make_step
from torch.utils.flop_counter import FlopCounterMode

from ansgt.bench.flops import bytes_per_step, flops_per_step
from ansgt.models.ansgt import ANSGT, ANSGTSettings


@pytest.mark.parametrize("kernel", ["plain", "auto"])
def test_equals_pytorchs_counter(kernel: str) -> None:
    step = make_step()
    for layer in (
        step.model.transformer.layers
    ):  # keys and values as written in the paper, or folded where nobody reads them
        layer.attention.kernel = kernel  # type: ignore[union-attr, assignment]
    with FlopCounterMode(display=False) as counter:
        step.loss(torch.arange(8)).backward()
    count = flops_per_step(step.model, LAYOUT, 8 * SEQUENCES, NODES)
    assert count.total == pytest.approx(counter.get_total_flops(), rel=0.01)


def test_sparse_features_cost_their_entries() -> None:
    model = make_step().model
    dense, sparse = (flops_per_step(model, LAYOUT, 24, NODES, nonzero) for nonzero in (None, NODES))
    assert dense.input == 5 * sparse.input
    assert bytes_per_step(model, LAYOUT, 24, NODES) > 4 * sum(p.numel() for p in model.parameters())


def test_own_features_widen_the_head() -> None:
    sizes = {"hidden_channels": 16, "num_layers": 1, "num_heads": 2, "num_global": 1, "num_proximity": 2}
    plain, own = (
        flops_per_step(ANSGT(5, 3, ANSGTSettings(**sizes, own_features=own)), LAYOUT, 24, NODES)  # type: ignore[arg-type]
        for own in (False, True)
    )
    assert own.total - plain.total == 3 * 2 * 24 * 16 * 16
