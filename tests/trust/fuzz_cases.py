"""What the fuzzer feeds: every case is made from (seed, number) alone, in a folder of its own.

A case is a function (rng, folder) that makes something hostile, hands it to the product, and checks what comes back. It
raises `Wrong` where the product accepted it and gave something else than what the file says.
"""

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from typer.testing import CliRunner

from ansgt.arrays import UNSIGNED
from ansgt.cli import VERBS, build_app
from ansgt.config import RunConfig
from ansgt.datasets import Dataset, load
from ansgt.runs.folder import RunFolder, by_model
from ansgt.runs.prepare import Request, build_config, train
from ansgt.runs.reopen import FinishedRun, evaluate_run
from ansgt.storage import read_json

Rng = np.random.Generator
NUM = 24
LONGEST = 600


class Wrong(AssertionError):
    """Accepted, and not what was given."""


class Refused(Exception):
    """The command line refused, as it should."""


def pick(rng: Rng, values: Any) -> Any:
    return list(values)[int(rng.integers(len(list(values))))]


def good_graph(rng: Rng, masks: bool = True) -> dict[str, Any]:
    y = np.arange(NUM) % 3
    arrays: dict[str, Any] = {
        "x": rng.normal(size=(NUM, 5)).round(2),
        "edge_index": rng.integers(NUM, size=(2, 40)),
        "y": y,
    }
    if masks:
        arrays |= {
            f"{part}_mask": np.arange(NUM) // 8 == i for i, part in enumerate(("train", "val", "test"))
        }
    return arrays


EVIL_NUMBERS = (
    0,
    -1,
    1,
    2**31,
    2**31 - 1,
    -(2**31),
    2**63 - 1,
    -(2**63),
    10**8,
    10**12,
    1e300,
    np.nan,
    np.inf,
    -np.inf,
)
KINDS = (
    "i1",
    "u1",
    "i2",
    "u2",
    "i4",
    "u4",
    "i8",
    "u8",
    ">i4",
    ">f8",
    "f2",
    "f4",
    "f8",
    "g",
    "c8",
    "c16",
    "?",
    "S3",
    "U3",
    "O",
    "M8[s]",
    "m8[s]",
    "V4",
)
NAMES = (
    "x",
    "edge_index",
    "y",
    "train_mask",
    "val_mask",
    "test_mask",
    "x_data",
    "x_indices",
    "x_indptr",
    "x_shape",
)
ODD_NAMES = (
    "train_masks",
    "val_masks",
    "train_idx",
    "X",
    "Y",
    "edges",
    "labels",
    "names",
    "../x",
    "x.npy",
    "",
    "file",
    "edge_attr",
    "é\x00",
)


def mutate_array(rng: Rng, array: Any) -> Any:
    """One array, changed in kind, shape or content where it can be."""
    try:
        return _mutated(rng, np.array(array))
    except (TypeError, ValueError, OverflowError):
        return array


def _mutated(rng: Rng, array: np.ndarray) -> Any:
    how = int(rng.integers(10))
    if how == 0:
        with np.errstate(all="ignore"):
            return array.astype(pick(rng, KINDS))
    if how == 1 and array.size:
        flat = array.reshape(-1).astype(pick(rng, ("f8", "i8", array.dtype.str)), copy=True)
        flat[int(rng.integers(len(flat)))] = pick(rng, EVIL_NUMBERS)
        return flat.reshape(array.shape)
    if how == 2:
        return array.reshape(pick(rng, ((-1,), (1, -1), (-1, 1), (1, 1, -1))))
    if how == 3:
        return array[: int(rng.integers(array.shape[0] + 1))] if array.ndim else array
    if how == 4:
        return pick(
            rng,
            (
                np.array(3),
                np.array(None),
                np.array("x"),
                np.zeros(0),
                np.zeros((0, 5)),
                np.zeros((NUM, 0)),
                np.zeros((2, 0), int),
            ),
        )
    if how == 5:
        return np.concatenate([array, array]) if array.ndim else array
    if how == 6:
        return array[::-1] if array.ndim else array
    if how == 7:
        return array.T
    if how == 8:
        return rng.integers(-3, NUM + 3, size=array.shape)
    return np.zeros((10**9, 0)) if rng.random() < 0.3 else np.asfortranarray(array)


