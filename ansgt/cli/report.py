"""`ansgt report RUN...`: one HTML page, and the weight curve as a picture beside each run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb


def register(app: typer.Typer) -> None:
    app.command("report")(verb(render)(report))


def report(
    run_dirs: Annotated[list[Path], typer.Argument(help="Run directories that `ansgt train` wrote.")],
    output: Annotated[
        Path | None, typer.Option("--output", help="The page (default: RUN/report.html).")
    ] = None,
    explained: Annotated[
        int, typer.Option(min=0, help="Nodes whose attention is computed for the page, over all runs.")
    ] = 2000,
    card: Annotated[
        Path | None, typer.Option(help="Also write a model card (.md) of the first run, from its record.")
    ] = None,
    root: RootOption = "data",  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Write one HTML page that needs no network: runs side by side, and an explorer of their nodes."""
    from ansgt.report.card import model_card
    from ansgt.report.figures import complete_histories, plot_weights
    from ansgt.report.page import write_report
    from ansgt.report.side_by_side import Options
    from ansgt.runs.folder import open_run
    from ansgt.storage import write_text

    runs = [open_run(path) for path in run_dirs]
    pictures = []
    for run in runs:
        histories = complete_histories(run, len(run.results()))
        if histories:
            picture = run.weights_picture
            title = f"{run.config().dataset}: sampling weights"
            plot_weights(histories, picture, title)
            pictures.append(str(picture))
    target = output or runs[0].default_report
    write_report(runs, target, Options(root, device, cache_dir, explained))
    if card is not None:
        write_text(card, model_card(runs[0]))
    return {
        "runs": [str(path) for path in run_dirs],
        "output": str(target),
        "pictures": pictures,
        "card": None if card is None else str(card),
    }


def render(result: dict[str, Any]) -> None:
    say(f"report in {result['output']}")
    for picture in result["pictures"]:
        say(f"weight curve in {picture}")
    if result["card"]:
        say(f"model card in {result['card']}")
