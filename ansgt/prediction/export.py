"""The inference part of a trained transformer as a program of its own: tokens, proximities and mask in, logits out.

The program is one of `torch.export` (a `.pt2` file, which Python, C++ and AOTInductor read) or ONNX. It knows no graph: the
sequences of a node come from `inputs_of`, and the mean of softmax over a node's sequences is its class probabilities.
"""

import copy
import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from ansgt.device import works_in_half
from ansgt.errors import InputError, unknown_name
from ansgt.models.ansgt import ANSGT
from ansgt.prediction import TrainedModel
from ansgt.prediction.calibration import tempered
from ansgt.prediction.ensemble import Ensemble
from ansgt.prediction.experts import WeightedExperts
from ansgt.sequences import SequenceBatch, SequenceLayout
from ansgt.storage import atomic_path
from ansgt.turns import turn

FORMATS = {"torch": ".pt2", "onnx": ".onnx"}
"""Format -> the suffix of its files."""
TOLERANCE = 1e-4
"""The most by which a program and the model that it came from may differ."""
BATCHES = (64, 1)
"""Sequences at a time when a program is compared with its model."""
MEASURED = 1000
"""Nodes that it is compared on."""
METADATA = "ansgt.json"
"""What a `.pt2` file holds beside the program."""
INPUTS = ("tokens", "proximity", "mask", "log_count", "features", "links")

Run = Callable[[Mapping[str, Tensor]], Tensor]
"""Inputs by name -> logits."""


@dataclass(frozen=True, eq=False, repr=False)
class Inputs:
    """What a program reads, of B sequences with T tokens. With R models tokens to log_count have a second dimension R.

    Args:
        tokens: row of `features` that a token is [B, T], int64; U + g for global node g; 0 where masked.
        proximity: Phi_m(i, j) [B, Q, T, M]; Q = 1 for a transformer of one layer, else T.
        mask: True where a token is real [B, T], bool.
        log_count: log of how often a token was drawn [B, T].
        features: the distinct rows [U, p], dense.
        links: the columns of links of these rows [U, W], dense; None for a model that reads none.
    """

    tokens: Tensor
    proximity: Tensor
    mask: Tensor
    log_count: Tensor
    features: Tensor
    links: Tensor | None = None

    @classmethod
    def of(cls, batch: SequenceBatch, num_features: int) -> "Inputs":
        """A batch in float32 on the CPU."""
        return cls(
            tokens=batch.index.cpu(),
            proximity=batch.proximity.float().cpu(),
            mask=batch.mask.cpu(),
            log_count=batch.log_count.float().cpu(),
            features=_dense(batch.x)[:, :num_features],
            links=None if batch.links is None else _dense(batch.links),
        )

    @classmethod
    def stacked(cls, parts: Sequence["Inputs"]) -> "Inputs":
        """The inputs of R models side by side; every model keeps rows of features of its own."""
        total = sum(len(part.features) for part in parts)
        links = [part.links for part in parts if part.links is not None]
        before, tokens = 0, []
        for part in parts:
            own = len(part.features)
            moved = torch.where(part.tokens < own, part.tokens + before, part.tokens - own + total)
            tokens.append(torch.where(part.mask, moved, 0))
            before += own
        return cls(
            tokens=torch.stack(tokens, dim=1),
            proximity=torch.stack([part.proximity for part in parts], dim=1),
            mask=torch.stack([part.mask for part in parts], dim=1),
            log_count=torch.stack([part.log_count for part in parts], dim=1),
            features=torch.cat([part.features for part in parts]),
            links=torch.cat(links) if links else None,
        )

    def named(self) -> dict[str, Tensor]:
        """The tensors by name, in the program's order."""
        found = {name: getattr(self, name) for name in INPUTS}
        return {name: value for name, value in found.items() if value is not None}

    def rows(self, start: int, stop: int) -> "Inputs":
        """Some of the sequences; the table of features stays whole."""
        own = {name: getattr(self, name)[start:stop] for name in INPUTS[:4]}
        return Inputs(**own, features=self.features, links=self.links)

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}={list(value.shape)}" for name, value in self.named().items())
        return f"Inputs({shapes})"


