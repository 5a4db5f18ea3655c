"""Defines the findings of `doctor`."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`severity`: `error` needs you, `warning` may need you, `info` needs nothing.
    `fixable`: `doctor --repair` handles it."""

    severity: Severity
    what: str
    remedy: str
    fixable: bool = False
