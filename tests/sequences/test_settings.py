import numpy as np
import pytest
import scipy.sparse as sp

from ansgt.coarsening import HeavyEdge
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, PPR, OneHop
from ansgt.sampling.sampler import MODES
from ansgt.sequences import SequenceSettings
from ansgt.sequences.settings import PAPER_HEURISTICS
from ansgt.settings import fitted, hints
from ansgt.testing import path_graph, random_graph


class Own:
    def fit(self, graph: Graph) -> "Own":
        return self

    def rows(self, nodes: np.ndarray) -> sp.csr_array:
        raise NotImplementedError


def test_names_and_objects_are_accepted() -> None:
    own, coarsener = Own(), HeavyEdge(seed=4)
    values = {"heuristics": ["PPR", own, OneHop()], "coarsening_method": coarsener, "sampling": "fixed"}
    settings = fitted(SequenceSettings, values)
    assert settings.active_heuristics == settings.heuristics == values["heuristics"]
    assert settings.coarsening_method is coarsener
    assert fitted(SequenceSettings, {"sampling": own}).active_heuristics == [own]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"heuristics": ["1-hop", "pagerank"]},
            r"model.heuristics\[1\] must be one of 1-hop, 2-hop, knn, ppr, or an",
        ),
        ({"heuristics": [3]}, r"model.heuristics\[0\] must be text or of type HeuristicLike, not 3"),
        (
            {"sampling": "greedy"},
            "model.sampling must be one of adaptive, fixed, 1-hop, 2-hop, knn, ppr, or an obj",
        ),
        ({"sampling": "Adaptive"}, "model.sampling must be one of adaptive"),
        (
            {"coarsening_method": "metis"},
            "one of vn, ve, jc, heavy-edge, louvain, or an object with fit, not 'metis'",
        ),
        ({"mode": "topk"}, "model.mode must be one of without, with, distinct, not 'topk'"),
        ({"num_sampled": 0}, "model.num_sampled must be at least 1, not 0"),
        ({"restart_prob": 0}, r"model.restart_prob must be in \(0, 1\], not 0"),
        ({"coarsening_rate": 1.5}, r"model.coarsening_rate must be in \(0, 1\], not 1.5"),
        ({"num_proximity": 0}, "model.num_proximity must be in"),
    ],
)
def test_what_does_not_fit_is_named(values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(SequenceSettings, values, "model")


def test_a_heuristic_registered_later_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HEURISTICS, "nearby", PPR)
    assert fitted(SequenceSettings, {"heuristics": ["nearby"]}).heuristics == ["nearby"]


def test_sampling_names_what_is_mixed() -> None:
    assert SequenceSettings().active_heuristics == list(PAPER_HEURISTICS)
    assert SequenceSettings(sampling="fixed", heuristics=["knn"]).active_heuristics == ["knn"]
    assert SequenceSettings(sampling="2-hop").active_heuristics == ["2-hop"]


def test_choices_are_those_of_the_stages() -> None:
    assert hints(SequenceSettings)["mode"].__args__ == MODES
    assert set(PAPER_HEURISTICS) == set(HEURISTICS)


def test_check_refuses_what_the_graph_is_too_small_for() -> None:
    settings = SequenceSettings(num_sampled=4)
    assert settings.check(random_graph(20)) is settings
    with pytest.raises(
        InputError, match=r"num_sampled is 4, but the graph has 4 nodes \(at most 3 besides the centre"
    ):
        settings.check(path_graph(4))
    with pytest.raises(InputError, match=r"model\.heuristics is empty"):
        SequenceSettings(heuristics=[]).check(random_graph(30))


def test_every_setting_says_what_it_is() -> None:
    """The source has one docstring line or more below every field."""
    import ast
    import inspect

    body = ast.parse(inspect.getsource(SequenceSettings)).body[0].body
    fields = [at for at, node in enumerate(body) if isinstance(node, ast.AnnAssign)]
    assert len(fields) == len(hints(SequenceSettings))
    assert all(isinstance(body[at + 1], ast.Expr) for at in fields)
