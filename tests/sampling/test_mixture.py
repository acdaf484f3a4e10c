import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.errors import InputError
from ansgt.heuristics import HEURISTICS, HeuristicLike, OneHop, TwoHop, resolve
from ansgt.sampling import Mixture, NodeSampler, StreamedMixture
from ansgt.sampling.mixture import build_mixture
from ansgt.testing import path_graph, random_graph

P = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)


def fitted(num_isolated: int = 3) -> list[HeuristicLike]:
    graph = random_graph(num_isolated=num_isolated)
    return [resolve(name).fit(graph) for name in HEURISTICS]


def scatter(mixture: Mixture, values: torch.Tensor, num_nodes: int) -> np.ndarray:
    """Candidate table -> dense [rows, n]."""
    dense = torch.zeros(len(values), num_nodes, dtype=values.dtype)
    return dense.scatter_add_(1, mixture.candidates.long(), values).numpy()


def test_by_hand() -> None:
    graph = path_graph(3)
    mixture = Mixture.from_heuristics([OneHop().fit(graph), TwoHop().fit(graph)], 3)
    assert mixture.candidates.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert mixture.Q[0, 0].tolist() == [1, 0]
    psi = mixture.psi(torch.tensor([0.5, 0.5]))
    two_hop = TwoHop().fit(graph).rows(np.array([0])).toarray()[0]
    np.testing.assert_allclose(psi[0], [0.5 + two_hop[1] / 2, two_hop[2] / 2], atol=1e-6)


def test_psi_equals_the_dense_sum() -> None:
    heuristics = fitted()
    mixture = Mixture.from_heuristics(heuristics, 60)
    dense = [h.rows(np.arange(60)).toarray() for h in heuristics]
    for k in range(4):
        np.testing.assert_array_equal(scatter(mixture, mixture.Q[k], 60), dense[k])
    expected = sum(p * q for p, q in zip(P.numpy(), dense, strict=True))
    expected /= expected.sum(axis=1, keepdims=True)  # isolated nodes: KNN alone takes the whole
    np.testing.assert_allclose(scatter(mixture, mixture.psi(P), 60), expected, atol=1e-6)


def test_where_p_is_zero_for_all_that_propose_they_share_equally() -> None:
    heuristics = fitted()  # isolated nodes: KNN alone proposes something, and p of it is 0
    mixture = Mixture.from_heuristics(heuristics, 60)
    shares = mixture.shares(torch.tensor([1.0, 0.0, 0.0, 0.0]))
    active, alone = mixture.active.double(), ~mixture.active[0] & mixture.active.any(dim=0)
    assert alone.sum() == 3
    assert torch.equal(shares[:, alone], active[:, alone] / active[:, alone].sum(dim=0))
    assert torch.equal(shares[:, mixture.active[0]], torch.eye(4)[:, :1].double().expand(-1, 57))


def test_candidates_are_distinct_sorted_and_padded_with_zero_weight() -> None:
    mixture = Mixture.from_heuristics(fitted(), 60)
    for row, length in zip(mixture.candidates, mixture.lengths.tolist(), strict=True):
        assert torch.all(row[1:length] > row[: length - 1])
        assert torch.all(row[length:] == 0)
    beyond = torch.arange(mixture.candidates.shape[1]) >= mixture.lengths[:, None]
    assert torch.all(mixture.Q[:, beyond] == 0)


def test_some_centres_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Mixture.from_heuristics(fitted(), 60)
    monkeypatch.setattr("ansgt.sampling.mixture._BLOCK", 7)
    part = Mixture.from_heuristics(fitted(), 60, nodes=np.array([40, 3, 59]))
    nodes = torch.tensor([59, 3, 40])
    rows = part.rows_of(nodes)
    assert rows.tolist() == [2, 0, 1]
    np.testing.assert_array_equal(
        scatter(part, part.psi(P), 60)[rows], scatter(whole, whole.psi(P), 60)[nodes]
    )


class Fixed:
    """A heuristic with given rows."""

    def __init__(self, matrix: sp.csr_array) -> None:
        self.matrix = matrix

    def fit(self, graph: object) -> "Fixed":
        return self

    def rows(self, nodes: np.ndarray) -> sp.csr_array:
        return sp.csr_array(self.matrix[nodes])


def csr(entries: list[tuple[int, int, float]], n: int) -> sp.csr_array:
    """Rows in the order of `entries`: unsorted, with duplicates and zeros."""
    entries = sorted(entries, key=lambda entry: entry[0])
    row, column, value = (
        (np.array(part) for part in zip(*entries, strict=True)) if entries else np.zeros((3, 0))
    )
    indptr = np.searchsorted(row, np.arange(n + 1))
    return sp.csr_array((value.astype(np.float64), column.astype(np.int64), indptr), shape=(n, n))


