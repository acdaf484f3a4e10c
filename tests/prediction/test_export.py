"""Exported programs give the numbers of the model that they came from, whatever the batch."""

import copy
from pathlib import Path

import pytest
import torch

import ansgt
from ansgt.errors import InputError
from ansgt.prediction import TrainedModel
from ansgt.prediction import export as module
from ansgt.prediction.experts import WeightedExperts
from ansgt.prediction.export import Program, export, inputs_of, load_program, probabilities_of

QUICK = {"epochs": 2, "num_augmentations": 2, "hidden_channels": 16, "num_heads": 2, "device": "cpu"}
KINDS = {
    "one layer": {"num_layers": 1},
    "two layers and super-nodes": {"num_layers": 2, "num_supernodes": 2, "num_global": 1},
    "two models": {"num_layers": 1, "num_models": 2},
    "calibrated": {"num_layers": 1, "calibrate": True},
    "links": {"num_layers": 1, "link_features": "links"},
    "gophormer": {"model": "gophormer"},
}


def trained(kind: str) -> TrainedModel:
    settings = {**QUICK, **KINDS[kind]}
    if "model" in settings:
        settings = {"model": settings["model"], "epochs": 2, "device": "cpu"}
    return ansgt.NodeClassifier(**settings).fit(ansgt.load_dataset("newman")).trained_


@pytest.mark.parametrize("kind", KINDS)
def test_a_program_is_the_model_for_batches_of_any_size(kind: str, tmp_path: Path) -> None:
    model = trained(kind)
    done = export(model, tmp_path / "p.pt2")
    assert done.largest_difference < 1e-5
    assert done.num_nodes == 128
    run, about = load_program(done.output)
    nodes = torch.tensor([5, 90, 17])
    inputs = inputs_of(model, nodes)
    assert len(inputs) == 3 * about["sequences_per_node"]
    expected = model.predict_proba(nodes)
    logits = run(inputs.named())
    torch.testing.assert_close(probabilities_of(logits, 3, about["temperature"]), expected, atol=1e-5, rtol=0)
    one_by_one = torch.cat([run(inputs.rows(i, i + 1).named()) for i in range(len(inputs))])
    torch.testing.assert_close(one_by_one, logits, atol=1e-5, rtol=0)
    many = inputs_of(model, torch.arange(128))
    torch.testing.assert_close(
        probabilities_of(run(many.named()), 128, model.temperature),
        model.predict_proba(torch.arange(128)),
        atol=1e-5,
        rtol=0,
    )


def test_what_a_file_says(tmp_path: Path) -> None:
    model = trained("one layer")
    done = export(model, tmp_path / "p.pt2", facts={"dataset": "newman"})
    _, about = load_program(done.output)
    named = inputs_of(model, torch.tensor([0])).named()
    assert list(about["inputs"]) == list(named)
    assert {name: about["inputs"][name][1:] for name in named} == {
        name: list(value.shape[1:]) for name, value in named.items()
    }
    assert about["classes"] == [0, 1, 2, 3]
    assert about["dataset"] == "newman"


def test_onnx_agrees(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    model = trained("two layers and super-nodes")
    done = export(model, tmp_path / "p.onnx", "onnx", measured=20)
    assert done.largest_difference < 1e-4
    run, about = load_program(done.output)
    inputs = inputs_of(model, torch.tensor([3]))
    found = probabilities_of(run(inputs.named()), 1)
    torch.testing.assert_close(found, model.predict_proba(torch.tensor([3])), atol=1e-4, rtol=0)
    assert about["sequences_per_node"] == len(inputs)


def test_a_program_that_differs_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained("one layer")

    class Wrong(Program):
        def __init__(self, models: list[torch.nn.Module], layout: object) -> None:
            changed = copy.deepcopy(models)
            with torch.no_grad():
                changed[0].head[-1].bias[0] += 0.01
            super().__init__(changed, layout)

    monkeypatch.setattr(module, "Program", Wrong)
    with pytest.raises(InputError, match=r"differ by .*nothing was written"):
        export(model, tmp_path / "p.pt2")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_exported_or_read(tmp_path: Path) -> None:
    data = ansgt.load_dataset("newman")
    gcn = ansgt.NodeClassifier("gcn", epochs=1, device="cpu").fit(data).trained_
    with pytest.raises(InputError, match="Only models that read sequences"):
        export(gcn, tmp_path / "p.pt2")
    with pytest.raises(InputError, match=r"A mixture of experts .* cannot be exported; keep it with save"):
        export(WeightedExperts([gcn, gcn], [0.5, 0.5]), tmp_path / "p.pt2")
    with pytest.raises(InputError, match="Unknown format 'tflite'"):
        export(gcn, tmp_path / "p.tflite", "tflite")
    (tmp_path / "p.pt2").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a program"):
        load_program(tmp_path / "p.pt2")
