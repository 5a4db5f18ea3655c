"""Proposes notes that every session should start with, and standing orders that nobody has needed for long. Pure."""

from datetime import datetime

from mcp_memory.curation.dreams.recurrence import MIN_QUESTIONS, MOST_CHARS, Proposal
from mcp_memory.models import NoteRecord
from mcp_memory.text.pluralize import counted
from mcp_memory.usage.note_use import Heat, NoteUse, heat

LOAD, UNLOAD = "Load in every session", "Don't load in every session"
"""The sections of DREAMS.md for these proposals."""
ORDERS = frozenset({"preference", "decision", "workflow"})
"""The kinds of notes that say what agents should do."""
MOST_ORDER_CHARS = 2000
"""The most characters of a note that each session pays for."""
COLD_DAYS = 90
"""The time after which it is proposed to end a standing order that nothing has asked for."""


def find_change(note: NoteRecord, body: str, use: NoteUse, now: datetime, *, is_loaded: bool) -> Proposal | None:
    """Propose to load a hot note that is too long for a line of MEMORY.md and answers different questions. Or, if it
    `is_loaded`, propose to end that once it hasn't been used, stored or changed for long."""
    today, used = now.date(), use.used_days
    if is_loaded:
        idle = (today - max([*used, note.date.date()])).days if note.date else 0
        is_due, why = idle >= COLD_DAYS, f"neither found nor told for {idle} days"
    else:
        is_hot = heat(use, today) is Heat.HOT and use.questions >= MIN_QUESTIONS
        is_due = is_hot and MOST_CHARS < len(body) <= MOST_ORDER_CHARS
        why = f"used on {counted(len(used), 'day')}, for {use.questions} different questions; {len(body)} characters"
    key, section = f"always_load {note.id}", UNLOAD if is_loaded else LOAD
    more = {"notes": [note.id], "always_load": not is_loaded}
    return Proposal(key, note.title, why, section, (note.path,), more) if is_due else None
