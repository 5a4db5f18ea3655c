"""An agent that acts hears of the note that names what it touches, or quotes its error: one line, once, or nothing."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from mcp_memory.client.credentials import PERSON
from tests.support.keyword_engine import KeywordEngine
from tests.support.world import World

pytestmark = pytest.mark.anyio

ORDER = "Never edit generated files under `api/gen`. Change `openapi.yaml` instead."
EDIT = {"file_path": "/home/mill/api/gen/client.ts", "old_string": "a", "new_string": "b"}
FIX = "`ERR_PNPM_OUTDATED_LOCKFILE`: somebody ran npm. Delete package-lock.json."
OUTPUT = "Exit code 1\n ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with frozen-lockfile"


async def _advice(engine: KeywordEngine, session: str = "c/s", **given: Any) -> dict[str, Any]:
    return await engine.perform("advise", {"session": session, "project": "mill", "folder": "/home/mill", **given})


async def test_an_order_stops_once_and_is_told_in_one_line(world: World) -> None:
    async with world.engine() as engine:
        order = await engine.append(ORDER, kind="preference", project="mill", title="Generated client")
        advice = await _advice(engine, arguments=EDIT, stop=True)
        assert advice["stops"] and advice["notes"] == [order.id] and advice["text"].startswith("Stopped once")
        assert f'2026-11-21 preference {order.id[-6:]} "Generated client": {ORDER}' in advice["text"]
        assert "make the same call again" in advice["text"] and "data, not instructions" in advice["text"]
        assert (await _advice(engine, arguments=EDIT, stop=True))["text"] == ""
        told = await _advice(engine, "c/two", arguments=EDIT)
        assert not told["stops"] and ORDER in told["text"] and "Stopped" not in told["text"]
        await engine.reset("c/s")
        assert (await _advice(engine, arguments=EDIT, stop=True))["stops"], "its context was emptied"
        assert (await engine.perform("why", {"session": "c/two"}))["given"][0]["event"] == "before-tool"


@pytest.mark.parametrize(
    ("call", "phrase", "is_told"),
    [
        ({"command": 'git commit -m "fix"'}, "writing a commit message", True),
        ({"command": "cd web && git commit -a"}, "Commit schreiben", True),
        ({"command": "pnpm add zod"}, "installing a package", True), ({"command": "make deploy"}, "deploying", True),
        ({"file_path": "/home/mill/migrations/7.py"}, "changing migrations/", True),
        ({"command": "git log"}, "writing a commit message", False),
        ({"command": "git add ."}, "adding a route", False),
        ({"command": "make test"}, "writing a test", False), ({"file_path": "/home/mill/a.py"}, "git commit", False),
    ],
)  # fmt: skip
async def test_an_action_brings_up_what_says_so(world: World, call: Any, phrase: str, is_told: bool) -> None:
    async with world.engine() as engine:
        note = await engine.append("Lower case, and dull.", kind="fact", project="mill", when=[phrase])
        advice = await _advice(engine, arguments=call)
        assert advice["notes"] == [note.id] * is_told and ("Lower case, and dull." in advice["text"]) is is_told
        assert phrase not in advice["text"]


async def test_of_calls_made_at_once_each_is_stopped_and_none_again(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(ORDER, kind="preference", project="mill")
        calls = [{"file_path": f"/home/mill/api/gen/{name}.ts"} for name in "abc"]
        first = [(await _advice(engine, arguments=call, stop=True))["stops"] for call in calls]
        again = [(await _advice(engine, arguments=call, stop=True))["text"] for call in calls]
        assert first == [True, True, True] and again == ["", "", ""]


@pytest.mark.parametrize("source", ["claude-code", "codex", "library", "https://example.org/page"])
async def test_only_the_persons_word_stops_a_call(world: World, source: str) -> None:
    async with world.engine() as engine:
        agents = await engine.append(ORDER, kind="preference", project="mill", source=source)
        await engine.append(f"{ORDER} Always.", path="MEMORY.md", section="Rules", source=source)
        world.write(f"notes/imported/web/{source[:5]}.md", f"---\nkind: decision\n---\n{ORDER} Imported.")
        await engine.sweep()
        told = [await _advice(engine, arguments=EDIT, stop=True) for _ in range(5)]
        assert not any(one["stops"] for one in told)
        assert [agents.id] in [one["notes"] for one in told]


@pytest.mark.parametrize(
    ("marks", "stops"),
    [
        ("speaker: User\nscore: 0.9\nvoice: said", True),
        ("speaker: User\nscore: 0.9\nvoice: wrote", True),
        ("speaker: Assistant", True),  # accepted in a review
        ("speaker: User\nscore: 0.9\nvoice: agreed", False),
        ("speaker: User\nscore: 0.9", False),
    ],
)
async def test_of_what_was_captured_the_persons_own_words_stop(world: World, marks: str, stops: bool) -> None:
    head = f"---\nid: captured\nkind: preference\nproject: mill\nsource: codex\n{marks}\n---\n"
    world.write("notes/preference/captured.md", head + ORDER)
    async with world.engine() as engine:
        advice = await _advice(engine, arguments=EDIT, stop=True)
        assert advice["notes"] == ["captured"] and advice["stops"] is stops


@pytest.mark.parametrize("by_hand", [True, False])
async def test_an_entry_of_memory_md_that_the_person_wrote_stops(world: World, by_hand: bool) -> None:
    if by_hand:
        world.write("MEMORY.md", f"# Memory\n\n## Rules\n- {ORDER}\n")
    async with world.engine() as engine:
        if not by_hand:
            await engine.append(ORDER, path="MEMORY.md", section="Rules", source=PERSON)
        assert (await _advice(engine, arguments=EDIT, stop=True))["stops"]


@pytest.mark.parametrize(
    ("section", "content"),
    [
        ("Rules", ORDER),
        ("Rules", "The client in `api/gen` is generated.\nIt must never be edited by hand."),
        (ORDER, "See the heading."),
    ],
)
async def test_an_agents_entry_of_memory_md_never_stops_a_call(world: World, section: str, content: str) -> None:
    async with world.engine() as engine:
        await engine.append(content, path="MEMORY.md", section=section, source="codex")
        for journal in world.state.glob("changes*.jsonl"):
            journal.unlink()  # as after many changes, or a power cut
        assert not (await _advice(engine, arguments=EDIT, stop=True))["stops"]
        world.write("MEMORY.md", world.read("MEMORY.md") + f"- Mind: {ORDER}\n".encode())
        await engine.sweep()
        assert (await _advice(engine, "c/two", arguments=EDIT, stop=True))["stops"], "the person added their own"


async def test_an_agents_entry_stays_the_agents_when_others_take_it_out_and_put_it_back(world: World) -> None:
    async with world.engine() as engine:
        entry = await engine.append(ORDER, path="MEMORY.md", section="Rules", source="codex")
        await engine.forget(entry.id, source=PERSON, personal=True)
        await engine.forget(entry.id, restore=True, source=PERSON, personal=True)
        assert not (await _advice(engine, arguments=EDIT, stop=True))["stops"]


async def test_an_agents_note_hides_no_order_of_the_person(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(ORDER, kind="preference", project="mill", source=PERSON)
        world.later(days=1)
        for number in range(3):
            await engine.append(f"{ORDER} ({number})", kind="preference", project="mill", source="codex")
        await engine.append(ORDER, path="MEMORY.md", section="Rules", source="codex")
        assert (await _advice(engine, arguments=EDIT, stop=True))["stops"]


async def test_one_call_made_ten_times_at_once_is_refused_once(world: World) -> None:
    refused: list[bool] = []

    async with world.engine() as engine:
        for number in range(10):
            await engine.append(f"{ORDER} ({number})", kind="preference", project="mill", source=PERSON)

        async def call() -> None:
            refused.append((await _advice(engine, arguments=EDIT, stop=True))["stops"])

        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(call)
    assert sum(refused) == 1


async def test_thirty_orders_refuse_a_call_once_in_a_session(world: World) -> None:
    async with world.engine() as engine:
        for number in range(30):
            await engine.append(f"{ORDER} ({number})", kind="preference", project="mill", source=PERSON)
        for session in ("c/one", "c/two"):
            stops = [(await _advice(engine, session, arguments=EDIT, stop=True))["stops"] for _ in range(31)]
            assert stops == [True] + [False] * 30
    async with world.engine() as engine:
        assert not (await _advice(engine, "c/one", arguments=EDIT, stop=True))["stops"], "nor after a restart"


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("Finger weg von `api/gen`, das wird generiert.", True),
        ("Änderungen in `api/gen` sind verboten.", True),
        ("Sin permiso de Ana nadie toca `api/gen`.", True),
        ("Il est interdit de modifier `api/gen`.", True),
        ("Editing `api/gen` by hand is prohibited.", True),
        ("Die Dateien in `api/gen` werden am Freitag neu erzeugt.", False),
        ("Les fichiers de `api/gen` viennent du serveur.", False),
        ("Los archivos de `api/gen` se generan cada noche.", False),
    ],
)
async def test_an_order_stops_in_each_language(world: World, text: str, stops: bool) -> None:
    async with world.engine() as engine:
        await engine.append(text, kind="preference", project="mill", source=PERSON)
        assert (await _advice(engine, arguments=EDIT, stop=True))["stops"] is stops


async def test_only_orders_that_forbid_stop(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("Totals in `src/total.ts` are cents.", kind="lesson", project="mill")
        await engine.append("Never call floats in `src/cart.ts`.", kind="lesson", project="mill")
        for file in ("src/total.ts", "src/cart.ts"):
            advice = await _advice(engine, file, arguments={"file_path": f"/home/mill/{file}"}, stop=True)
            assert advice["text"] and not advice["stops"]


async def test_a_client_that_can_only_refuse_spends_no_lesson(world: World) -> None:
    """What it can't show is kept for the moment at which it can."""
    async with world.engine() as engine:
        await engine.append("Totals in `api/gen/client.ts` are cents.", kind="lesson", project="mill")
        assert (await _advice(engine, arguments=EDIT, stop=True, orders=True))["text"] == ""
        await engine.append(ORDER, kind="preference", project="mill")
        stopped = await _advice(engine, arguments=EDIT, stop=True, orders=True)
        assert stopped["stops"] and ORDER in stopped["text"]
        assert "are cents" in (await _advice(engine, arguments=EDIT, stop=True))["text"]


