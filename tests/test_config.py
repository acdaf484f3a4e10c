"""Settings files, overrides, and stored configs of this version and older ones."""

import json
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from ansgt import config as config_module
from ansgt.config import (
    GENERAL,
    RunConfig,
    by_section,
    merge,
    parse_override,
    read_settings,
    shipped_file,
    upgraded,
)
from ansgt.errors import InputError
from ansgt.models import MODELS
from ansgt.settings import Count, ModelSettings, OptimSettings, Rate, TrainSettings, brief, fitted

STORED = Path(__file__).parent / "fixtures" / "version-0.1.tar.gz"
"""Records of version 0.1."""


@dataclass(frozen=True)
class Settings(ModelSettings):
    """Of a model that does not exist."""

    hidden_channels: Count = 64
    dropout: Rate = 0.5
    norm: Literal["none", "batch"] = "none"
    residual: bool = False
    limit: Count | None = None


KINDS: dict[str, type] = {"model": Settings, **GENERAL}


def resolved(path: Path | None = None, overrides: Any = (), split: str = "public") -> dict[str, Any]:
    files = [] if path is None else [(str(path), read_settings(path, "cora", split))]
    return merge(KINDS, [*files, ("", by_section(overrides, KINDS))])


def test_overrides_beat_the_data_set_beats_default(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "default": {"optim": {"lr": 0.1, "weight_decay": 0.2}, "model": {"dropout": 0.1}},
                "cora": {"optim": {"lr": 0.3}},
                "other": {"optim": {"lr": 0.9}},
            }
        )
    )
    found = resolved(path, ["dropout=0.7", "model.limit=3"])
    assert found["optim"] == OptimSettings(lr=0.3, weight_decay=0.2)
    assert found["model"] == Settings(dropout=0.7, limit=3)
    assert found["train"] == TrainSettings()


def test_a_kind_of_split_may_have_settings_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    cora = {"cora": {"optim": {"lr": 0.3, "weight_decay": 0.2}}}
    path.write_text(yaml.safe_dump(cora | {"cora@public": {"optim": {"lr": 0.4}}}))
    assert resolved(path)["optim"] == OptimSettings(lr=0.4, weight_decay=0.2)
    assert resolved(path, split="geom")["optim"] == OptimSettings(lr=0.3, weight_decay=0.2)


def test_a_plain_file_and_numbers_as_yaml_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("optim: {lr: 1e-3}\ntrain: {epochs: 7}\n")  # YAML reads 1e-3 as text
    found = resolved(path)
    assert found["optim"].lr == 0.001
    assert found["train"].epochs == 7


def test_python_values_and_texts_are_the_same_overrides() -> None:
    from_python = resolved(overrides={"lr": 1e-3, "optim.eps": 1e-7, "limit": None, "residual": True})
    assert from_python == resolved(overrides=["lr=1e-3", "optim.eps=1e-7", "limit=null", "residual=true"])


def test_a_text_from_python_is_not_read_as_yaml() -> None:
    assert resolved(overrides={"norm": "none"})["model"].norm == "none"
    with pytest.raises(InputError, match=r"model\.residual must be true or false, not 'true'"):
        resolved(overrides={"residual": "true"})


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("nonsense=1", "Unknown setting 'nonsense'; known:"),
        ("model.nonsense=1", "Unknown model setting 'nonsense'"),
        ("where.lr=1", "Unknown section 'where'; known: data, model, optim, train"),
        ("lr", "key=value"),
        ("=3", "key=value"),
        ("x" * 9999, "key=value"),
        ("lr=[", "not valid YAML"),
        ("lr=" + "[" * 9999, "not valid YAML"),
        ("epochs=" + "9" * 5000, "not valid YAML"),
        ("lr=2026-99-99", "not valid YAML"),
        ("lr=fast", "Setting optim.lr must be a number, not 'fast'"),
        ("lr=.nan", "Setting optim.lr must be a number, not nan"),
        ("lr=.inf", "Setting optim.lr must be finite, not inf"),
        ("lr=", "Setting optim.lr must not be null"),
        ("hidden_channels=1.5", "must be a whole number"),
        ("hidden_channels=many", "must be a whole number"),
        ("hidden_channels=true", "must be a whole number"),
        ("residual=maybe", "true or false"),
        ("norm=3", "must be one of none, batch, not 3"),
        ("lr=-1", "Setting optim.lr must be at least 0, not -1"),
        ("epochs=0", "Setting train.epochs must be at least 1, not 0"),
        ("num_models=0", "Setting train.num_models must be in [1, 1000], not 0"),
        ("beta1=1", "Setting optim.beta1 must be in [0, 1), not 1"),
        ("patience=-1", "Setting train.patience must be at least 0, not -1"),
        ("clip_norm=0", "Setting optim.clip_norm must be greater than 0, not 0"),
        ("optim.name=sgd", "one of adam, adamw"),
        ("select=test", "one of accuracy, balanced_accuracy"),
        ("normalize_features=max", "one of row, scaled, none, auto"),
    ],
    ids=brief,
)
def test_bad_overrides(override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolved(overrides=[override])
    assert message in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_bare_key_must_name_one_setting() -> None:
    @dataclass(frozen=True)
    class Rival(ModelSettings):
        lr: Rate = 0.5

    kinds = {"model": Rival, "optim": OptimSettings}
    with pytest.raises(
        InputError, match=r"Setting 'lr' is in several sections; write model\.lr or optim\.lr"
    ):
        by_section(["lr=1"], kinds)
    assert by_section({"optim.lr": 1}, kinds) == {"optim": {"lr": 1}}


def test_parse_override() -> None:
    assert parse_override("optim.lr = 0.1") == ("optim.lr", 0.1)
    assert parse_override("note=a=b") == ("note", "a=b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("model: [", "is not valid YAML"),
        ("[1, 2]", "must hold mappings, not [1, 2]"),
        ("model: 3", "must hold mappings, not 3"),
        ("default: 3", "must hold mappings, not 3"),
        ("default: {modle: {}}", "Unknown section"),
        ("default: {7: {}}", "Unknown section"),
        ("train: {epochs: " + "9" * 5000 + "}", "is not valid YAML"),
        ("[" * 9999, "is not valid YAML"),
        ("optim: {lr: fast}", "Setting optim.lr must be a number, not 'fast'"),
        ("optim: {speed: 1}", "Unknown optim setting 'speed'"),
    ],
    ids=brief,
)
def test_bad_files_are_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        resolved(path)
    assert message in str(caught.value)
    assert "bad.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_settings(tmp_path / "absent.yaml", "cora")
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path, "cora")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not valid YAML"):
        read_settings(tmp_path / "bytes.yaml", "cora")
    (tmp_path / "empty.yaml").write_text("")
    assert read_settings(tmp_path / "empty.yaml", "cora") == {}


