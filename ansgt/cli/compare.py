"""`ansgt compare`: several models on several data sets, on the same splits, with paired differences."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from ansgt.cli.common import (
    CacheOption,
    ClusterOption,
    JsonFlag,
    RootOption,
    executor_of,
    plain,
    say,
    tell,
    verb,
)

if TYPE_CHECKING:
    from ansgt.metrics import Metric
    from ansgt.runs.statistics import Cell


def register(app: typer.Typer) -> None:
    app.command("compare")(verb(render)(compare))


def compare(
    models: Annotated[str, typer.Option(help="Names of models, separated by commas.")],
    datasets: Annotated[str, typer.Option(help="Names of data sets, separated by commas.")],
    root: RootOption = "data",  # type: ignore[assignment]
    split: Annotated[
        str, typer.Option(help="The split that every cell uses; also a file: folds.npz.")
    ] = "uniform-60-20-20",
    num_splits: Annotated[
        int | None, typer.Option(help="How many repetitions of the split (default: 10; all of a file).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seeds the splits, the initialisation and every draw.")] = 0,
    reference: Annotated[
        str | None, typer.Option(help="Model the others are compared with (default: the best mean rank).")
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="What is compared: accuracy, balanced_accuracy, macro_f1, roc_auc, log_loss, brier, calibration_error."
        ),
    ] = "accuracy",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    workers: Annotated[
        int | None, typer.Option(help="Cells trained at a time (default: one per CPU core; one on CUDA).")
    ] = None,
    cluster: ClusterOption = None,
    override: Annotated[
        list[str] | None,
        typer.Option("-o", "--override", metavar="KEY=VALUE", help="Change one setting in every cell."),
    ] = None,
    run_dir: Annotated[
        Path, typer.Option(help="One run directory per cell; finished ones are not trained again.")
    ] = Path("runs/compare"),
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Train several models on several data sets with the same splits, and compare them."""
    from ansgt.datasets.folds import SUFFIX
    from ansgt.errors import unknown_name
    from ansgt.metrics import metric as known_metric
    from ansgt.report.comparison import write_comparison
    from ansgt.runs.comparison import Comparison

    compared = known_metric(metric)
    if reference is not None and reference not in _names(models):
        raise unknown_name("reference", reference, _names(models))
    plan = Comparison(
        models=_names(models),
        datasets=_names(datasets),
        split=split,
        num_splits=10 if num_splits is None and not split.endswith(SUFFIX) else num_splits,
        seed=seed,
        root=root,
        run_dir=run_dir,
        device=device,
        workers=workers,
        overrides=tuple(override or ()),
        cache_dir=cache_dir,
    )
    with executor_of(cluster, workers) as executor:
        cells = plan.run(lambda cell, done, total: tell(_line(cell, compared, done, total)), executor)
    return write_comparison(cells, split, run_dir, reference, compared)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _line(cell: "Cell", metric: "Metric", done: int, total: int) -> str:
    what = f"{done}/{total} {cell.model} on {cell.dataset}"
    if cell.error is not None:
        return f"{what}: failed, {cell.error}"
    return (
        f"{what}: {metric.words} {cell.by(metric).in_words(metric)}{metric.unit}, {cell.seconds or 0:.0f} s"
    )


def render(result: dict[str, Any]) -> None:
    from ansgt.metrics import metric as known_metric

    datasets = list(dict.fromkeys(cell["dataset"] for cell in result["cells"]))
    at = {(cell["model"], cell["dataset"]): cell for cell in result["cells"]}
    gaps = {(d["model"], d["dataset"]): d for d in result["differences"]}
    heads = [Column(plain(name)) for name in ("model", *datasets)]
    metric = known_metric(result["metric"])
    table = Table(*heads, title=plain(f"test {metric.words}{metric.unit}, split {result['split']}"))
    for model in dict.fromkeys(cell["model"] for cell in result["cells"]):
        cells = (_formatted(at[model, d], gaps.get((model, d)), metric.scale) for d in datasets)
        table.add_row(plain(model), *cells)
    say(table)
    guesses = {cell["dataset"]: cell["guess"] for cell in result["cells"] if cell["guess"] is not None}
    if guesses:
        shares = ", ".join(f"{100 * share:.2f} on {name}" for name, share in guesses.items())
        say(f"accuracy of a constant guess, in percent: {shares}")
    say(f"in brackets: paired difference against {result['reference']}; * p < 0.05 after Holm's correction")
    several = [c for c in result["cells"] if c["num_models"] > 1]
    if several:
        named = ", ".join(f"{c['model']} on {c['dataset']} {c['num_models']}" for c in several)
        say(f"models per split where there are several (setting train.num_models): {named}")
    for cell in result["cells"]:
        if cell["error"]:
            say(f"{cell['model']} on {cell['dataset']} failed: {cell['error']}")
    say(f"{result['seconds']:.0f} s of training; tables and picture in {result['run_dir']}")


def _formatted(cell: dict[str, Any], gap: dict[str, Any] | None, scale: int) -> str:
    if cell["error"]:
        return "failed"
    text = f"{scale * cell['mean']:.2f} ± {scale * cell['std']:.2f}"
    if gap is None:
        return text
    star = "*" if gap["p_holm"] is not None and gap["p_holm"] < 0.05 else ""
    return f"{text} ({scale * gap['mean']:+.2f}{star})"
