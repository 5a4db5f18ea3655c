"""Splits text into words, drops words without meaning, folds the forms of a word into a single key, and measures how
many words two texts share."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from functools import lru_cache
from string import ascii_lowercase
from unicodedata import normalize

from mcp_memory.text.language.word_lists import STOP_WORDS, stop_words

REPEATED = 0.8
"""The coverage from which a text repeats a sentence. The rest is how the sentence joins its neighbors."""


def jaccard(one: Set[object], other: Set[object]) -> float:
    """Return the share of all words of two texts that both have, 0 to 1; 0 for two texts without words."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def coverage(words: Set[object], text: Set[object]) -> float:
    """Return the share of the words that a text has, 0 to 1; 0 without words."""
    return len(words & text) / len(words) if words else 0.0


def containment(one: Set[object], other: Set[object]) -> float:
    """Return the share of the shorter text's words that the longer text has, 0 to 1."""
    return max(coverage(one, other), coverage(other, one))


def are_two(one: Set[object], other: Set[object]) -> bool:
    """Return whether each side has an item that the other side lacks."""
    return bool(one - other and other - one)


def runs(words: Sequence[object], length: int) -> Set[object]:
    """Return the runs of neighboring words, to compare texts with the order of their words. Equal runs are numbered, so
    that each of them counts."""
    counts = Counter(zip(*(words[start:] for start in range(length)), strict=False))
    return {(run, number) for run, count in counts.items() for number in range(count)}


_ACCENTS = "\u0300-\u036f"
"""Combining accents; some systems write `Zü` as `Zu` plus an accent."""
_ACCENT = re.compile(f"[{_ACCENTS}]")
_SOUTH_EAST_ASIAN = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(rf"[\w{_SOUTH_EAST_ASIAN}{_ACCENTS}]+")
"""Matches a word, including the marks of these scripts and combining accents, which aren't letters but occur in
words."""
_EAST_ASIAN = r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_UNSPACED = re.compile(f"[{_EAST_ASIAN}{_SOUTH_EAST_ASIAN}]+")
"""Matches runs of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese, which have no spaces between words."""

_EMOJI_CHARS = "\u231a-\u23ff\u2600-\u27bf\u2b1b-\u2b55\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
_MODIFIERS = "\ufe0e\ufe0f\U0001f3fb-\U0001f3ff"
"""Modifiers of an emoji: its presentation and its skin tone."""
_JOINER = "\u200d"
_EMOJI = f"[\U0001f1e6-\U0001f1ff]{{2}}|[{_EMOJI_CHARS}][{_MODIFIERS}]*(?:{_JOINER}[{_EMOJI_CHARS}][{_MODIFIERS}]*)*"
_MODIFIER = re.compile(f"[{_MODIFIERS}]")
_EMOJI_RUN = re.compile(_EMOJI)
_PLUSES = re.compile(r"(?<![a-z0-9-])[a-z][a-z0-9]{0,11}(?:-[a-z0-9]{1,11})?\+\+(?!\+)", re.IGNORECASE)  # C++
_SHARP = re.compile(r"(?<![\w&])[a-z]\#(?![a-z\#])", re.IGNORECASE)  # C#
_LEADING_DOT = re.compile(r"(?<![\w./\\-])\.[a-z][a-z0-9]{1,14}(?![\w/\\]|\.\w)", re.IGNORECASE)  # .NET
_SIGNED = "|".join(pattern.pattern for pattern in (_PLUSES, _SHARP, _LEADING_DOT))
_SYMBOL = re.compile(f"{_SIGNED}|{_EMOJI}", re.IGNORECASE)
_TOKEN = re.compile(f"(?P<symbol>{_SIGNED})|(?P<emoji>{_EMOJI})|{_WORD.pattern}", re.IGNORECASE)
_MAY_BE_SHARP, _MAY_LEAD, _MAY_BE_EMOJI = (
    re.compile(r"\#"),
    re.compile(r"\.[A-Za-z]"),
    re.compile("[\u231a-\U0001faff]"),
)
"""Quick checks before the full patterns; they take a twentieth of the time."""
_DOTTED = re.compile(r"(?<![\w.])[a-z]\w*(?:\.[a-z]\w*)+(?!\w)", re.IGNORECASE)
_MOST_WORDS_ASIDE, _MOST_WORDS_BESIDE_EMOJI = 4, 2
"""The most words of a question in which an emoji is meaningful, and `node.js` isn't described well enough by its
words."""

_SHORTEST_STEM = 3

MIN_SPELLING_CHARS, MAX_SPELLING_CHARS = 5, 24
"""The lengths of words that are checked for typing errors. Nearly any shorter word is one letter away from another, and
longer strings aren't words."""

