"""Tables and reports as text, and as HTML for notebooks."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

#: The most characters of a value in a table of text.
_MOST_CHARS = 40


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> str:
    """A table of some rows, with the columns that fit the terminal, and a line with the number of all rows."""
    cells = [list(head), *([_cut(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    left, fit = shutil.get_terminal_size((120, 24)).columns, 0
    while fit < len(widths) and (widths[fit] <= left or fit == 0):
        left -= widths[fit] + 2
        fit += 1
    lines = ["  ".join(cell.rjust(wide) for cell, wide in zip(row[:fit], widths)).rstrip() for row in cells]
    more = f", and columns {', '.join(head[fit:])}" if fit < len(head) else ""
    return "\n".join([*lines, f"[{count} rows{more}]"])


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], count: int) -> str:
    """The same for a notebook."""
    columns = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    more = f"<p>{count} rows</p>" if count > len(rows) else ""
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>{more}"


def html_report(values: dict[str, Any]) -> str:
    """Names and values of a report for a notebook."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in values.items())
    return f"<table><tbody>{rows}</tbody></table>"


def html_text(text: str) -> str:
    """Text whose lines and spaces stay, for a notebook."""
    return f"<pre>{escape(text)}</pre>"


def _cut(value: str) -> str:
    line = " ".join(value.splitlines()) if "\n" in value else value
    return line if len(line) <= _MOST_CHARS else line[: _MOST_CHARS - 1] + "…"
