"""`ansgt explain RUN --node I`: which nodes the centre attended to, how much, and which heuristic brought each of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb
from ansgt.cli.evaluate import RunArgument


def register(app: typer.Typer) -> None:
    app.command("explain")(verb(render)(explain))


def explain(
    run_dir: RunArgument,
    node: Annotated[int, typer.Option(help="The node to explain.")],
    split: Annotated[int, typer.Option(help="Which of the run's splits.")] = 0,
    top: Annotated[int, typer.Option(help="How many attended nodes to list.")] = 15,
    picture: Annotated[Path | None, typer.Option(help="Also draw it (.png, .pdf or .svg).")] = None,
    root: RootOption = "data",  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Explain one node's prediction by what its sequences attended to."""
    from ansgt.errors import InputError
    from ansgt.runs.reopen import FinishedRun

    if picture is not None and picture.suffix not in (".png", ".pdf", ".svg"):
        raise InputError(f"--picture must end in .png, .pdf or .svg, not {picture.name!r}.")
    run = FinishedRun.open(run_dir, root=root, device=device, cache_dir=cache_dir)
    explanation = run.trained(split).explain(node, top)
    if picture is not None:
        explanation.plot(picture)
    result = {
        "run_dir": str(run_dir),
        "dataset": run.config.dataset,
        "split": split,
        "text": str(explanation),
    }
    return result | explanation.as_dict() | {"picture": None if picture is None else str(picture)}


def render(result: dict[str, Any]) -> None:
    say(result["text"])
    if result["picture"]:
        say(f"\npicture in {result['picture']}")
