"""Keeps a person's text on a topic's page while the rest is regenerated. Pure.

A page has parts: its title, the text before the first heading, and each section. Our own lines are remembered as
hashes. A line without such a hash belongs to a person and stays byte for byte. A line of ours that a person changed or
removed isn't written again.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial

from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.text_hash import text_hash
from mcp_memory.topics.page import RELATED

Parts = Mapping[str, Sequence[str]]
"""Maps the name of a part to the hashes of its lines in order; a section starts with its heading."""

TITLE = "title"
RELATED_PART = RELATED.lower()
SEAL = "made"
"""The property of a page that holds its seal: a hash of its lines."""

_TARGET = re.compile(r"\]\([^()\n]*\)")
"""Link targets change when notes move; the line is still the same."""


def parts_of(page: str) -> dict[str, list[str]]:
    document = frontmatter.parse(page)
    sections = {name: list(map(_hash, lines)) for name, lines in _sections(document.body).items()}
    return {TITLE: [hash_title(document.meta.get("title"))], **sections}


def sealed(page: str) -> str:
    """Return the page with its seal in its head, so that any device sees whether somebody has edited its lines. Raise
    InvalidInput for a head that cannot be changed."""
    return frontmatter.patch(page, {SEAL: _seal(page)})


def is_sealed(page: str) -> bool:
    """Return whether the lines are as they were when the page was made; the title and the related topics may differ. A
    seal has no key, so a stranger can make one, too."""
    return frontmatter.parse(page).meta.get(SEAL) == _seal(page)


def _seal(page: str) -> str:
    parts = {name: lines for name, lines in parts_of(page).items() if name not in {TITLE, RELATED_PART}}
    return _hash(str(sorted(parts.items())))


def hash_title(title: object) -> str:
    return _hash(f"title {title}")


def known_lines(written: Iterable[Parts]) -> frozenset[str]:
    sections = [lines for parts in written for lines in parts.values()]
    return frozenset(line for lines in sections for line in lines)


def own_text(page: str, written: Iterable[Parts]) -> str:
    """Return the text that a person wrote in the page's body, byte for byte."""
    known = known_lines(written)
    lines = (line for lines in _sections(frontmatter.parse(page).body).values() for line in lines)
    return "".join(line for line in lines if _hash(line) not in known).strip("\r\n")


def with_added(page: str, text: str) -> str:
    """Insert a text before the page's first section."""
    start = frontmatter.parse(page).body_start
    at = page.find("\n## ", start)
    before, after = (page[:at], page[at:]) if at >= 0 else (page, "")
    return f"{before.rstrip()}\n\n{text}\n{after}"


def merged(now: str, made: str, written: Sequence[Parts]) -> str:
    """Merge a person's changes in the page as it is `now` into `made`, our new text. `written` are the parts of our
    earlier versions, latest last. Neither page has a list of related topics. Raises InvalidInput for a head that can't
    be changed."""
    page, ours, known = frontmatter.parse(now), frontmatter.parse(made), known_lines(written)
    base = _nearest(parts_of(now), written)
    if "title" not in page.meta or hash_title(page.meta["title"]) not in known:
        ours.meta["title"] = page.meta.get("title")
    head = frontmatter.patch(now[: page.body_start], {"provisional": None, "stale": None, **ours.meta})
    theirs, new = _sections(page.body), _sections(ours.body)
    merge = partial(_merge_section, known=known)
    body = {name: merge(base.get(name, ()), lines, new.get(name, [])) for name, lines in theirs.items()}
    names = list(new)
    for at, name in enumerate(names):
        if name not in body and name not in base:
            above = next((other for other in reversed(names[:at]) if other in body), "")
            body = _with_after(body, above, name, new[name])
    return head + _joined(body.values())


def _merge_section(base: Sequence[str], now: Sequence[str], made: Sequence[str], known: frozenset[str]) -> list[str]:
    """Merge three versions by lines: between two lines common to all three, a person's lines win over ours."""
    before, here, new = list(base), list(map(_hash, now)), list(map(_hash, made))
    in_now, in_made = _matches(before, here), _matches(before, new)
    if not made and all(line in known for line in here):
        return []
    merged: list[str] = []
    at = at_now = at_made = 0
    for line in (*(line for line in in_now if line in in_made), len(before)):
        to_now, to_made = in_now.get(line, len(here)), in_made.get(line, len(new))
        gone, ours = before[at:line], list(made[at_made:to_made])
        hashes, theirs = here[at_now:to_now], list(now[at_now:to_now])
        if hashes == gone:
            merged += ours
        elif new[at_made:to_made] == gone:
            merged += theirs
        elif [one for one in hashes if one in gone] == gone:  # the person only added lines
            at_end = 0 if line == len(before) else len(hashes)
            place = next((number for number, one in enumerate(hashes) if one in gone), at_end)
            merged += theirs[:place] + ours
            merged += [text for text, one in zip(theirs[place:], hashes[place:], strict=True) if one not in gone]
        else:
            merged += [text for text, one in zip(theirs, hashes, strict=True) if one not in known]
        if line < len(before):
            follows_own = to_now > 0 and here[to_now - 1] not in known
            merged.append(now[to_now] if follows_own else made[to_made])
            at, at_now, at_made = line + 1, to_now + 1, to_made + 1
    is_headless = merged and not made and now[0].lstrip().startswith("## ") and now[0] not in merged
    return [now[0], *merged] if is_headless else merged


def _matches(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Map indices of `base` to indices of the same lines in `other`; both rise."""
    blocks = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return {block.a + n: block.b + n for block in blocks for n in range(block.size)}


def _nearest(now: Parts, written: Sequence[Parts]) -> Parts:
    """Return the version that shares most lines with the page; the latest of several."""
    lines, none = known_lines([now]), dict[str, Sequence[str]]()
    return max(reversed(written), key=lambda parts: len(lines & known_lines([parts])), default=none)


def _with_after(body: Mapping[str, list[str]], above: str, name: str, lines: list[str]) -> dict[str, list[str]]:
    if above not in body:
        return {name: lines, **body}
    entries = [[(other, text), (name, lines)] if other == above else [(other, text)] for other, text in body.items()]
    return dict(pair for pairs in entries for pair in pairs)


def _joined(sections: Iterable[Sequence[str]]) -> str:
    lines = [line for section in sections for line in section]
    return "".join(line if line.endswith("\n") or line is lines[-1] else f"{line}\n" for line in lines)


def _sections(body: str) -> dict[str, list[str]]:
    """Map a section's name to its lines, each with the blank lines above it; the heading also gets the blank lines
    below."""
    sections: dict[str, list[str]] = {}
    name = blank = ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", body):
        if not line.strip():
            if len(lines := sections.get(name, [])) == 1 and name:
                lines[0] += line
            else:
                blank += line
            continue
        if line.startswith("## "):
            name = line.strip().lower()
            while name in sections:
                name += "'"
        sections.setdefault(name, []).append(blank + line)
        blank = ""
    return sections


def _hash(line: str) -> str:
    plain = _TARGET.sub("]()", " ".join(line.split()))
    return text_hash(plain, 12)
