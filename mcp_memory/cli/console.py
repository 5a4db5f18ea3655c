"""What is printed: rich on a terminal, plain when piped, JSON when asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def is_terminal() -> bool:
    return sys.stdout.isatty()


def emit(payload: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(payload, ensure_ascii=False, indent=2 if is_terminal() else None))


def say(line: str = "") -> None:
    """Plain text on standard output."""
    print(line)


def tell(line: str) -> None:
    """Progress and remarks, on standard error."""
    print(line, file=sys.stderr, flush=True)


def fail(message: str, hint: str | None) -> None:
    tell(f"mcp-memory: {message}")
    if hint:
        tell(f"  → {hint}")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal, tab-separated lines when piped."""
    if not is_terminal():
        for row in rows:
            print("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    Console().print(drawn)
