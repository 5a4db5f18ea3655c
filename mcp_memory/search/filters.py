"""Check a caller's filters, turn them into the index's filters, and explain which of them excluded something."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from mcp_memory.client.credentials import PERSON
from mcp_memory.errors import InvalidInput
from mcp_memory.index.base import Index
from mcp_memory.models import Clock, FilteredOut, Filters, NoteRecord, NoteState, Passage, is_channel, tags_in
from mcp_memory.projects.mentions import names_mentioned
from mcp_memory.projects.projects import Projects
from mcp_memory.storage.path_rules import is_note
from mcp_memory.text.dates import parse_argument
from mcp_memory.text.language.terms import words
from mcp_memory.topics.page import ENTITIES, SUMMARIES
from mcp_memory.vault.config import TRANSCRIPTS
from mcp_memory.vault.draft import MAX_TAGS, one_line
from mcp_memory.vault.journals.change_journal import current_caller
from mcp_memory.vault.marks.set_aside import is_template_folder
from mcp_memory.vault.note_file import FOR_ALL, Layout
from mcp_memory.vault.ownership import PERSONS_SOURCES
from mcp_memory.vault.succession.entry_marks import note_of

_PROMISED = re.compile(
    r"\b(?:promis|remind|commitment|due\b|overdue|deadline|owe\b|to-do|follow.?ups?\b|verspr[aoei]ch|erinner|zugesagt|fällig"
    r"|schuld|rappel|échéance|mes engagements|prometí|promesa"
    r"|compromisos|recuérda|recordatorio|pendiente|vence)",
    re.IGNORECASE,
)
"""Beginnings of words that make a question one about promises."""

_TO_DO = re.compile(
    r"\b(?:ha(?:ve|s|d)|need(?:ed)?|want(?:ed)?|meant|got) to (?:do|get done)\b"
    r"|\b(?:must|should) (?:i|we) (?:still )?do\b|\bto.?dos?\b"
    r"|\b(?:muss|wollte) ich\b.*\b(?:tun|machen|erledigen)\b"
    r"|\b(?:dois-je|je dois|reste à|ai à) faire\b|\btengo que hacer\b"
    r"|\bon (?:my|our) (?:plate|agenda|schedule|list|calendar)\b"
    r"|\b(?:is|have i|i have)\b.* (?:planned|scheduled|coming up)\b"
    r"|\bwhat(?:[’']s| is| do i have) on (?:for )?(?:today|tomorrow|this week|next week)\b"
    r"|^was (?:steht|liegt)\b.* an\b|\bauf (?:dem|meinem) (?:plan|programm|zettel)\b|\bhab\w* ich\b.* vor\b"
    r"|\b(?:au|le|mon) programme\b|\bà l[’']ordre du jour\b|\bde prévu\b|\bqui m[’']attend\b"
    r"|\bme toca\b|\b(?:en|tengo) (?:la|mi) agenda\b"
    r"|\bqué (?:tengo|hay) (?:esta semana|hoy|mañana|previsto|programado)\b",
    re.IGNORECASE,
)
_ASIDE_WORDS = """
what which show list tell is are any anything all my our me us have has had did do does i we still open there the of to
for by on in this next until and or s at coming up plate agenda schedule scheduled planned calendar overall today
tomorrow tonight now soon week weeks month days monday tuesday wednesday thursday friday saturday sunday need needs must
should get done things want wanted meant got make made was welche sind ist habe haben hab ich wir noch diese diesen
dieser nächste nächsten woche heute morgen alle alles meine unsere muss müssen wollte zu tun machen erledigen offen
offene offenen bis am im montag dienstag mittwoch donnerstag freitag steht stehen liegt liegen an auf dem meinem plan
programm zettel vor kommende kommenden für mir mich der die und anstehende termine dos qu est ce que ai je j dois faire
cette semaine mes qué he tengo hacer esta semana mis tareas quoi y a t il au le la les de du des d l et pour à moi m
reste mon programme ordre jour prévu attend qui matin demain aujourd hui hier prochaine mois encore engagements tâches
lundi mardi mercredi jeudi vendredi samedi dimanche toca hay para en hoy mañana previsto programado próxima o del el los
las lunes martes miércoles jueves viernes sábado domingo queda algo
"""
_ASIDE = frozenset(_ASIDE_WORDS.split())
"""The words of a question for all promises and due notes, besides `_PROMISED` and `_TO_DO`."""

MAX_QUESTION_CHARS = 300
"""The most characters of a question for commitments only."""

ANY_PROJECT = "*"
MAX_LIMIT = 1000
EARLIEST = datetime(1, 1, 3, tzinfo=UTC)
"""The earliest moment, which still has moments before it in any time zone."""


def filters_from(
    *,
    kinds: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    project: str | None = None,
    since: str | None = None,
    until: str | None = None,
    path: str | None = None,
    include_archived: bool = False,
    include_inbox: bool = False,
    now: datetime,
    tz: tzinfo,
) -> Filters:
    """Make filters from a caller's arguments. Raises InvalidInput with a hint on what to pass instead."""
    for name, values in (("kinds", kinds), ("tags", tags)):
        if values and len(values) > MAX_TAGS:
            raise InvalidInput(f"{len(values)} {name}", hint=f"at most {MAX_TAGS}")
    prefix = None
    if path:
        prefix = one_line("path", path, 1000).removeprefix("./")
        if prefix.startswith("/") or ".." in prefix.split("/"):
            raise InvalidInput(f"path {path!r} is not inside the vault", hint="pass a folder such as notes/fix/")
    # A search with `until` also finds notes that were superseded or expired since then; `counts_until` selects them.
    states = [NoteState.ACTIVE, NoteState.ARCHIVED] if include_archived or until else [NoteState.ACTIVE]
    if until:
        states.append(NoteState.REPLACED)
    if include_inbox:
        states.append(NoteState.INBOX)
    if include_archived or (prefix and (is_note(prefix) or is_template_folder(prefix))):
        states.append(NoteState.ASIDE)
    if prefix and prefix.split("/")[0] == f"@{TRANSCRIPTS}":
        states = [NoteState.TRANSCRIPT]
    elif prefix and not {SUMMARIES, ENTITIES}.isdisjoint(prefix.split("/")[:2]):
        states.append(NoteState.SUMMARY)
    start, end = parse_argument("since", since, tz), parse_argument("until", until, tz)
    if start and end and start >= end:
        raise InvalidInput(f"since {since} is not before until {until}", hint="swap them, or leave one out")
    return Filters(
        states=frozenset(states),
        path_prefix=prefix,
        kinds=frozenset(one_line("kind", kind) for kind in kinds) if kinds else None,
        tags=frozenset(one_line("tag", tag) for tag in tags_in(tags)) if tags else None,
        project=None if project in (None, "", ANY_PROJECT) else one_line("project", project or ""),
        since=start,
        until=end,
        now=None if include_archived else (max(end, EARLIEST) - timedelta(microseconds=1) if end else now),
    )


