"""Containing: a note's links made to stay within what is shared. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from mcp_memory.text.markdown.links import Link, find_links, relative_link, resolve

_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.\-]*:|//")


@dataclass(frozen=True)
class SharedPaths:
    """Where files are in the vault and, by that, in the share."""

    shared: Mapping[str, str]

    @cached_property
    def folders(self) -> set[str]:
        """Those in the share that hold something."""
        return {posixpath.dirname(path) for path in self.shared.values()}

    @cached_property
    def stems(self) -> set[str]:
        """What a wikilink may call the shared files."""
        return {posixpath.basename(path).removesuffix(".md").casefold() for path in self.shared.values()}


def contained(text: str, body_start: int, path: str, places: SharedPaths) -> tuple[str, int]:
    """The text of the note that is at `path` in the vault as it is shared, and how many of its links became plain text
    because they lead out. Links to the web stay."""
    cut = 0
    while edits := list(_edits(text, body_start, path, places)):
        for start, end, instead, is_cut in reversed(edits):
            text = text[:start] + instead + text[end:]
            cut += is_cut
    return text, cut


def _edits(text: str, body_start: int, path: str, places: SharedPaths) -> Iterator[tuple[int, int, str, bool]]:
    """From where to where what is put instead, and whether a link is cut by it; none within another."""
    done = body_start
    for link in find_links(text, body_start):
        if link.start < done:
            continue  # an image in a link's label: seen when that is done
        if link.kind == "wiki":
            if not _is_named(link.target, places):
                yield link.start, link.end, link.label or _stem(link.target), True
                done = link.end
            continue
        if _ELSEWHERE.match(link.target) or link.target.startswith("#"):
            continue
        target = resolve(link.target, path)
        inside = places.shared.get(target) if target else None
        here = places.shared[path]
        if inside is None:
            if target and resolve(link.target, here) in places.folders:
                continue
            yield link.start, link.end, _plain(text, link), True
            done = link.end
        elif resolve(link.target, here) != inside:
            _, mark, heading = link.target.partition("#")
            yield link.target_start, link.target_end, relative_link(here, inside) + mark + heading, False
            done = link.end


def _plain(text: str, link: Link) -> str:
    """What a reader has seen of the link; of the definition of one nothing."""
    opened = link.start + (2 if text[link.start] == "!" else 1)
    if text.startswith("]:", opened + len(link.label)):
        return ""
    return link.label.strip() or _stem(link.target)


def _is_named(target: str, places: SharedPaths) -> bool:
    name = target.partition("#")[0]
    return not name or _stem(name).casefold() in places.stems


def _stem(target: str) -> str:
    return posixpath.basename(target.partition("#")[0]).removesuffix(".md")
