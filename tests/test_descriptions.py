"""Every setting has a line of help, wherever its text stands."""

from dataclasses import dataclass

import pytest

from ansgt.descriptions import described, help_of
from ansgt.models import MODELS
from ansgt.runs.prepare import section_kinds
from ansgt.settings import Count, Rate, TrainSettings


@dataclass(frozen=True)
class Base:
    depth: Count = 2
    """How deep
    it goes."""
    bare: Rate = 0.5


@dataclass(frozen=True)
class Derived(Base):
    depth: Count = 3
    width: Count | None = None
    """How wide."""


@pytest.mark.parametrize("model", MODELS)
def test_every_setting_says_what_it_does_and_what_it_takes(model: str) -> None:
    rows = [one for kind in section_kinds(model).values() for one in described(kind)]
    assert len(rows) > 20
    assert [one.name for one in rows if not one.help or not one.takes or not one.default] == []


def test_the_text_of_a_changed_default_is_that_of_the_class_above() -> None:
    rows = {one.name: one for one in described(Derived)}
    assert (rows["depth"].default, rows["depth"].help) == ("3", "How deep it goes.")
    assert rows["bare"].help == ""
    assert rows["width"].takes == "whole number, at least 1 or null"
    assert [one.name for one in described(Derived, own=True)] == ["depth", "width"]


def test_a_class_without_a_source_has_no_texts() -> None:
    namespace = {"TrainSettings": TrainSettings, "dataclass": dataclass}
    exec("@dataclass(frozen=True)\nclass Notebook(TrainSettings):\n    mine: int = 1\n", namespace)
    assert help_of(namespace["Notebook"], "mine") == ""
    assert help_of(namespace["Notebook"], "epochs") == "Most epochs of training."
