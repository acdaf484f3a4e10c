"""`ansgt evaluate RUN`: re-scores a saved run from its weights."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb
from ansgt.cli.train import percent, say_scores

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
    from ansgt.runs.reopen import FinishedRun, evaluate_run

    return evaluate_run(FinishedRun.open(run_dir, root=root, device=device, cache_dir=cache_dir))


def render(result: dict[str, Any]) -> None:
    say(f"{result['model']} on {result['dataset']}, split {result['split']}")
    say(
        f"test accuracy {percent(result['test_accuracy'])}   validation {percent(result['val_accuracy'])}",
        style="bold",
    )
    say_scores(result)
    if result["matches_record"]:
        say("predictions are equal to those in the record")
    else:
        say("predictions are different from those in the record", style="bold red")
