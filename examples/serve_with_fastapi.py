"""
A service
=========

A trained classifier behind FastAPI: the graph stays in the service, and a question may bring a new node with it. Needs
``pip install fastapi uvicorn``; here FastAPI's own test client asks, without a server.
"""

import tempfile

import torch
from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient
from pydantic import BaseModel
from torch_geometric.data import Data

import ansgt

# %%
# Trained once, saved as a folder without pickles.

folder = tempfile.mkdtemp()
data = ansgt.load_dataset("newman")
ansgt.NodeClassifier(epochs=10, seed=0).fit(data).save(f"{folder}/model")

# %%
# The service: ``uvicorn service:app``. Requests in several threads take turns by themselves.

app = FastAPI()
clf = ansgt.NodeClassifier.load(f"{folder}/model", device="cpu")


class NewNode(BaseModel):
    """A node that the graph does not have yet."""

    features: list[float]
    neighbours: list[int]


@app.get("/nodes/{node}")
def known(node: int) -> dict:
    """Class and probabilities of a node of the training graph."""
    try:
        probabilities = clf.predict_proba(nodes=[node])[0]
    except ansgt.InputError as error:  # one sentence, which the caller may read
        raise HTTPException(404, str(error)) from None
    return {"prediction": int(clf.classes_[probabilities.argmax()]), "probabilities": probabilities.tolist()}


@app.post("/nodes")
def new(node: NewNode) -> dict:
    """The same of a new node, and whom it attended to."""
    links = torch.tensor([[data.num_nodes] * len(node.neighbours), node.neighbours])
    try:
        grown = Data(
            x=torch.cat([data.x, torch.tensor([node.features])]),
            edge_index=torch.cat([data.edge_index, links, links.flip(0)], dim=1),
        )
        found = clf.explain(data.num_nodes, top=3, data=grown)
    except (ansgt.InputError, RuntimeError) as error:
        raise HTTPException(422, str(error)) from None
    return {"prediction": found.prediction, "attended": [one.node for one in found.attended]}


# %%
# Three questions, one of them about a node that is not there.

client = TestClient(app)
print(client.get("/nodes/7").json()["prediction"])
print(client.get("/nodes/999").status_code, client.get("/nodes/999").json()["detail"])
question = {"features": data.x[7].tolist(), "neighbours": [7, 8, 9]}
print("a new node:", client.post("/nodes", json=question).json())
