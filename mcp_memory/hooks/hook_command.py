"""`mcp-memory hook EVENT`, the command that a client's hook runs.

It carries the client's input to the daemon and the daemon's answer back. A prompt waits for each module that is
imported here.
"""

from __future__ import annotations

import json
import os

from mcp_memory.client.connection import Address, TranslatedError, error_of, json_object, proved
from mcp_memory.client.credentials import Credentials
from mcp_memory.errors import ConfigInvalid, NotRunning, Unusable
from mcp_memory.hooks.hook_input import HookInput, marks_of
from mcp_memory.hooks.hook_log import HookLogLine, fallback_file, make_folder
from mcp_memory.runtime.paths import DAEMON, DEFAULT_VAULT, HOOKS_LOG, PORT, PREFIX, TOKENS, state_folder, vault_folder
from mcp_memory.settings.raw_settings import BUSY_PROMPT_MS, PROMPT_MS, SESSION_START_MS, RawSettings, read_raw_settings

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from mcp_memory.hooks.deadline import Deadline

USAGE = """usage: mcp-memory hook EVENT --client NAME [OPTIONS]

What a client's command hook runs: reads the client's JSON from standard input, and prints what belongs in the agent's
context in the form that Claude Code and Codex take. EVENT is session-start, prompt, before-tool, after-tool,
subagent-start, pre-compact, stop or session-end; flush prints what to ask an agent before its context is compacted, if
its client can give it a turn for that, and heartbeat the commitments that are due. After any error, and past its budget
([hooks] in the configuration), it prints nothing and exits with 0; `mcp-memory clients hooks` shows what happened.

  --client NAME  the client: claude-code, codex …; each has its own token
  --vault DIR    the vault's folder; default: as configured
  --config FILE  another configuration file

example:  echo '{"session_id": "1", "prompt": "how do we deploy?"}' | mcp-memory hook prompt --client codex
"""

START = "session-start"
STARTS = frozenset({START, "subagent-start"})
"""Events that are rare enough to wait longer for."""

ROUTE = "/hook/"
"""The daemon's route for hooks, followed by the event."""

WITHIN_MS, FACTS = "mcp-memory-within-ms", "mcp-memory-facts"
"""Headers: the time that the daemon may take, and its facts for the log, as JSON."""

SWITCHES = "mcp-memory-switches"
"""Header: what `[hooks]` switches on and off, such as `enabled=true,off=stops subagents`."""

TURN, AGAIN_S = "hook-start.lock", 10.0
"""A file of the state folder whose time is the latest start of the daemon by a hook, and the time in which no other
hook starts it. A daemon is up after one to three seconds."""

ON_THE_WAY_MS = 20.0
"""The time that an answer needs from the daemon to standard output."""

MOST_BYTES = 16_000_000
"""The most bytes of standard input; no client sends more."""

CARRIED_BYTES = 200_000
"""A longer input is shortened first, because the daemon limits the size of requests."""

_STEP = 1 << 20


class HookOptions:
    """The parsed command line."""

    def __init__(self, event: str, client: str = "default", vault: str | None = None, config: str | None = None):
        self.event = event
        self.client = client
        self.vault = vault
        self.config = config


def hook(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    read_input: Callable[[], bytes],
    write_output: Callable[[bytes], None],
    deadline: Deadline,
) -> None:
    """Answer one call, and write its line to the log. Raises only if that can't be written."""
    if {"-h", "--help"} & set(arguments):
        write_output(USAGE.encode())
        return
    line, log, data, state, message = HookLogLine(), None, b"", "", b""
    try:
        data = read_input()  # in any case: a client may fail if its output isn't read
        options = _parse(arguments)
        line.event, line.client = options.event, options.client
        given = read_raw_settings(environ, {"vault", "hooks"}, file=options.config, flags={"vault.path": options.vault})
        vault = vault_folder(given.text("vault", "path", DEFAULT_VAULT))
        state = state_folder(vault, environ)
        log = f"{state}/{HOOKS_LOG}"
        switches = _switches(given.table("hooks"))
        if switches.get("enabled") == "false":
            return
        deadline.set(budget_ms(arguments, environ, given))
        if output := _answer(options, data, vault, state, deadline, line, environ, switches):
            write_output(output)
    except BaseException as error:  # the agent never hears of it
        line.add_failure(error)
        try:
            line.session = HookInput(data).session
        except Unusable:
            pass
        message = _for_person(error, line, state, log or fallback_file(environ))
    line.ms, line.told_person = deadline.taken_ms, bool(message)
    try:
        line.write(log or fallback_file(environ))
    except OSError:
        if line.event != START:  # a later call could not know that the person saw the message
            raise
    if message:
        write_output(message)


def _for_person(error: BaseException, line: HookLogLine, state: str, log: str) -> bytes:
    """Return the message that memory is unavailable; empty if nothing can be done, or if this session has shown it."""
    from mcp_memory.hooks.person_message import SHOWN_BY, was_told, why_out

    if line.client not in SHOWN_BY or line.event not in {START, "prompt"}:
        return b""
    is_new = line.event == START or not was_told(log, line.client, line.session)
    return json.dumps({"systemMessage": reason}).encode() if is_new and (reason := why_out(error, state)) else b""


