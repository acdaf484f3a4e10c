"""Settings from files and overrides, and `RunConfig`: all that decides the result of a run.

A settings file holds four sections, ``model``, ``optim``, ``train`` and ``data``. A shipped file holds them once under
``default`` and once under every data set that differs; the baselines share one file, each under its name::

    gcn:
      default:
        model: {hidden_channels: 64}
        optim: {lr: 0.01}
      cora:
        optim: {lr: 0.1}

This file knows no model: `runs/prepare.py` adds the defaults of the one that is trained.
"""

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from ansgt.errors import InputError, reason, unknown_name
from ansgt.settings import (
    Count,
    DataSettings,
    OptimSettings,
    Positive,
    Seed,
    TrainSettings,
    brief,
    fit_values,
    fitted,
    hints,
    shown,
    values_of,
)

SECTIONS = ("model", "optim", "train", "data")
WITH_LINKS = "with_links"
"""Section of settings, by `key` or `section.key`, that count where the model sees links (`data.link_features`)."""
GENERAL: dict[str, type] = {"optim": OptimSettings, "train": TrainSettings, "data": DataSettings}
"""The sections that every model has, with their settings."""

CONFIG_FOLDERS = (Path(__file__).parent / "configs", Path(__file__).parents[1] / "configs")
"""Where the shipped settings are: inside an installed package, at the top of a checkout."""

LONGEST_FILE = 2**20
"""Bytes of a settings file that are read."""
MOST_ALIASES, MOST_LEVELS = 200, 50
"""Aliases and levels of a settings file; nested aliases multiply."""

Sections = dict[str, dict[str, Any]]
"""Section -> setting -> value."""
OVER = re.compile(r"default over ([0-9]{1,12}) nodes")
"""Heads of sections for graphs of a size."""
Overrides = Mapping[str, Any] | Sequence[str]
"""Settings by `key` or `section.key`, or the same as texts `key=value`."""

AUTO = "auto"
"""In place of a model's name: experts of several families."""
Effort = Literal["quick", "default", "best"]
"""How much is trained where presets give the settings: one small model, one preset of a family, or several experts."""


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides a run's result, as stored in its `config.json`."""

    dataset: str
    model_name: str
    split: str
    num_splits: Count = 1
    seed: Seed = 0
    device: str = "cpu"
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the model (and, for ANS-GT, of its sampling and coarsening): the section `model` of a settings file."""
    optim: OptimSettings = field(default_factory=OptimSettings)
    train: TrainSettings = field(default_factory=TrainSettings)
    data: DataSettings = field(default_factory=DataSettings)
    model_class: type | None = None
    """A model of the user's own; `config.json` has its name alone."""
    effort: Effort | None = None
    """None: the settings above are trained. Else, with `time_limit`, and where the model is "auto", experts are: their
    settings come from presets, which every split chooses for itself, and the sections above say nothing."""
    time_limit: Positive | None = None
    """Seconds that the whole run may take."""
    given: dict[str, Any] = field(default_factory=dict)
    """Settings that every expert has in place of its preset's."""
    with_links: dict[str, Any] = field(default_factory=dict)
    """Settings by `section.key` that a split gets for which `data.link_features=auto` chooses links."""

    @property
    def trains_experts(self) -> bool:
        return self.model_name == AUTO or self.effort is not None or self.time_limit is not None

    def as_dict(self) -> dict[str, Any]:
        """The content of `config.json`; what concerns experts is there where there are some."""
        absent = {"model_class", *(() if self.trains_experts else ("effort", "time_limit", "given"))}
        absent |= set() if self.with_links else {WITH_LINKS}
        return {name: _stored(value) for name, value in values_of(self).items() if name not in absent}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "RunConfig":
        """What `as_dict` gave, in this version of ansgt or an older one."""
        try:
            config = fitted(cls, upgraded(values))
            _check_finite("settings", config.settings)
            _check_finite(WITH_LINKS, config.with_links)
            return config
        except InputError as error:
            raise InputError(f"A stored config does not fit this version of ansgt: {error}") from None


