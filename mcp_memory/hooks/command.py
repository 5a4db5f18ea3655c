"""`mcp-memory hook EVENT`: what a client's command hook runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from mcp_memory.client.connection import Address, Connection
from mcp_memory.client.credentials import Credentials
from mcp_memory.engine.default_vault import DEFAULT_VAULT
from mcp_memory.errors import ConfigInvalid, NotRunning
from mcp_memory.hooks.deadline import Deadline
from mcp_memory.hooks.journal import Line, fallback
from mcp_memory.hooks.said import Said, Unusable, read
from mcp_memory.project import project_of
from mcp_memory.settings.budgets import PROMPT_MS, SESSION_START_MS
from mcp_memory.settings.given import Given
from mcp_memory.settings.given import read as read_settings
from mcp_memory.settings.state import PREFIX, StateFolder, vault_folder

USAGE = """usage: mcp-memory hook EVENT --client NAME [OPTIONS]

What a client's command hook runs: reads the client's JSON from standard input, and prints what belongs into the agent's
context in the form that Claude Code and Codex take. EVENT is session-start, prompt, pre-compact, stop or session-end;
flush prints what to ask an agent before its context is compacted, where its client can give it a turn for that.
With any fault, and past its budget ([hooks] in the configuration), it prints nothing and ends with exit code 0;
`mcp-memory hooks report` says what came of it.

  --client NAME  whose hook it is: claude-code, codex …; each has a token of its own
  --vault DIR    the vault's folder; default: as configured
  --config FILE  another configuration file

example:  echo '{"session_id": "1", "prompt": "how do we deploy?"}' | mcp-memory hook prompt --client codex
"""

START, PROMPT, FLUSH, COMPACT, STOP, END = "session-start", "prompt", "flush", "pre-compact", "stop", "session-end"
EVENTS = (START, PROMPT, FLUSH, COMPACT, STOP, END)

NAMES = {START: "SessionStart", PROMPT: "UserPromptSubmit", FLUSH: "Flush"}
"""What Claude Code and Codex call the events that put something into the context; neither has a flush."""

COMPACTION = """Long-term memory outlives this compaction: memory_search and memory_recall bring back what came from it.
In the summary name such notes by id or path instead of repeating their text.
"""
TAKES_COMPACTION = frozenset({"claude-code"})
"""The clients that put what `pre-compact` prints into the prompt of the compaction."""

FORGETFUL = frozenset({"openclaw"})
"""The clients that show the model what comes with a prompt in that turn alone: it may be given again."""

ON_THE_WAY_MS = 20.0
"""What an answer takes from the daemon to standard output."""


class Options(NamedTuple):
    event: str
    client: str = "default"
    vault: str | None = None
    config: str | None = None


def hook(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    read_input: Callable[[], bytes],
    write_output: Callable[[bytes], None],
    deadline: Deadline,
) -> None:
    """One call, and its line in the log. Raises only where that cannot be written."""
    if {"-h", "--help"} & set(arguments):
        write_output(USAGE.encode())
        return
    line, log = Line(), None
    try:
        data = read_input()  # whatever comes of it: a client may not take it well that nobody listens
        options = _options(arguments)
        line.event, line.client = options.event, options.client
        given = _settings(options, environ)
        state = StateFolder.of(vault_folder(given.text("vault", "path", DEFAULT_VAULT)), environ)
        log = state.hooks
        if not _enabled(given):
            return
        deadline.set(budget_ms(arguments, environ, given))
        said = read(data)
        line.session = said.session
        if answer := _answer(options, said, state, deadline, line, environ):
            write_output(answer)
    except BaseException as error:  # the one promise: the agent does not hear of it
        line.failed(error)
    line.ms = deadline.taken_ms
    line.write(log or fallback(environ))


def budget_ms(arguments: Sequence[str], environ: Mapping[str, str], given: Given | None = None) -> float:
    """Of one call. Before the file is read, what the environment says holds, which wins over it, else the default.

    Raises ConfigInvalid.
    """
    key, default = ("session_start_ms", SESSION_START_MS) if START in arguments[:1] else ("prompt_ms", PROMPT_MS)
    value = _key(given, key, default) if given else environ.get(f"{PREFIX}HOOKS_{key.upper()}") or default
    try:
        return float(str(value))
    except ValueError as error:
        raise ConfigInvalid(f"hooks.{key} is no number") from error


def _answer(
    options: Options, said: Said, state: StateFolder, deadline: Deadline, line: Line, environ: Mapping[str, str]
) -> bytes:
    """What is printed; empty for silence. Raises NotRunning, Unusable, the daemon's errors."""
    if options.event == FLUSH:
        text = str(_ask(options, state, "flush", {}, deadline, environ)["text"])
        return _context(FLUSH, text) if text else b""
    if not said.session and options.event != START:
        raise Unusable("the input names no session")
    session = {"session": f"{options.client}/{said.session}"}
    if said.transcript:  # what becomes of it is the daemon's to say, once it has answered
        session["transcript"] = said.transcript
    if options.event in {COMPACT, END, STOP}:
        if options.event != STOP or said.transcript:
            _ask(options, state, "grown" if options.event == STOP else "emptied", session, deadline, environ)
        return COMPACTION.encode() if options.event == COMPACT and options.client in TAKES_COMPACTION else b""
    if options.event == PROMPT and not said.prompt.strip():
        return b""
    wanted = {**session, "project": project_of(said.cwd), "prompt": None}
    if options.event == PROMPT:
        wanted |= {"prompt": said.prompt, "lasting": options.client not in FORGETFUL}
    briefing = _ask(options, state, "brief", wanted, deadline, environ)
    if not (text := str(briefing["text"])):
        return b""
    line.outcome, line.tokens, line.notes = "given", int(briefing["tokens"]), list(briefing["notes"])
    return _context(options.event, text)


