"""Tells people which language model reads their sessions, and what it was asked today."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mcp_memory.runtime.health import Finding
from mcp_memory.summarizers.base import Summarizer

OFF = 'to switch it off: reader = "none" under [extraction]'


def reader_status(reader: str, model: Summarizer | None) -> Mapping[str, Any]:
    usage = model.usage() if model else None
    return {"reader": {"name": reader, **asdict(usage)}} if usage else {}


def reader_findings(reader: str, model: Summarizer | None) -> Sequence[Finding]:
    usage = model.usage() if model else None
    if not usage:
        return ()
    if usage.problem:
        remedy = f"see whether {reader} answers you, since you may have to log in; {OFF}"
        return [Finding("warning", f"{reader} can't read your sessions: {usage.problem}", remedy)]
    calls = f"{usage.calls:,} of {usage.calls_a_day:,} calls"
    today = f"today {calls}, {usage.tokens:,} of {usage.tokens_a_day:,} tokens"
    return [Finding("info", f"{reader} reads your sessions; {today}", OFF)]
