"""Writes docs/results.md from results/ (`make results`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ansgt.report.tables import results_page
from ansgt.storage import write_text

ROOT = Path(__file__).parents[1]
KINDS = ("uniform-60-20-20", "per-class-60-20-20")

if __name__ == "__main__":
    write_text(ROOT / "docs" / "results.md", results_page(ROOT / "results", KINDS))