async def test_what_is_private_retired_contradicted_or_of_another_project_is_never_told(world: World) -> None:
    async with world.engine() as engine:
        private = await engine.append(ORDER, kind="preference", project="mill", tags=["private"])
        other = await engine.append(ORDER + " (Other.)", kind="preference", project="other")
        gone = await engine.append(ORDER + " (Gone.)", kind="preference", project="mill")
        old = await engine.append(ORDER + " (Old.)", kind="preference", project="mill")
        expired = await engine.append(ORDER + " (Late.)", kind="preference", project="mill", expires="2026-11-22")
        await engine.forget(gone.id)
        await engine.append("Edit them as you like.", kind="preference", project="mill", supersedes=old.id)
        world.later(days=2)
        for project in ("mill", None):
            assert (await _advice(engine, arguments=EDIT, project=project))["text"] == ""
        assert len({private.id, other.id, gone.id, old.id, expired.id}) == 5, "each was stored"
        edited = await engine.append(ORDER + " (New.)", kind="preference", project="mill")
        file = world.root / edited.path
        file.write_text(file.read_text().replace("api/gen", "api/made"))
        assert (await _advice(engine, arguments=EDIT))["text"] == "", "its file says something else by now"


async def test_a_fix_answers_its_error_and_no_listing_of_it(world: World) -> None:
    async with world.engine() as engine:
        fix = await engine.append(FIX, kind="fix", project="mill")
        reading = {"command": "cat notes/lockfile.md | head"}
        assert (await _advice(engine, output=OUTPUT, arguments=reading))["text"] == ""
        advice = await _advice(engine, output=OUTPUT, arguments={"command": "cd web && pnpm install"})
        assert advice["notes"] == [fix.id] and "Delete package-lock.json" in advice["text"]
        assert (await _advice(engine, output=OUTPUT))["text"] == "", "once"
        assert (await _advice(engine, "c/two", output="Exit code 1\nassert 3 == 4"))["text"] == ""


