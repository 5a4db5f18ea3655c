"""The actions that several views offer: each form passes its fields to an operation of the engine."""

from collections.abc import Mapping

from mcp_memory.page.decisions import Decide, DecideMany, TakeBack
from mcp_memory.page.view import Action

ACTIONS: Mapping[str, Action] = {
    "done": Action("forget", "Done.", fixed={"done": True}, undo="target"),
    "forget": Action("forget", "Forgotten.", fields=("target", "reason"), undo="target"),
    "archive": Action("forget", "Archived.", fixed={"archive": True}, undo="target"),
    "restore": Action("restore", "It counts again.", undo="target"),
    "mute": Action("mute", "Agents no longer get it unasked.", fields=("target", "project"), undo="target"),
    "unmute": Action("mute", "Agents may get it unasked again.", fixed={"undo": True}, undo="target"),
    "undo": Action("undo", "Undone.", lists=("targets",), fixed={"sure": True}),
    "decide": Decide("review", "Decided.", fields=("choice", "note", "text", "kind", "project", "etag")),
    "decide-many": DecideMany("review", "Decided."),
    "take-back": TakeBack("undo", "Undone."),
}
