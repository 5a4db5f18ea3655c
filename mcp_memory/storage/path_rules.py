"""Decide which relative paths a back end may touch, which names are equal, and which files `.memoryignore` keeps out
(gitignore's syntax).

`validate_existing` refuses names that would leave the vault, be hidden, or forge a line of output. `validate_new`
also refuses names that don't work on every file system that a synced vault may meet, so that a note made here can be
checked out on Windows and macOS.

The patterns may come with another person's vault, so they run in linear time (RE2, no backtracking), and their
number and length are bounded. A pattern that can't be used is reported; the others still apply.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from mcp_memory.errors import AlreadyExists, PathRefused
from mcp_memory.models import NotePath, Problem
from mcp_memory.text.escape_invisible import printable

MAX_COMPONENT_BYTES = 255  # NAME_MAX of ext4, APFS, NTFS and nearly every other file system
MAX_PATH_BYTES = 4096  # PATH_MAX on Linux
MAX_DEPTH = 64  # nested folders: each takes a descriptor while a path is walked
SKIPPED_FOLDERS = frozenset({"node_modules"})  # full of other people's Markdown

# Control characters, backslash (a separator elsewhere), lone surrogates (bytes that are not UTF-8).
_NEVER = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]')
# Line separators and bidirectional overrides, which disguise a name.
_DECEIVING = re.compile("[\u2028\u2029\u202a-\u202e\u2066-\u2069]")

_NOT_EVERYWHERE = re.compile('[<>:"|?*\\\\/\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+')
_ROOM_BYTES = MAX_COMPONENT_BYTES - 60
"""The longest portable name, with room for additions."""

_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{n}" for port in ("com", "lpt") for n in "123456789¹²³"}
)
"""Windows opens a device under these names, with any extension and in any folder."""


def validate_existing(path: str) -> NotePath:
    """Return the path, if a file of that name may be read. Raises PathRefused, naming the rule."""
    _check(path, new=False)
    return NotePath(path)


def validate_new(path: str, *, portable: bool = True) -> NotePath:
    """Return the path, if a note may be created there: it isn't hidden, ends in `.md`, and would be listed. Unless it
    needn't be `portable`, every system must also allow it. Raises PathRefused."""
    _check(path, new=portable)
    if skipped := SKIPPED_FOLDERS.intersection(path.split("/")):
        raise _refused(path, f"lies in {min(skipped)!r}, which is never indexed", "choose another folder")
    if not is_note(path):
        raise PathRefused(f"{path!r} does not end in .md", hint="a note is a Markdown file, say 'notes/name.md'")
    return NotePath(path)


def split(path: str) -> tuple[str, str]:
    """Return the folder (`""` for the root) and the name."""
    folder, _, name = path.rpartition("/")
    return folder, name


def already_exists(path: str, other: str) -> AlreadyExists:
    """Return the error for a new name where `other`, an entry of the same folder, is in the way."""
    if split(path)[1] == other:
        return AlreadyExists(
            f"'{printable(path)}' exists",
            hint="choose another name, or pass its etag: see its receipt, or memory_recall for a plan",
        )
    return AlreadyExists(
        f"'{printable(path)}' differs from the existing '{printable(other)}' only in case or Unicode form",
        hint=f"use '{printable(other)}', or another name: some file systems would not keep them apart",
    )


def is_note(name: str) -> bool:
    """Return whether a name has the extension of a note, in any case."""
    return name.endswith(".md") or name[-3:].lower() == ".md"


def unnameable(name: str) -> str | None:
    """Return the reason why no tool can use a name found on disk, or None. Accepts hidden names."""
    if len(name) > MAX_COMPONENT_BYTES // 4 and len(name.encode("utf-8", "surrogateescape")) > MAX_COMPONENT_BYTES:
        return "its name is longer than 255 bytes"
    return (fault := _forbidden_character(name)) and f"its name {fault}"


def portable(name: str) -> str:
    """Return the name of a file or folder without characters that some system refuses."""
    plain = _NOT_EVERYWHERE.sub("-", name[:MAX_COMPONENT_BYTES]).rstrip(". ").lstrip(" ")
    if plain.startswith("."):
        plain = "_" + plain[1:]
    while len(plain.encode()) > _ROOM_BYTES:
        plain = plain[:-1].rstrip(". ")
    if not plain or plain in SKIPPED_FOLDERS:
        plain = f"{plain or 'note'}_"
    try:
        validate_new(f"{plain}.md")
    except PathRefused:  # a device on Windows
        return f"_{plain}"
    return plain


def portable_path(path: str) -> str:
    """Return a note's path with `portable` names."""
    folder, name = split(path)
    stem = name[:-3] if is_note(name) else name
    return "/".join([*(portable(part) for part in folder.split("/") if part), f"{portable(stem)}{name[len(stem) :]}"])


