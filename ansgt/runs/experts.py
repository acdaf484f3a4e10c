"""Which experts a split trains, and what becomes of them: one record, in which each has its weight.

`effort=quick` trains one small model, `default` the preset that the facts choose (with `model=auto` one of every family),
`best` several presets, of a single model its samplings too. Their probabilities are mixed by what they said of the
validation nodes (`prediction/progressive.py`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ansgt.config import AUTO, RunConfig
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.metrics import accuracy_and_loss
from ansgt.prediction import TRAINED
from ansgt.prediction.calibration import tempered
from ansgt.prediction.progressive import (
    ExpertMixture,
    crossed_mixture,
    excess_bound,
    most_experts,
)
from ansgt.runs.choices import Choices
from ansgt.runs.facts import Facts
from ansgt.runs.folder import SplitFolder
from ansgt.runs.prepare import Request, build_config, changed, is_setting, section_kinds
from ansgt.runs.presets import LARGE, NOBODY, SINGLE, Family, Presets
from ansgt.runs.record import OWN, Alone, Record, calibrated_by, joint_standing, record_of_several
from ansgt.runs.seeds import model_seed

SEVERAL = 3
"""Seeds of a family with a single preset where several experts are asked for."""
ROUNDS = 20
"""Most rounds of all experts, each with other seeds, within a time limit."""
KEPT = (*OWN, "epochs_run", "seconds", "bandit")
"""What the record keeps of each expert, beside name and weight."""
EXPERTS = "experts"
"""Field of a split's result that holds the config of every expert."""


@dataclass(frozen=True)
class Expert:
    """One model of a plan.

    Args:
        name: family, preset, and what differs from it.
        config: all of its settings.
    """

    name: str
    config: RunConfig


@dataclass(frozen=True)
class Plan:
    """The experts of a split, in the order in which they are trained.

    Args:
        experts: without a time limit all are trained; with one, as many as there is time for, then again with other seeds.
        most: how many the validation nodes support; None where they are too few to give weights at all.
        presets: what the rules chose, family by family, and the facts that they asked for.
        left_out: name of an expert -> why it cannot be trained here.
    """

    experts: list[Expert]
    most: int | None = None
    presets: dict[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, config: RunConfig, graph: Graph, split: Split) -> "Plan":
        """Reads the graph, and labels of the training part alone."""
        shipped, facts = Presets.shipped(), Facts(graph, split.train)
        large, limited = len(split.train) > LARGE, config.time_limit is not None
        families = shipped.chosen(config.model_class or config.model_name)
        plans = [_Family(config, one, one.rule.preset(facts), large) for one in families]
        small = _Family(config, shipped.families[shipped.quick], SINGLE, large)
        if config.effort == "quick":
            experts = [(small if config.model_name == AUTO else plans[0]).quick()]
        else:
            experts = [one.default() for one in plans]
            if limited:  # what is cheap first: there must be something when the time is up
                experts = [small.quick(), *sorted(experts, key=lambda one: one.config.model_name in TRAINED)]
            if config.effort == "best" or (config.effort is None and limited):
                experts += [one for plan in plans for one in plan.others()]
                if len(plans) == 1:
                    experts += plans[0].resampled()
        told = {"chosen": {one.family.name: one.preset for one in plans}, "facts": dict(facts.known)}
        most = _most(len(split.val))
        return cls(_distinct(experts)[:most], most, told)

    def in_time(self, effort: str | None) -> list[Expert]:
        """The experts for as long as there is time: once more with every further seed, but for `quick`."""
        rounds = 1 if effort == "quick" else ROUNDS
        return [reseeded(one, number) for number in range(rounds) for one in self.experts][: self.most]


@dataclass(frozen=True)
class _Family:
    """The experts of one family on one split.

    Args:
        run: the run's config.
        family: its presets.
        preset: the one that the rule chose.
        large: whether there are many training nodes.
    """

    run: RunConfig
    family: Family
    preset: str
    large: bool

    def default(self) -> Expert:
        return self._expert(self.preset, self._layers(self.preset))

    def quick(self) -> Expert:
        return self._expert("quick", [self.family.every, self.family.quick])

    def others(self) -> list[Expert]:
        """The presets that outlived the search's first round, or other seeds where there is nothing else."""
        names = [name for name in self.family.rule.best or self.family.presets if name != self.preset]
        found = [self._expert(name, self._layers(name)) for name in names]
        return found or [reseeded(self.default(), number) for number in range(1, SEVERAL)]

    def resampled(self) -> list[Expert]:
        """The chosen preset with other samplings, one heuristic each."""
        layers = self._layers(self.preset)
        return [
            self._expert(f"{self.preset}, {sampling}", [*layers, {"sampling": sampling}])
            for sampling in self.family.samplings
        ]

    def _layers(self, preset: str) -> list[Mapping[str, Any]]:
        large = self.family.large if self.large else {}
        return [self.family.every, self.family.presets[preset], large]

    def _expert(self, name: str, layers: Sequence[Mapping[str, Any]]) -> Expert:
        kinds = section_kinds(self.family.model)
        own = {key: value for key, value in self.run.given.items() if is_setting(key, kinds)}
        return Expert(f"{self.family.name} {name}", changed(self._shipped, *layers, own))

    @cached_property
    def _shipped(self) -> RunConfig:
        """One model with the settings that ship for a data set that nobody knows."""
        run = self.run
        request = Request(NOBODY, self.family.model, run.split, run.num_splits, run.seed, run.device)
        return replace(build_config(request, overrides={"train.num_models": 1}), dataset=run.dataset)


