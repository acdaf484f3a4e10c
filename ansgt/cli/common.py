"""What every verb shares: options, the JSON contract, and errors that are one sentence long."""

import contextlib
import errno
import functools
import json
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from ansgt.errors import BrokenRunError, InputError, LostRankError, is_out_of_memory

if TYPE_CHECKING:
    from concurrent.futures import Executor

err = Console(stderr=True, highlight=False)
"""Logs and progress bars go here: stdout belongs to the result."""
DISK = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up"}
"""Errors of the system that deserve better words than its own."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")]
RootOption = Annotated[
    Path, typer.Option("--root", envvar="ANSGT_DATA", help="Folder with the raw data sets; never written to.")
]
CacheOption = Annotated[
    Path | None, typer.Option("--cache-dir", help="Where processed files go (default: the user's cache).")
]
ClusterOption = Annotated[
    str | None,
    typer.Option(metavar="tcp://HOST:PORT", help="Train on a Dask cluster (extra: ansgt[cluster])."),
]

Render = Callable[[dict[str, Any]], None]


def verb(
    render: Render, shared: bool = False
) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., None]]:
    """Turns a function that returns a JSON-able dict into a command.

    The function's own prints go to stderr; its result is printed once, as JSON (`--json`) or by `render`. Of the processes
    that `torchrun` has started, which only a `shared` verb takes, one alone prints the result, and one alone an error.
    Bad input ends with one sentence and exit code 2; an interrupt, and what the system refuses (a full disk), with one and
    exit code 1; anything else with a traceback and exit code 1. A reader who closes stdout early hears no more of it.
    """

    def decorate(function: Callable[..., dict[str, Any]]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(*args: Any, **kwargs: Any) -> None:
            as_json = bool(kwargs.get("as_json", False))
            with contextlib.redirect_stdout(sys.stderr), _one_line_warnings():
                result = _run(functools.partial(function, *args, **kwargs), shared)
            if not leads():
                return
            with _readers_may_leave():
                if as_json:
                    print(json.dumps(jsonable(result)))
                else:
                    render(result)

        return command

    return decorate


def _run(work: Callable[[], dict[str, Any]], shared: bool) -> dict[str, Any]:
    try:
        with _company(shared):
            return work()
    except InputError as error:
        _fail_once(str(error))
        raise typer.Exit(2) from None
    except KeyboardInterrupt as interrupt:
        if _speaks():
            tell(str(interrupt) or "what was finished is saved.", "interrupted:", "bold yellow")
        raise typer.Exit(1) from None
    except typer.Exit:
        raise
    except (BrokenRunError, LostRankError) as error:
        _fail_once(str(error))
        raise typer.Exit(1) from None
    except Exception as error:
        refused = refusal(error)
        if refused is not None:
            fail(refused)
        elif not os.environ.get("ANSGT_QUIET_TRACEBACK"):
            traceback.print_exc(file=sys.stderr)
        raise typer.Exit(1) from None


@contextlib.contextmanager
def _company(shared: bool) -> Iterator[None]:
    """A block that this process shares with all that `torchrun` has started."""
    if not _has_company():
        yield
        return
    from ansgt.ranks import joined

    with joined():
        if not shared:
            raise InputError(
                "Several processes share the verbs train and prepare alone; start this without torchrun."
            )
        yield


def _has_company() -> bool:
    """Whether it may be so; asked before anything is imported."""
    return os.environ.get("WORLD_SIZE", "1") != "1"


def leads() -> bool:
    """Whether this process prints results and progress."""
    return not _has_company() or os.environ.get("RANK", "0") == "0"


def _speaks() -> bool:
    """Whether this process says why all end."""
    if not _has_company():
        return True
    from ansgt.ranks import ranks

    return ranks().speaks()


def _fail_once(sentence: str) -> None:
    """`fail`, in one of several processes."""
    if _speaks():
        fail(sentence)


def refusal(error: BaseException) -> str | None:
    """One sentence for what the operating system refused; None for any other error."""
    if is_out_of_memory(error):
        return "The memory is used up. The setting memory (-o memory=2G) makes ANS-GT hold less of it."
    number = error.errno if isinstance(error, OSError) else None
    if number is None:  # libraries that write by themselves put the system's number into their words
        found = re.search(r"os error (\d+)|No space left on device", str(error))
        if found is None:
            return None
        number = int(found[1] or errno.ENOSPC)
    words = DISK.get(number) or os.strerror(number)
    name = getattr(error, "filename", None)
    where = f" ({os.fsdecode(name)})" if isinstance(name, str | bytes) else ""
    advice = " Make room and try again; a run goes on with --resume." if number in DISK else ""
    return str(InputError(f"The system refused to go on: {words}{where}.{advice}"))


@contextlib.contextmanager
def _readers_may_leave() -> Iterator[None]:
    """Ends with exit code 1, and without a word, where nobody reads stdout any more; with a sentence where it is full."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
        raise typer.Exit(1) from None
    except OSError as error:
        discard_stdout()
        fail(f"The result cannot be printed: {DISK.get(error.errno or 0) or error.strerror}.")
        raise typer.Exit(1) from None


def discard_stdout() -> None:
    """What still waits to be printed goes nowhere: Python flushes stdout once more at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def executor_of(cluster: str | None, workers: int | None = None) -> Iterator["Executor | None"]:
    """The executor of a Dask cluster, or None for processes of this machine."""
    from ansgt.runs.executors import dask_cluster

    if cluster is None:
        yield None
        return
    if workers is not None:
        raise InputError("--workers is for processes of this machine; a --cluster has its own workers.")
    with dask_cluster(cluster) as executor:
        yield executor


def plain(text: object, style: str = "") -> Text:
    """Text for a terminal as it is: rich reads no markup in it, and no names of emoji."""
    return Text(str(text), style=style)


def say(what: RenderableType, style: str = "") -> None:
    """Prints a part of the result on stdout; a string as it is."""
    console = Console(highlight=False)
    if isinstance(what, str):
        console.print(plain(what, style), soft_wrap=True)
    else:
        console.print(what)


def tell(text: str, head: str = "", style: str = "") -> None:
    """Prints a line on stderr, its first words in a style."""
    parts = [(head, style), " ", text] if head else [text]
    err.print(Text.assemble(*parts), soft_wrap=True)


def fail(sentence: str) -> None:
    tell(sentence, "error:", "bold red")


@contextlib.contextmanager
def _one_line_warnings() -> Any:
    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        ours = issubclass(category, UserWarning) and not str(message).startswith(
            "Sparse "
        )  # torch's beta notices
        if ours and leads():
            tell(str(message), "warning:", "yellow")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def jsonable(value: Any) -> Any:
    """Numpy and torch scalars, arrays, paths and NaN become what JSON knows."""
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if hasattr(value, "tolist"):
        return jsonable(value.tolist())
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and value != value:
        return None
    return value
