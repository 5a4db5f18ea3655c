"""Why each hit is where it is, drawn as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_memory.text.escape_invisible import visible

_LEGS = ("lexical", "section", "dense")
_HEAD = ("", "words", "section", "vectors", "boosts", "sum", "score", "has of the question")
_ABOUT = "Each leg: place, its own score, and what that adds to the sum; beside good neighbours a passage gains more."


def explain_table(hits: Sequence[dict[str, Any]]) -> str:
    """One line a hit, in the order of the hits."""
    rows = [_HEAD, *(_row(number, hit) for number, hit in enumerate(hits, 1))]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, _ABOUT])


def list_left_out(passages: Sequence[dict[str, Any]]) -> str:
    """One line each: what would be among the hits, and which filters it does not pass."""
    return "\n".join(
        visible(f"left out by {', '.join(each['filters'])}: {each['path']}:{each['start_line']}  {each['title']}")
        for each in passages
    )


def _row(number: int, hit: dict[str, Any]) -> tuple[str, ...]:
    why = hit["explain"]
    boosts = " ".join(f"{name} {value:+.2f}" for name, value in why["boosts"].items())
    total = why["fused"] + sum(why["boosts"].values())
    legs, words = (_leg(why, leg) for leg in _LEGS), ", ".join(why["terms"])
    return (str(number), *legs, visible(boosts), f"{total:.2f}", f"{hit['score']:.2f}", visible(words))


def _leg(why: dict[str, Any], leg: str) -> str:
    if leg not in why["ranks"]:
        return "-"
    return f"#{why['ranks'][leg]} {why['scores'][leg]:.2f} {why['parts'][leg]:+.2f}"
