"""Asks once whether a language model may read finished sessions, and puts the answer into the configuration."""

import shutil
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from mcp_memory.cli.console import short_path
from mcp_memory.cli.daemon.running import restart_daemon
from mcp_memory.cli.setup.dialogue import Dialogue
from mcp_memory.errors import McpMemoryError
from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.integrations import config_files, toml
from mcp_memory.integrations.config_plan import ConfigChange, ConfigTarget
from mcp_memory.integrations.text_file import decode, read, read_text
from mcp_memory.runtime.paths import PREFIX, config_file
from mcp_memory.settings.settings import Settings
from mcp_memory.summarizers.agents import PROGRAMS

NONE = "none"
SESSION_TOKENS = "2,000 to 9,000 tokens and 600 for the answer, the more notes are near it"
"""The cost of a session of ten prompts. Recorded sessions of 7 to 9 prompts, with few notes near them, took 1,500 to
2,200; 40 notes, long answers and a program's own tools add the rest."""


def offer_reader(dialogue: Dialogue, settings: Settings) -> None:
    """Offer the programs on this machine, unless the configuration has an answer already."""
    chosen = settings.section("extraction", ExtractionConfig).reader
    dialogue.report["reader"] = chosen
    if chosen != NONE:
        dialogue.say(f"{chosen} reads them")
    elif not settings.capture.enabled:
        dialogue.say("skipped: recording is turned off")
    elif _is_answered(settings):
        dialogue.say(f"none reads them, as you chose; to change that: {_setting('claude')}")
    elif not (found := [name for name in PROGRAMS if shutil.which(name)]):
        dialogue.say(f"skipped: none of {', '.join(PROGRAMS)} is on the PATH; for an endpoint: {_setting('endpoint')}")
    elif dialogue.preview or dialogue.yes:
        dialogue.say(f"none reads them, unless you choose one: {_setting(found[0])}")
    else:
        _explain(dialogue, settings, found)
        dialogue.report["reader"] = dialogue.choose("Which one may read them?", [NONE, *found])
        _write(dialogue, settings, dialogue.report["reader"])


def _explain(dialogue: Dialogue, settings: Settings, found: Sequence[str]) -> None:
    limits = settings.summarizer
    titles = ", ".join(PROGRAMS[name] for name in found)
    dialogue.say(
        "Rules alone find what you state outright. A language model also finds what follows from a conversation, and "
        "says it in a sentence that stands by itself; what it can't quote from the session is dropped."
    )
    dialogue.say(
        f"It would be asked through a program of yours ({titles}), with your account and at your cost: once a session "
        "is over, it gets the session's text and the notes nearest to it, without secrets and private notes, and no "
        "tools."
    )
    dialogue.say(
        f"A session of ten prompts costs {SESSION_TOKENS}. At most {limits.calls_a_day:,} calls and "
        f"{limits.tokens_a_day:,} tokens a day, see [summarizer]. Past sessions aren't read. To switch it off: "
        f"{_setting(NONE)}"
    )


def _write(dialogue: Dialogue, settings: Settings, reader: str) -> None:
    """Write the answer, and restart the daemon if it changes something."""
    target = ConfigTarget(_file(settings), ())
    try:
        old = read(target.file)
        new = toml.set_table(decode(old), ("extraction",), {"reader": reader}).encode()
        change = ConfigChange(target, old, new, keeps_old=old is not None)
        config_files.check(change)
        config_files.apply(change, datetime.now().astimezone())
        if reader != NONE:
            restart_daemon(dialogue.cli.load())
    except McpMemoryError as error:
        dialogue.fail(f"the answer isn't stored: {_setting(reader)}", error)
        return
    where = f"reader = {reader!r} under [extraction] in {short_path(target.file)}".replace("'", '"')
    dialogue.say(f"{'off' if reader == NONE else 'on'}: {where}; mcp-memory status shows what it costs")


def _is_answered(settings: Settings) -> bool:
    is_in_file = "reader" in toml.value_of(read_text(_file(settings))).get("extraction", {})
    return is_in_file or f"{PREFIX}EXTRACTION_READER" in settings.environ


def _file(settings: Settings) -> Path:
    return settings.file or Path(config_file(settings.environ))


def _setting(reader: str) -> str:
    return f'reader = "{reader}" under [extraction]'
