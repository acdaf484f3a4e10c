import numpy as np
import torch

from ansgt.sampling.counter import hash_tensor, sequence_keys, stream, uniform, uniform_scalar


def test_splitmix64_reference_values() -> None:
    """The first outputs of SplitMix64 seeded with 1234567, as published with the generator."""
    got = hash_tensor(1234567, torch.arange(5)).numpy().view(np.uint64).tolist()
    assert got == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_twins_agree_bit_for_bit() -> None:
    keys = hash_tensor(stream(3, 1), torch.arange(200))
    counters = torch.arange(50)
    vector = uniform(keys[:, None], counters).numpy()
    unsigned = keys.numpy().view(np.uint64)
    scalar = [[uniform_scalar(k, np.uint64(c)) for c in range(50)] for k in unsigned]
    np.testing.assert_array_equal(vector, np.array(scalar))


def test_uniform_is_uniform() -> None:
    u = uniform(stream(0), torch.arange(200_000)).numpy()
    assert 0 < u.min() < u.max() < 1
    counts = np.histogram(u, bins=100, range=(0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 99 + 4 * np.sqrt(2 * 99)
    pairs = np.corrcoef(u[:-1], u[1:])[0, 1]
    assert abs(pairs) < 4 / np.sqrt(len(u))


def test_keys_depend_on_every_coordinate() -> None:
    keys = [stream(0), stream(1), stream(0, 0), stream(0, 1), stream(1, 0), stream(0, 0, 1), stream(0, 1, 0)]
    assert len(set(keys)) == len(keys)
    table = sequence_keys(stream(0), torch.arange(1000), 16)
    assert len(torch.unique(table)) == 16_000
    assert torch.equal(sequence_keys(stream(0), torch.tensor([7, 999]), 4), table[[7, 999], :4])


def test_huge_seed() -> None:
    assert -(1 << 63) <= stream((1 << 70) + 5, 3) < 1 << 63
