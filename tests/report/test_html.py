"""The page and its pictures: computed from records, readable without anything else."""

import shutil
from pathlib import Path

from ansgt.report.html import complete_histories, plot_training, plot_weights, write_report
from ansgt.runs.folder import open_run


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def test_figures_from_records(tiny_run: Path, tmp_path: Path) -> None:
    run = open_run(tiny_run)
    histories = complete_histories(run, 2)
    assert [len(rows) for rows in histories] == [3, 3]
    plot_weights(histories, tmp_path / "w.png", "title")
    plot_weights(histories[:1], tmp_path / "w.svg", "title")
    plot_training([run.split(0).metrics()], tmp_path / "t.png", "title")
    assert is_png(tmp_path / "w.png")
    assert is_png(tmp_path / "t.png")
    assert "<svg" in (tmp_path / "w.svg").read_text()


def test_a_page_of_two_runs_escapes_what_it_shows(tiny_run: Path, tmp_path: Path) -> None:
    other = tmp_path / "a<b"
    shutil.copytree(tiny_run, other)
    write_report([open_run(tiny_run), open_run(other)], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<h2>ansgt on newman</h2>") == 2
    assert page.count("data:image/png;base64,") == 4
    assert "a&lt;b" in page
    assert "a<b" not in page


def test_histories_are_cut_to_the_shortest(tiny_run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tiny_run, tmp_path / "copy")
    split = open_run(copy).split(1)
    split.write_history(split.history()[:1])
    split.write_result(split.result())  # seals what was changed
    assert [len(rows) for rows in complete_histories(open_run(copy), 2)] == [1, 1]
