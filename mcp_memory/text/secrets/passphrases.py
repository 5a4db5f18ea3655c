"""Recognizes a passphrase of several words after its name."""

import re

from mcp_memory.text.language.word_lists import STOP_WORDS

_OF_PHRASES = re.compile(r"passphrase|(?:seed|recovery|backup)[ \-]phrase|mnemonic")
_OF_PASSWORDS = re.compile(r"passwor[dt]|kennwort|mot de passe|contrase[ñn]a")
_OWN = re.compile(r"\b(?:my|our|meine?|unser|mi|nuestra|mon|notre)[ \t](?:\w{1,20}[ \t]){0,2}\Z")
"""Matches the words before somebody's own password, which no manual has."""
_MOST_CHARS_BEFORE = 60
_VERB = r"(?:is|ist|est|es|lautet)"
_HYPHENATED = re.compile(
    rf"(?:[ \t]{{1,3}}{_VERB})?[ \t]{{0,3}}:?[ \t]{{1,3}}[\"'`]?"
    r"(?P<secret>[a-z]{3,12}(?:-[a-z]{3,12}){3,11}(?:-?[0-9]{1,4})?)(?![\w\-])"
)
_SPACED = re.compile(
    rf"(?:[ \t]{{0,2}}[:=]|[ \t]{{1,3}}{_VERB}:?)[ \t]{{1,3}}[\"'`]?"
    r"(?P<secret>[^\W\d_]{3,12}(?: [^\W\d_]{3,12}){3,23}(?: [0-9]{1,4})?)(?![\w\-])"
)
_OF_SENTENCES = STOP_WORDS | frozenset(
    "stored kept written never always known shared changed needed required long four five six words same rotated used "  # noqa: SIM905 -- a list of words
    "ask see set use via now new old must should can one from siehe frag fragen bei im vom von steht pregunta ver está "
    "demander voir dans chez required optional empty missing".split()
)
"""Words that occur in sentences about a passphrase, but not in a random passphrase."""
_MOST_LONG_WORDS = 12


def find_passphrase(text: str, lowered: str, name: re.Match[str]) -> re.Match[str] | None:
    """Return the match of a passphrase after its name. A password has words apart only if it is somebody's own."""
    of_phrase = _OF_PHRASES.fullmatch(name[0])
    if not of_phrase and not _OF_PASSWORDS.fullmatch(name[0]):
        return None
    found = _HYPHENATED.match(text, name.end())
    if not found and (of_phrase or _OWN.search(lowered[max(0, name.start() - _MOST_CHARS_BEFORE) : name.start()])):
        found = _SPACED.match(text, name.end())
    return found if found and _are_chance_words(found["secret"]) else None


def _are_chance_words(value: str) -> bool:
    """Return whether the words look random: no words of a sentence, or more long words in a row than any
    sentence has. Capitals start all words, or none."""
    words = re.findall(r"[^\W\d_]+", value)
    if not (value.islower() or all(map(str.istitle, words))):
        return False
    return len(words) >= _MOST_LONG_WORDS or _OF_SENTENCES.isdisjoint(map(str.lower, words))
