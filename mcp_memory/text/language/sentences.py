"""Splits a note into sentences, the smallest pieces that make sense in a summary."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from mcp_memory.text.language.terms import fold, words
from mcp_memory.text.markdown.blocks import BlockKind, scan

LEAST_WORDS = 4
"""The minimum number of words in a clause that can be shown without the rest of its sentence."""

_CLAUSE_END = re.compile(r"[,;:!?] | [–—] ")
_LEAD = re.compile(r"(?P<lead>[^\s:`][^:`\n]{0,60}): +(?=\S)")
_BECAUSE = re.compile(
    r"(?:,? (?:because|weil|parce qu[e’']|puisqu[e’']|porque|ya que|puesto que)|, (?:car|denn))\b"
    r"[^;`\"]*?(?P<end>;|[.!?]?$)"
)
"""Matches a clause with a reason up to the end of the sentence or a semicolon."""

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


def bare_sentence(sentence: str, title: str) -> str:
    """Return a sentence with a capital letter and a full stop, without a lead that repeats the title, such as `Japan
    trip: `, or that only names the type of the sentence."""
    text = sentence
    lead = _LEAD.match(text)
    if lead and _plain(lead["lead"]) in {_plain(part) for part in (title, *title.split(", "))}:
        text = text[lead.end() :]
    if marked := _MARKED.match(text):
        text = text[marked.end() :]
    text = capitalized(text)
    return text if text.rstrip('`"”’)*_').endswith((".", "!", "?", "…", ":", "。", "！", "？")) else f"{text}."


def without_reasons(statement: str) -> str:
    """Return a statement on one line without its clauses that begin with `because`."""
    return " ".join(_BECAUSE.sub(r"\g<end>", sentence) for sentence in split_sentences(statement))


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


_END = re.compile(
    r"`[^`]+`"  # code, which never ends a sentence
    r"|(?P<end>(?<![.!?…])(?<!\s(?=\.))[.!?…]+[\"'”’)\]*_]*(?=\s+[^\sa-z])|[。！？]+[」』）]*)"
)
"""Matches the end of a sentence; in scripts with spaces, not before a lower-case letter, nor a full stop behind a
space, as in `COPY . .`."""

_NO_END = re.compile(
    r"(?:\b(?i:approx|avd?a?|blvd|bspw|bvd|bzw|ca|capt|cf|cía|co|corp|dept|dpto|dr|dra|drs|dña|dª|est|et al|evtl"
    r"|exkl|ggf|hrsg|inc|ing|inkl|insb|jr|ld[ao]|lt|ltd|messrs|mio|mlles?|mmes?|mr|mrd|mrs|ms|mt|prof|resp|rev"
    r"|sgt|sog|sr|sra|sras|sres|srta|st|[^\W\d_]*str|tel|vgl|vs|zzgl|(?:dr|prof)\. (?:h|med|jur|phil|rer)"
    r"|d\. ?h|p\. ?e[jx]|u\. ?[aä])"
    r"|(?:^|[\s(])(?:[A-ZÄÖÜdiosuvz]|Me|MM|(?<!am )(?<!bis )(?<!ab )Fr|Fa|Hrn?)|\b[^\W\d_]{1,2}\.[^\W\d_]"
    # J. R., z. B., p.m., Ph.D.; a number in a list; a German date: am 3., vom 24.12.
    r"|^\d{1,3}|\b(?i:am|ab|bis|das|dem|den|der|des|die|im|seit|vom|zum|zur)\s(?:\d{1,2}\.)?\d{1,2})\.$"
    r"|(?:::\w+|_\w+|\b(?:assert|dbg|e?println|format|matches|panic|select|todo|vec|writeln))!$"  # a macro of Rust
)
_NO_END_BEFORE = re.compile(
    r"\(?(?:(?i:(?:[ld]['’])?(?:abb|abs|apr|aprox|art|aug|bd|ch|dec|dez|eq|feb|fig|jan|jul|jun|kap|mar|m[aá]x|mind|mín|no"
    r"|nov|[^\W\d_]*nr|n[uú]ms?|oct|okt|op|p[aá]gs?|pos|pp?|sec|sept?|tab|te?lf|ver|vol|ziff))\. \d"
    r"|\d{1,2}\. (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)|(?i:etc|us[fw])\. [^A-ZÀ-Þ¿¡])"
)
_ABBREVIATION_CHARS = 24
"""The longest abbreviation, including the text before it."""
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+]\s+(?:\[[ xX]\]\s+)?|[0-9]{1,9}[.)]\s+)?")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_QUICK_END = re.compile(r"(?<=[.!?])\s+|\n+")
_MIN_CHARS = 3
_WHOLE_CHARS = 300
"""The length up to which a list entry stays whole, since its later sentences don't name their speaker."""


