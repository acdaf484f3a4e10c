"""
Explain a node
==============

Whom did a node attend to, and which heuristic brought those nodes? The graph is a Newman network in which three
quarters of the edges join nodes of one class.
"""

import matplotlib.pyplot as plt
import numpy as np

from ansgt import NodeClassifier, load_dataset

data = load_dataset("newman")
clf = NodeClassifier(epochs=30, seed=0).fit(data)

explanation = clf.explain(7, top=10)
print(explanation)

# %%
# Each bar is the share of the node's attention that another node received. Its parts are the heuristics that may have
# drawn it: p_k Q_ki / psi_i. ``explanation.plot("node7.png")`` draws the same into a file.

rows = explanation.attended
fig, ax = plt.subplots(figsize=(6.4, 3.8))
start = np.zeros(len(rows))
for name in explanation.heuristics:
    part = np.array([100 * row.significance * row.heuristics[name] for row in rows])
    ax.barh(range(len(rows)), part, left=start, label=name)
    start += part
ax.set_yticks(range(len(rows)), [f"node {row.node}, label {row.label}" for row in rows])
ax.invert_yaxis()
ax.set_xlabel("share of the attention (%)")
ax.set_title(f"Node {explanation.node}: class {explanation.prediction}, label {explanation.label}")
ax.legend()
fig.tight_layout()
plt.show()
