"""Stages: rows add up, peaks are those of the process, and nobody has to listen."""

import time

import numpy as np
import pytest

from ansgt.stages import Log, Stage, TimeIsUp, counted, listening, note, stage, until


def test_rows_add_up_and_keep_their_order() -> None:
    with listening(Log()) as log:
        for _ in range(2):
            with stage("one"), stage("inner"):
                held = np.ones(40_000_000)
        with stage("two"):
            pass
    assert len(held) > 0
    first, inner, second = log.rows()
    assert [first["name"], inner["name"], second["name"]] == ["one", "inner", "two"]
    assert first["seconds"] >= inner["seconds"] > 0
    assert first["peak_bytes"] >= held.nbytes


def test_listeners_hear_begin_progress_end_and_notes() -> None:
    heard: list[tuple[str, int, bool]] = []

    def told(at: Stage) -> None:
        heard.append((at.name, at.done, at.is_note))

    with listening(Log(told)):
        assert list(counted("work", "ab", 2)) == ["a", "b"]
        note("chosen")
        note("chosen")
    assert heard == [
        ("work", 0, False),
        ("work", 1, False),
        ("work", 2, False),
        ("work", 2, False),
        ("chosen", 0, True),
    ]


def test_without_a_listener_nothing_happens() -> None:
    with stage("alone", 3) as at:
        at.advance()
    note("unheard")


def test_a_block_ends_at_the_first_unit_after_its_last_moment() -> None:
    done = []
    with pytest.raises(TimeIsUp), until(time.perf_counter() + 0.5):
        for unit in counted("work", range(10**9), 10**9):
            done.append(unit)
            time.sleep(0.01)
    assert 0 < len(done) < 1000
    with stage("later"):
        pass
