"""The note that a new vault starts with: for the person who opens the folder."""

from __future__ import annotations

from mcp_memory.vault.vault import Vault

WELCOME = """# This folder is your agents' memory

Every note is a plain Markdown file. Open, edit, move, diff or sync them with whatever you like: what is on disk is
the memory, and a change is searchable a moment after you save it.

- `memory/YYYY-MM-DD.md` — the daily log, entries are only ever added
- `MEMORY.md` — what every session should know; write it yourself
- `notes/<kind>/` — one fact, decision, fix … a file
- `topics/_fresh/` — new notes of no particular kind
- `_always-load/` — standing orders, loaded into every session; only you write here
- `_archive/` — retired notes

To retire a note, move it to `_archive/` or ask an agent to forget it: nothing is ever deleted for you.
Files and folders named in `.memoryignore` (the syntax of `.gitignore`) are left alone, as is this README.
"""


def write_welcome(vault: Vault) -> None:
    """Put the README into a vault that we have just made, and keep it out of searches."""
    path = vault.layout.in_home("README.md")
    vault.write_once(path, f"---\ntitle: About this folder\nstatus: archived\n---\n{WELCOME}".encode())
