"""Finds the names that whole statements begin with, and the statements that mention a name. Pure."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from mcp_memory.curation.claims.claim import YOU, Evidence
from mcp_memory.text.dates import MONTHS
from mcp_memory.text.dates.due import WEEKDAYS, in_english
from mcp_memory.text.language.terms import words
from mcp_memory.text.language.word_lists import ENGLISH, stop_words
from mcp_memory.text.language.word_tables import read_cues

NAMES = "names"
"""The folder of names whose kind isn't known: rules don't tell a person from a machine."""
LEAST_NOTES, LEAST_DAYS = 3, 2
"""The fewest notes, and days of these notes, with a statement that begins with a name."""
_JOINT = re.compile(r"[\s_/-]+")
_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_LINK = re.compile(r"\[\[([^\]|#\n]+)")
_DAY = re.compile(rf"{'|'.join(MONTHS)}|{WEEKDAYS}")

Key = tuple[str, ...]
"""The words of a name in lower case."""


def cues() -> Mapping[str, re.Pattern[str]]:
    return read_cues("mcp_memory.curation.claims", "names.toml")


def shows(sign: str, text: str) -> bool:
    return cues()[sign].search(text) is not None


def key_of(name: str) -> Key:
    return tuple(part for part in _JOINT.split(name.lower()) if part)


class Name(NamedTuple):
    """A name. `folder` is the plural of its kind; `pattern` matches its forms."""

    folder: str
    text: str
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, folder: str, spellings: Sequence[str], short: Sequence[str] = ()) -> "Name":
        """Return the name with the longest or most common of its spellings, all of which match, besides its short
        forms."""
        text = max(spellings, key=lambda one: (len(one), spellings.count(one)))
        forms = [r"[\s_/-]+".join(map(re.escape, key)) for key in sorted({*map(key_of, spellings)})]
        whole = [f"(?i:{form})" for form in forms]
        return cls(folder, text, re.compile(rf"(?<!\w)(?:{'|'.join([*whole, *map(re.escape, short)])})(?!\w)"))


@dataclass(frozen=True)
class _Words:
    """The words of all statements. `coded`: somebody wrote them as code. `common`: they're written small somewhere, or
    with an article. `inner`: they have a capital within a sentence. `pinned`: a person made them a tag or a
    link."""

    coded: Set[str]
    common: Set[str]
    inner: Set[str]
    pinned: Set[Key]

    @classmethod
    def of(cls, stated: Sequence[Evidence]) -> "_Words":
        text = "\n".join(one.said for one in stated)
        coded, small = set(cues()["code"].findall(text)), {word for word in _WORD.findall(text) if word.islower()}
        determined = {word.lower() for word in cues()["determined"].findall(text)}
        own = [one for one in stated if one.voice == YOU]
        links = [link for one in own for link in _LINK.findall(one.said)]
        tags = [tag for one in own for tag in one.note.all_tags]
        return cls(coded, (small | determined) - coded, {*cues()["inner"].findall(text)}, {*map(key_of, links + tags)})

    def subject_of(self, one: Evidence) -> str:
        """Return the name that a statement begins with, or nothing."""
        found = cues()["name"].match(one.said)
        name = found["name"].rstrip(".-’'") if found else ""
        first, *others = name.split() or [""]
        is_day = _DAY.fullmatch(in_english(name.lower())) is not None
        if not name or is_day or first.lower() in ENGLISH | stop_words(words(one.said)):
            return ""
        is_name = others or self.is_coded(name) or (name[0].isupper() and first.lower() not in self.common)
        return name if is_name else ""

    def is_coded(self, name: str) -> bool:
        return name in self.coded or shows("coded", name)

    def is_seen(self, key: Key, found: Sequence[tuple[str, Evidence]]) -> bool:
        """Return whether more than its place at the beginning of sentences shows that a word is a name."""
        name = found[0][0]
        is_titled = any(key == key_of(one.note.title) for _, one in found)
        return bool(key[1:]) or self.is_coded(name) or name in self.inner or is_titled


def find_names(stated: Sequence[Evidence]) -> list[Name]:
    """Return the names that enough statements begin with, and those that a person tagged or linked, too. The first word
    of one longer name stands for it, and so does the last word of a longer name that is known well."""
    known, begun = _Words.of(stated), defaultdict[Key, list[tuple[str, Evidence]]](list)
    for one in stated:
        if name := known.subject_of(one):
            begun[key_of(name)].append((name, one))
    whole = defaultdict[Key, set[Key]](set)
    for key, found in begun.items():
        for word in {key[0], *key[-1:] * (len(found) > 1)} - known.common if key[1:] else ():
            whole[word,].add(key)
    longer = {word: next(iter(keys)) for word, keys in whole.items() if len(keys) == 1}
    names = list[Name]()
    for key, found in sorted(begun.items()):
        short = [word for word in longer if longer[word] == key]
        about = [one for each in (key, *short) for _, one in begun.get(each, ())]
        is_enough = len({one.note.id for one in about}) >= LEAST_NOTES and len({one.day for one in about}) >= LEAST_DAYS
        if key not in longer and (key in known.pinned or (is_enough and known.is_seen(key, found))):
            forms = [part for part in found[0][0].split() if (part.lower(),) in short]
            names.append(Name.of(NAMES, [name for name, _ in found], forms))
    return names
