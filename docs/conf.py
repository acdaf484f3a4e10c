"""Settings of Sphinx: `make docs` builds this folder into build/docs and fails on any warning.

Set `ANSGT_REPOSITORY` to an address such as https://example.org/you/ansgt to link pages to the repository; without it the
address of the git remote "origin" is taken where it is an https one, and no link is shown where there is none.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch loads: the examples are run
HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]


def repository() -> str:
    """The address of the repository, or "" where it is not known."""
    address = os.environ.get("ANSGT_REPOSITORY", "")
    if not address:
        command = ["git", "-C", str(HERE), "remote", "get-url", "origin"]
        try:
            address = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        except OSError:  # no git
            return ""
    return re.sub(r"(\.git)?/*$", "", address) if address.startswith("https://") else ""


project = "ansgt"
author = "the authors of ansgt"
version = release = re.search(r'__version__ = "(.+)"', (HERE.parent / "ansgt/__init__.py").read_text())[1]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "repository_links",
    "settings_table",
]
exclude_patterns = ["_ext", "gallery/**.ipynb", "gallery/**.py", "gallery/**.zip", "gallery/**.json"]
templates_path = ["_templates"]
default_role = "name"  # `Graph` in a docstring links to its page, where there is one; see docstrings.py
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["ref.python"]  # a type named `Settings` has many possible targets
repository_address = repository()

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autosummary_generate = True
napoleon_use_param = False  # "train, val, test: ..." documents three arguments at once
napoleon_use_rtype = False
python_maximum_signature_line_length = 110
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # all of them are run
    "within_subsection_order": "gallery_order.Order",
    "default_thumb_file": str(HERE / "images" / "weights.png"),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"ansgt {version}"
html_static_path = ["_static"]
html_css_files = ["ansgt.css"]
html_show_sourcelink = False
html_show_copyright = False
html_context = {"repository": repository_address}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/repository.html",
        "sidebar/scroll-end.html",
    ]
}