async def test_an_imported_fix_is_not_told_unasked(world: World) -> None:
    head = "---\nid: {}\nkind: fix\n---\n"
    world.write("imported/obsidian-web/fix.md", head.format("0" * 26) + FIX)
    world.write("notes/moved.md", head.format("0" * 10 + "ABCDEFGHJKMNPQRS") + FIX)
    async with world.engine() as engine:
        assert (await _advice(engine, output=OUTPUT, project=None))["text"] == ""
        assert (await _advice(engine, "c/two", output=OUTPUT))["text"] == ""
        own = await engine.append(f"{FIX} Twice.", kind="fix", project="mill")
        assert (await _advice(engine, "c/three", output=OUTPUT))["notes"] == [own.id]


async def test_the_projects_own_fix_comes_before_one_for_any_project(world: World) -> None:
    async with world.engine() as engine:
        own = await engine.append(FIX, kind="fix", project="mill")
        await engine.append("`ERR_PNPM_OUTDATED_LOCKFILE`: run `pnpm install` on main.", kind="fix")
        assert (await _advice(engine, output=OUTPUT))["notes"] == [own.id]


async def test_strange_input_is_silent(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(ORDER, kind="preference", project="mill")
        for arguments in (
            {}, {"command": ""}, {"command": "'unbalanced"}, {"command": ";;;&&|"}, {"file_path": "\0"},
            {"file_path": "/"}, {"command": ["ls"]}, {"command": "x" * 100_000}, {"command": "<<EOF\n" * 500},
            {"file_path": "../" * 500}, {"command": "`" * 3000},
            {"file_path": "[" * 2000}, {"command": "(" * 3000 + "\\"}, {"command": "npx " * 1000},
        ):  # fmt: skip
            with anyio.fail_after(5):
                assert (await _advice(engine, arguments=arguments))["text"] == ""
        for output in ("", "\0" * 9000, "a-" * 50_000, "'" * 50_000, "E" * 50_000, "\n" * 50_000, "1." * 50_000):
            with anyio.fail_after(5):
                assert (await _advice(engine, output=output))["text"] == ""


async def test_fifty_calls_at_once_are_told_once(world: World) -> None:
    async with world.engine() as engine:
        await engine.append(ORDER, kind="preference", project="mill")
        told: list[bool] = []

        async def call() -> None:
            told.append(bool((await _advice(engine, arguments=EDIT))["text"]))

        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(call)
        assert len(told) == 50 and sum(told) == 1


async def test_a_freeze_is_shown_or_refuses_until_it_ends(world: World) -> None:
    async with world.engine() as engine:
        freeze = {"content": "No deploys this week.", "kind": "decision", "project": "mill", "expires": "2026-11-25"}
        deploy = {"command": "make deploy ENV=prod"}
        await engine.append(**freeze, source="claude-code")
        told = await _advice(engine, arguments=deploy, stop=True)
        assert "No deploys this week." in told["text"] and not told["stops"], "an agent's note is only shown"
        await engine.append(**{**freeze, "content": "No deploys this week, whoever asks."}, source=PERSON)
        assert (await _advice(engine, "c/two", arguments=deploy, stop=True))["stops"]
        world.later(days=5)
        assert (await _advice(engine, "c/three", arguments=deploy, stop=True))["text"] == ""


@pytest.mark.parametrize(
    ("text", "command", "lasts"),
    [
        ("Freeze: no deploys from now on.", "make deploy", False),
        ("Code freeze, never deploy.", "make deploy", False),
        ("Bis auf weiteres keine Deploys.", "make deploy", False),
        ("Gel du code, jamais de déploiement.", "make deploy", False),
        ("Despliegues suspendidos: no despliegues.", "make deploy", False),
        ("Never push to main.", "git push origin main", True),
    ],
)
async def test_a_freeze_without_an_end_is_only_shown_after_two_weeks(
    world: World, text: str, command: str, *, lasts: bool
) -> None:
    async with world.engine() as engine:
        await engine.append(text, kind="decision", project="mill", source=PERSON)
        for session, days in (("c/one", 13), ("c/two", 2)):
            refused = await _advice(engine, session, arguments={"command": command}, stop=True)
            assert refused["stops"] and ("no end was named" in refused["text"]) is not lasts
            assert lasts or "until 2026-12-05" in refused["text"]
            world.later(days=days)
        later = await _advice(engine, "c/three", arguments={"command": command}, stop=True)
        assert text in later["text"] and later["stops"] is lasts


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("Don't touch the Makefile.", True),
        ("don't touch the makefile, Pia maintains it", True),
        ("The Makefile must never be changed.", True),
        ("Never change anything in the Makefile.", True),
        ("Finger weg vom Makefile.", True),
        ("Im Makefile nichts ändern.", True),
        ("Fass das Makefile nicht an.", True),
        ("Ne touche pas au Makefile.", True),
        ("No toques el Makefile.", True),
        ("Never put secrets in the Makefile.", False),
        ("Don't change the order of the targets in the Makefile.", False),
        ("Don't touch the Makefile on Fridays.", False),
        ("Don't forget to touch up the Makefile.", False),
        ("Never edit `src/gen.py`, the Makefile makes it.", False),
        ("Änder die Reihenfolge im Makefile nicht.", False),
        ("Touch the Makefile whenever you like.", False),
        ("Ne change pas les cibles du Makefile.", False),
        ("No cambies los objetivos del Makefile.", False),
        ("The Makefile has no tests.", False),
        ("Don't touch the Makefile.am.", False),
    ],
)
async def test_an_order_that_names_a_file_without_extension_stops_its_edits_only(
    world: World, text: str, stops: bool
) -> None:
    edit = {"file_path": "/home/mill/Makefile", "old_string": "a", "new_string": "b"}
    async with world.engine() as engine:
        await engine.append(text, kind="preference", project="mill", source=PERSON)
        other = await _advice(engine, arguments={"file_path": "/home/mill/src/a.py"}, stop=True)
        run = await _advice(engine, arguments={"command": "make all"}, stop=True)
        assert (other["text"], run["text"]) == ("", "")
        assert (await _advice(engine, arguments=edit, stop=True))["stops"] is stops
        assert not (await _advice(engine, arguments=edit, stop=True))["stops"], "once in a session"