def filters_for(
    projects: Projects, clock: Clock, layout: Layout, apart: Collection[str], *, question: str = "",
    agent: str | None = None, **wanted: Any,
) -> Filters:  # fmt: skip
    """Make the filters of a request, with all names of its project and of other projects that the question names. The
    clients that are `apart` get no other agent's notes unless they ask for an `agent`. A session that is kept apart
    also gets its own notes, and those shared with it, but no other session's. Raises InvalidInput for a filter that
    can't be used."""
    found = filters_from(**wanted, now=clock(), tz=layout.tz)
    by = current_caller()
    caller = by.client
    is_apart = caller not in PERSONS_SOURCES and {caller, "*"} & {*apart}
    authors = _authors(agent or ("own" if is_apart else "all"), caller)
    found = replace(found, authors=authors, shared=layout.in_home(FOR_ALL))
    if found.project:
        label, aliases = projects.names_of(found.project)
        if question and not is_channel(label):
            aliases |= names_mentioned(question, projects)
        found = replace(found, project=label, aliases=aliases)
    if projects.grants and not is_channel(found.project) and (by.session or not by.is_person):
        own, granted = projects.of_session(by.session) or "", projects.grants.places_for(by.session)
        found = replace(found, own=own, granted=granted)
    return found


def _authors(agent: str, caller: str | None) -> frozenset[str | None] | None:
    """Return the sources of the notes by this agent, `own` or `all`. The person's notes belong to everybody."""
    name = {"own": caller, "you": PERSON}.get(agent, agent)
    if agent == "all":
        return None
    return PERSONS_SOURCES | {name} if agent == "own" or name in PERSONS_SOURCES else frozenset({name})


def asks_for_commitments(query: str) -> bool:
    """Return whether a question asks for everything promised or due: "what have I promised?", "what must I do by
    Tuesday?"."""
    if len(query) > MAX_QUESTION_CHARS or not (_PROMISED.search(query) or _TO_DO.search(query)):
        return False
    rest = [word for word in words(query) if word not in _ASIDE and not _PROMISED.search(word)]
    return all(_TO_DO.search(word) for word in rest)


