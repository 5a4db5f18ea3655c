"""Conflict copies, merge conflicts and templates aren't searched unasked; what only looks like them is."""

from __future__ import annotations

import pytest

from mcp_memory.models import NoteState
from mcp_memory.vault.marks.set_aside import is_version, likely_originals_of, original_of
from tests.support.world import World, found, paths

KILN = "# Kiln\n\nThe kiln in the yard fires at {} degrees, for nine hours.\n"
CONFLICT = "# Kiln\n\n<<<<<<< HEAD\nThe kiln fires at 1,100.\n=======\nThe kiln fires at 1,150.\n>>>>>>> laptop\n"

SURE = """
kiln (conflicted copy 2026-11-21)
kiln (Ada's conflicted copy 2026-11-21)
kiln (Ada (work)'s conflicted copy 2026-11-21)
kiln (conflict 2026-11-21 14.03.55 2)
kiln.sync-conflict-20261121-140355-ABCDEFG
kiln (Case Conflict)
kiln (Case Conflict 1)
kiln (case clash from Ada)
kiln (Selective Sync Conflict)
kiln (Unicode Encoding Conflict)
kiln (Adas in Konflikt stehende Kopie 2026-11-21)
kiln (Konfliktkopie von Ada)
kiln (Copie en conflit de Ada 2026-11-21)
kiln (Copia en conflicto de Ada 2026-11-21)
kiln (copia in conflitto di Ada)
kiln (cópia em conflito de Ada)
kiln (Ada 的冲突副本 2026-11-21)
kiln (SFConflict ada@example.org 2026-11-21-14-03-55)
kiln (Conflicted copy iPhone 202611211403)
kiln_conflict-20261121-140355
kiln_DiskStation_Nov-21-140355-2026_Conflict
kiln [conflicted]
"""
LIKELY = """
kiln 2
kiln (1)
kiln(1)
kiln copy
kiln copy 2
kiln_copy
kiln - Copy
kiln - Copy (2)
kiln (Kopie)
kiln Kopie
kiln (copie)
Copy of kiln
Kopie von kiln
kiln-conflict
kiln.Conflict
kiln_Conflict_2026
kiln~
kiln.orig
kiln_BACKUP_1234
kiln-LAPTOP
kiln-DESKTOP-AB12CD3
kiln-Ada's MacBook Pro
kiln-ADA-PC
"""
TEMPLATES = {
    "Templates/daily.md": "# Day\n\n## Plans\n",
    "_templates/kiln.md": KILN,
    "99 Templates/kiln.md": KILN,
    "Vorlagen/ofen.md": KILN,
    "title.md": "# {{title}}\n\nCreated {{date}}\n\n## Who came\n- \n",
    "head.md": "---\ndate: {{date}}\n---\n# Meeting\n\nWrite here what was decided about the kiln.\n",
    "fields.md": "- Kiln: {{kiln}}\n- Date: {{date:YYYY-MM-DD}}\n",
    "value.md": "Kiln temperature: {{temperature}} °C\n",
    "table.md": "| Kiln | Degrees |\n|---|---|\n| {{kiln}} | {{degrees}} |\n",
    "templater.md": "<% tp.file.title %>\n",
}
NOTES = {
    "iPhone 2.md": "# iPhone 2\n\nKiln photos are on it.\n",
    "Q2 (1).md": "# Q2\n\nA kiln was bought.\n",
    "war.md": "# War\n\nKilns made the bricks for the wall of 1914.\n",
    "war-conflict.md": "# How we solve conflicts\n\nAsk who fired the kiln last, then the other one, then decide.\n",
    "War (conflict of 1914).md": "The kiln stood idle.\n",
    "how to solve a (conflict of interest).md": "Whoever sells kilns does not vote.\n",
    "2026-11-21-2.md": "The kiln was cold.\n",
    "logseq.md": "- The kiln\n- {{query (and [[kiln]] [[todo]])}}\n- {{embed ((65f3))}}\n- {{video https://e.org/kiln}}\n",
    "hugo.md": '{{< figure src="kiln.png" >}}\n{{% notice %}}The kiln is hot.{{% /notice %}}\n',
    "ansible.md": "The playbook sets {{ kiln_temperature }} from the inventory of the kiln.\n",
    "helm.md": "The chart reads {{ .Values.kiln }}.\n",
    "jinja.md": "# Using {{ kiln }} in Jinja\n\nQuote it wherever YAML would take the braces for a mapping.\n",
    "code.md": "# Kiln\n\nWrite `{{ kiln }}`:\n\n```jinja\n{{ kiln }}\n{{ other }}\n```\n",
    "git.md": f"# Kiln\n\nA conflict looks so:\n\n```\n{CONFLICT}```\n",
    "item.md": "- the kiln\n  ```\n  <<<<<<< HEAD\n  =======\n  >>>>>>> laptop\n  ```\n",
    "marks.md": "The kiln: `<<<<<<<` opens it\n=======\n>>> and this is a quote\n",
}


def lines(names: str) -> list[str]:
    return names.strip().splitlines()


