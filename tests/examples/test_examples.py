"""Every example runs as a reader would run it, in an empty folder with an empty cache."""

import os
import runpy
from pathlib import Path

import pytest
import torch

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
LAST_WORDS = {
    "algorithm_1": "epoch 30",
    "coarsen": "90 super-nodes from 900 nodes",
    "compare_with_a_baseline": "newman-0.9  ansgt",
    "custom_heuristic": "common neighbours",
    "explain_a_node": "brought by",
    "your_own_graph": "of 34 members",
}
"""Something that the last line of interest holds."""


def test_every_example_is_known() -> None:
    assert {path.stem for path in EXAMPLES} == set(LAST_WORDS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("networkx")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSGT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    with torch.random.fork_rng(devices=[]):
        runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    assert LAST_WORDS[path.stem] in capsys.readouterr().out
    assert os.listdir(tmp_path) in ([], ["cache"]), "an example leaves nothing behind"
