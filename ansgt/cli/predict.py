"""`ansgt predict RUN`: per-node class probabilities of one of the run's splits, as CSV, NPZ or Parquet."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb
from ansgt.cli.evaluate import RunArgument

if TYPE_CHECKING:
    from ansgt.graph import Graph
    from ansgt.runs.reopen import FinishedRun

GraphOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Another graph with the same features, e.g. the old one grown by new nodes: .npz, .pt, .graphml, a folder "
        "of tables, or edges.csv,features.csv. Labels are not needed.",
    ),
]


def register(app: typer.Typer) -> None:
    app.command("predict")(verb(render)(predict))


def predict(
    run_dir: RunArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", help="A .csv, .npz or .parquet file (default: RUN/predictions.csv)."),
    ] = None,
    split: Annotated[int, typer.Option(help="Which of the run's splits.")] = 0,
    graph: GraphOption = None,
    nodes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Only these nodes: a file with one name per line.")
    ] = None,
    root: RootOption = "data",  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Write the class probabilities of every node, of the run's own graph or of another one."""
    from ansgt.runs.folder import open_run
    from ansgt.runs.predictions import Predictions, check_target
    from ansgt.runs.reopen import FinishedRun

    run = open_run(run_dir)
    target = check_target(output or run.default_predictions, graph=graph)
    wanted = None if nodes is None else read_names(nodes)
    if graph is None:
        found = Predictions.stored(run, split)
        found = found if wanted is None else found.of(wanted)
    else:
        finished = FinishedRun.open(run_dir, root=root, device=device, cache_dir=cache_dir)
        other = another_graph(graph, finished, root)
        chosen = other.find(wanted)
        trained = finished.moved(other, split, None if wanted is None else len(chosen))
        probabilities = finished.predict_proba(trained, chosen, split).numpy()
        names = other.node_names, other.class_names
        found = Predictions(probabilities, other.y[chosen].numpy(), *names, chosen.numpy())
    found.write(target)
    num_nodes, num_classes = found.probabilities.shape
    return {
        "run_dir": str(run_dir),
        "split": split,
        "num_nodes": num_nodes,
        "num_classes": num_classes,
        "output": str(target),
    }


def another_graph(name: str, run: "FinishedRun", root: Path) -> "Graph":
    """A graph that a run was not trained on, from a file or by its name; a table becomes features as in training."""
    from ansgt.datasets import as_graph, load_graph
    from ansgt.datasets.files import is_graph_path

    if is_graph_path(name):
        return as_graph(name, run.graph)[0]
    return load_graph(name, root).with_classes_of(run.graph)


def read_names(path: Path) -> list[str]:
    """The names in a text file, one per line."""
    from ansgt.errors import InputError, reason

    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"The list of nodes {path} cannot be read: {reason(error)}.") from None
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"The list of nodes {path} is empty; it has one name per line.")
    return names


def render(result: dict[str, Any]) -> None:
    say(f"probabilities of {result['num_nodes']} nodes in {result['output']}")
