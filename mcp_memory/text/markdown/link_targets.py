"""Rewrites the targets of links when files move, and lists where a text's links lead."""

from collections.abc import Callable, Iterable, Mapping
from urllib.parse import unquote

from mcp_memory.text.markdown.links import find_links, relative_link, resolve

Redirect = tuple[int, str, str]
"""A target: where it begins in characters, what it is, and what it is to be."""


def redirected(text: str, redirects: Iterable[Redirect]) -> str:
    """`text` with these targets, in order, replaced. Raises ValueError if the text has another target there."""
    pieces: list[str] = []
    done = 0
    for at, old, new in redirects:
        if not text.startswith(old, at) or at < done:
            raise ValueError("there is another target")
        pieces += [text[done:at], new]
        done = at + len(old)
    return "".join([*pieces, text[done:]])


def redirects(
    text: str, start: int, path: str, moved: Mapping[str, str], exists: Callable[[str], bool]
) -> list[Redirect]:
    """The targets to rewrite in the note at `path`, so that they lead where they did once files are `moved` (from path
    to path; the note itself may be among them). Places count from `start`. A target that doesn't exist stays as it is,
    and so does a wikilink with a name alone."""
    found: list[Redirect] = []
    for link in find_links(text, start):
        follow = _wiki_target if link.kind == "wiki" else _markdown_target
        target = follow(link.target, path, moved, exists)
        if target is not None and target != link.target:
            found.append((link.target_start - start, link.target, target))
    return found


def destinations(text: str, start: int, path: str) -> set[str]:
    """The paths that links in the note at `path` may lead to; for a wikilink, perhaps only the end of one."""
    found: set[str] = set()
    for link in find_links(text, start):
        if link.kind == "markdown":
            found.add(resolve(link.target, path) or "")
        elif "/" in (place := _divided(link.target)[0]):
            named = _with_ending(place)
            found.add((resolve(named, path) if place.startswith(".") else named.lstrip("/")) or "")
    return found - {"", path}


def endings(path: str) -> list[str]:
    """The path, and the parts of it that a wikilink may use: its ends with at least one folder."""
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(max(1, len(parts) - 1))]


def unlinked(text: str, path: str | None = None) -> str:
    """`text` with the labels of its links instead of the links; those that lead out of the vault from `path` stay."""
    pieces: list[str] = []
    done = 0
    for link in find_links(text):
        if path is not None and link.kind == "markdown" and resolve(link.target, path) is None:
            continue
        if link.start < done:  # an image within a link
            continue
        pieces += [text[done : link.start], link.label or _divided(link.target)[0].rpartition("/")[2]]
        done = link.end
    return "".join([*pieces, text[done:]])


def _markdown_target(target: str, path: str, moved: Mapping[str, str], exists: Callable[[str], bool]) -> str | None:
    """None for a target that stays."""
    place, now = resolve(target, path), moved.get(path, path)
    bare, tail = _divided(target)
    if place is None or not bare:
        return None
    goes = moved.get(place, place)
    if bare.startswith("/"):
        return None if goes == place else relative_link("root", goes).removeprefix(".") + tail
    if resolve(target, now) == goes or (goes == place and not exists(place)):
        return None
    link = relative_link(now, goes)
    is_plain = link.startswith("./") and not bare.startswith(".") and ":" not in link
    return (link[2:] if is_plain else link) + tail


def _wiki_target(target: str, path: str, moved: Mapping[str, str], exists: Callable[[str], bool]) -> str | None:
    bare, tail = _divided(target)
    named = _with_ending(bare)
    if "/" not in bare:
        return None
    if bare.startswith("."):
        place = resolve(named, path)
        goes = moved.get(place, place) if place else None
        if place is None or goes is None or (goes == place and not exists(place)):
            return None
        now = moved.get(path, path)
        new = bare if resolve(named, now) == goes else unquote(relative_link(now, goes))
    else:
        ends = [old for old in moved if old == named.lstrip("/") or old.endswith(f"/{named}")]
        if len(ends) != 1:
            return None
        new = moved[ends[0]].removeprefix(ends[0].removesuffix(named.lstrip("/")))
        new = f"/{new}" if bare.startswith("/") else new
    return (new if bare == named else new.removesuffix(".md")) + tail


def _divided(target: str) -> tuple[str, str]:
    """A target's path and the rest: `#heading`, `?query`."""
    at = min((place for mark in "#?" if (place := target.find(mark)) >= 0), default=len(target))
    return target[:at], target[at:]


def _with_ending(name: str) -> str:
    return name if name.lower().endswith(".md") else f"{name}.md"
