"""The plain first states against indexing token by token; the twin's sums of gradients, which are sums of integers."""

import torch
from cases import DEVICE, needs_triton
from torch import Tensor

from ansgt.kernels.tokens import first_states, triton_first_states


def test_every_token_by_its_definition() -> None:
    rows, globals, kinds = torch.randn(7, 4), torch.randn(2, 4), torch.randn(4, 4)
    counts = (1, 3, 1, 2)
    index = torch.tensor([[0, 3, 3, 6, 2, 7, 8], [5, 0, 0, 0, 1, 7, 8]])
    found = first_states(rows, globals, kinds, index, counts)
    kind = [k for k, count in enumerate(counts) for _ in range(count)]
    for sequence in range(2):
        for slot in range(7):
            row = int(index[sequence, slot])
            expected = (rows[row] if row < 7 else globals[row - 7]) + kinds[kind[slot]]
            assert torch.equal(found[sequence, slot], expected)
    plain = first_states(rows.bfloat16(), globals, None, index, counts)
    assert plain.dtype == torch.float32
    assert torch.equal(plain[0, 0], rows[0].bfloat16().float())


def case(counts: tuple[int, ...], rows: int, width: int) -> tuple[list[Tensor], Tensor]:
    """Rows and global nodes, which need gradients, and the index of five sequences."""
    generator = torch.Generator().manual_seed(width)
    num_global = counts[-1]
    tables = [torch.randn(size, width, generator=generator).to(DEVICE) for size in (rows, num_global)]
    index = torch.randint(0, rows, (5, sum(counts)), generator=generator)
    index[:, sum(counts) - num_global :] = rows + torch.arange(num_global)
    return [table.requires_grad_() for table in tables], index.to(DEVICE)


@needs_triton
def test_the_order_of_tokens_does_not_change_a_row_s_gradient() -> None:
    """Bit for bit, where sums of floats would differ: the sequences in another order are the same sum."""
    counts = (1, 12, 0, 2)
    tables, index = case(counts, 3, 16)
    upstream = torch.randn((*index.shape, 16), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    grads = []
    for order in (torch.arange(5), torch.tensor([4, 2, 0, 3, 1])):
        out = triton_first_states(*tables, None, index[order], counts)
        grads.append(torch.autograd.grad(out, tables, upstream[order]))
    assert all(torch.equal(one, other) for one, other in zip(*grads, strict=True))


@needs_triton
def test_gradients_that_diverged_do_not_wrap_around() -> None:
    counts = (1, 3, 0, 0)
    tables, index = case(counts, 1, 8)
    out = triton_first_states(*tables, None, index, counts)
    (grad,) = torch.autograd.grad(out, tables[0], torch.full_like(out, 1e30))
    assert (grad > 1e5).all()
