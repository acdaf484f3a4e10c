"""The paper's empirical claims: where each stands, what our records say of it, and whether it holds."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ansgt.reproduce import claims_accuracy, claims_cost, claims_sampling, claims_settings
from ansgt.reproduce.claim import LEVEL, VERDICTS, Claim, Evidence, Finding
from ansgt.reproduce.item import Item, Shown
from ansgt.reproduce.records import Records
from ansgt.reproduce.tables import Entry, Table
from ansgt.reproduce.task import Setup, Task

CLAIMS: tuple[Claim, ...] = (
    *claims_sampling.CLAIMS,
    *claims_accuracy.CLAIMS,
    *claims_settings.CLAIMS,
    *claims_cost.CLAIMS,
)
HEAD = ("claim", "place", "the paper says", "our evidence", "verdict")
RULES = (
    "A verdict is found by the rule that stands in the function of its claim (`ansgt/reproduce/claims_*.py`). Accuracies "
    "are compared split by split with a paired t-test; p is corrected after Holm over the comparisons of a claim, and "
    f'counts below {LEVEL:g}. "Cannot tell" means that no difference was seen, or that a record is missing. Ours have the '
    "shipped settings, not the paper's 1,000 epochs of five layers: what does not hold here may hold there. The "
    "numbers behind every verdict, each with its record, are in claims.csv and claims.json."
)


class Claims(Item):
    name = "claims"
    place = "Text"
    title = "What became of the paper's empirical claims."
    has_presets = False
    alone = True
    made_by = "all"

    def tasks(self, setup: Setup) -> Sequence[Task]:
        return [claims_cost.growth_task(setup)]

    def show(self, records: Records, setup: Setup) -> Shown:
        rows: list[list[Entry]] = []
        behind = []
        verdicts = []
        whole = replace(
            setup, quick=False, preset="shipped"
        )  # where there is no full record, a quick one is found
        for number, claim in enumerate(CLAIMS, 1):
            evidence = Evidence(records, whole)
            finding = claim.held(evidence)
            verdicts.append(finding)
            rows.append([f"{number}", claim.place, claim.words, finding.words, finding.verdict])
            named: list[list[Entry]] = [[name, value] for name, value in evidence.numbers]
            behind.append(Table(f"Claim {number}: {claim.words}", ["number", "value"], named, ""))
        table = Table(
            f"{len(CLAIMS)} claims of the paper.", HEAD, rows, "", widths=(0.05, 0.13, 0.27, 0.39, 0.1)
        )
        return Shown([table], [summary(verdicts), RULES], behind=behind)


def summary(findings: Sequence[Finding]) -> str:
    """How many hold, in a sentence."""
    counts = Counter(finding.verdict for finding in findings)
    words = {"holds": "hold", "does not hold": "do not hold", "cannot tell": "cannot be told"}
    parts = [f"{counts[verdict]} {words[verdict]}" for verdict in VERDICTS]
    return f"Of {len(findings)} claims {', '.join(parts)}."
