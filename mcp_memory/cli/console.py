"""What is printed: styled on a terminal, plain when piped, JSON when asked.

A stored text must not steer the terminal: characters that hide, reorder or command are shown, never sent.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from mcp_memory.text.escape_invisible import visible


def is_terminal() -> bool:
    return sys.stdout.isatty()


def is_styled() -> bool:
    """Whether what is printed may have colours: on a terminal, unless you set NO_COLOR (https://no-color.org)."""
    return is_terminal() and not os.environ.get("NO_COLOR")


def emit(payload: Any) -> None:
    """One JSON document on standard output."""
    unicode = sys.stdout.encoding.lower() in {"utf-8", "utf8"}
    text = json.dumps(payload, ensure_ascii=not unicode, indent=2 if is_terminal() else None)
    print("".join(c if c.isascii() or visible(c) == c else json.dumps(c)[1:-1] for c in text))


def say(line: str = "") -> None:
    """Text on standard output."""
    print(visible(line))


def head(line: str) -> None:
    """A line that stands out on a terminal."""
    print(f"\x1b[1m{visible(line)}\x1b[0m" if is_styled() else visible(line))


def print_status(line: str) -> None:
    """Progress and remarks, on standard error."""
    print(visible(line), file=sys.stderr, flush=True)


def fail(message: str, hint: str | None) -> None:
    print_status(f"mcp-memory: {message}")
    if hint:
        print_status(f"  → {hint}")
