"""Decide which files are searched only on request: other versions of a note that a sync program or an editor left
beside it, notes with unresolved merge conflicts, and templates. Pure.

If in doubt, a file is an ordinary note.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import PurePosixPath
from typing import Literal

from mcp_memory.errors import McpMemoryError
from mcp_memory.models import NotePath, NoteState
from mcp_memory.text.markdown.blocks import scan
from mcp_memory.text.markdown.frontmatter import split_head
from mcp_memory.text.markdown.logs import is_log_path
from mcp_memory.vault.note_file import NoteFile, is_memory

SET_ASIDE = "set_aside"
"""The key of a note's oddity in the `meta` of its record."""

LEAST_ALIKE = 0.65
"""The likeness of two versions of a note. Below it, `iPhone 2.md` is not taken for a copy of `iPhone.md`."""

_LEAST_KEPT = 0.9
"""The share of a short version's words that a much longer one still has."""
_COMPARED_WORDS, _COMPARED_CHARS, _FEW_WORDS = 600, 2000, 40

_CONFLICT = r"(?:conflict|konflikt|konflikc|conflit|競合|冲突|衝突|конфликт|충돌)"
_COPY = r"(?:cop[yi]|cópia|kopi|副本|コピー|копия|사본)"
_KIND = r"(?:\bcase\b|sync|encoding|white|groß|casse|mayús|sfconflict|conflict \d)"
_INSIDE = r"(?:[^()]|\([^()]*\))*"
_SURE = re.compile(
    rf" ?\((?={_INSIDE}{_CONFLICT})(?={_INSIDE}(?:{_COPY}|{_KIND})){_INSIDE}\)"
    rf"|[ ._-]?\[(?=[^\[\]]*{_CONFLICT})(?=[^\[\]]*(?:{_COPY}|{_KIND}))[^\[\]]*\]"
    r"|[ ._-]?[(\[](?:conflict(?:ed)?|case clash from [^()]*)[)\]]"
    r"|\.sync-conflict-[0-9]+-[0-9]+(?:-[A-Z0-9]+)?"
    r"|_conflict-[0-9]{8}-[0-9]{6}"
    r"|_[^_/]+_[A-Z][a-z]{2}-[0-9]{2}-[0-9]{4,6}-[0-9]{4}_Conflict"
    r"|[ _-]*conflicted copy[^./]*",
    re.IGNORECASE,
)
"""The additions to a name by Dropbox, Nextcloud, Obsidian Sync, pCloud, Seafile, Syncthing, Synology and ourselves."""

_COPY_WORD = r"(?:copy|copie|copia|cópia|kopie|kopia|kopi|kopio|副本|のコピー)"
_BY_DEVICES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<stem>.*?\S)(?: ?\([0-9]{{1,2}}\)| [0-9]{{1,2}}"  # Google Drive, OneDrive, browsers; macOS and iCloud
        rf"|(?: ?[-_] ?| ?\(| ){_COPY_WORD}\)?(?: ?\(?[0-9]{{1,2}}\)?)?)",
        r"(?:copy of|kopie von|copie de|copia de|copia di|cópia de|kopi av) (?P<stem>.*\S)",
        rf"(?P<stem>.*?\S)[ ._-]{_CONFLICT}(?:[ ._-].*)?",  # Resilio, Synology, Box
    )
)
_COMPUTER = re.compile(
    r"\S.*-.*(?:DESKTOP|LAPTOP|NOTEBOOK|WORKSTATION|SURFACE|THINKPAD|MACBOOK|IMAC|PC"
    r"|MacBook|iMac|Mac mini|iPhone|iPad)(?:[- ].*|[0-9]*)"
)
"""A name to which OneDrive added a hyphen and the computer's name, which may have hyphens, too."""
_BY_EDITORS = tuple(
    re.compile(rf"(?P<stem>{pattern}")
    for pattern in (r".*[^~])~[0-9]*", r".*\S)\.(?:orig|bak)", r".*?\S)_(?:BACKUP|BASE|LOCAL|REMOTE)_[0-9]+")
)
"""Names of copies that other notes may also have; the texts decide. An editor's copy may have what the person has
deleted since."""