def fold(name: str) -> str:
    """Return the form under which names collide on a file system that ignores case and normal form (APFS, NTFS, ext4
    +F)."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _check(path: str, *, new: bool) -> None:
    if not path:
        raise PathRefused("the path is empty", hint="pass a relative path such as 'notes/name.md'")
    if path.startswith("/"):
        raise _refused(path, "is absolute", "pass it relative to the vault, without the leading '/'")
    if fault := _forbidden_character(path):
        raise _refused(path, fault, "use '/' between folders and printable characters in names")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise _refused(path[:80] + "…", f"is longer than {MAX_PATH_BYTES} bytes", "shorten it")
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        raise _refused(path[:80] + "…", f"is more than {MAX_DEPTH} folders deep", "use fewer folders")
    for part in parts:
        if not part:
            raise _refused(path, "has an empty part", "use single slashes, and none at the end")
        if part in {".", ".."}:
            raise _refused(path, f"holds {part!r}", "name the file directly, relative to the vault")
        if part.startswith("."):
            raise _refused(path, f"has a hidden part, {part!r}", "names of notes do not start with a dot")
        if len(part.encode()) > MAX_COMPONENT_BYTES:
            raise _refused(path[:80] + "…", f"has a part longer than {MAX_COMPONENT_BYTES} bytes", "shorten it")
        if new:
            _check_new_component(path, part)
    if new and parts[0] == "~":
        raise _refused(path, "starts with '~'", "pass it relative to the vault")


def _forbidden_character(text: str) -> str | None:
    """Return the rule that a character breaks, as the end of a sentence, or None."""
    found = _NEVER.search(text)
    if found is None:
        return None
    if found.group() >= "\ud800":
        return "is not valid UTF-8"
    return "holds a backslash" if found.group() == "\\" else "holds a control character"


def _check_new_component(path: str, part: str) -> None:
    if part.endswith((".", " ")):
        raise _refused(
            path, f"has a part that ends in a dot or a space, {part!r}", "Windows would drop it: leave it out"
        )
    if part.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        raise _refused(path, f"holds {part!r}, the name of a Windows device", "choose another name")
    if found := _NOT_ON_WINDOWS.search(part):
        raise _refused(path, f"holds {found.group()!r}, which Windows does not allow", "leave it out")
    if _DECEIVING.search(part):
        raise _refused(path, "holds an invisible control character of text direction or line", "leave it out")


def _refused(path: str, what: str, hint: str) -> PathRefused:
    return PathRefused(f"path '{printable(path)}' {what}", hint=hint)


def beside(path: str, tail: str) -> str:
    """Insert `tail` before the extension: `a/b.md` → `a/btail.md`."""
    stem = path[:-3] if is_note(path) else path
    return f"{stem}{tail}{path[len(stem) :]}"


IGNORE_FILE = ".memoryignore"
MAX_FILE_BYTES = 64 * 1024
MAX_PATTERNS = 500
MAX_PATTERN_CHARS = 255


@dataclass(frozen=True)
class IgnoreRules:
    """The rules of a `.memoryignore`. `matches` takes a relative path, with a trailing `/` for a folder."""

    matches: Callable[[str], bool]
    problems: tuple[Problem, ...] = ()


def parse_ignore(data: bytes) -> IgnoreRules | None:
    """Parse the rules in a `.memoryignore`; return None if it has none. Never raises: errors become problems."""
    if len(data) > MAX_FILE_BYTES:
        return IgnoreRules(lambda _: False, (Problem(IGNORE_FILE, f"not used: larger than {MAX_FILE_BYTES} bytes"),))
    good: list[str] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fault = _fault(line) if len(good) < MAX_PATTERNS else f"more than {MAX_PATTERNS} patterns"
        if fault:
            problems.append(Problem(IGNORE_FILE, f"line {number} not used: {fault}"))
        else:
            good.append(line)
    if not good and not problems:
        return None
    try:  # RE2 bounds the memory of the whole set
        return IgnoreRules(_compile(good), tuple(problems))
    except Exception as error:
        problems.append(
            Problem(IGNORE_FILE, f"not used: the patterns together are too complex ({type(error).__name__})")
        )
        return IgnoreRules(lambda _: False, tuple(problems))


def _fault(line: str) -> str | None:
    if len(line) > MAX_PATTERN_CHARS:
        return f"longer than {MAX_PATTERN_CHARS} characters"
    try:  # pathspec, re and RE2 each raise an error type of their own
        _compile([line])
    except Exception as error:
        return f"no valid pattern ({type(error).__name__})"
    return None


def _compile(lines: list[str]) -> Callable[[str], bool]:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines, backend="re2").match_file
