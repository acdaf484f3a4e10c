"""Settings: small frozen dataclasses, YAML files under `configs/`, and `key=value` overrides.

A settings file holds four sections, ``model``, ``optim``, ``train`` and ``data``; a shipped file (one a model) holds them
once under ``default`` and once under every data set that differs::

    default:
      model: {hidden_channels: 64}
      optim: {lr: 0.01}
    cora:
      optim: {lr: 0.1}
"""

import dataclasses
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ansgt.errors import InputError, unknown_name

SECTIONS = ("model", "optim", "train", "data")

CONFIG_FOLDERS = (Path(__file__).parents[1] / "configs", Path(sys.prefix) / "share" / "ansgt" / "configs")
"""Where the shipped settings are: at the top of a checkout, or where a wheel puts them."""


@dataclass(frozen=True)
class OptimConfig:
    """The optimizer and its schedule; the defaults are those of most full-batch baselines."""

    name: str = "adam"
    """adam or adamw."""
    lr: float = 0.01
    """Peak learning rate."""
    weight_decay: float = 5e-4
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    warmup_epochs: int = 0
    """Epochs of linear warm-up from 0 to `lr` (section 6.1: 100)."""
    end_lr: float | None = None
    """Learning rate that a linear decay reaches at the last epoch (section 6.1: 1e-9); None keeps `lr` constant."""
    clip_norm: float | None = None
    """Gradients are scaled down to this norm; None leaves them alone."""


@dataclass(frozen=True)
class TrainConfig:
    """How long to train, and how the kept epoch is chosen: on validation alone."""

    epochs: int = 1000
    patience: int | None = 200
    """Stop after this many epochs without a better validation score; None never stops early."""
    eval_every: int = 1
    """Epochs between two evaluations of the validation part."""
    select: str = "accuracy"
    """Validation score that picks the epoch: accuracy (ties: lower loss) or loss."""
    restarts: int = 1
    """Models trained a split, from different seeds, each kept at its own best epoch; they predict by their mean."""


@dataclass(frozen=True)
class DataConfig:
    """What is done to the data before any model sees it."""

    normalize_features: str = "row"
    """row: every feature row divided by its sum; scaled: the same times the mean sum, so that numbers keep their size;
    none: as published."""
    size_columns: bool = False
    """Appends columns that say how many features of a node are not zero (`training/features.py`)."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run's result, as stored in its `config.json`."""

    dataset: str
    model: str
    split: str
    num_splits: int = 1
    seed: int = 0
    device: str = "cpu"
    settings: dict[str, Any] = field(default_factory=dict)
    """Keywords of the model (and, for ANS-GT, of its sampling and coarsening)."""
    optim: OptimConfig = OptimConfig()
    train: TrainConfig = TrainConfig()
    data: DataConfig = DataConfig()

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "RunConfig":
        parts = {"optim": OptimConfig, "train": TrainConfig, "data": DataConfig}
        try:
            return cls(**{k: parts[k](**v) if k in parts else v for k, v in values.items()})
        except TypeError as error:
            raise InputError(f"A stored config does not fit this version of ansgt: {error}.") from None


def build_config(
    dataset: str,
    model: str,
    split: str,
    *,
    model_defaults: dict[str, Any],
    section_defaults: dict[str, dict[str, Any]] | None = None,
    num_splits: int = 1,
    seed: int = 0,
    device: str = "cpu",
    config: Path | str | None = None,
    overrides: list[str] | None = None,
) -> RunConfig:
    """Resolves defaults <- shipped or given file <- `-o key=value`, and checks every name and type.

    Args:
        dataset: name of the data set, which with `split` picks the section of the settings file.
        model_defaults: the model's keywords with their defaults.
        section_defaults: defaults of optim / train / data that the model itself prefers.
        config: a settings file in place of the shipped one.
        overrides: `key=value` or `section.key=value`, the value in YAML.
    """
    merged = {
        "model": dict(model_defaults),
        "optim": dataclasses.asdict(OptimConfig()),
        "train": dataclasses.asdict(TrainConfig()),
        "data": dataclasses.asdict(DataConfig()),
    }
    for section, values in (section_defaults or {}).items():
        merged[section].update(values)
    path = Path(config) if config is not None else shipped_file(model)
    if path is not None:
        for section, values in read_settings(path, dataset, split).items():
            for key, value in values.items():
                _assign(merged, section, key, value, source=str(path))
    for override in overrides or []:
        section, key, value = parse_override(override, merged)
        _assign(merged, section, key, value, source="-o")
    check_choice("optim.name", merged["optim"]["name"], ("adam", "adamw"))
    check_choice("train.select", merged["train"]["select"], ("accuracy", "loss"))
    check_choice("data.normalize_features", merged["data"]["normalize_features"], ("row", "scaled", "none"))
    for section, key in (("train", "epochs"), ("train", "eval_every"), ("train", "restarts")):
        check_positive(f"{section}.{key}", merged[section][key])
    if merged["optim"]["lr"] < 0:
        raise InputError(f"Setting optim.lr must not be negative, not {merged['optim']['lr']}.")
    check_positive("num_splits", num_splits)
    return RunConfig(
        dataset,
        model,
        split,
        num_splits,
        seed,
        device,
        merged["model"],
        OptimConfig(**merged["optim"]),
        TrainConfig(**merged["train"]),
        DataConfig(**merged["data"]),
    )


