"""Choose the one note that an agent should see as it acts. The note names the file or command that the agent is about
to touch, says under `when` that it helps then, or quotes the error that the agent has just met. Only exact matches give
advice. It matches only words, since each call of a tool waits for it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from mcp_memory.indexing.conflict_scan import ConflictScan
from mcp_memory.models import Filters, Passage
from mcp_memory.recall.briefing import Briefer
from mcp_memory.recall.context_budget import TextFrame, fit, render
from mcp_memory.recall.excerpts import Excerpt, excerpt_of, stretches
from mcp_memory.recall.moments import WORDS
from mcp_memory.recall.moments.error_quotes import ErrorOutput
from mcp_memory.recall.moments.note_mentions import (
    BY_PHRASE,
    Mention,
    activities_of,
    acts_of,
    find_mention,
    says_action,
)
from mcp_memory.recall.moments.persons_orders import is_curated, is_persons_word
from mcp_memory.recall.moments.tool_action import ToolAction, read_action
from mcp_memory.recall.seen_passages import mark_of
from mcp_memory.runtime.lru_cache import LruCache
from mcp_memory.runtime.threads import in_thread
from mcp_memory.text.dates.ends import begins_later
from mcp_memory.text.text_hash import text_hash
from mcp_memory.text.tokens import CHARS_PER_TOKEN, count_tokens
from mcp_memory.vault.draft import past
from mcp_memory.vault.succession.entry_marks import admits, note_of
from mcp_memory.vault.vault import Vault

CANDIDATES, MOST_TERMS = 50, 64
BUDGET_TOKENS, LINE_CHARS = 300, 320

TOGETHER_S = 1.0
"""The seconds within which calls count as made at once; a model needs longer to answer a refusal."""

PAUSE = timedelta(days=14)
"""The time for which a freeze without an end refuses calls; later it is only shown."""
_PAUSES = re.compile(WORDS["pauses"], re.IGNORECASE)

_SILENT_KINDS = frozenset({"log", "fact", "reference", "idea", "task", "agent", "commitment"})
"""Kinds of notes without advice on how to act."""
_NO_FIX_KINDS = frozenset({"idea", "task", "agent", "commitment"})
_AGAINST_ALONE = frozenset({"fix", "preference"})
"""Kinds of notes that match a command only if they advise against it. An agent that runs `pnpm gen` already does what
such a note asks for."""
_LEARNED_KINDS = frozenset({"fix", "lesson"})
_STOPPED = """Stopped once, because a note in memory speaks against this call.
{}
If the person has asked for exactly this, make the same call again: it goes through."""


Advice = dict[str, Any]
"""`text` for the agent, empty for silence, with its `tokens` and `notes`; `stops`: the agent should read it before the
call."""

_SILENCE: Advice = {"text": "", "tokens": 0, "notes": [], "stops": False}

Found = tuple[tuple[Any, ...], Mention, Passage]
"""The rank of a passage, its mention of the action or error, and the passage."""


@dataclass(frozen=True)
class ActionAdvisor:
    """The advice for each call. A session gets each note once, and a call is refused once, until the session's context
    is emptied."""

    briefer: Briefer
    conflicts: ConflictScan
    stopped: LruCache[str, tuple[float, set[str]]] = field(default_factory=lambda: LruCache(100))
    """Maps a session and a note to the time at which a call was first stopped, and the calls that were stopped."""

    @property
    def vault(self) -> Vault:
        return self.briefer.answerer.vault

    async def advise(
        self, session: str, arguments: Mapping[str, Any] | None, output: str | None, folder: str, project: str | None,
        stop: bool, orders: bool, within_ms: int,
    ) -> Advice:  # fmt: skip
        """Return advice about a call of a tool with these arguments or, with the `output` of a failed call, about its
        error. `stop`: stop a call that an order forbids. `orders`: advise only with orders. Raises DeadlineExceeded."""
        action, briefer = read_action(arguments or {}, folder, project), self.briefer
        wanted = replace(briefer.filters(project=project), private=briefer.config.private_marks, foreign=False)

        def look() -> Advice:
            found = self._naming(action, wanted) if output is None else self._quoting(output, wanted)
            ranked = sorted(found, key=lambda one: one[0], reverse=True)
            if not ranked:
                return {**_SILENCE}
            is_own = briefer.own_words.known_to(session)
            for _, mention, passage in ranked if stop else ():
                if self._stops(session, action, mention, passage, wanted):
                    return told(passage, mention, is_stop=True)
            for _, mention, passage in ranked if not orders else ():
                if self._is_current(passage, wanted):
                    if not is_own(passage) and self._is_new(session, passage):
                        return told(passage, mention, is_stop=False)
                    if output is not None:  # the session already has the best note
                        break
            return {**_SILENCE}

        def told(passage: Passage, mention: Mention, *, is_stop: bool) -> Advice:
            event = "before-tool" if output is None else "after-tool"
            briefer.withdrawals.add(session, [passage])
            now, shown = briefer.answerer.clock(), passage
            frame = TextFrame("memory about this", None, (), str(self.vault.roots()[""])).within(BUDGET_TOKENS)
            if until := _refuses_until(passage, action):
                passage = replace(passage, remark=f"no end was named, so it refuses calls only until {until:%Y-%m-%d}")
            excerpt = _line(excerpt_of(passage, project), mention)
            text = render(frame, fit([excerpt], BUDGET_TOKENS * CHARS_PER_TOKEN))
            text = _STOPPED.format(text) if is_stop else text
            tokens = count_tokens(text)
            briefer.log.add(now, session, project, [shown], (), None, None, event, tokens)
            return {"text": text, "tokens": tokens, "notes": [passage.shown_id], "stops": is_stop}

        if action.commands and action.only_reads if output is not None else not (action.files or action.commands):
            return {**_SILENCE}
        return await in_thread(look, deadline_s=within_ms / 1000, what="looking for what an action needs")

    def _stops(self, session: str, action: ToolAction, mention: Mention, passage: Passage, wanted: Filters) -> bool:
        """Return whether the passage is the person's order against this call. The session's agent must not have seen it
        before, here or in another refusal of the call."""
        refusal, briefer = _mark(f"{action._replace(text='')} was refused"), self.briefer
        until = _refuses_until(passage, action)
        date, today = passage.note.date, briefer.answerer.clock().astimezone(self.vault.layout.tz).date()
        return (
            mention.forbids
            and (until is None or briefer.answerer.clock() < until)
            and not (date and begins_later(passage.chunk.text, date, today))
            and (is_curated(passage) or passage.note.kind not in _LEARNED_KINDS)
            and refusal not in briefer.seen.seen_by(session)
            and self._is_current(passage, wanted)
            and is_persons_word(self.vault, passage, action)
            and self._is_new(session, passage, refusal)
            and briefer.seen.add(session, [refusal])
        )

    def _naming(self, action: ToolAction, wanted: Filters) -> Iterator[Found]:
        """Yield the passages that name what the action touches; passages that forbid it rank first."""
        now = self.briefer.answerer.clock()
        for passage in self._found(_terms(action), wanted):
            note, curated, mention = passage.note, is_curated(passage), None
            if curated or note.kind not in _SILENT_KINDS:
                commands = curated or note.kind not in _AGAINST_ALONE
                mention = find_mention(passage.chunk.text, action, commands=commands, today=now.date())
            if not mention and passage.ordinal == 0 and any(says_action(phrase, action) for phrase in note.when):
                mention = BY_PHRASE
            if mention and (mention.weight or note.kind in _LEARNED_KINDS):
                rank = (mention.forbids, note.kind != "fix", mention.weight, curated, *_nearness(passage, now))
                yield rank, mention, passage

    def _quoting(self, output: str, wanted: Filters) -> Iterator[Found]:
        """Yield the passages that quote an error of the output."""
        error, now = ErrorOutput(output), self.briefer.answerer.clock()
        for passage in self._found(error.telling, wanted):
            is_learned = passage.note.kind in _LEARNED_KINDS
            likeness = error.likeness(f"{passage.note.title}\n{passage.chunk.text}", is_learned=is_learned)
            if likeness and passage.note.kind not in _NO_FIX_KINDS:
                yield (likeness, is_learned, *_nearness(passage, now)), Mention(False, 0, ""), passage

    def _found(self, terms: Iterable[str], wanted: Filters) -> list[Passage]:
        """Return the passages with any of these words; without a project, only the session's and those without one."""
        rows = self.briefer.index.lexical(list(dict.fromkeys(terms))[:MOST_TERMS], CANDIDATES, wanted)
        found = self.briefer.index.get(row.chunk_id for row in rows).values()
        return [
            one
            for one in found
            if admits(wanted, one) and (wanted.project or note_of(one).project in {None, wanted.own})
        ]

    def _is_current(self, passage: Passage, wanted: Filters) -> bool:
        """Return whether the passage's file still has it, and nothing newer or waiting contradicts it."""
        now, name = self.briefer.freshness.check([passage], wanted).passages, passage.shown_id
        return now == [passage] and not (self.conflicts.newer_of(name) or self.conflicts.contested.remark_on(name))

    def _is_new(self, session: str, passage: Passage, call: str = "") -> bool:
        """Return whether the session hasn't seen the passage. `call` is the call to stop: if an agent makes several
        calls at once, each is stopped."""
        mark = _mark(f"{mark_of(passage)} as it acts")
        is_new = self.briefer.seen.add(session, [mark])
        began, calls = self.stopped.get(f"{session} {mark}") or (monotonic(), set[str]())
        if not call or not (is_new or (calls and call not in calls and monotonic() - began < TOGETHER_S)):
            return is_new
        self.stopped.store(f"{session} {mark}", (monotonic() if is_new else began, calls | {call}))
        return True