def _check_finite(name: str, value: Any) -> None:
    """Refuses NaN and infinity, which JSON of Python's own has; a model's settings are checked when it is built."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"Setting {name} must be finite, not {value}.")
    for key, one in parts:
        _check_finite(f"{name}.{brief(key)}", one)


def _stored(value: Any) -> Any:
    """A value as JSON has it; an object of the user's own by the name of its class."""
    if is_dataclass(value):
        return {one.name: _stored(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: _stored(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_stored(one) for one in value]
    return value if value is None or isinstance(value, bool | int | float | str) else type(value).__name__


RENAMED = {
    "": {"model": "model_name"},
    "settings": {"attention": "kernel"},
    "train": {"restarts": "num_models"},
}
"""Section of a config stored by ansgt 0.1 -> old key -> new key."""
REPLACED = {("settings", "attention"): {"fused": "auto"}}
"""Section and key of such a config -> old value -> new value."""
DROPPED = {("settings", "num_nodes")}
"""Section and key of such a config that decided nothing."""


def upgraded(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """A stored config in today's words; one of ansgt 0.1 has the model's name under `model`.

    >>> upgraded({"model": "gcn", "train": {"restarts": 3}})
    {'model_name': 'gcn', 'train': {'num_models': 3}}
    """
    if not isinstance(values, Mapping) or "model" not in values or "model_name" in values:
        return values
    sections = {
        key: _renamed(key, value) if isinstance(value, Mapping) else value for key, value in values.items()
    }
    return _renamed("", sections)


def _renamed(section: str, values: Mapping[str, Any]) -> dict[str, Any]:
    names = RENAMED.get(section, {})
    found = {}
    for key, value in values.items():
        if (section, key) not in DROPPED:
            replaced = REPLACED.get((section, key), {})
            found[names.get(key, key)] = replaced.get(value, value) if isinstance(value, str) else value
    return found


def shipped_file(model_name: str) -> Path:
    """The settings file that ships for a model: its own, or that of all baselines."""
    folder = _shipped_folder()
    for path in (folder / f"{model_name}.yaml", folder / "baselines.yaml"):
        if path.exists():
            return path
    raise InputError(
        f"The shipped settings of model '{model_name}' are missing in {folder}: "
        "install ansgt again, or give a settings file of your own."
    )


def shipped_presets() -> Mapping[str, Any]:
    """The content of the presets file that ships."""
    path = _shipped_folder() / "presets.yaml"
    if not path.exists():
        raise InputError(f"The shipped presets {path} are missing: install ansgt again.")
    return read_yaml(path)


def _shipped_folder() -> Path:
    return next((folder for folder in CONFIG_FOLDERS if folder.is_dir()), CONFIG_FOLDERS[0])


def read_settings(
    path: Path | str, dataset: str, split: str = "", model_name: str = "", num_nodes: int = 0
) -> Sections:
    """The sections of a settings file for one data set: `name@split` over `name` over `default`.

    A data set without a section of its own gets `default over <N> nodes` on top of `default`, for every N below its size.
    Where the file holds several models, it is those under `model_name` that count.

    Two kinds of split are two tasks: class-balanced training nodes and a uniform sample want different settings. Links
    beside the features make a third: the section `with_links` of a data set, flat, holds what differs then.
    """
    content = read_yaml(Path(path))
    content = _mapping(path, content.get(model_name, content))
    sizes = sorted((int(found[1]), head) for head in content if (found := OVER.fullmatch(str(head))))
    larger = [head for size, head in sizes if size < num_nodes and dataset not in content]
    names = ("default", *larger, dataset, f"{dataset}@{split}")
    sections = {*SECTIONS, WITH_LINKS}
    if not set(content) & {*sections, *names}:
        _check_heads(path, content)
    parts = [content] if set(content) & sections else [content.get(name) for name in names]
    merged: Sections = {}
    for part in parts:
        for section, values in _mapping(path, part).items():
            if section not in sections:
                raise unknown_name(f"section in {path}", brief(section), SECTIONS)
            merged.setdefault(section, {}).update(_mapping(path, values))
    return merged


def _check_heads(path: Path | str, content: Mapping[str, Any]) -> None:
    """A misspelt section at the top of a file would otherwise pass for a data set that is not the one asked for."""
    known = (*SECTIONS, WITH_LINKS, "default")
    for head in content:
        if not isinstance(head, str) or difflib.get_close_matches(head[:40], known, 1, 0.75):
            raise unknown_name(f"section in {path}", brief(head), known)


def read_yaml(path: Path) -> Mapping[str, Any]:
    """The mapping in a settings file."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for
            raise InputError(f"The settings file {path} is not a file.")
        with path.open("rb") as stream:
            text = stream.read(LONGEST_FILE + 1)
        if len(text) > LONGEST_FILE:
            raise InputError(f"The settings file {path} is longer than {LONGEST_FILE} bytes.")
        return _mapping(path, safe_yaml(text.decode("utf-8")))
    except FileNotFoundError:
        raise InputError(f"The settings file {path} does not exist.") from None
    except OSError as error:
        raise InputError(f"The settings file {path} cannot be read: {error.strerror}.") from None
    except InputError:
        raise
    except Exception as error:  # YAML's own, or of a value: a date that is none, an endless number, nesting
        raise InputError(f"The settings file {path} is not valid YAML: {_problem(error)}.") from None


class _Loader(yaml.SafeLoader):
    """YAML's plain values alone: bounded in depth and in what anchors multiply, every key given once."""

    depth = aliases = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.aliases += self.check_event(yaml.AliasEvent)
        self.depth += 1
        if self.aliases > MOST_ALIASES or self.depth > MOST_LEVELS:
            raise yaml.YAMLError(f"more than {MOST_ALIASES} aliases or {MOST_LEVELS} levels")
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def flatten_mapping(self, node: Any) -> None:
        given = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        twice = next((key for key in given if given.count(key) > 1), None) if len(given) < 1000 else "..."
        if twice is not None and not getattr(node, "merged", False):
            raise yaml.YAMLError(f"the key {brief(twice)!r} is given twice")
        node.merged = True
        super().flatten_mapping(node)
        if len(node.value) > 1000:
            raise yaml.YAMLError("a mapping of more than 1000 keys")


def safe_yaml(text: str) -> Any:
    """A YAML value; raises YAML's own exceptions, or those of a value: a date that is none, an endless number."""
    return yaml.load(text, Loader=_Loader)


def _problem(error: Exception) -> str:
    """What is wrong, without the lines that YAML quotes."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        place = error.problem_mark
        return f"{error.problem[:200]}{f' (line {place.line + 1})' if place else ''}"
    return reason(error)


def _mapping(path: Path | str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"The settings file {path} must hold mappings, not {shown(value)}.")
    return value


def parse_override(text: str) -> tuple[str, Any]:
    """`key=value`, the value in YAML, as the command line has it.

    >>> parse_override("optim.lr=0.1"), parse_override("heuristics=[1-hop, knn]")
    (('optim.lr', 0.1), ('heuristics', ['1-hop', 'knn']))
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"An override must read key=value, not {shown(text)}.")
    try:
        return key.strip(), safe_yaml(value)
    except Exception:  # YAML's own, or of a value: a date that is none, an endless number, nesting
        raise InputError(f"The value of override {shown(text)} is not valid YAML.") from None


def by_section(overrides: Overrides, kinds: Mapping[str, type]) -> Sections:
    """Overrides, sorted into sections; a bare key must name one setting.

    Args:
        overrides: from Python or the command line.
        kinds: section -> dataclass of its settings.
    """
    found: Sections = {}
    for name, value in pairs_of(overrides):
        section, key = _place(str(name), kinds)
        if isinstance(overrides, Mapping) and key in found.get(section, {}):
            raise InputError(
                f"Setting {section}.{brief(key)} is given twice, the second time as {brief(name)!r}."
            )
        found.setdefault(section, {})[key] = value
    return found


def pairs_of(overrides: Overrides) -> Iterable[tuple[str, Any]]:
    """Name and value of every override."""
    return overrides.items() if isinstance(overrides, Mapping) else map(parse_override, overrides)


def setting_names(sections: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Every setting as `section.key` -> the shortest name that means it alone.

    >>> setting_names({"model": ["dropout", "name"], "optim": ["name"]})
    {'model.dropout': 'dropout', 'model.name': 'model.name', 'optim.name': 'optim.name'}
    """
    keys = [key for names in sections.values() for key in names]
    return {
        f"{section}.{key}": f"{section}.{key}" if keys.count(key) > 1 else key
        for section, names in sections.items()
        for key in names
    }


def _place(name: str, kinds: Mapping[str, type]) -> tuple[str, str]:
    """Section and key of `section.key` or of a bare key."""
    section, dot, key = name.partition(".")
    if dot:
        return section, key
    holders = [section for section, kind in kinds.items() if name in hints(kind)]
    if len(holders) > 1:
        places = " or ".join(f"{section}.{name}" for section in holders)
        raise InputError(f"Setting {name!r} is in several sections; write {places}.")
    if not holders:
        raise unknown_name("setting", brief(name), [key for kind in kinds.values() for key in hints(kind)])
    return holders[0], name


def merge(
    kinds: Mapping[str, type], layers: Iterable[tuple[str, Mapping[str, Mapping[str, Any]]]]
) -> dict[str, Any]:
    """Every section as its dataclass, later layers over earlier ones.

    Args:
        kinds: section -> dataclass of its settings.
        layers: where some values come from ("" or a file, for the error), and the values by section.
    """
    merged: Sections = {section: {} for section in kinds}
    for source, sections in layers:
        for section, values in sections.items():
            if section not in kinds:
                raise unknown_name("section", brief(section), kinds)
            try:
                merged[section].update(fit_values(kinds[section], values, section))
            except InputError as error:
                raise InputError(f"{source}: {error}" if source else str(error)) from None
    return {section: fitted(kind, merged[section], section) for section, kind in kinds.items()}
