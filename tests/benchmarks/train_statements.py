"""Fits the classifier of statements on the labelled sets, and writes its weights into the package.

    python -m tests.benchmarks.train_statements

Needs the bundled model once.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.curation.dreams.log_lines import log_features
from mcp_memory.embedders.base import EmbedderConfig
from mcp_memory.embedders.open_embedder import open_embedder
from mcp_memory.statements.classifier import States, Weights, in_context, phrases
from mcp_memory.statements.cues import features, is_vetoed, reason_features
from mcp_memory.statements.language import is_personal
from mcp_memory.statements.spoken import SpokenSentence, spoken_sentences
from mcp_memory.statements.statement_rules import classify
from mcp_memory.statements.user_sentences import UserSentence, user_sentences
from mcp_memory.text.conversation.messages import Turn
from mcp_memory.text.conversation.own_words import lowered
from tests.benchmarks.extraction_sessions import (
    AT_ONCE,
    MODELS,
    PROPOSED,
    SESSIONS,
    Label,
    Session,
    files_in,
    read_session,
    share_of_words,
)
from tests.benchmarks.logistic_fit import fit_logistic
from tests.support.world import NOON

EVAL = SESSIONS.parents[1]
WEIGHTS = Path(__file__).parents[2] / "mcp_memory" / "statements" / "weights.json"
NOTHING, ONCE, MAYBE = 0, 2, 1
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Talk:
    """Sentences said one after another, each with its label, None where it trains nothing."""

    source: str
    spoken: Sequence[SpokenSentence]
    labels: Sequence[int | None]
    weight: float = 1.0


def talks_of_sessions(files: Sequence[Path]) -> Iterator[Talk]:
    """Each session; and once more with every sentence on a line of its own, as most lines in them are pasted."""
    for session in map(read_session, files):
        spoken = list(spoken_sentences(session.messages))
        yield Talk(session.name, spoken, [_label_of(one, labels_of(session, one.message)) for one in spoken])
        lines = list(spoken_sentences([_in_lines(message) for message in session.messages]))
        in_one = {message.offset for message in session.messages if "\n" not in message.turn.text}
        retyped = [one.said[-1].line > 0 and one.message.offset in in_one for one in lines]
        labels = [
            _label_of(one, labels_of(session, one.message)) if is_retyped else None
            for one, is_retyped in zip(lines, retyped, strict=True)
        ]
        yield Talk(session.name, lines, labels, IN_LINES)


def _in_lines(message: TranscriptMessage) -> TranscriptMessage:
    if message.role is not Role.USER:
        return message
    text = "\n".join(one.text for one in _split(message.turn.text))
    return replace(message, turn=replace(message.turn, text=text))


def _split(text: str) -> list[UserSentence]:
    return user_sentences(text)


def labels_of(session: Session, message: TranscriptMessage) -> list[Label]:
    return [one for one in session.labels if one.offset == message.offset]


def _label_of(one: SpokenSentence, labels: Sequence[Label]) -> int | None:
    """None where it is a reason, or part of what isn't told from it alone."""
    if any(label.mark == "~" for label in labels) or not one.is_typed:
        return None
    wanted = [label for label in labels if label.mark in (AT_ONCE, PROPOSED)]
    shares = [(share_of_words(one.sentence.text, label.statement), label) for label in wanted]
    share, best = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if best is None:
        return NOTHING
    if share >= OWN:
        return ONCE if best.mark == AT_ONCE else MAYBE
    if any(share_of_words(label.statement, one.message.turn.text) < 0.5 for label in wanted):
        return None  # it agrees to what the assistant said
    with_reasons = [share_of_words(one.sentence.text, f"{label.statement} {label.reason}") for label in wanted]
    return NOTHING if max(with_reasons) < NONE_OF_IT else None


