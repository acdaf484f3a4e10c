"""Claims on coarsening and settings, from records that are written by hand."""

from collections.abc import Callable
from pathlib import Path

from ansgt.reproduce.claim import Evidence
from ansgt.reproduce.claims_settings import (
    FIGURES,
    a_peak_of_supernodes,
    coarseners_do_not_matter,
    layers_help,
    recommended_for_cora,
    small_rates_are_best,
    too_many_layers,
)
from ansgt.reproduce.paper import COARSENING
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_coarsening import TableCoarsening
from ansgt.reproduce.task import Setup, TrainedTask
from ansgt.storage import write_json


def write(folder: Path, task: TrainedTask, accuracy: float) -> None:
    rows = [
        {
            "index": k,
            "test_accuracy": accuracy / 100 + noise,
            "val_accuracy": 0.5,
            "seconds": 1.0,
            "split_hash": f"{task.dataset}{k}",
        }
        for k, noise in enumerate((-0.002, 0.001))
    ]
    facts = {"model": "ansgt", "dataset": task.dataset, "data_variant": "", "num_parameters": 1}
    write_json(folder / f"{task.path}.json", {"splits": rows, **facts})


def coarsened(folder: Path, accuracy: Callable[[str, str, float], float]) -> Evidence:
    item = TableCoarsening()
    for cell in item.cells(Setup()):
        write(folder, item.task(Setup(), *cell), accuracy(*cell))
    return Evidence(Records(folder), Setup())


def test_the_papers_own_table_2(tmp_path: Path) -> None:
    evidence = coarsened(tmp_path, lambda *cell: COARSENING[cell])
    assert coarseners_do_not_matter(evidence).verdict == "holds"
    assert small_rates_are_best(evidence).verdict == "holds"


def test_a_coarsener_that_is_worse_everywhere_is_seen(tmp_path: Path) -> None:
    evidence = coarsened(tmp_path, lambda data, method, rate: 80 - rate - 2 * (method == "jc"))
    assert coarseners_do_not_matter(evidence).verdict == "does not hold"


def sensitive(folder: Path, key: str, accuracy: Callable[[int], float], names: tuple[str, ...]) -> Evidence:
    for figure in FIGURES:
        if figure.dataset in names:
            for number, (value, task) in enumerate(figure.curves(Setup())[key].items()):
                write(folder, task, accuracy(value) + 0.01 * number)
    return Evidence(Records(folder), Setup())


def test_a_rise_and_a_fall_over_layers(tmp_path: Path) -> None:
    evidence = sensitive(tmp_path, "num_layers", lambda value: 80 - abs(value - 5) * 0.5, ("cora", "actor"))
    assert layers_help(evidence).verdict == "holds"
    assert "splits of cora, actor" in layers_help(evidence).words, "citeseer has no records"
    assert too_many_layers(evidence).verdict == "holds"


def test_a_curve_that_only_rises_has_no_peak(tmp_path: Path) -> None:
    evidence = sensitive(tmp_path, "num_supernodes", lambda value: 80 + value, ("cora", "citeseer", "actor"))
    assert a_peak_of_supernodes(evidence).verdict == "does not hold"


def test_what_is_recommended_is_compared_with_the_whole_curve(tmp_path: Path) -> None:
    evidence = Evidence(Records(tmp_path), Setup())
    best = {"num_layers": 5, "num_supernodes": 3, "num_global": 2, "num_augmentations": 16}
    base = FIGURES[0].base(Setup())
    for key, curve in FIGURES[0].curves(Setup()).items():
        for value, task in curve.items():
            write(tmp_path, task, 85.0 if value == best[key] and value != base[key] else 80.0)
    assert recommended_for_cora(evidence).verdict == "holds"
    write(tmp_path, FIGURES[0].curves(Setup())["num_supernodes"][7], 90.0)
    finding = recommended_for_cora(Evidence(Records(tmp_path), Setup()))
    assert finding.verdict == "cannot tell", "three of four"
    assert "L = 5 has 84.95, the highest is 84.95 (5)" in finding.words
