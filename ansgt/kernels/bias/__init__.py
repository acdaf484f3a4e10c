"""What is added to the attention logits, per head: the proximity encoding of section 5.2 and all else about a pair.

bias[h](i, j) = Σ_m W[h, m] Φ_m(i, j) + (learned scalar if one of i, j is a global node) + key_bias(j).

A global node has no proximity. Of the pairs with one, (i, global) and (global, j) get a scalar per head; (global,
global) needs none, since a softmax row may be shifted freely.
"""

import torch
from torch import Tensor

from ansgt.kernels.choose import Kernel, as_operand, choose


def plain_pair_bias(
    proximity: Tensor, weight: Tensor, scalars: Tensor, key_bias: Tensor, num_global: int, rows: int
) -> Tensor:
    """The bias written out, for the arguments of `pair_bias`."""
    batch, _, length, channels = proximity.shape
    proximity = proximity[:, :rows]
    pairs = as_operand(proximity.reshape(batch, rows * length, channels).transpose(1, 2), weight)
    # bmm with W repeated, not one matmul: the result is contiguous with the heads in front, and the gradient of W
    # is split over the batch.
    bias = torch.bmm(weight.expand(batch, -1, -1), pairs).view(batch, weight.shape[0], rows, length)
    if num_global:
        bias = bias + _global_pairs(scalars, rows, length, num_global)
    return bias + key_bias[:, None, None, :]


def pair_bias(
    proximity: Tensor,
    weight: Tensor,
    scalars: Tensor,
    key_bias: Tensor,
    num_global: int,
    rows: int,
    kernel: Kernel = "plain",
) -> Tensor:
    """The bias of the first `rows` tokens [B, H, rows, T], contiguous.

    Args:
        proximity: Φ_m(i, j) [B, T, T, M].
        weight: W [H, M].
        scalars: of (i, global) and (global, j) [H, 2].
        key_bias: added to every logit of a key [B, T]; log(count), or -inf where masked.
        num_global: the last slots hold that many global nodes.
        rows: 1 for the centre alone, T for all.
        kernel: how it is computed. The twin gives no gradient of `proximity` and `key_bias`.
    """
    arguments = (proximity, weight, scalars, key_bias, num_global, rows)
    if choose("bias", proximity, kernel, {"channels": weight.shape[1]}) == "triton":
        from ansgt.kernels.bias.triton import pair_bias as twin

        return twin(*arguments)
    return plain_pair_bias(*arguments)


def _global_pairs(scalars: Tensor, rows: int, length: int, num_global: int) -> Tensor:
    """[H, Q, T]; scalars times 0/1 masks, whose gradient is a sum (indexing would sort, a product waste a kernel)."""
    is_global = torch.arange(length, device=scalars.device) >= length - num_global
    to_global = (is_global & ~is_global[:rows, None]).to(scalars.dtype)
    from_global = (~is_global & is_global[:rows, None]).to(scalars.dtype)
    columns = scalars[:, :, None, None]
    return columns[:, 0] * to_global + columns[:, 1] * from_global
