"""TensorBoard logging, an extra: loss, validation accuracy and the heuristics' probabilities, an epoch a step."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ansgt.errors import InputError
from ansgt.training.fit import Progress, Report


@contextmanager
def event_log(folder: Path, wanted: bool) -> Iterator[Report]:
    """Yields a function to call after every epoch; it does nothing when no log is wanted."""
    if not wanted:
        yield lambda _: None
        return
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("TensorBoard is not installed; pip install 'ansgt[tensorboard]'.") from None
    with SummaryWriter(str(folder)) as writer:

        def log(progress: Progress) -> None:
            split = f"split-{progress.split}"
            writer.add_scalar(f"{split}/loss", progress.loss, progress.epoch)
            if progress.val_accuracy is not None:
                writer.add_scalar(f"{split}/val_accuracy", progress.val_accuracy, progress.epoch)
            for name, value in progress.status.items():
                writer.add_scalar(f"{split}/probability/{name}", value, progress.epoch)

        yield log
