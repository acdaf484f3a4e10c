"""Experts of a split: which are planned, how they are mixed, what the record holds of them, and time limits."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ansgt
from ansgt.datasets import load
from ansgt.errors import InputError
from ansgt.graph import Split
from ansgt.models.baselines.gcn import GCN
from ansgt.prediction.progressive import expert_weights, likelihoods_of, most_experts
from ansgt.runs.experts import Plan, stored_experts, stored_mixture
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import prepare_run
from ansgt.runs.presets import Presets
from ansgt.runs.reopen import FinishedRun, evaluate_run
from ansgt.runs.run import Environment, Progress, run
from ansgt.settings import DataSettings
from ansgt.storage import DiskCache

SMALL: dict[str, Any] = {
    "epochs": 2,
    "hidden_channels": 8,
    "model.num_heads": 1,
    "num_augmentations": 1,
    "num_sampled": 4,
}


def planned(model: str, given: dict[str, Any] | None = None, **options: Any) -> list[str]:
    data, config = prepare_run("synthetic-400", model, device="cpu", overrides=given or {}, **options)
    plan = Plan.of(config, data.graph, data.split(config.split, 0, 0))
    return [expert.name for expert in plan.experts]


def test_what_an_effort_trains() -> None:
    assert planned("ansgt", effort="quick") == ["ansgt quick"]
    shipped = Presets.shipped()
    first, *others = shipped.families["ansgt"].rule.best
    chosen = shipped.families["ansgt"].rule.low
    assert planned("ansgt", effort="default") == [f"ansgt {chosen}"]
    presets = [f"ansgt {name}" for name in (chosen, *(name for name in (first, *others) if name != chosen))]
    arms = [f"ansgt {chosen}, {name}" for name in ("1-hop", "2-hop", "ppr", "knn", "fixed")]
    assert planned("ansgt", effort="best") == [*presets, *arms]
    assert sorted(planned("gcn", effort="best")) == ["gcn calm", "gcn residual"]
    assert planned("appnp", effort="best") == ["appnp default", "appnp default #2", "appnp default #3"]
    assert planned("auto", effort="quick") == ["sage quick"]
    assert [name.split()[0] for name in planned("auto")] == list(shipped.families)
    best = planned("auto", effort="best")
    assert best[: len(shipped.auto)] == planned("auto")
    assert len(best) == sum(len(family.rule.best) for family in shipped.families.values())


def test_a_time_limit_begins_with_what_is_cheap() -> None:
    assert planned("ansgt", time_limit=60, effort="default") == ["sage quick", "ansgt hubs"]
    names = planned("auto", time_limit=60)
    assert names[:2] == ["sage quick", "mlp wide"]
    assert names.index("linkx wide") < names.index("ansgt hubs") < names.index("mlp bare")


def test_no_more_experts_than_the_validation_nodes_support() -> None:
    data, config = prepare_run("newman", "ansgt", effort="best", time_limit=60)
    split = data.split(config.split, 0, 0)
    plan = Plan.of(config, data.graph, split)
    assert len(plan.experts) == most_experts(len(split.val)) == 2
    assert plan.in_time("best") == plan.experts
    many = Plan(plan.experts)
    assert [one.name for one in many.in_time("best")][:4] == [
        *(one.name for one in plan.experts),
        "sage quick #2",
        "ansgt hubs #2",
    ]
    assert len(many.in_time("best")) == 20 * len(plan.experts)
    assert many.in_time("quick") == plan.experts


def test_given_settings_hold_for_every_expert_that_has_them() -> None:
    data, config = prepare_run("newman", "auto", overrides={"lr": 0.3, "num_sampled": 3})
    experts = Plan.of(config, data.graph, data.split(config.split, 0, 0)).experts
    assert {expert.config.optim.lr for expert in experts} == {0.3}
    assert [expert.config.settings.get("num_sampled") for expert in experts][:2] == [3, None]


def test_experts_that_a_given_setting_makes_alike_are_one() -> None:
    names = planned("ansgt", {"sampling": "knn"}, effort="best")
    assert not [name for name in names if "," in name]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "much"}, "Setting effort must be one of quick, default, best"),
        ({"time_limit": 0}, "Setting time_limit must be greater than 0"),
        ({"time_limit": float("nan")}, "Setting time_limit must be"),
        ({"effort": "best", "overrides": ["num_models=2"]}, "num_models is for one model"),
        ({"effort": "best", "overrides": ["epoch=2"]}, "nknown setting 'epoch'"),
        ({"effort": "best", "overrides": ["epochs=x"]}, "epochs must be a whole number"),
        ({"effort": "best", "config": "no.yaml"}, "A settings file says what is trained"),
    ],
)
def test_bad_input_is_a_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_run("newman", "ansgt", **options)


def trained(folder: Path, model: str = "auto", stop_after: int | None = None, **options: Any) -> RunFolder:
    given = {**SMALL, **options.pop("given", {})}
    data, config = prepare_run("newman", model, device="cpu", overrides=given, **options)
    told: list[Progress] = []

    def on_epoch(progress: Progress) -> None:
        told.append(progress)
        if len(told) == stop_after:
            raise KeyboardInterrupt

    run(config, data, folder, resume=True, environment=Environment(DiskCache(folder.parent), on_epoch))
    return RunFolder(folder)


@pytest.fixture(scope="module")
def auto(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(tmp_path_factory.mktemp("experts") / "auto")


def test_the_record_is_the_mixture_that_validation_gives(auto: RunFolder) -> None:
    split, result = auto.split(0), auto.split(0).result()
    alone, parts, all_nodes = split.alone(), split.parts(), split.predictions()
    assert alone is not None
    assert alone["probabilities"].dtype == np.float16
    assert alone["nodes"].tolist() == [*parts["val"], *parts["test"]]
    told, val = alone["probabilities"].astype(float), parts["val"]
    shares = np.array([one["weight"] for one in result["models"]])
    labels = all_nodes["label"][val]
    assert shares == pytest.approx(expert_weights(likelihoods_of(told[:, : len(val)], labels)), abs=1e-3)
    mixed = np.tensordot(shares, told, axes=1)
    assert mixed == pytest.approx(all_nodes["probabilities"][alone["nodes"]], abs=2e-3)
    assert shares.sum() == pytest.approx(1)
    assert result["aggregation"]["bound"] == pytest.approx(np.log(len(shares) + 1) / (len(val) + 1))


def test_what_a_record_says_of_all_experts_and_of_the_first(auto: RunFolder) -> None:
    result, rows = auto.split(0).result(), auto.split(0).metrics()
    models = result["models"]
    first = max(models, key=lambda one: one["weight"])
    assert (result["best_epoch"], result["learned"]) == (first["best_epoch"], first["learned"])
    assert result["epochs_run"] == sum(one["epochs_run"] for one in models) == len(rows)
    assert result["seconds"] == pytest.approx(sum(one["seconds"] for one in models))
    assert [row["model"] for row in rows] == sorted(row["model"] for row in rows)
    assert {row["model"] for row in rows} == set(range(len(models)))
    assert result["aggregation"]["rule"] == "progressive mixture"
    assert "left_out" not in result
    assert set(result["presets"]) == {"chosen", "facts"}


def test_a_reopened_record_predicts_the_same(auto: RunFolder) -> None:
    again = evaluate_run(FinishedRun.open(auto.path, device="cpu", cache_dir=auto.path.parent))
    assert again["matches_record"]


def test_an_interrupted_run_goes_on_and_ends_the_same(auto: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "r", stop_after=3)
    assert (tmp_path / "r" / "split-0" / "model-0" / "result.json").exists()
    resumed = trained(tmp_path / "r")
    assert np.array_equal(
        resumed.split(0).predictions()["probabilities"], auto.split(0).predictions()["probabilities"]
    )
    assert not list((tmp_path / "r" / "split-0").glob("model-*"))
    changed = [{**one, "seconds": 0} for one in resumed.split(0).result()["models"]]
    assert changed == [{**one, "seconds": 0} for one in auto.split(0).result()["models"]]


def test_experts_are_trained_in_their_order_until_the_time_is_up(tmp_path: Path) -> None:
    """GCN on 400 nodes takes a moment, so further seeds follow until the time is up."""
    data, config = prepare_run(
        "synthetic-400", "gcn", effort="default", time_limit=5.0, overrides={"epochs": 9}
    )
    run(config, data, tmp_path / "r")
    names = [one["name"] for one in RunFolder(tmp_path / "r").split(0).result()["models"]]
    assert names[0] == "sage quick"
    assert (
        names
        == [one.name for one in Plan.of(config, data.graph, data.split("given")).in_time(None)][: len(names)]
    )


def test_a_limit_that_nothing_fits_into_is_a_sentence(tmp_path: Path) -> None:
    data, config = prepare_run("newman", "ansgt", device="cpu", effort="quick", time_limit=1e-6)
    with pytest.raises(InputError, match="time limit of 1e-06 s ended before a first model"):
        run(config, data, tmp_path / "r")


def test_too_few_validation_nodes_give_a_plain_mean(tmp_path: Path) -> None:
    data = load("newman")
    split = data.split("uniform-60-20-20", 0, 0)
    few = Split(split.train, split.val[:5], split.test, "given")
    data.stored["given"] = [few]
    _, config = prepare_run(data, "gcn", device="cpu", split="given", effort="best", overrides={"epochs": 2})
    run(config, data, tmp_path / "r")
    result = RunFolder(tmp_path / "r").split(0).result()
    assert [one["weight"] for one in result["models"]] == pytest.approx([0.5, 0.5])
    assert result["aggregation"] == {"rule": "mean", "bound": None, "num_val": 5}


@pytest.mark.parametrize(
    "damage",
    [
        {"experts": None},
        {"experts": [{}] * 2},
        {"models": [3, 4]},
        {"models": [{"weight": "all"}] * 2},
        {"models": [{"weight": float("nan")}] * 2},
        {"models": []},
    ],
)
def test_a_record_that_does_not_say_what_was_trained_is_a_sentence(
    auto: RunFolder, damage: dict[str, Any]
) -> None:
    result = {**auto.split(0).result(), **damage}
    with pytest.raises(InputError, match=r"damaged|does not fit this version"):
        stored_experts(auto.config(), result)


def test_weights_and_temperatures_of_a_record() -> None:
    models = [{"weight": 0.25, "temperature": 1.5}, {"weight": 0.75}]  # older records have no temperatures
    found = stored_mixture({"models": models})
    assert (found.weights.tolist(), list(found.temperatures)) == ([0.25, 0.75], [1.5, 1.0])
    for wrong in (-0.1, 1.1, 1, None):
        with pytest.raises(InputError, match="damaged"):
            stored_mixture({"models": [{"weight": wrong}]})
    for wrong in (0.0, 2, math.inf, None):
        with pytest.raises(InputError, match="damaged"):
            stored_mixture({"models": [{"weight": 1.0, "temperature": wrong}]})
    assert stored_mixture({"models": [{"weight": 1.0}, {"weight": 0.0}]}).weights.tolist() == [1, 0]


def test_links_are_decided_per_expert_and_kept(auto: RunFolder) -> None:
    stored = [DataSettings(**one["data"]) for one in auto.split(0).result()["experts"]]
    assert "auto" not in {one.link_features for one in stored}


def test_a_classifier_saves_explains_and_predicts_other_graphs(auto: RunFolder, tmp_path: Path) -> None:
    data = ansgt.load_dataset("newman")
    given = {key: value for key, value in SMALL.items() if "." not in key}
    clf = ansgt.NodeClassifier("ansgt", effort="best", device="cpu", num_heads=1, **given).fit(data)
    assert sum(one["weight"] for one in clf.experts_) == pytest.approx(1)
    clf.save(tmp_path / "m")
    loaded = ansgt.NodeClassifier.load(tmp_path / "m", device="cpu")
    assert (loaded.effort, loaded.hidden_channels) == ("best", 8)
    assert np.array_equal(loaded.predict_proba(), clf.predict_proba())
    assert loaded.trained_.predict_proba(torch.arange(5)).numpy() == pytest.approx(
        clf.predict_proba()[:5], abs=1e-4
    )
    assert loaded.explain(3).attended
    assert loaded.predict_proba(data).shape == (128, 4)


def test_test_labels_decide_nothing(tmp_path: Path) -> None:
    told = []
    for number, shift in enumerate((0, 1)):
        data = load("newman")
        drawn = data.split("uniform-60-20-20", 0, 0)
        split = replace(drawn, name="given")
        y = data.graph.y.clone()
        y[split.test] = (y[split.test] + shift) % 4
        changed = replace(data, graph=replace(data.graph, y=y), stored={"given": [split]})
        options: dict[str, Any] = {"split": "given", "effort": "best", "overrides": {"epochs": 3}}
        _, config = prepare_run(changed, "gcn", device="cpu", **options)
        run(config, changed, tmp_path / str(number))
        result = RunFolder(tmp_path / str(number)).split(0).result()
        told.append(
            ([one["weight"] for one in result["models"]], result["val_accuracy"], result["test_accuracy"])
        )
    assert told[0][:2] == told[1][:2]
    assert told[0][2] != told[1][2]


def test_what_does_not_fit_is_left_out_and_the_record_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GCN, "estimate_bytes", lambda graph, settings: (settings.norm == "batch") << 60)
    data, config = prepare_run("newman", "gcn", device="cpu", effort="best", overrides={"epochs": 2})
    run(config, data, tmp_path / "some")
    result = RunFolder(tmp_path / "some").split(0).result()
    assert [one["name"] for one in result["models"]] == ["gcn calm"]
    assert "Model 'gcn' needs about" in result["left_out"]["gcn residual"]
    monkeypatch.setattr(GCN, "estimate_bytes", lambda graph, settings: 1 << 60)
    with pytest.raises(InputError, match="Model 'gcn' needs about"):
        run(config, data, tmp_path / "none")
