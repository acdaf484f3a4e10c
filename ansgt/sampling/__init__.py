"""Adaptive node sampling: the mixture of heuristics, drawing from it, the reward, the bandit."""

from ansgt.sampling.bandit import Exp4P, PaperRule, Reward, StepRule, reward
from ansgt.sampling.mixture import Mixture, StreamedMixture, build_mixture
from ansgt.sampling.sampler import NodeSampler, SampledNodes

__all__ = [
    "Exp4P",
    "Mixture",
    "NodeSampler",
    "PaperRule",
    "Reward",
    "SampledNodes",
    "StepRule",
    "StreamedMixture",
    "build_mixture",
    "reward",
]
