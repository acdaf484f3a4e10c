"""What settings leave to the data: decided per split, from the graph and the labels of its training part alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.features import suited
from ansgt.graph import Graph
from ansgt.links import LinkVote
from ansgt.runs.prepare import changed
from ansgt.settings import DataSettings, fitted, values_of

CHOSEN = "chosen"
"""Field of a split's result that holds what was decided."""
POSSIBLE = {"normalize_features": ("row", "none"), "link_features": ("links", "none")}
"""Settings that may be left to the data -> what they become."""


@dataclass(frozen=True)
class Choices:
    """Settings of the section `data` that a split decided, and why.

    Args:
        data: setting -> value.
        reasons: setting -> the numbers that decided it.
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    reasons: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, config: RunConfig, graph: Graph, train: Tensor) -> "Choices":
        """Decides whatever is `auto`. The same graph and training part always give the same answer."""
        data, reasons = {}, {}
        if config.data.normalize_features == "auto":
            data["normalize_features"], reasons["normalize_features"] = suited(graph.x)
        if config.data.link_features == "auto":
            vote = LinkVote.of(graph, train)
            data["link_features"] = "links" if vote.in_favour else "none"
            reasons["link_features"] = vote.as_dict()
        return cls(data, reasons)

    @classmethod
    def stored(cls, config: RunConfig, result: Mapping[str, Any]) -> "Choices":
        """What a finished split's result says was decided."""
        left = [name for name in POSSIBLE if getattr(config.data, name) == "auto"]
        found = result.get(CHOSEN)
        data = found.get("data") if isinstance(found, Mapping) else None
        for name in left:
            if not isinstance(data, Mapping) or data.get(name) not in POSSIBLE[name]:
                raise InputError(f"The split's result.json does not say what {name}=auto chose (damaged).")
        return cls({name: data[name] for name in left} if data else {})

    def applied(self, config: RunConfig) -> RunConfig:
        """The settings with every choice made, and with those that go with links where links were chosen."""
        data = fitted(DataSettings, {**values_of(config.data), **self.data}, "data")
        config = replace(config, data=data)
        return changed(config, config.with_links) if self.data.get("link_features") == "links" else config

    def facts(self) -> dict[str, Any]:
        """For the split's result; {} where nothing was left to decide."""
        return {CHOSEN: {"data": dict(self.data), "reasons": dict(self.reasons)}} if self.data else {}