def checked_limit(limit: int) -> int:
    """Return the limit. Raises InvalidInput outside 1 to 1000."""
    if not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit is {limit}", hint=f"pass 1 to {MAX_LIMIT}; 6 is a good start")
    return limit


def checked_query(query: str) -> str:
    """Return the query. Raises InvalidInput for an empty or far too long query."""
    if not query.strip():
        raise InvalidInput("query is empty", hint="ask in plain words what you want to know")
    if len(query) > 2_000_000:
        raise InvalidInput(f"query has {len(query):,} characters", hint="pass the question, not the document")
    return query


FIELDS = {
    "path": "path_prefix", "kinds": "kinds", "tags": "tags", "project": "project", "since": "since", "until": "until",
    "session": "session", "agent": "authors",
}  # fmt: skip
"""Each filter by its name in requests."""

ARCHIVED = "include_archived=false"
RETIRED = frozenset({NoteState.ARCHIVED, NoteState.ASIDE})
"""The states that `include_archived` adds."""


_STORED = Filters(states=frozenset(NoteState) - {NoteState.DELETED, NoteState.INBOX, NoteState.TRANSCRIPT})
"""All notes that a search outside of `@transcripts` may include."""


def is_empty(index: Index) -> bool:
    """Return whether nothing is stored, except notes that no search includes."""
    return not index.notes(_STORED, limit=1)


def explain_no_hits(index: Index, filters: Filters, has_nothing: bool) -> str | None:
    """Explain in one line which filters exclude all notes. Queries the index once for each filter.

    `has_nothing`: the vault has no notes either. None if only the index has none, since it may lag behind the files.
    """
    if has_nothing or is_empty(index):
        return "nothing is stored yet" if has_nothing else None
    if filters.authors and filters.authors.isdisjoint(sources := _sources(index)):
        return f"no note is by that agent; agents with notes: {', '.join(sorted(sources - PERSONS_SOURCES)) or 'none'}"
    if index.notes(filters, limit=1):
        return "no passage has any of these words"
    narrow = [name for name, relaxed in _relaxed(filters) if index.notes(relaxed, limit=1)]
    if narrow:
        return f"no note passes the filter {' or '.join(narrow)}; without it there are some"
    if index.notes(Filters(states=filters.states, now=filters.now), limit=1):
        return "no note passes these filters together"
    return "only archived, expired or set aside notes are there; include_archived=true looks at them"


def _sources(index: Index) -> set[str]:
    """Return the sources of notes and of entries in logs."""
    notes = index.notes(_STORED, limit=MAX_LIMIT)
    entries = (note_of(passage) for note in notes if note.is_log for passage in index.passages(note.path))
    return {note.source or PERSON for note in [*notes, *entries]}


def without_filters(filters: Filters) -> Filters:
    """Drop every filter that a caller can set. Hidden notes stay hidden."""
    states = filters.states | RETIRED | {NoteState.ACTIVE}
    return Filters(states=states, own=filters.own, granted=filters.granted)


def passages_left_out(passages: Iterable[Passage], filters: Filters) -> tuple[FilteredOut, ...]:
    """Return the passages whose notes the filters exclude, and which filters do."""
    left_out: list[FilteredOut] = []
    for passage in passages:
        if failed := failed_filters(note_of(passage), filters):
            note, chunk = passage.note, passage.chunk
            lines = (chunk.start_line, chunk.end_line)
            is_private = note_of(passage).is_private
            left_out.append(FilteredOut(passage.shown_id, note.path, *lines, note.title, failed, is_private))
    return tuple(left_out)


def failed_filters(note: NoteRecord, filters: Filters) -> tuple[str, ...]:
    """Return the filters that exclude this note."""
    every = replace(
        without_filters(filters), states=frozenset(NoteState), aliases=filters.aliases, shared=filters.shared
    )
    one_each = ((name, replace(every, **{field: getattr(filters, field)})) for name, field in FIELDS.items())
    failed = [name for name, alone in one_each if not (alone.admits(note) and alone.admits_author(note))]
    retired = note.state in RETIRED and note.state not in filters.states
    if retired or not replace(every, now=filters.now).admits(note):
        failed.append(ARCHIVED)
    return tuple(failed)


def _relaxed(filters: Filters) -> Iterator[tuple[str, Filters]]:
    """Yield each filter that is set, with the others."""
    for name, field in FIELDS.items():
        if getattr(filters, field) is not None:
            yield name, replace(filters, **{field: None})
    if not filters.states >= RETIRED:
        yield ARCHIVED, replace(filters, states=filters.states | RETIRED, now=None)
