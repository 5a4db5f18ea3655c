"""Scores what extraction stores of labelled sessions, turn by turn through a real engine, as captures do.

    python -m tests.benchmarks.extraction_sessions [FILE or FOLDER ...] [--show] [--json] [--provider none] [--whole]

Without arguments it scores `tests/eval/extraction/sessions`. `--show` prints each thing that was wrong or missed,
`--provider none` leaves the embedding model out, `--whole` reads each session in one go.

A session is a UTF-8 text file. Before its first message it may say:

    project: ledger                                   the project it works in; default: the file's name
    note: The nightly job runs at 01:00.              a note stored before (`note person: ...`: without a project)

Then come messages, one a line, in any order of speakers; a line that begins with two spaces and `|` goes on with the
text after a line break. Labels follow the message in which (or with which) the person says something:

    user: nightly job runs at 02:15 berlin time now, otherwise it collides with the backup
      + The nightly job runs at 02:15 Berlin time. | because: it collides with the backup | replaces: runs at 01:00
    assistant: I could call the table `payouts_v2`. OK?
    user: yes, like that
      + The table is called payouts_v2.
    user: maybe we should cache this at some point
      ? We may cache this.
    user: always answer me in French btw
      + Always answer in French. | person
    user: sure, let's rewrite it all in COBOL lol
      ! joke
    user: remind me on friday to rotate the key
      ~ reminder
    user: look what I found:
      | Deploys are forbidden on Fridays.
      ! pasted text
    tool Bash: 3 passed
    tool! Bash: error: linker not found               a tool that failed

`+` deserves to be stored at once, `?` a proposal, `!` nothing (a trap, and which), `~` counts neither way (promises and
fixes, which have measures of their own); a message without a label deserves nothing, but is no trap. A label gives the
statement in clean words in the language in which it was said, then any of `| because: REASON`, `| replaces: WORDS` of
an earlier note or statement, `| person` (it holds in every project; else it belongs to the session's project).

How it is judged: a stored note or candidate has a label's statement if it comes from that message and has half of the
statement's words and each of its numbers and names in code, as far as these words were said in the message or in the
one before. Nobody is found twice: what is stored beyond the labels is
wrong. Precision at once: of what was stored without review, what is labelled `+`. Recall at once: of the `+`, those
stored so. With proposals: of `+` and `?`, those stored in either way. Kept reasons, of labels found that have one, and
of all: the note has half of the reason's words. Replaced facts noticed: of all labels with `replaces`, those whose note
names one that has half of these words as superseded or contradicted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.capture.readers.own_format import write_plain
from mcp_memory.models import NoteState
from mcp_memory.runtime.telemetry import switch_off
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.language.facts import EXACT, Fact, facts
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.markdown import frontmatter
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import NOON, World, records

SESSIONS = Path(__file__).parents[1] / "eval" / "extraction" / "sessions"
AT_ONCE, PROPOSED, NOTHING, ELSEWHERE = "+", "?", "!", "~"
SHARE = 0.5
MODELS = Path(os.environ.get("MCP_MEMORY_MODELS", Path(tempfile.gettempdir()) / "mcp-memory-models"))
ELSEWHERE_KINDS = {"commitment", "fix"}
STEP = timedelta(seconds=40)
_LINE = re.compile(r"(user|assistant|tool(!?)(?: (\w+))?): ?(.*)")


@dataclass
class Label:
    """What should become of something said in the message at `offset`."""

    mark: str
    statement: str
    offset: int
    reason: str = ""
    replaces: str = ""
    person: bool = False


@dataclass
class Session:
    name: str
    project: str
    notes: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """Text, and whether it is the person's, without a project."""
    messages: list[TranscriptMessage] = field(default_factory=list[TranscriptMessage])
    labels: list[Label] = field(default_factory=list[Label])


@dataclass(frozen=True)
class Found:
    """A note or waiting candidate that was made of the message at `offset`."""

    id: str
    text: str
    kind: str
    offset: int
    at_once: bool
    project: str | None
    names: frozenset[str]
    """Ids that it supersedes or contradicts."""


@dataclass
class Score:
    """Counts; each figure is a fraction of two of them."""

    counts: Counter[str] = field(default_factory=Counter[str])
    mistakes: list[str] = field(default_factory=list[str])

    def ratio(self, right: str, of: str) -> str:
        total = self.counts[of]
        share = f"{self.counts[right] / total:.2f}" if total else " -  "
        return f"{share} ({self.counts[right]}/{total})"

    def figures(self) -> dict[str, str]:
        wrong = f"{self.counts['traps']} of {self.counts['of_traps']}"
        return {
            "precision at once": self.ratio("right_once", "stored"),
            "recall at once": self.ratio("right_once", "once"),
            "recall with proposals": self.ratio("found", "wanted"),
            "precision of all": self.ratio("found", "made"),
            "reasons kept": self.ratio("reasons", "of_reasons"),
            "of those found": self.ratio("reasons", "of_reasons_found"),
            "replaced noticed": self.ratio("replaced", "of_replaced"),
            "scope right": self.ratio("scope", "found"),
            "traps stored, proposed": f"{wrong}, {self.counts['traps_proposed']}",
        }


