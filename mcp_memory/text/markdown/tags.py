"""Reads tags as Obsidian writes them: in a head as a list or as a single text, and as `#tag` or `#tag/below` in the
text.

A tag in the text is a word after a `#`. Plain numbers aren't tags, nor are words in code, in a link or in a comment.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from mcp_memory.text.markdown.links import prose

_TAG = re.compile(r"(?<![^\W_])(?<![/#&=\\])[#＃]([\w/\-\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]+)")
CODE = re.compile(r"(?<!`)``+[^`\n]+``+|(?<!`)`[^`\n]+`")
_NOT_PROSE = re.compile(
    CODE.pattern + r"|\[\[[^\[\]\n]*\]\]|(?<=\])\([^()\n]*\)|^ {0,3}\[[^\[\]\n]+\]:[^\n]*"  # links, with their targets
    r"|</?[A-Za-z][^<>\n]*>",
    re.MULTILINE,
)
_AROUND = " \t#＃[]\"'"
_COMMENTS = (("<!--", "-->"), ("%%", "%%"))


def head_tags(meta: Mapping[str, Any]) -> list[str]:
    """Return the tags of a head, under `tags` or `tag` in any case, without `#` and duplicates, as they are spelled."""
    values = (value for key, value in meta.items() if key.strip().casefold() in {"tags", "tag"})
    return list(dict.fromkeys(tag for value in values for tag in tags_of(value)))


def tags_of(value: object) -> Iterator[str]:
    """Yield the tags in a property. A single text is split at commas and semicolons, or else at spaces."""
    if isinstance(value, (list, Mapping)):
        for item in cast("Iterable[object]", value):
            yield from _named(item) if isinstance(item, str) and "#" not in item else tags_of(item)
    elif isinstance(value, str):
        separator = r"[,;，、]" if re.search(r"[,;，、]", value) else r"\s+"
        for item in re.split(separator, value):
            yield from _named(item)
    else:
        yield from _named(value)


def text_tags(text: str, start: int = 0, *, in_comments: bool = False) -> list[str]:
    """Return the tags in `text[start:]` in order, without duplicates. `in_comments`: also tags that a reader doesn't
    see."""
    if not _TAG.search(text, start):
        return []
    stretches = (plain_text(text[begin:end], in_comments=in_comments) for begin, end in prose(text, start))
    found = (match[1].strip("/-_") for stretch in stretches for match in _TAG.finditer(stretch))
    return list(dict.fromkeys(tag for tag in found if any(not char.isdigit() and char not in "/-_" for char in tag)))


def plain_text(stretch: str, *, in_comments: bool) -> str:
    """Return prose without code, HTML, wikilinks and the targets of links, and without comments unless `in_comments` is
    set."""
    for opening, closing in () if in_comments else _COMMENTS:
        stretch = _without(stretch, opening, closing)
    return _NOT_PROSE.sub(" ", stretch)


def _without(stretch: str, opening: str, closing: str) -> str:
    pieces, at = list[str](), 0
    while (begin := stretch.find(opening, at)) >= 0 and (end := stretch.find(closing, begin + len(opening))) >= 0:
        pieces.append(stretch[at:begin])
        at = end + len(closing)
    return " ".join([*pieces, stretch[at:]])


def _named(value: object) -> Iterator[str]:
    if value is not None and (name := " ".join(str(value).replace("\0", " ").split()).strip(_AROUND)):
        yield name
