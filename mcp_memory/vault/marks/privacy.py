"""Find text that a person has marked as private: a note, an entry of a log, lines of `MEMORY.md`. Pure.

People write it in many ways: as a property, a tag, a folder's name, `<private>`, or in words. If in doubt, a note is
private. A note whose head can't be read is private, too.
"""

import json
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, cast

from mcp_memory.text.conversation.off_record import OffRecord, off_record, says_off_record
from mcp_memory.text.language.word_tables import read_table
from mcp_memory.text.markdown import logs, sections
from mcp_memory.text.markdown.blocks import Block, scan, split_heading
from mcp_memory.text.markdown.frontmatter import BOM, Document, parse, split_head
from mcp_memory.text.markdown.links import prose
from mcp_memory.text.markdown.log_items import itemized
from mcp_memory.text.markdown.properties import is_slip
from mcp_memory.text.markdown.tags import CODE, tags_of, text_tags

_TABLE = {name: frozenset(words) for name, words in read_table("mcp_memory.vault.marks", "privacy.toml").items()}

WORDS = _TABLE["private"]
"""The words for private in the four languages, without accents."""

PRIVATE = "private"
"""The tag of notes that are made of something private."""

_FOLDERS = frozenset(f"{word}{rest}" for word in WORDS for rest in _TABLE["folder_ends"])
_KEYS = WORDS | {f"is{word}" for word in WORDS}
_SHARED_KEYS, _PUBLIC_KEYS, _NO = _TABLE["shared_keys"], _TABLE["public_keys"], _TABLE["no"]
_ADVERB = re.compile("^(?:strictly|highly|streng|strikt|strictement|tres|estrictamente|muy)(?=.)")
_YES = WORDS | _TABLE["yes"]
_TAG_KEYS = _TABLE["tag_keys"]
_SENTENCES = _TABLE["sentences"]
"""Properties in which a comma doesn't end an item."""

_HINT = re.compile(r"pri[vw]|confiden|vertraulich|geheim|share|teilen|weiter|partager|compartir", re.IGNORECASE)
_PROPERTY = re.compile(
    r"^[ \t>]{0,20}(?:[-*+][ \t]{1,20})?(?:<!--|%%|\{)?[ \t\"'*_]{0,20}(?P<key>[^\W\d_](?:[ _-]?[^\W_]){1,12})"
    r"[\"'*_?]{0,9}\s{0,20}[:：=]{1,2}(?P<value>[^\n]*)$",
    re.MULTILINE,
)
_COLON_WITHIN = re.compile(r"^(?P<key>[\w-]+): +(?P<value>[^\s\"'\[\]{}|>&*!#%@`][^\n]*?: [^\n]*?)\r?$", re.MULTILINE)
"""`title: Foo: bar`, which YAML doesn't allow but everybody can read."""
_ELEMENT = re.compile(r"<\s*(?:private?|privée?|privad[oa])\b[^<>]*>", re.IGNORECASE)
_END_OF_ELEMENT = re.compile(r"<\s*/\s*(?:private?|privée?|privad[oa])\b[^<>]*>", re.IGNORECASE)
_BRACKETS = re.compile(r"(?<![\w\[!])\[([^\[\]()\n]{1,100})\](?![(\[:\]])|<!--([^<>\n]{1,100})-->|%%([^%\n]{1,100})%%")
_PARENTHESES = re.compile(
    r"(?<!\])[(（]((?:[^()（）\n\[\]]|\[[^()\[\]\n]*\]){1,300})[)）](?=\s{0,20}(?:[(（]|[\W_]{0,20}$))", re.MULTILINE
)
_CLOCK = re.compile(r"^#{1,6}[ \t]{1,9}\d{1,2}:\d\d[ \t]{1,9}")
"""The text before the title of a log's entry."""
_CALLOUT = re.compile(r"^[ \t>]{0,20}\[![\w-]{1,30}\][+-]?")
"""The text before the title of an Obsidian callout: `> [!warning] Confidential`."""
_NO_LABEL = re.compile(r"[ \t>]{0,20}(?:[-+*|]|\d{1,9}[.)])[ \t]|[^\n]*[\[\\/@=(){};<]|\s*[a-z]+:\s*$")
"""A list's item, a row, a link or code: there, the plain word marks nothing."""

_EDGE_CHARS = 20_000
"""The characters at each end of a text that are read for wishes such as "don't share this"."""


