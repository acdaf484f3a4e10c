"""Statistics of a comparison against scipy's and values worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ansgt.metrics import METRICS
from ansgt.runs.statistics import (
    Cell,
    Cells,
    choose_reference,
    holm,
    models_alone,
    paired_difference,
    paired_differences,
)


def cell(model: str, values: list[float], dataset: str = "d", hashes: str = "abc") -> Cell:
    return Cell(
        model,
        dataset,
        per_split=tuple(values),
        mean=float(np.mean(values)),
        std=float(np.std(values)),
        seconds=1.0,
        num_parameters=10,
        split_hashes=tuple(hashes),
    )


def test_paired_difference_equals_scipy() -> None:
    one, other = [0.8, 0.9, 0.7, 0.85], [0.7, 0.85, 0.72, 0.8]
    found = paired_difference(cell("a", one), cell("b", other))
    expected = stats.ttest_rel(one, other)
    assert found.mean == pytest.approx(np.mean(one) - np.mean(other))
    assert found.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_single_split_has_no_interval() -> None:
    found = paired_difference(cell("a", [0.5]), cell("b", [0.4]))
    assert found.mean == pytest.approx(0.1)
    assert (found.low, found.high, found.p) == (None, None, None)


def test_equal_gaps_have_no_spread() -> None:
    same = paired_difference(cell("a", [0.5, 0.6]), cell("b", [0.5, 0.6]))
    assert (same.mean, same.p) == (0.0, 1.0)
    shifted = paired_difference(cell("a", [0.6, 0.7]), cell("b", [0.5, 0.6]))
    assert shifted.p == 0.0
    assert shifted.low == shifted.high == pytest.approx(0.1)


def test_other_splits_do_not_compare() -> None:
    with pytest.raises(ValueError, match="other splits"):
        paired_difference(cell("a", [0.5, 0.6], hashes="ab"), cell("b", [0.5, 0.6], hashes="ac"))


def test_failed_cells_are_left_out_and_correction_spans_the_table() -> None:
    rng = np.random.default_rng(0)
    cells = [cell(m, list(rng.random(5)), d) for d in ("x", "y") for m in ("a", "b", "c")]
    cells += [Cell("d", "x", error="boom"), Cell("a", "z", error="boom"), cell("b", [0.1] * 5, "z")]
    found = paired_differences(cells, "a")
    assert [(d.model, d.dataset) for d in found] == [("b", "x"), ("c", "x"), ("b", "y"), ("c", "y")]
    assert [d.p_holm for d in found] == holm([d.p for d in found])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([None, 0.02]) == [None, 0.02]
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
@settings(deadline=None, max_examples=50)
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(values: list[float]) -> None:
    corrected = holm(values)
    for p, q in zip(values, corrected, strict=True):
        assert p - 1e-12 <= q <= min(1.0, len(values) * p) + 1e-12
    order = np.argsort(values, kind="stable")
    assert all(np.diff(np.array(corrected, dtype=float)[order]) >= 0)


def test_reference_is_the_best_mean_rank_of_those_that_finished() -> None:
    cells = [
        cell("a", [0.9], "x"),
        cell("b", [0.8], "x"),
        cell("a", [0.5], "y"),
        cell("b", [0.7], "y"),
        cell("b", [0.7], "z"),
        Cell("a", "z", error="boom"),
    ]
    assert choose_reference(cells) == "b"
    assert choose_reference([Cell("a", "x", error="boom")]) == "a"


def test_a_table_has_variants_guesses_and_the_best_of_every_data_set() -> None:
    cells = Cells(
        [
            replace(cell("a", [0.8, 0.9], "x"), variant="v2", guess=0.25),
            replace(cell("b", [0.9, 0.9], "x"), variant="v2", guess=0.25),
            replace(cell("a", [0.7, 0.7], "y"), guess=float("nan")),
            replace(cell("b", [0.5, 0.7], "y"), guess=float("nan")),
        ]
    )
    table = cells.table()
    assert table.head == ["model", "x (v2)", "y"]
    assert table.rows[:2] == [["a", "85.00 ± 5.00", "70.00 ± 0.00"], ["b", "90.00 ± 0.00", "60.00 ± 10.00"]]
    assert table.rows[2] == ["a constant guess", "25.00", "-"]
    assert table.best == {(1, 1), (0, 2)}
    assert models_alone([{"models": [{"test_accuracy": 0.5}, {"test_accuracy": 1.0}]}, {}]) == {
        "num_models": 2,
        "one_model": (0.75,),
    }
    assert models_alone([{}]) == {"num_models": 1, "one_model": ()}


def test_a_cell_by_another_metric() -> None:
    scores = {"log_loss": (0.5, 1.5), "accuracy": (0.5, 0.5)}
    one = replace(cell("a", [0.5, 0.5]), scores=scores, val_scores={"log_loss": 0.75})
    found = one.by(METRICS["log_loss"])
    assert (found.per_split, found.mean, found.std, found.val_mean) == ((0.5, 1.5), 1.0, 0.5, 0.75)
    assert found.in_words(METRICS["log_loss"]) == "1.00 ± 0.50"
    assert one.by(METRICS["macro_f1"]) is one
    other = replace(one, model="b", scores={**scores, "log_loss": (0.25, 0.25)})
    assert Cells([one, other]).table(METRICS["log_loss"]).best == {(1, 1)}  # the smallest is the best
    assert (
        choose_reference([one.by(METRICS["log_loss"]), other.by(METRICS["log_loss"])], METRICS["log_loss"])
        == "b"
    )
    assert one.as_dict()["restarts"] == 1


def test_cells_are_a_table_of_accuracies_in_text_and_html() -> None:
    cells = Cells([cell("a", [0.8, 0.9]), cell("b", [0.7, 0.8]), Cell("c<b>", "d", error="no memory")])
    assert "85.00 ± 5.00" in str(cells)
    assert "failed" in str(cells)
    html = cells._repr_html_()
    assert html.count("<tr>") == 4
    assert "<td>c&lt;b&gt;</td>" in html
    assert cells.table().best == {(0, 1)}
    assert repr(cells) == "Cells(3: a on d, b on d, c<b> on d, ...)"
