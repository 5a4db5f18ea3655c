"""The yardstick of the package, measured (run with `-s` to see the table), and the checks of every commit."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tokenize
from asyncio import Task, current_task
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mcp_memory.index.sqlite.sqlite_index import SqliteIndex
from mcp_memory.storage.filesystem import FilesystemBackend
from tests.support.world import World

CHECKOUT = Path(__file__).parents[1]
PACKAGE = CHECKOUT / "mcp_memory"
OURS = ["mcp_memory", "tests"]
LONG_ON_PURPOSE = "over 300 lines because"
SEARCH_ARGUMENT = "include_archived"
"""An argument of `memory_search` that has come through every layer since the first version."""

# The limit is today's figure where that is beyond the target, so that it can only fall: (limit, target).
PACKAGE_TOKENS = (576_935, 500_000)
MODULES_A_FOLDER = (16, 16)
FOLDER_LINES = (3_000, 3_000)
LONG_MODULES = (0, 0)
REPEATED_CLASSES = (0, 0)
REPEATED_MODULES = (0, 0)
ARGUMENT_FILES = (4, 4)
APPEND_MODULES = (6, 5)
SEARCH_MODULES = (5, 5)


@dataclass(frozen=True)
class Measure:
    """A figure of the package, what it may be today, and what it is to come down to."""

    name: str
    figure: int
    limit: int
    target: int
    offenders: tuple[str, ...] = ()

    def row(self) -> str:
        return f"{self.name:<64}{self.figure:>8,}{self.limit:>8,}{self.target:>8,}"


# -- the size and shape of the source ------------------------------------------------------------------------------


def test_the_source_keeps_its_measures():
    naming = files_naming(SEARCH_ARGUMENT)
    measures = [
        over("tokens of the package", PACKAGE_TOKENS, [("mcp_memory", sum(map(tokens, lines())))]),
        over("modules in the widest folder", MODULES_A_FOLDER, folders().items()),
        over("lines of the largest room, sub-rooms apart", FOLDER_LINES, flat_rooms().items()),
        broken("modules over 300 lines whose head does not say why", LONG_MODULES, long_modules()),
        broken("public class names that stand twice", REPEATED_CLASSES, repeated(public_classes())),
        broken("module names that stand twice within three levels", REPEATED_MODULES, repeated(module_names())),
        over(f"files that name a search argument ({SEARCH_ARGUMENT})", ARGUMENT_FILES,
             [(", ".join(naming), len(naming))]),
    ]  # fmt: skip
    judge(measures)


@cache
def lines() -> dict[Path, int]:
    """Each module of the package and its lines."""
    return {file.relative_to(CHECKOUT): file.read_text().count("\n") for file in sorted(PACKAGE.rglob("*.py"))}


LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def tokens(file: Path) -> int:
    """Tokens of code: unlike lines, they gain nothing by density, and cost nothing where a sentence is clearer."""
    with (CHECKOUT / file).open(encoding="utf-8") as source:
        return sum(token.type not in LAYOUT for token in tokenize.generate_tokens(source.readline))


@cache
def trees() -> dict[Path, ast.Module]:
    return {file: ast.parse((CHECKOUT / file).read_text()) for file in lines()}


def folders() -> Counter[str]:
    return Counter(file.parent.as_posix() for file in lines() if file.name != "__init__.py")


def flat_rooms() -> Counter[str]:
    """The lines that stand directly in a folder: what its sub-folders hold is theirs."""
    count = Counter[str]()
    for file, length in lines().items():
        count[file.parent.as_posix()] += length
    return count


def long_modules() -> Iterator[str]:
    for file, length in lines().items():
        head = ast.get_docstring(trees()[file]) or ""
        if length > 300 and LONG_ON_PURPOSE not in " ".join(head.split()).lower():
            yield f"{file} has {length} lines; say in its docstring that it is {LONG_ON_PURPOSE} …, or divide it"


def public_classes() -> dict[str, list[str]]:
    named = defaultdict[str, list[str]](list)
    for file, tree in trees().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named[node.name].append(file.as_posix())
    return named


def module_names() -> dict[str, list[str]]:
    """Down to mcp_memory.room.module; deeper ones may repeat, for their folder tells them apart."""
    named = defaultdict[str, list[str]](list)
    for file in lines():
        if len(file.parts) <= 3 and file.stem not in {"__init__", "base", "config", "cli", "feature", "requests"}:
            named[file.stem].append(file.as_posix())
    return named


def files_naming(argument: str) -> list[str]:
    """The modules in whose code (not in prose) an argument has to be written out."""
    return [file.as_posix() for file, tree in trees().items() if argument in names_in(tree)]


def names_in(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=str(name)) | ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.keyword(arg=str(name), value=value) if not isinstance(value, ast.Constant):
                yield name  # who calls with a constant only uses the argument
            case ast.Constant(value=str(name)):
                yield name


def repeated(named: dict[str, list[str]]) -> Iterator[str]:
    return (f"{name}: {', '.join(files)}" for name, files in sorted(named.items()) if len(files) > 1)


def over(name: str, bounds: tuple[int, int], figures: Any) -> Measure:
    """The largest of some figures, and which of them pass the limit."""
    limit, target = bounds
    figures = list(figures)
    offenders = tuple(f"{where}: {figure:,}" for where, figure in figures if figure > limit)
    return Measure(name, max(figure for _, figure in figures), limit, target, offenders)


def broken(name: str, bounds: tuple[int, int], offenders: Iterator[str]) -> Measure:
    found = tuple(offenders)
    return Measure(name, len(found), *bounds, offenders=found)


def judge(measures: list[Measure]) -> None:
    print(f"\n{'measure':<64}{'figure':>8}{'limit':>8}{'target':>8}")
    for measure in measures:
        print(measure.row())
    failed = [measure for measure in measures if measure.figure > measure.limit]
    report = [f"{each.name}: {each.figure}, at most {each.limit}\n  " + "\n  ".join(each.offenders) for each in failed]
    if failed:
        pytest.fail("\n".join(report), pytrace=False)


# -- how many modules a call passes --------------------------------------------------------------------------------

_caller: ContextVar[Task[Any] | None] = ContextVar("caller", default=None)


@pytest.mark.anyio
async def test_an_append_and_a_search_pass_few_modules(world: World, monkeypatch: pytest.MonkeyPatch):
    async with world.engine() as engine:
        with monkeypatch.context() as watched:
            writes = watch(watched, FilesystemBackend, "write")
            await engine.append("The bridge at Remagen opens at noon.", kind="fact")
            searches = watch(watched, SqliteIndex, "lexical")
            assert (await engine.search("bridge Remagen")).hits
    append, search = (max(chains, key=len) for chains in (writes, searches))
    judge([
        over("modules from the engine to the disk, append", APPEND_MODULES, [(" > ".join(append), len(append))]),
        over("modules from the engine to the index, search", SEARCH_MODULES, [(" > ".join(search), len(search))]),
    ])  # fmt: skip


def watch(patch: pytest.MonkeyPatch, owner: type[Any], method: str) -> list[list[str]]:
    """The modules that each call of a method by this task came through, also where a worker thread makes it."""
    chains = list[list[str]]()
    real: Callable[..., Any] = getattr(owner, method)

    def recording(*arguments: Any, **options: Any) -> Any:
        if task := _caller.get():
            chains.append(chain_of(task, sys._getframe(1), real.__module__))
        return real(*arguments, **options)

    patch.setattr(owner, method, recording)
    _caller.set(current_task())
    return chains


def chain_of(task: Task[Any], frame: FrameType | None, last: str) -> list[str]:
    """The task's awaiting coroutines from the outside in, then the thread's frames. It waits, so that both stand still:
    a context is handed on to the threads and tasks that a call starts."""
    coroutine, passed = task.get_coro(), list[str]()
    while (outer := getattr(coroutine, "cr_frame", None)) is not None:
        passed.append(outer.f_globals["__name__"])
        coroutine = coroutine.cr_await
    thread = list[str]()
    while frame is not None:
        thread.append(frame.f_globals["__name__"])
        frame = frame.f_back
    ours = [name for name in [*passed, *reversed(thread), last] if name.startswith("mcp_memory.")]
    ours = [name for name in ours if name != "mcp_memory.runtime.threads"]  # a hop to a thread, as `await` is one
    return [name.removeprefix("mcp_memory.") for name in dict.fromkeys(ours)]


UNSOUND = re.compile(r"(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")
CLASS_OR_ESCAPED = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)


def test_no_pattern_is_possessive_or_atomic():
    """Python 3.11.2, Debian 12's own, matches what these should not."""
    assert [UNSOUND.search(CLASS_OR_ESCAPED.sub("x", text)) for text in (r"[*+]+", r"\*+", "a+b?")] == [None] * 3
    assert all(UNSOUND.search(CLASS_OR_ESCAPED.sub("x", text)) for text in ("a*+", "a++", "a?+", "[a]{2,}+", "(?>a)"))
    found = [(file, node) for file, tree in trees().items() for node in pattern_parts(tree)]
    assert len(found) > 300
    wrong = [
        f"{file}:{node.lineno}: {node.value!r}"
        for file, node in found
        if UNSOUND.search(CLASS_OR_ESCAPED.sub("x", node.value))
    ]
    assert wrong == []


