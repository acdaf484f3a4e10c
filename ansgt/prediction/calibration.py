"""Temperature scaling (Guo et al., 2017): logits divided by one number, so that confidences mean what they say.

A node's probabilities are a mean over sequences and models, so it is the logarithm of that mean which is divided:
p_c -> p_c^(1/T) / sum over c' of p_c'^(1/T). No prediction changes, only how sure it is.
"""

import numpy as np
from torch import Tensor

FLOOR = 1e-12
"""Smallest probability whose logarithm is taken."""
WIDEST = np.log(100.0)
"""log T is searched between minus this and this."""


def tempered(probabilities: Tensor, temperature: float) -> Tensor:
    """Probabilities [n, C] at a temperature; the same tensor at 1."""
    if temperature == 1.0:
        return probabilities
    return (probabilities.double().clamp(min=FLOOR).log() / temperature).softmax(dim=-1).float()


def fitted_temperature(probabilities: Tensor, labels: Tensor) -> float:
    """The temperature with the lowest mean cross-entropy against labels [n]; 1 where there are none.

    A label counts 1 - e, and e = 1 / (n + 2) is spread over all classes (after Platt, 1999): were all n nodes right, the
    plain cross-entropy would ask for a temperature of 0. It is convex in 1/T, so there is one minimum.
    """
    from scipy.optimize import minimize_scalar  # whoever only predicts does not pay for it

    if len(labels) == 0:
        return 1.0
    logs = probabilities.double().clamp(min=FLOOR).log()
    spread = 1 / (len(labels) + 2)

    def loss(log_temperature: float) -> float:
        scaled = (logs / np.exp(log_temperature)).log_softmax(dim=-1)
        own = scaled.gather(1, labels[:, None]).mean()
        return float(-(1 - spread) * own - spread * scaled.mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-WIDEST, WIDEST), method="bounded").x))
