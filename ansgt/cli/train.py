"""`ansgt train DATASET`: one model over one or more splits."""

import contextlib
import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb

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
    from ansgt.cli.interrupt import Interrupts
    from ansgt.cli.progress import event_log, training_bar
    from ansgt.datasets.load import Source
    from ansgt.errors import InputError
    from ansgt.runs.folder import RunFolder
    from ansgt.runs.prepare import prepare_run
    from ansgt.runs.run import Environment, Progress, run
    from ansgt.storage import DiskCache, default_cache_dir

    if resume and run_dir is None:
        raise InputError("--resume needs --run-dir: which run shall go on?")
    if resume and overwrite:
        raise InputError(
            "--resume goes on with a run and --overwrite replaces it: only one of them can be meant."
        )
    data, settings = prepare_run(
        dataset,
        model,
        source=Source(root, cache_dir, allow_changed_data, download),
        split=split,
        num_splits=num_splits,
        seed=seed,
        device=device,
        config=config,
        overrides=override or (),
    )
    target = run_dir or Path("runs") / f"{data.name}-{model}-{time.strftime('%Y%m%d-%H%M%S')}"
    models = f" x{settings.train.num_models}" if settings.train.num_models > 1 else ""
    with contextlib.ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        listeners = [stack.enter_context(training_bar(f"{data.name} {model}{models}"))]
        if tensorboard:
            listeners.append(stack.enter_context(event_log(RunFolder(target).tensorboard)))

        def on_epoch(progress: Progress) -> None:
            for listener in listeners:
                listener(progress)
            interrupts.on_epoch(progress)

        environment = Environment(DiskCache(cache_dir or default_cache_dir()), on_epoch)
        try:
            return run(settings, data, target, resume=resume, overwrite=overwrite, environment=environment)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(how_to_go_on(target, RunFolder(target).exists)) from None


def how_to_go_on(target: Path, begun: bool) -> str:
    """What an interrupted run's user can do."""
    if not begun:
        return "nothing was trained yet."
    again = f"--run-dir {shlex.quote(str(target))} --resume"
    return f"what was trained is saved; the same command with {again} (and without --overwrite) goes on."


def render(result: dict[str, Any]) -> None:
    test, val = result["test_accuracy"], result["val_accuracy"]
    say(f"{result['model']} on {result['dataset']} ({result['variant']}), split {result['split']}")
    if test["mean"] is not None and len(test["per_split"]) > 1:
        say("per split: " + " ".join(f"{100 * v:.2f}" for v in test["per_split"]))
    say(f"test accuracy {percent(test)}   validation {percent(val)}", style="bold")
    if result["num_models"] > 1:
        say(f"(mean of {result['num_models']} models per split; -o num_models=1 trains one)")
    if result["majority_share"] == result["majority_share"]:  # NaN where there is no test part
        say(f"(a constant guess scores {100 * result['majority_share']:.1f} %)")
    say(f"{result['seconds']:.1f} s, record in {result['run_dir']}")


def percent(summary: dict[str, Any]) -> str:
    """ "87.65 ± 1.02 %", or "-" where there is nothing to score."""
    if summary["mean"] is None or summary["mean"] != summary["mean"]:
        return "-"
    return f"{100 * summary['mean']:.2f} ± {100 * summary['std']:.2f} %"
