"""Settings files of strangers, and what an error may look like."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.config import LONGEST_FILE, RunConfig, parse_override, read_settings
from ansgt.errors import InputError, reason, unknown_name
from ansgt.runs.prepare import Request, build_config

LISTS = "a0: &a0 [lol, lol]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 10)
)
BAD = {
    "a tag": "train: !!python/object/apply:os.system [touch pwned]",
    "an unknown tag": "train: !mine 3",
    "a date that is none": "train: {epochs: 2024-99-99}",
    "nesting": "[" * 100_000,
    "merged mappings that multiply": MERGES,
    "a list that holds itself": "&a [*a]",
    "a list as key": "? [a]\n: 1",
    "a key twice": "optim: {lr: 1, lr: 2}",
    "a section twice": "optim: {lr: 1}\noptim: {lr: 2}",
    "five thousand digits": "train: {epochs: " + "9" * 5000 + "}",
    "no text": "\x00\x01",
    "a misspelt section": "optm: {lr: 1}",
    "no mapping": "[1, 2]",
    "a scalar": "text",
    "too long": "#" * (LONGEST_FILE + 1),
}


@pytest.mark.parametrize("case", BAD)
def test_one_sentence_that_names_the_file(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.yaml"
    path.write_text(BAD[case])
    start = time.perf_counter()
    with pytest.raises(InputError) as caught:
        read_settings(path, "cora")
    assert time.perf_counter() - start < 5
    assert "s.yaml" in str(caught.value)
    assert len(str(caught.value)) < 600
    assert not (tmp_path / "pwned").exists()


VALUES = {
    "a date": "train: {epochs: 2024-01-01}",
    "hexadecimal digits": "train: {epochs: 0x" + "f" * 5000 + "}",
    "lists that multiply": LISTS + "train: {epochs: *a9}",
    "NaN": "optim: {lr: .nan}",
    "infinity": "optim: {lr: .inf}",
    "null": "optim: {lr: null}",
    "bytes": "optim: {name: !!binary aGk=}",
    "a set": "optim: {name: !!set {a}}",
    "a name of a thousand letters": "optim: {" + "x" * 1000 + ": 1}",
}


@pytest.mark.parametrize("case", VALUES)
def test_values_that_no_setting_takes(case: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(VALUES[case])
    with pytest.raises(InputError, match=r"optim|train") as caught:
        build_config(Request("cora", "gcn", "public"), tmp_path / "s.yaml")
    assert len(str(caught.value)) < 600


def test_anchors_and_merge_keys_are_understood(tmp_path: Path) -> None:
    text = "default: {optim: &o {lr: 1, eps: 2}}\ncora: {optim: {<<: *o, lr: 3}}"
    (tmp_path / "s.yaml").write_text(text)
    assert read_settings(tmp_path / "s.yaml", "cora") == {"optim": {"lr": 3, "eps": 2}}


def test_places_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "latin").write_bytes(b"a: \xff")
    for name, words in {
        "": "Is a directory",
        "pipe": "is not a file",
        "latin": "not valid YAML",
        "x" * 5000: "too long",
    }.items():
        with pytest.raises(InputError, match=words):
            read_settings(tmp_path / name, "cora")

    def unreadable(self: Path, *_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", unreadable)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read_settings(tmp_path / "latin", "cora")


def test_an_override_is_as_safe_as_a_file() -> None:
    for value in ("!!python/name:os.system", "[" * 1000, "{a: 1, a: 2}"):
        with pytest.raises(InputError, match="is not valid YAML"):
            parse_override(f"lr={value}")


def test_a_stored_config_with_numbers_that_are_none() -> None:
    config = RunConfig("cora", "gcn", "public").as_dict()
    for value in (float("nan"), [1.0, float("inf")], {"a": float("-inf")}):
        with pytest.raises(InputError, match=r"settings\.dropout.* must be finite"):
            RunConfig.from_dict({**config, "settings": {"dropout": value}})


def test_of_many_names_the_nearest_are_listed() -> None:
    names = [f"setting_{number}_{'x' * 40}" for number in range(100)]
    message = str(unknown_name("setting", "setting_7", names))
    assert len(message) < 600
    assert "and 88 more" in message
    assert "88 more" not in str(unknown_name("setting", "lrr", ["lr", "eps"]))


@pytest.mark.parametrize(
    "name", ["x" * 10_000, "\n" * 5000, "\x1b[31m", "\ud800" * 400, "[/red]", None, 10**30, b"x"]
)
def test_errors_are_one_short_printable_line(name: Any) -> None:
    for error in (unknown_name("model", name, ["gcn"]), InputError(f"The file {name} is not there.")):
        assert len(str(error)) < 600
        assert str(error).isprintable()
        str(error).encode()


def test_the_reason_of_an_exception_is_short() -> None:
    assert reason(ValueError("x" * 1000)) == "x" * 200
    assert reason(MemoryError()) == "it does not fit into memory"
    assert reason(KeyError()) == "KeyError"


@pytest.mark.parametrize("labels", [np.zeros(9, int), np.full(9, -1)])
def test_one_class_is_refused_on_the_command_line(
    labels: np.ndarray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("g.npz", x=np.eye(9), edge_index=np.zeros((2, 0), int), y=labels)
    done = CliRunner().invoke(build_app(["train"]), ["train", "g.npz", "--model", "mlp", "--device", "cpu"])
    assert done.exit_code == 2
    assert "needs at least 2" in done.stderr
    assert not (tmp_path / "runs").exists()
