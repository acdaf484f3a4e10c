"""Figure 2: what a trained model does with one node, and the picture of it."""

from pathlib import Path

import pytest

from ansgt.reproduce.fig_overview import DRAWN_NODES, PROPOSED, FigOverview
from ansgt.reproduce.records import Records
from ansgt.reproduce.task import Setup
from ansgt.reproduce.train import make_records, records_folder
from ansgt.reproduce.write import draw
from ansgt.storage import read_json

QUICK = Setup(device="cpu", quick=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("overview")
    assert make_records(FigOverview(), QUICK, out, lambda progress: None) == {}
    return records_folder(out)


def test_the_record_describes_one_sequence(made: Path) -> None:
    [path] = made.rglob("*.json")
    content = read_json(path)
    slots = len(content["sequence"])
    assert slots == len(content["mask"]) == len(content["kind"]) == len(content["share"])
    assert content["sequence"][0] == content["node"]
    assert sum(content["share"]) == pytest.approx(1.0, abs=1e-3)
    assert len(content["brought"]) == content["kind"].count(1)
    assert all(len(row) <= PROPOSED for row in content["proposals"].values())
    assert len(content["around"]["nodes"]) <= DRAWN_NODES
    assert content["assigned"] in content["coarse"]["nodes"]


def test_the_picture_is_drawn_from_the_record_alone(made: Path, tmp_path: Path) -> None:
    shown = FigOverview().show(Records(made), QUICK)
    [picture] = shown.pictures
    draw(picture, tmp_path / "overview.png")
    assert (tmp_path / "overview.png").stat().st_size > 10_000
    probabilities = [number.value for _, _, number in shown.tables[0].numbers()]
    assert sum(p or 0.0 for p in probabilities) == pytest.approx(100, abs=0.1)


def test_without_its_record_the_item_says_so(tmp_path: Path) -> None:
    records = Records(tmp_path)
    FigOverview().show(records, Setup())
    assert list(records.missing) == ["reproduce/fig-overview/full/cora.json"]