def sparse_parts(rng: Rng, x: np.ndarray) -> dict[str, np.ndarray]:
    import scipy.sparse as sp

    x = sp.csr_array(x * (rng.random(x.shape) < 0.4))
    return {"x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr, "x_shape": np.array(x.shape)}


def mutate_graph(rng: Rng) -> dict[str, Any]:
    arrays = good_graph(rng, masks=rng.random() < 0.7)
    if rng.random() < 0.35:
        arrays |= sparse_parts(rng, arrays["x"])
        if rng.random() < 0.9:
            del arrays["x"]
    for _ in range(int(rng.integers(0, 4))):
        key = pick(rng, arrays)
        how = rng.random()
        if how < 0.7:
            arrays[key] = mutate_array(rng, arrays[key])
        elif how < 0.8:
            del arrays[key]
        elif how < 0.9:
            arrays[pick(rng, ODD_NAMES)] = arrays.pop(key)
        else:
            arrays[pick(rng, NAMES)] = arrays[key]
        if not arrays:
            break
    return arrays


def check_graph(data: Dataset, arrays: dict[str, Any]) -> None:
    """The graph is a graph, and the one that the arrays say."""
    graph = data.graph
    n = graph.num_nodes
    x, y = graph.features, graph.y.numpy()
    x = x.toarray() if hasattr(x, "toarray") else x
    if graph.adj.shape != (n, n) or (abs(graph.adj - graph.adj.T)).nnz or graph.adj.diagonal().any():
        raise Wrong("the adjacency is not that of a simple graph")
    if x.shape[0] != n or not np.isfinite(x).all() or len(y) != n or y.min(initial=0) < -1:
        raise Wrong("features or labels of another size, or not finite")
    if "x" in arrays:
        with np.errstate(all="ignore"):
            if not np.array_equal(x, np.asarray(arrays["x"]).astype(np.float32)):
                raise Wrong("other features")
    given = np.asarray(arrays["y"]).reshape(-1)
    if given.dtype.kind == "U":
        same = [graph.class_name(code) or "" for code in y] == given.tolist()
    else:
        given = given.astype(np.float64)
        shown = np.array([-1 if code < 0 else graph.class_name(code) for code in y], dtype=np.float64)
        same = np.array_equal(shown, np.where(np.isnan(given), -1, given))
    if not same:
        raise Wrong("other labels")
    edges = np.asarray(arrays["edge_index"]).astype(np.int64).reshape(2, -1)
    pairs = {(int(a), int(b)) for a, b in edges.T if a != b}
    if {tuple(pair) for pair in graph.edge_index.T.tolist()} != pairs | {(b, a) for a, b in pairs}:
        raise Wrong("other edges")
    masks = [key for key in arrays if key.startswith(("train", "val", "test"))]
    if masks and data.default_split != "given":
        raise Wrong(f"{masks} are not used")
    if masks:
        split = data.split()
        for part in ("train", "val", "test"):
            mask = np.asarray(arrays.get(f"{part}_mask", np.zeros(n))).astype(float)
            if not np.array_equal(getattr(split, part).numpy(), np.flatnonzero(mask)):
                raise Wrong(f"another {part} part")


def graph_npz(rng: Rng, folder: Path) -> None:
    arrays = mutate_graph(rng)
    path = folder / "g.npz"
    try:
        pick(rng, (np.savez, np.savez_compressed))(path, **arrays)
    except (TypeError, ValueError):  # names that numpy does not write
        return
    data = load(str(path))
    data.split()
    check_graph(data, arrays)


def torch_value(rng: Rng, value: Any) -> Any:
    how = rng.random()
    if how < 0.1:
        return pick(
            rng, (None, [1, 2], "text", 3, {"a": 1}, {1: 2}, [[1], [2, 3]], torch.zeros(1).expand(10**12), {})
        )
    try:
        tensor = torch.from_numpy(np.ascontiguousarray(value))
    except (TypeError, ValueError):  # kinds and byte orders that torch does not know
        return value if how < 0.5 else 3
    if how < 0.2 and tensor.ndim == 2 and tensor.numel() and tensor.dtype not in UNSIGNED:
        tensor = pick(rng, (tensor.to_sparse_coo, tensor.to_sparse_csr, tensor.to_sparse_csc))()
        if rng.random() < 0.6 and tensor._nnz() if tensor.layout == torch.sparse_coo else False:
            tensor._indices()[0, -1] = int(pick(rng, (-1, 10**9, NUM)))
        return tensor
    return tensor


def graph_pt(rng: Rng, folder: Path) -> None:
    from torch_geometric.data import Data

    arrays = mutate_graph(rng)
    values: dict[Any, Any] = {key: torch_value(rng, value) for key, value in arrays.items()}
    path = folder / "g.pt"
    if rng.random() < 0.05:
        values[pick(rng, (3, None, (1, 2), True))] = torch.zeros(1)
    try:
        torch.save(Data(**values) if rng.random() < 0.7 else values, path)
    except Exception:  # names that PyG does not take
        return
    data = load(str(path))
    data.split()
    plain = {key: value for key, value in values.items() if isinstance(value, torch.Tensor)}
    dense = {str(key): value.to_dense().numpy() for key, value in plain.items() if value.numel() < 10**6}
    dense |= {key: value for key, value in arrays.items() if key not in dense and values[key] is not None}
    check_graph(data, dense)


def mutate_bytes(rng: Rng, content: bytes) -> bytes:
    """Flips, cuts, zeros, repeats, numbers of all sizes."""
    raw = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        if not raw:
            break
        at, size = int(rng.integers(len(raw))), int(rng.integers(1, 64))
        how = int(rng.integers(7))
        if how == 0:
            raw[at] ^= 1 << int(rng.integers(8))
        elif how == 1:
            del raw[at:]
        elif how == 2:
            raw[at : at + size] = bytes(len(raw[at : at + size]))
        elif how == 3:
            raw[at:at] = raw[at : at + size]
        elif how == 4:
            del raw[at : at + size]
        elif how == 5:
            raw[at : at + 8] = b"\xff" * len(raw[at : at + 8])
        else:
            raw[at : at + size] = rng.bytes(len(raw[at : at + size]))
    return bytes(raw)


def graph_bytes(rng: Rng, folder: Path, suffix: str) -> None:
    arrays = good_graph(rng)
    path = folder / f"g{suffix}"
    if suffix == ".npz":
        pick(rng, (np.savez, np.savez_compressed))(path, **arrays)
    else:
        from torch_geometric.data import Data

        values = {key: torch.from_numpy(value) for key, value in arrays.items()}
        old = rng.random() < 0.3
        torch.save(
            Data(**values) if rng.random() < 0.7 else values, path, _use_new_zipfile_serialization=not old
        )
    first = load(str(path))
    content = mutate_bytes(rng, path.read_bytes())
    path.write_bytes(content)
    data = load(str(path))
    same = data.graph.content_hash == first.graph.content_hash and data.split().hash == first.split().hash
    if not same and (suffix == ".npz" or content[:2] == b"PK"):  # files before torch 1.6 have no checksum
        raise Wrong("a damaged file was read as another graph")


def graph_npz_bytes(rng: Rng, folder: Path) -> None:
    graph_bytes(rng, folder, ".npz")


def graph_pt_bytes(rng: Rng, folder: Path) -> None:
    graph_bytes(rng, folder, ".pt")


def evil_value(rng: Rng, depth: int = 0) -> Any:
    how = int(rng.integers(14 if depth < 3 else 12))
    plain = (
        None, True, False, 0, -1, 1, 3, 0.5, -0.5, 1e-3, float("nan"), float("inf"), 2**31, 2**63, 10**400, 1e308,
        "", "text", "auto", "1e-3", "x" * 5000, "nan", "[/red]", "\x1b[31m", "\ud800", "9" * 5000, "none", "adam",
    )  # fmt: skip
    if how < 12:
        return pick(rng, plain)
    if how == 12:
        return [evil_value(rng, depth + 1) for _ in range(int(rng.integers(4)))]
    return {
        pick(rng, ("a", "lr", "model", "1", "x" * 700)): evil_value(rng, depth + 1)
        for _ in range(int(rng.integers(3)))
    }


def mutate_tree(rng: Rng, tree: Any) -> Any:
    """One place in nested mappings and lists, replaced, dropped, renamed or added to."""
    if isinstance(tree, dict) and tree and rng.random() < 0.85:
        found = dict(tree)
        key = pick(rng, found)
        how = rng.random()
        if how < 0.7:
            found[key] = mutate_tree(rng, found[key])
        elif how < 0.8:
            del found[key]
        elif how < 0.9:
            found[f"{key}s"] = found.pop(key)
        else:
            found[pick(rng, ("speed", "", "lr", "x" * 900, "num_layers"))] = evil_value(rng)
        return found
    if isinstance(tree, list) and tree and rng.random() < 0.6:
        return [*tree[:-1], mutate_tree(rng, tree[-1])]
    return evil_value(rng)


SETTINGS = {
    "default": {
        "model": {"hidden_channels": 64, "num_layers": 2, "dropout": 0.5},
        "optim": {"lr": 0.01, "weight_decay": 0.0, "clip_norm": None, "eps": 1e-8, "beta1": 0.9},
        "train": {"epochs": 3, "patience": None, "select": "loss", "num_models": 1},
        "data": {"normalize_features": "none", "size_columns": True},
    },
    "newman": {"optim": {"lr": 0.1}},
}
YAML_TEXTS = (
    "a: &a [*a]", "!!python/object/apply:os.system [ls]", "a: 2024-99-99", "[" * 3000, "? [a]\n: 1", "a: !!binary x",
    "train: {epochs: 2024-01-01}", "train: {epochs: 1_000}", "train: {epochs: 0x" + "f" * 5000 + "}", "\x00",
    "\t", "---\n---",
    "optim: {lr: !!float nope}", "optim: {lr: 1}\noptim: {lr: 2}", "<<: [1]", "train: &t {<<: *t}",
    "default: [1]", "%TAG ! x",
)  # fmt: skip


def check_config(config: RunConfig) -> None:
    text = json.dumps(config.as_dict(), allow_nan=False)
    if RunConfig.from_dict(json.loads(text)).as_dict() != config.as_dict():
        raise Wrong("a config that does not come back from its file")


def settings_file(rng: Rng, folder: Path) -> None:
    path, model = folder / "s.yaml", pick(rng, ("gcn", "mlp", "ansgt", "gat"))
    how = rng.random()
    tree = SETTINGS if rng.random() < 0.7 else SETTINGS["default"]
    if how < 0.6:
        for _ in range(int(rng.integers(1, 3))):
            tree = mutate_tree(rng, tree)
        content = yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass")
    elif how < 0.8:
        content = mutate_bytes(rng, yaml.safe_dump(tree).encode())
    elif how < 0.95:
        content = pick(rng, YAML_TEXTS).encode()
    else:
        content = rng.bytes(200)
    path.write_bytes(content)
    overrides = {}
    if rng.random() < 0.2:
        overrides = {
            pick(rng, ("lr", "optim.lr", "train.epochs", "speed", "a.b", "", "x" * 900)): evil_value(rng)
        }
    check_config(build_config(Request("newman", model, "uniform-60-20-20"), path, overrides))


@cache
def finished() -> tuple[Path, dict[str, Any]]:
    """A small run on a graph file, and what evaluating it gives; made once, before the workers are."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="ansgt-fuzz-"))
    np.savez(folder / "g.npz", **good_graph(np.random.default_rng(0)))
    train(
        str(folder / "g.npz"),
        "mlp",
        run_dir=folder / "run",
        device="cpu",
        overrides={"epochs": 2, "hidden_channels": 4},
    )
    return folder / "run", evaluate_run(FinishedRun.open(folder / "run", device="cpu"))


def config_file(rng: Rng, folder: Path) -> None:
    tree = RunFolder(finished()[0]).config().as_dict()
    path = folder / "config.json"
    if rng.random() < 0.7:
        for _ in range(int(rng.integers(1, 3))):
            tree = mutate_tree(rng, tree)
        path.write_bytes(json.dumps(tree).encode())
    else:
        path.write_bytes(mutate_bytes(rng, json.dumps(tree).encode()))
    check_config(RunConfig.from_dict(read_json(path)))


def run_directory(rng: Rng, folder: Path) -> None:
    source, expected = finished()
    target = folder / "run"
    shutil.copytree(source, target)
    files = sorted(path for path in target.rglob("*") if path.is_file() and path.name != ".lock")
    for path in (pick(rng, files) for _ in range(int(rng.integers(1, 3)))):
        if not path.is_file():
            continue
        how = rng.random()
        if how < 0.1:
            path.unlink()
        elif how < 0.15:
            path.unlink()
            path.mkdir()
        elif path.suffix == ".json" and how < 0.7:
            path.write_text(json.dumps(mutate_tree(rng, read_json(source / path.relative_to(target)))))
        elif path.suffix == ".npz" and how < 0.7:
            with np.load(source / path.relative_to(target)) as stored:
                arrays = {key: stored[key] for key in stored.files}
            key = pick(rng, arrays)
            arrays[key] = mutate_array(rng, arrays[key])
            np.savez(path, **arrays)
        else:
            path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    run = FinishedRun.open(target, device="cpu")
    result = evaluate_run(run)
    for index in range(run.config.num_splits):
        split = run.folder.split(index)
        by_model(split.metrics())
        by_model(split.history())
        split.predictions()
    if {**result, "run_dir": ""} != {**expected, "run_dir": ""} and result["matches_record"]:
        raise Wrong("a damaged record gives another result")


WORDS = (
    "newman", "g.npz", "none.npz", "run", ".", "", "--json", "--help", "--model", "mlp", "gcn", "gnc",
    "--split", "given", "--seed",
    "-1", "0", "99999999999999999999", "nan", "--num-splits", "2", "--device", "cpu", "tpu", "cuda:9", "-o",
    "lr=nan", "epochs=1",
    "epochs=0", "dropout=2", "=", "a=b", "lr", "--config", "s.yaml", "[/red]", "[bold]", "$x$", "--run-dir",
    "r", "x" * 3000,
    "--output", "p.csv", "p.txt", "--graph", "--node", "--top", "--ratio", "\x1b[31m", "\udcff",
    "newman-0.5", "newman-nan", "--resume",
    "--overwrite", "--method", "9" * 5000, "--root", "--cache-dir",
)  # fmt: skip


EXPERTS: tuple[list[str], ...] = (
    [], [], ["--effort", "quick"], ["--effort", "best"], ["--effort", "much"], ["--time-limit", "1"], ["--time-limit", "-1"],
    ["--time-limit", "nan"], ["--time-limit", "1e-9"], ["--effort", "best", "-o", "num_models=2"], ["--effort", ""],
)  # fmt: skip
BUDGETS: tuple[list[str], ...] = (
    ["--trials", "1"], ["--trials", "2", "--metric", "roc_auc"], ["--trials", "0"], ["--minutes", "nan"],
    ["--minutes", "-1"], ["--minutes", "1e-9"], ["--trials", "1", "--metric", "x"], ["--trials", "1", "--workers", "-1"], [],
)  # fmt: skip
GRAPHS = (["g.npz"], ["newman"], ["tables"], ["tables/edges.csv"], ["synthetic-30"], [])
STARTS: dict[str, tuple[list[str], ...]] = {
    "train": GRAPHS,
    "coarsen": GRAPHS,
    "prepare": GRAPHS,
    "tune": GRAPHS,
    "datasets": (["--root", "."],),
    "settings": ([], ["ansgt"], ["gcn"]),
    "compare": (
        ["--models", "mlp", "--datasets", "newman", "--num-splits", "1", "--workers", "1", "-o", "epochs=1"],
    ),
    "reproduce": (["--list"], ["--list", "all"], ["--list", "--from", "run"]),
    "bench": (["scale", "--no-peer", "--epochs", "1", "--sizes"], ["coarsening", "--quick", "--root", "."]),
}
"""Verb -> words that a good command may begin with; of the others it is a run."""


def command_line(rng: Rng, folder: Path) -> None:
    import contextlib
    import os

    source, _ = finished()
    shutil.copytree(source, folder / "run")
    arrays = mutate_graph(rng) if rng.random() < 0.3 else good_graph(rng)
    np.savez(folder / "g.npz", **{key: value for key, value in arrays.items() if key in NAMES})
    (folder / "s.yaml").write_text(pick(rng, YAML_TEXTS))
    (folder / "tables").mkdir()
    (folder / "tables" / "edges.csv").write_text("source,target\n0,1\n1,2\n2,3\n")
    verb = pick(rng, VERBS)
    arguments = [verb]
    if verb in STARTS:
        arguments += pick(rng, STARTS[verb])
    elif rng.random() < 0.8:
        arguments.append("run")
    if verb == "explain" and rng.random() < 0.7:
        arguments.append("3")
    if verb == "train":
        arguments += ["--model", pick(rng, ("mlp", "gcn")), "--device", "cpu", "-o", "epochs=1"]
        arguments += pick(rng, EXPERTS)
    if verb == "tune":
        arguments += ["--model", pick(rng, ("mlp", "auto")), "--device", "cpu", "-o", "epochs=1", "--study"]
        arguments += [pick(rng, ("new", "run", "g.npz", ".")), *pick(rng, BUDGETS)]
    for _ in range(int(rng.integers(0, 4))):
        arguments.insert(int(rng.integers(1, len(arguments) + 1)), pick(rng, WORDS))
    with contextlib.chdir(folder):
        os.environ["ANSGT_CACHE"] = str(folder / "cache")
        done = CliRunner().invoke(build_app([verb]), arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if "Traceback" in done.stderr:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    if done.exit_code not in (0, 1, 2):
        raise Wrong(f"exit code {done.exit_code}")
    if done.exit_code == 0 and "--json" in arguments and "--help" not in arguments:
        json.loads(done.stdout)
    if done.exit_code:
        said = [line for line in done.stderr.splitlines() if line.startswith(("error:", "interrupted:"))]
        if len(said) != 1 or done.stdout:
            raise Wrong(f"refused with {len(said)} sentences and {len(done.stdout)} characters on stdout")
        raise Refused(said[0])


Case = Callable[[Rng, Path], None]
CASES: dict[str, Case] = {
    "graph npz": graph_npz,
    "graph pt": graph_pt,
    "graph npz bytes": graph_npz_bytes,
    "graph pt bytes": graph_pt_bytes,
    "settings file": settings_file,
    "config file": config_file,
    "run directory": run_directory,
    "command line": command_line,
}
