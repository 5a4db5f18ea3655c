"""Finds what you state in a session: by the rules, by the classifier, and by what you agree to or take back."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_memory.capture.readers.message import Role, TranscriptMessage
from mcp_memory.extraction.candidate import Candidate, StatementKind, make_title
from mcp_memory.extraction.language import introduces
from mcp_memory.extraction.statement_rules import Statement, classify, is_denial, opening_chars
from mcp_memory.extraction.statements.agreements import agreement, answered_question, choice, is_retraction, pointed_at
from mcp_memory.extraction.statements.classifier import ONCE, PROPOSED, EmbedSentences, likelihoods
from mcp_memory.extraction.statements.cues import features, has_cue, is_joke, is_vetoed
from mcp_memory.extraction.user_sentences import MAX_CHARS, UserSentence, user_sentences
from mcp_memory.text.language.terms import content_words

LIKELY, LEANING = 0.88, 0.45
"""Scores of what the classifier takes for a statement, or for one to propose."""
MIN_REASON_WORDS = 4
_GOES_ON = re.compile(r"(?:now|then|next|jetzt|dann|maintenant|puis|ahora|luego)\b")
_FOLLOWS = re.compile(r"(?:so|thus|therefore|hence|deshalb|daher|darum|also|donc|alors|así que|por eso)\b(?!,)")
_PLAIN_WORD = re.compile(r"[^\W\d_]+(?=[\s,:;’'])")
_BARE = re.compile(r"(?:\W*\w+\W+){0,4}(?:that|it|this|das|es|ça|ce|eso|said)\W*", re.IGNORECASE)


@dataclass(slots=True)
class _Spoken:
    """One of your sentences. `assistant`: what it answers."""

    message: TranscriptMessage
    sentence: UserSentence
    assistant: str
    rule: Statement | None
    once: float = 0.0
    kept: float = 0.0

    @property
    def is_typed(self) -> bool:
        return len(self.message.turn.text) <= MAX_CHARS and not self.sentence.may_be_pasted


def find_statements(messages: Sequence[TranscriptMessage], embed: EmbedSentences | None) -> Iterator[Candidate]:
    spoken = list(_spoken(messages))
    judged = [one for one in spoken if not is_vetoed(one.sentence)]
    rows = [
        features(one.sentence, answers=one.assistant.rstrip().endswith("?"), ruled=one.rule.score if one.rule else 0.0)
        for one in judged
    ]
    for one, (once, kept) in zip(judged, likelihoods([one.sentence.text for one in judged], rows, embed), strict=True):
        one.once, one.kept = once, kept
    latest: Candidate | None = None
    used = set[int]()
    for number, one in enumerate(spoken):
        if number in used:
            continue
        behind = spoken[number + 1] if number + 1 < len(spoken) and spoken[number + 1].message is one.message else None
        reason = behind.sentence.text if behind and _explains(behind) else ""
        ahead = spoken[number - 1] if number and spoken[number - 1].message is one.message else None
        if not reason and ahead and _FOLLOWS.match(one.sentence.view) and not ahead.sentence.is_question:
            reason = ahead.sentence.text
        if found := _taken_back(one, latest) or _agreed(one, reason) or _stated(one, reason):
            if reason and behind and behind.sentence.text[1:] in found.text:
                used.add(number + 1)
            latest = found
            yield found


def _spoken(messages: Sequence[TranscriptMessage]) -> Iterator[_Spoken]:
    assistant = ""
    for message in messages:
        if message.role is Role.USER:
            for sentence in _joined(user_sentences(message.turn.text, introduces)):
                yield _Spoken(message, sentence, assistant, classify(sentence))
                assistant = ""
            assistant = ""
        elif message.role is Role.ASSISTANT:
            assistant = message.turn.text


def _joined(sentences: Sequence[UserSentence]) -> Iterator[UserSentence]:
    """Joins a plain no to the sentence that follows it."""
    denial: UserSentence | None = None
    for sentence in sentences:
        if is_denial(sentence):
            denial = sentence
        elif denial:
            text, view = f"{denial.text} {sentence.text}", f"{denial.view} {sentence.view}"
            yield UserSentence(text, view, sentence.is_question, sentence.may_be_pasted)
            denial = None
        else:
            yield sentence


def _explains(one: _Spoken) -> bool:
    """Whether a sentence says why the one before it holds."""
    view = one.sentence.view
    is_statement = one.rule and (one.rule.outright or one.rule.kind is StatementKind.COMMITMENT)
    if is_statement or is_vetoed(one.sentence) or has_cue(view, "task", "reaction"):
        return False
    is_short = len(view.split()) < MIN_REASON_WORDS and not any(c.isdigit() for c in view)
    goes_on = is_short or _GOES_ON.match(view) or has_cue(view, "hedge", "someday")
    return has_cue(view, "reason") or (one.once < ONCE and (has_cue(view, "trouble") or not goes_on))


def _taken_back(one: _Spoken, latest: Candidate | None) -> Candidate | None:
    """`Scrap that` concerns the latest statement."""
    text = one.sentence.text
    if latest is None or not is_retraction(one.sentence):
        return None
    is_bare = _BARE.fullmatch(text) is not None
    names_it = is_bare or re.search(r"\b(?:that|it|this|das|doch|ça|eso)\b", one.sentence.view)
    if not names_it and not content_words(text) & content_words(latest.text):
        return None
    old = latest.text.partition("\n")[0]
    statement = f"No longer: {old}" if is_bare else f"{_clean(one.sentence)} Instead of: {old}"
    return _candidate(one, StatementKind.DECISION, LIKELY, f"{statement}\n\n> {text}", latest)


def _agreed(one: _Spoken, reason: str) -> Candidate | None:
    found = agreement(one.sentence, one.assistant) or choice(one.sentence, one.assistant) if one.assistant else None
    if found is None or is_vetoed(one.sentence) or has_cue(one.sentence.view, "hedge"):
        return None
    quote = f"{found.quote} {reason}" if reason else found.quote
    return _candidate(one, StatementKind.DECISION, LIKELY if found.sure else LEANING, f"{found.statement}\n\n{quote}")


def _stated(one: _Spoken, reason: str) -> Candidate | None:
    rule, view = one.rule, one.sentence.view
    if rule and ((rule.outright and not is_joke(one.sentence)) or rule.kind is StatementKind.COMMITMENT):
        kind, score = rule.kind, rule.score
    elif one.once >= ONCE and not _is_vague(view):
        kind, score = _kind(one), LIKELY
    elif one.kept >= PROPOSED or (rule and one.kept):
        kind, score = _kind(one), max(LEANING, rule.score if rule else 0.0)
    else:
        return None
    if kind is StatementKind.COMMITMENT:
        return _candidate(one, kind, score, one.sentence.text)
    text = _clean(one.sentence, rule.prefix_chars if rule else 0)
    question = answered_question(one.sentence, one.assistant) if one.assistant else None
    named = pointed_at(one.sentence, one.assistant)
    if question and not has_cue(view, "stative", "relation", "change"):
        text, named = f"{question} {text}", None
    quote = f"\n\n> Assistant: {named}\n> {one.sentence.text}" if named else ""
    return _candidate(one, kind, score, f"{text} {_sentence(reason)}".strip() + quote)


def _is_vague(view: str) -> bool:
    is_reported = has_cue(view, "reported") and not has_cue(view, "agreed")
    return is_reported or has_cue(view, "hedge", "someday", "personal", "they")


def _kind(one: _Spoken) -> StatementKind:
    view = one.sentence.view
    if one.rule:
        return one.rule.kind
    if has_cue(view, "prefer") and has_cue(view, "i", "you", "about_me"):
        return StatementKind.PREFERENCE
    return StatementKind.DECISION if has_cue(view, "agreed", "change", "norm") else StatementKind.FACT


def _candidate(
    one: _Spoken, kind: StatementKind, score: float, text: str, instead_of: Candidate | None = None
) -> Candidate:
    said = one.sentence.text
    is_outright = score >= LIKELY and one.is_typed
    title = make_title(text.partition("\n")[0])
    return Candidate.from_message(one.message, kind, text, score, is_outright, title, said=said, instead_of=instead_of)


def _clean(sentence: UserSentence, opening: int = 0) -> str:
    return _sentence(sentence.text[max(opening, opening_chars(sentence)) :])


def _sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    plain = " ".join(text.split())
    if _PLAIN_WORD.match(plain):
        plain = plain[:1].upper() + plain[1:]
    return f"{plain}." if plain and (plain[-1].isalnum() or plain[-1] in "`\"')") else plain
