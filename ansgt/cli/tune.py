"""`ansgt tune GRAPH`: settings searched on validation; the same command goes on, and several processes share a study."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, plain, say, tell, verb
from ansgt.cli.train import DatasetArgument

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from ansgt.metrics import Metric
    from ansgt.runs.comparison import Prepare
    from ansgt.runs.tuning import Budget, Search


def register(app: typer.Typer) -> None:
    app.command("tune")(verb(render)(tune))


def tune(
    dataset: DatasetArgument,
    model: Annotated[str, typer.Option(help="ansgt or a baseline: mlp, gcn, gat, ...")] = "ansgt",
    minutes: Annotated[float | None, typer.Option(help="How long this call searches.")] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="Trials of the whole study, earlier calls and other processes included."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="Of the validation nodes: accuracy, balanced_accuracy, macro_f1, roc_auc, ...")
    ] = "accuracy",
    workers: Annotated[int, typer.Option(help="Processes of this machine that search together.")] = 1,
    study: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where the study is kept (default: runs/...-tune).")
    ] = None,
    root: RootOption = "data",  # type: ignore[assignment]
    split: Annotated[str | None, typer.Option(help="Kind of split, as for train.")] = None,
    num_splits: Annotated[int, typer.Option(help="Splits that every trial trains.")] = 1,
    seed: Annotated[int, typer.Option(help="Seeds the splits, the initialisation and every draw.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    config: Annotated[Path | None, typer.Option(help="A settings file in place of the shipped one.")] = None,
    override: Annotated[
        list[str] | None,
        typer.Option("-o", "--override", metavar="KEY=VALUE", help="Fix one setting; it is not searched."),
    ] = None,
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Search settings on validation and write them as a file that `ansgt train --config` takes.

    Trial 0 has the settings that ship. What is there already is kept: the same command goes on.
    """
    from ansgt.datasets.files import graph_name
    from ansgt.datasets.load import Source
    from ansgt.errors import InputError
    from ansgt.runs.executors import Workers, run_all
    from ansgt.runs.prepare import prepare_run
    from ansgt.runs.tuning import Budget

    budget = Budget(trials, None if minutes is None else 60 * minutes)
    if not 1 <= workers <= 1000:
        raise InputError(f"--workers must be from 1 to 1000, not {workers}.")
    folder = study or Path("runs") / f"{graph_name(dataset)}-{model}-tune"
    options: dict[str, Any] = {"split": split, "num_splits": num_splits, "seed": seed, "device": device}
    options |= {"config": config, "overrides": override or (), "source": Source(root, cache_dir)}
    prepare = functools.partial(prepare_run, dataset, model, **options)
    searching = functools.partial(_search, prepare, folder, metric, tuple(override or ()), cache_dir)
    search = searching()
    search.open()
    try:
        if workers == 1:
            search.run(budget)
        else:
            for done in run_all(functools.partial(_work, searching), [budget] * workers, Workers(workers)):
                if done.error is not None:
                    raise done.error
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the trials so far are in {folder}; the same command goes on.") from None
    return summary(search)


def _search(
    prepare: "Prepare", folder: Path, metric: str, fixed: tuple[str, ...], cache_dir: Path | None
) -> "Search":
    from ansgt.config import parse_override
    from ansgt.runs.tuning import Search, without
    from ansgt.storage import DiskCache, default_cache_dir

    data, config = prepare()
    search = Search(data, config, folder, metric, cache=DiskCache(cache_dir or default_cache_dir()))
    told = functools.partial(_tell, search.judge)
    return without(search, [parse_override(text)[0] for text in fixed], told)


def _work(searching: "functools.partial[Search]", budget: "Budget") -> None:
    searching().run(budget)


def _tell(judge: "Metric", trial: "FrozenTrial", ended: int) -> None:
    value = judge.shown(trial.value) if trial.state.name == "COMPLETE" else trial.state.name.lower()
    tell(f"trial {trial.number}: {value} ({ended} so far)")


def summary(search: "Search") -> dict[str, Any]:
    """What the study has come to; writes the settings file and the page."""
    from ansgt.report.study import write_study
    from ansgt.runs.tuning import Found

    study = search.open()
    found = Found.of(search, study)
    found.write()
    page = write_study(study, found.header(), found.values, search.folder / "study.html")
    return {**found.as_dict(), "header": found.header(), "page": str(page)}


def render(result: dict[str, Any]) -> None:
    table = Table(Column("setting"), Column("found"), title="the best settings")
    for name, value in result["best"].items():
        table.add_row(plain(name), plain(f"{value:.4g}" if isinstance(value, float) else value))
    say(table)
    for line in result["header"]:
        say(line)
    say(f"settings in {result['settings_file']}, page of the study in {result['page']}")
