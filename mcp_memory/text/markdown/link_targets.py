"""Rewrites the targets of links when files move, and replaces links with their labels."""

from collections.abc import Callable, Iterable, Mapping
from urllib.parse import unquote

from mcp_memory.text.markdown.links import divided, find_links, relative_link, resolve

Redirect = tuple[int, str, str]
"""A target: its offset in characters, the old text, and the new text."""


def redirected(text: str, redirects: Iterable[Redirect]) -> str:
    """Return `text` with these targets replaced in order. Raises ValueError if the text has another target there."""
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
    """Return the targets to rewrite in the note at `path`, so that they lead to the same files after files have
    `moved`. `moved` maps old paths to new paths, and may include the note itself. Offsets count from `start`. A target
    that doesn't exist stays as it is, and so does a wikilink with only a name."""
    found: list[Redirect] = []
    for link in find_links(text, start):
        follow = _wiki_target if link.kind == "wiki" else _markdown_target
        target = follow(link.target, path, moved, exists)
        if target is not None and target != link.target:
            found.append((link.target_start - start, link.target, target))
    return found


def unlinked(text: str, path: str | None = None) -> str:
    """Return `text` with the labels of its links instead of the links. Links out of the vault from `path` stay."""
    pieces: list[str] = []
    done = 0
    for link in find_links(text):
        if path is not None and link.kind == "markdown" and resolve(link.target, path) is None:
            continue
        if link.start < done:  # the link is an image within a link
            continue
        pieces += [text[done : link.start], link.label or divided(link.kind, link.target)[0].rpartition("/")[2]]
        done = link.end
    return "".join([*pieces, text[done:]])


def retargeted(kind: str, target: str, path: str, to: str, leads: Callable[[str], bool]) -> str | None:
    """Return the target for a link from the note at `path` to the note at `to`. The target keeps the form of the old
    target, with its heading or block, and has as few folders as `leads` allows. Return None if that is impossible."""
    bare, tail = divided(kind, target)
    name, unfit = to.removesuffix(".md"), "[]|#^\n"
    if kind == "markdown":
        found, unfit = [_in_form_of(bare, path, to)], ""
    elif kind == "id":
        found, unfit = [to], " ,[]\"'\n"
    elif bare.startswith(("./", "../")):
        found = [unquote(relative_link(path, name))]
    elif bare.startswith("/"):
        found = [f"/{name}"]
    else:
        parts = name.split("/")
        found = ["/".join(parts[at:]) for at in range(max(0, len(parts) - 1 - ("/" in bare)), -1, -1)]
    ending = ".md" if kind == "wiki" and bare.lower().endswith(".md") else ""
    fit = (one + ending for one in found if not set(one) & set(unfit) and leads(one + ending))
    return next((one + tail for one in fit), None)


def _in_form_of(bare: str, path: str, to: str) -> str:
    """Return a Markdown target in the note at `path` that leads to `to`, from the root or with `./` like the old
    target."""
    if bare.startswith("/"):
        return relative_link("root", to).removeprefix(".")
    link = relative_link(path, to)
    is_plain = link.startswith("./") and not bare.startswith(".") and ":" not in link
    return link[2:] if is_plain else link


def _markdown_target(target: str, path: str, moved: Mapping[str, str], exists: Callable[[str], bool]) -> str | None:
    """Return the new target; None for a target that stays."""
    place, now = resolve(target, path), moved.get(path, path)
    bare, tail = divided("markdown", target)
    if place is None or not bare:
        return None
    goes = moved.get(place, place)
    if goes == place and bare.startswith("/"):
        return None
    if resolve(target, now) == goes or (goes == place and not exists(place)):
        return None
    return _in_form_of(bare, now, goes) + tail


def _wiki_target(target: str, path: str, moved: Mapping[str, str], exists: Callable[[str], bool]) -> str | None:
    bare, tail = divided("wiki", target)
    named = bare if bare.lower().endswith(".md") else f"{bare}.md"
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
