"""A thread that works ahead: the same items, its exceptions, and no thread left behind."""

import threading
import time
from collections.abc import Iterator

import pytest

import ansgt.ahead
from ansgt.ahead import ahead


@pytest.mark.parametrize("threads", [True, False])
def test_items_come_in_order(threads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ansgt.ahead, "computes_in_threads", lambda: threads)
    assert list(ahead(iter(range(50)), depth=3)) == list(range(50))


def test_no_more_than_depth_items_wait() -> None:
    made = []

    def items() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number

    reader = ahead(items(), depth=2)
    next(reader)
    time.sleep(0.3)
    assert len(made) <= 4  # one is read, two wait, one is at the door
    reader.close()


def test_an_exception_reaches_the_reader() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    reader = ahead(items())
    assert next(reader) == 1
    with pytest.raises(ValueError, match="broken"):
        next(reader)


def test_a_reader_that_leaves_ends_the_thread() -> None:
    before = threading.active_count()
    reader = ahead(iter(range(1000)))
    next(reader)
    reader.close()
    assert threading.active_count() == before
