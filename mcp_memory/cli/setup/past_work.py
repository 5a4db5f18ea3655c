"""Brings in what is known already: past sessions, and what the clients remember themselves."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

from mcp_memory.capture.checkpoint import Checkpoints
from mcp_memory.capture.tail import list_sessions, measure_unread
from mcp_memory.capture.transcript_paths import TranscriptPaths
from mcp_memory.cli.clients.config_changes import short_path
from mcp_memory.cli.clients.installing import find_client_paths
from mcp_memory.cli.sessions.capturing import capture_files
from mcp_memory.cli.setup.dialogue import Dialogue
from mcp_memory.cli.transfer.importing import import_notes
from mcp_memory.errors import McpMemoryError
from mcp_memory.integrations.clients import PROGRAMS, TITLES, memory_folder
from mcp_memory.settings.settings import Settings
from mcp_memory.text.pluralize import counted
from mcp_memory.transfer.detect import detect_source

BYTES_A_SECOND = 1_000_000
"""How fast sessions are captured and searched for statements: 0.7 MB with both cores of a small machine busy."""

_LEFT_ALONE = frozenset({"unchanged", "edited", "forgotten", "refused"})
"""What becomes of a note in a second import of the same source."""


def capture_past_sessions(dialogue: Dialogue, settings: Settings) -> None:
    count, unread, new_bytes = _find_sessions(settings)
    report = {"sessions": count, "unread": len(unread), "bytes": new_bytes}
    dialogue.report["past_sessions"] = report
    if not unread:
        dialogue.say(f"{counted(count, 'session')}, all read already" if count else "none yet")
        return
    seconds = max(1, new_bytes // BYTES_A_SECOND)
    how_long = counted(seconds, "second") if seconds < 90 else f"{round(seconds / 60)} minutes"
    dialogue.say(
        f"{counted(count, 'session')}, {len(unread):,} to read: {new_bytes / 1e6:,.1f} MB, about {how_long}. "
        f"The text stays on this machine, searchable, without secrets, for {settings.capture.keep_days} days. What you "
        "stated outright in the last 30 days becomes a note; the rest waits for you: mcp-memory review"
    )
    if not dialogue.agree("Read them?"):
        return
    cli, began = dialogue.cli, datetime.now().astimezone().isoformat()
    reports = capture_files(cli, unread, dry_run=False)
    changes = cli.ask("changes", since=began, limit=20_000)["changes"]
    stored = sum(change["kind"] == "stored" and change["session"] is not None for change in changes)
    messages, waiting = sum(each["messages"] for each in reports), len(cli.ask("inbox")["waiting"])
    report |= {"messages": messages, "stored": stored, "waiting": waiting}
    dialogue.say(
        f"read: {counted(messages, 'message')}; {counted(stored, 'note')} stored (mcp-memory changes), "
        f"{counted(waiting, 'statement')} waiting (mcp-memory review)"
    )
    for each in (each for each in reports if "error" in each):
        dialogue.fail(each["file"], McpMemoryError(each["error"]))


def import_memories(dialogue: Dialogue, settings: Settings) -> None:
    rows = dialogue.report["memories"] = list[dict[str, Any]]()
    paths = find_client_paths()
    for client in PROGRAMS:
        if (folder := memory_folder(client, paths)) is None:
            continue
        try:
            source = detect_source(folder, None, vault=settings.vault_path)
            counts: dict[str, int] = import_notes(dialogue.cli, source, dry_run=True)["counts"]
            new = sum(number for deed, number in counts.items() if deed not in _LEFT_ALONE)
            state = f"{new:,} of them new" if new else "imported already"
            notes = counted(sum(counts.values()), "note")
            dialogue.say(f"{TITLES[client]}: {notes} in {short_path(folder)}, {state}")
            is_agreed = new > 0 and dialogue.agree("Copy them into the vault? The files there stay as they are.")
            if is_agreed:
                counts = import_notes(dialogue.cli, source, dry_run=False)["counts"]
                dialogue.say(f"imported: {', '.join(f'{number} {deed}' for deed, number in counts.items())}")
            rows.append({"client": client, "folder": str(folder), "counts": counts, "imported": is_agreed})
        except McpMemoryError as error:
            dialogue.fail(TITLES[client], error)
    if not rows:
        dialogue.say("none found")


def _find_sessions(settings: Settings) -> tuple[int, list[str], int]:
    """How many there are, which have something new, and how many bytes of it. Needs no daemon."""
    paths, checkpoints = TranscriptPaths(settings.capture.folders), Checkpoints(settings.state.root / "checkpoints")
    unread, sizes = list[str](), list[int]()
    for client in paths.clients:
        for file in paths.list_transcripts(client):
            with suppress(McpMemoryError):
                for path in list_sessions(paths, file):
                    new = measure_unread(paths, path, checkpoints.read(client, path.name)).new_bytes
                    sizes.append(new)
                    unread += [path.name] if new else []
    return len(sizes), unread, sum(sizes)
