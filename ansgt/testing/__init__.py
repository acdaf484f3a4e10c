"""Small graphs, random sequences, and conformance suites for heuristics, coarseners and models of your own."""

from ansgt.bench.graphs import power_law_graph
from ansgt.testing.coarseners import check_coarse, check_coarsener
from ansgt.testing.graphs import RandomSequences, path_graph, random_graph, star_graph
from ansgt.testing.heuristics import check_heuristic, check_rows
from ansgt.testing.models import check_model

__all__ = [
    "RandomSequences",
    "check_coarse",
    "check_coarsener",
    "check_heuristic",
    "check_model",
    "check_rows",
    "path_graph",
    "power_law_graph",
    "random_graph",
    "star_graph",
]
