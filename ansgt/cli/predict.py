"""`ansgt predict RUN`: per-node class probabilities of one of the run's splits, as CSV or NPZ."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb
from ansgt.cli.evaluate import RunArgument


def register(app: typer.Typer) -> None:
    app.command("predict")(verb(render)(predict))


def predict(
    run_dir: RunArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="A .csv, .npz or .parquet file (default: RUN/predictions.csv)."),
    ] = None,
    split: Annotated[int, typer.Option(help="Which of the run's splits.")] = 0,
    graph: Annotated[
        Path | None,
        typer.Option(
            help="Another graph with the same features (.npz or .pt), e.g. the old one grown by new nodes."
        ),
    ] = None,
    root: RootOption = "data",  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Write the class probabilities of every node, of the run's own graph or of another one."""
    import torch

    from ansgt.datasets import load_graph
    from ansgt.errors import InputError
    from ansgt.runs.folder import open_run
    from ansgt.runs.predictions import SUFFIXES, Predictions
    from ansgt.runs.reopen import FinishedRun

    run = open_run(run_dir)
    target = output or run.default_predictions
    if target.suffix not in SUFFIXES:
        raise InputError(f"--output must end in .csv, .npz or .parquet, not {target.name!r}.")
    if graph is None:
        arrays, labelling = run.split(split).predictions(), run.labelling()
        found = Predictions(arrays["probabilities"], arrays["label"], labelling.nodes, labelling.classes)
    else:
        finished = FinishedRun.open(run_dir, root=root, device=device, cache_dir=cache_dir)
        other = load_graph(str(graph)).with_classes_of(finished.graph)
        moved = finished.moved(other, split)
        probabilities = finished.predict_proba(moved, torch.arange(other.num_nodes), split).numpy()
        found = Predictions(probabilities, other.y.numpy(), other.node_names, other.class_names)
    found.write(target)
    num_nodes, num_classes = found.probabilities.shape
    return {
        "run_dir": str(run_dir),
        "split": split,
        "num_nodes": num_nodes,
        "num_classes": num_classes,
        "output": str(target),
    }


def render(result: dict[str, Any]) -> None:
    say(f"probabilities of {result['num_nodes']} nodes in {result['output']}")
