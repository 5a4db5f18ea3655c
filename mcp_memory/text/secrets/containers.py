"""Recognizes secrets in containers whose structure shows which part is secret: QR codes, JSON web keys, PuTTY's key
files, forms, and stores of secrets."""

from mcp_memory.text.secrets.shapes import shape
from mcp_memory.text.secrets.values import KIND, Q, like_a_password

AROUND_LINES = r"(?:[\s\"'>+|#*,]|\\{1,7}[rn])"
"""Matches the text between the lines of a key: line ends, escaped or not, and marks that quote, indent or join the
lines."""
_IN_TAG = r"[^<>]{0,200}?"
_IN_LINE = r"[^\n]{0,200}?[ \t]"
_SOME = r"(?P<secret>[^\s\"'`<>\\]{4,200})"
_STORED = rf"--(?:value|body|secret-string|data)[ =][ \t]{{0,3}}(?:{Q})?{_SOME}"

CONTAINERS = (
    shape(
        "Wi-Fi password",
        "WIFI:",
        r"\bWIFI:(?:[A-OQ-Z]:(?:[^;\n\\]|\\.){0,100};){0,5}P:\"?(?P<secret>(?:[^;\n\\]|\\.){4,100})",
        like_a_password,
    ),
    shape(
        "JSON web key",
        "kty",
        rf"{Q}(?:d|p|q|dp|dq|qi|k){Q}\s{{0,3}}:\s{{0,3}}{Q}(?P<secret>[\w\-]{{16,1000}})(?![\w\-])",
    ),
    shape(
        "PuTTY key",
        "Private-Lines:",
        r"Private-Lines: [0-9]{1,3}"
        rf"(?P<secret>(?:{AROUND_LINES}{{1,20}}[A-Za-z0-9+/]{{8,64}}={{0,2}}(?![\w\-:])){{1,100}})",
    ),
    shape(
        KIND,
        "<input <INPUT",
        rf"(?i)<input\s{_IN_TAG}\btype={Q}?password{Q}?\s{_IN_TAG}\bvalue=(?:{Q})?{_SOME}",
        like_a_password,
    ),
    shape(
        KIND,
        "<input <INPUT",
        rf"(?i)<input\s{_IN_TAG}\bvalue=(?:{Q})?{_SOME}(?:{Q})?\s{_IN_TAG}\btype={Q}?password\b",
        like_a_password,
    ),
    shape(KIND, "--value", rf"{_STORED}{_IN_LINE}--type[ =](?:{Q})?SecureString", like_a_password),
    shape(
        KIND,
        "--value --body --secret-string --data",
        rf"(?:SecureString|\bsecrets?(?:manager)?[ \t]){_IN_LINE}{_STORED}",
        like_a_password,
    ),
)
