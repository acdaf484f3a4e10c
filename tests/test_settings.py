"""A setting's annotation decides what fits; what does not is one short sentence."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansgt.errors import InputError
from ansgt.settings import (
    LONGEST,
    Count,
    DataSettings,
    Fraction,
    ModelSettings,
    NonNegative,
    Number,
    OptimSettings,
    Positive,
    Range,
    Rate,
    Seed,
    Share,
    Size,
    TrainSettings,
    brief,
    check_multiple,
    fit_value,
    fit_values,
    fitted,
    shown,
    values_of,
)

HUGE = 10**5000
ANNOTATIONS = {
    "count": Count,
    "size": Size,
    "seed": Seed,
    "number": Number,
    "positive": Positive,
    "non-negative": NonNegative,
    "share": Share,
    "rate": Rate,
    "fraction": Fraction,
    "flag": bool,
    "text": str,
    "plain float": float,
    "choice": Literal["auto", "plain"],
    "rates": list[Rate],
    "nullable count": Count | None,
    "section": OptimSettings,
}


@dataclass(frozen=True)
class Example(ModelSettings):
    """One setting of each kind."""

    width: Count = 8
    dropout: Rate = 0.5
    mode: Literal["auto", "plain"] = "auto"
    limit: Count | None = None
    names: list[str] = field(default_factory=lambda: ["a"])
    fast: bool = False


def test_defaults_and_given_values() -> None:
    assert fitted(Example, {}) == Example()
    given_values = {
        "width": 3,
        "dropout": 0.25,
        "mode": "plain",
        "limit": 4,
        "names": ["b", "c"],
        "fast": True,
    }
    assert values_of(fitted(Example, given_values)) == given_values


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (Count, 3.0, 3),
        (Count, np.int64(3), 3),
        (Count, np.float32(3.0), 3),
        (Positive, 1, 1.0),
        (Positive, "1e-3", 0.001),
        (Positive, np.float32(0.5), 0.5),
        (Rate, 0, 0.0),
        (Share, 1, 1.0),
        (Count | None, None, None),
        (Count | None, 5, 5),
        (list[Rate], (0.1, 0), [0.1, 0.0]),
        (list[str], "knn", ["knn"]),
        (tuple[int, ...], [1, 2], (1, 2)),
        (Positive | Literal["auto"], "auto", "auto"),
        (OptimSettings, {"lr": 1}, OptimSettings(lr=1.0)),
        (dict[str, Any], {"a": 1}, {"a": 1}),
        (Any, None, None),
    ],
)
def test_values_that_fit(kind: Any, value: Any, expected: Any) -> None:
    found = fit_value("x", kind, value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (Count, 0, "must be at least 1, not 0."),
        (Count, -(10**9), "must be at least 1"),
        (Count, 2**40, "must be at most 2147483648"),
        (Count, HUGE, "must be at most 2147483648, not a value of type int."),
        (Count, 1.5, "must be a whole number, not 1.5."),
        (Count, math.nan, "must be a whole number, not nan."),
        (Count, math.inf, "must be a whole number, not inf."),
        (Count, True, "must be a whole number, not True."),
        (Count, "3", "must be a whole number, not '3'."),
        (Count, None, "must not be null"),
        (Count, [3], "must be a whole number, not [3]."),
        (Size, -1, "must be at least 0, not -1."),
        (Seed, 2**63, "must be at most 9223372036854775807"),
        (Positive, 0, "must be greater than 0, not 0."),
        (Positive, math.inf, "must be finite, not inf."),
        (Positive, "inf", "must be finite, not 'inf'."),
        (Positive, "fast", "must be a number, not 'fast'."),
        (Positive, HUGE, "must be a number"),
        (Positive, True, "must be a number, not True."),
        (NonNegative, -1e-9, "must be at least 0, not -1e-09."),
        (Number, math.nan, "must be a number, not nan."),
        (Number, -math.inf, "must be finite, not -inf."),
        (Rate, 1, "must be in [0, 1), not 1."),
        (Share, 1.01, "must be in [0, 1], not 1.01."),
        (Fraction, 0, "must be in (0, 1], not 0."),
        (float, math.nan, "must be a number, not nan."),
        (bool, 1, "must be true or false, not 1."),
        (bool, "yes", "must be true or false, not 'yes'."),
        (str, 3, "must be text, not 3."),
        (Literal["auto", "plain"], "fast", "must be one of auto, plain, not 'fast'."),
        (Literal["auto", "plain"], None, "must not be null"),
        (Literal["auto", "plain"], np.zeros(3), "must be one of auto, plain, not array([0., 0., 0.])."),
        (Literal["auto", "plain"] | None, "fast", "must be one of auto, plain, not 'fast'."),
        (Count | None, 0, "must be at least 1, not 0."),
        (Positive | Literal["auto"], -1, "must be greater than 0 or one of auto, not -1."),
        (Positive | Literal["auto"], "fast", "must be a number or one of auto, not 'fast'."),
        (OptimSettings, 3, "must be of type OptimSettings, not 3."),
        (OptimSettings, OptimSettings, "must be of type OptimSettings, not <class"),
        (str | type, 3, "must be text or a class, not 3."),
        (dict[str, Any], 3, "must be of type dict, not 3."),
    ],
    ids=shown,
)
def test_values_that_do_not_fit(kind: Any, value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        fit_value("model.x", kind, value)
    assert str(caught.value).startswith("Setting model.x must")
    assert message in str(caught.value)


def test_a_wrong_item_of_a_list_is_named_by_its_place() -> None:
    with pytest.raises(InputError, match=r"Setting initial\[1\] must be in \[0, 1\], not 3"):
        fit_value("initial", list[Share], [0.5, 3])


@pytest.mark.parametrize("kind", ANNOTATIONS.values(), ids=ANNOTATIONS)
@pytest.mark.parametrize(
    "value",
    [
        HUGE,
        -HUGE,
        [HUGE] * 1000,
        {"a" * 9999: HUGE},
        "x" * 100_000,
        "9" * 5000,
        ["y" * 1000] * 1000,
        [[[["z"] * 99] * 99] * 99] * 99,
        dict.fromkeys(range(1000), "v" * 100),
        np.zeros((100, 100)),
        b"b" * 9999,
        object(),
        float("nan"),
        None,
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_are_short_whatever_the_value(kind: Any, value: Any) -> None:
    message = refusal(kind, value)
    assert len(message) < 600
    assert "\n" not in message


def refusal(kind: Any, value: Any) -> str:
    """The error's sentence; "" where the value fits."""
    try:
        fit_value("section.some_setting", kind, value)
    except InputError as error:
        return str(error)
    return ""


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
nested = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@given(kind=st.sampled_from(list(ANNOTATIONS.values())), value=nested)
def test_any_value_fits_or_is_refused_and_what_fits_fits_again(kind: Any, value: Any) -> None:
    try:
        found = fit_value("x", kind, value)
    except InputError:
        return
    assert fit_value("x", kind, found) == found


