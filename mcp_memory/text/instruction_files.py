"""Which files the programs of agents read as orders, by their names alone. Pure."""

from __future__ import annotations

import re
import unicodedata

_NAMES = """
    agent agents append-system boot bootstrap claude cline clinerules codex conventions copilot copilot-instructions
    crush cursor cursorrules gemini goose goosehints heartbeat hook hooks identity iflow jules junie memory opencode
    qwen replit roo roorules skill skills soul system tools user warp windsurf windsurfrules
"""
"""Up to their first dot, so also CLAUDE.local.md and AGENTS.override.md. Of Claude Code, Codex, Gemini CLI, OpenClaw,
opencode, Copilot, Cursor, Windsurf, Cline, Roo, Goose, Crush, Warp, Qwen Code, Jules, Junie."""

_STEMS = frozenset(_NAMES.split())

_ENDINGS = (".instructions.md", ".prompt.md", ".chatmode.md", ".agent.md", ".mode.md")
"""Of VS Code, in any folder that it is told of."""

_FOLDERS = frozenset({"skills"})
"""Of OpenClaw's workspace: what lies in them is loaded by need."""

_SEPARATORS = re.compile(r"[\s_-]+")


def plain_name(name: str) -> str:
    """A name as a file system or a reader may take it: without case, width, and characters that show as nothing."""
    shown = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in {"Cf", "Mn"})
    return "".join(shown).casefold().strip()


def are_orders(path: str) -> bool:
    """Whether some agent's program would read the file at `path` as orders, wherever it lies."""
    *folders, name = map(plain_name, path.split("/"))
    stem = _SEPARATORS.sub("-", name.partition(".")[0].strip())
    return stem in _STEMS or name.endswith(_ENDINGS) or not _FOLDERS.isdisjoint(folders)
