"""`ansgt train DATASET`: one model over one or more splits."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, verb

DatasetArgument = Annotated[
    str,
    typer.Argument(
        help="A name from `ansgt datasets`, newman-<homophily>, or a path to an .npz / .pt graph."
    ),
]


def register(app: typer.Typer) -> None:
    app.command("train")(verb(render)(train))


def train(
    dataset: DatasetArgument,
    model: Annotated[str, typer.Option(help="ansgt or a baseline: mlp, gcn, gat, ...")] = "ansgt",
    root: RootOption = "data",  # type: ignore[assignment]
    split: Annotated[
        str | None,
        typer.Option(help="uniform-60-20-20, per-class-60-20-20, geom-gcn, public, official or given."),
    ] = None,
    num_splits: Annotated[int, typer.Option(help="How many repetitions of the split.")] = 1,
    seed: Annotated[int, typer.Option(help="Seeds the splits, the initialisation and every draw.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    config: Annotated[Path | None, typer.Option(help="A settings file in place of the shipped one.")] = None,
    override: Annotated[
        list[str] | None, typer.Option("-o", "--override", metavar="KEY=VALUE", help="Change one setting.")
    ] = None,
    run_dir: Annotated[Path | None, typer.Option(help="Where the record goes (default: runs/...).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --run-dir.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in --run-dir.")] = False,
    cache_dir: CacheOption = None,
    allow_changed_data: Annotated[
        bool,
        typer.Option("--allow-changed-data", help="Accept raw files that differ from the published ones."),
    ] = False,
    download: Annotated[bool, typer.Option("--download", help="Let PyG fetch absent raw files.")] = False,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also log to RUN/tensorboard (extra: ansgt[tensorboard]).")
    ] = False,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Train a model over one or more splits; validation alone selects the epoch."""
    from ansgt.cli.progress import training_bar
    from ansgt.errors import InputError
    from ansgt.pipeline import prepare_run
    from ansgt.report.tensorboard import event_log
    from ansgt.storage import default_cache_dir
    from ansgt.training import run

    if resume and run_dir is None:
        raise InputError("--resume needs --run-dir: which run shall go on?")
    data, settings = prepare_run(
        dataset,
        model,
        root=root,
        split=split,
        num_splits=num_splits,
        seed=seed,
        device=device,
        config=config,
        overrides=override,
        cache_dir=cache_dir,
        allow_changed=allow_changed_data,
        download=download,
    )
    target = run_dir or Path("runs") / f"{data.name}-{model}-{time.strftime('%Y%m%d-%H%M%S')}"
    models = f" x{settings.train.restarts}" if settings.train.restarts > 1 else ""
    with (
        training_bar(f"{data.name} {model}{models}") as bar,
        event_log(target / "tensorboard", tensorboard) as log,
    ):
        return run(
            settings,
            data,
            target,
            resume=resume,
            overwrite=overwrite,
            cache_dir=cache_dir or default_cache_dir(),
            report=lambda progress: (bar(progress), log(progress)),
        )


def render(result: dict[str, Any]) -> None:
    console = Console(highlight=False)
    test, val = result["test_accuracy"], result["val_accuracy"]
    console.print(f"{result['model']} on {result['dataset']} ({result['variant']}), split {result['split']}")
    if test["mean"] is not None and len(test["per_split"]) > 1:
        console.print("per split: " + " ".join(f"{100 * v:.2f}" for v in test["per_split"]))
    console.print(f"test accuracy {words(test)}   validation {words(val)}", style="bold")
    if result["restarts"] > 1:
        console.print(f"(mean of {result['restarts']} models a split; -o restarts=1 trains one)")
    if result["majority_share"] == result["majority_share"]:  # NaN where there is no test part
        console.print(f"(a constant guess scores {100 * result['majority_share']:.1f} %)")
    console.print(f"{result['seconds']:.1f} s, record in {result['run_dir']}")


def words(summary: dict[str, Any]) -> str:
    """ "87.65 ± 1.02 %", or "-" where there is nothing to score."""
    if summary["mean"] is None or summary["mean"] != summary["mean"]:
        return "-"
    return f"{100 * summary['mean']:.2f} ± {100 * summary['std']:.2f} %"