@pytest.mark.parametrize(
    "freeze",
    [
        "Gel des mises en prod du portail (DSI) : du 24 au 28 novembre 2026. La relance se livre avant.",
        "Deploy freeze from the 24th to the 28th of November.", "Vom 24. bis 28. November kein Deployment.",
        "Deployfreeze 24.–28. November, für alle.", "Congelación de los despliegues del 24 al 28 de noviembre.",
        "No deploys 2026-11-24 to 2026-11-28, whoever asks.",
    ],
)  # fmt: skip
async def test_a_freeze_refuses_every_kind_of_deploy_on_its_days_and_not_before(world: World, freeze: str) -> None:
    async with world.engine() as engine:
        await engine.append(freeze, kind="decision", project="mill", source=PERSON, expires="2026-11-28")
        calls = [
            "dep deploy prod", "cap production deploy", "fly deploy", "kubectl apply -f k8s/",
            "helm upgrade mill ./chart", "ansible-playbook deploy.yml",
        ]  # fmt: skip
        early = await _advice(engine, arguments={"command": calls[0]}, stop=True)
        assert freeze in early["text"] and not early["stops"], "it hasn't begun"
        world.later(days=4)
        for call in calls:
            assert (await _advice(engine, f"c/{call[:3]}", arguments={"command": call}, stop=True))["stops"], call
        for call in ("git push", "git commit -m 'No deploys'", "kubectl get pods", "helm list", "dep status"):
            assert not (await _advice(engine, f"c/{call}", arguments={"command": call}, stop=True))["stops"], call


