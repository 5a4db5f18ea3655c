"""Builds the jobs for your renames, moves, merges and splits of topics, and the job that takes a title from a
renamed folder."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from mcp_memory.compaction.job_builder import JobBuilder, PlannedMove, free_name
from mcp_memory.errors import InvalidInput, NotFound, Refused
from mcp_memory.models import NotePath, NoteRecord
from mcp_memory.runs.journal import JobEntry, MoveStep, RemoveStep, Step, WriteStep
from mcp_memory.runs.link_rewriter import LinkRewriter
from mcp_memory.storage.path_rules import fold
from mcp_memory.text.escape_invisible import visible
from mcp_memory.text.language.terms import content_words
from mcp_memory.text.markdown import frontmatter
from mcp_memory.text.pluralize import counted
from mcp_memory.topics.page import PAGE, next_number
from mcp_memory.topics.page_parts import own_text, with_added
from mcp_memory.topics.topic_tree import Topic, all_topics, find_topic
from mcp_memory.vault.note_file import NoteFile, slug
from mcp_memory.vault.vault import Vault


@dataclass(frozen=True)
class CompactRequest:
    """Fresh notes to file under topics, or with `dry_run` what would be filed."""

    dry_run: bool = False


@dataclass(frozen=True)
class EditTopicRequest:
    """A change of a topic, given by its folder, id or title. `verb`: rename it to `name`; move or merge it `into`
    another topic, or move it to the top if that is empty; or split it: these `notes` (ids or paths), or without any all
    notes with the words of `name`, get a topic of that name."""

    verb: str
    topic: str
    _: KW_ONLY
    name: str = ""
    into: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class TreeRequest:
    """The topics, down to `depth` levels; of one `topic`, what is below it and the one above. `notes`: with their
    notes. `quick`: as they were when a note last changed, which takes some milliseconds. `dropped`: instead the facts
    that the page of this topic, or (empty) of each, doesn't tell."""

    depth: int | None = None
    notes: bool = True
    quick: bool = False
    topic: str | None = None
    dropped: str | None = None


@dataclass(frozen=True)
class GrantsRequest:
    """List the topics shared with sessions. `topic`: first share this topic with the `session`, or `revoke` that."""

    topic: str | None = None
    session: str | None = None
    revoke: bool = False


VERBS = ("rename", "move", "merge", "split")
MAX_TITLE = 100
SHORT_ID = 6
"""The number of letters of an id that the command line shows."""
ZWNJ = "\u200c"
"""A zero-width non-joiner, used in Persian and Indic words."""

_NUMBER = re.compile(r"[0-9]{2,6}-(?=.)")


