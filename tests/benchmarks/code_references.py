"""Grounds random symbols and files of a repository at old commits, and compares what is said of them with the truth.

    python -m tests.benchmarks.code_references REPOSITORY --count 300 --seed 2

The truth is that of Python's own parser: a symbol is as it was if its syntax tree is; it moved if that tree stands in
one other place; `left` is what is in neither place, which may have moved and changed, or be gone.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator

from mcp_memory.grounding.code_repository import open_code
from mcp_memory.grounding.reference_check import check, ground
from mcp_memory.grounding.references import Named

NEVER_S = 86_400.0


def definitions(source: str) -> dict[str, str]:
    """Each function and class by its qualified name, with its tree; of a class, without what its methods do."""

    def walk(node: ast.AST, around: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = (*around, child.name)
                yield ".".join(name), _tree(child)
                yield from walk(child, name)
            elif not isinstance(child, ast.expr):
                yield from walk(child, around)

    try:
        found = list(walk(ast.parse(source), ()))
    except (SyntaxError, ValueError):
        return {}
    once = Counter(name for name, _ in found)
    return {name: tree for name, tree in found if once[name] == 1}


def _tree(node: ast.AST) -> str:
    if not isinstance(node, ast.ClassDef):
        return ast.dump(node)
    body = [getattr(one, "name", None) or ast.dump(one) for one in node.body]
    return repr([node.name, *map(ast.dump, [*node.bases, *node.keywords, *node.decorator_list]), *body])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("repository")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=2)
    wanted = parser.parse_args()

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", wanted.repository, *arguments], capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")

    chance, code = random.Random(wanted.seed), open_code(wanted.repository, NEVER_S)
    commits = git("rev-list", "--reverse", "--first-parent", "HEAD").split()
    old = commits[int(0.3 * len(commits)) : int(0.75 * len(commits))]
    files = set(git("ls-tree", "-r", "--name-only", "HEAD").splitlines())
    now = {file: definitions(git("show", f"HEAD:{file}")) for file in files if file.endswith(".py")}
    places = defaultdict[str, set[str]](set)
    for file, found in now.items():
        for name, tree in found.items():
            places[tree].add(f"{file}:{name}")
    table, done = Counter[tuple[str, str, str]](), 0
    while done < wanted.count:
        commit = chance.choice(old)
        there = git("ls-tree", "-r", "--name-only", commit).splitlines()
        is_symbol = chance.random() < 0.8
        file = chance.choice([one for one in there if one.endswith(".py") or not is_symbol])
        known = definitions(git("show", f"{commit}:{file}")) if is_symbol else {}
        if is_symbol and not known:
            continue
        name = chance.choice(sorted(known)) if known else ""
        if not name:
            truth = "ok" if file in files else "left"
        elif name in now.get(file, {}):
            truth = "ok" if now[file][name] == known[name] else "changed"
        else:
            truth = "moved" if places[known[name]] else "left"
        reference = ground(Named(file, (file,), name), code.snapshot(commit))
        told = check(reference, code) if reference else None
        outcome = told.outcome if told else "not grounded"
        if told and truth == "moved" and f"{told.now_path}:{told.now_symbol}" not in places[known[name]]:
            outcome += " elsewhere"
        table["symbol" if name else "file", truth, outcome] += 1
        done += 1
    for (what, truth, outcome), count in sorted(table.items()):
        print(f"{what:<8}{truth:<9}told {outcome:<16}{count:>5}")


if __name__ == "__main__":
    main()
