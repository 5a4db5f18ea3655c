"""Writes a page for each project, person and service with the facts that hold now, and INDEX.md, which lists the pages.

The same facts make the same bytes, and nothing new writes nothing. INDEX.md quotes no note."""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from mcp_memory.extraction.comparison import SAME_COSINE, SAME_WORDS
from mcp_memory.index.base import Index
from mcp_memory.models import Filters, NoteId, NotePath, NoteRecord, NoteState
from mcp_memory.recall.note_list import date_of, newest_notes
from mcp_memory.text.language.facts import Fact, FactKind, facts
from mcp_memory.text.language.terms import content_words, overlap
from mcp_memory.text.markdown import frontmatter
from mcp_memory.topics.page import CONTENTS, ENTITIES, etag_of, link, page_id
from mcp_memory.vault.note_file import NoteFile, slug
from mcp_memory.vault.vault import Vault

LEAST_MENTIONS, MOST_FACTS, MOST_NOTES, MOST_CONTENTS_BYTES = 3, 100, 5000, 2000
"""Facts that name somebody or something, for a page; facts of a page; notes that are read; the size of INDEX.md."""

_SYSTEM = {"agent", "workflow", "skill", "reference", "fix", "lesson"}


@dataclass(frozen=True, slots=True)
class Organizer:
    """`wanted`: which notes may be told. Its methods read files and the index: for a worker thread."""

    vault: Vault
    index: Index
    wanted: Filters

    def run(self, *, dry_run: bool, again: bool) -> tuple[list[NotePath], list[NoteFile]]:
        """Returns which pages are out of date, and those written; `again`: none where there is no INDEX.md from an
        earlier run. Raises StorageFailed, IndexUnavailable."""
        in_home, pages = self.vault.layout.in_home, Filters(states=frozenset({NoteState.SUMMARY}))
        known = {note.path: note for note in self.index.notes(pages, limit=MOST_NOTES)}
        if again and in_home(CONTENTS) not in known:
            return [], []
        old = {path: (note.title, ()) for path, note in known.items() if path.startswith(in_home(f"{ENTITIES}/"))}
        found, groups = self._facts(), dict[NotePath, tuple[str, Sequence[NoteRecord]]](old)
        names = {
            ("projects", name): [fact for fact in found if fact.project == name]
            for name in {fact.project or "" for fact in found} - {""}
        }
        for (folder, name), about in sorted({**names, **_by_name(found)}.items(), key=str):
            groups[in_home(f"{ENTITIES}/{folder}/{slug(name)}.md")] = (name, about)
        made = {path: _page(path, name, about[:MOST_FACTS]) for path, (name, about) in groups.items()}
        made[in_home(CONTENTS)] = _contents(in_home(CONTENTS), found, sorted(groups.items()))
        stale = [path for path, data in made.items() if path not in known or known[path].etag != etag_of(data)]
        written = [] if dry_run else [self.vault.filing.refresh_page(path, made[path]) for path in stale]
        return stale, [page for page in written if page]

    def _facts(self) -> list[NoteRecord]:
        """Notes and log entries, the newest first; of those that say the same, by words or vectors, with the same
        numbers, dates, names and negations, only the newest. Without those that a newer one contradicts."""
        outdated = {conflict.older for conflict in self.index.conflicts()}
        listed, _ = newest_notes(self.index, self.wanted, MOST_NOTES, self.vault.clock(), None, None)
        found = [note for note in listed if note.id not in outdated and note.created]
        vectors, words = self.index.mean_vectors([note.path for note in found]), [content_words(n.title) for n in found]
        kept: dict[tuple[str | None, frozenset[Fact]], list[int]] = {}
        for at, note in enumerate(found):
            alike = kept.setdefault((note.project, facts(note.title)), [])
            if not any(
                overlap(words[at], words[one]) >= SAME_WORDS
                or ("#" not in note.id + found[one].id and float(vectors[at] @ vectors[one]) >= SAME_COSINE)
                for one in alike
            ):
                alike.append(at)
        return [found[at] for at in sorted(at for alike in kept.values() for at in alike)]


def class_of(fact: NoteRecord) -> str:
    """Personal, project, task or system."""
    if fact.kind in {"task", "commitment"}:
        return "task"
    return "project" if fact.project else "system" if fact.kind in _SYSTEM else "personal"


def _by_name(found: Sequence[NoteRecord]) -> Mapping[tuple[str, str], list[NoteRecord]]:
    """Those that name each person or service. A name is one or the other if more titles say so, at least two."""
    table = tomllib.loads((files("mcp_memory.curation.pages") / "names.toml").read_text("utf-8"))
    pages: dict[tuple[str, str], list[NoteRecord]] = {}
    for name in {fact.key for note in found for fact in facts(note.title) if fact.kind is FactKind.NAME}:
        about = [note for note in found if re.search(rf"\b{re.escape(name)}\b", note.title)]
        cues = {folder: re.compile(cue.replace("NAME", re.escape(name))) for folder, cue in table.items()}
        votes = {folder: sum(bool(cue.search(note.title)) for note in about) for folder, cue in cues.items()}
        folder = max(votes, key=lambda each: votes[each])
        if len(about) >= LEAST_MENTIONS and votes[folder] >= 2 and len(set(votes.values())) > 1:
            pages[folder, name] = about
    return pages


def _contents(
    path: NotePath, found: Sequence[NoteRecord], groups: Sequence[tuple[NotePath, tuple[str, Sequence[NoteRecord]]]]
) -> bytes:
    lines = [", ".join(f"{name}: {count}" for name, count in sorted(Counter(map(class_of, found)).items())), ""]
    for page, (name, about) in groups:
        line = f"- {link(path, name, page)} ({page.split('/')[-2]}, {len(about)})"
        lines += [line] if about and len("\n".join([*lines, line]).encode()) < MOST_CONTENTS_BYTES - 200 else []
    return _render(path, "What memory holds", (), lines)


def _page(path: NotePath, name: str, about: Sequence[NoteRecord]) -> bytes:
    lines = [] if about else ["Nothing that is stored holds now."]
    for kind in sorted({fact.kind for fact in about}):
        of_kind = [fact for fact in about if fact.kind == kind]
        listed = [f"- {date_of(fact).date()} {link(path, fact.title, fact.path)}" for fact in of_kind]
        lines += ["", f"## {kind.capitalize()}", "", *listed]
    return _render(path, name, [fact.id for fact in about], lines)


def _render(path: NotePath, title: str, sources: Sequence[NoteId], lines: Sequence[str]) -> bytes:
    meta = {
        "id": page_id(path),
        "title": title,
        "kind": "page",
        "derived_from": list(sources) or None,
        "node_kind": "entity",
    }
    return frontmatter.render(meta, "\n".join(lines).strip()).encode(errors="replace")
