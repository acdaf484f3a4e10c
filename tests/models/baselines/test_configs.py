"""Every shipped settings file of a baseline loads, for every data set it names, and fits the model's keywords."""

from pathlib import Path

import pytest
import yaml

from ansgt.config import build_config
from ansgt.datasets import DATASETS
from ansgt.models import MODELS
from ansgt.training import model_defaults, section_defaults

FOLDER = Path(__file__).parents[3] / "configs" / "baselines"
BASELINES = [name for name in MODELS if name != "ansgt"]


@pytest.mark.parametrize("model", BASELINES)
def test_settings_load(model: str) -> None:
    path = FOLDER / f"{model}.yaml"
    named = set(yaml.safe_load(path.read_text())) - {"default"}
    for section in [*named, "anything else"]:
        dataset, _, split = section.partition("@")
        assert dataset in (*DATASETS, "anything else")
        config = build_config(
            dataset,
            model,
            split or "uniform-60-20-20",
            model_defaults=model_defaults(model),
            section_defaults=section_defaults(model),
            config=path,
        )
        assert config.train.epochs <= 2000


def test_every_file_belongs_to_a_model() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(BASELINES)
