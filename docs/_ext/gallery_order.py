"""The order of the examples in the gallery: from what everybody wants to what few need."""

from sphinx_gallery.sorting import _SortKey

EXAMPLES = (
    "cora_in_ten_lines.py",
    "your_own_graph.py",
    "your_csv.py",
    "a_new_node.py",
    "imbalanced_classes.py",
    "explain_a_node.py",
    "compare_with_a_baseline.py",
    "which_heuristic_wins.py",
    "serve_with_fastapi.py",
    "algorithm_1.py",
    "custom_heuristic.py",
    "coarsen.py",
)


class Order(_SortKey):
    """Names that are not in the list come last, by the alphabet."""

    def __call__(self, filename: str) -> tuple[int, str]:
        return (EXAMPLES.index(filename) if filename in EXAMPLES else len(EXAMPLES), filename)
