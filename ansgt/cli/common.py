"""What every verb shares: options, the JSON contract, and errors that are one sentence long."""

import contextlib
import functools
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ansgt.errors import InputError

err = Console(stderr=True, highlight=False)
"""Logs and progress bars go here: stdout belongs to the result."""

JsonFlag = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")]
RootOption = Annotated[
    Path, typer.Option("--root", envvar="ANSGT_DATA", help="Folder with the raw data sets; never written to.")
]
CacheOption = Annotated[
    Path | None, typer.Option("--cache-dir", help="Where processed files go (default: the user's cache).")
]

Render = Callable[[dict[str, Any]], None]


def verb(render: Render) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., None]]:
    """Turns a function that returns a JSON-able dict into a command.

    The function's own prints go to stderr; its result is printed once, as JSON (`--json`) or by `render`.
    Bad input ends with one sentence and exit code 2, anything else with a traceback and exit code 1.
    """

    def decorate(function: Callable[..., dict[str, Any]]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(*args: Any, **kwargs: Any) -> None:
            as_json = bool(kwargs.get("as_json", False))
            with contextlib.redirect_stdout(sys.stderr), _one_line_warnings():
                result = _run(functools.partial(function, *args, **kwargs))
            if as_json:
                print(json.dumps(jsonable(result)))
            else:
                render(result)

        return command

    return decorate


def _run(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return work()
    except InputError as error:
        err.print(f"[bold red]error:[/] {_escape(str(error))}", soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        err.print("[bold yellow]interrupted[/]: what was finished is saved; --resume goes on from there.")
        raise typer.Exit(1) from None
    except typer.Exit:
        raise
    except Exception:
        if not os.environ.get("ANSGT_QUIET_TRACEBACK"):
            traceback.print_exc(file=sys.stderr)
        raise typer.Exit(1) from None


@contextlib.contextmanager
def _one_line_warnings() -> Any:
    def show(message: Warning | str, category: type[Warning], *_: Any) -> None:
        ours = issubclass(category, UserWarning) and not str(message).startswith(
            "Sparse "
        )  # torch's beta notices
        if ours:
            err.print(f"[yellow]warning:[/] {_escape(str(message))}", soft_wrap=True)

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _escape(text: str) -> str:
    return text.replace("[", r"\[")


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