def _refuses_until(passage: Passage, action: ToolAction) -> datetime | None:
    """Return the end of the refusals by a note that pauses an activity without an end."""
    note = passage.note
    is_pause = activities_of(action) and _PAUSES.search(f"{note.title} {passage.chunk.text}")
    return note.date + PAUSE if is_pause and note.date and not note.expires_at else None


def _mark(what: str) -> str:
    """Return the key under which `SeenPassages` records that a session has seen it."""
    return text_hash(what, 16)


def _nearness(passage: Passage, now: datetime) -> tuple[bool, float]:
    """Rank notes of the project before notes without one, and newer notes before older ones."""
    date = past(passage.note.date, now)
    return note_of(passage).project is not None, date.timestamp() if date else 0.0


def _terms(action: ToolAction) -> Iterable[str]:
    for words in activities_of(action):
        yield from re.findall(r"\w+", words)
    for file in action.files[:8]:
        name = file.rpartition("/")[2]
        yield from (file, name, name.partition(".")[0], file.partition("/")[0])
    for command in action.commands:
        yield from command.words[:3]
    yield from acts_of(action)


def _line(whole: Excerpt, mention: Mention) -> Excerpt:
    """Return all of a short note, or the lines of a longer note with the mention."""
    if len(whole.text) <= LINE_CHARS and whole.text.count("\n") < 2:
        return whole
    lines = enumerate(whole.text.split("\n"), whole.start_line)
    found = stretches(whole, {number: line for number, line in lines if mention.is_in(line)})
    return replace(found[0], text=found[0].text[: 2 * LINE_CHARS]) if found else whole
