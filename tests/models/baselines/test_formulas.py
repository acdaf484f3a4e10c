"""The simpler baselines against their formulas, written out densely; GraphSAGE against PyG's own layer."""

import numpy as np
import scipy.sparse as sp
import torch
from cases import (
    build,
    close,
    dense_adjacency,
    dense_attention,
    dense_gcn_norm,
    linked,
    post_norm,
    small_graph,
)
from torch_geometric.nn import GATConv, SAGEConv
from torch_geometric.nn import Polynormer as PyGPolynormer
from torch_geometric.nn.attention import PolynormerAttention
from torch_geometric.nn.models import SGFormer

from ansgt.models.baselines.gprgnn import initial_weights
from ansgt.models.baselines.gt import flip_signs
from ansgt.models.baselines.h2gcn import two_hop


def test_mlp() -> None:
    model, inputs = build("mlp", small_graph(), hidden_channels=5)
    one, two = model.layers
    hidden = (inputs["x"] @ one.weight.T + one.bias).relu()
    close(model(inputs), hidden @ two.weight.T + two.bias)


def test_gcn() -> None:
    model, inputs = build("gcn", small_graph(), hidden_channels=5)
    adj = dense_gcn_norm(small_graph())
    one, two = model.convs
    hidden = (adj @ inputs["x"] @ one.lin.weight.T + one.bias).relu()
    close(model(inputs), adj @ hidden @ two.lin.weight.T + two.bias)


def test_gcn_with_residuals() -> None:
    model, inputs = build("gcn", small_graph(), hidden_channels=5, residual=True)
    adj = dense_gcn_norm(small_graph())
    one, two = model.convs
    x = inputs["x"]
    hidden = (adj @ x @ one.lin.weight.T + one.bias + x @ model.skips[0].weight.T).relu()
    close(model(inputs), adj @ hidden @ two.lin.weight.T + two.bias + hidden @ model.skips[1].weight.T)


def test_sage_equals_pyg() -> None:
    model, inputs = build("sage", small_graph(), hidden_channels=5)
    h = inputs["x"]
    for depth, layer in enumerate(model.layers):
        conv = SAGEConv(h.shape[1], layer.root.out_features)
        conv.lin_l.weight.data, conv.lin_l.bias.data = layer.neighbours.weight.data, layer.root.bias.data
        conv.lin_r.weight.data = layer.root.weight.data
        h = conv(h, inputs["edge_index"])
        h = h.relu() if depth == 0 else h
    close(model(inputs), h)


def test_jknet_cat_and_max() -> None:
    adj = dense_gcn_norm(small_graph())
    for mode in ("cat", "max"):
        model, inputs = build("jknet", small_graph(), hidden_channels=5, mode=mode)
        one, two = model.convs
        first = (adj @ inputs["x"] @ one.lin.weight.T + one.bias).relu()
        second = (adj @ first @ two.lin.weight.T + two.bias).relu()
        joined = torch.cat([first, second], 1) if mode == "cat" else torch.maximum(first, second)
        close(model(inputs), model.classifier(joined))


def test_appnp() -> None:
    model, inputs = build("appnp", small_graph(), alpha=0.2, num_steps=3)
    adj, h = dense_gcn_norm(small_graph()), model.mlp(inputs)
    z = h
    for _ in range(3):
        z = 0.8 * adj @ z + 0.2 * h
    close(model(inputs), z)


def test_gprgnn() -> None:
    model, inputs = build("gprgnn", small_graph(), alpha=0.3, num_steps=4)
    adj, h = dense_gcn_norm(small_graph()), model.mlp(inputs)
    filtered = sum(model.gamma[k] * torch.linalg.matrix_power(adj, k) for k in range(5))
    close(model(inputs), filtered @ h)


def test_gprgnn_initial_weights_and_groups() -> None:
    assert initial_weights(3, 0.5, "ppr").tolist() == [0.5, 0.25, 0.125, 0.125]
    assert initial_weights(3, 2, "sgc").tolist() == [0, 0, 1, 0]
    close(initial_weights(1, 0.5, "nppr"), torch.tensor([2 / 3, 1 / 3]))
    close(initial_weights(10, 0.0, "random").abs().sum(), torch.tensor(1.0))
    model, _ = build("gprgnn", small_graph())
    decays = {id(p): g["weight_decay"] for g in model.param_groups(0.1, 5e-4) for p in g["params"]}
    assert decays[id(model.gamma)] == 0.0


def test_h2gcn() -> None:
    model, inputs = build("h2gcn", small_graph(), hidden_channels=4, num_rounds=2)
    adj = dense_adjacency(small_graph())
    reached = ((adj @ adj > 0) & (adj == 0)).float() * (1 - torch.eye(24))
    norms = []
    for matrix in (adj, reached):
        scale = matrix.sum(1).clamp(min=1e-9).rsqrt() * (matrix.sum(1) > 0)
        norms.append(scale[:, None] * matrix * scale[None])
    r0 = (inputs["x"] @ model.embed.weight.T).relu()
    r1 = torch.cat([m @ r0 for m in norms], 1)
    r2 = torch.cat([m @ r1 for m in norms], 1)
    close(model(inputs), model.classifier(torch.cat([r0, r1, r2], 1)))


