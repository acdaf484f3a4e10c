"""The published numbers, checked against each other and against the text's own sentences."""

from ansgt.reproduce.paper import (
    ACCURACY,
    ACCURACY_SPREAD,
    COARSENING,
    COARSENING_SECONDS,
    EPOCH_SECONDS,
    NINE,
    OGB,
    PRINTED,
    SAMPLING_SECONDS,
    SIX,
    STATISTICS,
    TRANSFORMERS,
)


def test_tables_are_whole() -> None:
    assert list(ACCURACY) == list(ACCURACY_SPREAD) == list(PRINTED)
    assert all(tuple(row) == NINE for row in (*ACCURACY.values(), *ACCURACY_SPREAD.values()))
    assert tuple(STATISTICS) == NINE
    assert tuple(SAMPLING_SECONDS) == SIX == NINE[:6]
    assert all(tuple(row) == SIX for row in EPOCH_SECONDS.values())
    assert len(COARSENING) == 2 * 3 * 5
    assert len(COARSENING_SECONDS) == 2 * 3 * 3
    assert {len(row) for row in OGB.values()} == {4}


def test_what_the_text_says_of_table_1() -> None:
    """Best of all transformers everywhere; best of all but on Squirrel, where the text overlooks GPRGNN."""
    ours = ACCURACY["ansgt"]
    assert all(ours[data] > ACCURACY[model][data] for model in TRANSFORMERS for data in NINE)
    others = [model for model in ACCURACY if model != "ansgt"]
    beaten = {data: [m for m in others if ACCURACY[m][data] > ours[data]] for data in NINE}
    assert {data: models for data, models in beaten.items() if models} == {"squirrel": ["gprgnn"]}
    assert ACCURACY["gt"]["squirrel"] == 25.68


def test_what_the_text_says_of_table_2() -> None:
    """VN at 0.01 is the default, and table 1's value on Cora; on Actor table 1 has VN's best rate, 0.10."""
    assert COARSENING["cora", "vn", 0.01] == ACCURACY["ansgt"]["cora"]
    assert COARSENING["actor", "vn", 0.1] == ACCURACY["ansgt"]["actor"]
