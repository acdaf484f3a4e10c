"""`ansgt export RUN`: the inference part of a trained model as a program of `torch.export` or ONNX."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ansgt.cli.common import CacheOption, JsonFlag, RootOption, say, verb
from ansgt.cli.evaluate import RunArgument


def register(app: typer.Typer) -> None:
    app.command("export")(verb(render)(export))


def export(
    run_dir: RunArgument,
    output: Annotated[
        Path | None, typer.Option("--output", help="The file (default: RUN/program.pt2 or .onnx).")
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(help="torch or onnx (extra: ansgt[onnx]); by default what the file's name says."),
    ] = None,
    split: Annotated[int, typer.Option(help="Which of the run's splits.")] = 0,
    nodes: Annotated[
        int, typer.Option(min=1, help="On how many nodes program and model are compared.")
    ] = 1000,
    root: RootOption = "data",  # type: ignore[assignment]
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:<number>.")] = "auto",
    cache_dir: CacheOption = None,
    as_json: JsonFlag = False,
) -> dict[str, Any]:
    """Write tokens, proximities and mask -> logits as a program, and compare it with the model."""
    import ansgt
    from ansgt.errors import InputError
    from ansgt.prediction.export import FORMATS
    from ansgt.prediction.export import export as written
    from ansgt.runs.reopen import FinishedRun

    chosen = format or ("onnx" if output is not None and output.suffix == FORMATS["onnx"] else "torch")
    suffix = FORMATS.get(chosen, "")
    if output is not None and suffix and output.suffix != suffix:
        raise InputError(f"--output of format {chosen} must end in {suffix}, not {output.name!r}.")
    run = FinishedRun.open(run_dir, root=root, device=device, cache_dir=cache_dir)
    facts = {
        "dataset": run.config.dataset,
        "model": run.config.model_name,
        "split": split,
        "ansgt": ansgt.__version__,
    }
    target = output or run.folder.default_program(suffix)
    done = written(run.trained(split), target, chosen, facts=facts, measured=nodes)
    return {
        "run_dir": str(run_dir),
        "split": split,
        "output": str(done.output),
        "format": done.format,
        "largest_difference": done.largest_difference,
        "num_nodes": done.num_nodes,
    }


def render(result: dict[str, Any]) -> None:
    say(f"{result['format']} program in {result['output']}")
    difference, count = result["largest_difference"], result["num_nodes"]
    say(f"largest difference from the model: {difference:.1e} on {count} nodes, in batches of 64 and of 1")
