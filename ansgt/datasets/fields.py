"""`Fields`: the tensors of a data set, stored once in our own format.

PyG parses the raw files. What it read is kept beside its own processed files, so that later loads need not import PyG, whose
import takes longer than training on a small graph. A file counts only if it is whole, of the same raw files, and one's own.
"""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from safetensors.torch import load, save_file
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.device import available_bytes
from ansgt.seal import is_sealed, seal
from ansgt.storage import atomic_path, content_hash

SPARSE_SHARE = 0.25
"""Features with a smaller share of non-zeros are stored as the parts of a CSR matrix."""
PARTS = ("indptr", "indices", "values", "shape")


@dataclass(frozen=True, eq=False)
class Fields:
    """What a data set holds, named as in PyG's `Data`.

    Args:
        x: node features [n, p].
        edge_index: edges as published [2, E].
        y: labels [n].
        train_mask, val_mask, test_mask: the published split [n] or splits [n, k], if any.
    """

    x: Tensor
    edge_index: Tensor
    y: Tensor
    train_mask: Tensor | None = None
    val_mask: Tensor | None = None
    test_mask: Tensor | None = None
    __repr__ = brief_repr

    @classmethod
    def of(cls, data: Any) -> "Fields":
        """The fields of a PyG `Data`, or of anything with these attributes."""
        values: dict[str, Any] = {field.name: getattr(data, field.name, None) for field in fields(cls)}
        return cls(**values)

    def as_dict(self) -> dict[str, Tensor]:
        """The fields that are there."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def write(self, path: Path, source: str) -> None:
        """Stores the fields, sealed together with what they were made from."""
        tensors = {name: value.contiguous() for name, value in self.as_dict().items()}
        x = tensors["x"]
        if x.layout == torch.strided and int(x.count_nonzero()) < SPARSE_SHARE * x.numel():
            sparse = sp.csr_array(tensors.pop("x").numpy())
            parts = (sparse.indptr, sparse.indices, sparse.data, np.array(sparse.shape))
            tensors |= {f"x.{name}": torch.from_numpy(part) for name, part in zip(PARTS, parts, strict=True)}
        with atomic_path(path) as temporary:
            save_file(tensors, temporary, metadata={"seal": seal(_digest(source, tensors))})

    @classmethod
    def read(cls, path: Path, source: str) -> "Fields | None":
        """What `write` stored for this source; None if it is absent, damaged, of another source, or somebody else's."""
        try:
            content = (
                path.read_bytes() if path.is_file() and _fits(path) else b""
            )  # what is checked is what is used
            tensors = load(content)
            header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
            if not is_sealed(_digest(source, tensors), header["__metadata__"]["seal"]):
                return None
            if "x.values" in tensors:
                indptr, indices, values, shape = (tensors.pop(f"x.{name}").numpy() for name in PARTS)
                tensors["x"] = torch.from_numpy(
                    sp.csr_array((values, indices, indptr), shape=shape).toarray()
                )
            return cls(**tensors)
        except Exception:  # whatever is wrong with a file of a cache costs time alone
            return None


def _digest(source: str, tensors: dict[str, Tensor]) -> str:
    return content_hash(source, {name: tensor.numpy() for name, tensor in tensors.items()})


def _fits(path: Path) -> bool:
    return path.stat().st_size < available_bytes(torch.device("cpu"))