MAX_TOPIC_QUERY_CHARS = 300
"""The maximum length of a question about a topic."""
_ABOUT_A_TOPIC = re.compile(
    r"\b(?:overview|summary|summari[sz]e|recap|everything|(?:we|you|i) (?:\w+ )?know (?:about|of|on)"
    r"|tell me about|what about|explain|walk (?:me|us) through|need to know (?:about|for|on)"
    r"|what(?:'?s| is| are)(?=.* about\W*$)|how (?:do|does)(?=.* works?\b)"
    r"|up to speed (?:on|with)|where (?:are|do) we (?:stand )?(?:on|with)|we (?:decide|agree|plan)\w* (?:about|for|on)"
    r"|erklär\w*|erzähl\w*|explique\w*|explícame"
    r"|worum geht(?: ?e|')s|überblick|übersicht|zusammenfass\w*|fass\w*(?=.* zusammen\W*$)"
    r"|alles (?:über|zu[mr]?)|(?:wissen wir|weißt du) (?:\w+ )?(?:über|von|zu[mr]?)|wie (?:läuft|laufen|funktionier\w+)"
    r"|wie steht es (?:mit|um)|de quoi (?:parle(?:nt)?|il s'agit|s'agit-il)|(?:sait-on|savons-nous|sais-tu)|résum\w+"
    r"|vue d'ensemble|aperçu|tout sur|parle-moi|comment (?:fonctionn|march)\w+|en quoi consist\w+|où en (?:est|sommes)"
    r"|de qué (?:van?|tratan?|se tratan?)|(?:sabemos|sabes) (?:\w+ )?(?:del?|sobre)|resumen|resúm\w+"
    r"|visión general|(?:cuénta|hábla)(?:me|nos)|todo sobre|cómo funcionan?|en qué consisten?)\b",
    re.IGNORECASE,
)
"""Matches questions about a topic, in four languages."""


def words(text: str) -> list[str]:
    """Return all words in order, in lower case. A run of a script without spaces becomes its overlapping pairs."""
    if text.isascii():
        return _WORD.findall(text.lower())
    return [piece for match in _WORD.finditer(text) for piece in _pieces(match[0])]


def terms(question: str) -> list[str]:
    """Return the distinct words that a keyword search should look for, in order of appearance.

    Stop words are dropped if other words are left. A stop word in capitals is an acronym (IT, US, WHO) and stays,
    unless the whole question is in capitals. `C++` and `.NET` are terms; in a short question, so are emoji and
    `node.js`. The question `node.js` has only that term. The result is empty for a question without any of these."""
    head = question[:10_000]
    if _DOTTED.fullmatch(alone := head.strip(" \n?!.,")):
        return [alone.lower()]
    shouting, dropped = head.upper() == head, stop_words(words(head))
    everything: dict[str, None] = {}
    meaningful: dict[str, None] = {}
    emoji: dict[str, None] = {}
    for match in _TOKEN.finditer(head):
        word = match[0]
        if match["emoji"]:
            emoji[symbol_name(word)] = None
            continue
        if match["symbol"]:
            everything[symbol_name(word)] = meaningful[symbol_name(word)] = None
            continue
        acronym = len(word) > 1 and word.isupper() and not shouting
        for piece in _pieces(word):
            if not any(character.isalnum() for character in piece):
                continue
            everything[piece] = None
            if acronym or piece not in dropped:
                meaningful[piece] = None
    found = meaningful or everything
    beside = emoji if len(found) <= _MOST_WORDS_BESIDE_EMOJI else {}
    dotted = _DOTTED.findall(head) if len(found) <= _MOST_WORDS_ASIDE else []
    return list(found | beside | dict.fromkeys(name.lower() for name in dotted))


def symbol_names(text: str) -> list[str]:
    """Return the emoji of a text, and its names that contain signs: `c++`, `c#`, `.net`."""
    found = _PLUSES.findall(text) if "++" in text else []
    sharps = (_SHARP.match(text, max(sign.start() - 1, 0)) for sign in _MAY_BE_SHARP.finditer(text))
    dots = (_LEADING_DOT.match(text, sign.start()) for sign in _MAY_LEAD.finditer(text))
    found += [name[0] for name in (*sharps, *dots) if name]
    if _MAY_BE_EMOJI.search(text):
        found += _EMOJI_RUN.findall(text)
    if not found:
        return found
    names = list(map(symbol_name, found))
    return names + [part for name in names if _JOINER in name for part in name.split(_JOINER)]


def symbol_name(written: str) -> str:
    """Return the index form of a name with signs, or of an emoji: in lower case, without skin tone."""
    return _MODIFIER.sub("", written.lower())


def is_symbol(term: str) -> bool:
    """Return whether a term is an emoji or a name that contains signs."""
    return _SYMBOL.fullmatch(term) is not None


