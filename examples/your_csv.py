"""
Your CSV
========

A table of edges with names, a table of features (numbers with gaps, a category), labels for some: from files to a file.
"""

# %%
# The tables, as they might come out of a database.

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import ansgt

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
names, kind = np.array([f"user-{i}" for i in range(90)]), np.arange(90) % 2
ends = 2 * rng.integers(0, 45, (300, 2)) + rng.integers(0, 2, (300, 1))  # friends mostly keep the same pet
pd.DataFrame({"from": names[ends[:, 0]], "to": names[ends[:, 1]]}).to_csv(folder / "edges.csv", index=False)
age = np.where(rng.random(90) < 0.1, np.nan, 30 + 8 * kind + 6 * rng.normal(size=90)).round()
town = rng.choice(["Bern", "Oslo", "Turin"], 90)
pet = np.where(np.arange(90) < 60, np.array(["cat", "dog"])[kind], None)
people = pd.DataFrame({"node": names, "age": age, "town": town, "label": pet})
people.to_csv(folder / "features.csv", index=False)
print(people.tail(3).to_string())

# %%
# Five lines from files to answers. The column ``label`` holds the classes; where it is empty they are asked for.

data = ansgt.from_edges(folder / "edges.csv", folder / "features.csv")
clf = ansgt.NodeClassifier(epochs=10, num_sampled=10, seed=0).fit(data)
answers = pd.DataFrame(clf.predict_proba(), index=data.node_names.values, columns=clf.classes_)
answers = answers.assign(prediction=clf.predict())
answers.to_csv(folder / "answers.csv")
print(answers.tail(5).round(3))
right = (clf.predict(nodes=names[60:]) == np.array(["cat", "dog"])[kind[60:]]).mean()
print(f"{100 * right:.0f} % of the 30 users without a label are right")

# %%
# The same on the command line: ``ansgt train FOLDER --predictions answers.csv``. Why one of them?

print(clf.explain("user-77"))