@given(data=st.data(), n=st.integers(1, 9), block=st.sampled_from([2, 100]))
@settings(deadline=None, max_examples=60)
def test_tables_equal_a_plain_loop(data: st.DataObject, n: int, block: int) -> None:
    node, eighths = st.integers(0, n - 1), st.integers(0, 8).map(lambda v: v / 8)
    matrices = data.draw(
        st.lists(
            st.lists(st.tuples(node, node, eighths), max_size=40).map(lambda e: csr(e, n)),
            min_size=1,
            max_size=5,
        )
    )
    nodes = data.draw(st.none() | st.lists(node).map(np.array))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ansgt.sampling.mixture._BLOCK", block)
        mixture = Mixture.from_heuristics([Fixed(m) for m in matrices], n, nodes)
    centres = list(range(n)) if nodes is None else sorted({int(v) for v in nodes})
    dense = [m.toarray() for m in matrices]
    unions = [[c for c in range(n) if any(m[i, c] for m in dense)] for i in centres]
    width = max([1, *map(len, unions)])
    padding = [[0] * (width - len(union)) for union in unions]
    assert mixture.candidates.shape == (len(centres), width)
    assert mixture.candidates.tolist() == [u + p for u, p in zip(unions, padding, strict=True)]
    assert mixture.lengths.tolist() == [len(union) for union in unions]
    for k, matrix in enumerate(dense):
        expected = [[matrix[i, c] for c in u] + p for i, u, p in zip(centres, unions, padding, strict=True)]
        assert mixture.Q[k].tolist() == expected
        assert mixture.active[k].tolist() == [bool(matrix[i].any()) for i in centres]
    assert [t.dtype for t in (mixture.candidates, mixture.lengths, mixture.Q, mixture.active)] == [
        torch.int32,
        torch.int64,
        torch.float32,
        torch.bool,
    ]


def test_isolated_nodes_without_any_candidate() -> None:
    graph = random_graph(num_isolated=2)
    mixture = Mixture.from_heuristics([OneHop().fit(graph)], 60)
    assert mixture.lengths[-2:].tolist() == [0, 0]
    assert torch.all(mixture.psi(torch.tensor([1.0]))[-2:] == 0)


def test_kernel_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    mixture, rows = Mixture.from_heuristics(fitted(), 60), torch.tensor([5, 59, 0])
    plain = mixture.psi(P), mixture.psi(P, rows)
    monkeypatch.setattr("ansgt.sampling.mixture._JIT_PAYS", 0)
    assert torch.equal(mixture.psi(P), plain[0])
    assert torch.equal(mixture.psi(P, rows), plain[1])


@pytest.mark.parametrize("mode", ["without", "with", "distinct"])
def test_a_streamed_mixture_draws_and_pays_as_a_held_one(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansgt.sampling.mixture.STREAMED_CENTRES", 7)
    nodes = torch.tensor([5, 59, 0, 0, *range(30, 50)])
    held, streamed = (
        NodeSampler(mixture, num_sampled=6, num_sequences=2, mode=mode).draw(nodes, P, round=3)
        for mixture in (Mixture.from_heuristics(fitted(), 60), StreamedMixture(fitted(), 60))
    )
    for name in ("ids", "mask", "count", "position", "tau", "q", "psi", "inclusion", "active"):
        assert torch.equal(getattr(held, name), getattr(streamed, name)), name
    part = streamed.part(slice(2, 6))
    assert torch.equal(part.q, held.q[:, 2:6])


def test_a_mixture_is_held_unless_it_shall_be_streamed() -> None:
    held, streamed = build_mixture(fitted(), 60, "cpu"), build_mixture(fitted(), 60, "cpu", streamed=True)
    assert isinstance(held, Mixture)
    assert isinstance(streamed, StreamedMixture)
    assert (held.num_heuristics, streamed.num_heuristics) == (4, 4)


def test_tables_of_several_blocks_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Mixture.from_heuristics(fitted(), 60)
    monkeypatch.setattr("ansgt.sampling.mixture._BLOCK", 16)
    parts = Mixture.from_heuristics(fitted(), 60)
    for name in ("candidates", "lengths", "Q", "active"):
        assert torch.equal(getattr(parts, name), getattr(whole, name))


def test_bad_input() -> None:
    with pytest.raises(InputError, match="at least one heuristic"):
        Mixture.from_heuristics([], 3)
    with pytest.raises(InputError, match="different shapes"):
        Mixture.from_heuristics([Fixed(sp.csr_array((3, 3))), Fixed(sp.csr_array((3, 4)))], 3)
