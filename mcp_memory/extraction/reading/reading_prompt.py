"""Shows a session and the notes near it to a language model. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.recall.moments.tool_action import call_text, command_of
from mcp_memory.statements.error_lines import error_lines
from mcp_memory.statements.extractor import appended_texts
from mcp_memory.statements.language import names_project
from mcp_memory.summarizers.base import Prompt
from mcp_memory.summarizers.prompting import shown
from mcp_memory.text.text_hash import quote_mark, text_hash
from mcp_memory.text.tokens import CHARS_PER_TOKEN, count_tokens

ANSWER_TOKENS = 2000
MOST_PERSON_CHARS, MOST_AGENT_CHARS, MOST_NOTE_CHARS = 3000, 900, 240
MOST_TOOL_CHARS, MOST_OUTPUT_CHARS, MOST_LINES = 400, 500, 3
"""The most characters of a call and of its output if it failed; the most lines about an error, and last lines."""
MOST_PROJECTS = 12
ULID_FORM = re.compile(r"[0-9A-Z]{26}")
WAITS = "waits"
"""The kind of a proposal as the model sees it."""
ID_CHARS = 6
"""The last characters of a note's id, which name it in the prompt."""


@dataclass(frozen=True)
class ShownNote:
    """A note as the model sees it. `is_made_here`: it was made from this session without the person's review.
    `instead_of`: the only note that a proposal contradicts."""

    id: str
    day: str
    kind: str
    project: str | None
    text: str
    is_made_here: bool = False
    instead_of: "ShownNote | None" = None
    subject: str = ""

    @property
    def waits(self) -> bool:
        """Return whether it is a proposal."""
        return self.kind == WAITS

    @property
    def short_id(self) -> str:
        """The end of a ULID; the hash of another id, whose end may be a common word."""
        return self.id[-ID_CHARS:] if ULID_FORM.fullmatch(self.id) else text_hash(self.id, ID_CHARS).upper()

    def render(self) -> str:
        facts = [self.short_id, self.day, self.kind, self.project or "", "of this session" if self.is_made_here else ""]
        facts += [f"#{self.subject}"] if self.subject else []
        text = shown(" ".join(self.text.split()), MOST_NOTE_CHARS)
        return f"{' · '.join(fact for fact in facts if fact)}: {text}"


@dataclass(frozen=True)
class ReadingPrompt:
    """A prompt for a part of a session. `messages` are numbered from 1 in it; those before the offset `fresh_from` were
    read before. `about` names the day and the project. `projects`: the others that the prompt lists."""

    prompt: Prompt
    messages: Transcript
    notes: Sequence[ShownNote]
    about: str
    fresh_from: int = 0
    projects: Sequence[str] = ()


def build_prompt(
    messages: Transcript,
    notes: Sequence[ShownNote],
    about: str,
    prompt_tokens: int,
    fresh_from: int,
    projects: Sequence[str],
) -> ReadingPrompt | None:
    """Return the prompt for the first part of a session that fits into `prompt_tokens`, besides the instructions; None
    without new words of the person. `about`: the day and the project. `projects`: the others."""
    listed = "\n".join(note.render() for note in notes) or "none yet"
    room = max(prompt_tokens - count_tokens(listed), prompt_tokens // 2) * CHARS_PER_TOKEN
    part: list[TranscriptMessage] = []
    length, is_new = 0, False
    for message in messages:
        size = len(_line(message)) + ID_CHARS
        if part and length + size > room:
            if is_new:
                break
            part, length = [], 0
        part.append(message)
        length += size
        is_new = is_new or (message.is_persons and message.offset >= fresh_from)
    if not is_new:
        return None
    lines = [(number, _line(message)) for number, message in enumerate(part, 1)]
    said = "\n".join(f"[{number}] {line}" for number, line in lines if line)
    listed_ones = sorted(projects, key=lambda project: not names_project(said, project))[:MOST_PROJECTS]
    others = f" (other projects: {', '.join(listed_ones)})" if listed_ones else ""
    text = f"Notes:\n{listed}\n\nSession, {about}{others}:\n{said}"
    mark = quote_mark(text)
    prompt = Prompt(_instructions().substitute(mark=mark), f"<<<{mark}\n{text}\n{mark}>>>", ANSWER_TOKENS, mark)
    return ReadingPrompt(prompt, part, notes, about, fresh_from, listed_ones)


def _line(message: TranscriptMessage) -> str:
    """Return a message for the prompt; empty for a tool that only reads, and for memory's own tools."""
    text = message.text.strip()
    if message.is_persons:
        return f"person: {shown(text, MOST_PERSON_CHARS)}"
    if message.is_assistants:
        return f"agent: {shown(text, MOST_AGENT_CHARS)}"
    stored = appended_texts([message])
    if stored:
        return f"agent stored: {shown(stored[0], MOST_AGENT_CHARS)}"
    if "memory" in message.tool:
        return ""
    call = shown(call_text(message), MOST_TOOL_CHARS)
    if call and not command_of(message):
        call = f"edit {call}"
    if message.failed:
        last = [line.strip() for line in text.splitlines() if line.strip()][-MOST_LINES:]
        printed = "\n".join(dict.fromkeys([*error_lines(text)[:MOST_LINES], *last]))
        return f"tool {message.tool} failed: {call}\n{shown(printed, MOST_OUTPUT_CHARS)}"
    return f"tool: {call}" if call else ""


@cache
def _instructions() -> Template:
    text = files("mcp_memory.extraction.reading").joinpath("instructions.md").read_text("utf-8")
    return Template(text)
