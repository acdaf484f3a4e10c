import sys

import numpy as np
import pytest
from coarsening_cases import two_cliques

from ansgt.coarsening import Louvain
from ansgt.errors import InputError
from ansgt.testing import path_graph


def test_cliques_are_communities():
    graph = two_cliques()
    assert len(np.unique(Louvain().communities(graph))) == 2
    assert Louvain(num_supernodes=2).fit(graph).assignment.tolist() == [0] * 8 + [1] * 8


def test_without_networkx_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match="networkx"):
        Louvain().fit(path_graph(5))
