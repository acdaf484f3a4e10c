"""ACM-GCN+ against its formula written out densely."""

import pytest
import torch
from cases import build, dense_gcn_norm, small_graph

from ansgt.errors import InputError


@pytest.mark.parametrize("norm", ["row", "sym"])
@pytest.mark.parametrize("variant", [False, True])
def test_acmgcn(variant: bool, norm: str) -> None:
    graph = small_graph()
    model, inputs = build(
        "acmgcn", graph, hidden_channels=5, variant=variant, norm=norm, residual=True, structure=True
    )
    adj = torch.from_numpy(graph.adj.toarray()).float()
    looped = adj + torch.eye(24)
    low = looped / looped.sum(1, keepdim=True) if norm == "row" else dense_gcn_norm(graph)
    high = torch.eye(24) - low

    def layer(module: torch.nn.Module, h: torch.Tensor) -> torch.Tensor:
        w_low, w_high, w_same = module.lin.weight.chunk(3)
        if variant:
            parts = [low @ (h @ w_low.T).relu(), high @ (h @ w_high.T).relu()]
        else:
            parts = [(low @ h @ w_low.T).relu(), (high @ h @ w_high.T).relu()]
        parts += [(h @ w_same.T).relu(), (adj @ module.structure.weight.T).relu()]
        scores = torch.stack([torch.sigmoid(p @ w) for p, w in zip(parts, module.score, strict=True)], dim=1)
        weight = (scores @ module.mix / 4).softmax(1)
        return 4 * sum(weight[:, c : c + 1] * parts[c] for c in range(4))

    hidden = layer(model.layers[0], inputs["x"]).relu() + model.skip(inputs["x"]).relu()
    torch.testing.assert_close(model(inputs), layer(model.layers[1], hidden), rtol=1e-4, atol=1e-5)


def test_without_structure_there_are_three_channels() -> None:
    model, inputs = build("acmgcn", small_graph(), structure=False)
    assert model.layers[0].mix.shape == (3, 3)
    assert model(inputs).shape == (24, 3)


def test_unknown_norm() -> None:
    with pytest.raises(InputError, match="norm"):
        build("acmgcn", small_graph(), norm="column")
