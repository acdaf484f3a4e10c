"""AdamW with clipping and schedule over one flat buffer, as two Triton kernels.

PyTorch's fused AdamW gives a block 65,536 numbers: a model of a million has sixteen blocks on 132 processors, once per
group, and the norm, the clipping and the learning rate are a dozen kernels more. Together they took a tenth of a step.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators, allow-untyped-calls

import triton
import triton.language as tl

from ansgt.kernels.adamw import FlatState, Schedule, Update

PIECES, BLOCK = 256, 1024


@triton.jit
def _squares_kernel(grad, squares, size, share, BLOCK: tl.constexpr):
    """Sum of squares of one of `PIECES` pieces of the gradient; pieces, not atomics: the same sum every time."""
    first = tl.program_id(0) * share
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, share, BLOCK):
        number = start + tl.arange(0, BLOCK)
        value = tl.load(grad + first + number, mask=(number < share) & (first + number < size), other=0.0)
        total += value * value
    tl.store(squares + tl.program_id(0), tl.sum(total, axis=0))


@triton.jit
def _adamw_kernel(
    parameter,
    grad,
    exp_avg,
    exp_avg_sq,
    step,
    squares,
    size,
    num_decayed,
    peak,
    end,
    warmup,
    total,
    weight_decay,
    beta1,
    beta2,
    eps,
    clip_norm,
    CLIP: tl.constexpr,
    PIECES: tl.constexpr,
    BLOCK: tl.constexpr,
):
    number = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = number < size
    count = tl.load(step).to(tl.float64)
    correction1 = (1.0 - tl.exp(count * tl.log(tl.cast(beta1, tl.float64)))).to(tl.float32)
    correction2 = (1.0 - tl.exp(count * tl.log(tl.cast(beta2, tl.float64)))).to(tl.float32)
    progress = tl.minimum(tl.maximum((count - warmup) / tl.maximum(total - warmup, 1), 0.0), 1.0)
    planned = peak + progress * (tl.cast(end, tl.float64) - peak)
    rate = tl.minimum(planned, peak * count / tl.maximum(warmup, 1)).to(tl.float32)
    g = tl.load(grad + number, mask=inside, other=0.0)
    if CLIP:
        norm = tl.sqrt(tl.sum(tl.load(squares + tl.arange(0, PIECES)), axis=0))
        g *= tl.minimum(clip_norm / (norm + 1e-6), 1.0)
    p = tl.load(parameter + number, mask=inside, other=0.0)
    m = tl.load(exp_avg + number, mask=inside, other=0.0)
    v = tl.load(exp_avg_sq + number, mask=inside, other=0.0)
    p *= 1.0 - tl.where(number < num_decayed, rate * weight_decay, 0.0)
    m += (1.0 - beta1) * (g - m)
    v = beta2 * v + (1.0 - beta2) * g * g
    p -= rate / correction1 * m / (tl.sqrt(v) / tl.sqrt(correction2) + eps)
    tl.store(parameter + number, p, mask=inside)
    tl.store(exp_avg + number, m, mask=inside)
    tl.store(exp_avg_sq + number, v, mask=inside)


def flat_update(state: FlatState, schedule: Schedule, update: Update) -> None:
    """The twin of `plain_update`, with the same arguments."""
    size = state.parameter.numel()
    squares = state.parameter.new_empty(PIECES)
    clip_norm = update.clip_norm
    if clip_norm is not None:
        _squares_kernel[(PIECES,)](state.grad, squares, size, triton.cdiv(size, PIECES), BLOCK=BLOCK)
    _adamw_kernel[(triton.cdiv(size, BLOCK),)](
        *state, squares, size, update.num_decayed,
        schedule.peak, schedule.end, schedule.warmup, schedule.total, update.weight_decay, *update.betas, update.eps,
        0.0 if clip_norm is None else clip_norm, CLIP=clip_norm is not None, PIECES=PIECES, BLOCK=BLOCK,
    )  # fmt: skip
