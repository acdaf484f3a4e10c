"""`ansgt predict RUN`: per-node class probabilities of one of the run's splits, as CSV or NPZ."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, verb
from ansgt.cli.evaluate import RunArgument


def register(app: typer.Typer) -> None:
    app.command("predict")(verb(render)(predict))


def predict(
    run_dir: RunArgument,
    output: Annotated[
        Path | None, typer.Option("--output", help="A .csv or .npz file (default: RUN/predictions.csv).")
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
    from ansgt.errors import InputError
    from ansgt.report.predictions import write_predictions
    from ansgt.training import open_run

    target = output or run_dir / "predictions.csv"
    if target.suffix not in (".csv", ".npz"):
        raise InputError(f"--output must end in .csv or .npz, not {target.name!r}.")
    if graph is None:
        arrays = open_run(run_dir).predictions(split)
        probabilities, label = arrays["probabilities"], arrays["label"]
    else:
        probabilities, label = _elsewhere(run_dir, split, graph, root, device, cache_dir)
    write_predictions(target, probabilities, label)
    nodes, classes = probabilities.shape
    return {
        "run_dir": str(run_dir),
        "split": split,
        "num_nodes": nodes,
        "num_classes": classes,
        "output": str(target),
    }


def _elsewhere(
    run_dir: Path, index: int, path: Path, root: Path, device: str, cache_dir: Path | None
) -> tuple[Any, Any]:
    """Probabilities [n, C] and known labels [n] on a graph from a file."""
    import torch

    from ansgt.datasets import load_graph
    from ansgt.training.evaluate import load_learner, load_run, move_learner, predict_all

    folder, config, dataset = load_run(run_dir, root=root, device=device, cache_dir=cache_dir)
    learner, _ = load_learner(folder, config, dataset, index, cache_dir)
    graph = load_graph(str(path))
    moved = move_learner(learner, config, dataset.graph, graph, cache_dir)
    probabilities = predict_all(moved, config, index, torch.arange(graph.num_nodes))
    return probabilities.numpy(), graph.y.numpy()


def render(result: dict[str, Any]) -> None:
    Console(highlight=False).print(f"probabilities of {result['num_nodes']} nodes in {result['output']}")
