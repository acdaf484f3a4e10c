"""Which settings does a graph get that nobody tuned on? Trains the candidates of `study/candidates.yaml` on one device.

    python -m study.scripts.leave_one_out --root DATA --seconds 300 --then 540 --workers 14 --out $OUT
    python -m study.scripts.leave_one_out --root DATA --device cpu --workers 2 --slowly --seconds 7200 --out OUT

First the cells of `links`, every family's candidates on the first split, and the ablation; then, until `--then`
seconds have passed, the `--keep` candidates of each family with the best mean validation accuracy on two further splits
(successive halving; of ANS-GT one more), and single heuristics as experts. A line of first.jsonl or second.jsonl is one
trained split: validation and test accuracy, kept epoch, whether the bandit had acted, p, what `auto` chose, seconds,
settings. probabilities-*.tar hold the class probabilities of validation and test nodes (float16), one file per line, for
questions about mixtures of models. `study.scripts.judge` reads them.
"""

import argparse
import io
import json
import lzma
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ansgt.config import RunConfig
from ansgt.datasets import Dataset
from ansgt.datasets.load import Source
from ansgt.device import release_memory
from ansgt.links import LinkVote
from ansgt.runs.prepare import Request, build_config
from ansgt.storage import DiskCache
from study.scripts.one_split import train_once
from study.scripts.pool import add_pool_options, run_pool

CANDIDATES = Path(__file__).parents[1] / "candidates.yaml"
MOST_ON_LARGE = 3
"""Candidates of a family that a machine without an accelerator trains on `large_graphs`; of ANS-GT one more."""
KINDS = ("uniform-60-20-20", "per-class-60-20-20")
LARGE = 4000
"""Training nodes above which the section `large` counts."""
LARGEST_FILE = 15 << 20
"""Bytes of an archive of probabilities."""
KEPT = (
    "val_accuracy", "val_loss", "test_accuracy", "test_loss", "best_epoch", "epochs_run", "seconds", "num_parameters",
    "learned", "bandit", "chosen", "split_hash",
)  # fmt: skip

Task = dict[str, Any]


def candidates() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(CANDIDATES.read_text())
    return found


def name_of(task: Task) -> str:
    parts = (task["family"], task["candidate"], task["dataset"], task["split"], str(task["index"]))
    return "--".join(parts)


def family_tasks(plan: dict[str, Any], names: dict[str, list[str]], splits: list[int]) -> Iterator[Task]:
    """Candidates of every family, data set by data set; `names`: family -> candidates."""
    for dataset in plan["datasets"]:
        for family, chosen in names.items():
            for candidate in chosen:
                for index in splits:
                    yield task_of(plan, family, candidate, dataset, index)


def task_of(plan: dict[str, Any], family: str, candidate: str, dataset: str, index: int) -> Task:
    found = plan["families"][family]
    settings = {**found.get("every", {}), **found["candidates"][candidate]}
    return {
        "family": family,
        "candidate": candidate,
        "dataset": dataset,
        "split": plan["splits"],
        "index": index,
        "model": found["model"],
        "settings": settings,
        "large": plan["large"].get(family, {}),
        "shipped": False,
    }


def link_tasks(plan: dict[str, Any], datasets: list[str], variants: slice, splits: int) -> Iterator[Task]:
    """Shipped settings with links, over all splits of both kinds; a variant's number is its candidate."""
    for dataset in (name for name in datasets if name in plan["links"]):
        for number, variant in list(enumerate(plan["links"][dataset]))[variants]:
            for split in KINDS:
                for index in range(splits):
                    settings = {"link_features": "links", **variant}
                    yield {
                        "family": "shipped+links",
                        "candidate": str(number),
                        "dataset": dataset,
                        "split": split,
                        "index": index,
                        "model": "ansgt",
                        "settings": settings,
                        "large": {},
                        "shipped": True,
                    }


def ablation_tasks(plan: dict[str, Any]) -> Iterator[Task]:
    for dataset in plan["datasets"]:
        for name, change in plan["ablation"].items():
            task = task_of(plan, "ansgt", "draws", dataset, 0)
            yield {
                **task,
                "family": "ablation",
                "candidate": name,
                "settings": {**task["settings"], **change},
            }


def arm_tasks(plan: dict[str, Any], splits: int, links: bool = False) -> Iterator[Task]:
    """Shipped settings, one model, with the bandit and with every heuristic alone: experts of a mixture."""
    for dataset in plan["arms"]["with_links" if links else "datasets"]:
        for sampling in plan["arms"]["samplings"]:
            for index in range(splits):
                yield {
                    "family": "arms+links" if links else "arms",
                    "candidate": sampling,
                    "dataset": dataset,
                    "split": KINDS[0],
                    "index": index,
                    "model": "ansgt",
                    "settings": {
                        "sampling": sampling,
                        "num_models": 1,
                        **({"link_features": "links"} if links else {}),
                    },
                    "large": {},
                    "shipped": True,
                }


