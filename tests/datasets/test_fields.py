"""`Fields`: what is stored comes back bit for bit, and later loads do without PyG."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from ansgt.datasets import load, load_dataset
from ansgt.datasets.fields import Fields


def example(share: float, masks: tuple[int, ...] = ()) -> Fields:
    torch.manual_seed(0)
    x = torch.randn(40, 30) * (torch.rand(40, 30) < share)
    parts = {f"{part}_mask": torch.rand(40, *masks) < 0.5 for part in ("train", "val", "test") if masks}
    return Fields(x, torch.randint(40, (2, 90)), torch.randint(3, (40,)), **parts)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.9])
@pytest.mark.parametrize("masks", [(), (10,)])
def test_what_is_written_is_read(share: float, masks: tuple[int, ...], tmp_path: Path) -> None:
    fields = example(share, masks)
    fields.write(tmp_path / "fields", "source")
    stored = Fields.read(tmp_path / "fields", "source")
    assert stored is not None
    assert stored.as_dict().keys() == fields.as_dict().keys()
    for name, value in fields.as_dict().items():
        assert torch.equal(stored.as_dict()[name], value), name
        assert stored.as_dict()[name].dtype == value.dtype


def test_few_nonzeros_take_little_space(tmp_path: Path) -> None:
    example(0.05).write(tmp_path / "sparse", "source")
    example(0.9).write(tmp_path / "dense", "source")
    assert (tmp_path / "sparse").stat().st_size < (tmp_path / "dense").stat().st_size / 2


@pytest.mark.parametrize("content", [None, b"", b"not a safetensors file"])
def test_absent_or_damaged_is_none(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "fields").write_bytes(content)
    assert Fields.read(tmp_path / "fields", "source") is None


def test_a_damaged_store_is_parsed_again(root: Path, tmp_path: Path) -> None:
    first = load("texas", root, cache_dir=tmp_path)
    (stored,) = tmp_path.rglob("fields.safetensors")
    half = stored.read_bytes()[:100]
    stored.unlink()  # `first` still has the old file mapped
    stored.write_bytes(half)
    second = load("texas", root, cache_dir=tmp_path)
    assert second.graph.content_hash == first.graph.content_hash
    assert Fields.read(stored, stored.parent.name) is not None


def test_training_a_stored_data_set_imports_neither_pyg_nor_dynamo(root: Path, tmp_path: Path) -> None:
    """Both take longer to import than a small graph takes to train on."""
    load("texas", root, cache_dir=tmp_path / "cache")
    script = (
        "import sys; from ansgt.datasets.load import Source; from ansgt.runs.prepare import train; "
        f"source = Source({str(root)!r}, {str(tmp_path / 'cache')!r}); "
        "train('texas', source=source, device='cpu', "
        f"overrides=['epochs=1', 'num_layers=2'], run_dir={str(tmp_path / 'run')!r}); "
        "print([m for m in ('torch_geometric', 'torch._dynamo', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_load_dataset_keeps_what_else_a_users_data_holds(tmp_path: Path) -> None:
    fields = example(0.5).as_dict()
    torch.save(Data(**fields, title="mine", weight=torch.arange(90.0)), tmp_path / "own.pt")
    first = load_dataset(str(tmp_path / "own.pt"))
    assert first.title == "mine"
    assert torch.equal(first.weight, torch.arange(90.0))
