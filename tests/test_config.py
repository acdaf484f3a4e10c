"""Settings: precedence, names, types, and every shipped file."""

from pathlib import Path

import pytest
import yaml

from ansgt.config import CONFIG_FOLDERS, RunConfig, build_config, parse_override
from ansgt.datasets import DATASETS
from ansgt.datasets.splits import GENERATED
from ansgt.errors import InputError
from ansgt.models import MODELS
from ansgt.training import model_defaults, section_defaults

SHIPPED = sorted(p for folder in CONFIG_FOLDERS if folder.exists() for p in folder.rglob("*.yaml"))
DEFAULTS = {"hidden_channels": 64, "dropout": 0.5, "norm": "none", "residual": False, "limit": None}


def build(**options: object) -> RunConfig:
    return build_config("cora", "none-such", "public", model_defaults=DEFAULTS, **options)  # type: ignore[arg-type]


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
    config = build(config=path, overrides=["dropout=0.7", "model.limit=3"])
    assert (config.optim.lr, config.optim.weight_decay) == (0.3, 0.2)
    assert config.settings == DEFAULTS | {"dropout": 0.7, "limit": 3}


def test_a_kind_of_split_may_have_settings_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    cora = {"cora": {"optim": {"lr": 0.3, "weight_decay": 0.2}}}
    path.write_text(yaml.safe_dump(cora | {"cora@public": {"optim": {"lr": 0.4}}}))
    assert (build(config=path).optim.lr, build(config=path).optim.weight_decay) == (0.4, 0.2)
    other = build_config("cora", "none-such", "geom", model_defaults=DEFAULTS, config=path)
    assert other.optim.lr == 0.3


def test_a_plain_file_and_numbers_as_yaml_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("optim: {lr: 1e-3}\ntrain: {epochs: 7}\n")  # YAML reads 1e-3 as text
    config = build(config=path)
    assert config.optim.lr == 0.001
    assert config.train.epochs == 7


def test_config_round_trip() -> None:
    config = build(overrides=["lr=0.5"])
    assert RunConfig.from_dict(config.as_dict()) == config


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("nonsense=1", "Unknown setting 'nonsense'; known:"),
        ("model.nonsense=1", "Unknown model setting"),
        ("where.lr=1", "Unknown section"),
        ("lr", "key=value"),
        ("=3", "key=value"),
        ("lr=fast", "optim.lr must be a number, not 'fast'"),
        ("hidden_channels=1.5", "must be a whole number"),
        ("hidden_channels=many", "must be a whole number"),
        ("residual=maybe", "true or false"),
        ("norm=3", "must be text"),
        ("lr=-1", "must not be negative"),
        ("epochs=0", "train.epochs must be positive"),
        ("optim.name=sgd", "one of adam, adamw"),
        ("select=test", "one of accuracy, loss"),
        ("normalize_features=max", "one of row, scaled, none"),
    ],
)
def test_bad_overrides(override: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        build(overrides=[override])
    assert message in str(caught.value)


def test_ambiguous_and_broken(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="several sections"):
        parse_override("lr=1", {"optim": {"lr": 1.0}, "model": {"lr": 2.0}})
    broken = tmp_path / "b.yaml"
    broken.write_text("model: [")
    with pytest.raises(InputError, match="not valid YAML"):
        build(config=broken)
    with pytest.raises(InputError, match="does not exist"):
        build(config=tmp_path / "absent.yaml")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_every_shipped_file_loads_for_every_section(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    assert path.stem in MODELS
    for section in content:
        dataset, _, split = section.partition("@")
        assert dataset in {"default", *DATASETS}
        assert split in {"", *GENERATED}
        build_config(
            dataset,
            path.stem,
            split or "public",
            model_defaults=model_defaults(path.stem),
            section_defaults=section_defaults(path.stem),
        )
