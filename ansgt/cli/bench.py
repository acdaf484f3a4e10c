"""`ansgt bench NAME`: one benchmark a name, each in its own file under `ansgt/bench/`."""

import importlib
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from ansgt.cli.common import plain, say, verb

BENCHES: dict[str, str] = {
    "heuristics": "ansgt.bench.heuristics",
    "sampling": "ansgt.bench.sampling",
    "proximity": "ansgt.bench.proximity",
    "coarsening": "ansgt.bench.coarsening",
    "epoch": "ansgt.bench.epoch",
    "scale": "ansgt.bench.scale",
}
"""Name -> module with a function `bench(..., as_json: JsonFlag = False) -> {"name", "rows", "ratios"}`."""

WIDE = 9


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The project's own benchmarks.", no_args_is_help=True)
    for name, module in BENCHES.items():
        group.command(name)(verb(render)(importlib.import_module(module).bench))
    app.add_typer(group, name="bench")


def render(result: dict[str, Any]) -> None:
    """Rows as a table (columns: the union of their keys; turned when there are many), then the ratios to the peers."""
    rows = result["rows"]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    title = f"bench {result['name']}"
    if len(columns) > WIDE:  # a row a quantity, so that it fits a terminal
        table = Table("", *(str(row.get(columns[0])) for row in rows), title=title)
        for column in columns[1:]:
            table.add_row(column, *(_cell(row.get(column)) for row in rows))
    else:
        table = Table(*columns, title=title)
        for row in rows:
            table.add_row(*(_cell(row.get(column)) for column in columns))
    say(table)
    for name, value in result["ratios"].items():
        say(f"{name}: {_cell(value)}")


def _cell(value: Any) -> Text:
    if value is None:
        return plain("-")
    return plain(f"{value:.4g}" if isinstance(value, float) else str(value))
