"""Writes what is generated from the records under study/results (`make results`).

study/results.md; docs/claims.md and its summary in the README; docs/images/motivation.png.
"""

from pathlib import Path

from ansgt.reproduce.fig_motivation import FigMotivation
from ansgt.reproduce.records import Records
from ansgt.reproduce.task import Setup
from ansgt.reproduce.write import draw
from ansgt.storage import write_text
from study.records import KINDS, PAGE, RESULTS
from study.report.claims import claims_page, claims_summary, shown_claims, with_summary
from study.report.page import results_page

ROOT = Path(__file__).parents[2]
CLAIMS, README, MOTIVATION = (
    ROOT / "docs" / "claims.md",
    ROOT / "README.md",
    ROOT / "docs" / "images" / "motivation.png",
)

if __name__ == "__main__":
    write_text(PAGE, results_page(RESULTS, KINDS))
    shown = shown_claims(RESULTS)
    write_text(CLAIMS, claims_page(shown))
    write_text(README, with_summary(README.read_text(encoding="utf-8"), claims_summary(shown)))
    [picture] = FigMotivation().show(Records(RESULTS), Setup()).pictures
    draw(picture, MOTIVATION)