def test_unknown_and_missing_names() -> None:
    with pytest.raises(InputError, match=r"Unknown model setting 'widht'; known: .*width"):
        fitted(Example, {"widht": 3}, "model")
    with pytest.raises(InputError, match="Unknown setting '7'"):
        fitted(Example, {7: 3})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="Section model must be a mapping of settings, not 3"):
        fitted(Example, 3, "model")  # type: ignore[arg-type]

    @dataclass(frozen=True)
    class Required:
        path: str

    with pytest.raises(InputError, match=r"Setting data\.path is missing"):
        fitted(Required, {}, "data")


def test_some_values_alone_are_checked_without_the_rest() -> None:
    assert fit_values(Example, {"width": 4.0}) == {"width": 4}
    with pytest.raises(InputError, match=r"Setting model\.width"):
        fit_values(Example, {"width": 0}, "model")


def test_ranges() -> None:
    assert 1 in Range(0, 1)
    assert 1 not in Range(0, 1, open_high=True)
    assert 0 not in Range(0, open_low=True)
    assert math.nan not in Range()
    assert -math.inf not in Range()
    assert HUGE in Range()
    assert fit_value("x", Annotated[int, Range(1, 254)], 254) == 254
    with pytest.raises(InputError, match=r"in \[1, 254\], not 255"):
        fit_value("x", Annotated[int, Range(1, 254)], 255)


def test_shown_is_one_short_line() -> None:
    assert shown("a\nb") == "'a\\nb'"
    assert shown(np.zeros((9, 9))).count("\n") == 0
    assert len(shown("x" * 9999)) <= LONGEST
    assert len(brief("x" * 9999)) == LONGEST
    assert brief("lr") == "lr"


def test_values_are_not_copied() -> None:
    names = ["a", "b"]
    assert values_of(Example(names=names))["names"] is names


def test_multiples() -> None:
    check_multiple(Example(width=8, limit=4), "width", "limit")
    with pytest.raises(InputError, match="Setting width must be a multiple of limit=3, not 8"):
        check_multiple(Example(width=8, limit=3), "width", "limit")


@pytest.mark.parametrize("settings", [OptimSettings, TrainSettings, DataSettings, Example])
def test_defaults_fit_their_own_annotations(settings: type) -> None:
    assert fitted(settings, values_of(settings())) == settings()
