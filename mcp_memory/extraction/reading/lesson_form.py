"""Checks the lesson that a language model made of a session, and words it in a fixed form. Pure."""

from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import NamedTuple

from mcp_memory.extraction.reading.evidence import Quotations, SessionWords, plain
from mcp_memory.recall.moments.tool_action import call_text, command_of
from mcp_memory.statements.candidate import Voice
from mcp_memory.statements.error_lines import MAX_CHARS, pasted_errors
from mcp_memory.statements.statement_rules import says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.language.word_tables import has_cue

WAYS = {"wrong_way": "Wrong way", "right_way": "Right way", "reason": "Reason"}
"""Maps a field of the answer to its head in the note."""
PATIENCE = 3
"""The number of the person's next messages that may call a proved solution wrong."""


class Lesson(NamedTuple):
    """A problem and its solution as the text of a note. `doubt`: why the solution may be wrong."""

    text: str
    evidence: Quotations
    doubt: str


def find_lesson(words: SessionWords, given: Mapping[str, str], quotes: Sequence[str], number: object) -> Lesson | None:
    """Return the lesson with the sentences of an answer; None without words of the agent or the person for it. It is
    certain if the command with this number passed later, or the person confirmed it, and didn't refute it afterwards,
    or if the person explained it."""
    messages, agreed = words.messages, given["agreed"]
    found = {quote: at for quote in quotes for at in words.places(quote)[:1]}
    passed = [at for at, one in enumerate(messages) if command_of(one) and not one.failed]
    proof = [at for at in passed if str(at + 1) == str(number).strip("[] ")]
    heard = [at for at in words.places(agreed) if messages[at].is_persons and not _is_wrong(agreed)][-1:]
    last = max([*proof, *heard, *found.values()], default=0)
    if not found or messages[last].offset < words.fresh_from:
        return None
    is_persons = all(messages[at].is_persons for at in found.values())
    proved = max([*proof, *heard, 0])
    doubt = "" if proved > min(found.values()) or is_persons else "nothing in the session confirms it"
    later = [one.text for one in messages[proved + 1 :] if one.is_persons]
    if any(map(_is_wrong, later[:PATIENCE])):
        doubt = doubt or "it was perhaps refuted later"
    error = plain(given["error"])
    printed = [at for at, one in enumerate(messages) if error and not one.is_assistants and error in plain(one.text)]
    calls = [call_text(one) for one in messages if one.is_call]
    places = dict.fromkeys([*found.values(), *heard, *printed[:1], *proof])
    evidence = Quotations(
        (*found, *([agreed] if heard else [])),
        tuple(messages[at] for at in places),
        Voice.AGREED if heard else Voice.UNSURE,
        "\n".join([words.said, *calls, error]),
    )
    shown = given["error"].replace("`", "'")[:MAX_CHARS]
    lines = [f"{given['text']}\n", f"- Error: `{shown}`" if printed else ""]
    lines += [given[name] and f"- {head}: {given[name]}" for name, head in WAYS.items()]
    lines += [f"\nProved by:\n\n{indent(call_text(messages[at]), '    ')}" for at in proof]
    return Lesson("\n".join(filter(None, lines)), evidence, doubt)


def _is_wrong(text: str) -> bool:
    is_wrong = has_cue("mcp_memory.statements", "lessons.toml", "wrong", text) or pasted_errors(text)
    return bool(is_wrong) and not any(map(says_it_works, user_sentences(text)))
