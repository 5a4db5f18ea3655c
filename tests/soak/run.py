"""A soak from the empty folder to the verdict."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_memory.client.credentials import PERSON
from tests.daemon.place import Place
from tests.soak import judge
from tests.soak.book import Book
from tests.soak.daemon import Daemon, on_a_port_of_its_own
from tests.soak.disk import Disk, can_be_made, own_disk
from tests.soak.line import Failed, Line, Unanswered, Watch, era
from tests.soak.options import Options
from tests.soak.people import Checkouts, Editor, write_notes
from tests.soak.report import Report, Sample
from tests.soak.sessions import Errors, Mix, Session
from tests.soak.trouble import Trouble, planned

Say = Callable[[str], None]

SYLLABLES = ("ba", "do", "fe", "gi", "ku", "la", "mo", "ne", "pi", "ro", "su", "ta", "ve", "wi")
VOCABULARY = [f"{a}{b}{c}" for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES]
OWN_FILES = 40
"""Of each editor."""
SAID_EVERY_S = 10.0
"""How the first index goes on."""

FRESH_WITHIN_S = 30.0
"""Promise: the index is complete half a minute after all is quiet."""
SAMPLE_S, HEARTBEAT_S = 2.0, 0.5
ASKED_AT_THE_END = 500
DISK_MB = 2000


def soak(options: Options, folder: Path, models: Path, say: Say) -> Report:
    """Works in `folder`, which must be empty."""
    with ExitStack() as stack:
        disk = stack.enter_context(own_disk(folder, DISK_MB)) if options.full_disk and can_be_made() else None
        provider = {} if options.model else {"MCP_MEMORY_EMBEDDER_PROVIDER": "none"}
        place = on_a_port_of_its_own(Place((disk.root if disk else folder) / "machine", models, provider)).make()
        daemon = Daemon(place)
        stack.callback(daemon.kill)
        return asyncio.run(_soak(options, place, daemon, disk, folder / "scratch", say))


async def _soak(options: Options, place: Place, daemon: Daemon, disk: Disk | None, scratch: Path, say: Say) -> Report:
    shown = {"minutes", "sessions", "vault_notes", "rate", "seed", "model"}
    report = Report({**{k: v for k, v in asdict(options).items() if k in shown}, "full_disk": disk is not None})
    chance = random.Random(options.seed)
    files = await asyncio.to_thread(write_notes, place.vault, options.vault_notes, VOCABULARY, chance)
    checkouts = Checkouts(place.vault, min(300, max(9, options.vault_notes // 10)), VOCABULARY, chance)
    await asyncio.to_thread(checkouts.make)
    say(f"{len(files)} notes written, starting")
    report.starts_s.append(await daemon.start())

    line = Line(place, "soak", era(0))
    await until_ready(line, say)
    report.at_rest = daemon.figures()
    say("indexed, load begins")
    plan = planned(options.seconds, chance, full_disk=disk is not None)
    trouble = Trouble(plan, daemon, disk, Line(place, PERSON, era(0)), say)
    watch = Watch(lambda: trouble.now)
    errors, book = Errors(trouble.excuses), Book()
    editors = [
        Editor(
            place.vault, files[n * OWN_FILES : (n + 1) * OWN_FILES], book,
            by_rename=n == 0, pause_s=0.5, vocabulary=VOCABULARY, chance=random.Random(f"{options.seed} editor {n}"),
        )
        for n in range(2)
    ]  # fmt: skip
    heart = Line(place, "heart", era(0), watch)
    began, cpu = time.monotonic(), time.process_time()
    async with at_once(
        *(session.run() for session in sessions(options, place, daemon, book, errors, watch)),
        *(editor.run() for editor in editors),
        checkouts.run(max(1.0, min(20.0, options.seconds / 10))),
        beat(heart, daemon, errors),
        sample(daemon, report.samples, began),
    ):
        await trouble.run()
        await asyncio.sleep(max(0.0, began + options.seconds - time.monotonic()))
    report.load_s = time.monotonic() - began
    report.generator_cpu_percent = 100 * (time.process_time() - cpu) / report.load_s
    say("load ended, checking")

    report.times_s = watch.times_s
    report.troubles, report.faults = dict(trouble.made), trouble.faults
    report.starts_s += trouble.starts_s
    report.stops_s = trouble.stops_s
    report.excused, report.unexpected = dict(errors.during_trouble), dict(errors.unexpected)
    report.unknown = dict(errors.unknown)
    report.error_samples = errors.samples
    report.editor_saves, report.editor_lines = sum(editor.saves for editor in editors), len(book.lines)
    report.checkouts = checkouts.flips
    try:
        report.asked_again = await ask_again(book, line)
        await judged(report, place, daemon, book, line, options, scratch)
    except (Unanswered, Failed) as error:
        report.faults.append(f"after the load: {error}")
    report.answered_appends = len(book.answered)
    return report


async def judged(
    report: Report, place: Place, daemon: Daemon, book: Book, line: Line, options: Options, scratch: Path
) -> None:
    """First whether the index comes to know everything by itself; then what it costs to idle; then what is lost."""
    index, quiet_since = place.state.index, time.monotonic()
    while True:
        report.stale = await asyncio.to_thread(judge.stale, index, place.vault, scratch)
        report.fresh_after_s = round(time.monotonic() - quiet_since, 1)
        if not report.stale or report.fresh_after_s > FRESH_WITHIN_S:
            break
        await asyncio.sleep(0.5)
    await until_ready(line)
    if options.quiet_s and (before := daemon.figures()):
        await asyncio.sleep(options.quiet_s)
        if after := daemon.figures():
            report.idle_cpu_percent = 100 * (after.cpu_s - before.cpu_s) / options.quiet_s
            report.at_rest_again = after
    chance = random.Random(options.seed)
    answered = book.answered
    report.lost += await judge.unfound(chance.sample(answered, min(len(answered), ASKED_AT_THE_END)), line)
    status = await line.api("status")
    report.index = {name: status[name] for name in ("notes", "chunks", "pending", "problems")}
    report.faults += [f"the daemon reports: {error}" for error in status["errors"]]
    line.close()
    code, took_s = await daemon.stop()
    report.stops_s.append(took_s)
    if code:
        report.faults.append(f"the last stop ended with exit code {code}")
    report.lost += await asyncio.to_thread(judge.lost, book, place.vault)
    report.lost += await asyncio.to_thread(judge.torn_or_doubled, place.vault)
    report.conflict_copies = sum(1 for _ in place.vault.rglob("*(conflict *.md"))
    report.leftovers = sum(1 for _ in place.vault.rglob(".*.mcpm"))
    report.stale += await judge.unlike_rebuilt(index, place.vault, scratch)


def sessions(options: Options, place: Place, daemon: Daemon, book: Book, errors: Errors, watch: Watch) -> list[Session]:
    return [
        Session(
            number, Line(place, f"session-{number % 8}", era(number), watch), book, errors,
            chance=random.Random(f"{options.seed} session {number}"), vocabulary=VOCABULARY,
            think_s=options.sessions / options.rate, mix=Mix(), is_up=lambda: daemon.is_up, lives=lambda: daemon.lives,
        )
        for number in range(options.sessions)
    ]  # fmt: skip


@asynccontextmanager
async def at_once(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """All of them in the background; cancelled when the block ends. If one fails, so does the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        yield
        for task in tasks:
            task.cancel()


