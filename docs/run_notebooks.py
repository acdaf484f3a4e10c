"""Runs the notebooks of the gallery as a reader would, each in a fresh kernel and an empty folder: part of `make docs`.

    python docs/run_notebooks.py docs/gallery

ends with code 1 where a cell raises, and shows that cell; a notebook that is shown in pictures must draw one.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

SECONDS = 600
"""For one cell, on a busy machine."""
QUIET = ["--IPKernelApp.log_level=ERROR"]
"""A kernel warns that what it says on this machine's own ports is not encrypted."""


def run(path: Path) -> str:
    """Runs one notebook; returns what was wrong with it, or ""."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=SECONDS, resources=place, extra_arguments=QUIET)
        try:
            client.execute()
        except CellExecutionError as error:
            return str(error)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    draws = any(".plot(" in cell.source for cell in notebook.cells if cell.cell_type == "code")
    if draws and not any("image/png" in output.get("data", {}) for output in outputs):
        return "It calls plot(), but no picture came out."
    return "" if outputs else "Nothing came out of it."


def main(folder: Path) -> int:
    """Runs all of a folder; returns the exit code."""
    notebooks = sorted(folder.glob("*.ipynb"))
    failed = not notebooks
    for path in notebooks:
        started = time.monotonic()
        wrong = run(path)
        print(f"{path.name}: {wrong or f'ran in {time.monotonic() - started:.0f} s'}", flush=True)
        failed = failed or bool(wrong)
    return int(failed)


if __name__ == "__main__":
    source = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # the kernel's debugger complains otherwise
    sys.exit(main(Path(sys.argv[1])))
