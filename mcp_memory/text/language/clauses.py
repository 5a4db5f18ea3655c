"""Finds the main clause of a sentence, and decides whether a sentence leaves something open."""

import re

from mcp_memory.text.language.terms import fold, words

LEAST_WORDS = 4
"""The minimum number of words in a clause that can be shown without the rest of its sentence."""

_LEAD = re.compile(r"(?P<lead>[^\s:`][^:`\n]{0,60}): +(?=\S)")
_NOT_OUTSIDE = re.compile(r"`[^`]*`|\([^()]*\)|\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]")
_REASON = re.compile(
    r"(?:,? (?:because|weil)|, (?:since|as|so that|so|which|da|denn|damit|sodass|obwohl|although|though)|;) "
)
"""Matches the start of a clause that gives a reason or a consequence."""

_MARKED = re.compile(
    r"(?:fix|decision|decided|rule|answer|solution|l(?:ö|oe)sung|entscheidung|open question|offene frage|todo)"
    r"(?: \([^()]{1,80}\))?: +(?=\S)",
    re.IGNORECASE,
)
"""Matches a lead that only names the type of the sentence after it."""
_EXPLAINING = re.compile(
    r"(?:symptoms?|errors?|causes?|reasons?|why|problem|rejected|alternatives?|grund|ursache|fehler)\b[^:.]{0,40}:",
    re.IGNORECASE,
)
"""Matches a lead to a reason, an error or a rejected option."""
_LEANING = re.compile(
    r".*\b(?:rejected|turned down|given up|considered|verworfen|abgelehnt)\b"
    r"|(?:not|it|this|that|these|those|they|he|she|his|her|its|their|both|also|so|then|later|replaced|moved|instead)\b"
    r"|(?:das|dies|diese|es|er|beide|auch|dann|später|elle|il|ils|elles|cela|también|ella|ellos)\b|`",
    re.IGNORECASE,
)
"""Matches wording about a rejected option, or a reference to earlier text."""

_DEFINES = re.compile(
    r"(?:(?:the|our|die|der|das|unser|unsere|la|le|el) )?(?P<name>[^\s.:;,][^.:;,]{0,60}?)"
    r" (?:is|are|ist|sind|est|es) (?:an?|the|our|one|eine?|die|der|das|une?|una|el|la|le) ",
    re.IGNORECASE,
)
"""Matches a definition of a thing."""

_ARGUMENT = re.compile(r"--?\w|[~.]*/\w|\w+[@=]\w")
"""Matches a second word that makes the first word a command."""

_OPEN = re.compile(
    r"(?:open|todo|to do|tbd|offen)\b ?(?:question|frage|ist|is|:)|(?:still|noch) (?:open|offen)\b|\b(?:TODO|TBD)\b",
    re.IGNORECASE,
)


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks, or calls something open."""
    return sentence.rstrip('*_"”’) ').endswith(("?", "？", "؟")) or bool(_OPEN.search(sentence[:80]))


def is_explaining(sentence: str) -> bool:
    """Return whether a sentence marks itself as a reason, an error or a rejected option instead of a fact."""
    return bool(_EXPLAINING.match(sentence))


def is_secondary(sentence: str) -> bool:
    """Return whether a sentence explains, or depends on another sentence, instead of stating a fact."""
    return is_explaining(sentence) or bool(_LEANING.match(sentence))


def defined_by(sentence: str) -> str:
    """Return the defined name: `Harbor` for "Harbor is a booking system"; empty for any other sentence."""
    found = _DEFINES.match(sentence)
    return found["name"] if found else ""


def main_clause(sentence: str, title: str, *, whole: bool = False) -> str:
    """Return the main clause, a slice of the sentence. A lead that repeats the title, such as `Japan trip: `, is
    dropped, and so is a reason at the end unless `whole` is set."""
    text = sentence
    lead = _LEAD.match(text)
    if lead and _plain(lead["lead"]) in {_plain(part) for part in (title, *title.split(", "))}:
        text = text[lead.end() :]
    if marked := _MARKED.match(text):
        text = text[marked.end() :]
    if not whole:
        hidden = [found.span() for found in _NOT_OUTSIDE.finditer(text)]
        ends = (found.start() for found in _REASON.finditer(text))
        outside = (end for end in ends if not any(start < end < stop for start, stop in hidden))
        text = next((text[:end] for end in outside if len(text[:end].split()) >= LEAST_WORDS), text)
    text = capitalized(text)
    return text if text.rstrip('`"”’)*_').endswith((".", "!", "?", "…", ":", "。", "！", "？")) else f"{text}."


def capitalized(text: str) -> str:
    """Capitalize a text, unless it begins with code or a command."""
    return text[0].upper() + text[1:] if text[:1].isalpha() and not _is_code(text) else text


def as_sentence(text: str) -> str:
    """Return a text on one line with a capital letter and a full stop."""
    plain = capitalized(" ".join(text.split()))
    return f"{plain}." if plain and (plain[-1].isalnum() or plain[-1] in "`\"')") else plain


def _is_code(text: str) -> bool:
    """Return whether the text begins with a word whose lower case matters: `harbor.jobs`, `iPhone`, `ssh
    deploy@web`."""
    first, *rest = (word.rstrip(".,:;") for word in text.split(maxsplit=2)[:2])
    is_name = any(not c.isalpha() and c != "-" for c in first) or any(c.isupper() for c in first[1:])
    return is_name or any(_ARGUMENT.match(word) for word in rest)


def _plain(text: str) -> tuple[str, ...]:
    return tuple(map(fold, words(text)))