class Program(nn.Module):
    """What is exported: the logits [B, C] of B sequences, or [B, R, C] of R models that predict together.

    Args:
        models: the trained transformers.
        layout: which slots of a sequence are what.
    """

    def __init__(self, models: Sequence[ANSGT], layout: SequenceLayout) -> None:
        super().__init__()
        self.models = nn.ModuleList(copy.deepcopy(model).cpu().float() for model in models)
        self.layout = layout
        self.eval()

    def forward(
        self,
        tokens: Tensor,
        proximity: Tensor,
        mask: Tensor,
        log_count: Tensor,
        features: Tensor,
        links: Tensor | None = None,
    ) -> Tensor:
        """Logits, for the fields of `Inputs`."""
        own = (tokens, proximity, mask, log_count)
        if len(self.models) == 1:
            return self._logits(0, own, features, links)
        parts = [
            self._logits(number, tuple(value[:, number] for value in own), features, links)
            for number in range(len(self.models))
        ]
        return torch.stack(parts, dim=1)

    def _logits(self, number: int, own: tuple[Tensor, ...], features: Tensor, links: Tensor | None) -> Tensor:
        tokens, proximity, mask, log_count = own
        batch = SequenceBatch(
            self.layout, tokens, mask, log_count, proximity, features, tokens, tokens[:, 0], links
        )
        logits, _ = cast(ANSGT, self.models[number]).classify(batch)
        return logits


def transformers_of(trained: TrainedModel) -> list[Any]:
    """The trained models with sequences that one is made of; raises `InputError` where it has none."""
    if isinstance(trained, WeightedExperts):
        raise InputError(
            "A mixture of experts (effort, time_limit or model=auto) cannot be exported; keep it with save and predict with "
            "load, or train one of its models by itself and export that."
        )
    models = trained.models if isinstance(trained, Ensemble) else [trained]
    if not all(hasattr(model, "sequences") for model in models):
        raise InputError(
            "Only models that read sequences of tokens (ansgt, gophormer) can be exported; this one reads the whole graph "
            "at once: keep it with save, and predict with load."
        )
    return list(models)


def inputs_of(trained: TrainedModel, nodes: Tensor) -> Inputs:
    """What a program needs to classify some nodes: the sequences that the model itself would read, node after node.

    Args:
        trained: the model that was exported, on the graph in question.
        nodes: indices [b]; each has S sequences, b * S in all.
    """
    with turn():
        parts = [
            Inputs.of(model.sequences(nodes), model.model.input.weight.shape[0])
            for model in transformers_of(trained)
        ]
    return parts[0] if len(parts) == 1 else Inputs.stacked(parts)


def probabilities_of(logits: Tensor, num_nodes: int, temperature: float = 1.0) -> Tensor:
    """Class probabilities [b, C]: the mean of softmax over a node's sequences, and over the models (section 5.3).

    Args:
        logits: of the program.
        num_nodes: b.
        temperature: of a calibrated model, as the file says it.
    """
    each = logits.float().softmax(dim=-1).view(num_nodes, -1, logits.shape[-1])
    return tempered(each.mean(dim=1), temperature)


@dataclass(frozen=True)
class Exported:
    """What `export` did.

    Args:
        output: the file.
        format: "torch" or "onnx".
        largest_difference: between the program's numbers and the model's, on the nodes that were measured.
        num_nodes: how many these were.
    """

    output: Path
    format: str
    largest_difference: float
    num_nodes: int


def export(
    trained: TrainedModel,
    path: Path | str,
    format: str = "torch",
    *,
    facts: Mapping[str, Any] | None = None,
    measured: int = MEASURED,
) -> Exported:
    """Writes the program of a trained model, read back and compared with the model.

    Raises `InputError` where they differ by more than 1e-4; the file is then not written.

    Args:
        trained: ANS-GT, Gophormer, or several of either.
        path: the file.
        format: "torch" (`torch.export`) or "onnx" (extra ``ansgt[onnx]``).
        facts: what else the file shall say, as JSON.
        measured: nodes on which program and model are compared.
    """
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    models, path = transformers_of(trained), Path(path)
    num_sequences = len(inputs_of(trained, torch.zeros(1, dtype=torch.int64)))
    few = torch.arange(min(4, trained.graph.num_nodes))
    example = inputs_of(trained, few)
    program = Program([model.model for model in models], models[0].sequences(few[:1]).layout)
    about = _about(trained, example, num_sequences) | dict(facts or {})
    exported = _exported(program, example)
    nodes = torch.linspace(0, trained.graph.num_nodes - 1, min(measured, trained.graph.num_nodes)).long()
    with atomic_path(path) as temporary:
        if format == "torch":
            run = _write_torch(exported, temporary, about)
        else:
            run = _write_onnx(exported, temporary, about)
        difference = largest_difference(run, program, trained, nodes)
        if not difference <= TOLERANCE:
            hint = (
                " On a GPU the model multiplies in half precision: try --device cpu."
                if any(works_in_half(model.model.input.weight.device) for model in models)
                else ""
            )
            raise InputError(
                f"The {format} program and the model differ by {difference:.1e} (allowed: {TOLERANCE:g}); "
                f"nothing was written.{hint}"
            )
    return Exported(path, format, difference, len(nodes))


