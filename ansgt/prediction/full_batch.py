"""A trained full-batch model: logits of all nodes in one pass."""

from typing import Self

import numpy as np
import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.device import check_memory
from ansgt.features import num_appended, prepare_features
from ansgt.graph import Graph
from ansgt.links import beside, link_columns
from ansgt.models import resolve_model
from ansgt.models.base import Inputs, NodeModel
from ansgt.prediction import TrainedModel
from ansgt.settings import fitted
from ansgt.storage import DiskCache


class TrainedFullBatch(TrainedModel):
    """A `NodeModel` and what it reads of a graph.

    Args:
        graph: the graph it predicts on.
        model: on its final device.
        inputs: what `NodeModel.prepare` made of the graph, on the same device.
        num_links: how many of the last columns of x are links.
    """

    def __init__(self, graph: Graph, model: NodeModel, inputs: Inputs, num_links: int = 0) -> None:
        super().__init__(graph)
        self.model, self.inputs, self.num_links = model, inputs, num_links

    @classmethod
    def build(
        cls, config: RunConfig, graph: Graph, seed: int, cache: DiskCache, asked: int | None = None
    ) -> Self:
        """A model with fresh weights from the global generators; `seed` plays no part: nothing is drawn."""
        device, model_class = (
            torch.device(config.device),
            resolve_model(config.model_class or config.model_name),
        )
        settings = fitted(model_class.Settings, config.settings, "model")
        check_memory(config.model_name, model_class.estimate_bytes(graph, settings), device)
        inputs = model_class.prepare(graph, cache, settings)
        x = prepare_features(inputs["x"], config.data, device)
        links = link_columns(graph, config.data)
        num_links = 0 if links is None else links.shape[1]
        inputs["x"] = x if links is None else beside(x, links, device)
        inputs = {name: value.to(device) for name, value in inputs.items()}
        model = model_class(
            inputs["x"].shape[1],
            graph.num_classes,
            settings,
            num_kept=num_appended(config.data) + num_links,  # links have a dropout of their own
            **model_class.graph_settings(graph),
        )
        return cls(graph, model.to(device), inputs, num_links)

    @property
    def num_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @torch.no_grad()
    def _predict(self, nodes: Tensor) -> Tensor:
        self.model.eval()
        logits = self.model(self.inputs)
        probabilities: Tensor = logits[nodes.to(logits.device)].float().softmax(dim=-1).cpu()
        return probabilities

    def importance(self, node: int) -> np.ndarray:
        from ansgt.prediction.pyg import node_importance

        return node_importance(self.model, self.inputs, node)

    def weights(self) -> dict[str, Tensor]:
        return {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        self.model.load_state_dict(weights)
