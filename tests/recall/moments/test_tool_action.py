"""What a call of a tool is about to change or run, wherever its line goes first."""

from __future__ import annotations

import pytest

from mcp_memory.recall.moments.tool_action import read_action

ELSEWHERE = [
    "cd api && sed -i s/a/b/ gen/x.ts",
    "cd ./api/; sed -i s/a/b/ gen/x.ts",
    "cd -- api || exit 1\nsed -i s/a/b/ gen/x.ts",
    "(cd api; sed -i s/a/b/ gen/x.ts)",
    "echo $(cd api; sed -i s/a/b/ gen/x.ts)",
    "{ cd api; sed -i s/a/b/ gen/x.ts; }",
    "if cd api; then sed -i s/a/b/ gen/x.ts; fi",
    "pushd api && sed -i s/a/b/ gen/x.ts && popd",
    "cd web && cd ../api && sed -i s/a/b/ gen/x.ts",
    "cd web; (cd src; ls); cd -; cd api; sed -i s/a/b/ gen/x.ts",
    "pushd web; popd; cd api; sed -i s/a/b/ gen/x.ts",
    "cd api/gen && echo a > x.ts",
    "cd /home/mill/api && sed -i s/a/b/ gen/x.ts",
    "cd $(git rev-parse --show-toplevel) && sed -i s/a/b/ api/gen/x.ts",
    "git -C api checkout -- gen/x.ts",
    "git -c core.pager=cat -C api rm gen/x.ts",
    "make -C api gen/x.ts",
    "make gen/x.ts --directory=api",
    "npm exec --prefix api tsc gen/x.ts",
    "env -C api LANG=C sed -i s/a/b/ gen/x.ts",
    "A=1 cd api; B=2 sudo -u ada nice -n 5 sed -i s/a/b/ gen/x.ts",
    "bash -lc 'cd api && sed -i s/a/b/ gen/x.ts'",
    "cd api && sh -c \"cd gen; rm -f ./x.ts\"",
    "rm ../mill/api/gen/x.ts",
]  # fmt: skip


@pytest.mark.parametrize("line", ELSEWHERE)
def test_a_path_is_read_in_the_folder_that_its_command_runs_in(line: str) -> None:
    assert "api/gen/x.ts" in read_action({"command": line}, "/home/mill", "mill").files


@pytest.mark.parametrize(
    "line",
    [
        "cd web && sed -i s/a/b/ api/gen/x.ts",
        "(cd api; ls); sed -i s/a/b/ gen/x.ts",
        "cd api; cd ..; sed -i s/a/b/ gen/x.ts",
        "pushd api; popd; sed -i s/a/b/ gen/x.ts",
        "git commit -C api; sed -i s/a/b/ gen/x.ts",
        "cd api && cat gen/x.ts",
        "git -C api diff gen/x.ts",
    ],
)
def test_another_file_or_one_that_is_only_read_is_not_named(line: str) -> None:
    assert "api/gen/x.ts" not in read_action({"command": line}, "/home/mill", "mill").files


@pytest.mark.parametrize(
    "line", ["git -C api push --force", "sudo -u ada git push --force", "timeout 5 git push --force"]
)
def test_a_command_is_itself_behind_what_runs_it(line: str) -> None:
    command = read_action({"command": line}, "/home/mill", "mill").commands[0]
    assert tuple(command.words) == ("git", "push") and command.has_flag("--force")


def test_where_the_client_says_in_which_folder_it_runs() -> None:
    for name in ("workdir", "dir_path"):
        assert "api/gen/x.ts" in read_action({"command": "rm ./gen/x.ts", name: "api"}, "/home/mill", "mill").files
