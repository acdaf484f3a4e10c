"""Algorithm 1 of the paper: train the transformer, and every T epochs let its attention say which heuristic to trust.

This is the only place where attention flows back to the bandit, as plain tensors.
"""

import copy
import functools
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.device import is_main_memory
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.heuristics import heuristic_names, measured
from ansgt.models.ansgt import ANSGT
from ansgt.pipeline import Drawn
from ansgt.prediction.ansgt import AdaptiveSettings, TrainedANSGT
from ansgt.prediction.inference import Significance
from ansgt.ranks import ranks
from ansgt.sampling import Exp4P, Reward, SampledNodes, reward
from ansgt.sampling.bandit import standing as bandit_standing
from ansgt.stages import stage
from ansgt.storage import DiskCache
from ansgt.training import State, class_weights
from ansgt.training.optim import WeightAverage, scheduled_adamw
from ansgt.training.steps import CapturedStep, TrainStep, train_epoch

REWARDED = 16_384
"""Training centres whose rewards are computed at a time."""


class AdaptiveLearner:
    """ANS-GT on one split. Only `split.train` enters the loss, the reward and the bandit.

    Args:
        config: of the run; its `settings` are those of `AdaptiveSettings`.
        graph: the graph.
        split: which centres are trained on.
        seed: of all sequences.
        cache: for what is computed once per graph.
    """

    def __init__(self, config: RunConfig, graph: Graph, split: Split, seed: int, cache: DiskCache) -> None:
        self.trained = trained = TrainedANSGT.build(config, graph, seed, cache, len(split.train))
        self.settings = settings = trained.settings
        self.bandit = Exp4P.from_settings(settings, len(trained.pipeline.heuristics))
        trained.p = _initial(settings, self.bandit)
        self.model, self.average = _live(trained.model, settings, len(split.train))
        self.train_nodes = split.train.to(trained.device)
        # a batch is filled up to its size with centres that count for nothing, so it is no larger than it must be
        self.batch_size = _batch_size(settings, len(split.train), trained.device)
        self.optimizer = scheduled_adamw(config, self.model, len(split.train), self.batch_size)
        self.tables = trained.pipeline.tables()
        self.streams = trained.pipeline.plan.sequences == "streamed"
        self.class_weight = class_weights(config, graph, split)
        self.step = self._step()
        self.significance = Significance(
            self.model, self.tables.batch, captured=trained.inference.execution.captured
        )
        self.round = 0
        self.rows: list[dict[str, Any]] = []
        self._resample()
        self._catch_up()

    def train_epoch(self, epoch: int) -> float:
        """One turn of Algorithm 1's loop (lines 4-11)."""
        if epoch == 0 and self.settings.pilot_epochs and self.settings.sampling == "adaptive":
            self._pilot()
        loss = self._pass()
        redraw = self.settings.redraw_every
        if (epoch + 1) % self.settings.update_period == 0:
            if self.settings.sampling == "adaptive":
                self._update(epoch)
            self._resample()
        elif redraw is not None and (epoch + 1) % redraw == 0:
            self._resample()
        return float(loss)

    def _pilot(self) -> None:
        """`pilot_epochs` epochs, each with an update (rows of negative epochs); then all but the bandit is as before."""
        pilot = self.settings.pilot_epochs
        forget = self.step.snapshot()
        for epoch in range(-pilot, 0):
            self._pass()
            self._update(epoch)
            self._resample()
        forget()

    def _pass(self) -> Tensor:
        """Every training centre once (lines 4, 5)."""
        ranks().same(self.optimizer.flat)
        self._catch_up()
        supply = self._streamed if self.streams else None
        return train_epoch(self.step, self.train_nodes, self.batch_size, supply=supply)

    def _update(self, epoch: int) -> None:
        """Significance of the training centres' nodes -> reward -> weights (lines 6, 9, 10); labels play no part."""
        with stage("reward"):
            parts = [self._reward(sampled) for sampled in self._drawn()]
        own = functools.reduce(operator.add, parts)
        r = Reward(*ranks().total(torch.stack([own.total, own.count]))).mean()
        self.bandit.update(r)
        self.trained.p = self.bandit.probabilities()
        self.rows.append(
            {
                "epoch": epoch,
                "round": self.round,
                "heuristics": heuristic_names(self.trained.pipeline.heuristics),
                "rewards": r.tolist(),
                "weights": self.bandit.weights().tolist(),
                "probabilities": self.trained.p.tolist(),
            }
        )

    def _reward(self, sampled: SampledNodes) -> Reward:
        """Of some training centres, whose sequences lie in the tables."""
        s = self.significance(sampled.nodes)
        return reward(sampled, s, self.settings.reward, self.settings.multiplicity_bias)

    def _resample(self) -> None:
        """psi from p, N nodes for each of S sequences (lines 7, 8), when they are read: after the last epoch nobody does."""
        self.round += 1
        self._owed = None if self.streams else self.trained.p

    def _catch_up(self) -> None:
        """Draws for the training centres, if that is due; what is streamed is drawn block by block."""
        if self._owed is not None:
            pipeline, p = self.trained.pipeline, self._owed
            with stage("sequences"):
                self.sampled = pipeline.draw(self.train_nodes, p, self.round, into=self.tables).sampled
            self._owed = None

    def _drawn(self) -> Iterator[SampledNodes]:
        """What was drawn for this process's training centres, some thousands at a time, be it held or streamed."""
        share = ranks().share(len(self.train_nodes))
        self._catch_up()
        if not self.streams:
            for start in range(share.start, share.stop, REWARDED):
                yield self.sampled.part(slice(start, min(start + REWARDED, share.stop)))
            return
        blocks = self.train_nodes[share].split(REWARDED)
        for drawn in self._stream(blocks):
            yield drawn.sampled.part(slice(1, None))

    def _streamed(self, batches: Tensor) -> Iterator[Tensor]:
        """Batches of centres, some at a time, with the sequences of this process's share of each in the tables."""
        share = ranks().share(self.batch_size)
        size = ranks().share_size(self.batch_size)
        parts = batches.split(max(1, self.trained.pipeline.plan.block // size))
        owned = (part[:, share] for part in parts)
        blocks = (part[part >= 0] for part in owned)
        for part, _ in zip(parts, self._stream(blocks), strict=True):
            yield part

    def _stream(self, blocks: Iterable[Tensor]) -> Iterator[Drawn]:
        """Puts the sequences of one block after the other into the tables, behind those that padding reads."""
        padding = self.train_nodes[:1] * bool((self.train_nodes != 0).all())
        behind = (torch.cat([padding, block]) for block in blocks)
        for drawn in self.trained.pipeline.stream(behind, self.trained.p, self.round):
            self.tables.take(drawn.sequences)
            yield drawn

    def _step(self) -> TrainStep | CapturedStep:
        """Tables, model and optimizer connected, eager or captured."""
        execution = self.trained.inference.execution
        build = self.tables.batch
        if not ranks().alone:
            build = functools.partial(build, whole=self.batch_size)
        step = TrainStep(
            self.model,
            self.optimizer,
            build,
            amp=execution.amp,
            compiled=execution.compiled,
            label_smoothing=self.settings.label_smoothing,
            class_weight=self.class_weight,
            average=self.average,
            num_sequences=self.settings.num_augmentations,
        )
        return CapturedStep(step) if execution.captured else step

    def state_dict(self) -> State:
        live = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        return {
            "weights": self.trained.weights(),
            "live": {} if self.average is None else live,
            "optimizer": self.optimizer.state_dict(),
            "bandit": self.bandit.state_dict(),
            "round": self.round,
            "rows": self.rows,
        }

    def load_state_dict(self, state: State) -> None:
        self.trained.load_weights(state["weights"])
        if self.average is not None:
            self.model.load_state_dict(state["live"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.bandit.load_state_dict(state["bandit"])
        self.rows = state["rows"]
        self.round = state["round"] - 1
        self._resample()  # the draw of a round is a function of (seed, round, p): nothing else is stored
        self._catch_up()

    def release(self) -> None:
        vars(
            self.tables
        ).clear()  # steps refer to themselves and to the tables: Python would collect them in time alone
        del self.tables, self.significance, self.step, self.optimizer
        if not self.streams:
            del self.sampled
        self.trained.inference.forget()

    def history(self) -> list[dict[str, Any]]:
        return self.rows

    def standing(self, kept: int) -> dict[str, Any]:
        pipeline = self.trained.pipeline
        facts = {
            "memory": pipeline.plan.ways,
            "heuristics": measured(pipeline.heuristics),
            "proximity": pipeline.proximity.measured_,
        }
        adaptive = self.settings.sampling == "adaptive"
        return {"bandit": bandit_standing(self.rows, kept), **facts} if adaptive else facts


def _batch_size(settings: AdaptiveSettings, num_centres: int, device: torch.device) -> int:
    """Centres of a batch; raises `InputError` where a process would have none, or cannot do what the settings ask for."""
    size, number = min(settings.batch_size, num_centres), ranks().size
    if size < number:
        raise InputError(
            f"A batch of {size} training nodes cannot be shared by {number} processes; start fewer."
        )
    if number > 1 and settings.compiled and is_main_memory(device):
        raise InputError("Setting model.compiled works with several processes on GPUs alone.")
    return size


def _initial(settings: AdaptiveSettings, bandit: Exp4P) -> Tensor:
    """Probabilities of the heuristics at the start: equal (Algorithm 1, line 1), or as `initial` says."""
    if settings.initial is None or len(settings.initial) != bandit.num_arms:
        return bandit.probabilities()
    values = torch.tensor(settings.initial, dtype=torch.float64)
    return values / values.sum()


def _live(
    predicting: ANSGT, settings: AdaptiveSettings, num_centres: int
) -> tuple[ANSGT, WeightAverage | None]:
    """The model under training: the one that predicts, or one of whose weights that one is the running mean."""
    if settings.average_epochs <= 0:
        return predicting, None
    live = copy.deepcopy(predicting)
    updates = settings.average_epochs * -(-num_centres // settings.batch_size)
    return live, WeightAverage(live, predicting, updates)
