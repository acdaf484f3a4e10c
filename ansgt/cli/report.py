"""`ansgt report RUN...`: one HTML page, and the weight curve as a picture beside each run."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ansgt.cli.common import JsonFlag, say, verb


def register(app: typer.Typer) -> None:
    app.command("report")(verb(render)(report))


def report(
    run_dirs: Annotated[list[Path], typer.Argument(help="Run directories that `ansgt train` wrote.")],
    output: Annotated[
        Path | None, typer.Option("--output", help="The page (default: RUN/report.html).")
    ] = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Write one self-contained HTML page with plots for one or more runs."""
    from ansgt.report.html import complete_histories, plot_weights, write_report
    from ansgt.runs.folder import open_run

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
    write_report(runs, target)
    return {"runs": [str(path) for path in run_dirs], "output": str(target), "pictures": pictures}


def render(result: dict[str, Any]) -> None:
    say(f"report in {result['output']}")
    for picture in result["pictures"]:
        say(f"weight curve in {picture}")
