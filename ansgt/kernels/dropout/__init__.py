"""Dropout that does not dominate a training step.

On the CPU `torch.nn.functional.dropout` draws one 53-bit number per element, from one thread: 42 % of the transformer's
step on two cores. Here one 64-bit draw serves four elements; the rate is rounded to a multiple of 1/65536.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ansgt.kernels.choose import Kernel, choose

_LEVELS = 1 << 16


def dropout(x: Tensor, rate: float, training: bool = True) -> Tensor:
    """Zeroes a share `rate` of the entries and scales the others so that the mean stays; draws from torch's generator.

    >>> dropout(torch.ones(2), 0.5, training=False)
    tensor([1., 1.])
    """
    if not training or rate == 0.0:
        return x
    if torch.compiler.is_compiling() or choose("dropout", x) == "cuda":
        return F.dropout(x, rate)
    return x * _keep_scale(x, rate)


def input_dropout(x: Tensor, rate: float, training: bool = True, kernel: Kernel = "auto") -> Tensor:
    """`dropout` of the model's dense inputs. The twin does not keep a mask, so it is for an `x` without gradient."""
    is_constant = training and rate > 0.0 and not x.requires_grad
    if is_constant and choose("input_dropout", x, kernel) == "triton":
        from ansgt.kernels.dropout.triton import dropped

        return dropped(x, rate)
    return dropout(x, rate, training)


class Dropout(nn.Module):
    """`dropout` as a module."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.rate, self.training)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def keep_columns(dropped: Tensor, x: Tensor, num_kept: int, width: int) -> Tensor:
    """`dropped` with the last `num_kept` of the `width` columns as they are in `x`; both dense, or the values of a CSR x.

    >>> keep_columns(torch.zeros(1, 3), torch.ones(1, 3), num_kept=2, width=3)
    tensor([[0., 1., 1.]])
    """
    if num_kept == 0:
        return dropped
    first = width - num_kept
    if x.layout == torch.strided:
        return torch.cat([dropped[:, :first], x[:, first:]], dim=1)
    return torch.where(x.col_indices() >= first, x.values(), dropped)


def new_seed(rate: float, device: torch.device) -> Tensor:
    """A seed for the masks of Triton kernels, from the device's generator.

    Inside a captured graph it advances with every replay.
    """
    if not rate:
        return torch.zeros(1, dtype=torch.int64, device=device)
    return torch.randint(0, 2**62, (1,), device=device)


def _keep_scale(x: Tensor, rate: float) -> Tensor:
    """0 or 1 / (1 - rate), in the shape of x."""
    threshold = min(round(rate * _LEVELS), _LEVELS - 1)
    draws = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    levels = draws.view(torch.int16)[: x.numel()].view(x.shape)  # -32768 .. 32767
    scale = torch.empty(x.shape, dtype=x.dtype)
    torch.ge(levels, threshold - _LEVELS // 2, out=scale)  # `where` on a bool mask is 15 times slower
    return scale.mul_(_LEVELS / (_LEVELS - threshold))
