"""Describe notes beside recalled notes: the note that replaced one, the notes of a page, and of others the nearest that
they are linked with. Point to notes that perhaps help with a prompt, since a line of ids and titles costs little if the
guess is wrong."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from mcp_memory.errors import McpMemoryError
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NotePath, NoteRecord, NoteState, Passage
from mcp_memory.recall.excerpts import excerpt_of, named, shortened
from mcp_memory.search.reasons import MOST_READ, is_seen_from
from mcp_memory.text.escape_invisible import in_line, in_quotes
from mcp_memory.text.language.sentences import beginning
from mcp_memory.text.markdown.links import find_links, resolve
from mcp_memory.text.markdown.note_links import PLAIN, NoteLink
from mcp_memory.text.text_hash import text_hash
from mcp_memory.vault.note_file import NoteFile
from mcp_memory.vault.succession.chains import Chains
from mcp_memory.vault.succession.entry_marks import note_of

NOW_CHARS = 200
"""The most characters of the replacement's text."""

MOST_OF_A_PAGE, MOST_NEAREST = 20, 3
MOST_POINTERS = 3


def successor_of(chains: Chains, file: NoteFile) -> tuple[str, NoteFile | None]:
    """Return a line about a superseded note or entry, and the active note that replaced it."""
    record, head = file.record, chains.holding(file)
    name = record.id if "#" in record.id else record.path
    if record.superseded_at is None:
        return in_line(f"Note: {name} counts again: what had superseded it has ended, was forgotten or is gone."), None
    by = f" by {head.record.id} ({head.record.path})" if head else ""
    day = record.superseded_at.date()
    return in_line(f"Note: {name} was superseded{by}{f' on {day.isoformat()}' if day.year > 1 else ''}."), head


def remarks_on(chains: Chains, passages: Iterable[Passage]) -> list[str]:
    """Return a line, with the current text, for each superseded note or entry of the passages. Reads files."""
    remarks: list[str] = []
    for note_id in dict.fromkeys(passage.shown_id for passage in passages if note_of(passage).superseded_at):
        try:
            remark, head = successor_of(chains, chains.require(note_id))
        except McpMemoryError:
            continue  # gone since it was indexed
        text = in_line(" ".join(head.body.split())[:NOW_CHARS]) if head else ""
        remarks.append(f"{remark} {text}".strip())
    return remarks


def describe_links(index: Index, files: Sequence[NoteFile], filters: Filters) -> list[str]:
    """Return a line for the notes of pages, and a line for the links of other notes; none without links."""
    pages = [file for file in files if file.record.state is NoteState.SUMMARY]
    linked = dict.fromkeys(path for page in pages for path in _children(page))
    children = [
        path
        for path in list(linked)[: 10 * MOST_OF_A_PAGE]
        if (note := index.note(path)) and note.state is not NoteState.DELETED
    ]
    nearest = _nearest(index, [file.record for file in files if file not in pages], filters)
    lines = {"Links": children[:MOST_OF_A_PAGE], "Linked": nearest}
    return [f"{name}: {', '.join(some)}" for name, some in lines.items() if some]


def _nearest(index: Index, notes: Collection[NoteRecord], filters: Filters) -> list[str]:
    """Return links such as `because "Title" (id)`, `from caused_by "Other" (id)`: first those with a type, then the
    notes that are linked. Only notes that the filters admit; without a project in the filters, only notes of the same
    project as the linking note, or without one."""
    shown = {note.path for note in notes}
    found = sorted(
        (link.type == PLAIN, is_back, link.at, path, link.type)
        for note in notes
        for link, path, is_back in linked(index, note.path)
        if path not in shown and is_seen_from(note, index.note(path), filters)
    )
    best = {path: (link_type, is_back) for _, is_back, _, path, link_type in reversed(found)}
    nearest = list(dict.fromkeys(path for _, _, _, path, _ in found))[:MOST_NEAREST]
    return [_phrase(index, path, *best[path]) for path in nearest]


def linked(index: Index, path: NotePath) -> Iterator[tuple[NoteLink, NotePath, bool]]:
    """Yield the links of a note and to it, each with the note at the other end, and whether it leads to this one."""
    for one in index.links_from(path)[:MOST_READ]:
        if len(one.targets) == 1:
            yield one.link, one.targets[0], False
    for one in index.links_to(path, MOST_READ)[0]:
        yield one.link, one.source, True


def _phrase(index: Index, path: NotePath, link_type: str, is_back: bool) -> str:
    note = index.note(path)
    words = ["from" if is_back else "", "" if link_type == PLAIN else in_line(link_type)]
    words.append(in_quotes(beginning(note.title)) if note else "")
    return f"{' '.join(filter(None, words))} ({(note and shortened(note.id)) or named(path)})"


def _children(file: NoteFile) -> list[NotePath]:
    targets = (resolve(link.target, file.record.path) for link in find_links(file.body) if link.kind == "markdown")
    return [NotePath(target) for target in targets if target and target.lower().endswith(".md")]


def pointer_line(passages: Sequence[Passage], *, to_ask: bool) -> str:
    """Return a line that names at most `MOST_POINTERS` notes, each once, by id (or path) and title. `to_ask`: the agent
    should ask the person before it reads them."""
    first = {passage.shown_id: passage for passage in reversed(passages)}
    chosen = list(reversed(first.values()))[:MOST_POINTERS]
    lead = "May apply; ask the person before memory_recall" if to_ask else "Perhaps, by memory_recall"
    return f"{lead}: {'; '.join(map(_pointer, chosen))}"


def pointer_mark(passage: Passage) -> str:
    """Return the key under which `SeenPassages` records that a session was pointed to this note."""
    return text_hash(f"{passage.shown_id} pointed to", 16)


def _pointer(passage: Passage) -> str:
    excerpt = excerpt_of(passage)
    title = passage.chunk.text.partition("\n")[0] if passage.note.is_log else passage.note.title
    return f"{excerpt.short_id or named(excerpt.path)} {in_quotes(beginning(title))}"
