"""`ansgt bench proximity` at toy size: a finer cut errs less, and exact powers run on small graphs only."""

from ansgt.bench.proximity import compare, make_tokens, measure

CUTS = [0.01, 0.001]


def test_a_finer_cut_errs_less() -> None:
    exact, coarse, fine = measure(300, 10, 4, CUTS, exact_limit=1000)["rows"]
    assert [row["mode"] for row in (exact, coarse, fine)] == [
        "blocked",
        "approximate 0.01",
        "approximate 0.001",
    ]
    assert "relative_error" not in exact
    assert 0 < fine["relative_error"] < coarse["relative_error"] < 1
    assert 0 < fine["max_error"] < coarse["max_error"] < 1


def test_above_the_limit_nothing_exact_is_computed() -> None:
    rows = measure(300, 10, 4, CUTS, exact_limit=299)["rows"]
    assert [row["mode"] for row in rows] == ["approximate 0.01", "approximate 0.001"]
    assert not any("relative_error" in row for row in rows)


def test_sequences_start_with_their_centre_and_hold_near_nodes() -> None:
    graph, ids = make_tokens(300, 10)
    assert ids.shape == (10 * 4, 21)
    two_hops = (graph.adj + graph.adj @ graph.adj).astype(bool).tocsr()
    for sequence in ids.tolist():
        near = set(two_hops[[sequence[0]]].indices.tolist())
        assert {node for node in sequence[1:] if node >= 0} <= near


def test_the_gather_from_a_ready_table_is_compared_apart_from_building_it() -> None:
    ratios = compare(200, 5, 3)["ratios"]
    assert ratios["scipy powers / ansgt gather"] > ratios["scipy powers / ansgt dense"] > 0
