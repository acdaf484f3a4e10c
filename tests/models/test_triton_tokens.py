"""The tokens' first states against plain indexing; where: `triton_cases.py`."""

import pytest
import torch
from torch import Tensor
from triton_cases import DEVICE, INTERPRETED

from ansgt.models.triton_tokens import first_states
from ansgt.sequences.batch import SequenceLayout


def case(
    layout: SequenceLayout, rows: int, width: int, has_kinds: bool, dtype: torch.dtype
) -> tuple[list[Tensor], Tensor]:
    """Rows, global nodes and kinds, which need gradients, and the index of five sequences."""
    generator = torch.Generator().manual_seed(width)
    shapes = [(rows, width), (layout.num_global, width), (4 if has_kinds else 0, width)]
    tables = [torch.randn(shape, generator=generator).to(DEVICE) for shape in shapes]
    tables[0] = tables[0].to(dtype)
    index = torch.randint(0, rows, (5, layout.length), generator=generator)
    index[:, layout.globals] = rows + torch.arange(layout.num_global)
    return [table.requires_grad_() for table in tables], index.to(DEVICE)


def plain(tables: list[Tensor], index: Tensor, layout: SequenceLayout) -> Tensor:
    rows, globals, kinds = tables
    out = torch.cat([rows.float(), globals])[index]
    return out + kinds[layout.kind.long().to(DEVICE)] if len(kinds) else out


@pytest.mark.parametrize("has_kinds", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("counts", "rows", "width"),
    [((4, 2, 1), 7, 16), ((0, 0, 0), 3, 5), ((9, 0, 2), 40, 64), ((3, 1, 0), 1, 8)],
)
def test_equals_plain_indexing(
    counts: tuple[int, int, int], rows: int, width: int, dtype: torch.dtype, has_kinds: bool
) -> None:
    layout = SequenceLayout(*counts)
    tables, index = case(layout, rows, width, has_kinds, dtype)
    expected = plain(tables, index, layout)
    got = first_states(tables[0], tables[1], tables[2] if has_kinds else None, index, layout)
    assert torch.equal(got, expected)
    upstream = torch.randn(expected.shape, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    used = [table for table in tables if table.numel()]
    wanted = torch.autograd.grad(expected, used, upstream)
    for one, other in zip(torch.autograd.grad(got, used, upstream), wanted, strict=True):
        assert one.dtype == other.dtype
        assert torch.allclose(
            one.float(), other.float(), atol=1e-5, rtol=1e-2 if dtype != torch.float32 else 1e-5
        )


def test_the_order_of_tokens_does_not_change_a_row_s_gradient() -> None:
    """Bit for bit, where sums of floats would differ: the sequences in another order are the same sum."""
    layout = SequenceLayout(12, 0, 2)
    tables, index = case(layout, 3, 16, True, torch.float32)
    upstream = torch.randn((*index.shape, 16), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    grads = []
    for order in (torch.arange(5), torch.tensor([4, 2, 0, 3, 1])):
        out = first_states(tables[0], tables[1], None, index[order], layout)
        grads.append(torch.autograd.grad(out, tables[:2], upstream[order]))
    assert all(torch.equal(one, other) for one, other in zip(*grads, strict=True))


def test_gradients_that_diverged_do_not_wrap_around() -> None:
    layout = SequenceLayout(3, 0, 0)
    tables, index = case(layout, 1, 8, False, torch.float32)
    out = first_states(tables[0], tables[1], None, index, layout)
    (grad,) = torch.autograd.grad(out, tables[0], torch.full_like(out, 1e30))
    assert (grad > 1e5).all()


def test_compiled_agrees_with_eager() -> None:
    layout = SequenceLayout(4, 2, 1)
    tables, index = case(layout, 7, 16, True, torch.float32)
    upstream = torch.randn((*index.shape, 16), generator=torch.Generator().manual_seed(2)).to(DEVICE)

    def loss() -> Tensor:
        return (first_states(*tables, index, layout) * upstream).sum()

    backend = "aot_eager" if INTERPRETED else "inductor"
    compiled = torch.compile(loss, dynamic=False, backend=backend)()
    wanted = torch.autograd.grad(loss(), tables)
    assert all(grad.abs().max() > 0.1 for grad in wanted)
    for one, other in zip(torch.autograd.grad(compiled, tables), wanted, strict=True):
        assert torch.equal(one, other)