def read_session(file: Path) -> Session:
    """Raises ValueError naming a line that is none of the above."""
    session = Session(file.stem, file.stem)
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if line.startswith("  |") and session.messages:
            last = session.messages[-1]
            text = f"{last.turn.text}\n{line[3:].removeprefix(' ')}"
            session.messages[-1] = replace(last, turn=replace(last.turn, text=text))
        elif line.startswith("  ") and stripped[0] in "+?!~" and session.messages:
            session.labels.append(_label(stripped, session.messages[-1].offset))
        elif match := _LINE.fullmatch(line):
            role = Role.TOOL if match[1].startswith("tool") else Role(match[1])
            at = NOON + STEP * len(session.messages)
            speaker = {Role.USER: "Ada", Role.ASSISTANT: "Assistant"}.get(role, "Tool")
            offset = 100 * (len(session.messages) + 1)
            turn = Turn(speaker, match[4], at)
            session.messages.append(TranscriptMessage(role, turn, offset, match[3] or "", bool(match[2])))
        elif line.startswith("project: "):
            session.project = line.removeprefix("project: ").strip()
        elif line.startswith("note"):
            head, _, text = line.partition(": ")
            session.notes.append((text.strip(), head == "note person"))
        else:
            raise ValueError(f"{file}:{number}: {line!r} is neither a message nor a label")
    return session


def _label(line: str, offset: int) -> Label:
    statement, *rest = (part.strip() for part in line[1:].split(" | "))
    label = Label(line[0], statement, offset)
    for part in rest:
        if part.startswith("because: "):
            label.reason = part.removeprefix("because: ")
        elif part.startswith("replaces: "):
            label.replaces = part.removeprefix("replaces: ")
        elif part == "person":
            label.person = True
        elif part != "project":
            raise ValueError(f"unknown part of a label: {part!r}")
    return label


async def score_session(session: Session, provider: str, models: Path, *, whole: bool = False) -> Score:
    """Stores the session's notes and messages in an empty vault, and compares what is there then with the labels."""
    with tempfile.TemporaryDirectory() as folder:
        root, state = Path(folder) / "vault", Path(folder) / "state"
        root.mkdir(), state.mkdir()
        world = World(root, state, models, provider=provider)
        async with world.engine() as engine:
            world.later(days=-7)
            for text, is_personal in session.notes:
                world.later(minutes=5)
                await engine.append(text, kind="fact", project=None if is_personal else session.project)
            world.now = NOON + timedelta(hours=6)
            await engine.settled()
            for turn in [session.messages] if whole else _turns(session.messages):
                asked = {"file": "talk.jsonl", "client": "claude-code", "session": session.name}
                asked |= {"project": session.project, "messages": write_plain(turn)}
                await engine.perform("extract", asked)
            return _judge(session, list(_found(world, engine)))


def _turns(messages: Sequence[TranscriptMessage]) -> Iterator[list[TranscriptMessage]]:
    """Each begins with the person's words."""
    turn: list[TranscriptMessage] = []
    for message in messages:
        if message.role is Role.USER and turn and turn[-1].role is not Role.USER:
            yield turn
            turn = []
        turn.append(message)
    yield turn


def _found(world: World, engine: KeywordEngine) -> Iterator[Found]:
    vault = world.vault()
    for record in records(engine):
        if record.state is NoteState.DELETED:
            continue
        file = vault.read(record.path)
        meta = frontmatter.parse(file.text).meta
        source, names = meta.get("derived_from"), [*record.supersedes, *record.meta.get("contradicts", ())]
        offset = int(str(source[0]).rpartition("@")[2]) if isinstance(source, list) and source else 0
        at_once = record.state is not NoteState.INBOX
        yield Found(
            record.id, f"{record.title}\n{file.body}", record.kind, offset, at_once, record.project,
            frozenset(map(str, names)),
        )  # fmt: skip