def marks(path: str, text: str, document: Document, *, is_curated: bool) -> dict[str, Any]:
    """Return the marks that a record keeps: `private` for the whole file, else `private_entries` and `private_lines`.

    `private_entries`: the hashes of a log's entries. `private_lines`: pairs of the first and the last line, 1-based, of
    a curated file, or of the text above a log's entries."""
    start = document.body_start
    if _is_private_path(path) or _head_says_so(text, document):
        return {"private": True}
    is_log = logs.is_log_path(path) is not None
    is_divided = is_curated or is_log
    if not (is_divided and len(text) > 2 * _EDGE_CHARS) and not _may_say_so(text[start:]):
        return {}
    if is_divided:
        entries = logs.entries(text, start) if is_log else []
        above = text[start : entries[0].start] if entries else text[start:]
        head = text[:start] + (itemized(above) if is_log else above)
        spans = list(_private_spans(head, start))
        if is_log and any(end == len(head) and not head[start:begin].strip() for begin, end in spans):
            return {"private": True}
        hashes = [entry.hash for entry in entries if says_private(text[entry.start : entry.end])]
        found = {"private_lines": [_lines(head, *span) for span in spans], "private_entries": hashes}
        return {name: marked for name, marked in found.items() if marked}
    return {"private": True} if says_private(text[start:]) else {}


def says_private(text: str) -> bool:
    """Return whether a text, without a head, marks itself as private anywhere outside code."""
    if not _may_say_so(text):
        return False
    if any(map(is_private_tag, text_tags(text, in_comments=True))):
        return True
    last = len(text) - _EDGE_CHARS
    return any(
        _stretch_says_so(CODE.sub(" ", text[begin:end]), reads_wishes=begin < _EDGE_CHARS or end > last)
        for begin, end in prose(text, 0)
    )


def is_private_tag(tag: str) -> bool:
    """Return whether a tag, or a part of a nested tag, means private, in any case and with any signs around it."""
    return any(map(_means_private, tag.split("/")))


def _means_private(words: str) -> bool:
    return _ADVERB.sub("", _letters(words)) in WORDS


def _is_private_path(path: str) -> bool:
    """Return whether the path means private; a file's name is its title in Obsidian: `Doctor (private).md`."""
    *folders, file = path.split("/")
    title = file.removesuffix(".md")
    is_marked = _letters(title) not in WORDS and (says_private(title) or any(map(is_private_tag, title.split(".")[1:])))
    return is_marked or any(_letters(folder) in _FOLDERS for folder in folders)


def _head_says_so(text: str, document: Document, *, is_inner: bool = False) -> bool:
    """Return whether a head marks its note as private, even if it can't be read."""
    if text.startswith("+++", len(BOM) if text.startswith(BOM) else 0):
        return _toml_says_so(text)
    head = split_head(text)
    if not head.exists:
        return False
    body = text[head.body_start :].lstrip()
    has_inner = not is_inner and body.startswith(("---\n", "---\r\n", "+++"))
    if has_inner and _head_says_so(body, parse(body), is_inner=True):
        return True  # a note that was imported with a head that couldn't be read
    if document.problem and not document.meta:
        document = parse(f"---\n{_COLON_WITHIN.sub(_quoted_value, text[head.start : head.end])}---\n")
    if (document.problem and not document.meta) or "\ufffd" in text[head.start : head.end]:
        return True
    is_mapping = bool(document.meta)
    if is_mapping and _meta_says_so(document.meta):
        return True
    lines = text[head.start : head.end].splitlines()
    # Text between the lines that isn't YAML, and the first of two equal keys.
    return (not is_mapping or document.problem is not None) and any(map(_line_of_head_says_so, lines))


def _quoted_value(line: re.Match[str]) -> str:
    return f"{line['key']}: {json.dumps(line['value'])}"


def _toml_says_so(text: str) -> bool:
    inner, end, _ = text.partition("\n")[2].partition("\n+++")
    try:
        return bool(end) and _meta_says_so(tomllib.loads(f"{inner}\n"))
    except tomllib.TOMLDecodeError:
        return True


def _meta_says_so(meta: Mapping[str, Any]) -> bool:
    return any(_pair_says_so(key, value) for key, value in meta.items())


def _pair_says_so(key: str, value: object) -> bool:
    """Return whether a property means private: `private: yes`; `tags: a, private`; or any other property with just this
    value, such as `visibility: private`."""
    name = _letters(key)
    if isinstance(value, Mapping):
        return _meta_says_so(cast("Mapping[str, Any]", value)) or name in _KEYS
    if name in _KEYS or is_slip(name, "private") or is_slip(name, "confidential"):
        return not _means_no(value)
    if name in _SHARED_KEYS or name in _PUBLIC_KEYS:
        return value is False or (isinstance(value, str) and value != "" and _means_no(value))
    if name in _TAG_KEYS or is_slip(name, "tags"):
        return any(map(is_private_tag, tags_of(value)))
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    if any(isinstance(item, Mapping) and _meta_says_so(cast("Mapping[str, Any]", item)) for item in items):
        return True
    words = [item for item in items if isinstance(item, str)]
    parts = words if name in _SENTENCES else [part for it in words for part in re.split("[,;]", it)]
    return any(map(is_private_tag, parts))


