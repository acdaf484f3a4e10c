"""The presets that ship: every one is a setting of its model, and rules choose by facts."""

import pytest
import yaml

from ansgt.config import CONFIG_FOLDERS
from ansgt.errors import InputError
from ansgt.runs.prepare import Request, build_config, changed
from ansgt.runs.presets import Family, Presets, Rule
from study.scripts.leave_one_out import candidates

SHIPPED = Presets.shipped()


def test_a_threshold_belongs_to_the_higher_preset() -> None:
    rule = Rule("draws", "hubs", "mean_degree", 10.0)
    assert rule.preset({"mean_degree": 9.9}) == "draws"
    assert rule.preset({"mean_degree": 10.0}) == "hubs"
    assert Rule("draws").preset({}) == "draws"


@pytest.mark.parametrize("name", SHIPPED.families)
def test_every_preset_is_valid_and_differs_from_the_others(name: str) -> None:
    family = SHIPPED.families[name]
    shipped = build_config(Request("nobody", family.model, "given"))
    found = [
        changed(shipped, family.every, values, family.large)
        for values in (*family.presets.values(), family.quick)
    ]
    assert all(one != other for place, one in enumerate(found) for other in found[:place])
    assert {family.rule.low, family.rule.high} - {None} <= set(family.presets)


def test_auto_mixes_known_families() -> None:
    assert {*SHIPPED.auto, SHIPPED.quick} <= set(SHIPPED.families)
    assert [family.name for family in SHIPPED.chosen("auto")] == list(SHIPPED.auto)
    assert SHIPPED.chosen("appnp") == [Family("appnp", "appnp")]


def test_presets_are_the_candidates_of_the_search() -> None:
    searched = candidates()
    for name, found in searched["families"].items():
        family = SHIPPED.families[name]
        assert family.presets == found["candidates"]
        assert (family.model, family.every) == (found["model"], found.get("every", {}))
        assert family.large == searched["large"].get(name, {})


def test_a_damaged_file_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    content = yaml.safe_load((CONFIG_FOLDERS[1] / "presets.yaml").read_text())
    del content["families"]["gcn"]["rule"]
    monkeypatch.setattr("ansgt.runs.presets.shipped_presets", lambda: content)
    with pytest.raises(InputError, match=r"shipped presets are damaged \(KeyError\('rule'\)\)"):
        Presets.shipped()
