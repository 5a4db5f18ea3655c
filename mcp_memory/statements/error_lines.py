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

_FORMS = ("line_cause", "line_name", "line_mark", "line_word")
"""The patterns of lines that report an error, the most telling form first."""
_PREFIX = re.compile(r"^(?:[\w.-]+ +\| +|[│|] +|(?:[^\t]+\t){2}\S+Z )")
"""Matches what `docker compose`, Terraform and CI put before each line."""
_MARK = re.compile(r"^E {2,}")
"""Matches what pytest puts before a line about an error."""


def error_line(message: TranscriptMessage) -> str:
    """Return the line of a tool's output that says most about an error, with the line that it announces."""
    return next(iter(error_lines(message.text)), "")


def pasted_errors(text: str) -> Sequence[str]:
    """Return the lines about an error that a person pasted, unless the person says that it works."""
    return () if any(map(says_it_works, user_sentences(text))) else error_lines(pasted_words(text))


def error_lines(text: str) -> Sequence[str]:
    """Return the lines that report an error in the most telling form, the most telling first."""
    forms, lines = (
        read_cues("mcp_memory.statements", "lessons.toml"),
        [_PREFIX.sub("", line) for line in text.splitlines()],
    )
    for told in ([line for line in lines if not forms["line_summary"].search(line)], lines):
        for form in _FORMS:
            if places := [at for at, line in enumerate(told) if forms[form].search(line)]:
                parts = [told[at : at + 1 + told[at].rstrip().endswith(":")] for at in places]
                found = [_MARK.sub("", " ".join(map(str.strip, part)))[:MAX_CHARS] for part in parts]
                return found[::-1] if form == _FORMS[0] else found
    return ()
