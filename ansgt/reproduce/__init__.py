"""Every table and figure of the paper, and its claims: from stored records, or trained anew."""

import importlib

from ansgt.errors import unknown_name
from ansgt.reproduce.item import Item

ITEMS: dict[str, str] = {
    "table-accuracy": "ansgt.reproduce.table_accuracy:TableAccuracy",
    "table-coarsening": "ansgt.reproduce.table_coarsening:TableCoarsening",
    "table-datasets": "ansgt.reproduce.table_datasets:TableDatasets",
    "table-coarsening-time": "ansgt.reproduce.table_coarsening_time:TableCoarseningTime",
    "table-sampling-time": "ansgt.reproduce.table_sampling_time:TableSamplingTime",
    "table-epoch-time": "ansgt.reproduce.table_epoch_time:TableEpochTime",
    "table-ogb": "ansgt.reproduce.table_ogb:TableOgb",
    "fig-motivation": "ansgt.reproduce.fig_motivation:FigMotivation",
    "fig-overview": "ansgt.reproduce.fig_overview:FigOverview",
    "fig-weights": "ansgt.reproduce.fig_weights:FigWeights",
    "fig-ablation": "ansgt.reproduce.fig_ablation:FigAblation",
    "fig-adjacency": "ansgt.reproduce.fig_adjacency:FigAdjacency",
    "fig-sensitivity-cora": "ansgt.reproduce.fig_sensitivity:FigSensitivityCora",
    "fig-sensitivity-citeseer": "ansgt.reproduce.fig_sensitivity:FigSensitivityCiteseer",
    "fig-sensitivity-actor": "ansgt.reproduce.fig_sensitivity:FigSensitivityActor",
    "claims": "ansgt.reproduce.claims:Claims",
}
"""Name -> "module:class", in the order of the paper's tables, then its figures, then what its text claims."""
ALL = "all"


def resolve_items(names: list[str] | tuple[str, ...]) -> list[Item]:
    """The items of those names, each once; `all` is every one."""
    wanted = list(ITEMS) if ALL in names else list(dict.fromkeys(names))
    return [resolve_item(name) for name in wanted]


def resolve_item(name: str) -> Item:
    if name not in ITEMS:
        raise unknown_name("table or figure", name, [*ITEMS, ALL])
    module, _, attribute = ITEMS[name].partition(":")
    found: type[Item] = getattr(importlib.import_module(module), attribute)
    return found()
