"""`ansgt settings [MODEL]`: every setting with what it takes, its default and a line of help."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from ansgt.cli.common import JsonFlag, plain, say, verb

HEAD = ("setting", "takes", "default", "help")


def register(app: typer.Typer) -> None:
    app.command("settings")(verb(render)(settings))


def settings(
    model: Annotated[str, typer.Argument(help="ansgt or a baseline: mlp, gcn, gat, ...")] = "ansgt",
    dataset: Annotated[
        str, typer.Option(help="Show the defaults that ship for this data set (default: for any other).")
    ] = "",
    split: Annotated[str, typer.Option(help="Show those for this kind of split of it.")] = "",
    config: Annotated[Path | None, typer.Option(help="A settings file in place of the shipped one.")] = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """List every setting of a model: what it takes, its default, and what it does. `-o SETTING=VALUE` changes one."""
    from ansgt.config import AUTO, SECTIONS, setting_names
    from ansgt.descriptions import described, value_in_words
    from ansgt.errors import InputError
    from ansgt.runs.prepare import Request, build_config, section_kinds
    from ansgt.settings import values_of

    if model == AUTO:
        raise InputError(
            "Model 'auto' trains experts of several families; name one of them: ansgt, gcn, sage, ..."
        )
    chosen = build_config(Request(dataset, model, split), config)
    values = {
        part: chosen.settings if part == "model" else values_of(getattr(chosen, part)) for part in SECTIONS
    }
    names = setting_names(values)
    rows = [
        {
            "section": part,
            "setting": names[f"{part}.{one.name}"],
            "takes": one.takes,
            "default": value_in_words(values[part][one.name]),
            "help": one.help,
        }
        for part, kind in section_kinds(model).items()
        for one in described(kind)
    ]
    return {"model": model, "dataset": dataset or None, "split": split or None, "settings": rows}


def render(result: dict[str, Any]) -> None:
    """Tables by section in a terminal; elsewhere a line per setting, its columns separated by tabs."""
    rows = result["settings"]
    if sys.stdout is None or not sys.stdout.isatty():
        for row in [dict(zip(HEAD, HEAD, strict=True)), *rows]:
            print("\t".join(row[name] for name in HEAD))
        return
    for section in dict.fromkeys(row["section"] for row in rows):
        say(table(section, [row for row in rows if row["section"] == section]))
    say("-o SETTING=VALUE changes one; several values between commas are trained one by one.")


def table(section: str, rows: list[dict[str, str]]) -> Table:
    """The settings of a section; the column of help takes what the others leave."""
    narrow = [
        Column(name, overflow="fold", max_width=width)
        for name, width in zip(HEAD, (20, 18, 12), strict=False)
    ]
    found = Table(
        *narrow, Column("help", overflow="fold", ratio=1), title=section, title_justify="left", expand=True
    )
    for row in rows:
        found.add_row(*(plain(row[name]) for name in HEAD))
    return found