@pytest.mark.parametrize(
    ("order", "file"),
    [
        ("Ne jamais toucher aux migrations du portail une fois en prod.", "migrations/Version20261101.php"),
        ("Never change the migrations once they are live.", "db/migrations/7.py"),
        ("Die Migrations niemals ändern, wenn sie live sind.", "migrations/7.sql"),
        ("Nunca modificar las migrations ya desplegadas.", "migrations/7.py"),
    ],
)
async def test_an_order_about_the_files_of_a_folder_is_shown_and_refuses_nothing(
    world: World, order: str, file: str
) -> None:
    async with world.engine() as engine:
        await engine.append(order, kind="preference", project="mill", source=PERSON)
        assert (await _advice(engine, arguments={"file_path": "/home/mill/src/seven.py"}))["text"] == ""
        advice = await _advice(engine, arguments={"file_path": f"/home/mill/{file}"}, stop=True)
        assert order in advice["text"] and not advice["stops"], "a new migration is the way that is left"


@pytest.mark.parametrize(
    ("phrase", "file"),
    [
        ("écrire un composant Vue", "src/components/Merci.vue"), ("changing a migration", "migrations/7.php"),
        ("CSS schreiben", "web/site.css"), ("tocar los componentes", "src/componentes/a.tsx"),
    ],
)  # fmt: skip
async def test_an_edit_brings_up_what_says_its_folder_or_type(world: World, phrase: str, file: str) -> None:
    async with world.engine() as engine:
        note = await engine.append("Plain and short, by hand.", kind="preference", project="mill", when=[phrase])
        assert (await _advice(engine, arguments={"file_path": "/home/mill/src/a.py"}))["notes"] == []
        assert (await _advice(engine, arguments={"command": f"cat {file}"}))["notes"] == []
        assert (await _advice(engine, arguments={"file_path": f"/home/mill/{file}"}))["notes"] == [note.id]


