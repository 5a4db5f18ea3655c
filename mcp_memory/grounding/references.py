"""Finds the files, lines, symbols, commits and commands that a note names, grounds them in a commit, and determines
what has become of them since."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from mcp_memory.grounding.code_repository import CodeRepository, CodeSnapshot
from mcp_memory.grounding.code_symbols import Symbol, enclosing_symbol, find_symbol, list_symbols
from mcp_memory.text.language.terms import jaccard, runs

MOST_REFERENCES = 30
"""The limit for one note or log entry."""

_PATH = r"(?:[\w.@+-]+/)*[\w.@+-]*\w"
_PLACE = re.compile(
    rf"(?<![\w/@.:~+-])(?:\./)?({_PATH}/?)(?![\w/])(?::(\d{{1,6}})(?:-\d+)?\b|(?:::?|#)([^\W\d]\w*(?:(?:\.|::)\w+)*))?"
)
_COMMIT = re.compile(r"(?<![\w/.-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w/-])")
_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_COMMAND = re.compile(r"^(?:\$ )?(just|make|(?:npm|pnpm|yarn|bun) run)\s+([\w:.-]+)")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,9}$")
RUNNERS = {
    "just": ("justfile", "Justfile", ".justfile"), "make": ("Makefile", "makefile", "GNUmakefile"),
    "run": ("package.json",),
}  # fmt: skip


@dataclass(frozen=True)
class Named:
    """A reference as the note writes it: a `commit`; a path, perhaps with a symbol or a line; or a command. A command
    is a symbol in the first of these `paths` that defines it."""

    text: str
    paths: tuple[str, ...] = ()
    symbol: str = ""
    line: int = 0
    commit: str = ""


def find_references(text: str, listed: Iterable[str] = ()) -> list[Named]:
    """Find references: first the `listed` ones from the head of a note, then paths and commits anywhere in the text,
    and commands in backticks and code blocks. The repository decides whether they exist."""
    found: dict[str, Named] = {}
    for line in listed:
        for one in [*_commands(line), *_places(line, is_code=True)][:1]:
            found.setdefault(one.text, one)
    is_fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_fenced = not is_fenced
            continue
        spans = [line] if is_fenced else [span for _, span in _SPAN.findall(line)]
        named = [one for span in spans for one in [*_commands(span.strip()), *_places(span, is_code=True)]]
        for one in [*named, *_places(line, is_code=False)]:
            found.setdefault(one.text, one)
    return list(found.values())[:MOST_REFERENCES]


def _commands(text: str) -> Iterator[Named]:
    if found := _COMMAND.match(text):
        yield Named(found[0].removeprefix("$ "), RUNNERS[found[1].split()[-1]], found[2])


def _places(text: str, *, is_code: bool) -> Iterator[Named]:
    """Find paths. Prose needs an ending or a folder; the repository decides whether `and/or` is a path."""
    for found in _COMMIT.finditer(text):
        yield Named(found[0], commit=found[0])
    for found in _PLACE.finditer(text):
        path, line, symbol = found.groups()
        if ".." in path.split("/") or path.startswith("."):
            continue
        if "/" in path or _ENDING.search(path) or (is_code and symbol):
            yield Named(found[0].removeprefix("./"), (path,), symbol or "", int(line or 0))


UNCOMMITTED = "uncommitted"
LEAST_ALIKE, LEAST_RENAMED, LEAST_TOKENS = 1 / 3, 0.6, 20
"""The minimum share of common pairs of tokens (Jaccard) of a symbol and its successor: with the same name, and with
another name in the same file. A successor with another name needs at least LEAST_TOKENS tokens."""

OK, MOVED, CHANGED, GONE = "ok", "moved", "changed", "gone"


@dataclass(frozen=True)
class Reference:
    """A grounded reference, and its outcome.

    The reference is a `symbol` in a file, a file, or a commit (with an empty `path`), with its `digest` in `commit`.
    The outcome is `now_path` and `now_symbol`, the commit that `changed` it, and whether it is `gone`. `seen` is the
    state of the file or repository at the last check."""

    text: str
    path: str
    symbol: str = ""
    commit: str = ""
    digest: str = ""
    now_path: str = ""
    now_symbol: str = ""
    changed: str = ""
    gone: bool = False
    seen: str = ""

    @property
    def outcome(self) -> str:
        has_moved = (self.now_path, self.now_symbol) != (self.path, self.symbol)
        return GONE if self.gone else CHANGED if self.changed else MOVED if has_moved else OK

    @property
    def remark(self) -> str:
        """Describe the outcome in three words, with its place or commit; empty if nothing has changed."""
        match self.outcome:
            case "gone":
                return f"{'symbol' if self.symbol else 'file' if self.path else 'commit'} is gone"
            case "changed":
                return f"code changed since, in {self.changed.partition(' ')[0]}"
            case "moved":
                return f"moved to {':'.join(filter(None, (self.now_path, self.now_symbol)))}"
            case _:
                return ""


def ground(named: Named, snapshot: CodeSnapshot) -> Reference | None:
    """Ground a reference in a snapshot; return None if it doesn't exist there."""
    code, commit = snapshot.code, snapshot.commit or snapshot.code.head
    if named.commit:
        return Reference(named.text, "", commit=named.commit) if code.has_commit(named.commit) else None
    for path in filter(None, map(snapshot.find, named.paths)):
        symbols = _symbols(path, snapshot.read(path))
        found = find_symbol(symbols, named.symbol) if named.symbol else enclosing_symbol(symbols, named.line)
        if found and not named.symbol and found != find_symbol(symbols, found.name):
            found = None  # the line is outside any named definition
        if found:
            return Reference(named.text, path, found.name, commit, found.digest, path, found.name)
        if len(named.paths) == 1:
            return Reference(named.text, path, "", commit, "", path)
    return None


