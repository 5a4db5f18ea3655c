"""Decides whether two notes are doubles, so that one of them may go without a loss. Pure."""

from collections.abc import Sequence

from mcp_memory.comparison.comparison import Closeness, Comparison
from mcp_memory.comparison.other_value import NoteText
from mcp_memory.comparison.sentence import QUOTED
from mcp_memory.comparison.values import ASIDES, FILLERS, LIMITS
from mcp_memory.text.language.denials import denies
from mcp_memory.text.language.sentences import quick_sentences
from mcp_memory.text.language.terms import are_two, content_words, fold, runs

FEWEST_WORDS = 4
"""The fewest content words of a note that is clear without its title."""
_ANY = Closeness(words=0.0, cosine=0.0)
_MARKS = ".,;:!?…\"'“”„‘’«»()*_`"


def are_doubles(one: NoteText, other: NoteText) -> bool:
    """Return whether one note begins with all sentences of the other, word for word except for fillers and a part that
    moved, and then neither limits nor denies anything. A note on another condition isn't a double."""
    said, longer = sorted((_sentences(one.text), _sentences(other.text)), key=len)
    same = (_is_rearranged(_words(first), _words(second)) for first, second in zip(said, longer, strict=False))
    if not all(same) or any(LIMITS.search(more) or denies(more) for more in longer[len(said) :]):
        return False
    short, long = NoteText("\n".join(said)), NoteText("\n".join(longer))
    subjects = [content_words(note.title) - content_words(note.text) for note in (one, other)]
    is_clear = len(content_words(short.text)) >= FEWEST_WORDS and not are_two(*subjects)
    return is_clear and Comparison(short, long, least=_ANY).says_the_same


def _sentences(text: str) -> list[str]:
    return [line for line in quick_sentences(ASIDES.sub("", QUOTED.sub("", text))) if line.strip()]


def _words(sentence: str) -> list[str]:
    found: list[str] = []
    for word in sentence.split():
        bare = word.strip(_MARKS)
        if bare and bare[0].lower() + bare[1:] not in FILLERS:  # `LA` isn't the French article
            found.append(fold(bare.casefold()))
    return found


def _is_rearranged(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two sentences have the same words in the same order, except for one part that may have moved,
    which separates three pairs of neighbors; two parts that change places separate four."""
    pairs, others = (runs(["", *words, ""], 2) for words in (one, other))
    return sorted(one) == sorted(other) and len(pairs - others) <= 3