class Sentence(NamedTuple):
    """A sentence. `text` has no line break and no list mark; `place` counts from 0 in the note."""

    text: str
    place: int


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of paragraphs and quotes and the lines of lists and tables of a text, in order.
    Headings, code and raw HTML contain no sentences."""
    found = (piece for block in scan(text) for piece in _pieces(text, block.kind, block.start, block.end))
    worded = (piece for piece in found if sum(c.isalnum() for c in piece) >= _MIN_CHARS)
    return [Sentence(piece, place) for place, piece in enumerate(worded)]


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text that is one paragraph."""
    pieces: list[str] = []
    begin = 0
    for found in _END.finditer(text):
        end = found.end("end")
        earliest = max(begin, end - _ABBREVIATION_CHARS)
        word = text.rfind(" ", earliest, max(end, 0)) + 1
        if end >= 0 and not _NO_END.search(text[earliest:end]) and not _NO_END_BEFORE.match(text, word or earliest):
            pieces.append(text[begin:end].strip())
            begin = end
    return [*pieces, text[begin:].strip()]


def quick_sentences(text: str) -> list[str]:
    """Return the lines of a text, split after each mark that may end a sentence; for long texts, and for code."""
    return _QUICK_END.split(text)


def first_sentence(line: str) -> str:
    """Return the first sentence of a line, and the second if the first is a single word."""
    first, *others = split_sentences(line)
    return f"{first} {others[0]}" if others and " " not in first else first


def beginning(text: str, most_chars: int = 100) -> str:
    """Return a short text on one line as it is, a longer text up to the end of a clause, or else up to a word and with
    `…`."""
    whole = " ".join(text.split())
    if len(whole) <= most_chars:
        return whole
    cut = whole[:most_chars].rsplit(" ", 1)[0]
    for end in reversed(list(_CLAUSE_END.finditer(f"{cut} "))):
        clause = cut[: end.start()]
        if clause.count("(") == clause.count(")") and len(clause.split()) >= LEAST_WORDS:
            return clause
    return f"{cut.rstrip(' ,;:–—-')} …"


_LINKS = re.compile(r"(?:[-*+] )?[^\W\d_][\w -]{0,38}::? *(?:\[\[[^\[\]]+\]\][ ,;.]*)+")
"""Matches a line that only links to notes, such as `- because: [[note]]`."""


def statement_of(text: str) -> str:
    """Return the first paragraph of a note on one line, without headings, quotations and lines of links."""
    lines = [line.strip() for line in text.splitlines() if not line.startswith((">", "#"))]
    lines = [line for line in lines if not _LINKS.fullmatch(line)]
    return " ".join("\n".join(lines).strip().partition("\n\n")[0].split())


def _pieces(text: str, kind: BlockKind, start: int, end: int) -> Iterator[str]:
    if kind in {"paragraph", "quote"}:
        yield from split_sentences(" ".join(_bare(line) for line in text[start:end].splitlines()))
    elif kind == "item":
        yield from _items(text[start:end])
    elif kind == "table":
        for row in text[start:end].splitlines():
            cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
            if any(set(cell) - set("-: ") for cell in cells):
                yield " | ".join(cells)


def _items(block: str) -> Iterator[str]:
    """Yield each entry of a list, including nested entries, with its continuation lines."""
    entry: list[str] = []
    in_fence = False
    for line in block.splitlines():
        if _FENCE.match(line):
            in_fence = not in_fence
            continue
        if in_fence:
            continue
        if _bare(line) != line.strip() and entry:
            yield from _whole_or_split(" ".join(entry))
            entry = []
        entry.append(_bare(line))
    yield from _whole_or_split(" ".join(entry))


def _whole_or_split(entry: str) -> list[str]:
    return [entry.strip()] if len(entry) <= _WHOLE_CHARS else split_sentences(entry)


def _bare(line: str) -> str:
    """Return the line without marks of a quote or list."""
    marker = _MARKER.match(line)
    return line[marker.end() if marker else 0 :].strip()