def _context(event: str, text: str) -> bytes:
    context = {"hookEventName": NAMES[event], "additionalContext": text}
    return json.dumps({"hookSpecificOutput": context}).encode("ascii")


def _ask(
    options: Options,
    state: StateFolder,
    operation: str,
    arguments: Mapping[str, Any],
    deadline: Deadline,
    environ: Mapping[str, str],
) -> Mapping[str, Any]:
    try:
        connection = Connection(Address.read(state.daemon), Credentials(state.tokens), client=options.client)
        if operation == "brief":
            arguments = {**arguments, "within_ms": max(1, int(deadline.left_ms - ON_THE_WAY_MS))}
        return connection.call(operation, arguments, deadline_s=deadline.left_ms / 1000)
    except NotRunning:
        if options.event == START and state.port.exists():
            from mcp_memory.hooks.starting import start_daemon

            start_daemon(options.vault, options.config, environ)
        raise


def _options(arguments: Sequence[str]) -> Options:
    """By hand: argparse takes longer to import than the daemon to answer, and ends the process. Raises Unusable."""
    if not arguments or arguments[0] not in EVENTS:
        raise Unusable("no event that is known", hint=f"one of {', '.join(EVENTS)}")
    found: dict[str, str] = {}
    rest = iter(arguments[1:])
    for word in rest:
        name, has_value, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in {"client", "vault", "config"}:
            raise Unusable("an option that is not known", hint="mcp-memory hook --help")
        found[name] = value if has_value else next(rest, "")
    return Options(arguments[0], **found)


def _settings(options: Options, environ: Mapping[str, str]) -> Given:
    file = Path(options.config) if options.config else None
    return read_settings(environ, {"vault", "hooks"}, file=file, flags={"vault.path": options.vault})


def _enabled(given: Given) -> bool:
    return str(_key(given, "enabled", True)).lower() not in {"false", "0", "no"}


def _key(given: Given, key: str, default: object) -> object:
    """Of `[hooks]`. The daemon judges the whole configuration; here only what is needed is looked at."""
    table = given.tree.get("hooks", {})
    return cast("dict[str, object]", table).get(key, default) if isinstance(table, dict) else default
