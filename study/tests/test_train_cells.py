"""The order in which `study.scripts.train_cells` trains its cells."""

from study.scripts.train_cells import plan


def test_every_split_of_every_cell_once_and_one_of_every_graph_first() -> None:
    cells = ["ansgt@cora@u", "ansgt:knn@cora@u", "gcn@cora@u", "ansgt@cora@p", "ansgt@texas@u"]
    tasks = plan(cells, splits=3)
    named = [(t["model"], t["sampling"], t["dataset"], t["split"], t["index"]) for t in tasks]
    assert len(named) == len(set(named)) == 15
    first = [("ansgt", "cora", "u"), ("gcn", "cora", "u"), ("ansgt", "cora", "p"), ("ansgt", "texas", "u")]
    assert [(m, d, s) for m, _, d, s, _ in named[:4]] == first
    rest = [(m, p, d, s) for m, p, d, s, _ in named[4:]]
    assert rest == sorted(rest, key=rest.index), "then cell by cell"
