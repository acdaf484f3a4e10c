"""The command line: `ansgt VERB`, one file a verb. Verbs are imported when they are asked for."""

import importlib
import sys

import typer

from ansgt.cli.process import keep_freed_memory, wait_quietly

VERBS = {
    "datasets": "list the known data sets",
    "train": "train a model over one or more splits",
    "evaluate": "re-score a saved run",
    "predict": "write per-node class probabilities of a saved run",
    "explain": "which nodes a node attended to, and which heuristic brought them",
    "coarsen": "coarsen a graph into super-nodes",
    "compare": "several models on several data sets, on the same splits",
    "report": "one self-contained HTML page for one or more runs",
    "bench": "the project's own benchmarks",
}
"""Verb -> its line in `ansgt --help`. Verb `x` lives in `ansgt/cli/x.py` as `register(app)`."""


def build_app(verbs: list[str]) -> typer.Typer:
    """The application with only the given verbs loaded in full; the others show their one-line help."""
    app = typer.Typer(
        name="ansgt",
        help="Hierarchical Graph Transformer with Adaptive Node Sampling: node classification on real graphs.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode="rich",
    )

    @app.callback()
    def ansgt() -> None:
        """Hierarchical Graph Transformer with Adaptive Node Sampling: node classification on real graphs."""

    for name, line in VERBS.items():
        if name in verbs:
            importlib.import_module(f"ansgt.cli.{name}").register(app)
        else:
            app.command(name, help=line[0].upper() + line[1:] + ".")(_placeholder)
    return app


def _placeholder() -> None:
    """Only listed in `ansgt --help`; `main` loads the real verb before it is called."""


def main() -> None:
    wait_quietly()
    keep_freed_memory()
    asked = [argument for argument in sys.argv[1:] if not argument.startswith("-")][:1]
    build_app(asked)()
