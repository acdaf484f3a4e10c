"""How much every node matters to a full-batch model's prediction of one node, by PyG's `Explainer`.

A baseline has no sequences whose attention could be read. GNNExplainer (Ying et al., 2019) learns a mask over the nodes
instead: features of node j are multiplied by m_j in (0, 1), the prediction shall stay, and few m_j shall be large. The model
is asked as one function of these multipliers, so that any `NodeModel` can be explained, not only message-passing ones.
"""

import warnings

import numpy as np
import torch
from torch import Tensor, nn

from ansgt.errors import InputError
from ansgt.models.base import Inputs, NodeModel

EPOCHS, LEARNING_RATE = 100, 0.05
MOST_NUMBERS = 1 << 28
"""Entries of a dense feature matrix; a mask needs a gradient through all of them."""


class Presence(nn.Module):
    """A model as a function of how present every node's features are [n, 1].

    Args:
        model: in evaluation mode.
        inputs: what it reads of the graph.
    """

    def __init__(self, model: NodeModel, inputs: Inputs) -> None:
        super().__init__()
        self.model, self.inputs = model, inputs
        x = inputs["x"]
        self.x = x if x.layout == torch.strided else x.to_dense()

    def forward(self, presence: Tensor, edge_index: Tensor) -> Tensor:
        """Logits [n, C]; the edges are the model's own."""
        logits: Tensor = self.model({**self.inputs, "x": self.x * presence})
        return logits


def node_importance(model: NodeModel, inputs: Inputs, node: int, seed: int = 0) -> np.ndarray:
    """The learned mask over the nodes, as shares [n] that sum to 1; the same for the same seed.

    Args:
        model: a trained full-batch model.
        inputs: what it reads of the graph.
        node: whose prediction is explained.
        seed: of the mask's first values.
    """
    from torch_geometric.explain import Explainer, GNNExplainer, ModelConfig

    x = inputs["x"]
    if x.shape[0] * x.shape[1] > MOST_NUMBERS:
        raise InputError(
            f"Features of {x.shape[0]} x {x.shape[1]} are too large for PyG's Explainer; explain model 'ansgt' instead."
        )
    was_training, wanted = model.training, [p.requires_grad for p in model.parameters()]
    model.eval().requires_grad_(False)
    config = ModelConfig(mode="multiclass_classification", task_level="node", return_type="raw")
    explainer = Explainer(
        model=Presence(model, inputs),
        algorithm=GNNExplainer(epochs=EPOCHS, lr=LEARNING_RATE),
        explanation_type="model",
        node_mask_type="object",
        model_config=config,
    )
    presence = torch.ones(x.shape[0], 1, device=x.device)
    no_edges = torch.zeros(2, 0, dtype=torch.int64, device=x.device)
    try:
        with torch.random.fork_rng(), torch.enable_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(seed)
            found = explainer(presence, no_edges, index=node)
    except (
        RuntimeError,
        ValueError,
    ):  # no gradient reaches x: the model reads what was computed from it before
        raise InputError(
            f"Model {type(model).__name__} does not read its features in one step, which PyG's Explainer needs."
        ) from None
    finally:
        for parameter, needs in zip(model.parameters(), wanted, strict=True):
            parameter.requires_grad_(needs)
        model.train(was_training)
    mask = found.node_mask.detach().double().flatten().cpu().numpy()
    shares: np.ndarray = mask / max(mask.sum(), 1e-300)
    return shares
