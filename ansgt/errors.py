"""The one exception that means "the user can fix this"."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

LONGEST = 560
"""Characters of an error; of a longer one the middle is left out."""
MANY, NEAREST = 30, 12
"""Of more than `MANY` known names an error lists the `NEAREST`."""


class InputError(ValueError):
    """Bad input: one sentence that names the field and the value. The command line exits with code 2.

    Whatever a path or a value holds, the sentence is one line of printable characters, and short.

    >>> print(InputError("no line\\nbreak, no \\x1b[31mcolour"))
    no line break, no \\x1b[31mcolour
    """

    def __init__(self, sentence: object = "", *details: object) -> None:
        super().__init__(_sentence(str(sentence)), *details)


class TooLargeError(InputError):
    """What was asked for does not fit into the memory."""


class BrokenRunError(ArithmeticError):
    """Training gave NaN or infinity: one sentence that names where. The command line exits with code 1."""


class LostRankError(RuntimeError):
    """Another process of a training by several is gone. The command line exits with code 1."""


class BusyError(InputError):
    """Another process holds the run directory."""


def unknown_name(what: str, name: object, known: Iterable[str]) -> InputError:
    """Error for a name that is not in a registry: the nearest one that is, and the list of all (of many: the nearest).

    >>> print(unknown_name("coarsener", "xx", ["vn", "ve"]))
    Unknown coarsener 'xx'; known: ve, vn.
    >>> print(unknown_name("model", "ansgtt", ["gcn", "ansgt"]))
    Unknown model 'ansgtt'; known: ansgt, gcn. Did you mean 'ansgt'?
    """
    names = sorted(known)
    text = name if isinstance(name, str) else f"a {type(name).__name__}"
    shown = repr(text[:80])
    shown = shown if len(text) <= 80 and len(shown) <= 90 else f"{shown[:77]}..."
    near = difflib.get_close_matches(text[:80], names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return InputError(f"Unknown {what} {shown}; known: {_listed(text, names)}.{hint}")


def reason(error: BaseException) -> str:
    """What an exception of a library says, on one short line, to end a sentence of ours.

    >>> reason(ValueError("bad magic\\nsecond line.")), reason(EOFError())
    ('bad magic', 'EOFError')
    """
    if is_out_of_memory(error):
        return "it does not fit into memory"
    try:
        lines = str(error).strip().splitlines()
    except Exception:  # of an exception that cannot say what it is
        lines = []
    text = lines[0].rstrip(". ") if lines else ""
    return text[:200] if text else type(error).__name__


def is_out_of_memory(error: BaseException) -> bool:
    """Also that of torch, which is a plain RuntimeError."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


@contextmanager
def one_sentence(what: str) -> Iterator[None]:
    """The boundary of a reader, also as a decorator: whatever a foreign object raises in it becomes one `InputError`.

    >>> with one_sentence("The graph"):
    ...     float("x")
    Traceback (most recent call last):
    ansgt.errors.InputError: The graph cannot be read: could not convert string to float: 'x'.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what} cannot be read: {reason(error)}.") from error


def _listed(name: str, names: list[str]) -> str:
    if len(names) <= MANY:
        return ", ".join(names)
    near = difflib.get_close_matches(name[:80], names, n=NEAREST, cutoff=0.0)
    return f"{', '.join(sorted(near))} and {len(names) - len(near)} more"


def _sentence(text: str) -> str:
    if len(text) > LONGEST:
        text = f"{text[: LONGEST - 160]} ... {text[-150:]}"
    text = " ".join(text.split())
    # surrogates of a path that is not UTF-8 cannot be printed; control characters move the cursor
    if not text.isprintable():
        text = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 160]} ... {text[-150:]}"
