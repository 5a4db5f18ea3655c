"""Plain spelling: one for what looks alike. The index and whatever compares words use the same one."""

from __future__ import annotations

import re
from unicodedata import normalize

ACCENTS = "\u0300-\u036f"
"""As a range for character classes of regular expressions; `Zu` and one of these is how some systems write `Zü`."""

_ACCENTS = re.compile(f"[{ACCENTS}]")


def plain(text: str) -> str:
    """Without case, accents, full-width letters, NUL and surrogates."""
    if text.isascii():
        return text.lower().replace("\0", " ")
    folded = normalize("NFKD", text.encode("utf-8", "replace").decode("utf-8").casefold())
    return normalize("NFC", _ACCENTS.sub("", folded)).replace("\0", " ")
