"""Find where a note names what an action touches, and whether the note forbids it. Pure, and exact: similarity is
ignored. A name is read in its clause: "use pnpm, not npm" names both, but advises against npm only."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase
from itertools import chain, pairwise
from posixpath import basename, splitext
from typing import NamedTuple

from mcp_memory.recall.moments import WORD_SETS, WORDS
from mcp_memory.recall.moments.shell_line import simple_commands
from mcp_memory.recall.moments.tool_action import ShellCommand, ToolAction
from mcp_memory.text.dates.ends import applies_on
from mcp_memory.text.language.denials import ADVISES_AGAINST, FORBIDS, INSTEAD
from mcp_memory.text.language.terms import content_words, fold
from mcp_memory.text.language.word_tables import either

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'`(\w])|\n+\s*(?:[-*+]|\d+[.)])?\s*")
_CLAUSE = re.compile(r"[,;:]\s+(?=(?:[^`]*`[^`]*`)*[^`]*$)|\s+[-–—]+\s+|\s+(?:but|instead|sondern|pero|mais)\s+")
_OF_IT = re.compile(r"\b(?:it|them|they|these|this folder|this file|there|here)\b", re.IGNORECASE)
_CODE = re.compile(r"`+([^`\n]+)`+")
_TOKEN = re.compile(r"(?<![\w./@-])(?:[\w@.~<>{}*+-]*[/.][\w@.~<>{}*+/-]*)(?<![.,])")
_NAMED = re.compile(f"{_CODE.pattern}|{_TOKEN.pattern}")
_HOLE = re.compile(r"<[^>]*>|\{[^}]*\}|\b[A-Z]{3,}(?:[-_]?[A-Z]{2,})*\b(?!\.)|…|\.\.\.")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9_]{0,9}$|^\.[a-z]")
_ORDERS = re.compile(f"{FORBIDS.pattern}|{WORDS['orders']}", re.IGNORECASE)
_EXCUSED = re.compile(either([WORDS["excused"]], {**WORDS, "no": _ORDERS.pattern}), re.IGNORECASE)
_CONDITIONAL = re.compile(WORDS["conditional"], re.IGNORECASE)
_CHANGING = re.compile(WORDS["changing"], re.IGNORECASE)
_FORBIDDEN = {
    words: re.compile(either([WORDS["forbidden"]], {"it": words}), re.IGNORECASE | re.MULTILINE)
    for words in WORDS["activities"].split("\n")
}
_FILE = re.compile(r"[A-Z]\w*file")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")


class Mention(NamedTuple):
    """A mention, ordered by its value as advice. `weight`: how exactly the `sentence` names the action, 1 to 4,
    or 0 for an order that the action keeps; `forbids`: in the words of an order."""

    forbids: bool
    weight: int
    sentence: str

    def is_in(self, line: str) -> bool:
        return bool(self.sentence) and (line.strip() in self.sentence or self.sentence in line)


BY_PHRASE = Mention(forbids=False, weight=3, sentence="")
"""The mention of an action in a phrase under `when`."""


def says_action(phrase: str, action: ToolAction) -> bool:
    """Return whether a phrase under `when` names the action's file or command, or describes the command or change:
    `writing a commit message` describes `git commit`, and `changing a migration` an edit below `migrations/`. The name
    of a folder alone describes nothing, because it may be the subject of the whole project."""
    said = content_words(phrase)
    acts = acts_of(action) if action.commands or _CHANGING.search(phrase) else _types_of(action)
    return any(fold(act.lower()) in said for act in acts) or find_mention(phrase, action) is not None


def acts_of(action: ToolAction) -> Iterator[str]:
    """Yield the words that say what the commands do, or else the folders and types of the changed files."""
    if not action.commands:
        folders = (file.split("/")[:-1] for file in action.files if not file.startswith("/"))
        yield from {*chain(*folders), *_types_of(action)} - {"", *WORD_SETS["common_programs"]}
    for program, *rest in (command.words[:2] for command in action.commands):
        yield from WORD_SETS["acts"].intersection([program, *rest])
        if program != "git" and WORD_SETS["installs"].intersection(rest):
            yield "install"


def _types_of(action: ToolAction) -> set[str]:
    return {splitext(file)[1][1:] for file in action.files} - WORD_SETS["common_programs"]


def activities_in(text: str) -> list[str]:
    """Return the words for each activity that a text, such as commands, may name."""
    return [words for words in _FORBIDDEN if re.search(words, text, re.IGNORECASE)]


def activities_of(action: ToolAction) -> list[str]:
    """Return the words for each activity that a command may do."""
    return activities_in("\n".join(_lines(action)))


def forbidden_activities(text: str) -> set[str]:
    """Return the words for each activity that a text forbids."""
    clauses = (one for sentence in _SENTENCE.split(text) for one in _clauses(sentence))
    return {words for clause, *forbids in clauses if any(forbids) for words in activities_in(clause)}


def _lines(action: ToolAction) -> list[str]:
    return [" ".join([*command.words, *command.flags]).replace("\n", " ") for command in action.commands]


def find_mention(text: str, action: ToolAction, *, commands: bool = True, today: date | None = None) -> Mention | None:
    """Return the best mention in a note's text. `commands`: whether the note may name a command that the call
    runs in full, without advising against it. A rule for other days than `today` forbids nothing."""
    found: list[Mention] = []
    lines, activities = _lines(action), activities_of(action)
    folders = {fold(part.lower()) for file in action.files if not action.commands for part in file.split("/")[:-1]}
    folders -= WORD_SETS["common_programs"]
    for sentence, following in pairwise([*map(str.strip, _SENTENCE.split(text)), ""]):
        goes_on = _OF_IT.search(following) and "`" not in following
        for clause, is_against, forbids in _clauses(sentence):
            order = "\n".join([*lines, "", clause])
            scene = f"{order}\n\n{action.text}"
            if any(_FORBIDDEN[words].search(order) for words in activities):
                applies = not _CONDITIONAL.search(clause) and (today is None or applies_on(clause, today))
                found.append(Mention(applies, 4, sentence))
            whole = 2 * (forbids and any(_spares(clause, basename(file)) for file in action.files))
            if weight := _weight(clause, action, is_against, commands or is_against) or whole:
                is_order, counts = forbids or bool(goes_on and _ORDERS.search(following)), not _EXCUSED.search(scene)
                whole = f"{sentence} {following}" if goes_on else sentence
                found.append(Mention(is_order and counts, weight * counts, whole))
            elif forbids and _CHANGING.search(clause) and content_words(_NAMED.sub(" ", clause)) & folders:
                found.append(Mention(False, 1, sentence))
    return max(found, default=None)


def _clauses(sentence: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield each clause with whether it advises against what it names, and forbids it."""
    before = ""
    for part in _CLAUSE.split(sentence):
        clause, prose = before + part, _CODE.sub("`", before + part)
        before = f"{part} " if len(part.split()) == 1 and ADVISES_AGAINST.search(part) else ""  # "Rejected: …"
        if turn := INSTEAD.search(clause):
            yield clause[: turn.start()], False, False
            yield clause[turn.start() :], True, True
        elif not before:
            yield clause, bool(ADVISES_AGAINST.search(prose)), bool(_ORDERS.search(prose))


