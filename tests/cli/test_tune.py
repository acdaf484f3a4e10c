"""`ansgt tune`, as a user calls it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("optuna")

from ansgt.cli import build_app

SHORT = ("newman", "--model", "mlp", "--device", "cpu", "-o", "epochs=6", "-o", "hidden_channels=8")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(build_app(["tune"]), ["tune", *map(str, arguments)])


def test_tune_writes_settings_and_a_page_and_goes_on(tmp_path: Path) -> None:
    command = (*SHORT, "--study", tmp_path / "s", "--cache-dir", tmp_path)
    first = call(*command, "--trials", 3, "--json")
    assert first.exit_code == 0, first.stderr
    told = json.loads(first.stdout)
    assert {"best", "metric", "value", "trials", "settings_file"} <= set(told)
    assert "hidden_channels" not in told["best"]
    assert Path(told["settings_file"]).is_file()
    page = (tmp_path / "s" / "study.html").read_text()
    assert page.count("<img ") >= 3
    assert "the test part was not looked at" in page
    again = call(*command, "--trials", 4)
    assert again.exit_code == 0
    assert "trial 3: " in again.stderr
    assert "4 trials of TPE" in again.stdout.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((*SHORT,), "needs a budget"),
        ((*SHORT, "--trials", "0"), "trials must be from 1"),
        ((*SHORT, "--minutes", "nan"), "minutes must be greater than 0"),
        ((*SHORT, "--trials", "2", "--workers", "0"), "--workers must be from 1"),
        ((*SHORT, "--trials", "2", "--metric", "precision"), "nknown metric 'precision'"),
        ((*SHORT, "--trials", "2", "-o", "width=3"), "nknown setting 'width'"),
        (("newman", "--model", "auto", "--trials", "2"), "searched for one model"),
        (("nowhere.npz", "--trials", "2"), "does not exist"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[object, ...], sentence: str, tmp_path: Path) -> None:
    result = call(*arguments, "--study", tmp_path / "s")
    assert result.exit_code == 2
    assert sentence in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.stderr


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = call(*SHORT, "--trials", "2", "--study", tmp_path / "file" / "s")
    assert result.exit_code in (1, 2)
    assert "Traceback" not in result.stderr
