"""
Cora in ten lines
=================

2,708 papers, 5,278 citations, seven topics; three papers of five are trained on. The raw files are looked for in
``$ANSGT_DATA``, as by the command line; where they are absent the built-in Newman network stands in.
"""

import os
from pathlib import Path

import ansgt

root = Path(os.environ.get("ANSGT_DATA", "data"))
name = "cora" if (root / "Cora").exists() else "newman"
data = ansgt.load_dataset(name, root)
clf = ansgt.NodeClassifier(epochs=6, hidden_channels=64, num_augmentations=2, num_inference=2, seed=0).fit(
    data
)
print(f"{name}: test accuracy {clf.score():.2f}, a constant guess {clf.scores().constant['accuracy']:.2f}")
explanation = clf.explain(0)
print(explanation)

# %%
# Six epochs are a taste: with the settings that ship for Cora (``NodeClassifier().fit(data)``) it takes some minutes.
# In a notebook ``fit(data, verbose=True)`` shows a line with epoch, validation accuracy and the heuristics' probabilities.

explanation.plot()
