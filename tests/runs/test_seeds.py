"""Seeds: every moment has its own, the same everywhere, and the caller's generator is given back."""

import torch

from ansgt.runs import seeds


def first_number(seed_moment: object, *moment: int) -> float:
    with seeds.owned_randomness("cpu"):
        seed_moment(*moment)  # type: ignore[operator]
        return float(torch.rand(1))


def test_every_moment_has_a_seed_of_its_own() -> None:
    drawn = [first_number(seeds.seed_building, 0, 0), first_number(seeds.seed_prediction, 0, 0)]
    drawn += [first_number(seeds.seed_epoch, 0, split, epoch) for split in range(3) for epoch in range(3)]
    drawn += [first_number(seeds.seed_building, 1, 0), first_number(seeds.seed_building, 0, 1)]
    assert len(set(drawn)) == len(drawn)
    assert first_number(seeds.seed_epoch, 3, 1, 4) == first_number(seeds.seed_epoch, 3, 1, 4)


def test_a_block_gives_the_generator_back() -> None:
    torch.manual_seed(5)
    expected = torch.rand(2)[1]
    torch.manual_seed(5)
    torch.rand(1)
    first_number(seeds.seed_epoch, 0, 0, 0)
    assert torch.rand(1) == expected


def test_seeds_of_draws_and_models_do_not_collide() -> None:
    draws = {
        seeds.draw_seed(seeds.model_seed(seed, n), split)
        for seed in range(5)
        for n in range(4)
        for split in range(10)
    }
    assert len(draws) == 5 * 4 * 10
    assert seeds.model_seed(7, 0) == 7
