"""Finds the subjects of statements: the names that statements begin with, define, or are titled with. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import product
from typing import NamedTuple

from mcp_memory.curation.claims.claim import Evidence
from mcp_memory.text.language.terms import words
from mcp_memory.text.language.word_lists import ENGLISH, language_of, stop_words
from mcp_memory.text.language.word_tables import read_cues

FOLDERS = ("people", "organizations", "services", "places")
"""The kinds, in plural. Of two with the same signs, the first counts."""
OTHER = "things"
"""The kind of a subject without any sign."""
_INSIDE, _SURE = 6, 3
"""The weights of a sign in the name itself and of one that nearly suffices; any other sign counts once."""
ENOUGH = 2
"""The points of a subject: one for each statement or title about it, two for a definition."""
MOST_TITLE_WORDS = 3
"""The most words of a title that names the subject of its note instead of saying what the note says."""
MOST_WORDS_BEFORE = 3
"""The most words before a name with which a statement begins."""
_WORD, _JOINT = re.compile(r"[\w-]*\w"), re.compile(r"[\s-]+")

_Key = tuple[str, ...]
"""The words of a name in lower case."""


def cues() -> Mapping[str, re.Pattern[str]]:
    return read_cues("mcp_memory.curation.claims", "names.toml")


def shows(sign: str, text: str) -> bool:
    return cues()[sign].search(text) is not None


class Name(NamedTuple):
    """A name. `folder` is the plural of its kind; `pattern` matches its forms."""

    folder: str
    text: str
    pattern: re.Pattern[str]

    def begins(self, text: str) -> bool:
        """Return whether a statement begins with the name, after a few words."""
        found = self.pattern.search(text)
        return found is not None and len(text[: found.start()].split()) <= MOST_WORDS_BEFORE


class _Mention(NamedTuple):
    """A name in a statement; in `context`, `¤` stands for it."""

    statement: Evidence
    name: str
    context: str
    language: str

    def shows(self, sign: str) -> bool:
        return shows(sign, self.context)

    def has(self, sign: str) -> bool:
        return shows(sign, self.name)

    @property
    def key(self) -> _Key:
        return tuple(_JOINT.split(self.name.lower()))

    @property
    def is_whole(self) -> bool:
        """Return whether only names look so: several words with capitals, or an identifier."""
        return self.has("coded") or (" " in self.name and not self.name.islower())

    @property
    def is_titled(self) -> bool:
        """Return whether a short title names it."""
        title = _JOINT.split(self.statement.note.title.lower())
        return len(title) <= MOST_TITLE_WORDS and not {self.key[0], self.key[-1]}.isdisjoint(title)

    @property
    def is_name(self) -> bool:
        """Return whether the spelling shows a name. A capital after a full stop doesn't, nor does any in German, and a
        word in lower case is one if both the title and a clause begin with it."""
        title = self.statement.note.title
        is_titled = title == self.name and (self.statement.leads or self.has("head"))
        if is_titled or self.is_whole or self.is_defined or self.shows("introduced") or self.has("first_name"):
            return True
        if self.name.islower():
            return title.startswith(self.key[0]) and self.shows("opening") and self.is_subject
        return self.shows("addressed") or (self.language != "de" and not self.shows("opens"))

    @property
    def is_defined(self) -> bool:
        return self.shows("defined" if self.is_whole or self.language != "de" else "defined_ours")

    @property
    def is_subject(self) -> bool:
        """Return whether its clause begins with it. In English the verb must look like one after a single word."""
        is_clear = self.language != "en" or (self.is_whole and self.name[0].isupper())
        return self.shows("subject" if is_clear else "subject_en")

    @property
    def points(self) -> int:
        """Return 2 for a definition or a person's whole name, 1 for another person and for the subject of a clause or
        note, else 0."""
        is_record = self.is_whole and self.statement.place == 0 and self.shows("record")
        is_apposed = self.shows("apposed_en" if self.language == "en" else "apposed")
        is_first, is_personal = self.has("first_name"), self.has("personal")
        kinds = () if self.language == "de" else FOLDERS  # in German, two nouns may stand side by side
        may_be_sure = " " in self.name and self.is_whole and self.is_subject
        is_sure = may_be_sure and (self.has("clear") or any(self.shows(f"{folder}_sure") for folder in kinds))
        is_whole = (is_first and is_personal and not self.has("head")) or is_sure
        if is_whole or is_record or is_apposed or self.is_defined or self.shows("defines") or self.has("legal"):
            return 2
        return int(is_first or self.is_subject or (self.is_titled and (is_personal or self.shows("object"))))


def find_names(stated: Sequence[Evidence]) -> list[Name]:
    """Return the names that statements are about."""
    texts = [one.said for one in stated]
    plain = _lower_words(text for text in texts if text[:1].isupper())
    titled = {one.note.title.split(" ")[0] for one in stated} & _lower_words(texts)
    seen = defaultdict[_Key, list[_Mention]](list)
    for one in stated:
        for mention in _mentions(one, titled):
            seen[mention.key].append(mention)
    ends = Counter(word for key in seen if key[1:] for word in {key[0], key[-1]})
    for key in [key for key, (one, *_) in seen.items() if key[1:] and (one.language != "de" or one.has("clear"))]:
        for word in {key[0], key[-1]} - plain - ENGLISH:
            if ends[word] < 2 and not shows("head", word):
                seen[key] += [mention for mention in seen.get((word,), []) if not mention.name.islower()]
    kept = [key for key in sorted(seen) if _is_enough(seen[key], plain)]
    sets = list(map(frozenset, kept))
    whole = [key for key in kept if not any(set(key) < other for other in sets)]
    common = plain | ENGLISH
    counts = Counter(word for key in whole for word in set(key))
    return [_named(key, seen[key], counts, common) for key in whole]


def _lower_words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text) if word.islower()}


def has_subject(one: Evidence) -> bool:
    """Return whether a statement is about something that looks like a name, known or not."""
    return any(found.is_name and not found.shows("record") and found.points for found in _mentions(one, frozenset()))


def find_mentions(names: Iterable[Name], texts: Sequence[str]) -> Iterator[tuple[Name, list[int]]]:
    """Yield each name with the numbers of the texts that mention it."""
    by_word = defaultdict[str, set[int]](set)
    for number, text in enumerate(texts):
        for word in words(text):
            by_word[word].add(number)
    # Some people write names in small letters.
    views = [text if text[:1].isupper() else f"{text}\n{text.title()}" for text in texts]
    for name in names:
        near = set[int]().union(*(by_word[word] for word in words(name.text)))
        yield name, [one for one in sorted(near) if name.pattern.search(views[one])]


def _is_enough(found: Sequence[_Mention], plain: Set[str]) -> bool:
    """Return whether there are statements about the name, and enough of them, or another note with it."""
    name, notes = found[0].name, {one.statement.note.id for one in found}
    lower = [one for one in found if one.name.islower()]
    if any(one.shows("determined") and not one.has("noun") for one in lower) or (not lower and name.lower() in plain):
        return False
    titles = {one.statement.note.title for one in found if one.is_titled}
    is_name = any(one.is_name for one in found)
    if not (is_name or titles):
        return False
    about = defaultdict[str, int](int)
    for one in found:
        if points := one.points:
            about[one.statement.said] = max(about[one.statement.said], points + one.statement.leads)
    if not is_name and len(about) < 2:
        return False
    if shows("product", name) or (not titles and any(one.name.isupper() for one in found)):
        return len(notes) > 1 and len(about) > 1
    return bool(about) and (sum(about.values()) + len(titles) >= ENOUGH or len(notes) > 1)


def _mentions(one: Evidence, titled: Set[str]) -> Iterator[_Mention]:
    """Yield the names in a statement: runs of capitalized words, identifiers, and words of `titled` in lower case."""
    said, titles = one.said, one.note.title.split()
    known = words(f"{one.note.title} {said}")
    skipped, language = ENGLISH | stop_words(known), language_of(known)
    found = [*cues()["name"].finditer(said)]
    found += [match for match in _WORD.finditer(said) if match[0] in titled]
    if language == "en" and said.islower() and said.split()[0] in titled:
        found += cues()["whole_lower"].finditer(said)
    for match in found:
        start, span = match.start(), match[0]
        parts = (span if shows("noun", span) else re.split(r"['’]s?(?: |$)", span)[0]).split()
        leads = skipped - {"may"} if shows("begins", said[:start]) else ()
        while _has_lead(parts) or (parts[1:] and parts[0].lower() in leads and parts != titles):
            parts = parts[1:]
        name = " ".join(parts)
        at = said.index(name, start)
        context = f"{said[:at]}¤{said[at + len(name) :]}"
        mention = _Mention(one, name, context, language)
        if name and not (name.lower() in skipped or mention.has("generic") or mention.shows("excluded")):
            yield mention


def _has_lead(parts: Sequence[str]) -> bool:
    """Return whether the words begin with a title or role. In `Baker Street` the role is part of the name."""
    is_name = not parts[1:] or parts[1] in {"of", "des", "du"} or (not parts[2:] and shows("head", parts[1]))
    return not is_name and shows("lead", parts[0])


def _named(key: _Key, found: Sequence[_Mention], counts: Counter[str], common: Set[str]) -> Name:
    text = max((one.name for one in found if one.key == key), key=lambda name: (sum(map(str.isupper, name)), name))
    is_personal = shows("personal", text) and key[-1] not in common
    folder = _kind_of(text, [one.context for one in found], is_personal=is_personal)
    own = [word for word in text.split() if not shows("head", word)] or [text]
    whole = r"[\s-]+".join(map(re.escape, key))
    forms = [f"(?i:{whole})"]
    common = common - set(key) if text.islower() else common
    is_short = folder == "people" or own[-1] in {one.name for one in found}
    for part in sorted({own[0], own[-1] if is_short else " ".join(own)}):
        is_clear = part.lower() not in common and counts[part.lower()] < 2
        if is_clear and len(part) > 2 and not shows("generic", part):
            forms.append(re.escape(part))
    return Name(folder, text, re.compile(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)"))


def _kind_of(name: str, contexts: Sequence[str], *, is_personal: bool) -> str:
    """Return the most likely kind of a name. In each context, `¤` stands for the name."""
    votes = Counter[str](people=2 * is_personal + _INSIDE * shows("first_name", name))
    signs = ("inside", _INSIDE, [name]), ("sure", _SURE, contexts), ("hint", 1, contexts)
    for folder, (sign, weight, texts) in product(FOLDERS, signs):
        votes[folder] += weight * sum(len(set(cues()[f"{folder}_{sign}"].findall(text))) for text in texts)
    best = max(FOLDERS, key=votes.__getitem__)
    return best if votes[best] else OTHER
