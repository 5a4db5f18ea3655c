"""Detects the kind of source that a file or folder is, and reads the source as that kind."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import get_args

from mcp_memory.errors import InvalidInput, NotFound, Refused
from mcp_memory.runtime.private_files import failed, naming_the_cause
from mcp_memory.storage.folder_walk import walk
from mcp_memory.storage.path_rules import MAX_DEPTH, SKIPPED_FOLDERS, is_note
from mcp_memory.transfer.formats import claude_code, codex, gemini, jsonl, markdown, openclaw
from mcp_memory.transfer.formats.folder import SourceFolder, is_markdown
from mcp_memory.transfer.item import ImportSource, ProjectOf, SourceKind, SourceReading

_SINGLE: Mapping[SourceKind, Collection[str]] = {"claude-code": claude_code.INSTRUCTIONS, "gemini": gemini.INSTRUCTIONS}
"""Files that can be read by themselves, although the kind is usually read from a folder."""

_READERS = {
    "claude-code": claude_code.read,
    "codex": codex.read,
    "gemini": gemini.read,
    "openclaw": openclaw.read,
    "obsidian": markdown.read,
}

_AMONG_OTHER_FILES = {"claude-code", "codex", "gemini"}
"""Programs that keep notes among their other files, also in hidden folders. Their other files are skipped silently."""

_CODEX = {".codex", "memory_summary.md", "rollout_summaries"}
_GEMINI = {".gemini", *gemini.INSTRUCTIONS}
"""Names of the folder itself, or of a file in it."""

_OPENCLAW = {"SOUL.md", "IDENTITY.md", "HEARTBEAT.md", "BOOTSTRAP.md"}
"""Names of files in the folder."""


def detect_source(place: Path, kind: SourceKind | None, *, vault: Path, project: str | None = None) -> ImportSource:
    """Return the source at `place`, as `kind` if that is passed, else as the detected kind. Raises NotFound,
    InvalidInput if it is of no known kind or not of the requested kind, Refused for a place inside the vault,
    StorageFailed."""
    root, vault = _resolved(place), vault.resolve()
    if not (root.is_dir() or root.is_file()):
        raise Refused(f"{root} is neither a file nor a folder")
    if root == vault or (root.is_relative_to(vault) and (root.is_dir() or is_note(root.name))):
        raise Refused(f"{root} is in the vault already", hint="it is searched where it is: mcp-memory search …")
    found = kind or (_of_folder(root) if root.is_dir() else _of_file(root))
    if found is None:
        hint = f"name it: --from {', '.join(get_args(SourceKind))}; any folder of Markdown can be read as obsidian"
        raise InvalidInput(_why_unknown(root), hint=hint)
    wants_file = found == "jsonl"
    is_alone = root.name in _SINGLE.get(found, ()) or (found == "obsidian" and is_markdown(root.name))
    if root.is_dir() == wants_file and not is_alone:
        wanted, actual = ("file", "folder") if wants_file else ("folder", "file")
        raise InvalidInput(f"{root} is a {actual}: {found} is read from a {wanted}", hint=f"name the {wanted}")
    return ImportSource(found, _name(root, found), root, project)


def read(source: ImportSource, *, vault: Path, most_bytes: int, project_of: ProjectOf) -> SourceReading:
    """Read a source that isn't ours. `most_bytes`: the size of the largest note. `project_of`: returns the project of a
    folder. Raises InvalidInput if it has nothing of its kind, StorageFailed."""
    has_others = source.kind in _AMONG_OTHER_FILES
    folder = SourceFolder(source.root, apart=(vault,), everything=has_others, most_bytes=most_bytes)
    reading = _READERS[source.kind](source, folder, project_of)
    if not reading.items and not reading.left_out:
        raise InvalidInput(f"{source.root} has nothing of {source.kind}", hint="mcp-memory import --help")
    return reading


def _resolved(place: Path) -> Path:
    try:
        return place.expanduser().resolve(strict=True)
    except FileNotFoundError:
        raise NotFound(f"there is nothing at {place}", hint="name a file or folder") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, or no such user
        cause = error if isinstance(error, OSError) else OSError(str(error))
        raise failed(cause, str(place)) from error


def _of_folder(root: Path) -> SourceKind | None:
    with naming_the_cause(str(root)):
        names = {file.name for file in root.iterdir()}
    if claude_code.is_memory(root) or root.name == ".claude":
        return "claude-code"
    if ".obsidian" in names:
        return "obsidian"
    if names & _OPENCLAW or ("AGENTS.md" in names and {"MEMORY.md", "memory"} & names):
        return "openclaw"
    # `~/.claude/projects`, or a folder in it
    has_memories = claude_code.is_memory(root / "memory") or (root.name == "projects" and any(root.glob("*/memory")))
    if names & {*claude_code.INSTRUCTIONS, ".claude"} or has_memories:
        return "claude-code"
    if {"MEMORY.md", "memory"} <= names:
        return "openclaw"
    names_and_own = {root.name, *names}
    if names_and_own & _CODEX:
        return "codex"
    if names_and_own & _GEMINI:
        return "gemini"
    # A person's home folder has more than notes.
    return "obsidian" if root != Path.home() and _has_notes(root) else None


def _has_notes(root: Path) -> bool:
    """Return whether the folder has Markdown outside of repositories, where Markdown documents a program."""
    for folder, folders, files in walk(root):
        if ".git" in (*folders, *files) or len(Path(folder).relative_to(root).parts) >= MAX_DEPTH:
            folders.clear()
        elif any(is_markdown(name) and not name.startswith(".") for name in files):
            return True
        folders[:] = [name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS]
    return False


def _why_unknown(root: Path) -> str:
    if root.is_file():
        return f"cannot tell what kind of source {root} is"
    if root == Path.home():
        return f"{root} is your home folder, not a source"
    if (root / ".git").exists():
        return f"{root} is a repository, whose Markdown documents a program"
    return f"{root} has no Markdown, nor what another program keeps" if any(root.iterdir()) else f"{root} is empty"


def _of_file(root: Path) -> SourceKind | None:
    for kind, names in _SINGLE.items():
        if root.name in names:
            return kind
    with naming_the_cause(str(root)):
        if is_markdown(root.name):
            return "obsidian"
        with root.open("rb") as file:
            first = file.read(1 << 20).split(b"\n")[:20]  # a line may have hundreds of megabytes
    return "jsonl" if jsonl.is_ours(first) else None


def _name(root: Path, kind: SourceKind) -> str:
    if kind == "claude-code":
        return root.parent.name if claude_code.is_memory(root) or root.is_file() else root.name.lstrip(".")
    return root.stem if root.is_file() else root.name
