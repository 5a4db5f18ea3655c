"""import and export from the command line: with a daemon and without, killed and repeated, there and back."""

from __future__ import annotations

import subprocess
from pathlib import Path

from mcp_memory.integrations.config_entries import InstructionBlock
from tests.daemon.place import Place, eventually
from tests.transfer.sources import claude_memory, laid, obsidian


def test_notes_come_in_through_a_daemon_and_stay_a_persons(place: Place, tmp_path: Path) -> None:
    notes = obsidian(tmp_path / "Notes")
    with place.started():
        dry = place.run("import", str(notes), "--dry-run").ok().out
        assert "new  Places/Ryokan.md     →  imported/obsidian-notes/Places/Ryokan.md\n" in dry
        assert "left out, no Markdown: Board.canvas, files/map.png\n" in dry
        assert dry.endswith(f"would import {notes} as obsidian: 3 new, 2 left out\n")
        assert not (place.vault / "imported").exists()
        assert place.run("import", str(notes), "--json").ok().json["counts"] == {"new": 3}
        trip = place.vault / "imported/obsidian-notes/Kyoto Trip.md"
        assert trip.read_bytes().endswith((notes / "Kyoto Trip.md").read_bytes().partition(b"---\n# ")[2])
        assert place.run("search", "Ryokan nights", "--json").ok().json["hits"][0]["path"].endswith("Ryokan.md")
        assert place.run("import", str(notes), "--json").ok().json["counts"] == {"unchanged": 3}

        trip.write_bytes(mine := trip.read_bytes() + b"In May.\n")
        (notes / "Kyoto Trip.md").write_text("# Kyoto\n\nIn autumn.\n")
        (notes / "Places/Ryokan.md").write_text("Four nights.\n")
        again = place.run("import", str(notes), "--json").ok().json
        assert again["counts"] == {"unchanged": 1, "edited": 1, "updated": 1, "beside": 1}
        beside = next(row["path"] for row in again["notes"] if row["deed"] == "beside")
        assert (place.vault / beside).read_bytes().endswith(b"In autumn.\n")
        assert trip.read_bytes() == mine
        third = place.run("import", str(notes), "--json").ok().json["counts"]
        assert third == {"unchanged": 2, "edited": 1}, "it stands beside once"

        laid(notes, {"huge.md": "x" * 3_900_000})
        refused = place.run("import", str(notes)).ok().out
        assert refused.startswith("refused  huge.md  (it is larger than the daemon takes")
        claude = claude_memory(tmp_path / ".claude")
        assert place.run("import", str(claude)).ok().out.endswith("as claude-code: 3 new, 0 left out\n")
        hits = place.run("search", "database mocks", "--project", "my-shop", "--json").ok().json["hits"]
        assert (hits[0]["title"], hits[0]["kind"]) == ("Integration tests hit a real database", "preference")

        without, first = tmp_path / "without.jsonl", tmp_path / "first.jsonl"
        place.run("export", "--to", str(first)).ok()
        before = first.read_bytes()
        assert place.run("export", "--to", str(first)).code != 0
        place.run("export", "--to", str(first), "--force").ok()
        assert first.read_bytes() == before
        assert first.stat().st_mode & 0o777 == 0o600
        place.run("forget", str(trip.relative_to(place.vault))).ok()
        assert "left out" not in place.run("export", "--to", str(without)).ok().out
        assert "Four nights." in without.read_text()
        assert "In May." not in without.read_text()
        lines = tmp_path / "memory.jsonl"
        number = place.run("export", "--to", str(lines), "--forgotten", "--json").ok().json["notes"]
        assert "In May." in lines.read_text()
        assert place.run("import", str(lines), "--json").ok().json["counts"] == {"unchanged": number}


def test_there_and_back_without_a_daemon(place: Place, tmp_path: Path) -> None:
    files = {
        "Agent/notes/fact/a.md": b"---\nid: 01M80W6FBCJ1G8TGK7S9B4XSGP\n---\nA\n",
        "x/\u00e4 b.md": b"\xff\x00 any bytes\r",
    }
    marker = 'id = "x"\nformat = 1\nhome = "Agent"\n'
    laid(place.vault, {".mcp-memory/vault.toml": marker, "map.png": "", **files})
    lines, other = tmp_path / "memory.jsonl", tmp_path / "restored"
    told = place.run("export", "--to", str(lines)).ok().out
    assert told.startswith("left out: map.png, no Markdown\nexported 2 notes to ")
    there = ["--vault", str(other), "import", str(lines)]
    assert place.run(*there, "--dry-run", "--json").ok().json["counts"] == {"new": 2}
    assert not other.exists()
    assert place.run(*there, "--json").ok().json["counts"] == {"new": 2}
    assert _bytes(other) == files
    (other / "x/\u00e4 b.md").write_text("edited")
    (other / "Agent/notes/fact/a.md").unlink()
    ran = place.run(*there).ok()
    assert "conflict  x/\u00e4 b.md  (the vault has another version)\n" in ran.out
    assert "mcp-memory adopt" in ran.err
    assert _bytes(other) == {**files, "x/\u00e4 b.md": b"edited"}
    for source, code, said in (
        (tmp_path / "none", 4, "there is nothing at"),
        (place.home, 2, "--from claude-code"),
        (place.vault, 1, "in the vault already"),
    ):
        refused = place.run("import", str(source))
        assert (refused.code, said in refused.err) == (code, True), refused


