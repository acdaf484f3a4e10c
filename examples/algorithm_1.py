"""
Algorithm 1 of the paper
========================

The closed loop, written out with the parts of the package: the transformer trains on sampled sequences, and its own
attention says which heuristic to trust. ``ansgt train newman`` does the same with validation, records and resumption
around it.
"""

import torch
import torch.nn.functional as F

from ansgt import ANSGT, Exp4P, SequencePipeline, load_dataset
from ansgt.graph import Graph
from ansgt.models.ansgt import ANSGTSettings
from ansgt.sampling import reward
from ansgt.sequences import SequenceSettings

EPOCHS, UPDATE_PERIOD, BATCH_SIZE = 30, 5, 32

torch.manual_seed(0)
data = load_dataset("newman")
graph = Graph.from_data(data)
train = data.train_mask.nonzero().flatten()

# graph -> heuristics -> mixture -> sampler -> super-nodes -> proximity -> sequences
settings = SequenceSettings(num_sampled=10, num_augmentations=4, coarsening_rate=0.1)
pipeline = SequencePipeline(graph, settings, seed=0)
names = settings.active_heuristics  # 1-hop, 2-hop, ppr, knn
model = ANSGT(graph.num_features, graph.num_classes, ANSGTSettings(hidden_channels=32, num_layers=2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

# Line 1: equal weights. Line 2: psi of equal probabilities, and a first draw.
bandit = Exp4P(num_arms=len(names), p_min=0.05)
drawn = pipeline.draw(train, bandit.probabilities(), round=0)

for epoch in range(EPOCHS):
    # Lines 4 and 5: train the transformer on the sequences of the training centres.
    model.train()
    for centres in train[torch.randperm(len(train))].split(BATCH_SIZE):
        batch = drawn.sequences.batch(centres)
        loss = F.cross_entropy(model(batch), batch.target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    if (epoch + 1) % UPDATE_PERIOD == 0:
        # Line 6: significance s_i = A_{1,i} |V_i| of every sampled node, from the attention itself.
        model.eval()
        with torch.no_grad():
            _, s = model(drawn.sequences.batch(train), significance=True)
        s = s.view(len(train), settings.num_augmentations, -1)  # [centres, S, N]

        # Lines 9 and 10: one reward per heuristic, and the bandit's weights.
        rewards = reward(drawn.sampled, s).mean()
        bandit.update(rewards)

        # Lines 7 and 8: psi from the new probabilities, and a new draw from it.
        p = bandit.probabilities()
        drawn = pipeline.draw(train, p, round=epoch + 1)
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in zip(names, p, strict=True))
        print(f"epoch {epoch + 1:2d}  loss {loss:.3f}  {shares}")
