"""The command line: `ansgt VERB`, one file a verb. Verbs are imported when they are asked for."""

import ctypes
import gc
import importlib
import io
import os
import sys
import time
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST = {M_MMAP_THRESHOLD: 2**25, M_TRIM_THRESHOLD: 2**31 - 1}
"""The most that glibc accepts."""

began: float | None = None
"""When the program was started: a time limit counts from here."""
VERBS = {
    "datasets": "list the known data sets",
    "settings": "every setting of a model, with what it takes, its default and what it does",
    "prepare": "compute and store the heuristics' rows of a graph",
    "train": "train a model over one or more splits",
    "tune": "search settings on validation within a budget of minutes or trials",
    "evaluate": "re-score a saved run",
    "predict": "write per-node class probabilities of a saved run",
    "explain": "which nodes a node attended to, and which heuristic brought them",
    "export": "the trained model as a torch.export or ONNX program",
    "coarsen": "coarsen a graph into super-nodes",
    "compare": "several models on several data sets, on the same splits",
    "reproduce": "tables and figures of the paper, from stored records or trained anew",
    "report": "one self-contained HTML page for one or more runs",
    "bench": "the project's own benchmarks",
}
"""Verb -> its line in `ansgt --help`. Verb `x` lives in `ansgt/cli/x.py` as `register(app)`."""


COMPLETE = "_ANSGT_COMPLETE"
"""Set by a shell that wants to complete a line."""


class OneSentence(TyperGroup):
    """Refuses a command line as every verb refuses its input: in one short sentence, whatever a word of it holds.

    Help texts are shown as they are written: rich would take `[tables]` for a style.
    """

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        _keep_brackets(self)

    def main(self, *args: Any, **named: Any) -> Any:
        standalone = named.pop("standalone_mode", True)
        try:
            code = super().main(*args, **{**named, "standalone_mode": False})
        except Exception as error:  # click's own, by what they can do: typer brings a copy of click
            if not hasattr(error, "format_message") or not standalone:
                raise
            code = _refused(error)
        if standalone:
            sys.exit(code or 0)
        return code


def _keep_brackets(command: Any) -> None:
    """Escapes the help of a command, its options and, of a group, its commands."""
    for part in (command, *command.params):
        if getattr(part, "help", None):
            part.help = escape(part.help)
    for one in getattr(command, "commands", {}).values():
        _keep_brackets(one)


def _refused(error: Any) -> int:
    """Says what is wrong with a command line; its exit code."""
    from ansgt.cli.common import fail
    from ansgt.errors import InputError

    if type(error).__name__ == "NoArgsIsHelpError":  # the help that was asked for by silence
        error.show()
    else:
        command = getattr(getattr(error, "ctx", None), "command_path", "ansgt")
        sentence = error.format_message().rstrip(".")
        fail(str(InputError(f"{sentence} (see `{command} --help`).")))
    return int(error.exit_code)


def build_app(verbs: list[str]) -> typer.Typer:
    """The application with only the given verbs loaded in full; the others show their one-line help."""
    app = typer.Typer(
        name="ansgt",
        cls=OneSentence,
        help="Hierarchical Graph Transformer with Adaptive Node Sampling: node classification on real graphs.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )

    @app.callback()
    def ansgt(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=_say_version, is_eager=True, help="Say which version this is."
            ),
        ] = False,
    ) -> None:
        """Hierarchical Graph Transformer with Adaptive Node Sampling: node classification on real graphs."""

    for name, line in VERBS.items():
        if name in verbs:
            importlib.import_module(f"ansgt.cli.{name}").register(app)
        else:
            app.command(name, help=line[0].upper() + line[1:] + ".")(_placeholder)
    return app


def _say_version(asked: bool) -> None:
    if asked:
        from ansgt import __version__

        print(f"ansgt {__version__}")
        raise typer.Exit


def _placeholder() -> None:
    """Only listed in `ansgt --help`; `main` loads the real verb before it is called."""


def wait_quietly() -> None:
    """Threads that wait by spinning make a small step a hundred times slower when another process uses the same cores."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def print_anything() -> None:
    """A name that the terminal's encoding lacks is printed with escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def keep_freed_memory() -> bool:
    """Tensors of some megabytes are given back to the system and asked for again every step, a page fault for every
    4 KiB. With these thresholds the process keeps them. Whoever sets glibc's variables
    knows better; without glibc nothing happens.

    Returns:
        Whether it was done.
    """
    if any(name.startswith("MALLOC_") for name in os.environ) or "GLIBC_TUNABLES" in os.environ:
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    return all(mallopt(name, value) for name, value in LARGEST.items())


def collect_rarely() -> None:
    """Looking for reference cycles among the million objects of torch and numba took a second and a half of a small run."""
    gc.set_threshold(50_000, 20, 20)


def asked_verb() -> list[str]:
    """The verb of this command line, or of the one that a shell wants to complete; [] where there is none yet."""
    words = sys.argv[1:]
    if COMPLETE in os.environ:  # bash says it in one variable, the other shells in typer's
        words = (os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()[1:]
    verbs = [word for word in words if not word.startswith("-")][:1]
    return [verb for verb in verbs if verb in VERBS]


def process_began() -> float:
    """When this process was started, in the seconds of `time.perf_counter`; now, where the system does not say."""
    now = time.perf_counter()
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as stream:
            ticks = int(stream.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - age if 0 <= age < 600 else now


def main() -> None:
    global began
    began = process_began()
    wait_quietly()
    print_anything()
    keep_freed_memory()
    collect_rarely()
    try:
        build_app(asked_verb())()
    except OSError as error:  # outside every verb: while help is printed
        from ansgt.cli.common import discard_stdout, fail, refusal

        discard_stdout()
        fail(refusal(error) or str(error))
        sys.exit(1)
    finally:
        if "triton" not in sys.modules:  # whose objects complain when they are left
            gc.freeze()  # or Python looks for cycles once more, thrice, before it ends
