"""Finds the people, organizations, places and services that statements name. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache

from mcp_memory.comparison.values import MONTHS, TITLES, WEEKDAYS
from mcp_memory.text.language.terms import words
from mcp_memory.text.language.word_lists import ENGLISH, language_of, stop_words
from mcp_memory.text.language.word_tables import read_cues, read_table

FOLDERS = ("places", "organizations", "services", "people")
"""The types of names, in plural. Of two types with the same signs, the first counts."""

_HERE, _CUES = "mcp_memory.curation.claims", "names.toml"
_OF_NAME, _ENOUGH, _HINT = 5, 3, 1
"""The weights of signs: in the name itself, beside it if that suffices, and beside it."""
_SIGNS = {"inside": _OF_NAME, "before": _ENOUGH, "after": _ENOUGH, "near": _HINT, "does": _HINT, "may": _HINT}
_LEAST_MENTIONS = 2
"""The fewest statements with a name of a single word for which there are only hints."""
_BESIDE = 100
"""The number of characters read on each side of a name."""

_NO_NAMES = ENGLISH | MONTHS.keys() | WEEKDAYS.keys() | TITLES
_WORD = re.compile(r"[\w-]*\w")
_CODED = re.compile(r"[0-9]|[a-z][A-Z]|\b[A-Z]{2,}\b")
"""Matches what nobody is called: digits, capitals inside a word, and abbreviations."""

_Parts = tuple[str, ...]
"""The words of a name; the last one may be a common noun in lower case, as in `Leeds office`."""


@dataclass(frozen=True)
class Name:
    """A name. `folder` is the plural of its type; `own` excludes a common noun; `pattern` matches its forms."""

    folder: str
    text: str
    own: str
    pattern: re.Pattern[str]


def cues() -> Mapping[str, re.Pattern[str]]:
    return read_cues(_HERE, _CUES)


@cache
def _words_in(table: str, key: str) -> frozenset[str]:
    return frozenset(read_table(_HERE, table)[key].split())


def _is_first_name(word: str) -> bool:
    return word in _words_in("first_names.toml", "names")


def find_names(said: Iterable[tuple[str, str]]) -> list[Name]:
    """Return the names in statements, each given with the title of its note."""
    texts = [text for _, text in said]
    plain = {word for text in texts for word in _WORD.findall(text) if word.islower()}
    towns = {match["name"] for text in texts for match in cues()["town"].finditer(text)}
    found = defaultdict[_Parts, Counter[str]](Counter[str])
    for title, text in said:
        for name, votes in dict(_read(text if title in text else f"{title}. {text}", plain)).items():
            found[name].update(votes, mentions=1)
    kept = {name: _folder(votes) for name, votes in found.items() if _is_enough(name, votes, plain)}
    sets = list(map(frozenset, kept))
    whole = [name for name in sorted(kept) if not any(set(name) < other for other in sets)]
    return [_named(name, kept[name], whole, plain | towns if _noun(name) else plain) for name in whole]


def find_mentions(names: Iterable[Name], texts: Sequence[str]) -> Mapping[Name, Sequence[int]]:
    """Return the numbers of the texts that mention each name."""
    by_word = defaultdict[str, set[int]](set)
    for number, text in enumerate(texts):
        for word in _WORD.findall(text.lower()):
            by_word[word].add(number)
    found: dict[Name, list[int]] = {}
    for name in names:
        near = set[int]().union(*(by_word[word] for word in _WORD.findall(name.text.lower())))
        found[name] = [one for one in sorted(near) if name.pattern.search(texts[one])]
    return found


def _noun(name: _Parts) -> str:
    return name[-1] if name[-1].islower() else ""


def _own(name: _Parts) -> _Parts:
    return name[:-1] if _noun(name) else name


def _folder(votes: Counter[str]) -> str:
    return max(FOLDERS, key=lambda folder: votes[folder])


def _is_enough(name: _Parts, votes: Counter[str], plain: Set[str]) -> bool:
    first, *others = name
    is_whole = bool(others)
    if not is_whole and (first.lower() in plain or not (votes["inside"] or votes["clear"])):
        return False
    is_named = is_whole or votes["clear"] or votes["mentions"] >= _LEAST_MENTIONS
    return bool(is_named) and votes[_folder(votes)] + is_whole >= _ENOUGH


def _read(text: str, plain: Set[str]) -> Iterator[tuple[_Parts, Counter[str]]]:
    """Yield the names in a text with their signs. `plain` are the words that also appear in lower case."""
    known = words(text)
    skipped, is_german = _NO_NAMES | stop_words(known), language_of(known) == "de"
    for match in (*cues()["name"].finditer(text), *cues()["noun_in"].finditer(text)):
        start, whole = match.start("name"), re.sub(r"['’]s?$", "", match["name"])
        begins = re.search(r"(?:^|[.!?:;]\s+|\n)\W*$", text[:start]) is not None
        generic = _words_in(_CUES, "generic")
        name = _trimmed(re.sub(r".*['’]s ", "", whole).split(), skipped, generic | plain if begins else generic)
        joined = " ".join(name)
        if not name or joined.lower() in generic:
            continue
        at = text.index(joined, start)
        noun = match["noun"].strip().lower() if match["noun"] and whole == match["name"] else ""
        end = max(at + len(joined), match.end("noun"))
        before, after = text[max(0, at - _BESIDE) : at], text[end : end + _BESIDE]
        if cues()["none_before"].search(f"{before}{name[0] if name[1:] else ''} ") or cues()["none_after"].match(after):
            continue
        if is_german and not name[1:] and cues()["noun_of"].search(before):
            continue
        votes = _votes(name, before, after, is_german=is_german)
        votes["inside"] += at > start or not (begins or is_german)  # only names are capitalized there
        if noun:
            votes.update({"places" if cues()["place"].match(noun) else "organizations": _OF_NAME, "clear": 1})
        yield (*name, noun) if noun else tuple(name), votes


def _trimmed(name: list[str], skipped: Set[str], leads: Set[str]) -> list[str]:
    """Return a name without function words, months and roles around it."""

    def is_lead() -> bool:
        return len(name) > 1 and name[0].lower() in leads and not cues()["head"].match(" ".join(name[1:]))

    while name and (name[0].lower() in skipped or is_lead()):
        name = name[1:]
    while name and name[-1].lower() in skipped:
        name = name[:-1]
    is_titled = any(cues()[f"{folder}_inside"].search(" ".join(name)) for folder in ("places", "organizations"))
    while len(name) > 1 and not is_titled and cues()["role"].match(name[0]):
        name = name[1:]
    while len(name) > 2 and not is_titled and not _is_first_name(name[0]) and _is_first_name(name[1]):
        name = name[1:]
    return name


def _votes(name: Sequence[str], before: str, after: str, *, is_german: bool) -> Counter[str]:
    joined, is_whole, is_first = " ".join(name), len(name) > 1, _is_first_name(name[0])
    hints = is_first or ((is_whole or not is_german) and not joined.isupper())
    is_nobody = _CODED.search(joined) or (not is_whole and (is_german or cues()["at"].search(before)))
    votes = Counter(people=_OF_NAME - 1, clear=int(is_whole)) if is_first else Counter[str]()
    for folder in FOLDERS if is_first or not is_nobody else FOLDERS[:-1]:
        for sign, weight in _SIGNS.items():
            pattern = cues().get(f"{folder}_{sign}")
            if pattern is None or (weight == _HINT and not hints) or (sign == "may" and not is_first):
                continue
            is_behind = sign in {"after", "does", "may"}
            if pattern.match(after) if is_behind else pattern.search(joined if sign == "inside" else before):
                votes.update({folder: weight, "clear": weight >= _ENOUGH})
    return votes


def _named(name: _Parts, folder: str, names: Sequence[_Parts], common: Set[str]) -> Name:
    own, noun = _own(name), _noun(name)
    is_person = folder == "people"
    short = {own[0], own[-1]} if is_person else [word for word in own if not cues()["head"].match(word)][:1]
    alone = [word for word in short if not {word, word.lower()} & common and sum(word in one for one in names) == 1]
    forms = [r"[\s-]+".join(map(re.escape, name))]
    if is_person and name[1:]:
        forms.append(rf"{re.escape(name[-1])}, {re.escape(name[0])}")
    if noun:
        forms.append(rf"{noun} (?:in|at) {re.escape(' '.join(own))}")
        if sum(_noun(one) == noun for one in names) == 1:
            forms.append(rf"(?:^|(?<=the )|(?<=our )){noun}")
    pattern = "|".join([f"(?i:{'|'.join(forms)})", *sorted(map(re.escape, alone))])
    return Name(folder, " ".join(name), " ".join(own), re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"))
