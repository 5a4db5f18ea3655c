"""Recognizes words that forbid or deny something, in all languages of `denials.toml`."""

import re

from mcp_memory.text.language.word_tables import read_table

_TABLE = read_table("mcp_memory.text.language", "denials.toml")


def _any_of(*names: str) -> re.Pattern[str]:
    words = "|".join(language[name] for name in names for language in _TABLE.values())
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


FORBIDS, ADVISES_AGAINST, DENIES = _any_of("orders"), _any_of("orders", "advice"), _any_of("orders", "denials")
"""Match an order not to do something; that, or other advice against it; any denial."""
INSTEAD = _any_of("instead")
"""Matches what comes before the thing that isn't to be used."""


def denies(text: str) -> bool:
    """Return whether a text forbids or denies something."""
    return DENIES.search(text) is not None
