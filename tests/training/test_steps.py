"""The step: weighted loss, padding, the epoch's mean, determinism, compile, and (on CUDA) capture equal to eager."""

import copy
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from cases import CLASSES, NODES, SEQUENCES, make_step
from torch import Tensor

from ansgt.kernels.dropout import WHOLE
from ansgt.prediction.inference import padded
from ansgt.ranks import Ranks
from ansgt.training.optim import LinearSchedule, WeightAverage
from ansgt.training.steps import CapturedStep, TrainStep, sequence_loss, train_epoch


def weights(step: TrainStep) -> Tensor:
    return torch.cat([p.detach().flatten().cpu() for p in step.model.parameters()])


def test_loss_is_the_mean_over_centres_and_sequences() -> None:
    logits, target = torch.randn(4, 3, CLASSES), torch.tensor([0, 2, 1, 1])
    expected = torch.stack([F.cross_entropy(logits[i], target[i].repeat(3)) for i in (0, 1, 3)]).mean()
    weight = torch.tensor([1.0, 1.0, 0.0, 1.0])
    loss = sequence_loss(logits.flatten(0, 1), target.repeat_interleave(3), weight)
    assert torch.allclose(loss, expected)
    assert sequence_loss(logits.flatten(0, 1), target.repeat_interleave(3), torch.zeros(4)) == 0


@pytest.mark.parametrize("total", [None, torch.tensor(7.0)])
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_loss_by_its_definition(total: Tensor | None, scale: float) -> None:
    """Centre by centre, with weights of centres and classes, smoothed targets, and a centre without a label."""
    torch.manual_seed(0)
    logits, target = torch.randn(4, 2, CLASSES), torch.tensor([0, 2, -1, 1])
    weight, per_class = scale * torch.tensor([1.0, 0.5, 1.0, 0.0]), torch.tensor([0.5, 1.0, 3.0])
    losses = [
        per_class[c] * F.cross_entropy(logits[i], target[i].repeat(2), label_smoothing=0.2)
        for i, c in ((0, 0), (1, 2))
    ]
    summed = scale * (losses[0] + 0.5 * losses[1])
    expected = summed / max(2.5 * scale, 1.0) if total is None else summed / 7
    found = sequence_loss(logits.flatten(0, 1), target.repeat_interleave(2), weight, 0.2, total, per_class)
    torch.testing.assert_close(found, expected)
    plain = sequence_loss(logits.flatten(0, 1), target.repeat_interleave(2), weight)
    assert torch.equal(plain, sequence_loss(logits.flatten(0, 1), target.repeat_interleave(2), weight, 0.0))


def test_one_centre_has_the_mean_of_one() -> None:
    mean, alone = train_epoch(make_step(), torch.tensor([3]), 4), make_step()(torch.tensor([3]))
    torch.testing.assert_close(mean, alone)
    step = make_step()
    assert (step.amp, step.label_smoothing, step.num_sequences) == (False, 0.0, 1)
    assert step._loss == step.loss  # not compiled


def test_an_epoch_begins_anew_in_training_mode() -> None:
    one, other = make_step(), make_step()
    for step in (one, other):
        step.model.eval()
        train_epoch(step, torch.arange(4), 4, torch.Generator().manual_seed(0))
        assert step.model.training
    torch.testing.assert_close(train_epoch(one, torch.tensor([7]), 1), other(torch.tensor([7])))


