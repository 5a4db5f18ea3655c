"""The steps of setup: finds the clients on this machine and connects them, and asks once whether a language model
may read finished sessions."""

import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import click

from mcp_memory.cli.clients.config_changes import SESSIONS_ARE_KEPT, InstallPlan, make_changes, show_diff
from mcp_memory.cli.clients.connection_entries import typed_command
from mcp_memory.cli.clients.hook_trust import has_trust
from mcp_memory.cli.clients.installing import find_client_paths, plan_connection, targets_of
from mcp_memory.cli.command_context import CommandContext
from mcp_memory.cli.console import Heading, asking, confirm, is_terminal, say_all, short_path
from mcp_memory.cli.daemon.running import restart_daemon
from mcp_memory.embedders.providers import find_substitute, offer
from mcp_memory.errors import McpMemoryError, Refused
from mcp_memory.extraction.config import ExtractionConfig
from mcp_memory.integrations import config_files, toml
from mcp_memory.integrations.clients import CLIENTS, TITLES, find_client
from mcp_memory.integrations.text_file import read_text
from mcp_memory.runtime.paths import PREFIX
from mcp_memory.settings import settings_file
from mcp_memory.settings.settings import Settings
from mcp_memory.summarizers.agents import PROGRAMS


@dataclass
class Dialogue:
    """A dialogue with the person. With `--json` it prints nothing; `report` has what was found and done. With `preview`
    nothing is agreed to."""

    cli: CommandContext
    yes: bool
    preview: bool
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    has_failed: bool = False

    def say(self, text: str, *, indent: int = 2) -> None:
        """Print a paragraph that fits the terminal, if there is one."""
        if not self.cli.as_json:
            width = min(shutil.get_terminal_size().columns, 100) if is_terminal() else sys.maxsize
            margins = " " * indent, " " * (indent + 2)
            wrapper = textwrap.TextWrapper(width, *margins, break_long_words=False, break_on_hyphens=False)
            say_all(wrapper.wrap(text))

    def head(self, title: str) -> None:
        if not self.cli.as_json:
            say_all(["", Heading(title)])

    def agree(self, question: str, show_more: Callable[[], None] | None = None) -> bool:
        """Return whether to do it: you agreed, or passed --yes. `d` shows more before. Raises Abort."""
        if self.preview or self.yes or show_more is None:
            return not self.preview and (self.yes or confirm(f"  {question}", default=True))
        shown = click.Choice(["y", "yes", "n", "no", "d"], case_sensitive=False)
        asked = partial(click.prompt, default="y", type=shown, show_default=False, show_choices=False)
        with asking():
            while (answer := asked(f"  {question} d shows them", prompt_suffix=" [Y/n]: ")) == "d":
                show_more()
        return answer.startswith("y")

    def choose(self, question: str, choices: Sequence[str]) -> str:
        """Return one of the choices, the first unless you name another. Raises Abort."""
        with asking():
            return click.prompt(f"  {question}", default=choices[0], type=click.Choice(choices, case_sensitive=False))

    def fail(self, what: str, error: McpMemoryError) -> None:
        """Print why a step was not possible; the other steps go on."""
        self.has_failed = True
        self.say(f"{what}: {error.message}")
        if error.hint:
            self.say(f"→ {error.hint}", indent=4)


def connect_all(cli: CommandContext, *, dry_run: bool, yes: bool) -> None:
    """Connect the clients that are found, as `install` does. Exits with 1 if a client could not be connected. Raises
    Refused."""
    if not (yes or dry_run):
        cli.refuse_questions("pass --yes, or --dry-run")
    dialogue = Dialogue(cli, yes, preview=dry_run)
    connect_clients(dialogue, cli.settings, ())
    cli.show(dialogue.report, ())
    if dialogue.has_failed:
        click.get_current_context().exit(1)


def connect_clients(dialogue: Dialogue, settings: Settings, only: Sequence[str]) -> list[str]:
    """Connect the clients in `only`, found or not; if it is empty, connect those that are found. Returns the
    clients that are connected at the end. Raises ConfigInvalid."""
    paths = find_client_paths()
    rows = dialogue.report["clients"] = list[dict[str, Any]]()
    absent = list[str]()
    for client in only or CLIENTS:
        places = [short_path(place) for place in find_client(client, paths)]
        rows.append(row := {"client": client, "found": places, "state": "not found"})
        title = f"{TITLES[client]} ({', '.join(places) or 'not found'})"
        try:
            if not (places or only):
                absent.append(TITLES[client])
            else:
                row |= _connect(dialogue, settings, client, title)
        except McpMemoryError as error:
            dialogue.fail(f"{title}: not connected", error)
            row |= {"state": "failed", "error": error.message, "hint": error.hint}
    if absent:
        dialogue.say(f"not found, neither program nor folder: {', '.join(absent)}")
    if not any(row["found"] for row in rows):
        dialogue.say("None was found. Install one and run this again; for any other client: mcp-memory install generic")
    return [row["client"] for row in rows if row["state"] in {"connected", "connected already"}]


