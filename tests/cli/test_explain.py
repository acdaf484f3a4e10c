"""`ansgt explain`: text, JSON and picture of one node."""

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from ansgt import load_dataset
from ansgt.cli import build_app
from ansgt.runs.reopen import FinishedRun


def test_explain_as_text_json_and_picture(tiny_run: Path, tmp_path: Path) -> None:
    picture = tmp_path / "why.png"
    arguments = ["explain", str(tiny_run), "--node", "7", "--device", "cpu", "--top", "5"]
    text = CliRunner().invoke(build_app(["explain"]), arguments)
    assert text.exit_code == 0, text.stderr
    assert "node 7: class" in text.stdout
    done = CliRunner().invoke(build_app(["explain"]), [*arguments, "--picture", str(picture), "--json"])
    result = json.loads(done.stdout)
    assert len(result["attended"]) == 5
    assert {"node", "significance", "label", "distance", "heuristics"} <= set(result["attended"][0])
    assert picture.read_bytes().startswith(b"\x89PNG")
    for bad, message in ((["--node", "500"], "Node 500 does not exist"), (["--split", "9"], "Split 9")):
        failed = CliRunner().invoke(build_app(["explain"]), ["explain", str(tiny_run), "--node", "1", *bad])
        assert failed.exit_code == 2
        assert message in failed.stderr


def test_several_nodes_a_table_and_another_graph(tiny_run: Path, tmp_path: Path) -> None:
    invoke = CliRunner().invoke
    table = tmp_path / "why.tex"
    arguments = ["explain", str(tiny_run), "--node", "7", "--node", "9", "--top", "3", "--device", "cpu"]
    done = invoke(build_app(["explain"]), [*arguments, "--output", str(table), "--faithfulness", "--json"])
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert [one["node"] for one in result["explanations"]] == [7, 9]
    assert {"dropped", "by_share", "at_random", "ratio"} <= set(result["faithfulness"])
    assert "toprule" in table.read_text()
    graph = load_dataset("newman")
    links = np.concatenate([graph.edge_index.numpy(), [[128, 128], [0, 1]]], axis=1)
    x = np.concatenate([graph.x.numpy(), graph.x.numpy()[:1]])
    np.savez(tmp_path / "grown.npz", x=x, edge_index=links, y=np.append(graph.y.numpy(), -1))
    new = ["explain", str(tiny_run), "--node", "128", "--graph", str(tmp_path / "grown.npz"), "--json"]
    done = invoke(build_app(["explain"]), new)
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    train = set(FinishedRun.open(tiny_run).split(0).train.tolist())
    assert (result["trained"], result["label"]) == (False, None)
    assert {one["node"]: one["trained"] for one in result["neighbours"]} == {i: i in train for i in (0, 1)}
    for bad, message in (([], "Which node"), (["--node", "1", "--output", "a.xls"], "--output must end in")):
        refused = invoke(build_app(["explain"]), ["explain", str(tiny_run), *bad])
        assert refused.exit_code == 2
        assert message in refused.stderr