def check(known: Reference, code: CodeRepository) -> Reference:
    """Update the reference. Raises GitUnavailable."""
    signature = code.signature(known.now_path)
    seen = f"{signature} {code.head}"
    is_settled = known.symbol and not known.gone and known.changed != UNCOMMITTED
    is_same_code = is_settled and signature and known.seen.startswith(f"{signature} ")
    if known.seen == seen or is_same_code:
        return known
    if not known.path:
        return replace(known, gone=not code.has_commit(known.commit), seen=seen)
    found = _symbol_now(known, code) if known.symbol else _file_now(known, code)
    return replace(found, seen=f"{code.signature(found.now_path)} {code.head}")


def _file_now(known: Reference, code: CodeRepository) -> Reference:
    """Update a reference to a file. The file has changed if most of its lines are different."""
    path = next(filter(code.exists, (known.path, known.now_path)), None) or code.follow(known.path)
    if not path:
        return replace(known, gone=True, changed="", now_path=known.path)
    before = code.read_at(known.commit, known.path) if path == known.path else None
    lines = before.count(b"\n") if before else 0
    is_other = lines > 0 and 2 * code.lines_removed(path, known.commit) > lines
    changed = code.last_change(path, known.commit) if is_other else ""
    return replace(known, now_path=path, gone=False, changed=changed)


def _symbol_now(known: Reference, code: CodeRepository) -> Reference:
    for path, name in ((known.path, known.symbol), (known.now_path, known.now_symbol)):
        if found := find_symbol(_symbols(path, code.read(path)), name):
            return _as_found(known, path, found, code)
    there = next(filter(code.exists, (known.path, known.now_path)), None) or code.follow(known.path)
    files = [there] if there else []
    if there and there != known.path and (found := find_symbol(_symbols(there, code.read(there)), known.symbol)):
        return _as_found(known, there, found, code)
    before = _symbols(known.path, code.read_at(known.commit, known.path))
    old = find_symbol(before, known.symbol)
    pairs = runs(old.tokens if old and old.digest == known.digest else (), 2)
    simple, names = known.symbol.rpartition(".")[2], {one.simple for one in before}
    best: tuple[float, str, Symbol] | None = None
    for path in [*files, *code.changed_with(known.path, known.commit)]:
        for one in _symbols(path, code.read(path)):
            is_namesake = one.simple == simple
            is_new = path in files and one.simple not in names and len(one.tokens) >= LEAST_TOKENS
            least = LEAST_ALIKE if is_namesake else LEAST_RENAMED if is_new else 2.0
            share = 1.0 if one.digest == known.digest else jaccard(pairs, runs(one.tokens, 2))
            if share >= least and (best is None or share > best[0]):
                best = share, path, one
    return _as_found(known, best[1], best[2], code) if best else replace(known, gone=True, changed="")


def _as_found(known: Reference, path: str, found: Symbol, code: CodeRepository) -> Reference:
    changed = ""
    if found.digest != known.digest:
        committed = find_symbol(_symbols(path, code.read_at(code.head, path)), found.name)
        if committed and committed.digest != known.digest:
            lines = committed.first_line, committed.last_line
            changed = code.last_change(path, known.commit, lines)
        changed = changed or UNCOMMITTED
    return replace(known, now_path=path, now_symbol=found.name, changed=changed, gone=False)


def _symbols(path: str, data: bytes | None) -> list[Symbol]:
    return [] if data is None else list_symbols(path, data)
