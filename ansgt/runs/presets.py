"""Presets: settings for a graph that nobody tuned on, chosen by facts of the graph and its training part.

`configs/presets.yaml` has them by family, and per family the rule that chooses one. Rules come from a search that leaves
one data set out (`study/log.md`); this file only applies them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ansgt.config import AUTO, shipped_presets
from ansgt.errors import InputError
from ansgt.settings import fitted

NOBODY = "nobody"
"""A data set's name that no settings file knows: its section `default` counts."""
LARGE = 4000
"""Training nodes above which a family's section `large` counts."""
SINGLE = "default"
"""The one preset of a model that has no family in the file: its settings as they ship."""


class Known(Protocol):
    """Facts by name: a mapping, or `Facts`, which finds one when it is asked for."""

    def __getitem__(self, name: str, /) -> float: ...


@dataclass(frozen=True)
class Rule:
    """Which preset a graph gets: `low`, or one of two by a threshold on one fact.

    Args:
        low, high: names below the threshold, and from it on.
        fact, threshold: None where there is one preset for all.
        best: the presets that `effort=best` trains; all of the family where there are none.

    >>> Rule("draws", "hubs", "mean_degree", 10.0).preset({"mean_degree": 12.5})
    'hubs'
    """

    low: str
    high: str | None = None
    fact: str | None = None
    threshold: float = 0.0
    best: tuple[str, ...] = ()

    def preset(self, facts: Known) -> str:
        if self.high is None or self.fact is None or facts[self.fact] < self.threshold:
            return self.low
        return self.high


@dataclass(frozen=True)
class Family:
    """A model with its presets; each is a mapping of settings, as overrides are.

    Args:
        name: of the family.
        model: name of the model, or a class of the user's own.
        presets: name -> settings.
        rule: which of them a graph gets.
        every: settings of all presets.
        large: settings where there are more than `LARGE` training nodes.
        quick: in place of a preset where seconds must do.
        samplings: values of `sampling` that make further experts of the preset that the rule chooses.
    """

    name: str
    model: str | type
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {SINGLE: {}})
    rule: Rule = Rule(SINGLE)
    every: Mapping[str, Any] = field(default_factory=dict)
    large: Mapping[str, Any] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    samplings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Presets:
    """All that the file holds.

    Args:
        families: by name.
        auto: names of the families that `model=auto` mixes.
        quick: the family of `model=auto` where seconds must do.
    """

    families: Mapping[str, Family]
    auto: tuple[str, ...]
    quick: str

    @classmethod
    def shipped(cls) -> "Presets":
        """Those that ship."""
        content = shipped_presets()
        try:
            families = {name: _family(name, values) for name, values in content["families"].items()}
            return cls(families, tuple(content["auto"]), content["quick"])
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"The shipped presets are damaged ({error!r}): install ansgt again.") from None

    def family(self, model: str | type) -> Family:
        """The family of one model; of a single preset where the file has none."""
        found = self.families.get(model) if isinstance(model, str) else None
        return Family(str(getattr(model, "__name__", model)), model) if found is None else found

    def chosen(self, model: str | type) -> list[Family]:
        """The families that a model's name stands for."""
        return [self.families[name] for name in self.auto] if model == AUTO else [self.family(model)]


def _family(name: str, values: Mapping[str, Any]) -> Family:
    known = {key: values[key] for key in ("model", "presets", "every", "large", "quick") if key in values}
    rule = fitted(Rule, values["rule"], f"families.{name}.rule")
    return Family(name, rule=rule, samplings=tuple(values.get("samplings", ())), **known)