async def ask_again(book: Book, line: Line) -> int:
    """Every append that has no answer yet, as its agent would; how many those were."""
    pending = [told for told in book.told if not told.answered and told.may_be_asked_again]
    for told in pending:
        receipt = await line.tool("memory_append", told.arguments)
        book.appended(told, receipt)
    return len(pending)


async def until_ready(line: Line, say: Say = lambda _: None) -> None:
    said_at = 0.0
    while not (status := await line.api("status"))["ready"]:
        if time.monotonic() - said_at > SAID_EVERY_S:
            said_at = time.monotonic()
            say(f"{status['notes']} notes indexed, {status['pending']} texts without a vector")
        await asyncio.sleep(0.2)


async def beat(line: Line, daemon: Daemon, errors: Errors) -> None:
    """An empty call twice a second: what it waits for is the event loop."""
    while True:
        life, began_s = daemon.lives, time.monotonic()
        try:
            await line.health()
        except (Unanswered, Failed) as error:
            errors.met("health", error, began_s, died=not daemon.is_up or daemon.lives != life)
        await asyncio.sleep(HEARTBEAT_S)


async def sample(daemon: Daemon, samples: list[Sample], began: float) -> None:
    while True:
        if found := daemon.figures():
            samples.append(Sample(round(time.monotonic() - began, 1), daemon.lives, found))
        await asyncio.sleep(SAMPLE_S)
