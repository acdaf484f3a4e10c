"""The page of a search of settings: what was found, and Optuna's own pictures of the study."""

import base64
import html
import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansgt.storage import write_text

if TYPE_CHECKING:
    from optuna import Study

PICTURES = {
    "plot_optimization_history": "The value of every trial, and the best so far",
    "plot_intermediate_values": "The best score so far, epoch by epoch; trials that stayed behind were pruned",
    "plot_param_importances": "How much each setting explains of the values",
    "plot_slice": "The value against every setting",
    "plot_timeline": "When each trial ran, and how it ended",
}
"""Function of `optuna.visualization.matplotlib` -> words."""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
img {{ max-width: 100%; }} td, th {{ text-align: left; padding: 0.1rem 1rem 0.1rem 0; }}
</style></head><body><h1>{title}</h1>{body}</body></html>
"""


def write_study(study: "Study", header: Sequence[str], best: Mapping[str, Any], path: Path) -> Path:
    """Writes the page; a picture that Optuna cannot draw yet (too few trials) is left out.

    Args:
        study: the study.
        header: sentences on what was found.
        best: setting -> value.
        path: of the page.
    """
    parts = [f"<p>{html.escape(line)}</p>" for line in header]
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(str(value))}</td></tr>"
        for name, value in best.items()
    )
    parts.append(f"<h2>The best settings</h2><table><tr><th>setting</th><th>value</th></tr>{rows}</table>")
    for name, words in PICTURES.items():
        drawn = _drawn(study, name)
        if drawn is not None:
            image = f'<img alt="{html.escape(words)}" src="data:image/png;base64,{drawn}">'
            parts.append(f"<h2>{html.escape(words)}</h2>{image}")
    write_text(path, PAGE.format(title="A search of settings", body="\n".join(parts)))
    return path


def _drawn(study: "Study", name: str) -> str | None:
    """A picture as base64; Optuna draws with pyplot, whose screen stays unused."""
    import matplotlib
    from matplotlib import pyplot
    from optuna.visualization import matplotlib as optuna_pictures

    backend = matplotlib.get_backend()
    with warnings.catch_warnings(), matplotlib.rc_context():
        warnings.simplefilter("ignore")
        pyplot.switch_backend("agg")
        try:
            axes = getattr(optuna_pictures, name)(study)
            figure = axes.ravel()[0].figure if hasattr(axes, "ravel") else axes.figure
            out = io.BytesIO()
            figure.savefig(out, format="png", dpi=110, bbox_inches="tight")
        except (ValueError, RuntimeError, IndexError, ImportError, ZeroDivisionError):
            return None
        finally:
            pyplot.close("all")
            pyplot.switch_backend(backend)
    return base64.b64encode(out.getvalue()).decode()