@dataclass(frozen=True)
class TopicEditor:
    """Builds edits from files and the index, for a single worker thread at a time. Writes nothing. Methods raise
    InvalidInput, NotFound, and Refused for a topic that contains files of yours."""

    vault: Vault
    builder: JobBuilder
    links: LinkRewriter
    root: str
    """The folder of all topics."""

    def build(self, edit: EditTopicRequest, tree: Sequence[Topic]) -> tuple[JobEntry, Mapping[NotePath, int]]:
        """Return the job, and the broken links for each file of yours."""
        if edit.verb not in VERBS:
            raise InvalidInput(f"unknown verb {edit.verb[:40]!r}", hint=f"one of {', '.join(VERBS)}")
        topic = find_topic(edit.topic, tree, self.root)
        page = self._page(topic)
        if edit.verb == "rename":
            return self.links.follow_moves(self._rename(topic, page, checked_title(edit.name)))
        if edit.verb == "split":
            return self.links.follow_moves(self._split(topic, checked_title(edit.name), edit.notes))
        into = None if edit.into in {"", "/", "."} else find_topic(edit.into, tree, self.root)
        if into and f"{into.folder}/".startswith(f"{topic.folder}/"):
            raise InvalidInput(f"{into.name} is {topic.name} or within it", hint="name a topic outside of it")
        if edit.verb == "merge":
            if into is None:
                raise InvalidInput("nothing to merge into", hint="name the topic that gets the notes")
            redirected = {page.record.path: into.page_path}
            return self.links.follow_moves(self._merge(topic, page, into, self._page(into)), redirected)
        return self.links.follow_moves(self._move(topic, into))

    def follow_rename(self, tree: Sequence[Topic]) -> JobEntry | None:
        """Return a job that makes the name of a renamed folder the title of its topic."""
        for topic in (topic for topic in all_topics(tree) if topic.ours and topic.page):
            assert topic.page
            before = self.vault.filing.folder_before(topic.page)
            if before is None or _bare(before) == _bare(topic.name) or topic.is_yours:
                continue
            try:
                title = checked_title(_title_of(topic.name))
                page = self.vault.read(topic.page_path)
                step = _retitle(page, page.record.path, title)
            except InvalidInput:
                continue
            if step.text != step.before:
                return JobEntry(f"{_bare(before)} is called {title!r} now, as its folder", [step])
        return None

    # -- below -------------------------------------------------------------------------------------------------

    def _rename(self, topic: Topic, page: NoteFile, title: str) -> JobEntry:
        parent, old = topic.parent, topic.name
        beside = self.builder.moves.names_in(parent)
        number = _NUMBER.match(old)
        name = f"{number[0] if number else f'{next_number(beside):02}-'}{slug(title)[:40].strip('-')}"
        target = f"{parent}/{free_name(name, {fold(one) for one in beside} - {fold(old)})}"
        moves = [] if target == topic.folder else self.builder.moves.move_topic(topic, target)
        step = _retitle(page, NotePath(f"{target}/{PAGE}"), title)
        if not moves and step.text == step.before:
            raise InvalidInput(f"{topic.name} is called {title!r} already", hint="pass another name")
        about = f"{old} is {target.rpartition('/')[2]} now: {title}"
        return JobEntry(about, [*moves, step])

    def _move(self, topic: Topic, into: Topic | None) -> JobEntry:
        parent = into.folder if into else self.root
        if parent == topic.parent:
            raise InvalidInput(f"{topic.name} is there already", hint="mcp-memory topics shows the topics")
        if into:
            self._page(into)
        target = f"{parent}/{free_name(topic.name, set(map(fold, self.builder.moves.names_in(parent))))}"
        moves = self.builder.moves.move_topic(topic, target)
        about = f"{topic.name}: moved {f'into {into.name}' if into else 'to the top'}"
        return JobEntry(about, moves)

    def _merge(self, topic: Topic, page: NoteFile, into: Topic, other: NoteFile) -> JobEntry:
        join = self.builder.build_join(into, PlannedMove(topic.leaves, topic.topics))
        moved = {step.source: step.target for step in join.steps if isinstance(step, MoveStep)}
        names = {path.rpartition("/")[2] for path in moved.values()} | self.builder.moves.names_in(into.folder)
        taken = set(map(fold, names))
        rest: list[Step] = []
        for step in self.builder.moves.move_topic(topic, into.folder):
            if step.source not in {*moved, topic.page_path}:
                name = free_name(step.source.rpartition("/")[2], taken)
                rest.append(replace(step, target=NotePath(f"{into.folder}/{name}")))
        steps: list[Step] = [*rest, *join.steps, RemoveStep(page.record.path, page.text)]
        if own := own_text(page.text, self._made(page)):
            written = next((step for step in join.steps if isinstance(step, WriteStep)), None)
            text = written.text if written else other.text
            steps.append(WriteStep(other.record.path, with_added(text, own), text))
        about = f"{topic.name}: {counted(topic.notes, 'note')} merged into {into.name}"
        return replace(join, about=about, steps=steps)

    def _split(self, topic: Topic, title: str, wanted: Sequence[str]) -> JobEntry:
        """Split a topic. The new topic becomes a sibling, or a subtopic of a project's only top-level topic."""
        above = NotePath(topic.parent)
        parent = topic.folder if topic.project and above == self.root else above
        chosen = self._chosen(topic, wanted) if wanted else self._with_words(topic, title)
        if not chosen or len(chosen) == topic.notes:
            what = "all" if chosen else "none"
            raise InvalidInput(f"{what} of its notes would be split off", hint="name some: mcp-memory show TOPIC")
        moves = self.builder.moves
        moves.check_ours(filter(moves.is_inside, chosen))
        entry = self.builder.build_new_topic(parent, moves.names_in(parent), PlannedMove(chosen), title)
        # The second step is needed because the old page would still link to the chosen notes.
        rest = self.builder.build_rest(topic, {note.id for note in chosen})
        return replace(entry, steps=[*entry.steps, rest])

    def _chosen(self, topic: Topic, wanted: Sequence[str]) -> list[NoteRecord]:
        notes = {key: note for note in topic.leaves
                 for key in (note.id, note.id[-SHORT_ID:], note.path, note.path.rpartition("/")[2])}  # fmt: skip
        if unknown := [name for name in wanted if name not in notes]:
            raise NotFound(f"{unknown[0][:100]!r} is no note of {topic.name}", hint="mcp-memory topics shows its notes")
        return list({notes[name].path: notes[name] for name in wanted}.values())

    def _with_words(self, topic: Topic, title: str) -> list[NoteRecord]:
        words = content_words(title)
        texts = {
            note.path: "\n".join([note.title, *note.tags, self.vault.read(note.path).body]) for note in topic.leaves
        }
        return [note for note in topic.leaves if words and words <= content_words(texts[note.path])]

    def _page(self, topic: Topic) -> NoteFile:
        page = self.vault.read(topic.page_path) if topic.ours and topic.page else None
        if page is None or not self._made(page):
            raise Refused(
                f"{topic.folder} is a folder of your own, or has no page of ours",
                hint="rename it as you like in a file manager; mcp-memory topics compact writes missing pages",
            )
        return page

    def _made(self, page: NoteFile) -> Sequence[Mapping[str, Sequence[str]]]:
        return self.vault.ledger.parts(page.record.id)


def checked_title(name: str) -> str:
    """Return the title on one line. Raises InvalidInput for a name that can't be a title."""
    title = " ".join(name.split())
    if not any(map(str.isalnum, title)) and not any(ord(character) > 0x2000 for character in title):
        raise InvalidInput("a topic's name needs a letter or a digit", hint="for example: Kitchen garden")
    if visible(plain := title.replace(ZWNJ, "")) != plain:
        raise InvalidInput(f"{visible(title)[:200]!r} has invisible characters", hint="type the name without them")
    if len(title) > MAX_TITLE:
        raise InvalidInput(f"a name of {len(title)} characters", hint=f"at most {MAX_TITLE}: say the rest in a note")
    return title


def _retitle(page: NoteFile, path: NotePath, title: str) -> WriteStep:
    """Write the page with a title that isn't recorded as ours, so that the title stays."""
    return WriteStep(path, frontmatter.patch(page.text, {"title": title}), page.text)


def _title_of(folder: str) -> str:
    bare = _NUMBER.sub("", folder)
    words = bare if " " in bare else bare.replace("-", " ").replace("_", " ")
    return words[:1].upper() + words[1:]


def _bare(folder: str) -> str:
    return slug(_NUMBER.sub("", folder))