def chosen_tasks(plan: dict[str, Any], splits: int) -> Iterator[Task]:
    """The variants of `links` that validation chose, with `links_models` models per split."""
    number = plan["links_models"]
    for dataset, kinds in plan["links_chosen"].items():
        for task in link_tasks(plan, [dataset], slice(None), splits):
            if kinds.get(task["split"]) == int(task["candidate"]):
                name = f"{task['candidate']}-of-{number}"
                yield {**task, "candidate": name, "settings": {**task["settings"], "num_models": number}}


def shipped_tasks(plan: dict[str, Any], splits: int) -> list[Task]:
    """What goes beside the shipped settings: the variants of `links`, and the arms with and without them."""
    names = ["chameleon", "squirrel"]
    tasks = [*link_tasks(plan, names, slice(None), splits), *chosen_tasks(plan, splits)]
    return [*tasks, *arm_tasks(plan, splits, links=True), *arm_tasks(plan, splits)]


def first_tasks(plan: dict[str, Any], splits: int = 10) -> list[Task]:
    """All of the first round, in descending value; the first of every graph early, since it fills the caches."""
    links = list(link_tasks(plan, ["chameleon", "squirrel"], slice(0, 1), splits))
    everything = {family: list(found["candidates"]) for family, found in plan["families"].items()}
    ansgt = list(family_tasks(plan, {"ansgt": everything.pop("ansgt")}, [0]))
    warm = [task for task in ansgt if task["candidate"] == "draws"]
    baselines = list(family_tasks(plan, everything, [0]))
    tasks: list[Task] = []
    for task in warm:  # not all at once: whoever comes later finds compiled code
        tasks += [task, *baselines[:12]]
        baselines = baselines[12:]
    tasks += links + [task for task in ansgt if task not in warm] + baselines
    tasks += list(ablation_tasks(plan))
    tasks += list(link_tasks(plan, ["chameleon", "squirrel"], slice(1, None), splits))
    others = [name for name in plan["links"] if name not in ("chameleon", "squirrel")]
    return tasks + list(link_tasks(plan, others, slice(0, 1), splits))


def left(tasks: list[Task], rows: list[dict[str, Any]]) -> list[Task]:
    """Those without a row: ANS-GT's candidates, then the baselines', then the rest, each in the order of before."""
    done = {name_of(row) for row in rows if "error" not in row}
    order = {"ansgt": 0, "shipped+links": 2, "ablation": 2}
    return sorted(
        (task for task in tasks if name_of(task) not in done), key=lambda task: order.get(task["family"], 1)
    )


def second_tasks(plan: dict[str, Any], rows: list[dict[str, Any]], keep: int) -> list[Task]:
    """The best candidates of every family on the second and third split; nothing but validation is read."""
    names = best_candidates(plan, rows, keep)
    ansgt = {"ansgt": names.pop("ansgt", [])}
    return [*family_tasks(plan, ansgt, [1, 2]), *family_tasks(plan, names, [1, 2])]


def best_candidates(plan: dict[str, Any], rows: list[dict[str, Any]], keep: int) -> dict[str, list[str]]:
    """The candidates of every family with the best mean validation accuracy over the graphs that all of them have.

    One more of ANS-GT's. Nothing but validation is read.
    """
    names = {}
    for family, found in plan["families"].items():
        accuracies: dict[str, dict[str, float]] = {name: {} for name in found["candidates"]}
        for row in rows:
            if "error" not in row and row["family"] == family and row["index"] == 0:
                accuracies[row["candidate"]][row["dataset"]] = row["val_accuracy"]
        accuracies = {name: own for name, own in accuracies.items() if own}
        shared = set.intersection(*map(set, accuracies.values())) if accuracies else set()
        means = {name: sum(own[graph] for graph in shared) for name, own in accuracies.items()}
        names[family] = sorted(means, key=lambda name: -means[name])[: keep + (family == "ansgt")]
    return names


def slow_rounds(plan: dict[str, Any], rows: list[dict[str, Any]], splits: int = 10) -> Iterator[list[Task]]:
    """Rounds for a machine without an accelerator, each chosen by validation accuracies of the rows so far.

    Graph after graph, all candidates on the small ones; the cells of `links`; the `MOST_ON_LARGE` best candidates of
    each family on the large ones; then the second round of above. `rows` grows while a round is trained.
    """
    everything = {family: list(found["candidates"]) for family, found in plan["families"].items()}
    large = [name for name in plan["datasets"] if name in plan["large_graphs"]]
    small = [name for name in plan["datasets"] if name not in large]
    yield list(family_tasks({**plan, "datasets": small}, everything, [0]))
    yield list(link_tasks(plan, ["chameleon", "squirrel"], slice(0, 2), splits))
    yield list(family_tasks({**plan, "datasets": large}, best_candidates(plan, rows, MOST_ON_LARGE), [0]))
    yield second_tasks(plan, rows, 2)
    yield shipped_tasks(plan, splits)


