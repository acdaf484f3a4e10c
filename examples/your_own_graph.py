"""
Your own graph in ten lines
===========================

A graph of people who know each other, some of whose groups are known: predict the rest. The graph is Zachary's karate
club, whose 34 members split into two groups.
"""

import matplotlib.pyplot as plt
import networkx as nx
import torch
from torch_geometric.data import Data

from ansgt import NodeClassifier

club = nx.karate_club_graph()
group = torch.tensor([int(club.nodes[i]["club"] == "Officer") for i in club])
known = [0, 1, 2, 3, 30, 31, 32, 33]  # whose group we pretend to know; -1 for all others
labels = torch.full((34,), -1)
labels[known] = group[known]
edges = torch.tensor(list(club.edges)).T
data = Data(x=torch.eye(34), edge_index=edges, y=labels)

clf = NodeClassifier(epochs=40, num_sampled=8, seed=0).fit(data)
predicted = clf.predict()

right = int((predicted == group.numpy()).sum())
print(f"{right} of 34 members are in the predicted group")

# %%
# The colour is the predicted probability of the second group. Squares are the members whose group was known.

place = nx.spring_layout(club, seed=1)
look = {"node_size": 260, "cmap": "coolwarm", "vmin": 0, "vmax": 1, "edgecolors": "#333"}
second = clf.predict_proba()[:, 1]
others = [i for i in club if i not in known]

fig, ax = plt.subplots(figsize=(6.4, 4.4))
nx.draw_networkx_edges(club, place, edge_color="#b9bcc6", ax=ax)
nx.draw_networkx_nodes(club, place, known, node_color=second[known], node_shape="s", ax=ax, **look)
nx.draw_networkx_nodes(club, place, others, node_color=second[others], node_shape="o", ax=ax, **look)
nx.draw_networkx_labels(club, place, font_size=8, ax=ax)
ax.axis("off")
fig.tight_layout()
plt.show()
