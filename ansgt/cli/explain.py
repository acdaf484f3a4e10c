"""`ansgt explain RUN --node NAME`: which nodes the centre attended to, how much, and which heuristic brought them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb
from ansgt.cli.evaluate import RunArgument
from ansgt.cli.predict import GraphOption, another_graph

if TYPE_CHECKING:
    from ansgt.prediction import TrainedModel
    from ansgt.prediction.explanation import Explanations


def register(app: typer.Typer) -> None:
    app.command("explain")(verb(render)(explain))


def explain(
    run_dir: RunArgument,
    node: Annotated[
        list[str] | None,
        typer.Option(help="The node to explain: its name, or its number without names; may be repeated."),
    ] = None,
    split: Annotated[int, typer.Option(help="Which of the run's splits.")] = 0,
    top: Annotated[int, typer.Option(min=1, help="How many attended nodes to list.")] = 15,
    picture: Annotated[
        Path | None, typer.Option(help="Also draw it (.png, .pdf or .svg); of the first node.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Also write the table (.csv, .md, .tex, .html or .txt).")
    ] = None,
    faithfulness: Annotated[
        bool,
        typer.Option(
            "--faithfulness",
            help="Measure how far the class's probability falls without the attended nodes: of the given nodes, or of "
            "the test part.",
        ),
    ] = False,
    graph: GraphOption = None,
    root: RootOption = "data",  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Explain predictions by what the nodes' sequences attended to; a baseline's by PyG's Explainer."""
    from ansgt.errors import InputError
    from ansgt.plotting import FORMATS
    from ansgt.runs.reopen import FinishedRun
    from ansgt.table import WRITERS

    if picture is not None and picture.suffix.lstrip(".") not in FORMATS:
        raise InputError(f"--picture must end in .{', .'.join(FORMATS)}, not {picture.name!r}.")
    if output is not None and output.suffix not in WRITERS:
        raise InputError(f"--output must end in {', '.join(WRITERS)}, not {output.name!r}.")
    if not node and not faithfulness:
        raise InputError("Which node shall be explained? Give --node, or --faithfulness.")
    run = FinishedRun.open(run_dir, root=root, device=device, cache_dir=cache_dir)
    asked = len(node) if node and not faithfulness else None
    trained = (
        run.trained(split) if graph is None else run.moved(another_graph(graph, run, root), split, asked)
    )
    chosen = [trained.graph.place(one) for one in node or ()]
    result = {"run_dir": str(run_dir), "dataset": run.config.dataset, "split": split}
    if chosen:
        found = trained.explain_nodes(chosen, top)
        result |= {"text": str(found)} | (found[0] if len(found) == 1 else found).as_dict()
        result |= _written(found, picture, output)
    if faithfulness:
        result["faithfulness"] = _measured(trained, chosen or run.split(split).test.tolist())
    return result


def _written(found: "Explanations", picture: Path | None, output: Path | None) -> dict[str, str | None]:
    if picture is not None:
        found[0].plot(picture)
    if output is not None:
        found.table().write(output)
    return {
        "picture": None if picture is None else str(picture),
        "output": None if output is None else str(output),
    }


def _measured(trained: "TrainedModel", nodes: list[int]) -> dict[str, Any]:
    from ansgt.prediction.faithfulness import faithfulness

    measured = faithfulness(trained, nodes)
    return {**measured.as_dict(), "text": str(measured)}


def render(result: dict[str, Any]) -> None:
    if "text" in result:
        say(result["text"])
    if result.get("picture"):
        say(f"\npicture in {result['picture']}")
    if result.get("output"):
        say(f"\ntable in {result['output']}")
    if "faithfulness" in result:
        say(f"\n{result['faithfulness']['text']}")
