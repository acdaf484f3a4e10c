"""SGFormer against PyG's."""

import torch
from cases import (
    build,
    close,
    small_graph,
    weights_into,
)
from torch_geometric.nn.models import SGFormer


def test_sgformer_equals_pyg() -> None:
    changes = {"hidden_channels": 6, "num_layers": 2, "attention_layers": 2, "heads": 3, "graph_weight": 0.7}
    model, inputs = build("sgformer", small_graph(), **changes)
    classes = model.classifier.out_features
    pyg = SGFormer(inputs["x"].shape[1], 6, classes, 2, trans_num_heads=3, gnn_num_layers=2, graph_weight=0.7)
    pairs = {"trans_conv.fcs.0": "encode_all", "graph_conv.fcs.0": "encode_graph", "fc": "classifier"}
    for at in range(3):
        pairs |= {f"trans_conv.bns.{at}": f"all_norms.{at}", f"graph_conv.bns.{at}": f"graph_norms.{at}"}
    for at in range(2):
        pairs |= {
            f"graph_conv.convs.{at}.lin": f"convs.{at}",
            f"graph_conv.convs.{at}.bias": f"biases.{at}",
        }
        for theirs, own in (("q", "query"), ("k", "key"), ("v", "value")):
            pairs[f"trans_conv.attns.{at}.{theirs}"] = f"attentions.{at}.{own}"
    weights_into(pyg, model, pairs)
    one_graph = torch.zeros(len(inputs["x"]), dtype=torch.int64)
    close(model(inputs).log_softmax(1), pyg.eval()(inputs["x"], inputs["edge_index"], one_graph))
