"""
Which heuristic wins where
==========================

The bandit learns how much to trust each way of proposing nodes. On Newman networks the share of edges that join nodes of one
class can be chosen: where most do, neighbours are worth attending to; where few do, they are not.
"""

import matplotlib.pyplot as plt

import ansgt

HOMOPHILIES = (0.1, 0.9)
SMALL = {
    "epochs": 15,
    "update_period": 3,
    "bandit_step": 24.0,
    "num_sampled": 10,
    "num_layers": 1,
    "num_inference": 1,
}

learned = {}
for homophily in HOMOPHILIES:
    data = ansgt.load_dataset(f"newman-{homophily}")
    clf = ansgt.NodeClassifier(seed=0, **SMALL).fit(data)
    learned[homophily] = clf.trained_.heuristic_probabilities()
    shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in learned[homophily].items())
    print(f"homophily {homophily}: {shares}")

# %%
# The page of ``ansgt report`` shows the way there. What wins here depends on features as well: with weaker ones neighbours
# of the same class are worth more.

fig, ax = plt.subplots(figsize=(6.4, 2.6))
names = list(learned[HOMOPHILIES[0]])
left = [0.0] * len(HOMOPHILIES)
for name in names:
    width = [learned[homophily][name] for homophily in HOMOPHILIES]
    ax.barh([f"homophily {h}" for h in HOMOPHILIES], width, left=left, label=name)
    left = [before + more for before, more in zip(left, width, strict=True)]
ax.set_xlabel("probability after training")
ax.legend(ncols=len(names), fontsize=8, loc="upper center", bbox_to_anchor=(0.5, 1.22), frameon=False)
fig.tight_layout()
plt.show()
