"""The curve of the sampling weights, from records."""

import shutil
from pathlib import Path

from ansgt.report.figures import complete_histories, plot_weights
from ansgt.runs.folder import open_run


def test_figures_from_records(tiny_run: Path, tmp_path: Path) -> None:
    histories = complete_histories(open_run(tiny_run), 2)
    assert [len(rows) for rows in histories] == [3, 3]
    plot_weights(histories, tmp_path / "w.png", "title")
    plot_weights(histories[:1], tmp_path / "w.svg", "title")
    assert (tmp_path / "w.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "w.svg").read_text()


def test_histories_are_cut_to_the_shortest(tiny_run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_run, tmp_path / "copy")
    split = open_run(copy).split(1)
    split.write_history(split.history()[:1])
    split.write_result(split.result())  # seals what was changed
    assert [len(rows) for rows in complete_histories(open_run(copy), 2)] == [1, 1]
