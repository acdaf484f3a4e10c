"""`ansgt bench sampling` at toy size: the mixture it draws from, and whose seconds a ratio divides."""

from collections.abc import Callable

import pytest
import torch

from ansgt.bench import measure
from ansgt.bench.sampling import MODES, Case, compare, measure_draw, random_mixture

CASE = Case(num_candidates=16, num_sampled=4, num_sequences=2)


def test_every_candidate_comes_from_one_of_four_heuristics_that_sum_to_one() -> None:
    mixture = random_mixture(50, 16, "cpu")
    assert mixture.Q.shape == (4, 50, 16)
    assert torch.equal((mixture.Q > 0).sum(dim=0), torch.ones(50, 16, dtype=torch.int64))
    assert torch.allclose(mixture.Q.sum(dim=2), torch.ones(4, 50))


@pytest.mark.parametrize("mode", MODES)
def test_a_row_times_the_draw_of_all_centres_in_its_mode(mode: str) -> None:
    row = measure_draw(mode, 50, CASE)
    assert (row["mode"], row["num_nodes"]) == (mode, 50)
    assert 0 < row["seconds"] < 60


@pytest.mark.parametrize("mode", MODES)
def test_a_ratio_is_the_peers_seconds_over_ours(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([2.0, 6.0])  # ours, then the peer's

    def fake(work: Callable[[], object], device: str) -> float:
        work()
        return next(seconds)

    monkeypatch.setattr(measure, "fastest", fake)
    assert compare(mode, 50, CASE) == {"ratio": 3.0}