def talks_of_lines() -> Iterator[Talk]:
    marks = {"+": ONCE, "?": MAYBE, "-": NOTHING}
    for name in ("lines", "talk"):
        for line in (EVAL / "extraction" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            if line[:1] in marks:
                asked, _, answer = line[3:].partition("] ") if line[2:3] == "[" else ("", "", line[2:])
                weight = TALK_LINE if name == "talk" else 1.0
                yield _said(name, answer, marks[line[0]], weight, f"{asked}?" if asked else "")
    for name in ("messages", "afterwards", "unseen", "commitments"):
        for line in (EVAL / "extraction" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            labels = [each for each in row.get("expect", []) if each not in ("fix",)]
            if row["role"] != "user" or labels[:1] == ["commitment"]:
                continue
            label = NOTHING
            if labels:
                label = ONCE if labels[0].endswith("+") or labels[0] == "fact" else MAYBE
            if not labels or len(_split(row["text"])) == 1:
                yield _said("messages", row["text"], label, 1.0 if label else HARD, every=True)
    for file in (EVAL / "contradictions").glob("development.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield _said("contradictions", json.loads(line)["newer"]["text"], ONCE, 0.3)
    for file in EVAL.rglob("prompts.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield _said("prompts", json.loads(line)["prompt"], NOTHING, 0.5)


def _said(source: str, text: str, label: int, weight: float, asked: str = "", *, every: bool = False) -> Talk:
    """One message, of which the first sentence or `every` one has this label."""
    turns = [(Role.ASSISTANT, asked), (Role.USER, text)]
    messages = [TranscriptMessage(role, Turn("", words, NOON), at, "", False) for at, (role, words) in enumerate(turns)]
    spoken = list(spoken_sentences(messages))
    return Talk(source, spoken, [label if every or not number else None for number in range(len(spoken))], weight)


def states_of(texts: Sequence[str]) -> Matrix:
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    kept = Path(MODELS) / f"statements-{name}.npy"
    if not kept.is_file():
        states = open_embedder(EmbedderConfig(), MODELS).inner_states(texts)
        assert states is not None
        np.save(kept, states)
    return np.load(kept).astype(np.float64)


def fit(columns: Matrix, wanted: Matrix, weights: Matrix, ridge: float) -> Matrix:
    """Logistic regression; the last column is the constant, which has no penalty."""
    doubt, *found = fit_logistic(columns, wanted, weights, ridge).tolist()
    return np.array([*found, -doubt])


def fit_rows(
    seen: Matrix, states: Matrix, said: Matrix, wanted: Sequence[Matrix], weights: Matrix, ridge: float, *scales: float
) -> tuple[Matrix, Matrix]:
    """A row for each of `wanted`: the weights of what is seen and of the states, with the constant; and apart those of
    the phrases said. Each of the `scales` is that of one state; it goes into its weights."""
    middle, width = states.mean(axis=0), states.shape[1] // max(1, len(scales))
    scale = np.repeat(scales, width) / (states.std(axis=0) * max(1, width) ** 0.5 + 1e-9)
    columns = np.hstack([seen, (states - middle) * scale, said * PHRASE])
    found = np.array([fit(columns, one.astype(float), weights, ridge) for one in wanted])
    own, inner, spoken, constant = np.split(found, np.cumsum([seen.shape[1], states.shape[1], said.shape[1]]), axis=1)
    inner = inner * scale
    return np.hstack([own, inner, constant - (inner @ middle)[:, None]]), spoken * PHRASE


def phrases_said(views: Sequence[str]) -> tuple[list[str], Matrix]:
    """The phrases that are common enough to count, and in which of the sentences each is."""
    spoken = [phrases(view) for view in views]
    common = Counter(one for said in spoken for one in said)
    names = sorted(one for one, count in common.items() if count >= LEAST_SAID)
    return names, np.array([[one in each for one in names] for each in spoken], dtype=np.float32)


def made_of(rows: Matrix, names: Sequence[str], of_phrases: Matrix) -> Weights:
    each = zip(names, of_phrases.T.round(3).tolist(), strict=True)
    return Weights(rows.round(4), {one: added for one, added in each if any(added)})


@dataclass(frozen=True)
class Table:
    """What the weights are fitted on, a row a sentence."""

    cues: Matrix
    states: Matrix
    views: Sequence[str]
    labels: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]
    sources: npt.NDArray[np.str_]

    def fit(self) -> dict[str, Weights]:
        """The weights with and without a model."""
        talk = np.where(np.isin(self.sources, LINES), self.weights, TALK * self.weights)
        plain = self.weights * np.where(self.sources == "talk", 0.0, np.where(self.labels == NOTHING, CAUTION, 1.0))
        names, said = phrases_said(self.views)
        made = dict[str, Weights]()
        for way, weights in (("cues", plain), ("model", talk)):
            states, scales = (self.states, CONTEXT) if way == "model" else (self.states[:, :0], ())
            wanted = [self.labels == ONCE, self.labels > NOTHING]
            found = fit_rows(self.cues, states, said, wanted, weights, RIDGE, *scales)
            made[way] = made_of(found[0], names, found[1])
        return made


def training_table(files: Sequence[Path]) -> Table:
    talks = [*talks_of_sessions(files), *talks_of_lines()]
    texts = [text for talk in talks for one in talk.spoken for text in (one.sentence.text, one.answered)]
    states = dict(zip(texts, states_of(texts), strict=True))

    def embed(said: Sequence[str]) -> States:
        return np.array([states[text] for text in said], dtype=np.float32)

    def around(spoken: Sequence[SpokenSentence]) -> States:
        found = in_context(spoken, embed)
        return np.zeros((0, 0), dtype=np.float32) if found is None else found

    rows = [
        (talk, one, label, state)
        for talk in talks
        for one, label, state in zip(talk.spoken, talk.labels, around(talk.spoken), strict=True)
        if label is not None and not is_vetoed(one.sentence)
    ]
    return Table(
        np.array([features(one, ruled(one.sentence)) for _, one, _, _ in rows]),
        np.array([state for _, _, _, state in rows]),
        [one.sentence.view for _, one, _, _ in rows],
        np.array([label for _, _, label, _ in rows]),
        np.array([talk.weight for talk, _, _, _ in rows]),
        np.array([talk.source for talk, _, _, _ in rows]),
    )


Pair = tuple[list[float], UserSentence, UserSentence, bool]
"""What is seen beside two sentences, the two, and whether they belong together."""


def fit_pairs(pairs: Sequence[Pair], ridge: float) -> Weights:
    states = np.hstack([states_of([pair[at].text for pair in pairs]) for at in (1, 2)])
    seen, wanted, none = np.array([pair[0] for pair in pairs]), np.array([pair[3] for pair in pairs]), states[:, :0]
    return Weights(fit_rows(seen, states, none, [wanted], np.ones(len(pairs)), ridge, *OF_PAIRS)[0].round(4), {})


def homes(session: Session, spoken: Sequence[SpokenSentence]) -> dict[int, list[Label]]:
    """The sentences in which the labelled statements are said, if they are said in one."""
    found = dict[int, list[Label]]()
    for label in session.labels:
        said = [at for at, one in enumerate(spoken) if one.message.offset == label.offset]
        if said and label.mark in (AT_ONCE, PROPOSED):
            shares = [share_of_words(label.statement, spoken[at].sentence.text) for at in said]
            if max(shares) >= OWN:
                found.setdefault(said[shares.index(max(shares))], []).append(label)
    return found


def _reasons(files: Sequence[Path]) -> Iterator[Pair]:
    """The sentences beside a labelled statement: a reason has half of the label's words, or what completes it does."""
    for session in map(read_session, files):
        spoken = list(spoken_sentences(session.messages))
        of_statements = homes(session, spoken)
        for at, labels in of_statements.items():
            for step in spoken[at].beside:
                own, other = spoken[at].sentence, spoken[at + step].sentence
                if at + step not in of_statements and not other.is_question:
                    seen = reason_features(own, other, is_behind=step > 0)
                    explains = any(one.reason and share_of_words(one.reason, other.text) >= 0.5 for one in labels)
                    yield seen, other, own, explains or any(_completes(other.text, own.text, one) for one in labels)


def _completes(other: str, own: str, label: Label) -> bool:
    return share_of_words(label.statement, f"{own} {other}") - share_of_words(label.statement, own) >= MORE


def fit_scope(files: Sequence[Path]) -> Weights:
    """The weights by which a statement holds for the person everywhere, and not for this project."""
    rows = list[tuple[SpokenSentence, bool]]()
    for session in map(read_session, files):
        spoken = list(spoken_sentences(session.messages))
        rows += ((spoken[at], any(one.person for one in labels)) for at, labels in homes(session, spoken).items())
    seen = np.array([[*features(one, ruled(one.sentence)), float(_is_personal(one.sentence))] for one, _ in rows])
    names, said = phrases_said([one.sentence.view for one, _ in rows])
    states, wanted = states_of([one.sentence.text for one, _ in rows]), np.array([personal for _, personal in rows])
    found, of_phrases = fit_rows(seen, states, said, [wanted], np.ones(len(rows)), 1.0, OF_SCOPE)
    return made_of(found, names, of_phrases)


def fit_logs() -> dict[str, Weights]:
    """The weights by which a line of a log is worth remembering, asks to forget, or is of a kind, with and without a
    model."""
    lines = (EVAL / "logs" / "lines.txt").read_text(encoding="utf-8").splitlines()
    marks, texts = zip(*((line[0], line[2:]) for line in lines if not line.startswith("#")), strict=True)
    labels = np.array(marks)
    wanted = [np.isin(labels, [*"pdlf"]), *(labels == mark for mark in "!pdl")]
    names, said = phrases_said([lowered(text) for text in texts])
    seen, states = np.array([log_features(text) for text in texts]), states_of(texts)
    made = dict[str, Weights]()
    for name, inner, scales in (("log", states, (OF_LOGS,)), ("log_cues", states[:, :0], ())):
        found = fit_rows(seen, inner, said, wanted, np.ones(len(texts)), 0.5, *scales)
        made[name] = made_of(found[0], names, found[1])
    return made


def fit_ways(table: Table, files: Sequence[Path]) -> dict[str, Weights]:
    """All weights, from the table that was made of these sessions and the other sets, and from the sessions."""
    return table.fit() | {
        "reason": fit_pairs(list(_reasons(files)), OF_FEW),
        "person": fit_scope(files),
        **fit_logs(),
    }


def main() -> None:
    files = files_in([SESSIONS])
    table = training_table(files)
    print(len(table.labels), "rows", np.bincount(table.labels), table.cues.shape)
    made = fit_ways(table, files)
    written = json.loads(WEIGHTS.read_text(encoding="utf-8"))  # the adapter's states have weights of their own
    written |= {name: {"rows": found.rows.tolist(), "phrases": found.phrases} for name, found in made.items()}
    WEIGHTS.write_text(json.dumps(written, ensure_ascii=False) + "\n", encoding="utf-8")


HARD = 2.5
"""The weight of a message that was sought out to mislead."""
TALK = 3.0
"""The weight of a sentence of a whole session with the model: the other sets aren't as people talk. Cues alone are
too few to tell by them."""
TALK_LINE = 2.0
"""The weight of a line of `talk.txt`: pairs that look alike, which cues alone can't tell apart and don't learn from."""
CAUTION = 1.5
"""The weight of what deserves nothing, where cues decide alone: the sessions are denser than most."""
LINES = ["lines", "talk", "messages", "contradictions", "prompts"]
RIDGE, PHRASE, LEAST_SAID = 8.0, 0.5, 6
"""The penalty on each weight, and the scale of phrases beside that of the cues; a phrase counts if it is in so many
sentences. Chosen by leaving out seven to ten authors at a time, as the scales of the model's states are: with a penalty
of 2, 4, 8 and 16, .53, .54, .55 and .53 of what deserves it can be stored with .92 right."""
OF_FEW = 2.0
"""The penalty where there are few pairs."""
CONTEXT = (2.0, 1.0, 2.0, 1.0)
"""The scales of the states of a sentence, of those beside it, of the one that opens its message, and of what it
answers."""
OF_PAIRS, OF_SCOPE, OF_LOGS = (1.5, 1.5), 2.0, 2.0
IN_LINES = 0.2
"""The weight of a session's sentences that are put on lines of their own."""
OWN, NONE_OF_IT, MORE = 0.34, 0.25, 0.25
"""The share of words from which on a sentence says a statement, up to which it says nothing of it, and that it adds to
a statement which it completes."""


def _is_personal(sentence: UserSentence) -> bool:
    statement = classify(sentence)
    return statement is not None and is_personal(statement.kind, sentence.text)


def ruled(sentence: UserSentence) -> float:
    statement = classify(sentence)
    return statement.score if statement else 0.0


if __name__ == "__main__":
    main()
