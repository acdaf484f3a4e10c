"""Columns of a table as features, against scikit-learn's ColumnTransformer."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ansgt.datasets.columns import features_of, fit_plan
from ansgt.datasets.tables import Table
from ansgt.errors import InputError


def frame(number: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(number) < 0.2, np.nan, rng.lognormal(size=number)),
            "age": rng.integers(0, 90, number),
            "kind": rng.choice(["x", "y", "z"], number),
        }
    )


def test_the_numbers_are_those_of_a_column_transformer() -> None:
    first, second = frame(60, 0), frame(25, 1)
    second.loc[3, "kind"] = "never seen"
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    transformer = ColumnTransformer(
        [("numbers", numbers, ["size", "age"]), ("kind", OneHotEncoder(handle_unknown="ignore"), ["kind"])],
        sparse_threshold=0,
    ).fit(first)
    plan = json.loads(json.dumps(fit_plan(Table.of(first))))
    for table in (first, second):
        ours = features_of(Table.of(table), plan)
        assert ours.dtype == np.float32
        assert np.allclose(np.delete(ours, 1, axis=1), transformer.transform(table), atol=1e-5)
        assert np.array_equal(ours[:, 1], table["size"].isna())


def test_every_kind_of_column() -> None:
    table = Table(
        {
            "flag": [True, False, None, True],
            "vector": [[1.0, 2.0], None, np.array([3.0, 4.0]), (5.0, 6.0)],
            "constant": [7, 7, 7, 7],
            "kind": ["b", "a", None, "b"],
            "text": ["one", "two", "three", "four"],
            "day": list(pd.to_datetime(["2020-01-01"] * 4)),
            "empty": [None, float("nan"), pd.NA, None],
            "ragged": [[1], [1, 2], [], [3]],
        }
    )
    with pytest.warns(
        UserWarning, match=r"text \(text\), day \(Timestamp\), empty \(empty\), ragged \(lists\)"
    ):
        plan = fit_plan(table)
    found = features_of(table, plan)
    assert list(plan) == ["flag", "vector", "constant", "kind"]
    assert found.shape == (4, 2 + 2 + 1 + 2)
    assert found[:, 1].tolist() == [0, 0, 1, 0]
    assert found[:, 2:4].tolist() == [[1, 2], [0, 0], [3, 4], [5, 6]]
    assert found[:, 4].tolist() == [0] * 4
    assert found[:, 5:].tolist() == [[0, 1], [1, 0], [0, 0], [0, 1]]


def test_many_texts_that_repeat_are_categories_and_text_is_not() -> None:
    repeated = Table({"kind": [f"k{i % 50}" for i in range(100)]})
    assert len(fit_plan(repeated)["kind"]["values"]) == 50
    for texts in ([f"k{i}" for i in range(100)], [f"k{i % 101}" for i in range(400)]):
        with pytest.warns(UserWarning, match="left out"):
            assert fit_plan(Table({"kind": texts})) == {}


def test_a_column_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match="'size' of features holds an infinite number"):
        fit_plan(Table({"size": [1.0, float("inf")]}))
    plan = fit_plan(Table({"size": [1.0, 2.0], "vector": [[1, 2], [3, 4]]}))
    with pytest.raises(InputError, match="'size' held numbers in training and holds 'big' now"):
        features_of(Table({"size": ["big"], "vector": [[1, 2]]}), plan)
    with pytest.raises(InputError, match="'vector' of features must hold 2 numbers per node"):
        features_of(Table({"size": [1], "vector": [[1, 2, 3]]}), plan)
    with pytest.warns(UserWarning, match="count as absent: vector"):
        assert features_of(Table({"size": [1.0]}), plan).shape == (1, 3)
