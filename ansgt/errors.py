"""The one exception that means "the user can fix this"."""

from collections.abc import Iterable


class InputError(ValueError):
    """Bad input: one sentence that names the field and the value. The command line exits with code 2."""


class BusyError(InputError):
    """Another process holds the run directory."""


def unknown_name(what: str, name: object, known: Iterable[str]) -> InputError:
    """Error for a name that is not in a registry, with the list of those that are.

    >>> print(unknown_name("coarsener", "xx", ["vn", "ve"]))
    Unknown coarsener 'xx'; known: ve, vn.
    """
    return InputError(f"Unknown {what} {name!r}; known: {', '.join(sorted(known))}.")
