"""Shows the settings that a person may want to change, where each has its value, and the line that changes it."""

from collections.abc import Mapping
from typing import Any

from mcp_memory.page.view import Action, Flash, View, Visit

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Shown to agents": ("hooks.enabled", "hooks.off", "hooks.ask_below", "recall.private", "recall.apart"),
    "Sessions": ("capture.enabled", "capture.keep_days"),
    "Read in each client's folder": tuple(
        f"capture.folders.{client}" for client in ("claude-code", "codex", "openclaw", "gemini")
    ),
    "Learned from sessions": (
        "extraction.automatic", "extraction.auto_accept", "extraction.reader", "extraction.reader_model",
    ),
    "Kept and filed": ("vault.secrets", "recall.keep_words", "topics.automatic", "jobs.at", "git.auto_commit"),
}  # fmt: skip
AT_ONCE = "hooks"
"""The section that each hook reads anew."""


async def show(visit: Visit) -> Mapping[str, Any]:
    found = await visit.ask("settings")
    known = {f"{one['section']}.{one['key']}": one for one in found["settings"]}
    return {
        "file": found["file"],
        "groups": {title: list(zip(keys, map(known.__getitem__, keys), strict=True)) for title, keys in GROUPS.items()},
        "waits": any(one["now"] != one["value"] and one["section"] != AT_ONCE for one in known.values()),
    }


class SettingChange(Action):
    """A new value for a setting that the view shows."""

    async def answer(self, visit: Visit) -> Flash:
        if not any(visit.sent("key") in keys for keys in GROUPS.values()):
            return Flash("Nothing was changed: this view doesn't show that setting.", is_error=True)
        if not visit.sent("value").strip():
            return Flash("Nothing was changed: type a value. To empty a list, edit the file.", is_error=True)
        await visit.ask("settings", key=visit.sent("key"), value=visit.sent("value"))
        return Flash("Changed.")


VIEW = View(
    "settings",
    "Settings",
    "What mcp-memory does by itself, and the line that changes it.",
    show,
    actions={"change-setting": SettingChange("settings", "Changed.")},
)