def _line_of_head_says_so(line: str) -> bool:
    found = _PROPERTY.match(line)
    return _pair_says_so(found["key"], found["value"].strip()) if found else _letters(line) in WORDS


def _means_no(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_means_no, cast("list[object]", value)))
    if isinstance(value, str):
        return _letters(value) in _NO and not re.search(r"[1-9✓✔✅]", value)
    return not value


def _may_say_so(text: str) -> bool:
    """Return quickly whether the text has any of the words."""
    return _HINT.search(text) is not None or says_off_record(_edges(text))


def _edges(text: str) -> str:
    """Return the beginning and the end of a long text. A wish about a note is written there, and looking for wishes
    takes a microsecond for each character."""
    return text if len(text) <= 2 * _EDGE_CHARS else f"{text[:_EDGE_CHARS]}\n\n{text[-_EDGE_CHARS:]}"


def _stretch_says_so(stretch: str, *, reads_wishes: bool) -> bool:
    """Return whether one block of prose, without code, means private."""
    if reads_wishes and says_off_record(_CLOCK.sub("", _edges(stretch))):
        return True
    if not _HINT.search(stretch):
        return False
    heading, first_line = split_heading(stretch), _CALLOUT.sub("", stretch.partition("\n")[0])
    if _means_private(heading[1] if heading else first_line) and not _NO_LABEL.match(first_line):
        return True
    notes = (*_PARENTHESES.finditer(stretch), *_BRACKETS.finditer(stretch))
    return bool(
        _ELEMENT.search(stretch)
        or any(_line_says_so(found["key"], found["value"]) for found in _PROPERTY.finditer(stretch))
        or any(_note_says_so(part) for note in notes for part in (note[note.lastindex or 0]).split(";"))
    )


def _line_says_so(key: str, value: str) -> bool:
    """Return whether a line means private. In a text, `private: …` may begin a sentence about what is private in a
    program."""
    name = _letters(key)
    if name in _TAG_KEYS:
        return any(map(is_private_tag, tags_of(value)))
    return name in _KEYS and (_letters(value) in _YES or bool(re.fullmatch(r"\W*[1✓✔✅]\W*", value)))


def _note_says_so(part: str) -> bool:
    """Return whether a part of a bracketed note means private: `private`, `tags: a, private`, `private: true`."""
    key, colon, value = part.partition(":")
    return _line_says_so(key, value) if colon else is_private_tag(part)


def _private_spans(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the private sections, list items and paragraphs of `MEMORY.md`. A mark by itself makes its section private,
    or the whole file if no heading is above."""
    blocks = list(scan(text, start))
    entries = sections.entries(text, start)
    for at, block in enumerate(blocks):
        if block.kind in {"fence", "rule"} or not says_private(text[block.start : block.end]):
            continue
        if _ELEMENT.search(text, block.start, block.end):
            end = _END_OF_ELEMENT.search(text, block.start)
            yield block.start, max(block.end, end.end() if end else len(text))
        elif block.kind == "heading":
            yield _section(text, blocks, at)
        elif _stands_alone(text[block.start : block.end]):
            heading = next((up for up in range(at, -1, -1) if blocks[up].kind == "heading"), None)
            yield (start, len(text)) if heading is None else _section(text, blocks, heading)
        elif block.kind == "item":
            items = [entry for entry in entries if block.start <= entry.start < block.end]
            for number, item in enumerate(items):
                if says_private(text[item.start : item.end]):
                    inner = takewhile(lambda one, of=item: _indent(one.mark) > _indent(of.mark), items[number + 1 :])
                    means_before = OffRecord.BEFORE in off_record(item.title)
                    first = entries[max(0, entries.index(item) - 1)] if means_before else item
                    yield first.start, max(one.end for one in (item, *inner))
        else:
            yield block.start, block.end


def _section(text: str, blocks: Sequence[Block], at: int) -> tuple[int, int]:
    """Return the heading of this number with all below it, to the next of its level."""
    level = blocks[at].level
    later = (block.start for block in blocks[at + 1 :] if block.kind == "heading" and block.level <= level)
    return blocks[at].start, next(later, len(text))


def _stands_alone(block: str) -> bool:
    words = block.strip("<!->% \t\n")
    found = _PROPERTY.fullmatch(words)
    if found and _line_says_so(found["key"], found["value"]):
        return True
    return all(word[0] in "#＃" for word in words.split()) or is_private_tag(words)


def _indent(mark: str) -> int:
    return len(mark) - len(mark.lstrip())


def _lines(text: str, start: int, end: int) -> list[int]:
    first = text.count("\n", 0, start) + 1
    return [first, first + text[start:end].rstrip().count("\n")]


def _letters(text: str) -> str:
    """Return the text in lower case, without accents, digits and signs."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(filter(str.isalpha, plain))