_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_TEMPLATE_FOLDER = re.compile(r"(?:[0-9]+ )?_?(?:templates|vorlagen|plantillas)|_template", re.IGNORECASE)
_PLACEHOLDER = r"(?:\{\{ *[^\W\d][\w ./-]*(?::[^{}\n]*)? *\}\}|<%[-_*+]? ?tp\.[^\n]*?%>)"
_MACRO = re.compile(
    r"\{\{ *(?:query|embed|renderer|video|youtube|tweet|twitter|cloze|namespace|function|pdf|iframe|toc)\b",
    re.IGNORECASE,
)
"""The macros of Logseq, Roam and others. They show something, while a template leaves a gap."""
_FIELD = re.compile(
    rf"[\s>|]*(?:(?:[-*+]|[0-9]{{1,9}}[.)]) )?(?:\[.\] )?(?:[*_]{{0,2}}\w[^:=|.!?]{{0,50}}[:=][*_]{{0,2}}[:=]?\s*)?"
    rf"[\"']?{_PLACEHOLDER}(?:[\s,/|–-]*{_PLACEHOLDER})*[\"']?(?:[ ,]{{0,2}}[^\s.!?]{{1,8}})?[\s|]*"
)
"""A line with a gap to fill in, and at most what the gap is for."""
_HEAD_FIELD = re.compile(rf"[\w -]+:\s*[\"'\[]*{_PLACEHOLDER}(?:[\s,/–-]*{_PLACEHOLDER})*[\"'\]]*\s*")
_GAP = re.compile(_PLACEHOLDER)
_MOST_TITLE_WORDS, _MOST_LABEL_WORDS, _MOST_LINE_CHARS = 3, 8, 300
"""The most words beside the gaps in the title of a template, the most words in a label, and the most characters of a
line."""


Oddity = Literal["copy", "merge", "template"]
"""The reason why a file is searched only on request."""


def original_of(path: str) -> str | None:
    """Return the path of the file that this is a second version of, if the name is proof enough. For a daily log, what
    another device may add to a name is."""
    file = PurePosixPath(path)
    plain = _SURE.sub("", file.stem)
    if plain and plain != file.stem:
        return str(file.with_stem(plain))
    return next(filter(is_log_path, map(str, map(file.with_stem, _stems_by_devices(file.stem)))), None)


def likely_originals_of(path: str) -> list[str]:
    """Return the paths of files of which this file may be a second version; none if `original_of` knows the file. Such
    a file must exist, and its text must satisfy `is_version`."""
    if original_of(path):
        return []
    file = PurePosixPath(path)
    saved = (match["stem"] for pattern in _BY_EDITORS if (match := pattern.fullmatch(file.stem)))
    return list(map(str, map(file.with_stem, [*_stems_by_devices(file.stem), *saved])))


def _stems_by_devices(stem: str) -> Iterator[str]:
    yield from (match["stem"] for pattern in _BY_DEVICES if (match := pattern.fullmatch(stem)))
    if _COMPUTER.fullmatch(stem):
        yield from (stem[:end] for end, char in enumerate(stem) if char == "-")


def is_version(text: str, original: str) -> bool:
    """Return whether two texts are versions of one note."""
    one, other = _words(text), _words(original)
    if min(len(one), len(other)) < _FEW_WORDS:
        chars = (" ".join(each.split())[:_COMPARED_CHARS] for each in (text, original))
        return SequenceMatcher(None, *chars, autojunk=False).ratio() >= LEAST_ALIKE
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.ratio() >= LEAST_ALIKE:
        return True
    shared = sum(size for _, _, size in matcher.get_matching_blocks())
    return shared >= _LEAST_KEPT * min(len(one), len(other))


