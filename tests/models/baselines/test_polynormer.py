"""Polynormer against PyG's; when its global layers come in."""

import torch
from cases import (
    build,
    close,
    small_graph,
    weights_into,
)
from torch_geometric.nn import Polynormer as PyGPolynormer
from torch_geometric.nn.attention import PolynormerAttention


def test_polynormer_equals_pyg_before_and_after_the_global_layers_come_in() -> None:
    model, inputs = build(
        "polynormer", small_graph(), hidden_channels=8, heads=2, num_layers=2, global_layers=2, local_epochs=3
    )
    sizes = (inputs["x"].shape[1], 4, model.classify_local.out_features)
    pyg = PyGPolynormer(*sizes, local_layers=2, global_layers=2, heads=2)
    pairs = {"pred_local": "classify_local", "pred_global": "classify_global", "ln": "norm"}
    for at in range(2):
        local = {"h_lins": "gate", "lins": "skip", "lns": "norm", "post_bns": "batch_norm"}
        pairs |= {f"{theirs}.{at}": f"locals.{at}.{own}" for theirs, own in local.items()}
        pairs[f"local_convs.{at}.lin"] = f"locals.{at}.conv"
    pyg.global_attn = torch.nn.ModuleList(
        PolynormerAttention(8, heads=2, head_channels=4, qk_shared=False) for _ in range(2)
    )  # PyG's own model passes the width of one head as its input: it fails with two
    for at in range(2):
        far = {"h_lins": "gate", "q": "query", "k": "key", "v": "value", "lns": "norm", "lin_out": "project"}
        pairs |= {f"global_attn.{at}.{theirs}": f"globals.{at}.{own}" for theirs, own in far.items()}
    weights_into(pyg, model, pairs)
    one_graph = torch.zeros(len(inputs["x"]), dtype=torch.int64)
    for seen, pyg._global in ((3, False), (4, True)):
        model.seen.fill_(seen)
        close(model(inputs).log_softmax(1), pyg.eval()(inputs["x"], inputs["edge_index"], one_graph))


def test_polynormer_counts_epochs_of_training_alone() -> None:
    model, inputs = build("polynormer", small_graph(), hidden_channels=8)
    model(inputs)
    model.train()(inputs)
    model.eval()(inputs)
    assert int(model.state_dict()["seen"]) == 1
