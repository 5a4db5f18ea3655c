"""What the hook before a tool refuses because of an order: content in a place, and an activity for a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from mcp_memory.client.connection import Address
from tests.daemon.place import Place, Running
from tests.daemon.wire import Wire

NO_UNWRAP = "Never put unwrap() in src/, only in tests."
NO_PRINT = "Jamais de print() dans lib/."
NO_ANY = "Kein `any` in src/types, bitte."
NO_EDITS = "Never edit files under api/gen."
FREEZE = "No deploys till sunday."
TO_PROD = "Never deploy to prod this week, the presale is on."


def edit(file: str, new: str, old: str = "x = 1") -> dict[str, str]:
    return {"file_path": f"/home/mill/{file}", "old_string": old, "new_string": new}


CALLS: list[tuple[str, Mapping[str, str], bool]] = [
    (NO_UNWRAP, edit("src/a.rs", "let x = a.unwrap();"), True),
    (NO_UNWRAP, edit("src/a.rs", "let y = 2;"), False),
    (NO_UNWRAP, edit("src/a.rs", "b.unwrap();\nlet y = 2;", "b.unwrap();"), False),
    (NO_UNWRAP, edit("tests/a.rs", "a.unwrap();"), False),
    (NO_UNWRAP, {"command": "grep -rn 'unwrap()' src/a.rs"}, False),
    (NO_PRINT, edit("lib/a.py", "print(x)"), True),
    (NO_PRINT, edit("lib/a.py", "log(x)"), False),
    (NO_ANY, edit("src/types/a.ts", "let a: any"), True),
    (NO_ANY, edit("src/types/a.ts", "let a: Company"), False),
    ("Nunca uses var_dump() en app/.", edit("app/a.php", "f($x);"), False),
    (NO_EDITS, edit("api/gen/a.ts", "y = 1"), True),
    (NO_EDITS, {"command": "sed -i s/a/b/ api/gen/a.ts"}, True),
    (NO_EDITS, {"command": "npx eslint api/gen/a.ts"}, False),
    (FREEZE, {"command": "make deploy ENV=prod"}, True),
    (FREEZE, {"command": "bash scripts/deploy.sh prod"}, True),
    (FREEZE, {"command": "kubectl rollout restart deploy/web"}, True),
    (FREEZE, {"command": "just ship"}, True),
    (FREEZE, {"command": "make deploy --dry-run"}, False),
    (FREEZE, {"command": "./deploy.sh --help"}, False),
    (FREEZE, {"command": "kubectl rollout status deploy/web"}, False),
    (FREEZE, {"command": "git commit -m 'deploy script'"}, False),
    (FREEZE, {"command": "pytest tests/test_deploy.py"}, False),
    (TO_PROD, {"command": "./deploy.sh prod"}, True),
    (TO_PROD, {"command": "./deploy.sh staging"}, False),
    ("The service must not be deployed to until Friday.", {"command": "./deploy.sh"}, True),
    ("Bis Freitag wird nicht deployt.", {"command": "make deploy"}, True),
    ("Pas de mise en prod avant lundi.", {"command": "make deploy"}, True),
    ("Nada de despliegues hasta el domingo.", {"command": "make deploy"}, True),
    ("Never push to main.", {"command": "git push origin main"}, True),
    ("Never push to main.", {"command": "git push origin fix-zoom"}, False),
    ("Keine Migrationen bis Freitag.", {"command": "python manage.py migrate"}, True),
    ("N'envoie pas la newsletter avant jeudi.", {"command": "python scripts/send.py"}, True),
    ("Don't touch the notes until the deploy is done.", {"command": "make deploy"}, False),
    ("Never deploy on fridays.", {"command": "make deploy"}, False),
]


@pytest.fixture(scope="module")
def wire(served: Place) -> Iterator[Wire]:
    for number, order in enumerate(dict.fromkeys(order for order, _, _ in CALLS)):
        served.run("append", "-k", "decision", "--project", f"mill-{number}", order).ok()
    with Wire(Running(served, Address.read(served.state.daemon)), client="claude-code") as connection:
        yield connection


def before(wire: Wire, session: str, order: str, given: Mapping[str, str]) -> dict[str, Any]:
    project = f"mill-{list(dict.fromkeys(each for each, _, _ in CALLS)).index(order)}"
    tool = "Edit" if "file_path" in given else "Bash"
    said = {"session_id": session, "cwd": "/home/mill", "project": project, "tool_name": tool, "tool_input": given}
    body = wire.send("POST", "/hook/before-tool", json.dumps(said).encode()).body
    return json.loads(body)["hookSpecificOutput"] if body else {}


@pytest.mark.parametrize(("order", "given", "is_refused"), CALLS)
def test_an_order_refuses_a_call_that_breaks_it(
    wire: Wire, order: str, given: Mapping[str, str], is_refused: bool
) -> None:
    session = json.dumps([order, given])
    answer = before(wire, session, order, given)
    assert (answer.get("permissionDecision") == "deny") is is_refused
    assert not is_refused or order in answer["permissionDecisionReason"]
    assert "permissionDecision" not in before(wire, session, order, given), "once"


def test_a_call_that_keeps_an_order_spends_no_refusal(wire: Wire) -> None:
    assert not before(wire, "one", NO_UNWRAP, edit("src/a.rs", "let y = 2;"))
    assert before(wire, "one", NO_UNWRAP, edit("src/a.rs", "a.unwrap()"))["permissionDecision"] == "deny"
    assert "Never deploy on fridays" in str(before(wire, "one", "Never deploy on fridays.", {"command": "make deploy"}))
