"""Training: the harness, its learners and its records."""

from ansgt.training.build import build_learner, model_defaults, resolve_device, section_defaults
from ansgt.training.fit import Progress, run, train_split
from ansgt.training.records import RunFolder, open_run

__all__ = [
    "Progress",
    "RunFolder",
    "build_learner",
    "model_defaults",
    "open_run",
    "resolve_device",
    "run",
    "section_defaults",
    "train_split",
]
