"""
Imbalanced classes
==================

Five percent of the nodes are of the class that matters. Accuracy does not miss them: a model that never names the class
is right 95 times of 100. ``class_weight="balanced"`` counts every class alike, and other metrics say what came of it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch_geometric.data import Data

import ansgt

rng = np.random.default_rng(0)
rare = np.zeros(600, dtype=int)
rare[rng.choice(600, 30, replace=False)] = 1
x = torch.tensor(rng.normal(size=(600, 8)) + 0.9 * rare[:, None], dtype=torch.float)
edges = torch.tensor(rng.integers(0, 600, (2, 900)))
data = Data(x=x, edge_index=edges, y=torch.tensor(rare))
data.train_mask = torch.arange(600) % 3 == 0
data.val_mask = torch.arange(600) % 3 == 1
data.test_mask = torch.arange(600) % 3 == 2

# %%
# Both models pick the epoch by macro-F1 on the validation nodes; they differ in how much a training node counts.

METRICS = ("accuracy", "balanced_accuracy", "macro_f1")
scores = {}
for weight in (None, "balanced"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "Class 1 is never predicted ..."
        clf = ansgt.NodeClassifier("mlp", epochs=60, class_weight=weight, select="macro_f1", seed=0).fit(data)
    scores[weight] = [clf.score(metric=metric) for metric in METRICS]
    found = ", ".join(f"{metric} {value:.2f}" for metric, value in zip(METRICS, scores[weight], strict=True))
    print(f"class_weight={weight}: {found}")
constant = (data.y[data.test_mask] == 0).double().mean()
print(f"a constant guess: accuracy {constant:.2f}")

# %%
# Accuracy hardly moves, or falls; what one wants to know rises.

fig, ax = plt.subplots(figsize=(6.4, 3))
place = np.arange(len(METRICS))
for step, (weight, values) in enumerate(scores.items()):
    ax.bar(place + 0.38 * step, values, 0.36, label=f"class_weight={weight}")
ax.axhline(float(constant), color="#888", linewidth=0.8, linestyle="--")
ax.set_xticks(place + 0.19, [metric.replace("_", " ") for metric in METRICS])
ax.set_ylim(0, 1)
ax.legend(fontsize=8, loc="lower left")
fig.tight_layout()
plt.show()
