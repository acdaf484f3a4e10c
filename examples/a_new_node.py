"""
A new node
==========

A graph grows after training. The weights and the heuristics' probabilities stay; heuristics and sequences of the new nodes
are computed anew, and their labels are not needed.
"""

import torch
from torch_geometric.data import Data

import ansgt

data = ansgt.load_dataset("newman")
clf = ansgt.NodeClassifier(epochs=8, seed=0).fit(data)

# %%
# Node 128 arrives. It knows five nodes of class 2 and has the features of one of them.

friends = (data.y == 2).nonzero().flatten()[:5]
links = torch.stack([torch.full((5,), 128), friends])
grown = Data(
    x=torch.cat([data.x, data.x[friends[:1]]]),
    edge_index=torch.cat([data.edge_index, links, links.flip(0)], dim=1),
)
probabilities = clf.predict_proba(grown, nodes=[128])
print(f"node 128: class {clf.predict(grown, nodes=[128])[0]}, probabilities {probabilities.round(2)}")

# %%
# Why? The explanation also says which of its neighbours the model was trained on.

explanation = clf.explain(128, data=grown)
print(explanation)
explanation.plot()
