"""A table of texts and numbers, in every form in which somebody wants one: plain text, Markdown, CSV, LaTeX, HTML."""

import csv
import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansgt.errors import InputError
from ansgt.storage import write_text

LONGEST = 24
"""Characters of a cell in plain text and HTML."""


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head; None is a cell without a value.

    Args:
        head: names of the columns.
        rows: one list per row.
        title: what it shows.
        formats: how numbers of a column are written, by its name (".2f", ".1%"); by default all their digits.
        best: cells that stand out, as (row, column).
        missing: what stands for None where it is read by people.

    >>> print(Table(["model", "accuracy"], [["gcn", 0.8715]], formats={"accuracy": ".1%"}).markdown())
    | model | accuracy |
    |---|---:|
    | gcn | 87.2% |
    <BLANKLINE>
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    formats: dict[str, str] = field(default_factory=dict)
    best: frozenset[tuple[int, int]] = frozenset()
    missing: str = ""

    def text(self) -> str:
        """Columns aligned with spaces."""
        cells = [[short(cell) for cell in row] for row in (list(self.head), *self._texts())]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        right = self._numeric()
        lines = [
            "  ".join(
                cell.rjust(width) if number else cell.ljust(width)
                for cell, width, number in zip(row, widths, right, strict=True)
            ).rstrip()
            for row in cells
        ]
        return "\n".join([self.title, *lines] if self.title else lines) + "\n"

    def markdown(self) -> str:
        """A table of GitHub's Markdown."""
        marks = ["---:" if number else "---" for number in self._numeric()]
        lines = [_bars(map(_of_markdown, self.head)), f"|{'|'.join(marks)}|"]
        lines += [_bars(row) for row in self._marked(_of_markdown, "**{}**")]
        title = [f"**{_of_markdown(self.title)}**", ""] if self.title else []
        return "\n".join([*title, *lines]) + "\n"

    def csv(self) -> str:
        """Comma-separated, numbers with all their digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.head)
        writer.writerows([["" if cell is None else cell for cell in row] for row in self.rows])
        return out.getvalue()

    def latex(self) -> str:
        """A table for LaTeX; it needs the package booktabs."""
        columns = "".join("r" if number else "l" for number in self._numeric())
        lines = [r"\begin{table}[t]", r"\centering"]
        if self.title:
            lines.append(rf"\caption{{{tex(self.title)}}}")
        lines += [
            rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            r"\toprule",
            " & ".join(map(tex, self.head)) + r" \\ \midrule",
        ]
        lines += [" & ".join(row) + r" \\" for row in self._marked(tex, r"\textbf{{{}}}")]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"

    def html(self) -> str:
        """A `<table>`; every value is escaped."""
        right = self._numeric()
        head = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in self.head)
        styles = [' style="text-align:right"' if number else "" for number in right]
        rows = []
        for row in self._marked(lambda cell: html.escape(short(cell)), "<b>{}</b>"):
            cells = (f"<td{style}>{cell}</td>" for cell, style in zip(row, styles, strict=True))
            rows.append(f"<tr>{''.join(cells)}</tr>")
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        body = "".join(rows)
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def write(self, path: Path | str) -> None:
        """A `.md`, `.tex`, `.csv`, `.html` or `.txt` file, by the suffix."""
        path = Path(path)
        if path.suffix not in WRITERS:
            raise InputError(f"A table goes to one of {', '.join(WRITERS)}, not to {path.name!r}.")
        write_text(path, WRITERS[path.suffix](self))

    def _texts(self) -> list[list[str]]:
        forms = [self.formats.get(name, "") for name in self.head]
        return [
            [
                self.missing if cell is None else _words(cell, form)
                for cell, form in zip(row, forms, strict=True)
            ]
            for row in self.rows
        ]

    def _marked(self, written: Callable[[str], str], mark: str) -> list[list[str]]:
        """Cells in a form's own letters, those that stand out marked."""
        return [
            [
                mark.format(written(cell)) if (i, j) in self.best and cell else written(cell)
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(self._texts())
        ]

    def _numeric(self) -> list[bool]:
        """Which columns hold nothing but numbers."""
        kinds = (int, float)
        columns = [[row[place] for row in self.rows] for place in range(len(self.head))]
        return [
            any(cell is not None for cell in column)
            and all(
                cell is None or (isinstance(cell, kinds) and not isinstance(cell, bool)) for cell in column
            )
            for column in columns
        ]


WRITERS: dict[str, Callable[[Table], str]] = {
    ".md": Table.markdown,
    ".tex": Table.latex,
    ".csv": Table.csv,
    ".html": Table.html,
    ".txt": Table.text,
}
"""Suffix of a file -> what is written."""


def short(value: object, longest: int = LONGEST) -> str:
    """A value in a narrow column.

    >>> short("abcdef", 4)
    'abc…'
    """
    text = str(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _words(cell: Any, form: str) -> str:
    if form and isinstance(cell, int | float) and not isinstance(cell, bool):
        return format(cell, form)
    return str(cell)


def _bars(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _of_markdown(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", r"\|").replace("\n", " ")


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
