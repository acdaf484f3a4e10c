"""Writes study/results.md from the records under study/results (`make results`)."""

from ansgt.storage import write_text
from study.records import KINDS, PAGE, RESULTS
from study.report.page import results_page

if __name__ == "__main__":
    write_text(PAGE, results_page(RESULTS, KINDS))