def _weight(clause: str, action: ToolAction, is_against: bool, commands: bool) -> int:
    """Return how exactly the clause names the action; 0 if it doesn't."""
    codes, prose = _CODE.findall(clause), _CODE.sub(" ", clause)
    names = [code.strip() for code in codes if " " not in code.strip()]  # the files of a command belong to it
    names += [token for token in _TOKEN.findall(prose) if "/" in token or _EXTENSION.search(token)]
    weights = [_file_weight(name, file, is_against) for name in names for file in action.files]
    for stem in (splitext(basename(file))[0] for file in action.files):  # a component or function
        if len(stem) > 5 and _HUMP.search(stem):
            weights += [2 for _ in re.findall(rf"(?<![\w/.-]){re.escape(stem)}(?![\w-]|\.\w)", clause)]
    weights += [2 for command in action.commands if is_against and _names_program(command, codes, prose)]
    for command in action.commands:
        for words in _commands(command, codes, prose):
            if commands or not all(map(command.has_flag, _flags(words))):
                weights.append(_command_weight(words, command, is_against))
    return max(weights, default=0)


def _spares(clause: str, name: str) -> bool:
    """Return whether a clause is about changing the whole file, which has no extension: `don't touch the Makefile`."""
    whole = either([WORDS["whole"]], {**WORDS, "file": name}) if _FILE.fullmatch(name) else "(?!)"
    return bool(re.search(whole, clause, re.IGNORECASE)) and not _CONDITIONAL.search(clause)


