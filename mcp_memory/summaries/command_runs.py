"""Finds the runs of each command of a session that changes or checks something. Pure."""

import re
from functools import partial
from itertools import dropwhile

from mcp_memory.capture.readers.message import Transcript, TranscriptMessage
from mcp_memory.recall.moments.tool_action import command_of, read_action
from mcp_memory.statements.error_lines import error_line
from mcp_memory.text.language.word_tables import has_cue

MOST_CHARS = 90
"""The most characters of a command, and of the line that says why it failed."""
_has = partial(has_cue, "mcp_memory.summaries", "cues.toml")

_NO_WORDS = re.compile(r"\|[^|&;]*|\b\d?>+&?\s*\S+|\bcd \S+|[&;]+|(?<!\S)\w+=\S*|(?<!\S)-\S+")
"""Matches what two runs of a command may differ in: folder, variables, options, and the output's place."""
_PATH = re.compile(r"[/.:]")


def command_runs(messages: Transcript) -> list[list[TranscriptMessage]]:
    """Return the runs of each command that changes something, in the order of the last runs. A success of the same
    command with other options, or for more files, is another run of a command that failed."""
    found: list[list[TranscriptMessage]] = []
    for message in messages:
        if runs_command(message):
            known = [runs for runs in found if _is_again(message, runs[-1])]
            found = [
                *(runs for runs in found if runs not in known),
                [*(run for runs in known for run in runs), message],
            ]
    return found


def runs_command(message: TranscriptMessage) -> bool:
    """Return whether a tool runs a command that changes or checks something."""
    given = command_of(message)
    is_command = bool(given) and "*** Begin" not in given and _has("acts", given)
    return is_command and not read_action(message.arguments, "", None).only_reads


def outcome_of(runs: Transcript) -> str:
    """Return a command's outcome in one line."""
    last, was = runs[-1], "failed, then " if any(run.failed for run in runs) else ""
    why = error_line(last).replace("`", "'")[:MOST_CHARS]
    return f"`{_line(last)}` {f'fails: {why}' if last.failed else f'{was}went well'}"


def _line(message: TranscriptMessage) -> str:
    """Return a command in one line without backticks."""
    return " ".join(command_of(message).replace("`", "'").split())[:MOST_CHARS]


def _is_again(message: TranscriptMessage, before: TranscriptMessage) -> bool:
    if _line(message) == _line(before):
        return True
    words, old = (_words(command_of(one)) for one in (message, before))
    is_wider = bool(words) and all(any(_is_within(one, word) for one in old) for word in words)
    only_paths = all(_PATH.search(word) for word in old if word not in words)
    is_again = (is_wider and only_paths) or words[1:] == old[1:] != []
    steps, later = _steps(before), iter(_steps(message))
    # what prepares a check need not be repeated
    steps = list(dropwhile(lambda step: not _has("checks", " ".join(step)), steps)) or steps
    # a step is repeated by one with more options, unless more may check less
    repeats_steps = bool(steps) and all(
        any(one == step or ({*one} <= {*step} and not _has("checks", " ".join(one))) for step in later) for one in steps
    )
    return before.failed and not message.failed and (is_again or repeats_steps)


def _is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies within it; `./...` contains all."""
    return f"{path}/".lstrip("./").startswith(f"{folder.strip('./')}/".lstrip("/"))


def _words(command: str) -> list[str]:
    return _NO_WORDS.sub(" ", command).split()


def _steps(message: TranscriptMessage) -> list[list[str]]:
    """Return the commands of which each needs the one before. The outcome is that of those after the last semicolon."""
    return list(filter(None, map(_words, command_of(message).rpartition(";")[2].split("&&"))))