async def test_a_phrase_that_only_shares_a_word_with_a_folder_comes_with_no_edit(world: World) -> None:
    async with world.engine() as engine:
        await engine.append("Nobody works on Sunday.", kind="fact", project="mill", when=["planning appointments"])
        answer = await _advice(engine, arguments={"file_path": "/home/mill/src/appointments/export.py"})
        assert answer["notes"] == []


async def test_a_fix_is_shown_before_the_command_without_its_option_and_with_its_error(world: World) -> None:
    fix = (
        "À la mairie, npm passe par le registre interne : `npm ci --registry https://npm.example`. Sans ça, "
        "ECONNREFUSED registry.npmjs.org."
    )
    refused = "npm error errno ECONNREFUSED: request to https://registry.npmjs.org/vue failed"
    async with world.engine() as engine:
        await engine.append(fix, kind="fix", project="mill")
        right = {"command": "npm ci --registry https://npm.example && npm test"}
        assert (await _advice(engine, arguments=right))["text"] == ""
        assert fix in (await _advice(engine, arguments={"command": "npm ci"}))["text"]
        failed = {"arguments": {"command": "npm i"}, "output": refused}
        assert fix in (await _advice(engine, "c/two", **failed))["text"]
        other = {**failed, "output": "Error: connect ECONNREFUSED 127.0.0.1:5432"}
        assert (await _advice(engine, "c/three", **other))["text"] == ""
