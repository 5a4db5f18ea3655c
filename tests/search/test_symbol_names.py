"""Names that signs are part of, and emoji, are found as a whole, and before notes with only their letters."""

from __future__ import annotations

import pytest

from tests.support.world import World

pytestmark = pytest.mark.anyio

NOTES = {
    "cpp": "The engine is written in C++ by now.",
    "objective": "Objective-C++ bridges.",
    "c": "The driver is C. All C compilers agree on C, as C was meant. C, c, C.",
    "csharp": "The desktop client is a program in C#.",
    "fsharp": "Its rules are in F# (Ada likes it).",
    "f": "F is a grade. Press F, then F again: F F F.",
    "dotnet": "The service runs on .NET since May.",
    "net": "The net is torn. Net of nets, net net.",
    "node": "Production has node.js behind the proxy.",
    "tree": "A node, js or not: node node js js node js.",
    "gpp": "Compile it with g++ and -O2.",
    "env": "Secrets belong into .env, never elsewhere.",
    "environment": "The env is staging. Env, env.",
    "fire": "The oven 🔥 is on.",
    "pot": "Bought a 🫖 for the office.",
    "thumb": "Ada answered 👍🏽 to the plan.",
    "flag": "We ship to 🇩🇪 first.",
    "family": "The 👨‍👩‍👧 plan costs nine euros.",
    "heart": "We ❤️ long walks.",
    "done": "✅ kiln repaired",
}


@pytest.mark.parametrize("is_small", [True, False])
async def test_the_exact_token_ranks_first(world: World, is_small: bool) -> None:
    for name, text in NOTES.items():
        world.write(f"{name}.md", f"{text}\n")
    world.write("about.md", "You and your agents write what every session should know.\n")
    for number in range(0 if is_small else 40):
        world.write(f"other{number}.md", f"Weather {number}: c, f and net, env and node, at {number} degrees.\n")
    async with world.engine() as engine:
        for query, name in {
            "C++": "cpp", "c++": "cpp", "who writes C++?": "cpp", "Objective-C++": "objective", "C#": "csharp",
            "F#": "fsharp", ".NET": "dotnet", ".net since": "dotnet", "node.js": "node", "Node.js?": "node",
            "node.js proxy": "node", "g++": "gpp", ".env": "env", "🔥": "fire", "🔥 oven": "fire", "🫖": "pot",
            "👍": "thumb", "👍🏿": "thumb", "🇩🇪": "flag", "👨‍👩‍👧": "family", "👩": "family",
            "❤": "heart", "❤️": "heart", "✅": "done", "C": "c", "net": "net", "env": "environment",
        }.items():  # fmt: skip
            answer = await engine.search(query, mode="keyword")
            assert answer.hits and answer.hits[0].path == f"{name}.md", query
            assert answer.confidence > 0.5, query


async def test_what_no_note_has_is_looked_up_by_its_letters_and_an_ornament_changes_nothing(world: World) -> None:
    for name in ("c", "net", "tree"):
        world.write(f"{name}.md", f"{NOTES[name]}\n")
    async with world.engine() as engine:
        for query, name in {"C++": "c", ".NET": "net", "node.js": "tree"}.items():
            answer = await engine.search(query, mode="keyword")
            assert [hit.path for hit in answer.hits] == [f"{name}.md"], query
        assert (await engine.search("🦀", mode="keyword")).hits == ()
        plain = await engine.search("which net is torn", mode="keyword")
        adorned = await engine.search("which net is torn 🦀🚀", mode="keyword")
        assert (adorned.hits[0].path, adorned.confidence) == (plain.hits[0].path, plain.confidence)
