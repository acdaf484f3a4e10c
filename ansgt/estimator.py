"""What `NodeClassifier` owes scikit-learn: every setting a keyword, `get_params`, `set_params`, `clone`, tags."""

from pathlib import Path
from typing import Any, Literal, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from ansgt.config import RunConfig, setting_names
from ansgt.device import resolve_device
from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph
from ansgt.settings import brief, hints, shown

Default = Literal["default"]
"""In place of a setting's value: what ships for the model and its data."""
DEFAULT: Default = "default"
OWN = ("model", "seed", "device", "val_fraction", "cache_dir", "effort", "time_limit")
"""Parameters that are no settings of a model."""


class NotFittedInputError(InputError, NotFittedError):  # type: ignore[misc]  # scikit-learn has no annotations
    """Asked for what only a fitted classifier has; scikit-learn knows it, too."""


class NodeEstimator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Parameters of a classifier of nodes; `NodeClassifier` says what they mean.

    A parameter of the constructor is an attribute of the same name, whatever it holds; nothing is checked before `fit`.
    Settings that the constructor does not list are taken, too, and treated alike.
    """

    model: str | type | None
    seed: int
    device: str
    val_fraction: float
    cache_dir: Path | str | None
    effort: str | None
    time_limit: float | None

    def __init__(
        self,
        model: str | type | None = None,
        *,
        epochs: int | Default | None = DEFAULT,
        seed: int = 0,
        device: str = "auto",
        val_fraction: float = 0.2,
        cache_dir: Path | str | None = None,
        effort: str | None = None,
        time_limit: float | None = None,
        lr: float | Default = DEFAULT,
        weight_decay: float | Default = DEFAULT,
        patience: int | Default | None = DEFAULT,
        select: str = DEFAULT,
        class_weight: Any = DEFAULT,
        calibrate: bool | Default = DEFAULT,
        num_models: int | Default = DEFAULT,
        hidden_channels: int | Default = DEFAULT,
        num_layers: int | Default = DEFAULT,
        num_heads: int | Default = DEFAULT,
        dropout: float | Default = DEFAULT,
        input_dropout: float | Default = DEFAULT,
        batch_size: int | Default = DEFAULT,
        num_sampled: int | Default = DEFAULT,
        num_augmentations: int | Default = DEFAULT,
        num_inference: int | Default | None = DEFAULT,
        num_supernodes: int | Default = DEFAULT,
        num_global: int | Default = DEFAULT,
        sampling: Any = DEFAULT,
        heuristics: Any = DEFAULT,
        update_period: int | Default = DEFAULT,
        coarsening_method: Any = DEFAULT,
        coarsening_rate: float | Default = DEFAULT,
        normalize_features: str = DEFAULT,
        link_features: str = DEFAULT,
        **settings: Any,
    ) -> None:
        listed = {name: value for name, value in locals().items() if name in self._get_param_names()}
        for name in settings:
            if hasattr(type(self), name) or name.startswith("_") or name.endswith("_"):
                raise InputError(
                    f"There is no setting {shown(name)}; one of that name is written model.{name}."
                )
        for name, value in {**listed, **settings}.items():
            setattr(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every parameter by its name, also those settings that the constructor does not list but was given."""
        more = [name for name in vars(self) if not (name.startswith("_") or name.endswith("_"))]
        names = dict.fromkeys([*self._get_param_names(), *sorted(more)])
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Changes parameters; any setting of the model by its name, also one that was never given."""
        known = {*OWN, *self.get_params()}
        strange = [name for name in params if name not in known]
        if strange:
            from ansgt.runs.prepare import kinds_of, meant

            asked = {**self.get_params(), **params}
            for kinds in kinds_of(meant(asked["model"], asked["effort"], asked["time_limit"])):
                names = setting_names({section: hints(kind) for section, kind in kinds.items()})
                known |= {*names, *names.values()}
            for name in strange:
                if name not in known:
                    raise unknown_name("setting", brief(name), known)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def given_settings(self) -> dict[str, Any]:
        """The settings that were given, by their names."""
        given = {name: value for name, value in self.get_params().items() if name not in OWN}
        return {
            name: value
            for name, value in given.items()
            if not (isinstance(value, str) and value == DEFAULT) and (name, value) != ("epochs", None)
        }

    def __sklearn_tags__(self) -> Tags:
        """It learns from a graph, not from rows of numbers; NaN in features is an error."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        tags.classifier_tags.multi_label = False
        return tags

    def _config(self, graph: Graph) -> RunConfig:
        from ansgt.runs.prepare import Request, build_config, meant  # knows every model

        device = resolve_device(self.device)
        chosen: dict[str, Any] = {"effort": self.effort, "time_limit": self.time_limit}
        chosen |= {"seed": self.seed, "device": device, "num_nodes": graph.num_nodes}
        model = meant(self.model, self.effort, self.time_limit)
        request = Request(graph.name, model, "given", **chosen)
        return build_config(request, overrides=self.given_settings())
