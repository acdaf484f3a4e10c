"""From what is asked for to a data set and a `RunConfig` with every setting: where models, files and overrides meet."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansgt.config import (
    AUTO,
    GENERAL,
    WITH_LINKS,
    Effort,
    Overrides,
    RunConfig,
    Sections,
    by_section,
    merge,
    pairs_of,
    read_settings,
    shipped_file,
)
from ansgt.datasets import Dataset
from ansgt.datasets.folds import with_split
from ansgt.datasets.load import Source
from ansgt.device import resolve_device
from ansgt.errors import InputError
from ansgt.models import MODELS, model_name, resolve_model
from ansgt.settings import Count, ModelSettings, Positive, Seed, Size, fitted, hints, values_of
from ansgt.storage import DiskCache, default_cache_dir

SETTINGS: dict[str, str] = {"ansgt": "ansgt.prediction.ansgt:AdaptiveSettings"}
"""Models with settings that a later stage adds to their class's own `Settings` -> "module:class"."""


@dataclass(frozen=True)
class Request:
    """What shall be trained on what.

    Args:
        dataset: name of the data set, which with `split` picks the section of the settings file.
        model: name of a model, or a class of the user's own.
        split: kind of split.
        num_splits: how many splits of that kind.
        seed: of the splits, the initialisation and every draw.
        device: cpu, cuda or cuda:<number>.
        effort, time_limit: as in `RunConfig`; with one of them, or where the model is "auto", experts are trained.
        num_nodes: of the graph; a settings file may have sections for large ones.
    """

    dataset: str
    model: str | type
    split: str
    num_splits: Count = 1
    seed: Seed = 0
    device: str = "cpu"
    effort: Effort | None = None
    time_limit: Positive | None = None
    num_nodes: Size = 0

    @property
    def trains_experts(self) -> bool:
        return self.model == AUTO or self.effort is not None or self.time_limit is not None


def meant(model: str | type | None, effort: str | None, time_limit: float | None) -> str | type:
    """The model to train: the one that is named; else experts of all families for an effort or a time, else ANS-GT.

    >>> meant(None, None, None), meant(None, "default", None), meant("gcn", "best", None)
    ('ansgt', 'auto', 'gcn')
    """
    if model is not None:
        return model
    return "ansgt" if effort is None and time_limit is None else AUTO


def prepare_run(
    dataset: str | Dataset,
    model: str | type = "ansgt",
    *,
    source: Source = Source(),
    config: Path | str | None = None,
    overrides: Overrides = (),
    **request: Any,
) -> tuple[Dataset, RunConfig]:
    """Loads a data set and resolves every setting.

    Args:
        dataset: a name, a path to a graph file, or what `load` returned.
        model: name of the model, or a class of one's own.
        source: where raw files are.
        config: a settings file in place of the shipped one.
        overrides: single settings.
        request: `split` (by default the data set's own; also the path of a file), `num_splits` (by default 1, and all of a
            file), `seed`, `device`, `effort` and `time_limit`, as for `Request`.
    """
    data = dataset if isinstance(dataset, Dataset) else source.load(dataset)
    if data.graph.num_classes < 2:
        raise InputError(
            f"Field 'y' of '{data.name}' has {data.graph.num_classes} class(es); classification needs at least 2."
        )
    data, split, number = with_split(data, request.pop("split", None))
    request["num_splits"] = number if request.get("num_splits") is None else request["num_splits"]
    device = resolve_device(request.pop("device", "auto"))
    asked = Request(data.name, model, split, device=device, num_nodes=data.graph.num_nodes, **request)
    return data, build_config(asked, config, overrides)


def train(
    dataset: str, model: str | type = "ansgt", *, run_dir: Path | str, **options: Any
) -> dict[str, Any]:
    """Trains a model on a data set and returns the summary that `ansgt train --json` prints; options as in `prepare_run`."""
    from ansgt.runs.run import Environment, run  # learning is imported by whoever learns

    data, config = prepare_run(dataset, model, **options)
    source: Source = options.get("source", Source())
    cache = DiskCache(source.cache_dir or default_cache_dir())
    return run(config, data, run_dir, environment=Environment(cache))