def is_template_folder(path: str) -> bool:
    """Return whether a file or folder of the vault is among templates."""
    return not path.startswith("@") and any(map(_TEMPLATE_FOLDER.fullmatch, path.split("/")))


def unless_odd(file: NoteFile, read: Callable[[NotePath], NoteFile]) -> NoteFile:
    """Return the note, set aside if it is searched only on request. `read` reads a file beside it. In a log and in
    `MEMORY.md` each entry is independent, so a merge conflict there is only a problem."""
    record = file.record
    if record.state is not NoteState.ACTIVE:
        return file
    oddity = _oddity_of(file) or ("copy" if _is_version_of_another(file, read) else None)
    if oddity is None:
        return file
    if oddity == "merge" and (record.is_log or is_memory(record.path)):
        problem = "; ".join(filter(None, (record.problem, "it has unresolved merge conflicts")))
        return replace(file, record=replace(record, problem=problem))
    meta = {**record.meta, SET_ASIDE: oddity}
    return replace(file, record=replace(record, state=NoteState.ASIDE, meta=meta))


def _oddity_of(file: NoteFile) -> Oddity | None:
    """Judge by the file only. A template that an agent stored is a normal note. The copy of a log has entries of
    another device; answers skip those that the log has, too."""
    note, text, start = file.record, file.text, file.body_start
    if original := original_of(note.path):
        return None if is_log_path(original) else "copy"
    is_stored = _ULID.fullmatch(note.id) and not note.is_foreign
    if not is_stored and (is_template_folder(note.folder) or _is_template(text, start)):
        return "template"
    return "merge" if _has_merge_conflict(text, start) else None


def _is_version_of_another(file: NoteFile, read: Callable[[NotePath], NoteFile]) -> bool:
    for original in likely_originals_of(file.record.path):
        with suppress(McpMemoryError):  # there is none, or none that can be compared
            beside = read(NotePath(original))
            if beside.record.id == file.record.id or is_version(file.body, beside.body):
                return True
    return False


def _has_merge_conflict(text: str, body_start: int) -> bool:
    """Return whether git or another program left the marks of a conflict: all three, in order, outside of code."""
    if "<<<<<<<" not in text:
        return False
    wanted = ["<<<<<<<", "=======", ">>>>>>>"]
    head = text[:body_start].splitlines()
    for line in [*head, *_lines(text, body_start)]:
        if line[:7] == wanted[0] and line[7:8] in {"", " "}:
            wanted.pop(0)
            if not wanted:
                return True
    return False


def _is_template(text: str, body_start: int) -> bool:
    if "{{" not in text and "<%" not in text:
        return False
    head = split_head(text)
    if any(map(_HEAD_FIELD.fullmatch, text[head.start : head.end].splitlines())):
        return True
    lines = [line for line in _lines(text, body_start) if any(map(str.isalnum, line)) and not _MACRO.search(line)]
    titles = [line for line in lines if line.startswith("#")]
    others = [line for line in lines if not line.startswith("#")]
    has_gap_title = titles and _GAP.search(titles[0]) and len(_words(_GAP.sub(" ", titles[0]))) <= _MOST_TITLE_WORDS
    has_prose = any(len(_words(line)) > _MOST_LABEL_WORDS for line in others)
    if has_gap_title and (not has_prose or any(map(_GAP.search, others))):
        return True
    fields = sum(bool(_FIELD.fullmatch(line[:_MOST_LINE_CHARS])) for line in others)
    return fields > 0 and 2 * fields >= len(others)


def _lines(text: str, start: int) -> Iterator[str]:
    """Yield the lines outside of code fences."""
    for block in scan(text, start):
        if block.kind == "fence":
            continue
        begin = block.start
        for fence_start, fence_end in (*block.fences, (block.end, block.end)):
            yield from text[begin:fence_start].splitlines()
            begin = fence_end


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)[:_COMPARED_WORDS]
