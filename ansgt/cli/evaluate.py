"""`ansgt evaluate RUN`: re-scores a saved run from its weights."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, verb
from ansgt.cli.train import words

RunArgument = Annotated[Path, typer.Argument(help="A run directory that `ansgt train` wrote.")]


def register(app: typer.Typer) -> None:
    app.command("evaluate")(verb(render)(evaluate))


def evaluate(
    run_dir: RunArgument,
    root: RootOption = "data",  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Load every split's best weights, predict anew, and compare with what the record says."""
    from ansgt.training.evaluate import evaluate_run

    return evaluate_run(run_dir, root=root, device=device, cache_dir=cache_dir)


def render(result: dict[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(f"{result['model']} on {result['dataset']}, split {result['split']}")
    console.print(f"test accuracy {words(result['test_accuracy'])}", style="bold")
    agree = "equal to" if result["matches_record"] else "[bold red]different from[/]"
    console.print(f"predictions are {agree} those in the record")