def _connect(dialogue: Dialogue, settings: Settings, client: str, title: str) -> dict[str, Any]:
    plan = _plan(settings, client)
    if not plan.changes:
        dialogue.say(f"{title}: connected already")
        return {"state": "connected already"}
    for change in plan.changes:
        config_files.check(change)
    dialogue.say(f"{title}: to be connected")
    for change in plan.changes:
        dialogue.say(f"{short_path(change.file)}: {', '.join(change.what)}", indent=4)
    agreed = partial(dialogue.agree, f"Connect {TITLES[client]} with these changes?", partial(show_diff, plan))
    if not dialogue.preview and not agreed():
        dialogue.say(f"Not connected. Later: {typed_command(settings, f'install {client}')}")
        return {"state": "declined"}
    state = "would be connected" if dialogue.preview else "connected"
    made, _ = make_changes(plan, dry_run=dialogue.preview, done=state)
    dialogue.say(f"{TITLES[client]}: {state}")
    for remark in (remark for remark in made["remarks"] if remark != SESSIONS_ARE_KEPT):  # printed at the end
        dialogue.say(f"→ {remark}", indent=4)
    return {**made, "state": state}


def _plan(settings: Settings, client: str) -> InstallPlan:
    """Plan a connection, with Codex's trust in our hooks if Codex reports the hooks that it would trust. Raises
    Refused."""
    plan = partial(plan_connection, settings, client, "user")
    if client == "codex" and shutil.which("codex"):
        with suppress(Refused):
            codex = targets_of(client, "user", settings, find_client_paths())
            return plan(trust=not has_trust(codex))
    return plan()


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
        _write(dialogue, settings, "extraction", "reader", dialogue.report["reader"])


def offer_service(dialogue: Dialogue, settings: Settings, why: str) -> None:
    """Offer the first service that could embed texts in place of the local model, which can't be used because of
    `why`."""
    if not (found := find_substitute(settings.embedder.provider)):
        return
    dialogue.say(f"The model on this machine is {why}, so notes are found by their words only. {offer(found)}.")
    if not dialogue.yes and dialogue.choose("Which one may have them?", [NONE, found]) != NONE:
        _write(dialogue, settings, "embedder", "provider", found)


def _explain(dialogue: Dialogue, settings: Settings, found: Sequence[str]) -> None:
    limits = settings.summarizer
    titles = ", ".join(PROGRAMS[name] for name in found)
    dialogue.say(
        "Rules alone find what you state outright. A language model also finds what follows from a conversation, and "
        "says it in a sentence that stands by itself; what it can't quote from the session is dropped."
    )
    dialogue.say(
        f"It would be asked through a program of yours ({titles}), with your account and at your cost: once a session "
        "is over, it gets the session's text and the notes nearest to it. It also gets each sentence of your notes and "
        "logs once, to name their subjects. It gets no secrets, no private notes, and no tools."
    )
    dialogue.say(
        f"A session of ten prompts costs {SESSION_TOKENS}; 40 sentences of notes cost 4,000. "
        f"At most {limits.calls_a_day:,} calls and "
        f"{limits.tokens_a_day:,} tokens a day, see [summarizer]. Past sessions aren't read. To switch it off: "
        f"{_setting(NONE)}"
    )


def _write(dialogue: Dialogue, settings: Settings, section: str, key: str, answer: str) -> None:
    """Write the answer, and restart the daemon if it changes something."""
    setting = f'{key} = "{answer}" under [{section}]'
    try:
        file = settings_file.change(settings, section, key, answer)
        if answer != NONE:
            restart_daemon(dialogue.cli.load())
    except McpMemoryError as error:
        dialogue.fail(f"the answer isn't stored: {setting}", error)
        return
    where = f"{setting} in {short_path(file)}"
    dialogue.say(f"{'off' if answer == NONE else 'on'}: {where}; mcp-memory status shows it")


def _is_answered(settings: Settings) -> bool:
    is_in_file = "reader" in toml.value_of(read_text(settings_file.file_of(settings))).get("extraction", {})
    return is_in_file or f"{PREFIX}EXTRACTION_READER" in settings.environ


def _setting(reader: str) -> str:
    return f'reader = "{reader}" under [extraction]'