def shipped_file(model: str) -> Path | None:
    """The settings file that ships for a model, if there is one."""
    for folder in CONFIG_FOLDERS:
        for path in (folder / f"{model}.yaml", folder / "baselines" / f"{model}.yaml"):
            if path.exists():
                return path
    return None


def read_settings(path: Path | str, dataset: str, split: str = "") -> dict[str, dict[str, Any]]:
    """The sections of a settings file for one data set: `name@split` over `name` over `default`.

    Two kinds of split are two tasks: class-balanced training nodes and a uniform sample want different settings.
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        raise InputError(f"The settings file {path} does not exist.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = str(error).replace("\n", " ")
        raise InputError(f"The settings file {path} is not valid YAML: {reason}.") from None
    if not isinstance(content, dict):
        raise InputError(f"The settings file {path} must hold a mapping.")
    names = ("default", dataset, f"{dataset}@{split}")
    parts = [content] if set(content) & set(SECTIONS) else [content.get(name) for name in names]
    merged: dict[str, dict[str, Any]] = {}
    for part in parts:
        for section, values in (part or {}).items():
            if section not in SECTIONS:
                raise unknown_name(f"section in {path}", section, SECTIONS)
            merged.setdefault(section, {}).update(values or {})
    return merged


def parse_override(text: str, sections: dict[str, dict[str, Any]]) -> tuple[str, str, Any]:
    """`key=value` -> (section, key, value); a bare key must name one setting.

    >>> parse_override("lr=0.1", {"optim": {"lr": 0.01}, "model": {}})
    ('optim', 'lr', 0.1)
    """
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise InputError(f"An override must read key=value, not {text!r}.")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError:
        raise InputError(f"The value of override {text!r} is not valid YAML.") from None
    section, dot, rest = key.partition(".")
    if dot:
        return section, rest, parsed
    holders = [name for name in SECTIONS if key in sections.get(name, {})]
    if len(holders) > 1:
        raise InputError(
            f"Setting {key!r} is in several sections; write {' or '.join(f'{h}.{key}' for h in holders)}."
        )
    if not holders:
        raise unknown_name("setting", key, [k for values in sections.values() for k in values])
    return holders[0], key, parsed


def _assign(sections: dict[str, dict[str, Any]], section: str, key: str, value: Any, source: str) -> None:
    if section not in sections:
        raise unknown_name(f"section ({source})", section, sections)
    known = sections[section]
    if key not in known:
        raise unknown_name(f"{section} setting ({source})", key, known)
    known[key] = _fit_type(f"{section}.{key}", value, known[key])


def _fit_type(name: str, value: Any, default: Any) -> Any:
    """Checks a value against the type of the default it replaces; 1e-3 and 3 are fine where a float is wanted."""
    if default is None or value is None:
        return value
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"Setting {name} must be true or false, not {value!r}.")
        return value
    if isinstance(default, float):
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(f"Setting {name} must be a number, not {value!r}.") from None
    if isinstance(default, int):
        if isinstance(value, bool) or not isinstance(value, int | float) or int(value) != value:
            raise InputError(f"Setting {name} must be a whole number, not {value!r}.")
        return int(value)
    if isinstance(default, list | tuple):
        return list(value) if isinstance(value, list | tuple) else [value]
    if isinstance(default, str) and not isinstance(value, str):
        raise InputError(f"Setting {name} must be text, not {value!r}.")
    return value


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"Setting {name} must be one of {', '.join(choices)}, not {value!r}.")


def check_positive(name: str, value: Any) -> None:
    if not value > 0:
        raise InputError(f"Setting {name} must be positive, not {value!r}.")
