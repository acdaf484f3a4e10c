"""Classifiers on the Hugging Face Hub (extra ``ansgt[hub]``): a repository holds the run directory and a model card.

>>> HubClassifier.from_pretrained("somebody/cora-ansgt").classifier.predict()  # doctest: +SKIP
"""

import tempfile
from pathlib import Path
from typing import Any

try:
    from huggingface_hub import ModelCard, ModelHubMixin, snapshot_download
except ImportError:
    raise ImportError("ansgt.hub needs huggingface_hub; pip install 'ansgt[hub]'.") from None

from ansgt.classifier import NodeClassifier
from ansgt.errors import InputError
from ansgt.report.card import model_card
from ansgt.runs.folder import RunFolder

RUN = "run"
"""Folder of a repository that holds what `NodeClassifier.save` writes."""


class HubClassifier(ModelHubMixin, library_name="ansgt", tags=["node-classification"]):  # type: ignore[misc, unused-ignore]
    """A fitted classifier that the Hub's `save_pretrained`, `push_to_hub` and `from_pretrained` work on.

    Args:
        classifier: fitted.
    """

    def __init__(self, classifier: NodeClassifier) -> None:
        self.classifier = classifier

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """The card of the record; what the Hub would fill into its own template is not used."""
        with tempfile.TemporaryDirectory() as folder:
            self.classifier.save(Path(folder) / RUN)
            return ModelCard(model_card(RunFolder(Path(folder) / RUN)))

    def _save_pretrained(self, save_directory: Path) -> None:
        self.classifier.save(Path(save_directory) / RUN)
        card = model_card(RunFolder(Path(save_directory) / RUN))
        (Path(save_directory) / "README.md").write_text(card, encoding="utf-8")

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **options: Any) -> "HubClassifier":
        """From a folder or a repository; nothing of it is run, and nothing in it is a pickle."""
        names = ("revision", "cache_dir", "force_download", "token", "local_files_only")
        own = {name: value for name, value in options.items() if name not in (*names, "config")}
        folder = Path(model_id)
        if not folder.is_dir():
            wanted = {name: options[name] for name in names if name in options}
            folder = Path(snapshot_download(model_id, allow_patterns=[f"{RUN}/**"], **wanted))
        if not (folder / RUN).is_dir():
            raise InputError(f"{model_id} holds no folder '{RUN}': it was not written by HubClassifier.")
        return cls(NodeClassifier.load(folder / RUN, **own))
