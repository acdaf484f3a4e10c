"""The smallest step that trains: a tiny model on random resident sequences; for the tests beside this file."""

import torch

from ansgt.models.ansgt import ANSGT
from ansgt.sequences.batch import SequenceLayout
from ansgt.testing import RandomSequences
from ansgt.training.optim import LinearSchedule, ScheduledAdamW
from ansgt.training.steps import TrainStep

NODES, SEQUENCES, CLASSES = 23, 3, 3
LAYOUT = SequenceLayout(num_sampled=4, num_supernodes=0, num_global=1)


def make_step(device: str = "cpu", dropout: float = 0.0, **settings: bool) -> TrainStep:
    torch.manual_seed(0)
    rates = {"dropout": dropout, "attention_dropout": dropout, "input_dropout": dropout}
    model = ANSGT(
        5, CLASSES, hidden_channels=16, num_layers=2, num_heads=2, num_global=1, num_proximity=2, **rates
    ).to(device)
    optimizer = ScheduledAdamW(model, LinearSchedule(peak=5e-3, end=1e-4, warmup=5, total=150))
    tables = RandomSequences(NODES, 5, CLASSES, LAYOUT, SEQUENCES, 2, device=device)
    return TrainStep(model, optimizer, tables, **settings)
