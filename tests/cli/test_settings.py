"""`ansgt settings`: every setting with what it takes, its default and its help; tables, plain lines or JSON."""

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.cli.settings import table
from ansgt.runs.prepare import Request, build_config
from ansgt.settings import OptimSettings

ask = CliRunner()


def rows_of(*words: str) -> dict[str, dict[str, str]]:
    done = ask.invoke(build_app(["settings"]), ["settings", *words, "--json"])
    assert done.exit_code == 0, done.output
    return {row["setting"]: row for row in json.loads(done.stdout)["settings"]}


def test_defaults_are_those_that_a_run_would_have() -> None:
    own, gcn = rows_of("--dataset", "newman"), rows_of("gcn", "--dataset", "cora")
    shipped = build_config(Request("newman", "ansgt", "given"))
    assert float(own["lr"]["default"]) == shipped.optim.lr != OptimSettings().lr
    assert own["coarsening_rate"]["takes"].startswith("number in (0, 1]")
    assert "num_sampled" not in gcn
    assert gcn["name"]["help"].startswith("Optimizer")


def test_through_a_pipe_there_is_a_line_per_setting() -> None:
    done = ask.invoke(build_app(["settings"]), ["settings", "gcn"])
    head, *lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert head == ["setting", "takes", "default", "help"]
    assert all(len(line) == 4 for line in lines)
    assert any(line[0] == "lr" and line[3] == "Peak learning rate." for line in lines)


def test_the_table_fits_80_columns_with_every_word() -> None:
    out = io.StringIO()
    row = {
        "setting": "num_augmentations",
        "takes": "number in [0, 1)",
        "default": "0.5",
        "help": "word " * 40,
    }
    Console(file=out, width=80).print(table("model", [row]))
    assert max(map(len, out.getvalue().splitlines())) <= 80
    assert out.getvalue().count("word") == 40
    assert "number in [0, 1)" in out.getvalue()


@pytest.mark.parametrize("words", [["gnc"], ["gcn", "--config", "absent.yaml"]])
def test_what_is_unknown_is_one_sentence(words: list[str]) -> None:
    done = ask.invoke(build_app(["settings"]), ["settings", *words])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")


def test_auto_names_models_to_ask_for() -> None:
    done = ask.invoke(build_app(["settings"]), ["settings", "auto"])
    assert done.exit_code == 2
    assert "name one of them" in done.output
