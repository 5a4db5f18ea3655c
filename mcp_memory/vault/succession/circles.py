"""Find circles of notes that replaced one another, so that none is active. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from mcp_memory.models import NoteId, NotePath, NoteRecord


def hidden_circles(standing: Iterable[NoteRecord], retired: Sequence[NoteRecord]) -> list[NotePath]:
    """Return the first note, in the order of `retired`, of each circle from which no path leads to a `standing`
    note."""
    replaced = defaultdict[NoteId, list[NoteId]](list)
    for note in retired:
        for name in note.superseded_by:
            replaced[name].append(note.id)
    pending = [note.id for note in standing]
    while pending:
        pending += replaced.pop(pending.pop(), [])
    links: dict[NoteId, list[NoteId]] = {}
    for note in retired:
        links[note.id] = [name for name in note.superseded_by if name in replaced]
    found = list[NotePath]()
    while True:
        try:
            TopologicalSorter(links).prepare()
            return found
        except CycleError as error:
            circle = error.args[1]
            found.append(next(note.path for note in retired if note.id in circle))
            links = {name: after for name, after in links.items() if name not in circle}