@pytest.mark.parametrize("name", lines(SURE))
def test_the_name_of_a_conflict_copy_is_proof(name: str) -> None:
    assert original_of(f"a.b/{name}.md") == "a.b/kiln.md"


@pytest.mark.parametrize("name", lines(LIKELY))
def test_other_names_say_of_which_note_they_may_be_a_copy(name: str) -> None:
    assert "a/kiln.md" in likely_originals_of(f"a/{name}.md")
    assert original_of(f"a/{name}.md") is None


def test_a_name_with_hyphens_keeps_them() -> None:
    assert "a/kiln-log.md" in likely_originals_of("a/kiln-log-DESKTOP-4F2K1.md")


def test_a_short_version_of_a_note_that_has_grown_is_one() -> None:
    old = " ".join(f"The kiln was fired on day {n} of the year." for n in range(10))
    assert is_version(old, old + " ".join(f"Then we mended shelf {n} in the shed." for n in range(40)))
    assert not is_version(old, " ".join(f"Then we mended shelf {n} in the shed." for n in range(40)))


@pytest.mark.anyio
async def test_other_versions_of_a_note_are_set_aside(world: World) -> None:
    world.write("kiln.md", KILN.format(1020))
    copies = [f"{name}.md" for name in lines(SURE) + lines(LIKELY)]
    for number, name in enumerate(copies):
        world.write(name, KILN.format(1021 + number))
    async with world.engine() as engine:
        assert await found(engine, "kiln degrees") == ["kiln.md"]
        assert {"kiln 2.md", "kiln.md"} <= set(await found(engine, "kiln degrees", include_archived=True))
        assert await found(engine, "kiln degrees", path="kiln 2.md") == ["kiln 2.md"]
        said = [finding for finding in await engine.doctor() if "is a conflict copy" in finding.what]
        assert sorted(finding.what.partition(" is a conflict copy")[0] for finding in said) == sorted(copies)
        assert all("rm " in finding.remedy for finding in said)


@pytest.mark.anyio
async def test_a_copy_counts_once_its_original_is_gone(world: World) -> None:
    world.write("kiln 2.md", KILN.format(1020))
    async with world.engine() as engine:
        assert await found(engine, "kiln") == ["kiln 2.md"]
        original = world.write("kiln.md", KILN.format(1240))
        await engine.sweep()
        assert await found(engine, "kiln") == ["kiln.md"]
        original.write_text("# Oven\n\nBread is baked on Fridays, by whoever is up first.\n")
        await engine.sweep()
        assert await found(engine, "kiln") == ["kiln 2.md"]
        world.write("kiln.md", KILN.format(1240))
        await engine.sweep()
        assert await found(engine, "kiln") == ["kiln.md"]
        original.unlink()
        await engine.sweep()
        assert await found(engine, "kiln") == ["kiln 2.md"]


@pytest.mark.anyio
async def test_templates_are_set_aside(world: World) -> None:
    for path, text in TEMPLATES.items():
        world.write(path, text)
    async with world.engine() as engine:
        assert sorted(paths(engine, NoteState.ASIDE)) == sorted(TEMPLATES)
        assert await found(engine, "kiln", path="Vorlagen") == ["Vorlagen/ofen.md"]
        [said] = [finding for finding in await engine.doctor() if "templates not searched unasked" in finding.what]
        assert all(path in said.what for path in TEMPLATES)
        stored = await engine.append("- Kiln: {{kiln}}\n- Date: {{date}}", kind="skill", title="Form for a firing")
        assert stored.path in await found(engine, "kiln form firing")


@pytest.mark.anyio
async def test_merge_conflicts_are_set_aside_until_they_are_resolved(world: World) -> None:
    file = world.write("kiln.md", CONFLICT)
    world.write("crlf.md", CONFLICT.replace("\n", "\r\n"))
    world.write("head.md", "---\n<<<<<<< HEAD\ntags: kiln\n=======\ntags: oven\n>>>>>>> laptop\n---\nThe kiln\n")
    world.write("diff3.md", CONFLICT.replace("=======", "||||||| base\nThe kiln is cold.\n======="))
    world.write("MEMORY.md", "- The kiln is ours\n" + CONFLICT)
    async with world.engine() as engine:
        assert set(await found(engine, "kiln")) == {"MEMORY.md"}
        said = {
            finding.what.split()[0]: finding for finding in await engine.doctor() if "merge conflicts" in finding.what
        }
        assert sorted(said) == ["MEMORY.md:", "crlf.md", "diff3.md", "head.md", "kiln.md"]
        assert said["kiln.md"].remedy == "choose between the versions: mcp-memory edit kiln.md"
        file.write_text(KILN.format(1100))
        await engine.sweep()
        assert set(await found(engine, "kiln degrees")) == {"MEMORY.md", "kiln.md"}


@pytest.mark.anyio
async def test_what_only_looks_like_them_is_a_note(world: World) -> None:
    for path, text in NOTES.items():
        world.write(path, text)
    async with world.engine() as engine:
        assert paths(engine, NoteState.ASIDE) == []
        assert sorted(paths(engine, NoteState.ACTIVE)) == sorted(NOTES)