def build_config(request: Request, config: Path | str | None = None, overrides: Overrides = ()) -> RunConfig:
    """Every setting of a run: defaults, then a settings file, then overrides; names, types and ranges are checked.

    Args:
        request: what shall be trained on what.
        config: a settings file in place of the shipped one.
        overrides: `{"lr": 0.1, "train.epochs": 5}`, or the texts `lr=0.1` of the command line.

    >>> build_config(Request("cora", "gcn", "public"), overrides={"lr": 0.5}).optim.lr
    0.5
    """
    asked = fitted(Request, values_of(request))
    if asked.trains_experts:
        return _config_of_experts(asked, config, overrides)
    kinds = section_kinds(asked.model)
    preferred = settings_class(asked.model).sections
    given = by_section(overrides, kinds)
    file, found = _from_file(asked, config)
    linked = (file, _beside_links(file, found.pop(WITH_LINKS, {}), kinds))
    layers = [("", preferred), (file, found), ("", given)]
    sections = merge(kinds, layers)
    merge(kinds, [linked])  # names and ranges are checked even where nobody asks for links
    links = sections["data"].link_features
    if links == "links":
        sections = merge(kinds, [*layers[:2], linked, layers[2]])
    return RunConfig(
        dataset=asked.dataset,
        model_name=model_name(asked.model),
        split=asked.split,
        num_splits=asked.num_splits,
        seed=asked.seed,
        device=asked.device,
        settings=values_of(sections["model"]),
        optim=sections["optim"],
        train=sections["train"],
        data=sections["data"],
        model_class=asked.model if isinstance(asked.model, type) else None,
        with_links=_without(given, _by_name(linked[1])) if links == "auto" else {},
    )


def _beside_links(file: str, values: Mapping[str, Any], kinds: Mapping[str, type]) -> Sections:
    """The section `with_links` of a settings file, by section."""
    try:
        found = by_section(values, kinds)
    except InputError as error:
        raise InputError(f"{file}, section {WITH_LINKS}: {error}") from None
    if "link_features" in found.get("data", {}):
        raise InputError(f"{file}, section {WITH_LINKS}: link_features itself cannot be changed there.")
    return found


def _by_name(sections: Sections) -> dict[str, Any]:
    """Settings by `section.key`."""
    return {f"{section}.{key}": value for section, own in sections.items() for key, value in own.items()}


def _without(given: Sections, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were not given otherwise."""
    return {name: value for name, value in settings.items() if name not in _by_name(given)}


def _config_of_experts(request: Request, config: Path | str | None, overrides: Overrides) -> RunConfig:
    """No settings but those that were given; every one of them must be one of a family that is trained."""
    if config is not None:
        raise InputError(
            "A settings file says what is trained; effort, time_limit and model=auto use presets."
        )
    given = dict(pairs_of(overrides))
    kinds = kinds_of(request.model)
    for name, value in given.items():
        known = [one for one in kinds if is_setting(name, one)] or kinds[:1]
        for one in known:
            merge(one, [("", by_section({name: value}, one))])
    if {"num_models", "train.num_models"} & given.keys():
        raise InputError(
            "Setting train.num_models is for one model; effort, time_limit and model=auto train several."
        )
    return RunConfig(
        dataset=request.dataset,
        model_name=request.model if request.model == AUTO else model_name(request.model),
        split=request.split,
        num_splits=request.num_splits,
        seed=request.seed,
        device=request.device,
        model_class=request.model if isinstance(request.model, type) else None,
        effort=request.effort,
        time_limit=request.time_limit,
        given=given,
    )


def kinds_of(model: str | type) -> list[dict[str, type]]:
    """`section_kinds` of every family that a model's name stands for."""
    from ansgt.runs.presets import Presets

    return [section_kinds(family.model) for family in Presets.shipped().chosen(model)]


def is_setting(name: str, kinds: Mapping[str, type]) -> bool:
    """Whether `key` or `section.key` is a setting of these sections."""
    section, dot, key = name.partition(".")
    if dot:
        return section in kinds and key in hints(kinds[section])
    return any(name in hints(kind) for kind in kinds.values())


def changed(config: RunConfig, *layers: Overrides) -> RunConfig:
    """The same with some settings changed, later layers over earlier ones; names, types and ranges are checked."""
    kinds = section_kinds(config.model_class or config.model_name)
    own = {"model": config.settings, **{name: values_of(getattr(config, name)) for name in GENERAL}}
    given = [by_section(layer, kinds) for layer in layers]
    sections = merge(kinds, [("", own), *(("", layer) for layer in given)])
    with_links = config.with_links
    for layer in given:
        with_links = _without(layer, with_links)
    settings = values_of(sections["model"])
    return replace(
        config, settings=settings, with_links=with_links, **{name: sections[name] for name in GENERAL}
    )


def _from_file(request: Request, config: Path | str | None) -> tuple[str, Sections]:
    """The file's name and its sections; nothing ships for a model of the user's own."""
    name = model_name(request.model)
    if config is None and name not in MODELS:
        return "", {}
    path = shipped_file(name) if config is None else Path(config)
    return str(path), read_settings(path, request.dataset, request.split, name, request.num_nodes)


def section_kinds(model: str | type) -> dict[str, type]:
    """Section -> dataclass of its settings, of a model by its name or class."""
    return {"model": settings_class(model), **GENERAL}


def settings_class(model: str | type) -> type[ModelSettings]:
    """The dataclass of a model's settings: what a settings file and overrides may change in the section `model`."""
    name = model_name(model)
    if name not in SETTINGS:
        own: type[ModelSettings] = resolve_model(model).Settings
        return own
    module, _, attribute = SETTINGS[name].partition(":")
    found: Any = getattr(importlib.import_module(module), attribute)
    return found  # type: ignore[no-any-return]