def budget_ms(arguments: Sequence[str], environ: Mapping[str, str], given: RawSettings | None = None) -> float:
    """Return the budget of a call. The environment takes precedence over the file, and before the file is read, only
    the environment and the default are used. Only the needed keys are checked here; the daemon checks all. Raises
    ConfigInvalid."""
    usual = BUSY_PROMPT_MS if {"prompt", "before-tool"}.intersection(arguments[:1]) and _is_busy() else PROMPT_MS
    is_start = bool(arguments) and arguments[0] in STARTS
    key, default = ("session_start_ms", SESSION_START_MS) if is_start else ("prompt_ms", usual)
    chosen = given.table("hooks").get(key, default) if given else environ.get(f"{PREFIX}HOOKS_{key.upper()}") or default
    try:
        return float(str(chosen))
    except ValueError as error:
        raise ConfigInvalid(f"hooks.{key} is not a number") from error


def _switches(hooks: Mapping[str, Any]) -> dict[str, str]:
    """Return whether hooks are on, and the parts that are off, as the file or the environment spells them."""
    words = {"true": "true", "1": "true", "yes": "true", "false": "false", "0": "false", "no": "false"}
    enabled, off = words.get(str(hooks.get("enabled")).lower()), hooks.get("off")
    found = {"enabled": enabled} if enabled else {}
    if off is not None:
        listed = off if isinstance(off, str) else ",".join(off)
        parts = [part.strip() for part in listed.split(",")]
        found["off"] = " ".join(part for part in parts if part.isascii() and part.replace("-", "").isalpha())
    return found


def _is_busy() -> bool:
    """Return whether more programs want to run than there are processors, on the average of the last minute."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1)
    except OSError:
        return False


def read_input() -> bytes:
    """Read all of standard input, bypassing Python's buffers, which may fail at exit. Raises Unusable for too much,
    OSError."""
    data = bytearray()
    while part := os.read(0, _STEP):
        data += part
        if len(data) > MOST_BYTES:
            raise Unusable("the input is too long")
    return bytes(data)


def write_output(data: bytes) -> None:
    """Write to standard output. Raises OSError if nobody reads it."""
    while data:
        data = data[os.write(1, data) :]


def _answer(
    options: HookOptions,
    data: bytes,
    vault: str,
    state: str,
    deadline: Deadline,
    line: HookLogLine,
    environ: Mapping[str, str],
    switches: Mapping[str, str],
) -> bytes:
    """Return the text to print; empty for silence. Raises NotRunning, DeadlineExceeded and the daemon's errors."""
    if len(data) > CARRIED_BYTES:
        data = HookInput(data).shortened()
    credentials, within_s = Credentials(f"{state}/{TOKENS}"), deadline.left_ms / 1000
    try:
        address = Address.read(f"{state}/{DAEMON}")
        with proved(address, credentials, deadline_s=within_s) as channel:
            headers = {
                "Authorization": f"Bearer {credentials.token(options.client)}",
                "Content-Type": "application/json",
                WITHIN_MS: str(max(1, int(deadline.left_ms - ON_THE_WAY_MS))),
                SWITCHES: ",".join(f"{name}={value}" for name, value in switches.items()),
                **marks_of(environ),
            }
            with TranslatedError(within_s):
                target = ROUTE + options.event
                status, replied, output = channel.exchange("POST", target, headers, data, deadline.until)
                facts = json_object(replied.get(FACTS, "{}").encode() if status == 200 else output)
    except NotRunning:
        is_known = os.path.exists(f"{state}/{PORT}") or os.path.exists(f"{vault}/.mcp-memory/vault.toml")
        if is_known and _has_turn(f"{state}/{TURN}"):
            _start_daemon(options, environ)
        raise
    if status != 200:
        raise error_of(status, facts)
    line.add_facts(facts)
    return output


def _has_turn(file: str) -> bool:
    """Return whether this hook starts the daemon. Of many hooks at once, one does, and for a while no later one. Raises
    OSError."""
    import fcntl
    from time import time

    make_folder(os.path.dirname(file))
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = os.fstat(descriptor)
        if last.st_size and 0 <= time() - last.st_mtime < AGAIN_S:
            return False
        os.pwrite(descriptor, b"1", 0)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _start_daemon(options: HookOptions, environ: Mapping[str, str]) -> None:
    """Start a daemon in the background for the next hooks; this one doesn't wait for it. Raises OSError."""
    from mcp_memory.client.detached_process import Detached
    from mcp_memory.runtime.paths import absolute

    vault = ["--vault", absolute(options.vault)] if options.vault else []
    config = ["--config", os.path.abspath(options.config)] if options.config else []
    Detached(["start", *vault, *config], environ).close()


def _parse(arguments: Sequence[str]) -> HookOptions:
    """Parse the arguments by hand: argparse takes longer to import than the daemon to answer, and ends the process.
    Raises Unusable."""
    event = arguments[0] if arguments else ""
    if not event.isascii() or not event.replace("-", "").isalpha():
        raise Unusable("unknown event", hint="mcp-memory hook --help")
    found: dict[str, str] = {}
    rest = iter(arguments[1:])
    for word in rest:
        name, has_value, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in {"client", "vault", "config"}:
            raise Unusable("unknown option", hint="mcp-memory hook --help")
        found[name] = value if has_value else next(rest, "")
    return HookOptions(event, **found)
