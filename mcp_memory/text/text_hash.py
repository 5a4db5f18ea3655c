"""Hashes texts: to tell them apart, and to mark the end of a quotation. Pure."""

import hashlib

MARK_DIGITS = 8


def text_hash(text: str, digits: int = 64) -> str:
    """Return the first hexadecimal digits of the sha256 of any text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def quote_mark(text: str) -> str:
    """Return a hash of a text for the marks around it. The text doesn't contain the mark, so no author of a note can
    close the quotation."""
    mark = text
    while mark in text:
        mark = text_hash(mark, MARK_DIGITS)
    return mark