def test_every_model_has_a_shipped_file_and_an_absent_one_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in MODELS:
        path = shipped_file(name)
        assert path.stem == ("ansgt" if name == "ansgt" else "baselines")
        assert read_settings(path, "cora", model_name=name)["train"]["epochs"] > 0
    monkeypatch.setattr(config_module, "CONFIG_FOLDERS", (tmp_path / "a", tmp_path / "b"))
    with pytest.raises(InputError, match="shipped settings of model 'gcn' are missing"):
        shipped_file("gcn")


CONFIG = RunConfig(
    "cora",
    "gcn",
    "public",
    num_splits=3,
    seed=7,
    settings={"dropout": 0.1, "limit": None},
    train=TrainSettings(num_models=2),
)


def test_a_config_survives_json() -> None:
    stored = json.loads(json.dumps(CONFIG.as_dict()))
    assert RunConfig.from_dict(stored) == CONFIG
    assert stored["model_name"] == "gcn"
    assert not {"model", "model_class"} & set(stored)


def test_objects_of_the_users_own_are_stored_by_name() -> None:
    class Mine:
        pass

    config = replace(CONFIG, model_class=Mine, settings={"heuristics": ["ppr", Mine()]})
    assert json.loads(json.dumps(config.as_dict()))["settings"] == {"heuristics": ["ppr", "Mine"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "Unknown setting 'colour'"),
        ({"train": {"restarts": 2}}, "Unknown train setting 'restarts'"),
        ({"optim": {"lr": "fast"}}, "Setting optim.lr must be a number"),
        ({"num_splits": 0}, "Setting num_splits must be at least 1"),
        ({"settings": []}, "Setting settings must be of type dict"),
        ({"dataset": None}, "Setting dataset must not be null"),
    ],
)
def test_stored_configs_that_do_not_fit(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match="A stored config does not fit this version of ansgt") as caught:
        RunConfig.from_dict(CONFIG.as_dict() | change)
    assert message in str(caught.value)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InputError, match="Setting split is missing"):
        RunConfig.from_dict({"dataset": "cora", "model_name": "gcn"})


def test_words_of_version_0_1() -> None:
    old = {
        "dataset": "cora",
        "model": "ansgt",
        "split": "public",
        "settings": {"attention": "fused", "num_nodes": 0, "num_layers": 2},
        "train": {"restarts": 3},
    }
    found = RunConfig.from_dict(old)
    assert found.model_name == "ansgt"
    assert found.settings == {"kernel": "auto", "num_layers": 2}
    assert found.train.num_models == 3
    with pytest.raises(InputError, match="Unknown setting 'speed'"):
        RunConfig.from_dict(old | {"speed": 1})


def test_todays_configs_are_not_renamed() -> None:
    """A model of the user's own may well have a setting `attention`."""
    stored = CONFIG.as_dict() | {"settings": {"attention": "fused"}}
    assert upgraded(stored) == stored


@pytest.mark.parametrize("name", ["classifier-0.1", "classifier-gcn-0.1", "run-0.1"])
def test_stored_configs_of_version_0_1_open(name: str) -> None:
    with tarfile.open(STORED) as archive:
        member = archive.extractfile(f"{name}/config.json")
        assert member is not None
        old = json.load(member)
    found = RunConfig.from_dict(old)
    assert (found.model_name, found.train.num_models) == (old["model"], old["train"]["restarts"])
    assert found.settings.get("kernel") == old["settings"].get("attention")
    assert found.optim == fitted(OptimSettings, old["optim"])
    assert RunConfig.from_dict(found.as_dict()) == found


def test_larger_graphs_without_a_section_get_those_of_their_size(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "default: {train: {epochs: 9, patience: 5}}\n"
        "default over 20000 nodes: {train: {epochs: 2}}\n"
        "default over 1000 nodes: {train: {epochs: 3}, optim: {lr: 0.5}}\n"
        "cora: {optim: {lr: 0.1}}\n"
    )

    def epochs(num_nodes: int, name: str = "mine") -> tuple[int, int, float | None]:
        found = read_settings(path, name, num_nodes=num_nodes)
        return found["train"]["epochs"], found["train"]["patience"], found.get("optim", {}).get("lr")

    assert epochs(0) == epochs(1000) == (9, 5, None)
    assert epochs(1001) == epochs(20_000) == (3, 5, 0.5)
    assert epochs(20_001) == (2, 5, 0.5)
    assert epochs(20_001, "cora") == (9, 5, 0.1)