def _judge(session: Session, found: Sequence[Found]) -> Score:
    score = Score()
    counts = score.counts
    texts = {one.id: one.text for one in found}
    words = {message.offset: message.turn.text for message in session.messages}
    said = {
        message.offset: f"{before.turn.text if before else ''} {message.turn.text}"
        for before, message in zip([None, *session.messages], session.messages, strict=False)
    }
    left = [one for one in found if one.offset]
    pairs = sorted(
        ((share_of_words(label.statement, one.text, said[one.offset]), label.mark == AT_ONCE, one.at_once, number, one)
         for number, label in enumerate(session.labels) for one in left
         if label.mark in (AT_ONCE, PROPOSED) and label.offset == one.offset
         and _has(one.text, label.statement, said[one.offset])),
        key=lambda pair: pair[:4], reverse=True,
    )  # fmt: skip
    matched: dict[int, Found] = {}
    for _, _, _, number, one in pairs:
        if number not in matched and one in left:
            matched[number] = one
            left.remove(one)
    for number, label in enumerate(session.labels):
        if label.mark not in (AT_ONCE, PROPOSED):
            continue
        one = matched.get(number)
        is_once = label.mark == AT_ONCE
        counts.update({"wanted": 1, "once": is_once, "of_reasons": bool(label.reason)})
        counts["of_replaced"] += bool(label.replaces)
        if one is None:
            score.mistakes.append(f"missed {label.mark} {label.statement}\n      in: {words[label.offset]}")
            continue
        counts.update({"found": 1, "made": 1, "stored": one.at_once, "right_once": one.at_once and is_once})
        if one.at_once and not is_once:
            score.mistakes.append(f"stored, not proposed: {label.statement}\n      as: {one.text!r}")
        elif is_once and not one.at_once:
            score.mistakes.append(f"proposed, not stored: {label.statement}")
        if (one.project is None) == label.person:
            counts["scope"] += 1
        else:
            score.mistakes.append(f"scope {one.project}: {label.statement}")
        if label.reason:
            counts["of_reasons_found"] += 1
            counts["reasons"] += share_of_words(label.reason, one.text) >= SHARE
            if share_of_words(label.reason, one.text) < SHARE:
                score.mistakes.append(f"reason lost: {label.reason}\n      of: {one.text!r}")
        if label.replaces:
            noticed = any(share_of_words(label.replaces, texts.get(name, "")) >= SHARE for name in one.names)
            counts["replaced"] += noticed
            if not noticed:
                score.mistakes.append(f"not noticed: {label.replaces}\n      by: {one.text!r}")
    traps = {label.offset: label.statement for label in session.labels if label.mark == NOTHING}
    elsewhere = {label.offset for label in session.labels if label.mark == ELSEWHERE}
    counts["of_traps"] += len(traps)
    for one in left:
        if one.kind in ELSEWHERE_KINDS or one.offset in elsewhere:
            continue
        counts.update({"made": 1, "stored": one.at_once})
        counts["traps" if one.at_once else "traps_proposed"] += one.offset in traps
        what = "TRAP " + traps[one.offset] if one.offset in traps else "wrong"
        score.mistakes.append(f"{what}, {'stored' if one.at_once else 'proposed'}: {one.text!r}")
    return score


def share_of_words(wanted: str, text: str, said: str = "") -> float:
    """The share of the wanted words that a text has, of those that were said if that is passed."""
    words = content_words(wanted)
    words = (words & content_words(said)) or words
    return len(words & content_words(text)) / len(words) if words else 0.0


def exact_facts(statement: str) -> set[Fact]:
    return {fact for fact in facts(statement) if fact.kind in EXACT}


def _has(text: str, statement: str, said: str) -> bool:
    exact = exact_facts(statement) & facts(said)
    return share_of_words(statement, text, said) >= SHARE and exact <= facts(text)


def files_in(places: Sequence[Path]) -> list[Path]:
    return [file for place in places for file in (sorted(place.glob("*.txt")) if place.is_dir() else [place])]


def score_files(
    files: Sequence[Path], provider: str = "auto", models: Path = MODELS, *, whole: bool = False
) -> dict[str, Score]:
    """By the file's name, and under `all`."""
    scores: dict[str, Score] = {}
    total = Score()
    for file in files:
        score = anyio.run(partial(score_session, read_session(file), provider, models, whole=whole))
        scores[file.stem] = score
        total.counts.update(score.counts)
    scores["all"] = total
    return scores


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, default=[SESSIONS])
    parser.add_argument("--show", action="store_true", help="print each mistake")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--provider", default="auto", help="the embedder; none: without a model")
    parser.add_argument("--models", type=Path, default=MODELS, help="where the model is kept")
    parser.add_argument("--whole", action="store_true", help="each session in one go instead of turn by turn")
    options = parser.parse_args()
    switch_off()
    scores = score_files(files_in(options.files), options.provider, options.models, whole=options.whole)
    if options.json:
        shown: dict[str, Any] = {name: dict(score.counts) for name, score in scores.items()}
        print(json.dumps(shown, indent=2))
        return 0
    for name, score in scores.items():
        print(f"\n{name}")
        for figure, value in score.figures().items():
            print(f"  {figure:<24}{value}")
        for mistake in score.mistakes if options.show else ():
            print(f"  - {mistake}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
