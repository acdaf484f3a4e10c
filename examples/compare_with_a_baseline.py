"""
Compare with a baseline
=======================

ANS-GT, GCN and an MLP on two Newman networks with weak features. In one most neighbours share a class (homophily 0.9),
in the other few do (0.1). GCN needs the first kind, the MLP does not look at the edges at all, and ANS-GT has to find out
what helps. Every model sees the same three splits, so differences can be read split by split.
"""

import matplotlib.pyplot as plt
import numpy as np

from ansgt import NodeClassifier, load_dataset

MODELS = {
    "mlp": {"epochs": 40},
    "gcn": {"epochs": 40},
    "ansgt": {"epochs": 30, "num_sampled": 10, "num_layers": 1, "num_augmentations": 2},
}
SPLITS = range(3)
WEAK = {"mean_own_features": 8, "mean_other_features": 8}  # of 50 in the own block, of 150 in the others

accuracy = {}
for name in ("newman-0.1", "newman-0.9"):
    for model, settings in MODELS.items():
        for split in SPLITS:
            data = load_dataset(name, split="uniform-60-20-20", index=split, **WEAK)
            clf = NodeClassifier(model, seed=split, **settings).fit(data)
            accuracy[name, model, split] = 100 * clf.score(data.test_mask)
        scores = [accuracy[name, model, split] for split in SPLITS]
        print(f"{name}  {model:5s}  {np.mean(scores):5.1f} ± {np.std(scores):.1f} %")

# %%
# One dot per split. ``ansgt compare`` does this for any models and data sets, with run directories and paired tests.

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), sharey=True)
for ax, name in zip(axes, ("newman-0.1", "newman-0.9"), strict=True):
    for at, model in enumerate(MODELS):
        ax.plot([at] * len(SPLITS), [accuracy[name, model, split] for split in SPLITS], "o", alpha=0.7)
    ax.set_xticks(range(len(MODELS)), list(MODELS))
    ax.set_title(f"homophily {name.partition('-')[2]}")
    ax.margins(x=0.3)
axes[0].set_ylabel("test accuracy (%)")
fig.tight_layout()
plt.show()
