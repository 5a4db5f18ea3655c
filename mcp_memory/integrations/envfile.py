"""Sets one variable in a file of `NAME=value` lines; every other byte stays."""

import re
from dataclasses import dataclass

from mcp_memory.errors import Refused


@dataclass(frozen=True, slots=True)
class EnvVariable:
    """A config entry: the token for a client without a headers helper, in the environment file that the client reads.
    All methods raise Refused if the variable is set twice."""

    name: str
    value: str
    what = "the token"

    def insert(self, text: str) -> str:
        """Replace the variable's line, or adds one at the end."""
        newline = "\r\n" if "\r\n" in text else "\n"
        found = self._find_line(text)
        if found:
            return f"{text[: found.start()]}{self.name}={self.value}{found['end']}{text[found.end() :]}"
        if text.strip("\ufeff") and not text.endswith("\n"):
            return f"{text}{newline}{self.name}={self.value}"  # no line end here either, a mark for `remove`
        return f"{text}{self.name}={self.value}{newline}"

    def remove(self, text: str, before: str | None) -> str:  # noqa: ARG002 -- a line is whole
        found = self._find_line(text)
        if not found:
            return text
        kept = text[: found.start()]
        return (kept if found["end"] else re.sub(r"\r?\n\Z", "", kept)) + text[found.end() :]

    def is_in(self, text: str) -> bool:
        return self.value_in(text) is not None

    def value_in(self, text: str) -> str | None:
        """Return the variable's value; None if it isn't set."""
        found = self._find_line(text)
        return found["value"] if found else None

    def _find_line(self, text: str) -> re.Match[str] | None:
        line = re.compile(rf"^{re.escape(self.name)}=(?P<value>[^\r\n]*)(?P<end>\r?\n|\Z)", re.MULTILINE)
        found = list(line.finditer(text))
        if len(found) > 1:
            raise Refused(f"{self.name} is set twice")
        return found[0] if found else None
