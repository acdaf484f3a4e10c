"""`ansgt bench coarsening`: the paper's table, and growth over generated graphs."""

from pathlib import Path

from ansgt.bench.coarsening import PAPER, bench


def test_the_papers_table_has_our_seconds_beside_every_one_of_its_own(root: Path, cache_dir: Path) -> None:
    found = bench(paper=True, root=root, cache_dir=cache_dir, repeats=1)
    assert found["name"] == "coarsening"
    assert {
        (row["dataset"], row["method"], row["rate"]): row["paper_seconds"] for row in found["rows"]
    } == PAPER
    for row in found["rows"]:
        assert row["paper_over_ours"] == row["paper_seconds"] / row["seconds"]
        assert found["ratios"][f"paper / ansgt, {row['dataset']} {row['method']} {row['rate']}"] > 1


def test_generated_graphs_give_an_exponent_per_method(root: Path, cache_dir: Path) -> None:
    found = bench(root=root, cache_dir=cache_dir, sizes="500,1000", quick=True, repeats=1)
    assert {"growth exponent of vn, seconds", "growth exponent of heavy-edge, seconds"} <= set(
        found["ratios"]
    )
    assert "reference (stored) / ansgt, cora vn" in found["ratios"]
    generated = {row["dataset"]: row["num_supernodes"] for row in found["rows"] if "num_nodes" in row}
    assert generated == {"power-law-500": 50, "power-law-1000": 100}