def largest_difference(run: Run, program: Program, trained: TrainedModel, nodes: Tensor) -> float:
    """The largest difference, over nodes and batches of 64 sequences and of 1, of a program's numbers and the model's.

    Probabilities are compared with what the trained model predicts; logits of single sequences with the module's.
    """
    worst = 0.0
    for part in nodes.split(256):
        inputs = inputs_of(trained, part)
        logits = _in_batches(run, inputs, BATCHES[0])
        expected = trained.predict_proba(part)
        worst = max(worst, _distance(probabilities_of(logits, len(part), trained.temperature), expected))
        each = len(inputs) // len(part)  # one sequence of every node, by itself
        for row in range(0, len(inputs), each):
            single = inputs.rows(row, row + BATCHES[1])
            worst = max(worst, _distance(run(single.named()), logits[row : row + BATCHES[1]]))
        with torch.no_grad():
            worst = max(worst, _distance(logits, program(**inputs.named())))
    return worst


def load_program(path: Path | str) -> tuple[Run, dict[str, Any]]:
    """A program from its file, as a function of named inputs, and what the file says about it."""
    path = Path(path)
    if path.suffix == FORMATS["onnx"]:
        return _read_onnx(path)
    extra = {METADATA: ""}
    try:
        loaded = torch.export.load(path, extra_files=extra)
    except Exception:  # torch raises what its readers raise: RuntimeError, KeyError, zip errors
        raise InputError(f"{path} is not a program that `ansgt export` wrote.") from None
    return _run_of(loaded), json.loads(extra[METADATA] or "{}")


def _exported(program: Program, example: Inputs) -> torch.export.ExportedProgram:
    batch, rows = torch.export.Dim("batch", min=1), torch.export.Dim("rows", min=1)
    named = example.named()
    shapes = {name: {0: rows if name in ("features", "links") else batch} for name in named}
    with _quietly():
        return torch.export.export(program, (), kwargs=named, dynamic_shapes=shapes)


def _write_torch(exported: torch.export.ExportedProgram, path: Path, about: Mapping[str, Any]) -> Run:
    buffer = io.BytesIO()
    torch.export.save(exported, buffer, extra_files={METADATA: json.dumps(about)})
    path.write_bytes(buffer.getvalue())
    return _run_of(torch.export.load(io.BytesIO(buffer.getvalue())))


def _run_of(loaded: torch.export.ExportedProgram) -> Run:
    module = loaded.module()

    def run(named: Mapping[str, Tensor]) -> Tensor:
        with torch.no_grad():
            logits: Tensor = module(**named)
        return logits

    return run


def _write_onnx(exported: torch.export.ExportedProgram, path: Path, about: Mapping[str, Any]) -> Run:
    try:
        import onnx
        import onnxscript  # noqa: F401
    except ImportError:
        raise InputError("ONNX needs onnx, onnxscript and onnxruntime: pip install 'ansgt[onnx]'.") from None
    with _quietly():
        converted = torch.onnx.export(exported, dynamo=True, verbose=False)
    assert converted is not None
    model = converted.model_proto
    onnx.helper.set_model_props(model, {METADATA: json.dumps(about)})
    path.write_bytes(model.SerializeToString())
    return _read_onnx(path)[0]


def _read_onnx(path: Path) -> tuple[Run, dict[str, Any]]:
    try:
        import onnxruntime
    except ImportError:
        raise InputError("ONNX needs onnx, onnxscript and onnxruntime: pip install 'ansgt[onnx]'.") from None
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map.get(METADATA, "{}")

    def run(named: Mapping[str, Tensor]) -> Tensor:
        (logits,) = session.run(None, {name: value.numpy() for name, value in named.items()})
        return torch.from_numpy(logits)

    return run, json.loads(about)


def _about(trained: TrainedModel, example: Inputs, num_sequences: int) -> dict[str, Any]:
    """What a reader of the file must know."""
    named = example.named()
    return {
        "inputs": {name: ["?", *value.shape[1:]] for name, value in named.items()},
        "dtypes": {name: str(value.dtype).removeprefix("torch.") for name, value in named.items()},
        "output": "logits; the mean of softmax over a node's sequences, at the temperature, is its class probabilities",
        "sequences_per_node": num_sequences,
        "temperature": trained.temperature,
        "classes": [_plain(name) for name in trained.graph.classes.tolist()],
    }


def _plain(name: Any) -> Any:
    return name if isinstance(name, str | int | float | bool) else str(name)


def _in_batches(run: Run, inputs: Inputs, size: int) -> Tensor:
    return torch.cat([run(inputs.rows(at, at + size).named()) for at in range(0, len(inputs), size)])


def _distance(one: Tensor, other: Tensor) -> float:
    return float((one.double() - other.double()).abs().max())


def _dense(x: Tensor) -> Tensor:
    return (x if x.layout == torch.strided else x.to_dense()).float().cpu()


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the notices of torch's exporters."""
    level = logging.root.manager.disable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(level)
