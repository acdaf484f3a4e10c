"""`Table`: our numbers beside the paper's, as Markdown, CSV and LaTeX; and the record that every one of them came from."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from ansgt.reproduce.records import Record

SEVERAL, QUICK = "†", "‡"
"""Marks of a number: of several models per split; of a quick training."""
LEGEND = {
    SEVERAL: "several models per split, which predict by their mean",
    QUICK: "quick: short trainings on few splits, to see the shape and not the value",
}
MISSING = "missing"
OURS = " Ours; below, small, the paper's."


@dataclass(frozen=True)
class Number:
    """One value, the paper's beside it, and where ours comes from.

    Args:
        value: ours, in the unit of its table; None where there is no record.
        spread: standard deviation over splits, runs or seeds.
        paper, paper_spread: what the paper prints.
        record: path of the record below the folder of records; of a missing one where it would be.
        source: the record.
        count: splits, runs or seeds behind it.
        best: whether it is the best of its column.
    """

    value: float | None
    spread: float | None = None
    paper: float | None = None
    paper_spread: float | None = None
    record: str = ""
    source: Record | None = None
    count: int | None = None
    best: bool = False

    @property
    def difference(self) -> float | None:
        return None if self.value is None or self.paper is None else self.value - self.paper

    @property
    def num_models(self) -> int:
        splits = self.source.content.get("splits", []) if self.source else []
        return max([1, *(len(row.get("models", row.get("restarts", []))) for row in splits)])

    @property
    def marks(self) -> str:
        quick = self.source is not None and self.source.quick
        return SEVERAL * (self.num_models > 1) + QUICK * quick


Entry = str | Number


@dataclass(frozen=True)
class Table:
    """A table of names and numbers.

    Args:
        title: one line.
        head: names of the columns.
        rows: as many entries each.
        unit: of all numbers.
        digits: after the point.
        widths: shares of the line, where columns hold sentences.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    unit: str = "%"
    digits: int = 2
    widths: Sequence[float] = ()

    def numbers(self) -> Iterator[tuple[str, str, Number]]:
        """Every number with the names of its row and column."""
        for row in self.rows:
            names = " ".join(takewhile(lambda entry: isinstance(entry, str), row))  # type: ignore[arg-type]
            for column, entry in zip(self.head, row, strict=True):
                if isinstance(entry, Number):
                    yield names, column, entry

    def words(self, entry: Entry) -> str:
        """An entry as text: ours ± spread, then the paper's and the difference in brackets."""
        if isinstance(entry, str):
            return entry
        ours = self.ours(entry)
        if entry.paper is None:
            return ours
        gap = "" if entry.difference is None else f", {entry.difference:+,.{self.digits}f}"
        return f"{ours} ({self.printed(entry)}{gap})"

    def ours(self, number: Number) -> str:
        if number.value is None:
            return MISSING
        spread = "" if number.spread is None else f" ± {number.spread:.{self.digits}f}"
        return f"{number.value:,.{self.digits}f}{spread}{number.marks}"

    def printed(self, number: Number) -> str:
        return "" if number.paper is None else f"{number.paper:,.{self.digits}f}"

    def legend(self) -> list[str]:
        """What the brackets and marks of this table mean."""
        brackets = f"In brackets: the paper's value, and ours minus the paper's (unit: {self.unit or '1'})."
        return [*([brackets] if self.has_paper else []), *self.notes()]

    @property
    def has_paper(self) -> bool:
        """Whether a value of the paper stands beside one of ours."""
        return any(number.paper is not None for _, _, number in self.numbers())

    def notes(self) -> list[str]:
        """What the marks of this table mean."""
        marks = {mark for _, _, number in self.numbers() for mark in number.marks}
        return [f"{mark} {words}." for mark, words in LEGEND.items() if mark in marks]


def with_best(rows: Sequence[Sequence[Entry]], lower: bool = False) -> list[list[Entry]]:
    """The same rows with the best number of every column marked."""
    sign = -1.0 if lower else 1.0
    best: dict[int, float] = {}
    for row in rows:
        for column, entry in enumerate(row):
            if isinstance(entry, Number) and entry.value is not None:
                best[column] = max(best.get(column, -float("inf")), sign * entry.value)
    return [
        [
            replace(entry, best=entry.value is not None and sign * entry.value == best[column])
            if isinstance(entry, Number)
            else entry
            for column, entry in enumerate(row)
        ]
        for row in rows
    ]


