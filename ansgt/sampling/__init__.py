"""Adaptive node sampling: the mixture of heuristics, drawing from it, the reward, the bandit."""

from ansgt.sampling.bandit import Exp4P
from ansgt.sampling.mixture import Mixture
from ansgt.sampling.reward import Reward, reward
from ansgt.sampling.sampler import NodeSampler, SampledNodes

__all__ = ["Exp4P", "Mixture", "NodeSampler", "Reward", "SampledNodes", "reward"]
