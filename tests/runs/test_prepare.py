"""From a request to every setting: the model's preferences, its shipped file, overrides."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from ansgt.config import OVER, RunConfig, shipped_file
from ansgt.datasets.dataset import GENERATED
from ansgt.datasets.published import DATASETS
from ansgt.errors import InputError
from ansgt.models import MODELS, NodeModel
from ansgt.runs.prepare import Request, build_config, meant, settings_class
from ansgt.settings import (
    ByteSize,
    Count,
    ModelSettings,
    Range,
    Rate,
    TrainSettings,
    fitted,
    hints,
    values_of,
)


class Mine(NodeModel):
    """A model of the user's own, which is only asked for its settings here."""

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        width: Count = 4
        dropout: Rate = 0.5
        sections = {"optim": {"lr": 0.125}, "train": {"epochs": 9}}  # noqa: RUF012


def test_defaults_then_preferences_then_the_shipped_file_then_overrides() -> None:
    config = build_config(Request("newman", "ansgt", "uniform-60-20-20"), overrides={"train.patience": 3})
    assert config.optim.name == "adamw"  # section 6.1
    assert config.train.epochs == 60  # configs/ansgt.yaml
    assert config.train.patience == 3
    assert config.settings["num_sampled"] == 10
    assert (config.num_splits, config.seed, config.device, config.model_class) == (1, 0, "cpu", None)


def test_a_file_of_the_users_own_replaces_the_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("train: {epochs: 7}")
    config = build_config(Request("newman", "ansgt", "uniform-60-20-20"), path)
    assert config.train.epochs == 7
    assert config.settings["num_sampled"] == settings_class("ansgt")().num_sampled  # type: ignore[attr-defined]


def test_an_effort_or_a_time_without_a_model_trains_experts() -> None:
    assert meant(None, None, None) == "ansgt"
    assert meant(None, "quick", None) == meant(None, None, 60.0) == meant(None, "best", 60.0) == "auto"
    assert meant("gcn", "best", 60.0) == meant("gcn", None, None) == "gcn"


def test_a_class_of_the_users_own() -> None:
    config = build_config(Request("cora", Mine, "public", seed=4), overrides={"width": 5})
    assert (config.model_name, config.model_class, config.seed) == ("Mine", Mine, 4)
    assert config.settings == {"width": 5, "dropout": 0.5}
    assert config.optim.lr == 0.125
    assert config.train == TrainSettings(epochs=9)
    with pytest.raises(InputError, match="Unknown model setting 'height'; known: dropout, width"):
        build_config(Request("cora", Mine, "public"), overrides={"model.height": 5})


def test_values_from_python_keep_their_type() -> None:
    overrides = {"lr": np.float32(0.5), "hidden_channels": np.int64(32), "residual": True}
    config = build_config(Request("cora", "gcn", "public"), overrides=overrides)
    assert config.optim.lr == 0.5
    assert type(config.settings["hidden_channels"]) is int
    assert config.settings["residual"] is True


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("cora", "gnc", "public"), "Unknown model 'gnc'; known: acmgcn"),
        (Request("cora", "gcn", "public", num_splits=0), "Setting num_splits must be at least 1, not 0"),
        (Request("cora", "gcn", "public", seed=-1), "Setting seed must be at least 0, not -1"),
        (Request("cora", 3, "public"), "Setting model must be text or a class, not 3"),  # type: ignore[arg-type]
        (Request("cora", dict, "public"), "must be a subclass of NodeModel"),
    ],
)
def test_bad_requests(request_: Request, message: str) -> None:
    with pytest.raises(InputError) as caught:
        build_config(request_)
    assert message in str(caught.value)


def test_every_shipped_section_is_of_a_model() -> None:
    content = yaml.safe_load(shipped_file("gcn").read_text(encoding="utf-8"))
    assert {"ansgt", *content} == set(MODELS)


@pytest.mark.parametrize("model", MODELS)
def test_every_shipped_section_loads(model: str) -> None:
    path = shipped_file(model)
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    for section in [*content.get(model, content), "another data set"]:
        over = OVER.fullmatch(section)
        dataset, _, split = ("another data set" if over else section).partition("@")
        size = int(over[1]) + 1 if over else 0
        assert dataset in {"default", "another data set", *DATASETS}
        assert split in {"", *GENERATED}
        request = Request(dataset, model, split or "public", num_nodes=size)
        config = build_config(request, path)
        assert config.train.epochs <= 2000
        assert config == build_config(request)


@pytest.mark.parametrize("model", MODELS)
def test_every_setting_has_a_range_and_a_default_that_fits(model: str) -> None:
    settings = settings_class(model)
    assert fitted(settings, values_of(settings())) == settings()
    for name, kind in hints(settings).items():
        parts = _parts(kind)
        assert Any not in parts, f"{name} has no type"
        is_number = int in parts or float in parts
        assert not is_number or any(isinstance(part, Range | ByteSize) for part in parts), (
            f"{name} has no range"
        )


def _parts(kind: Any) -> list[Any]:
    """An annotation and all that it is made of."""
    inner = [*getattr(kind, "__args__", ()), *getattr(kind, "__metadata__", ())]
    return [kind, *(part for one in inner for part in _parts(one))]


OLD = {
    "gcn": {"norm": "none"},
    "acmgcn": {"num_nodes": 0, "norm": "row"},
    "ansgt": {"attention": "fused", "num_layers": 1},
}


@pytest.mark.parametrize("model", OLD)
def test_settings_stored_by_version_0_1_fit_todays_models(model: str) -> None:
    stored = {"dataset": "cora", "model": model, "split": "public", "settings": OLD[model]}
    config = RunConfig.from_dict(stored)
    settings = fitted(settings_class(config.model_name), config.settings, "model")
    assert all(getattr(settings, name) == value for name, value in config.settings.items())
