"""Finds the lines in which programs report an error."""

import re
from collections.abc import Sequence

from mcp_memory.capture.readers.message import TranscriptMessage
from mcp_memory.statements.statement_rules import says_it_works
from mcp_memory.statements.user_sentences import user_sentences
from mcp_memory.text.conversation.own_words import pasted_words
from mcp_memory.text.language.word_tables import read_cues

MAX_CHARS = 300
"""The most characters of an error that are quoted."""

_FORMS = ("line_name", "line_mark", "line_word")
"""The patterns of lines that report an error, the most telling form first."""
_PREFIX = re.compile(r"^(?:[\w.-]+ +\| +|[│|] +|(?:[^\t]+\t){2}\S+Z )")
"""Matches what `docker compose`, Terraform and CI put before each line."""
_RAISED = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)", re.MULTILINE)
"""Matches the line below the stack of a Python exception."""
_MARK = re.compile(r"^E {2,}")
"""Matches what pytest puts before a line about an error."""


def error_line(message: TranscriptMessage) -> str:
    """Return the line of a tool's output that says most about an error, with the line that it announces."""
    return next(iter(error_lines(message.text)), "")


def pasted_errors(text: str) -> Sequence[str]:
    """Return the lines about an error that a person pasted, unless the person says that it works."""
    return () if any(map(says_it_works, user_sentences(text))) else error_lines(pasted_words(text))


def error_lines(text: str) -> Sequence[str]:
    """Return the lines that report an error, with the lines that they announce, the most telling forms first."""
    forms = read_cues("mcp_memory.statements", "lessons.toml")
    lines = [_PREFIX.sub("", line) for line in text.splitlines()]
    raised = [lines.index(found) for found in _RAISED.findall("\n".join(lines))]
    telling = [at for at, line in enumerate(lines) if not forms["line_summary"].search(line)]
    causes = [at for at in telling if forms["line_cause"].search(lines[at])]
    rest = [at for form in _FORMS for at in telling if forms[form].search(lines[at])]
    summaries = [at for form in _FORMS for at, line in enumerate(lines) if forms[form].search(line)]
    places = dict.fromkeys([*causes[::-1], *raised[::-1], *rest] or summaries)
    parts = [lines[at : at + 1 + lines[at].rstrip().endswith(":")] for at in places]
    return [_MARK.sub("", " ".join(map(str.strip, part)))[:MAX_CHARS] for part in parts]