def _file_weight(name: str, file: str, is_against: bool) -> int:
    """Return how exactly a path, a folder, a pattern or a file's name in a note means this file."""
    name = re.sub(r":\d+(?:-\d+)?$", "", name.removeprefix("./")).strip("\"'")
    is_folder = name.endswith(("/", "/*", "/**"))
    parts = re.sub(r"/\*{1,2}$", "", name).rstrip("/").split("/")
    # `<team>__<subject>.py` is any file of that ending, `YYYY-MM-DD-topic` any folder.
    pattern = "/".join(f"*{splitext(part)[1]}" if _HOLE.search(part) and "*" not in part else part for part in parts)
    is_file = bool(_EXTENSION.search(parts[-1])) and not is_folder
    if not re.search(r"\w", pattern) or pattern.startswith("/"):
        return 0
    if len(parts) == 1 and not is_folder:
        is_name = is_against if pattern in WORD_SETS["common_files"] else is_file
        return 2 + ("*" in pattern) if is_name and fnmatchcase(basename(file), pattern) else 0
    if is_file:
        return 4 if fnmatchcase(f"/{file}", f"*/{pattern}") else 0
    # A bare folder name means the folder at the top.
    return 1 + min(2, len(parts)) if fnmatchcase(f"/{file}", f"{'*' if len(parts) > 1 else ''}/{pattern}/*") else 0


def _names_program(command: ShellCommand, codes: Sequence[str], prose: str) -> bool:
    program = command.words[0]
    if program in WORD_SETS["common_programs"] or len(program) < 3 or command.flags == frozenset({"--version"}):
        return False
    name = rf"(?<![\w./-]){re.escape(program)}(?![\w/-]|\.\w)"
    spoken = rf"\b(?:{WORDS['before_program']})\s+{name}|{name}(?:,|\s+(?:{WORDS['behind_program']})\b)"
    return program in map(str.strip, codes) or bool(re.search(spoken, prose, re.IGNORECASE))


def _commands(command: ShellCommand, codes: Sequence[str], prose: str) -> Iterator[Sequence[str]]:
    """Return the words of the commands that a clause names: in code, or of this program with its subcommand in
    prose."""
    for code in codes:
        for _, words in simple_commands(code) if command.words[0] in code else ():
            yield from (words, words[1:])  # `npx prisma …`, too
    if len(command.words) > 1:
        program, second = map(re.escape, command.words[:2])
        flags = r"((?:\s+-[\w=-]+)*)"
        for match in re.finditer(rf"(?<![\w./-]){program}{flags}\s+{second}(?![\w/-]){flags}", prose):
            yield [*command.words[:2], *match[1].split(), *match[2].split()]


def _flags(words: Sequence[str]) -> list[str]:
    return [word.partition("=")[0] for word in words if word.startswith("-") and word.strip("-")]


def _command_weight(named: Sequence[str], command: ShellCommand, is_against: bool) -> int:
    """Return how exactly a note names this command: all of its words in their order, and its flags. A single flag is
    enough if the note has no objection to the command."""
    flags = _flags(named)
    values = {word for flag, word in pairwise(named) if flag.startswith("-")}
    plain = [word for word in named if word[:1] not in "-$" and word not in values and not _HOLE.search(word)]
    rest = iter(command.words[1:6])
    if len(plain) + len(flags) < 2 or plain[:1] != [command.words[0]] or not all(word in rest for word in plain[1:]):
        return 0
    has = [command.has_flag(flag) for flag in flags]
    is_lenient = len(plain) > 1 and not is_against and (plain[0] not in WORD_SETS["common_programs"] or any(has))
    return min(4, len(plain) + sum(has)) if all(has) or is_lenient else 0
