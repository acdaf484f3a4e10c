"""`ansgt predict RUN`: per-node class probabilities of one of the run's splits, as CSV or NPZ."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ansgt.cli.common import JsonFlag, verb
from ansgt.cli.evaluate import RunArgument


def register(app: typer.Typer) -> None:
    app.command("predict")(verb(render)(predict))


def predict(
    run_dir: RunArgument,
    output: Annotated[
        Path | None, typer.Option("--output", help="A .csv or .npz file (default: RUN/predictions.csv).")
    ] = None,
    split: Annotated[int, typer.Option(help="Which of the run's splits.")] = 0,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Write the class probabilities of every node."""
    from ansgt.errors import InputError
    from ansgt.report.predictions import write_predictions
    from ansgt.training import open_run

    target = output or run_dir / "predictions.csv"
    if target.suffix not in (".csv", ".npz"):
        raise InputError(f"--output must end in .csv or .npz, not {target.name!r}.")
    arrays = open_run(run_dir).predictions(split)
    write_predictions(target, arrays["probabilities"], arrays["label"])
    nodes, classes = arrays["probabilities"].shape
    return {
        "run_dir": str(run_dir),
        "split": split,
        "num_nodes": nodes,
        "num_classes": classes,
        "output": str(target),
    }


def render(result: dict[str, Any]) -> None:
    Console(highlight=False).print(f"probabilities of {result['num_nodes']} nodes in {result['output']}")