def train_slowly(plan: dict[str, Any], options: argparse.Namespace, out: Path) -> None:
    """All rounds on one machine; a file of rows per round and call, so that the same command goes on."""
    folder = out / "probabilities"
    folder.mkdir(parents=True, exist_ok=True)
    options.probabilities = str(folder)
    started, seconds = time.time(), options.seconds
    rows = [row for path in sorted(out.glob("rows-*.jsonl*")) for row in read_rows(path)]
    if options.done is not None:
        rows += read_rows(options.done)
    rounds = slow_rounds(plan, rows, options.splits)
    for tasks in [shipped_tasks(plan, options.splits)] if options.shipped else rounds:
        done = {name_of(row) for row in rows if "error" not in row}
        tasks = [task for task in tasks if name_of(task) not in done]
        options.seconds = seconds - (time.time() - started)
        if tasks and options.seconds > 0:
            path = out / f"rows-{len(list(out.glob('rows-*.jsonl*'))):03d}.jsonl"
            run_pool(train_one, tasks, options, path)
            rows += read_rows(path)


def config_of(task: Task, data: Dataset, device: str) -> tuple[RunConfig, Any]:
    """Settings and split of a task; settings that ship for single data sets count only where the task says so."""
    split = data.split(task["split"], task["index"], 0)
    settings = {**task["settings"], **(task["large"] if len(split.train) > LARGE else {})}
    known = data.name if task["shipped"] else "nobody"
    request = Request(known, task["model"], task["split"], seed=0, device=device)
    return build_config(request, overrides=settings), split


def train_one(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    started = time.perf_counter()
    data = Source(options.root, options.cache).load(task["dataset"])
    config, split = config_of(task, data, options.device)
    trained = train_once(config, data.graph, split, DiskCache(options.cache))
    scored = np.concatenate([split.val.numpy(), split.test.numpy()])
    folder = Path(options.probabilities)
    np.save(folder / f"{name_of(task)}.npy", trained.predicted[scored].astype(np.float16))
    record = {**task, **{key: trained.result[key] for key in KEPT if key in trained.result}}
    if task["family"] == "shipped+links":
        record["vote"] = LinkVote.of(data.graph, split.train).as_dict()
    record["seconds_all"] = time.perf_counter() - started
    release_memory(options.device)
    return record


def pack(folder: Path, out: Path, most: int = 4) -> None:
    """Archives of at most `LARGEST_FILE` bytes, ANS-GT's probabilities first; what does not fit stays behind."""
    paths = sorted(
        folder.glob("*.npy"),
        key=lambda path: (not path.name.startswith(("ansgt", "arms", "shipped")), path.name),
    )
    for number in range(most):
        if not paths:
            return
        with tarfile.open(out / f"probabilities-{number}.tar", "w") as archive:
            size = 0
            while paths and size + paths[0].stat().st_size + 2048 < LARGEST_FILE:
                path = paths.pop(0)
                info = tarfile.TarInfo(path.name)
                info.size = path.stat().st_size
                archive.addfile(info, io.BytesIO(path.read_bytes()))
                size += info.size + 1024


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; `.xz` is unpacked."""
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--then", type=float, default=540, help="seconds after which the second round starts nothing"
    )
    parser.add_argument("--keep", type=int, default=2)
    parser.add_argument("--splits", type=int, default=10, help="of the cells with links")
    parser.add_argument("--only", nargs="*", help="data sets, for a trial run")
    parser.add_argument("--done", type=Path, help="rows to go on from: ANS-GT's candidates first")
    parser.add_argument(
        "--slowly",
        action="store_true",
        help="for CPUs: small graphs first, few candidates on large ones; goes on",
    )
    parser.add_argument(
        "--shipped", action="store_true", help="with --slowly: links and arms of the shipped settings alone"
    )
    add_pool_options(parser)
    options = parser.parse_args()
    started = time.time()
    plan = candidates()
    if options.only:
        plan["datasets"] = options.only
        plan["links"] = {name: found for name, found in plan["links"].items() if name in options.only}
        for key in ("datasets", "with_links"):
            plan["arms"][key] = [name for name in plan["arms"][key] if name in options.only]
    out = Path(options.out)
    if options.slowly:
        train_slowly(plan, options, out)
        return
    with tempfile.TemporaryDirectory() as folder:
        options.probabilities = folder
        first = first_tasks(plan, options.splits)
        if options.done is not None:
            first = left(first, read_rows(options.done))
        run_pool(train_one, first, options, out / "first.jsonl")
        options.seconds = options.then - (time.time() - started)
        if options.seconds > 0:
            tasks = second_tasks(plan, read_rows(out / "first.jsonl"), options.keep)
            tasks += arm_tasks(plan, options.splits)
            run_pool(train_one, tasks, options, out / "second.jsonl")
        pack(Path(folder), out)


if __name__ == "__main__":
    main()
