"""State on disk without pickle: one safetensors file whose header carries the plain values as JSON."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from ansgt.errors import InputError
from ansgt.storage import atomic_path


def save_state(path: Path, state: Any) -> None:
    """Stores nested dicts and lists of tensors and JSON values, atomically; tensors come back on the CPU."""
    tensors: dict[str, torch.Tensor] = {}
    header = json.dumps(_encode(state, "", tensors))
    with atomic_path(path) as temporary:
        save_file(tensors, str(temporary), metadata={"state": header})


def load_state(path: Path) -> Any:
    """What `save_state` stored; a truncated or foreign file is one clear sentence."""
    try:
        with safe_open(str(path), framework="pt") as stored:
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
            header = json.loads(stored.metadata()["state"])
    except FileNotFoundError:
        raise InputError(f"The checkpoint {path} does not exist.") from None
    except (SafetensorError, OSError, TypeError, KeyError, json.JSONDecodeError) as error:
        raise InputError(f"The checkpoint {path} is truncated or not one of ansgt's: {error}.") from None
    return _decode(header, tensors)


def _encode(value: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        # pairs, because an optimizer's state has integer keys and JSON objects do not
        return {"dict": [[k, _encode(v, f"{name}/{k}", tensors)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return {"list": [_encode(v, f"{name}/{i}", tensors) for i, v in enumerate(value)]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"plain": value}
    raise TypeError(f"cannot store a {type(value).__name__} at {name}")


def _decode(header: Any, tensors: dict[str, torch.Tensor]) -> Any:
    (kind, value), *_ = header.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {key: _decode(item, tensors) for key, item in value}
    if kind == "list":
        return [_decode(item, tensors) for item in value]
    return value
