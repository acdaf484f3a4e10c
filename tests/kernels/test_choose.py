"""Which implementation runs: on a CPU, on a device that only pretends to be CUDA, and where one is asked for by name."""

import pytest
import torch
from torch import Tensor

from ansgt.errors import InputError
from ansgt.kernels import choose as module
from ansgt.kernels.choose import OPERATIONS, check_kernel, choose

FITS = {
    "attention": {"length": 64, "head_channels": 16},
    "layers": {
        "length": 64,
        "hidden_channels": 128,
        "head_channels": 16,
        "ffn_channels": 256,
        "num_biases": 1,
    },
    "bias": {"channels": 10},
    "pairs": {"num_nodes": 2708, "head_channels": 16, "dropout": 0.0},
}


class OnCuda(Tensor):
    """A tensor that says it is on CUDA."""

    is_cuda = True  # type: ignore[assignment]


@pytest.fixture
def x(monkeypatch: pytest.MonkeyPatch) -> Tensor:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(module, "HAS_TRITON", True)
    return torch.zeros(2).as_subclass(OnCuda)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_cpu_takes_no_twin(operation: str) -> None:
    assert choose(operation, torch.zeros(2), "auto", FITS.get(operation)) in ("plain", "folded")


@pytest.mark.parametrize(
    "operation", [name for name, rules in OPERATIONS.items() if rules.on_cuda == "triton"]
)
def test_cuda_takes_the_twin_where_there_is_triton(
    operation: str, x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    dtype = torch.bfloat16 if operation == "layers" else None
    given = (operation, x, "auto", FITS.get(operation), dtype)
    assert choose(*given) == "triton"  # type: ignore[arg-type]
    monkeypatch.setattr(module, "HAS_TRITON", False)
    assert choose(*given) == "plain"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operation", "size", "value", "words"),
    [
        ("attention", "length", 65, "at most 64"),
        ("attention", "head_channels", 24, "16 or 32 or 64 or 128"),
        ("layers", "hidden_channels", 48, "64 or 128 or 256"),
        ("layers", "head_channels", 8, "at least 16"),
        ("layers", "ffn_channels", 32, "a multiple of 64"),
        ("layers", "num_biases", 2, "1"),
        ("bias", "channels", 0, "at least 1"),
        ("pairs", "num_nodes", 32_769, "at most 32768"),
        ("pairs", "dropout", 0.5, "0"),
    ],
)
def test_a_size_beyond_its_limit(operation: str, size: str, value: float, words: str, x: Tensor) -> None:
    sizes = FITS[operation] | {size: value}
    assert choose(operation, x, "auto", sizes, torch.bfloat16) == "plain"
    with pytest.raises(InputError, match=f"{size} is {value:g}, but must be {words}"):
        choose(operation, x, "triton", sizes)


def test_a_twin_pays_in_some_dtypes_alone(x: Tensor) -> None:
    assert choose("layers", x, "auto", FITS["layers"], torch.float32) == "plain"
    assert choose("layers", x, "triton", FITS["layers"], torch.float32) == "triton"
    assert choose("pairs", x, "auto", FITS["pairs"], torch.bfloat16) == "plain"


def test_what_is_asked_for_by_name_is_taken_or_refused(x: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose("attention", x, "plain") == "plain"
    assert choose("attention", x, "sdpa") == "sdpa"
    assert choose("dropout", x, "triton") == "plain"
    assert choose("dropout", x) == choose("lookup", x) == "cuda"
    with pytest.raises(InputError, match="kernel='triton' runs on CUDA alone"):
        choose("tokens", torch.zeros(2), "triton")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert choose("tokens", torch.zeros(2), "triton") == "triton"


def test_unknown_and_missing_kernels_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="Unknown kernel 'fused'; known: auto"):
        check_kernel("fused")
    monkeypatch.setattr(module, "HAS_TRITON", False)
    check_kernel("auto")
    with pytest.raises(InputError, match="needs the package triton"):
        check_kernel("triton")