def markdown(table: Table) -> str:
    lines = [_row(table.head), "|" + "---|" * len(table.head)]
    for row in table.rows:
        lines.append(_row([_bold(table.words(entry), entry) for entry in row]))
    return "\n".join([f"**{table.title}**", "", *lines, "", *(f"{line}\n" for line in table.legend())])


def _bold(words: str, entry: Entry) -> str:
    return f"**{words}**" if isinstance(entry, Number) and entry.best else words


def _row(values: Sequence[str]) -> str:
    return f"| {' | '.join(values)} |"


COLUMNS = (
    "table",
    "row",
    "column",
    "unit",
    "ours",
    "spread",
    "count",
    "paper",
    "paper_spread",
    "difference",
    "split",
    "models_per_split",
    "seconds",
    "machine",
    "quick",
    "commit",
    "date",
    "record",
)


def csv_text(tables: Sequence[Table]) -> str:
    """One line per number: ours, the paper's, the difference, and what is known of the record."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(as_dict(table, *found) for table in tables for found in table.numbers())
    return out.getvalue()


def as_dict(table: Table, row: str, column: str, number: Number) -> dict[str, Any]:
    """A number and everything about it, under the names of `COLUMNS`."""
    content = number.source.content if number.source else {}
    return {
        "table": table.title,
        "row": row,
        "column": column,
        "unit": table.unit,
        "ours": number.value,
        "spread": number.spread,
        "count": number.count,
        "paper": number.paper,
        "paper_spread": number.paper_spread,
        "difference": number.difference,
        "split": content.get("split"),
        "models_per_split": number.num_models if "splits" in content else None,
        "seconds": seconds_of(content),
        "machine": number.source.machine if number.source else None,
        "quick": number.source.quick if number.source else None,
        "commit": content.get("commit"),
        "date": content.get("date"),
        "record": number.record if number.source else f"{number.record} (missing)",
    }


def seconds_of(content: dict[str, Any]) -> float | None:
    """Seconds that a record took, all its splits together."""
    if "splits" in content:
        return round(float(sum(row["seconds"] for row in content["splits"])), 1)
    seconds = content.get("cpu_seconds")
    return None if seconds is None else round(float(seconds), 2)


_TEX = {
    "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}",
    "†": r"$^\dagger$", "‡": r"$^\ddagger$", "±": r"$\pm$", "α": r"$\alpha$",
}  # fmt: skip


def tex(text: str) -> str:
    """Plain text for LaTeX.

    >>> tex("n_s of 5 %")
    'n\\\\_s of 5 \\\\%'
    """
    return "".join(_TEX.get(one, one) for one in text)


def latex(table: Table) -> str:
    """A booktabs table; under each of our numbers the paper's, small and grey.

    It needs the packages booktabs, makecell, graphicx and xcolor; one of sentences needs longtable.
    """
    rows = [
        r"\toprule",
        " & ".join(map(tex, table.head)) + r" \\ \midrule",
        *(" & ".join(_tex_entry(table, entry) for entry in row) + r" \\" for row in table.rows),
        r"\bottomrule",
    ]
    if table.widths:  # sentences: a table that may break over pages
        columns = "".join(rf"p{{{width:g}\linewidth}}" for width in table.widths)
        rows[1] += r" \endhead"
        lines = [rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}", rf"\caption{{{tex(table.title)}}}\\", *rows]
        return "\n".join([*lines, r"\end{longtable}"]) + "\n"
    ours = OURS if table.has_paper else ""
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{tex(table.title)}{ours} {tex(' '.join(table.notes()))}}}",
        r"\resizebox{\linewidth}{!}{%",
        rf"\begin{{tabular}}{{@{{}}l{'c' * (len(table.head) - 1)}@{{}}}}",
        *rows,
        r"\end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _tex_entry(table: Table, entry: Entry) -> str:
    if isinstance(entry, str):
        return tex(entry)
    ours = "--" if entry.value is None else f"{entry.value:,.{table.digits}f}"
    if entry.best:
        ours = rf"\textbf{{{ours}}}"
    if entry.spread is not None:
        ours += rf"{{\tiny$\pm${entry.spread:.{table.digits}f}}}"
    ours += tex(entry.marks)
    if entry.paper is None:
        return ours
    theirs = f"{entry.paper:,.{table.digits}f}"
    if entry.paper_spread is not None:
        theirs += rf"$\pm${entry.paper_spread:.{table.digits}f}"
    return rf"\makecell{{{ours}\\[-2pt]{{\tiny\color{{gray}}{theirs}}}}}"