def test_two_hop_on_a_cycle() -> None:
    ring = sp.csr_array(np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0))
    assert np.array_equal(
        two_hop(ring).toarray(), np.roll(np.eye(5), 2, axis=0) + np.roll(np.eye(5), -2, axis=0)
    )


def dense_gat(conv: GATConv, h: torch.Tensor) -> torch.Tensor:
    """One GAT layer [n, heads, d]: softmax over j in N(i) and i of LeakyReLU(a_src . Wh_j + a_dst . Wh_i)."""
    z = (h @ conv.lin.weight.T).view(len(h), conv.heads, -1)
    score = (z * conv.att_dst).sum(-1)[:, None] + (z * conv.att_src).sum(-1)[None]
    linked = (dense_adjacency(small_graph()) + torch.eye(len(h)))[..., None] > 0
    weight = torch.nn.functional.leaky_relu(score, 0.2).masked_fill(~linked, -torch.inf).softmax(1)
    return torch.einsum("ijh,jhd->ihd", weight, z)


def test_gat() -> None:
    model, inputs = build("gat", small_graph(), hidden_channels=4, heads=3, output_heads=2)
    one, two = model.convs
    hidden = torch.nn.functional.elu(dense_gat(one, inputs["x"]).flatten(1) + one.bias)
    close(model(inputs), dense_gat(two, hidden).mean(1) + two.bias)


def test_gt() -> None:
    model, inputs = build("gt", small_graph(), hidden_channels=8, heads=2, num_eigenvectors=3, num_layers=2)
    h = model.encode.norm(model.encode.lin(inputs["x"])) + model.encode_position(inputs["position"])
    for layer in model.layers:
        conv = layer.attention
        q, k, v = (f(h).unflatten(1, (2, 4)) for f in (conv.lin_query, conv.lin_key, conv.lin_value))
        h = post_norm(layer, h, dense_attention(q, k, v, linked(small_graph())))
    close(model(inputs), model.classifier(h))


def test_sign_flips_are_shared_by_all_nodes_and_only_in_training() -> None:
    vectors = torch.ones(6, 40)
    assert torch.equal(flip_signs(vectors, training=False), vectors)
    flipped = flip_signs(vectors, training=True)
    assert set(flipped.unique().tolist()) == {-1.0, 1.0}
    assert bool((flipped == flipped[0]).all())


def weights_into(pyg: torch.nn.Module, ours: torch.nn.Module, pairs: dict[str, str]) -> None:
    """Copies the parameters of our modules to PyG's, by the beginnings of their names."""
    state = {}
    for name, value in pyg.state_dict().items():
        there = max((start for start in pairs if name.startswith(start)), key=len, default=None)
        state[name] = value if there is None else ours.state_dict()[pairs[there] + name[len(there) :]]
    pyg.load_state_dict(state)


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


def test_nagphormer() -> None:
    model, inputs = build("nagphormer", small_graph(), hidden_channels=8, heads=2, num_hops=2, num_layers=1)
    adj, layer = dense_gcn_norm(small_graph()), model.layers[0]
    both = torch.cat([inputs["x"], inputs["position"]], 1)
    weight = torch.cat([model.encode.weight, model.encode_position.weight], 1)
    hops = [torch.linalg.matrix_power(adj, k) @ both @ weight.T + model.bias for k in range(3)]
    h = torch.stack(hops, 1)
    parts = layer.qkv(layer.norm1(h)).reshape(24, 3, 3, 2, 4)
    q, k, v = (parts[:, :, at] for at in range(3))
    shares = (torch.einsum("nihd,njhd->nhij", q, k) / 2).softmax(-1)
    h = h + layer.project(torch.einsum("nhij,njhd->nihd", shares, v).reshape(24, 3, 8))
    h = model.norm(h + layer.contract(torch.nn.functional.gelu(layer.widen(layer.norm2(h)))))
    scores = torch.stack([model.score(torch.cat([h[:, 0], h[:, at]], 1)) for at in (1, 2)], 1).softmax(1)
    read = h[:, 0] + scores[:, 0] * h[:, 1] + scores[:, 1] * h[:, 2]
    close(model(inputs), model.classifier(model.narrow(read).relu()))


def test_sage_with_residuals_and_gat_with_a_norm() -> None:
    model, inputs = build("sage", small_graph(), hidden_channels=5, residual=True, norm="layer")
    x, (one, two) = inputs["x"], model.layers
    mean = dense_adjacency(small_graph())
    mean = mean / mean.sum(1, keepdim=True).clamp(min=1)
    hidden = model.norms[0](mean @ one.neighbours(x) + one.root(x) + model.skips[0](x)).relu()
    close(model(inputs), mean @ two.neighbours(hidden) + two.root(hidden) + model.skips[1](hidden))
    model, inputs = build("gat", small_graph(), hidden_channels=4, heads=3, norm="batch")
    one, two = model.convs
    hidden = torch.nn.functional.elu(model.norms[0](dense_gat(one, inputs["x"]).flatten(1) + one.bias))
    close(model(inputs), dense_gat(two, hidden).mean(1) + two.bias)