@pytest.mark.parametrize("alone", [True, False])
def test_processes_that_share_a_batch_drop_different_units(
    alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = Ranks() if alone else SimpleNamespace(alone=False, rank=2, share=slice, total=lambda value: value)
    seeds = list[int]()
    monkeypatch.setattr("ansgt.training.steps.ranks", lambda: ranks)
    monkeypatch.setattr("ansgt.training.steps.seed_card", seeds.append)
    step = make_step()
    step._places = lambda number: WHOLE  # type: ignore[method-assign]
    step.optimizer.step = lambda: None  # type: ignore[method-assign]
    torch.manual_seed(11)
    train_epoch(step, torch.arange(4), 4)
    assert seeds == ([] if alone else [13])


def test_a_node_without_a_label_has_no_loss() -> None:
    logits, weight = torch.randn(3, CLASSES), torch.tensor([1.0, 0.0, 1.0])
    loss = sequence_loss(logits, torch.tensor([1, -1, 0]), weight)
    assert torch.allclose(loss, F.cross_entropy(logits[[0, 2]], torch.tensor([1, 0])))


def test_padding_changes_nothing() -> None:
    """Five centres, or five and three times -1: same loss, same update."""
    ends = []
    for tail in ([], [-1, -1, -1]):
        step = make_step()
        loss = step(torch.tensor([3, 1, 4, 15, 9, *tail]))
        ends.append((loss, weights(step)))
    (loss1, weights1), (loss2, weights2) = ends
    assert torch.allclose(loss1, loss2, atol=1e-6)
    # Adam divides a gradient by its own size, so rounding in a vanishing one shows
    assert (weights1 - weights2).abs().max() < 1e-5


def test_epoch_sees_every_centre_once_and_averages_over_centres() -> None:
    step = make_step()
    seen: list[Tensor] = []
    build = step.build
    step.build = lambda centres: (seen.append(centres), build(centres))[1]
    nodes = torch.arange(10)
    losses = []
    inner = TrainStep.__call__
    for centres in padded(nodes[torch.randperm(10, generator=torch.Generator().manual_seed(4))], 4):
        losses.append((float(inner(step, centres)), int((centres >= 0).sum())))
    expected = sum(loss * count for loss, count in losses) / 10
    again = make_step()
    mean = train_epoch(again, nodes, 4, torch.Generator().manual_seed(4))
    assert float(mean) == pytest.approx(expected, rel=1e-6)
    assert torch.equal(weights(step), weights(again))
    assert sorted(torch.cat(seen).tolist()) == [
        0,
        0,
        *range(10),
    ]  # padding builds node 0's sequences, weight 0


def test_the_running_mean_starts_anew_and_goes_back() -> None:
    step = make_step(num_sequences=SEQUENCES)
    assert step.num_sequences == SEQUENCES
    step.average = WeightAverage(step.model, copy.deepcopy(step.model), 2.0)
    first = step(torch.tensor([0, 5, -1]))
    torch.testing.assert_close(step.mean_loss(), first)
    averaged = [value.clone() for value in step.average.model.parameters()]
    assert any(not torch.equal(a, b) for a, b in zip(averaged, step.model.parameters(), strict=True))
    restore = step.snapshot()
    second = step(torch.tensor([0]))
    torch.testing.assert_close(step.mean_loss(), (2 * first + second) / 3)
    assert any(not torch.equal(a, b) for a, b in zip(averaged, step.average.model.parameters(), strict=True))
    restore()
    torch.testing.assert_close(step.mean_loss(), first)
    assert all(torch.equal(a, b) for a, b in zip(averaged, step.average.model.parameters(), strict=True))
    step.reset()
    third = step(torch.tensor([7]))
    torch.testing.assert_close(step.mean_loss(), third)


def test_a_process_drops_in_the_sequences_of_its_own_centres(monkeypatch: pytest.MonkeyPatch) -> None:
    step = make_step()
    step.num_sequences = SEQUENCES
    monkeypatch.setattr("ansgt.training.steps.ranks", lambda: Ranks(rank=1, size=3))
    places = step._places(8)  # centres 3, 4 and 5
    assert (places.index, places.length) == (slice(3 * SEQUENCES, 6 * SEQUENCES), 8 * SEQUENCES)


def test_training_learns_and_is_reproducible() -> None:
    runs = []
    for _ in range(2):
        step = make_step(dropout=0.1)
        torch.manual_seed(7)
        generator = torch.Generator().manual_seed(7)
        losses = [float(train_epoch(step, torch.arange(NODES), 8, generator)) for _ in range(40)]
        runs.append(weights(step))
    assert losses[-1] < 0.7 * losses[0]
    assert torch.equal(*runs)


def test_snapshot_restores_in_place() -> None:
    step = make_step()
    step(torch.arange(6))
    before, restore = weights(step), step.snapshot()
    where = [p.data_ptr() for p in step.model.parameters()]
    first = step(torch.arange(6, 12))
    restore()
    assert torch.equal(weights(step), before)
    assert where == [p.data_ptr() for p in step.model.parameters()]
    assert step.optimizer.num_updates == 1
    assert torch.equal(step(torch.arange(6, 12)), first)


def test_amp_stays_close() -> None:
    plain, amp = make_step(), make_step(amp=True)
    centres = torch.arange(8)
    assert float(plain(centres)) == pytest.approx(float(amp(centres)), abs=0.02)


def test_compiler_sees_one_graph() -> None:
    """No graph break and no recompilation: the tracer runs, the code generator does not."""
    step = make_step()
    classify = torch.compile(step.model.classify, backend="eager", fullgraph=True, dynamic=False)
    for start in range(2):
        b = step.build(torch.arange(8) + start)
        logits, _ = classify(b)
        assert torch.allclose(logits, step.model(b), atol=1e-6)


def test_padded_rows() -> None:
    assert padded(torch.arange(4), 2).tolist() == [[0, 1], [2, 3]]
    assert padded(torch.arange(0), 2).shape == (0, 2)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("compiled", [False, True])
def test_captured_equals_eager(compiled: bool) -> None:
    eager = make_step("cuda", compiled=compiled)
    replay = CapturedStep(make_step("cuda", compiled=compiled))
    nodes = torch.arange(NODES, device="cuda")
    for epoch in range(10):
        losses = [
            float(train_epoch(step, nodes, 8, torch.Generator().manual_seed(epoch)))
            for step in (eager, replay)
        ]
        assert losses[0] == pytest.approx(losses[1], abs=1e-3)
    assert replay.step.optimizer.num_updates == 30


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("amp", [False, True])
def test_captured_training_is_reproducible(amp: bool) -> None:
    """Bit for bit: no sum on the device depends on an order that is left open."""
    runs = []
    for _ in range(2):
        step = CapturedStep(make_step("cuda", dropout=0.1, amp=amp))
        torch.manual_seed(7)
        generator = torch.Generator().manual_seed(7)
        for _ in range(20):
            train_epoch(step, torch.arange(NODES, device="cuda"), 8, generator)
        runs.append(weights(step.step))
    assert torch.equal(*runs)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_captured_dropout_advances_and_can_be_reseeded() -> None:
    step = CapturedStep(make_step("cuda", dropout=0.5))
    centres = torch.arange(8, device="cuda")
    step.step.optimizer.schedule = LinearSchedule(peak=0.0, end=0.0, warmup=0, total=1)  # weights stay
    torch.cuda.manual_seed(1)
    first = [float(step(centres)) for _ in range(3)]
    torch.cuda.manual_seed(1)
    assert [float(step(centres)) for _ in range(3)] == first
    assert len(set(first)) == 3


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_cuda_and_cpu_agree_over_ten_steps() -> None:
    """The same loss over ten steps in float32 to 1e-3."""
    steps = [make_step("cpu"), make_step("cuda")]
    steps[1].model.load_state_dict(copy.deepcopy(steps[0].model.state_dict()))
    for start in range(10):
        centres = (torch.arange(8) + start) % NODES
        one, other = (float(s(centres.to(s.model.global_nodes.device))) for s in steps)
        assert one == pytest.approx(other, abs=1e-3)
