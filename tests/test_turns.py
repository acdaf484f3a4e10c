"""Many threads, odd modes of torch, copies: a classifier gives what it gives alone, and leaves its caller's state alone."""

import copy
import pickle
import random
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import ansgt
from ansgt.models import MODELS

QUICK: dict[str, Any] = {
    "epochs": 3,
    "num_layers": 1,
    "num_augmentations": 2,
    "num_sampled": 5,
    "hidden_channels": 16,
    "num_heads": 2,
}


def fitted(model: str = "ansgt", seed: int = 0, **settings: Any) -> ansgt.NodeClassifier:
    chosen = QUICK if model == "ansgt" else {"epochs": 1 if model == "gophormer" else 4}
    data = ansgt.load_dataset("newman")
    return ansgt.NodeClassifier(model, seed=seed, device="cpu", **(chosen | settings)).fit(data)


@pytest.fixture(scope="module")
def data() -> Data:
    return ansgt.load_dataset("newman")


@pytest.fixture(scope="module")
def clf() -> ansgt.NodeClassifier:
    return fitted()


def in_threads(number: int, work: Callable[[int], Any]) -> list[Any]:
    """What `number` threads return that begin at the same moment."""
    start = threading.Barrier(number)

    def begin(index: int) -> Any:
        start.wait()
        return work(index)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(begin, range(number)))


def test_single_nodes_from_four_threads(clf: ansgt.NodeClassifier, data: Data) -> None:
    alone = clf.predict_proba(data)
    trained = clf.trained_

    def work(thread: int) -> float:
        worst = 0.0
        for number in range(150):
            node = (37 * thread + number) % 128
            one = trained.predict_proba(torch.tensor([node])).numpy()
            worst = max(worst, float(np.abs(one - alone[[node]]).max()))
            if number % 30 == 0:  # builds a model of its own
                worst = max(worst, float(np.abs(clf.predict_proba(data, [node]) - alone[[node]]).max()))
            assert np.array_equal(clf.predict(nodes=[node]), clf.predict()[[node]])
        return worst

    assert max(in_threads(4, work)) < 1e-6


def test_explanations_from_four_threads(clf: ansgt.NodeClassifier) -> None:
    alone = [clf.explain(node, top=3) for node in range(8)]
    for found in in_threads(4, lambda _: [clf.explain(node, top=3) for node in range(8)]):
        assert found == alone


def test_a_trained_model_is_built_once() -> None:
    clf = fitted("gcn")
    assert len({id(model) for model in in_threads(4, lambda _: clf.trained_)}) == 1


@contextmanager
def generators_untouched() -> Iterator[None]:
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    random.seed(3)
    before = torch.random.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    yield
    assert before[0].equal(torch.random.get_rng_state())
    assert before[1:] == (np.random.get_state()[1].tolist(), random.getstate())  # noqa: NPY002


@pytest.mark.parametrize("models", [("gcn", "gat"), ("ansgt", "gophormer")])
def test_fits_in_threads_equal_fits_alone(models: tuple[str, str]) -> None:
    jobs = [(model, seed) for model in models for seed in (0, 1)]
    alone = [fitted(*job) for job in jobs]
    with generators_untouched():
        together = in_threads(len(jobs), lambda number: fitted(*jobs[number]))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.predict_proba(), other.predict_proba())
        assert one.history_ == other.history_


def test_the_callers_number_of_threads_stays() -> None:
    """Numba's OpenMP, when it starts, changes that of the thread it starts in."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        fitted()
        assert torch.get_num_threads() == 1
        in_threads(2, lambda _: fitted())
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_prediction_while_another_thread_fits(clf: ansgt.NodeClassifier, data: Data) -> None:
    alone, refit = clf.predict_proba(data), fitted(epochs=6).predict_proba()

    def work(thread: int) -> np.ndarray:
        return fitted(epochs=6).predict_proba() if thread else clf.predict_proba(data)

    predicted, learned = in_threads(2, work)
    assert np.allclose(predicted, alone, atol=1e-6)
    assert np.array_equal(learned, refit)


def test_a_listener_may_wait_for_a_prediction_of_another_thread(
    clf: ansgt.NodeClassifier, data: Data
) -> None:
    """Turns are epochs: between two of them nobody holds the lock."""
    with ThreadPoolExecutor(1) as pool:

        def on_epoch(progress: object) -> None:
            assert pool.submit(clf.predict, data).result(timeout=60).shape == (128,)

        ansgt.NodeClassifier("gcn", epochs=2, device="cpu").fit(data, on_epoch=on_epoch)


@contextmanager
def float64_default() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


MODES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "float64": float64_default,
    "autocast": lambda: torch.autocast("cpu"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model", ["ansgt", "gcn"])
def test_modes_of_the_caller_change_no_bit(mode: str, model: str, data: Data) -> None:
    plain = fitted(model)
    with MODES[mode]():
        other = fitted(model)
        assert np.allclose(other.predict_proba(data), plain.predict_proba(data), atol=1e-6)
    assert np.array_equal(other.predict_proba(), plain.predict_proba())


def test_warnings_filters_stay(data: Data) -> None:
    before = list(warnings.filters)
    fitted().explain(3)
    assert warnings.filters == before
    sparse = data.clone()
    sparse.x = sparse.x.to_sparse_csr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Class.* never predicted")  # one epoch
        ansgt.NodeClassifier("gcn", epochs=1, device="cpu").fit(sparse)


@pytest.mark.parametrize("model", list(MODELS))
def test_every_fitted_model_travels(model: str, data: Data, tmp_path: Path) -> None:
    clf = fitted(model, epochs=1)
    expected = clf.predict_proba()
    sent, copied = pickle.dumps(clf), copy.deepcopy(clf)
    del clf  # and its folder
    for other in (pickle.loads(sent), copied):
        assert np.array_equal(other.predict_proba(), expected)
        assert np.allclose(other.predict_proba(data), expected, atol=1e-5)
        other.save(tmp_path / "saved")
        loaded = ansgt.NodeClassifier.load(tmp_path / "saved", device="cpu")
        assert np.array_equal(loaded.predict_proba(), expected)


def test_a_classifier_whose_folder_is_gone_saves(tmp_path: Path) -> None:
    clf = fitted("gcn")
    clf.save(tmp_path / "a")
    loaded = ansgt.NodeClassifier.load(tmp_path / "a", device="cpu")
    shutil.move(tmp_path / "a", tmp_path / "b")
    loaded.save(tmp_path / "a")
    again = ansgt.NodeClassifier.load(tmp_path / "a", device="cpu")
    assert np.array_equal(again.predict_proba(), clf.predict_proba())
    assert again.trained_.num_parameters == clf.trained_.num_parameters


def test_unfitted_classifiers_travel() -> None:
    clf = pickle.loads(pickle.dumps(ansgt.NodeClassifier("gcn", epochs=7)))
    assert (clf.model, clf.epochs) == ("gcn", 7)