def is_aside(term: str, others: Collection[str]) -> bool:
    """Return whether a term is optional beside the others, so that a text without it is still complete: an emoji beside
    words, and `node.js` beside its parts."""
    if _DOTTED.fullmatch(term):
        return all(part in others for part in term.split("."))
    return not any(map(str.isalnum, term)) and any(any(map(str.isalnum, other)) for other in others)


def dotted_names(question: str) -> list[str]:
    """Return names such as `node.js`, in lower case."""
    return _DOTTED.findall(question.lower())


def folded(text: str) -> frozenset[str]:
    """Return the folded words of a text."""
    return frozenset(map(fold, words(text)))


def content_words(text: str) -> frozenset[str]:
    """Return the folded words of a text, without English stop words. In other languages the number of these words is
    measured with their function words."""
    return frozenset(fold(word) for word in words(text) if word not in STOP_WORDS)


def telling_words(text: str) -> frozenset[str]:
    """Return the folded words of a text, without the stop words of its language, to find out whether texts share
    any."""
    found = words(text)
    return frozenset(map(fold, set(found) - stop_words(found)))


def topic_asked_about(question: str) -> frozenset[str]:
    """Return the folded words of the topic in a question such as "what do we know about the Japan trip?"; empty for a
    more specific question."""
    if len(question) > MAX_TOPIC_QUERY_CHARS:
        return frozenset()
    question = question.replace("’", "'")
    rest, count = _ABOUT_A_TOPIC.subn(" ", question)
    return content_words(rest) & telling_words(question) - _FILLERS if count else frozenset()


def plain(text: str) -> str:
    """Remove differences of case, accents and full-width letters, and drop NUL and surrogates. The index uses this
    function."""
    if text.isascii():
        return text.lower().replace("\0", " ")
    spelled = normalize("NFKD", text.encode("utf-8", "replace").decode("utf-8").casefold())
    return normalize("NFC", _ACCENT.sub("", spelled)).replace("\0", " ")


@lru_cache(maxsize=65_536)
def fold(word: str) -> str:
    """Return a key shared by forms of an English word (`paint`, `painted`, `painting`) and by spellings that differ
    only in accents (`Zürich`, `zurich`).

    The light suffix stripper follows the first step of Porter's algorithm (1980). It suffices to decide whether a
    passage has a word of the question. Ranking uses the index's own stemmer."""
    if not word.isascii():
        word = plain(word)
    if not word.isascii() or not word.isalpha():
        return word
    for suffix, ending in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return _plain_ending(word[: len(word) - len(suffix)] + ending)
    return _plain_ending(word)


_SUFFIXES = (
    ("ies", "y"), ("ied", "y"), ("ings", ""), ("ing", ""), ("sses", "ss"), ("ed", ""), ("ss", "ss"), ("us", "us"),
    ("s", ""),
)  # fmt: skip


def _plain_ending(stem: str) -> str:
    """Drop a final `e` and a doubled consonant, so that `dance` equals `dancing`, and `planned` equals `plan`."""
    drop = stem[-1] == "e" or (stem[-1] == stem[-2:-1] and stem[-1] not in "aeiouls")
    return stem[:-1] if len(stem) > _SHORTEST_STEM and drop else stem


_FILLERS = content_words(
    "give show list tell know notes memory topic bring work so far"
    " gib zeig mal bitte beim zusammen ab die der das donne dame"
)


def one_letter_away(word: str) -> list[str]:
    """Return the words with one letter missing, added or replaced, or with two adjacent letters swapped, in
    alphabetical order: some 53 for each letter. Empty for anything but a lower-case word of 5 to 24 English letters."""
    if not MIN_SPELLING_CHARS <= len(word) <= MAX_SPELLING_CHARS:
        return []
    if not (word.isascii() and word.isalpha() and word.islower()):
        return []
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    found = {before + after[1:] for before, after in splits if after}
    found |= {before + after[1] + after[0] + after[2:] for before, after in splits if len(after) > 1}
    found |= {before + letter + after[1:] for before, after in splits if after for letter in ascii_lowercase}
    found |= {before + letter + after for before, after in splits for letter in ascii_lowercase}
    return sorted(found - {word})


def _pieces(word: str) -> Iterable[str]:
    lower = word.lower()
    return (lower,) if lower.isascii() else _split_unspaced(lower)


def _split_unspaced(word: str) -> Iterable[str]:
    at = 0
    for run in _UNSPACED.finditer(word):
        if run.start() > at:
            yield word[at : run.start()]
        letters = run[0]
        yield from (letters[i : i + 2] for i in range(max(1, len(letters) - 1)))
        at = run.end()
    if at < len(word):
        yield word[at:]
