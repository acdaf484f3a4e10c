"""Time limits: when one more epoch fits, when one more model does, and what a split may take."""

import math
import time

import pytest

from ansgt.runs.clock import SPARE, WRITING, Clock, TimeLimit

HOUR = 3600.0


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the clocks of the wall and of the process say."""
    told = {"wall": 100.0, "cpu": 10.0}
    monkeypatch.setattr(time, "perf_counter", lambda: told["wall"])
    monkeypatch.setattr(time, "process_time", lambda: told["cpu"])
    return told


def test_what_a_model_takes_by_hand(watch: dict[str, float]) -> None:
    clock = Clock()
    assert (clock.building, clock.epoch, clock.ending, clock.last, clock.least) == (0, 0, 0, 0, 0)
    for seconds, epoch in ((4.0, 4.0), (1.0, 4.0), (2.0, 2.0)):  # the longest of the last two
        with clock.lap():
            watch["wall"] += seconds
        assert (clock.epoch, clock.last) == (epoch, seconds)
    for seconds, nodes, ending in ((2.0, 10, 20.0), (5.0, 50, 20.0), (1.0, 0, 100.0)):
        with clock.prediction(nodes, 100):
            watch["wall"] += seconds
        assert clock.ending == ending
    assert Clock(building=1.0, epoch=2.0, ending=4.0).least == 1 + 3 * 2 + 4


def test_limits_by_hand(watch: dict[str, float]) -> None:
    later = 100 + 1.25 * (2 + 4)
    assert not Clock(soft=later, epoch=2.0, ending=4.0).allows_epoch()
    assert Clock(soft=later + 0.01, epoch=2.0, ending=4.0).allows_epoch()
    for hard, fits in ((110.0, True), (110.1, False)):  # a further model takes 20 s: all that is left counts
        assert Clock(soft=90.0, hard=hard, building=20.0).allows_epoch() == fits
    assert [Clock(hard=hard).is_worth_while(0.0) for hard in (100.5, 100.51)] == [False, True]
    assert [Clock(hard=103.0).is_worth_while(least) for least in (3.0, 2.9)] == [False, True]
    for wall, cpu, slow in (
        (0.5, 0.1, 5.0),
        (0.4, 0.1, 1.0),
        (8.0, 8.0, 1.0),
        (4.0, 8.0, 1.0),
        (4.0, 0.0, 100.0),
    ):
        one = Clock(hard=1000.0, began=(100.0 - wall, 10.0 - cpu))
        assert one.slowdown() == pytest.approx(slow)
        hard = 1000 - 3 * (one.slowdown() - 1)
        assert (one.half().soft, one.half().hard) == pytest.approx((100 + (hard - 100) / 2, hard))
    assert Clock(hard=90.0, began=(0.0, 0.0)).half().soft == 100
    assert TimeLimit(100.0, 80.0).last_moment(1) == pytest.approx(80 + 95)
    assert TimeLimit(100.0, 80.0).last_moment(3) == pytest.approx(100 + 75 / 3)
    assert TimeLimit(100.0, 80.0).last_moment(0) == pytest.approx(175)
    assert TimeLimit(100.0, 80.0).after(15.0).last_moment(2) == pytest.approx(100 + 60 / 2)


def test_an_epoch_fits_if_the_last_prediction_does_too() -> None:
    now = time.perf_counter()
    assert Clock().allows_epoch()
    assert Clock(now + HOUR, now + 3 * HOUR, epoch=HOUR / 4, ending=HOUR / 4).allows_epoch()
    assert not Clock(now + HOUR, now + 9 * HOUR, epoch=HOUR / 4, ending=0.7 * HOUR).allows_epoch()


def test_all_the_time_is_used_where_no_further_model_would_fit() -> None:
    now = time.perf_counter()
    over = Clock(now - 1.0, now + HOUR, building=2 * HOUR)
    assert over.allows_epoch()
    assert not Clock(now - 1.0, now + HOUR).allows_epoch()


def test_half_is_left_for_others() -> None:
    now = time.perf_counter()
    one = Clock(hard=now + HOUR).half()
    assert one.soft - now == pytest.approx(HOUR / 2, abs=5)
    assert one.hard == now + HOUR
    assert math.isinf(Clock().half().soft)


def test_the_end_is_given_more_time_where_others_use_the_cores() -> None:
    now, cpu = time.perf_counter(), time.process_time()
    alone = Clock(hard=now + HOUR, began=(now - 100.0, cpu - 100.0))
    crowded = Clock(hard=now + HOUR, began=(now - 100.0, cpu - 20.0))
    assert alone.slowdown() == pytest.approx(1.0, abs=0.05)
    assert crowded.slowdown() == pytest.approx(5.0, rel=0.2)
    assert crowded.half().hard < alone.half().hard - 2 * WRITING


def test_a_model_is_begun_only_if_it_can_end() -> None:
    clock = Clock(hard=time.perf_counter() + HOUR)
    assert clock.is_worth_while(HOUR / 2)
    assert not clock.is_worth_while(HOUR + 1)
    assert not Clock(hard=time.perf_counter()).is_worth_while(0.0)


def test_laps_and_predictions_are_remembered() -> None:
    clock = Clock()
    for seconds in (0.02, 0.0):
        with clock.lap(), clock.prediction(10, 1000):
            time.sleep(seconds)
    assert clock.epoch >= 0.02
    assert clock.ending >= 2.0
    assert clock.least >= clock.epoch + clock.ending


def test_splits_share_what_is_left_equally() -> None:
    now = time.perf_counter()
    limit = TimeLimit(HOUR, now)
    assert limit.last_moment(1) - now == pytest.approx((1 - SPARE) * HOUR, abs=5)
    assert limit.last_moment(4) - now == pytest.approx((1 - SPARE) * HOUR / 4, abs=5)
    assert limit.after(HOUR / 2).last_moment(1) - now == pytest.approx((0.5 - SPARE) * HOUR, abs=5)
    assert math.isinf(TimeLimit(None, now).last_moment(3))
