"""The page of `ansgt report`: one HTML file that needs no network, no server and no other file.

A jinja2 template escapes every value. Names and numbers that the page's script reads travel as JSON in a block that no
browser runs. The content security policy lets a browser load nothing, and run and apply only what is inside, by its hash.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from ansgt.plotting import printable
from ansgt.report.content import gather
from ansgt.report.side_by_side import Options
from ansgt.runs.folder import RunFolder
from ansgt.storage import write_text

LIBRARIES = ("vendor/graphology.umd.min.js", "vendor/sigma.min.js")
SCRIPT, STYLE = "templates/report.js", "templates/report.css"


def write_report(runs: Sequence[RunFolder], path: Path | str, options: Options = Options()) -> None:
    """Writes the page; what it says comes from the runs' records, the explorer from their graphs."""
    content = gather(runs, options)
    scripts = [_text(SCRIPT)]
    if content.has_explorer:  # 260 kB, which come last: the tables need not wait for them
        scripts += map(_text, LIBRARIES)
    style = _text(STYLE)
    page = template("ansgt.report", "report.html").render(
        page=content,
        policy=policy(scripts, style),
        style=Markup(style),  # ours, as the scripts are: nothing of a run is in them
        scripts=[Markup(script) for script in scripts],
    )
    write_text(path, printable(page) + "\n")


def template(package: str, name: str) -> Template:
    """A page's template: every value that enters it is escaped, and a name that nobody gave is an error."""
    environment = Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def packaged_text(package: str, name: str) -> str:
    """A file of a package, as a browser will see it: line ends count in a hash."""
    return files(package).joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _text(name: str) -> str:
    return packaged_text("ansgt.report", name)


def policy(scripts: Sequence[str], style: str, images: bool = False) -> str:
    """Of a page that loads nothing: what runs and what is applied is inside, and has these hashes.

    Args:
        images: whether pictures are inside too.
    """
    parts = {
        "default-src": "'none'",
        "script-src": " ".join(map(_digest, scripts)) or "'none'",
        "style-src": _digest(style),
        "base-uri": "'none'",
        "form-action": "'none'",
        **({"img-src": "data:"} if images else {}),
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
