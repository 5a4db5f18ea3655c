"""Recognizes that a person takes back what was said in an earlier session: `forget the rule about …`, `… after all`."""

import re
from dataclasses import replace

from mcp_memory.comparison.values import CLAUSE, tokens
from mcp_memory.statements.candidate import Candidate, Reversal, StatementKind, Voice, make_title
from mcp_memory.statements.corrections import find_refusal
from mcp_memory.statements.cues import AGREEMENT, has_cue, is_limited, is_task, is_vetoed, patterns
from mcp_memory.statements.spoken import SpokenSentence
from mcp_memory.statements.statement_rules import classify
from mcp_memory.statements.user_sentences import UserSentence, assistant_sentences
from mcp_memory.text.conversation.own_words import lowered
from mcp_memory.text.language.sentences import as_sentence

IF_IT_REVERSES = 0.3
"""The score of a sentence that is stored only if it takes back a note; nothing is proposed for so little."""
_OWN_MIND = re.compile(r"\b(?:my|mi[rn]|meine|avis|idea|opinión|parecer)\b")
"""Matches a change of mind, which is the person's own whatever others said before it."""
LEAST_WORDS = 2
"""The fewest words of a clause about what is true now: not `I changed my mind about it`."""


def with_reversal(one: SpokenSentence, found: Candidate | None) -> Candidate | None:
    """Return the statement of a sentence with what it takes back of earlier sessions. A sentence that isn't a
    candidate otherwise is stored only if it takes back a note. A question, a doubt, a joke or an exception takes back
    nothing."""
    sentence, view = one.sentence, one.sentence.view
    is_unsure = is_vetoed(sentence) or has_cue(view, "hedge") or has_cue(view, "except_now", part=AGREEMENT)
    if not one.is_typed or is_unsure or (found and (found.instead_of or found.voice is not Voice.SAID)):
        return found
    reverses = find_reversal(sentence)
    if refuses_value(sentence):
        before = one.said[one.place - 1].text if one.place else one.assistant
        reverses = replace(reverses or Reversal("", ""), context=[said.text for said in assistant_sentences(before)])
    if reverses is None:
        return found
    said, now = sentence.text, reverses.now
    if found and reverses.named and not has_cue(now.lower(), "norm"):
        found = replace(found, outright=False) if now else None
    made = found or Candidate.from_message(
        one.message, StatementKind.DECISION, as_sentence(said), IF_IT_REVERSES, False, said=said, voice=Voice.SAID
    )
    if reverses.named and now:  # don't store `forget what I said about …`
        view = lowered(now)
        rule = classify(UserSentence(now, view, False))
        is_order = is_task(view) or has_cue(view, "task") or (rule and rule.kind is StatementKind.PREFERENCE)
        text = as_sentence(now if is_order else f"{reverses.named.strip()}: {now}")
        made = replace(made, text=text, title=make_title(text))
    elif reverses.lifts:
        made = replace(made, score=IF_IT_REVERSES, outright=False)
    return replace(made, reverses=reverses)


def refuses_value(sentence: UserSentence) -> bool:
    """Return whether a person refuses a value: `400 ms, not 150`, `Marketing changed its mind, 15 minutes`."""
    view, refusal = sentence.view, find_refusal(sentence.text)
    if refusal is None or is_limited(view) or not re.search(r"\d", view):
        return False
    is_own = refusal.old is not None and not has_cue(view, "reported")
    return is_own or has_cue(view, "changed_mind", part=AGREEMENT)


def find_reversal(sentence: UserSentence) -> Reversal | None:
    """Return what a sentence takes back; None for another's words."""
    view, text, found = sentence.view, sentence.text, patterns(AGREEMENT)
    if name := found["names_reversed"].search(view):
        named, *after = CLAUSE.split(view[name.end() :], maxsplit=1)
        before = view[: name.start()]
        if is_limited(before) or has_cue(before, "reported"):
            return None
        now = text[len(view) - len(after[0]) :] if after and not name["states"] else ""
        return Reversal(found["said"].sub("", named), now.strip() if tokens(now) else "")
    if (lifts := found["lifts"].search(view)) and not is_limited(view[lifts.start() :]):
        return None if has_cue(view, "reported") else Reversal("", "", view)
    mark = found["turns_back"].search(view)
    if not mark or found["adds"].search(view):
        return None
    if has_cue(view, "reported") and not _OWN_MIND.search(mark[0]):
        return None
    now = ""
    for clause in CLAUSE.split(text):
        if mark := found["turns_back"].search(lowered(clause)):
            now += f"{clause[: mark.start()]} {clause[mark.end() :]} "
        elif now and len(tokens(now)) < LEAST_WORDS:
            now += clause
    return Reversal("", now) if now and not is_limited(now.lower()) else None