def pattern_parts(tree: ast.Module) -> Iterator[Any]:
    """The texts that a module's patterns are put together from: in calls of `re`, and under names used there."""
    named = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    waiting = [
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).startswith(("re.", "re2."))
    ]
    seen = set[str]()
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node
            elif isinstance(node, ast.Name) and node.id in named and node.id not in seen:
                seen.add(node.id)
                waiting.append(named[node.id])


def test_no_test_module_imports_from_another():
    """What several share is in tests/support or a conftest.py."""
    wrong = [
        f"{file.relative_to(CHECKOUT)}: {found}"
        for file in sorted((CHECKOUT / "tests").rglob("*.py"))
        for found in re.findall(r"^\s*(?:from|import) (tests\.[\w.]*\btest_\w+)", file.read_text(), re.MULTILINE)
    ]
    assert wrong == []


# -- the checks of every commit ------------------------------------------------------------------------------------


def check(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=CHECKOUT,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},  # else it asks the network for a newer pyright
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
    )
    if done.returncode:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)


def test_imports_go_one_way():
    check("-c", "import sys; from importlinter.cli import lint_imports_command as lint; sys.exit(lint())", "--no-cache")


def test_each_test_that_ci_names_exists():
    script = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8")
    named = re.findall(r"(?<=[\s,{])tests/[\w./-]*\w", script)
    assert named
    assert [path for path in named if not (CHECKOUT / path).exists()] == []


def test_ruff_finds_nothing():
    check("-m", "ruff", "check", "--no-cache", *OURS)


def test_ruff_would_format_nothing():
    check("-m", "ruff", "format", "--no-cache", "--diff", *OURS)


@pytest.mark.timeout(300)
def test_pyright_is_content():
    check("-m", "pyright", "--pythonpath", sys.executable)
