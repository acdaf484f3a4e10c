"""One self-contained HTML page for one or more runs: numbers, settings, pictures inside."""

import base64
import html
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansgt.report.figures import plot_training, plot_weights
from ansgt.storage import write_text
from ansgt.training.records import RunFolder, by_restart, summarize

Rows = list[dict[str, Any]]

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em;border-top:1px solid #ddd;padding-top:1em}
table{border-collapse:collapse;margin:.8em 0}td,th{padding:.25em .9em;border-bottom:1px solid #e4e4e4;text-align:right}
td:first-child,th:first-child{text-align:left}img{max-width:100%}code,pre{font-size:13px;background:#f6f6f6}
pre{padding:.8em;overflow:auto}.big{font-size:1.6em;font-weight:600}.dim{color:#777}
"""


def write_report(runs: list[RunFolder], path: Path | str) -> None:
    """Writes the page; everything on it is computed from the runs' records."""
    body = "".join(_run_section(run) for run in runs)
    title = ", ".join(html.escape(run.path.name) for run in runs)
    head = f"<meta charset='utf-8'><title>ansgt: {title}</title><style>{STYLE}</style>"
    write_text(
        path,
        f"<!doctype html><html lang='en'><head>{head}</head><body><h1>ansgt report</h1>{body}</body></html>\n",
    )


def _run_section(run: RunFolder) -> str:
    config, info, results = run.config(), run.info(), run.results()
    test = summarize([r["test_accuracy"] for r in results])
    parts = [f"<h2>{html.escape(config.model)} on {html.escape(config.dataset)}</h2>"]
    parts.append(f"<p class='dim'>{html.escape(info['variant'])} · split {html.escape(config.split)}</p>")
    if results:
        score = f"{100 * test['mean']:.2f} ± {100 * test['std']:.2f} %"
        parts.append(f"<p class='big'>test accuracy {score}</p>")
        parts.append(_table(results))
        parts += _pictures(run, len(results))
    else:
        parts.append("<p>No split is finished yet.</p>")
    settings = json.dumps({"config": config.as_dict(), "data": info}, indent=1)
    parts.append(
        f"<details><summary>settings, data and versions</summary><pre>{html.escape(settings)}</pre></details>"
    )
    return "".join(parts)


def _table(results: list[dict[str, Any]]) -> str:
    names = ("split", "test", "validation", "constant guess", "best epoch", "seconds")
    head = "<tr>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"
    rows = "".join(
        f"<tr><td>{r['index']} <span class='dim'>{r['split_hash'][:8]}</span></td><td>{100 * r['test_accuracy']:.2f}</td>"
        f"<td>{100 * r['val_accuracy']:.2f}</td><td>{100 * r['majority_share']:.1f}</td><td>{r['best_epoch']}</td>"
        f"<td>{r['seconds']:.1f}</td></tr>"
        for r in results
    )
    return f"<table>{head}{rows}</table>"


def _pictures(run: RunFolder, num_splits: int) -> list[str]:
    title = f"{run.config().model} on {run.config().dataset}"
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "training.png"
        plot_training(_of_models(run.metrics, num_splits), path, title)
        pictures.append(_image(path, "training loss and validation accuracy"))
        histories = complete_histories(run, num_splits)
        if histories:
            path = Path(folder) / "weights.png"
            plot_weights(histories, path, f"{title}: sampling weights")
            pictures.append(_image(path, "sampling weights over epochs"))
    return pictures


def complete_histories(run: RunFolder, num_splits: int) -> list[list[dict[str, Any]]]:
    """Bandit histories of the trained models, cut to the shortest (they may stop early); [] when there is no bandit."""
    histories = _of_models(run.history, num_splits)
    length = min((len(rows) for rows in histories), default=0)
    return [rows[:length] for rows in histories]


def _of_models(read: Callable[[int], Rows], num_splits: int) -> list[Rows]:
    """Rows of every model: a split has one, or as many as it was restarted."""
    return [rows for index in range(num_splits) for rows in by_restart(read(index))]


def _image(path: Path, words: str) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    return f"<p><img alt='{words}' src='data:image/png;base64,{data}'></p>"
