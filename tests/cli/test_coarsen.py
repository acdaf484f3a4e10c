"""`ansgt coarsen` and `ansgt bench coarsening`, as a user calls them."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from ansgt.cli import build_app

KEYS = {
    "dataset",
    "method",
    "rate",
    "rate_reached",
    "num_supernodes",
    "num_components",
    "largest_share",
    "eigenvalue_error",
    "seconds",
}


@pytest.fixture(scope="module")
def own_graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "mine.npz"
    rng = np.random.default_rng(0)
    masks = {f"{part}_mask": np.arange(60) % 3 == i for i, part in enumerate(("train", "val", "test"))}
    edges = rng.integers(0, 50, (2, 150))
    np.savez(
        path, x=rng.normal(size=(60, 4)).astype(np.float32), edge_index=edges, y=np.arange(60) % 3, **masks
    )
    return path


def run(*arguments):
    return CliRunner().invoke(build_app([arguments[0]]), [str(argument) for argument in arguments])


@pytest.mark.parametrize("method", ["vn", "ve", "jc", "heavy-edge", "louvain"])
def test_json(own_graph, tmp_path, method):
    result = run("coarsen", own_graph, "--method", method, "--rate", 0.2, "--cache-dir", tmp_path, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert set(found) >= KEYS
    assert (found["num_supernodes"], found["method"], found["rate"]) == (12, method, 0.2)
    assert found["rate_reached"] == 0.2
    assert found["num_components"] >= 10
    assert found["eigenvalue_error"] >= 0
    assert 0 < found["largest_share"] < 1
    assert found["seconds"] > 0


def test_table_and_output_file(own_graph, tmp_path):
    out = tmp_path / "coarse.npz"
    result = run(
        "coarsen", own_graph, "--num-supernodes", 3, "--output", out, "--cache-dir", tmp_path / "cache"
    )
    assert result.exit_code == 0, result.stderr
    assert "3 of 60 nodes" in result.stdout
    with np.load(out) as saved:
        assert set(saved["assignment"].tolist()) == {0, 1, 2}
        assert saved["x"].shape == (3, 4)


def test_stop_says_why(own_graph, tmp_path):
    arguments = ("--num-supernodes", 2, "--below-components", "stop", "--no-quality", "--cache-dir", tmp_path)
    found = json.loads(run("coarsen", own_graph, *arguments, "--json").stdout)
    assert found["num_supernodes"] == found["num_components"]
    assert "components" in found["reason"]
    assert found["eigenvalue_error"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rate", "0"], "rate must be in (0, 1]"),
        (["--method", "xx"], "Unknown coarsener 'xx'; known: heavy-edge, jc, louvain, ve, vn."),
        (["--num-supernodes", "61"], "61 but the graph has 60 nodes"),
        (["--num-supernodes", "2", "--below-components", "error"], "components"),
        (["--below-components", "xx"], "merge, stop or error"),
    ],
)
def test_bad_input(own_graph, tmp_path, arguments, sentence):
    result = run("coarsen", own_graph, *arguments, "--cache-dir", tmp_path)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert result.stdout == ""
