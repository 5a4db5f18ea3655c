"""Recognizes, by name, files that agents' programs read as instructions."""

import re
import unicodedata

_NAMES = """
    agent agents append-system boot bootstrap claude cline clinerules codex conventions copilot copilot-instructions
    crush cursor cursorrules gemini goose goosehints heartbeat hook hooks identity iflow jules junie memory opencode
    qwen replit roo roorules skill skills soul system tools user warp windsurf windsurfrules
"""
"""Names up to the first dot, to include CLAUDE.local.md and AGENTS.override.md. From Claude Code, Codex, Gemini CLI,
OpenClaw, opencode, Copilot, Cursor, Windsurf, Cline, Roo, Goose, Crush, Warp, Qwen Code, Jules, Junie."""

_STEMS = frozenset(_NAMES.split())

_ENDINGS = (".instructions.md", ".prompt.md", ".chatmode.md", ".agent.md", ".mode.md")
"""Endings of files that VS Code reads in any configured folder."""

_FOLDERS = frozenset({"skills"})
"""Folders whose files OpenClaw loads as needed."""

_SEPARATORS = re.compile(r"[\s_-]+")


def plain_name(name: str) -> str:
    """Normalize a name: remove differences of case and width, and invisible characters, which a file system or a reader
    may ignore."""
    shown = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in {"Cf", "Mn"})
    return "".join(shown).casefold().strip()


def are_orders(path: str) -> bool:
    """Return whether some agent's program would read the file at `path` as instructions, in any folder."""
    *folders, name = map(plain_name, path.split("/"))
    stem = _SEPARATORS.sub("-", name.partition(".")[0].strip())
    return stem in _STEMS or name.endswith(_ENDINGS) or not _FOLDERS.isdisjoint(folders)