def _distinct(experts: Sequence[Expert]) -> list[Expert]:
    """Without those whose settings are those of an earlier one: what the user gave may leave no difference."""
    kept: list[Expert] = []
    for expert in experts:
        if all(expert.config != other.config for other in kept):
            kept.append(expert)
    return kept


def _most(num_val: int) -> int | None:
    """How many experts so many validation nodes support; None where a plain mean is all that can be had."""
    most = most_experts(num_val)
    return most if most >= 2 else None


def reseeded(expert: Expert, number: int) -> Expert:
    """The same from another seed; number 0 is itself."""
    if number == 0:
        return expert
    seed = model_seed(expert.config.seed, number)
    return Expert(f"{expert.name} #{number + 1}", replace(expert.config, seed=seed))


def experts_record(
    graph: Graph, split: Split, ready: Sequence[tuple[Expert, SplitFolder]], plan: Plan
) -> Record:
    """The record of a split from those of its experts; validation alone gives the weights.

    Validation accuracy and loss are crossed: every node is scored by a mixture that its label had no part in.
    """
    experts, folders = [expert for expert, _ in ready], [folder for _, folder in ready]
    results, y = [folder.result() for folder in folders], graph.y.numpy()
    scored = torch.cat([split.val, split.test]).numpy()
    alone = np.stack([_probabilities(folder)[scored] for folder in folders])
    told, labels = alone[:, : len(split.val)].astype(np.float64), y[split.val.numpy()]
    mixture = ExpertMixture.of(told, labels)
    shares, temperatures = mixture.weights, mixture.temperatures
    mixed = np.zeros((graph.num_nodes, graph.num_classes), dtype=np.float32)
    for share, temperature, folder in zip(shares, temperatures, folders, strict=True):
        own = tempered(torch.from_numpy(_probabilities(folder)), temperature)
        mixed += np.float32(share) * own.numpy()
    probabilities, calibrated = calibrated_by(experts[0].config, torch.from_numpy(mixed), graph, split)
    crossed = torch.from_numpy(crossed_mixture(told, labels))
    val_accuracy, val_loss = accuracy_and_loss(crossed, torch.from_numpy(labels))
    first = results[int(shares.argmax())]
    rows = [
        {
            "name": expert.name,
            "weight": float(share),
            "temperature": temperature,
            **{key: result[key] for key in KEPT if key in result},
        }
        for expert, share, temperature, result in zip(experts, shares, temperatures, results, strict=True)
    ]
    weighed = len(experts) <= most_experts(len(labels))
    facts = {
        "num_parameters": sum(result["num_parameters"] for result in results),
        "best_epoch": first["best_epoch"],
        "epochs_run": sum(result["epochs_run"] for result in results),
        "val_accuracy": val_accuracy,
        "val_loss": val_loss,
        "learned": first["learned"],
        "models": rows,
        "seconds": sum(result["seconds"] for result in results),
        "aggregation": {
            "rule": "progressive mixture" if weighed else "mean",
            "bound": excess_bound(len(experts), len(labels)) if weighed else None,
            "num_val": len(labels),
        },
        "presets": plan.presets,
        **({"left_out": dict(plan.left_out)} if plan.left_out else {}),
        EXPERTS: [
            _decided(expert, result).as_dict() for expert, result in zip(experts, results, strict=True)
        ],
        **calibrated,
        **joint_standing(results),
    }
    return record_of_several(folders, probabilities, facts, Alone(scored, alone.astype(np.float16)))


def _probabilities(folder: SplitFolder) -> np.ndarray:
    return folder.predictions()["probabilities"]


def _decided(expert: Expert, result: Mapping[str, Any]) -> RunConfig:
    """The settings as the expert was trained with them: what they left to the data is decided."""
    return Choices.stored(expert.config, result).applied(expert.config)


def stored_experts(config: RunConfig, result: Mapping[str, Any]) -> list[RunConfig]:
    """The configs of a finished split's experts, on the device and with the user's own objects of `config`."""
    stored = result.get(EXPERTS)
    if not isinstance(stored, list) or not stored or len(stored) != len(stored_mixture(result).weights):
        raise InputError("The split's result.json does not say which experts were trained (damaged).")
    return [_with_own(replace(RunConfig.from_dict(one), device=config.device), config) for one in stored]


def stored_mixture(result: Mapping[str, Any]) -> ExpertMixture:
    """The weights and temperatures of a finished split's experts; those of older records have no temperatures."""
    models: Any = result.get("models")
    known = isinstance(models, list) and all(isinstance(one, Mapping) for one in models)
    told: list[Any] = (
        [(one.get("weight"), one.get("temperature", 1.0)) for one in models] if known else [(None, None)]
    )
    if not all(
        isinstance(weight, float)
        and 0 <= weight <= 1
        and isinstance(temperature, float)
        and 0 < temperature < math.inf
        for weight, temperature in told
    ):
        raise InputError("The split's result.json does not say what its experts weigh (damaged).")
    return ExpertMixture(np.array([weight for weight, _ in told]), [temperature for _, temperature in told])


def _with_own(expert: RunConfig, config: RunConfig) -> RunConfig:
    """With the objects and classes of the user's own, which a stored config has by name alone."""
    own = {name.rpartition(".")[2]: value for name, value in config.given.items()}
    settings = {name: own.get(name, value) for name, value in expert.settings.items()}
    model = config.model_class if expert.model_name == config.model_name else None
    return replace(expert, settings=settings, model_class=model)
