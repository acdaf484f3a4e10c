"""`ansgt predict RUN`: per-node class probabilities of one of the run's splits, as CSV or NPZ."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb
from ansgt.cli.evaluate import RunArgument

if TYPE_CHECKING:
    import numpy as np


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
    import torch

    from ansgt.datasets import load_graph
    from ansgt.errors import InputError
    from ansgt.runs.folder import open_run
    from ansgt.runs.reopen import FinishedRun

    run = open_run(run_dir)
    target = output or run.default_predictions
    if target.suffix not in (".csv", ".npz"):
        raise InputError(f"--output must end in .csv or .npz, not {target.name!r}.")
    if graph is None:
        arrays = run.split(split).predictions()
        probabilities, label = arrays["probabilities"], arrays["label"]
    else:
        finished = FinishedRun.open(run_dir, root=root, device=device, cache_dir=cache_dir)
        other = load_graph(str(graph))
        moved = finished.moved(other, split)
        nodes = torch.arange(other.num_nodes)
        probabilities, label = finished.predict_proba(moved, nodes, split).numpy(), other.y.numpy()
    write_predictions(target, probabilities, label)
    num_nodes, num_classes = probabilities.shape
    return {
        "run_dir": str(run_dir),
        "split": split,
        "num_nodes": num_nodes,
        "num_classes": num_classes,
        "output": str(target),
    }


def write_predictions(path: Path, probabilities: "np.ndarray", label: "np.ndarray") -> None:
    """One row a node: id, predicted class, known label (-1: unknown), probabilities [C]; CSV or NPZ by the suffix."""
    import numpy as np

    from ansgt.storage import write_npz, write_text

    predicted = probabilities.argmax(axis=1)
    if path.suffix == ".npz":
        ids = np.arange(len(predicted))
        write_npz(path, node=ids, prediction=predicted, label=label, probabilities=probabilities)
        return
    header = ["node", "prediction", "label", *(f"p{c}" for c in range(probabilities.shape[1]))]
    lines = [",".join(header)]
    for node, row in enumerate(probabilities):
        cells = [str(node), str(predicted[node]), str(label[node]), *(f"{p:.6g}" for p in row)]
        lines.append(",".join(cells))
    write_text(path, "\n".join(lines) + "\n")


def render(result: dict[str, Any]) -> None:
    say(f"probabilities of {result['num_nodes']} nodes in {result['output']}")
