"""Which implementation of an operation runs, and in which precision it multiplies.

The only place that asks for the device, for triton, for sizes and for autocast.
"""

import importlib.util
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor

from ansgt.errors import InputError, unknown_name

HAS_TRITON = importlib.util.find_spec("triton") is not None
"""Whether triton can be imported. torch for CUDA brings it, except on Windows."""

Kernel = Literal["auto", "plain", "sdpa", "triton"]
"""What may be asked for: "auto" takes what suits the device, any other value is taken or refused."""

Way = Literal["plain", "sdpa", "triton", "cuda", "folded"]
"""What runs: the plain function, torch's `scaled_dot_product_attention`, the Triton twin, a function of torch that suits
CUDA, or attention of the centre without keys and values."""

SHARED_MEMORY = 200 << 10
"""Bytes of shared memory that a program of the fused layers may want."""
PAIR_NODES = 32_768
"""Up to here the table of pairs that the twin of `pairs` reads, n² bytes, takes at most 1 GiB."""


@dataclass(frozen=True)
class Limit:
    """What a Triton twin asks of one size."""

    words: str
    holds: Callable[[float], bool]


def at_least(smallest: int) -> Limit:
    return Limit(f"at least {smallest}", lambda size: size >= smallest)


def at_most(largest: int) -> Limit:
    return Limit(f"at most {largest}", lambda size: size <= largest)


def multiple_of(step: int) -> Limit:
    return Limit(f"a multiple of {step}", lambda size: size % step == 0)


def one_of(*sizes: int) -> Limit:
    return Limit(" or ".join(map(str, sizes)), lambda size: size in sizes)


@dataclass(frozen=True)
class Operation:
    """How an operation may run.

    Args:
        limits: per size, what the Triton twin asks of it.
        dtypes: "auto" takes the twin for products in these alone; (): in all.
        on_cuda: what "auto" takes on CUDA; "plain" in place of a twin that cannot be used.
        elsewhere: what "auto" takes on all other devices.
    """

    limits: Mapping[str, Limit] = field(default_factory=dict)
    dtypes: tuple[torch.dtype, ...] = ()
    on_cuda: Way = "triton"
    elsewhere: Way = "plain"


OPERATIONS: dict[str, Operation] = {
    "attention": Operation({"length": at_most(64), "head_channels": one_of(16, 32, 64, 128)}),
    "centre": Operation(on_cuda="plain", elsewhere="folded"),
    "layers": Operation(
        {
            "length": at_most(64),
            "hidden_channels": one_of(64, 128, 256),
            "head_channels": at_least(16),
            "ffn_channels": multiple_of(64),
            "num_biases": one_of(1),
        },
        dtypes=(torch.bfloat16, torch.float16),
    ),
    "bias": Operation({"channels": at_least(1)}),
    "tokens": Operation(),
    "dropout": Operation(on_cuda="cuda"),
    "input_dropout": Operation(),
    "adamw": Operation(),
    "pairs": Operation(
        {"num_nodes": at_most(PAIR_NODES), "head_channels": one_of(16, 32, 64, 128), "dropout": one_of(0)},
        dtypes=(torch.float32,),
    ),
    "lookup": Operation(on_cuda="cuda"),
    "product": Operation(),
}


def choose(
    operation: str,
    x: Tensor,
    kernel: Kernel = "auto",
    sizes: Mapping[str, float] | None = None,
    dtype: torch.dtype | None = None,
) -> Way:
    """What runs.

    Args:
        operation: one of `OPERATIONS`.
        x: what it works on.
        kernel: what was asked for. "triton" raises `InputError` where the twin cannot run; an operation without a twin
            then takes its plain function.
        sizes: the sizes that have a limit.
        dtype: of the products; by default that of `x`.

    >>> choose("tokens", torch.zeros(2)), choose("attention", torch.zeros(2), "sdpa")
    ('plain', 'sdpa')
    """
    rules = OPERATIONS[operation]
    if kernel == "plain" or kernel == "sdpa":
        return kernel
    has_twin = rules.on_cuda == "triton"
    if kernel == "triton":
        return _insist(rules, x, sizes or {}) if has_twin else "plain"
    if not x.is_cuda:
        return rules.elsewhere
    if not has_twin:
        return rules.on_cuda
    pays = not rules.dtypes or (dtype or x.dtype) in rules.dtypes
    return "triton" if HAS_TRITON and pays and _excess(rules, sizes or {}) is None else "plain"


def _insist(rules: Operation, x: Tensor, sizes: Mapping[str, float]) -> Way:
    if not (x.is_cuda or is_interpreted()):
        raise InputError("kernel='triton' runs on CUDA alone; `auto` takes what the device can do.")
    if excess := _excess(rules, sizes):
        raise InputError(f"kernel='triton' does not take these sizes: {excess}.")
    return "triton"


def _excess(rules: Operation, sizes: Mapping[str, float]) -> str | None:
    """The first size that is beyond its limit, and the limit."""
    for name, limit in rules.limits.items():
        if not limit.holds(sizes[name]):
            return f"{name} is {sizes[name]:g}, but must be {limit.words}"
    return None


def check_kernel(kernel: str) -> None:
    """Raises `InputError` for an unknown name, and for "triton" where it is not installed."""
    if kernel not in get_args(Kernel):
        raise unknown_name("kernel", kernel, get_args(Kernel))
    if kernel == "triton" and not HAS_TRITON:
        raise InputError("kernel='triton' needs the package triton, which is not installed.")


def is_interpreted() -> bool:
    """Whether Triton kernels run in its interpreter, on any device."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def has_large_card() -> bool:
    """Whether there is a GPU with the shared memory that the fused layers were written for (H100 and later).

    To be asked once per model, not per call: `torch.compile` does not follow it.
    """
    if not (HAS_TRITON and torch.cuda.is_available()):
        return False
    card = torch.cuda.get_device_properties(torch.cuda.current_device())
    return card.major >= 9 and getattr(card, "shared_memory_per_block_optin", SHARED_MEMORY) >= SHARED_MEMORY


def as_operand(x: Tensor, weight: Tensor) -> Tensor:
    """`x` in the dtype of `weight`, for a product of both; under autocast as it is, since the product casts both itself."""
    return x if torch.is_autocast_enabled(x.device.type) else x.to(weight.dtype)


def product_dtype(x: Tensor) -> torch.dtype:
    """The dtype of products on the device of `x`: autocast's where it is enabled, else float32."""
    kind = x.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32


def dot_precision(dtype: torch.dtype) -> str:
    """How `triton.language.dot` multiplies: exactly in float32; in half precision the word has no effect."""
    return "ieee" if dtype == torch.float32 else "tf32"
