"""Decides whether two notes say the same, so that you lose nothing if you keep the fuller note. Pure."""

from mcp_memory.comparison.comparison import Closeness, Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.sentence import QUOTED
from mcp_memory.comparison.values import ASIDES, FILLERS, LIMITS
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.sentences import quick_sentences
from mcp_memory.text.language.terms import are_two, content_words, fold, runs

FEWEST_WORDS = 4
"""The fewest content words of a note that is clear without its title."""
_ANY = Closeness(0.0, 0.0)
_ENDS, _QUOTES = ".,;:!…", "\"'“”„‘’«»()¿¡`"


def are_doubles(one: NoteText, other: NoteText) -> bool:
    """Return whether one note begins with all sentences of the other, word for word except for fillers and a part that
    moved, and then neither limits nor denies anything. A note on another condition isn't a double."""
    said, longer = sorted((said_in(one.text), said_in(other.text)), key=len)
    short, more = "\n".join(said), "\n".join(longer[len(said) :])
    subjects = [content_words(note.title) - content_words(note.text) for note in (one, other)]
    if len(content_words(short)) < FEWEST_WORDS or are_two(*subjects) or LIMITS.search(more) or denies(more):
        return False
    whole = NoteText("\n".join(longer))
    return all(map(_is_rearranged, said, longer)) and Comparison(NoteText(short), whole, least=_ANY).says_the_same


def said_in(text: str) -> list[str]:
    """Return the sentences of a note, without quotations and phrases that say no more."""
    return list(filter(str.strip, quick_sentences(ASIDES.sub("", QUOTED.sub("", text)))))


def _words(sentence: str) -> list[str]:
    begun = sentence[:1].lower() + sentence[1:].replace("?", " ? ")
    bare = [word.lstrip(_QUOTES).rstrip(_QUOTES + _ENDS) for word in begun.split()]
    return [fold(word) for word in bare if word and word not in FILLERS]  # `LA` and `vault A` aren't articles


def _is_rearranged(one: str, other: str) -> bool:
    """Return whether two sentences have the same words in the same order, except for a part that moved. That separates
    three pairs of neighbors; two parts that change places separate four. Beside `only` or `not`, nothing may have
    moved."""
    words, others = _words(one), _words(other)
    most = 0 if LIMITS.search(one) or denies(one) else 3
    pairs, neighbors = (runs(["", *found, ""], 2) for found in (words, others))
    return sorted(words) == sorted(others) and len(pairs - neighbors) <= most
