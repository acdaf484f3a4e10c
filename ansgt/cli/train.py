"""`ansgt train DATASET`: one model over one or more splits."""

import contextlib
import shlex
import time
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from ansgt.cli.common import (
    CacheOption,
    ClusterOption,
    JsonFlag,
    RootOption,
    err,
    executor_of,
    leads,
    plain,
    say,
    tell,
    verb,
)

if TYPE_CHECKING:
    from ansgt.metrics import Metric
    from ansgt.runs.sweep import Sweep

DatasetArgument = Annotated[
    str,
    typer.Argument(
        help="A name from `ansgt datasets`, newman-<homophily>, or a graph of your own: an .npz, .pt or .graphml file, a "
        "folder with edges.csv (and features.csv, labels.csv), or edges.csv,features.csv."
    ),
]


def register(app: typer.Typer) -> None:
    app.command("train")(verb(render, shared=True)(train))


def train(
    dataset: DatasetArgument,
    model: Annotated[
        str | None,
        typer.Option(
            help="ansgt, a baseline (mlp, gcn, gat, ...), or auto: experts of all families. Default: ansgt; auto with "
            "--effort or --time-limit."
        ),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(metavar="quick|default|best", help="Settings from presets: one small model to experts."),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Train experts for so long; holds within 10 %."),
    ] = None,
    root: RootOption = "data",  # type: ignore[assignment]
    split: Annotated[
        str | None,
        typer.Option(
            help="uniform-60-20-20, per-class-60-20-20, geom-gcn, public, official or given; or a file: folds.npz."
        ),
    ] = None,
    num_splits: Annotated[
        int | None, typer.Option(help="How many repetitions of the split (default: 1; all of a file).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seeds the splits, the initialisation and every draw.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    config: Annotated[Path | None, typer.Option(help="A settings file in place of the shipped one.")] = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--override",
            metavar="KEY=VALUE[,VALUE...]",
            help="Change one setting; several values are trained one by one.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="0,1,2", help="Train with several seeds (also 0-4) in place of --seed."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Runs of a sweep at a time (default: one per CPU core; one on CUDA).")
    ] = None,
    cluster: ClusterOption = None,
    run_dir: Annotated[Path | None, typer.Option(help="Where the record goes (default: runs/...).")] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also write the class probabilities of every node (.csv, .npz, .parquet)."
        ),
    ] = None,
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
    log_to: Annotated[
        list[str] | None,
        typer.Option(
            "--log", help="Also log to tensorboard, wandb or mlflow (extras of these names); may be repeated."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Train a model over one or more splits; validation alone selects the epoch."""
    from ansgt import cli
    from ansgt.cli.interrupt import Interrupts
    from ansgt.datasets.files import graph_name
    from ansgt.datasets.load import Source
    from ansgt.errors import InputError, LostRankError
    from ansgt.ranks import ranks
    from ansgt.runs.folder import RunFolder
    from ansgt.runs.prepare import meant, prepare_run
    from ansgt.runs.run import Environment, OnEpoch, Progress, run
    from ansgt.runs.watching import watching
    from ansgt.stages import Log
    from ansgt.storage import DiskCache, default_cache_dir

    if resume and run_dir is None:
        raise InputError("--resume needs --run-dir: which run shall go on?")
    if resume and overwrite:
        raise InputError(
            "--resume goes on with a run and --overwrite replaces it: only one of them can be meant."
        )
    if predictions is not None:
        from ansgt.runs.predictions import check_target

        check_target(predictions, "--predictions", dataset)
    source = Source(root, cache_dir, allow_changed_data, download)
    model = str(meant(model, effort, time_limit))
    options: dict[str, Any] = {"split": split, "num_splits": num_splits, "device": device, "config": config}
    options |= {"effort": effort, "time_limit": time_limit}
    names = list(dict.fromkeys([*(log_to or ()), *(["tensorboard"] if tensorboard else [])]))
    single: dict[str, Any] = {}
    several: dict[str, list[Any]] = {}
    if any("," in text for text in override or ()) or seeds is not None:
        from ansgt.runs.sweep import Sweep, parse_seeds, swept

        single, several = swept(override or ())
    if several or seeds is not None:
        if not ranks().alone:
            raise InputError(
                "Several runs are trained by --workers or --cluster, not by the processes of torchrun."
            )
        if names or predictions is not None:
            option = f"--log {names[0]}" if names else "--predictions"
            raise InputError(f"{option} is for a single run, not for several values or --seeds.")
        chosen = [seed] if seeds is None else parse_seeds(seeds)
        place = (
            run_dir or Path("runs") / f"{graph_name(dataset)}-{model}-sweep-{time.strftime('%Y%m%d-%H%M%S')}"
        )
        sweep = Sweep(dataset, model, several, chosen, place, source, options, single)
        sweep.check(resume, overwrite)
        return _run_sweep(sweep, workers, cluster)
    if workers is not None or cluster is not None:
        raise InputError(
            "--workers and --cluster are for several runs: several values of a setting, or --seeds."
        )
    options = {**options, "seed": seed, "overrides": override or ()}
    data, settings = prepare_run(dataset, model, source=source, **options)
    target = run_dir or Path("runs") / f"{data.name}-{model}-{time.strftime('%Y%m%d-%H%M%S')}"
    target = Path(ranks().told(str(target)))
    models = f" x{settings.train.num_models}" if settings.train.num_models > 1 else ""
    with contextlib.ExitStack() as stack:
        interrupts = stack.enter_context(Interrupts())
        listeners: list[OnEpoch] = []
        log = Log()
        if leads():
            label = f"{data.name} {model}{models}"
            watch = stack.enter_context(watching(label, data.graph.num_nodes, err))
            listeners.append(watch.on_epoch)
            log = Log(watch.on_stage)
        if names and leads():
            from ansgt.runs.loggers import flat_settings, logged, logger

            loggers = [logger(name, RunFolder(target).log(name)) for name in names]
            listeners.append(stack.enter_context(logged(loggers, target.name, flat_settings(settings))))

        def on_epoch(progress: Progress) -> None:
            for listener in listeners:
                listener(progress)
            interrupts.on_epoch(progress)

        cache = DiskCache(cache_dir or default_cache_dir())
        environment = Environment(cache, on_epoch, log=log, started=cli.began)
        try:
            result = run(settings, data, target, resume=resume, overwrite=overwrite, environment=environment)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(how_to_go_on(target, RunFolder(target).exists)) from None
        except LostRankError as error:
            going_on = how_to_go_on(target, RunFolder(target).exists)
            raise LostRankError(
                f"{error} {going_on[0].upper()}{going_on[1:]} Any number of processes can."
            ) from error
    if predictions is not None and leads():
        from ansgt.runs.predictions import Predictions

        Predictions.stored(RunFolder(target)).write(predictions)
    return {**result, "predictions": None if predictions is None else str(predictions)}


def _run_sweep(sweep: "Sweep", workers: int | None, cluster: str | None) -> dict[str, Any]:
    """All runs of a sweep, with a line for each as it ends."""
    from ansgt.cli.interrupt import Interrupts
    from ansgt.runs.executors import Workers, workers_for
    from ansgt.runs.sweep import Outcome

    def on_outcome(outcome: Outcome, done: int, total: int) -> None:
        cell, chosen = outcome.cell, sweep.selected
        score = f"test {chosen.words} {cell.by(chosen).in_words(chosen)}{chosen.unit}"
        tell(f"{done}/{total} {outcome.point.name}: {f'failed, {cell.error}' if cell.error else score}")

    number = workers or workers_for(str(sweep.options["device"]))
    with Interrupts(), executor_of(cluster, workers) as executor:
        try:
            chosen = sweep if executor is None else sweep.anywhere()
            return chosen.run(Workers(number, executor), on_outcome)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(how_to_go_on(sweep.run_dir, sweep.run_dir.exists())) from None


def how_to_go_on(target: Path, begun: bool) -> str:
    """What an interrupted run's user can do."""
    if not begun:
        return "nothing was trained yet."
    again = f"--run-dir {shlex.quote(str(target))} --resume"
    return f"what was trained is saved; the same command with {again} (and without --overwrite) goes on."


def render(result: dict[str, Any]) -> None:
    if "runs" in result:
        _render_sweep(result)
        return
    test, val = result["test_accuracy"], result["val_accuracy"]
    say(f"{result['model']} on {result['dataset']} ({result['variant']}), split {result['split']}")
    if test["mean"] is not None and len(test["per_split"]) > 1:
        say("per split: " + " ".join(f"{100 * v:.2f}" for v in test["per_split"]))
    say(f"test accuracy {percent(test)}   validation {percent(val)}", style="bold")
    if "experts" in result:
        _render_experts(result)
    elif result["num_models"] > 1:
        say(f"(mean of {result['num_models']} models per split; -o num_models=1 trains one)")
    say_scores(result)
    say(f"{result['seconds']:.1f} s, record in {result['run_dir']}")
    if result["predictions"]:
        say(f"class probabilities of every node in {result['predictions']}")


def _render_experts(result: dict[str, Any]) -> None:
    """What was trained, with its weight; over several splits the mean of each that all of them have."""
    table = Table(*("expert", "weight", "validation", "test", "seconds"), title="experts, accuracy in %")
    splits = [{one["name"]: one for one in experts} for experts in result["experts"]]
    names = [name for name in splits[0] if all(name in split for split in splits)]
    for name in sorted(names, key=lambda name: -fmean(split[name]["weight"] for split in splits)):
        own = [split[name] for split in splits]
        scores = [[one[part] for one in own] for part in ("val_accuracy", "test_accuracy")]
        means = ["-" if None in each else f"{100 * fmean(each):.2f}" for each in scores]
        row = [name, f"{fmean(one['weight'] for one in own):.3f}", *means]
        table.add_row(*map(plain, [*row, f"{sum(one['seconds'] for one in own):.1f}"]))
    say(table)
    found = result["aggregation"][0]
    if found["bound"] is None:
        say(f"(a plain mean: {found['num_val']} validation nodes are too few to weigh so many experts)")
    else:
        say(f"(weighing them costs at most {found['bound']:.4f} in expected log loss: {found['rule']})")


def say_scores(result: dict[str, Any]) -> None:
    """What a constant guess scores, and the means of all metrics but accuracy; of validation where there is no test part."""
    from ansgt.metrics import METRICS

    if result["majority_share"] == result["majority_share"]:  # NaN where there is no test part
        say(f"(a constant guess scores {100 * result['majority_share']:.1f} %)")
    scores = result["scores"]
    part = "test" if _known(scores["test"]["accuracy"]["mean"]) else "val"
    words = ", ".join(
        f"{metric.words} {metric.shown(scores[part][name]['mean'])}"
        for name, metric in METRICS.items()
        if name != "accuracy"
    )
    say(f"{'test' if part == 'test' else 'validation'}: {words}")
    if result["official_metric"] != "accuracy":
        say(f"(the official metric of {result['dataset']} is {METRICS[result['official_metric']].words})")


def _known(value: float | None) -> bool:
    return value is not None and value == value


def _render_sweep(result: dict[str, Any]) -> None:
    from ansgt.metrics import METRICS
    from ansgt.runs.sweep import heading

    names, seeds, metric = result["swept"], result["seeds"], METRICS[result["metric"]]
    single = [] if len(seeds) == 1 else [f"seed {seed}" for seed in seeds]
    over = f"{len(seeds)} seeds" if single else f"seed {seeds[0]}"
    heads = [Column(plain(head)) for head in (*names, *single, "validation", "test")]
    table = Table(*heads, title=plain(heading(result, over)))
    runs = iter(result["runs"])
    for row in result["settings"]:
        each = [_of_run(run, metric) for run in [next(runs) for _ in seeds] if single]
        means = [_in_words(row[part], metric) for part in ("val_score", "test_score")]
        values = [str(row["settings"][name]) for name in names]
        best = bool(names) and row["settings"] == (result["best"] or {}).get("settings")
        table.add_row(*map(plain, [*values, *each, *means]), style="bold" if best else "")
    say(table)
    for run in (run for run in result["runs"] if run["error"]):
        say(f"{Path(run['run_dir'] or '').name} failed: {run['error']}")
    if names and result["best"]:
        chosen = ", ".join(f"{name}={value}" for name, value in result["best"]["settings"].items())
        say(f"best on validation: {chosen}", style="bold")
    say(f"{result['seconds']:.1f} s, records in {result['run_dir']}")


def _of_run(run: dict[str, Any], metric: "Metric") -> str:
    """The mean of one run's splits; "-" where it failed."""
    scores = run["scores"].get(metric.name)
    return f"{metric.scale * fmean(scores):.2f}" if scores else "-"


def _in_words(summary: dict[str, Any], metric: "Metric") -> str:
    if not _known(summary["mean"]):
        return "-"
    return f"{metric.scale * summary['mean']:.2f} ± {metric.scale * summary['std']:.2f}"


def percent(summary: dict[str, Any]) -> str:
    """ "87.65 ± 1.02 %", or "-" where there is nothing to score."""
    if not _known(summary["mean"]):
        return "-"
    return f"{100 * summary['mean']:.2f} ± {100 * summary['std']:.2f} %"
