import numpy as np
import torch
from sequence_cases import dense_powers

from ansgt.linalg import gcn_norm
from ansgt.sequences.powers import BlockedPowers, TablePowers, fill_powers
from ansgt.testing import random_graph


def test_fill_powers() -> None:
    graph = random_graph(num_nodes=20)
    table = torch.zeros(20, 20, 5)
    fill_powers(table, gcn_norm(graph))
    np.testing.assert_allclose(table, dense_powers(graph.adj.toarray(), 5), atol=1e-6)


def test_blocks_of_any_size_and_a_table_give_the_same() -> None:
    graph = random_graph(num_nodes=40, num_isolated=2)
    ids = torch.randint(-1, 40, (9, 6), generator=torch.Generator().manual_seed(1))
    table = torch.zeros(41, 41, 4)
    fill_powers(table[:40, :40], gcn_norm(graph))
    expected = TablePowers(table).pairs(ids)
    for size in (1, 3, 256):
        blocked = BlockedPowers(gcn_norm(graph), 4, torch.float32, "cpu", block_size=size)
        torch.testing.assert_close(blocked.pairs(ids), expected)


def test_nothing_but_masked_tokens() -> None:
    graph = random_graph(num_nodes=5)
    blocked = BlockedPowers(gcn_norm(graph), 3, torch.float32, "cpu")
    assert blocked.pairs(torch.full((2, 4), -1)).abs().sum() == 0
    assert blocked.pairs(torch.zeros(0, 4, dtype=torch.int64)).shape == (0, 4, 4, 3)