def test_a_restore_keeps_every_name_that_the_disk_takes(place: Place, tmp_path: Path) -> None:
    names = (
        "What is a kiln?.md", 'said: "fire" <now> | *.md', "a. /kiln. .md", "kiln...md", "con.md", "aux/x.md", "~/x.md",
        "Kiln.md", "kiln.md", "K\u00f6ln.md", "Ko\u0308ln.md", "line\u2028break.md", "left\u202eright.md", "n.MD",
        "\u7a91.md", "\U0001f525.md", "templates/{{date}}.md", "kiln (conflicted copy 2026).md", " x.md", "100%.md",
    )  # fmt: skip
    files = {name: f"Kiln {number}\n".encode() for number, name in enumerate(names)}
    laid(place.vault, {".mcp-memory/vault.toml": 'id = "x"\nformat = 1\nhome = "Agent"\n', **files})
    laid(place.vault, {"back\\slash.md": "x", "new\nline.md": "x", "tab\t.md": "x"})
    export, other = tmp_path / "memory.jsonl", tmp_path / "none/yet/restored"
    told = place.run("export", "--to", str(export)).ok().out
    assert told.count("left out: ") == 3, told
    restored = place.run("--vault", str(other), "import", str(export), "--json").ok().json
    assert restored["counts"] == {"new": len(files)}, restored
    assert _bytes(other, "*.[mM][dD]") == files
    again = place.run("--vault", str(other), "import", str(export), "--json").ok().json
    assert again["counts"] == {"unchanged": len(files)}


def test_an_import_that_was_killed_goes_on(place: Place, tmp_path: Path) -> None:
    notes = laid(
        tmp_path / "Notes", {".obsidian/x": "", **{f"{n % 9}/note {n}.md": f"Number {n}\n" for n in range(500)}}
    )
    folder = place.vault / "imported/obsidian-notes"
    killed = subprocess.Popen(
        place.command("import", str(notes)), env=place.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    eventually(lambda: killed.poll() is not None or len(list(folder.glob("*/*.md"))) > 150, within_s=60)
    killed.kill()
    killed.wait()
    whole = {file.name: file.read_bytes() for file in folder.glob("*/*.md")}
    assert len(whole) < 500, "it was done before it was killed: more notes, please"
    counts = place.run("import", str(notes), "--json").ok().json["counts"]
    assert counts == {"unchanged": len(whole), "new": 500 - len(whole)}
    after = {file.name: file.read_bytes() for file in folder.glob("*/*.md")}
    assert len(after) == 500
    assert {name: after[name] for name in whole} == whole
    page = laid(tmp_path, {"Acme.md": "Acme builds pumps.\n"}) / "Acme.md"
    place.run("import", str(page), "--project", "shop").ok()
    assert b"project: shop\n" in (place.vault / "imported/obsidian-acme/Acme.md").read_bytes()


def _bytes(vault: Path, names: str = "*.md") -> dict[str, bytes]:
    return {str(file.relative_to(vault)): file.read_bytes() for file in vault.rglob(names)}


def test_one_command_takes_an_import_back_and_nothing_else(place: Place, tmp_path: Path) -> None:
    notes = obsidian(tmp_path / "Notes")
    with place.started():
        run = place.run("import", str(notes), "--json").ok().json["run"]
        mine = place.run("append", "--json", "-k", "fact", "Ada rows.").ok().json["path"]
        (notes / "Places/Ryokan.md").write_text("Four nights.\n")
        second = place.run("import", str(notes)).ok()
        name = second.err.rpartition("to take this back: mcp-memory undo ")[2].strip()
        assert (name != run, name[:7]) == (True, "import-"), second
        assert place.run("import", str(notes), "--json").ok().json["run"] is None, "nothing came in"
        place.run("undo", name, "--yes").ok()
        assert b"Four nights." not in (place.vault / "imported/obsidian-notes/Places/Ryokan.md").read_bytes()
        assert "1 note of these" not in place.run("import", str(notes)).ok().err, "it comes in again"
        place.run("undo", run, "--yes")
        assert place.run("undo", run, "--yes").ok().out.endswith("0 changes undone\n")
        assert place.run("show", mine).ok()
        assert place.run("list", "--json").ok().json["notes"][0]["path"] == mine
        again = place.run("import", str(notes)).ok()
        assert "to take this back" not in again.err
        hint = again.err.rpartition("you forgot here: mcp-memory ")[2].split()
        assert hint == ["restore", "--path", "imported/obsidian-notes"], again
        assert len(place.run("list", "--deleted", "--path", hint[2], "--json").ok().json["forgotten"]) == 3
        assert place.run(*hint, "--yes").ok().out.endswith("3 notes would come back\n3 notes restored\n")
        assert place.run("import", str(notes), "--json").ok().json["counts"] == {"unchanged": 3}


def test_lines_that_install_put_in_are_no_note(place: Place, tmp_path: Path) -> None:
    block = InstructionBlock("Search first.", '---\napplyTo: "**"\n---\n').insert("")
    whole = block.partition("---\n<!--")[2]
    folder = laid(
        tmp_path / ".gemini", {"GEMINI.md": f"<!--{whole}", "tmp/shop/memory/a.md": block, "settings.json": "{}"}
    )
    ran = place.run("import", str(folder)).ok()
    assert "left out, it has only the lines that mcp-memory put in: GEMINI.md, tmp/shop/memory/a.md\n" in ran.out
    assert ran.out.endswith("as gemini: nothing, 2 left out\n")
    (folder / "GEMINI.md").write_text(f"Use uv.\n\n<!--{whole}")
    assert place.run("import", str(folder), "--json").ok().json["counts"] == {"new": 1}
    brought = (place.vault / "imported/gemini/GEMINI.md").read_text()
    assert brought.endswith("Use uv.\n") and "Search first" not in brought
