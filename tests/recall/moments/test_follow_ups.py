"""A short question is understood with the answer before it, and a short word of consent brings nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_memory.capture.config import CaptureConfig
from mcp_memory.embedders.base import EmbedderConfig
from tests.capture.written import line
from tests.support.world import World, embedded

pytestmark = pytest.mark.anyio

BAKERY = {
    "oven": "The deck oven must not go above 260 degrees, or the stone cracks.",
    "price": "Price of the farmer's loaf is 6.40 euros since October.",
    "key": "Aisha has the key of the cold store.",
    "starter": "The sourdough starter is fed at 5 in the morning and at 9 in the evening.",
    "nuts": "Mrs. Lindner is allergic to nuts: her cakes are made on the small table.",
}
WARD = {
    "pump": "Infusionspumpen von Bertol müssen nach jedem Patienten neu kalibriert werden.",
    "doctor": "Dr. Weidner ist montags und donnerstags im Haus.",
    "drug": "Herr Kowalczyk bekommt Metamizol nur nach Rücksprache mit Dr. Weidner.",
    "visits": "Besuchszeit ist von 14 bis 18 Uhr, am Wochenende ab 10 Uhr.",
}
OTHERS = {
    "court": "Los escritos al juzgado se presentan por LexNET antes de las 15:00.",
    "file": "El expediente Solís está en suspenso hasta el 15 de enero.",
    "cloth": "Le tissu Lina se lave à 30 degrés au maximum.",
    "fair": "Le salon de Lyon commence le 12 mars.",
}
TALKS = [
    (
        BAKERY,
        [
            ("I set the deck oven to 280 for the pretzels.", "is that ok?", "oven"),
            ("The customer asks about the farmer's loaf.", "how much is it?", "price"),
            ("The cold store is locked.", "who can open it", "key"),
            ("A long list. " * 300 + "The cold store is locked.", "and who can open that?", "key"),
            ("The cold store is locked. " + "Then I did more.\n" * 300, "and who can open that?", ""),
            ("I wrote the list for the deck oven.", "thanks", ""),
            ("I added the farmer's loaf to the list.", "yes, go on", ""),
            ("The note about the cold store is written.", "commit it", ""),
            ("The cold store is locked.", "looks good", ""),
            ("The deck oven is at 200.", "what's a mutex?", ""),
            ("The oven is hot.", "how often is the sourdough starter fed?", "starter"),
            ("", "is that ok?", ""),
        ],
    ),
    (
        WARD,
        [
            ("Ich trage Metamizol für Herrn Kowalczyk ein.", "ist das ok so?", "drug"),
            # Of four notes, two name times: a question for a time gets both.
            ("Dr. Weidner muss das unterschreiben.", "wann ist er da?", "doctor visits"),
            ("Die Angehörigen fragen nach der Besuchszeit.", "und bis wann ist die?", "doctor visits"),
            ("18 Uhr.", "ist das ok so?", ""),
            ("Ich habe die Besuchszeit eingetragen.", "passt", ""),
            ("Die Bertol-Pumpe ist eingetragen.", "ja, mach weiter", ""),
        ],
    ),
    (
        OTHERS,
        [
            ("He revisado el expediente Solís.", "¿y ese cuándo sigue?", "file"),
            ("Je mets le tissu Lina à 60 degrés.", "c'est bon comme ça ?", "cloth"),
            ("On prépare le salon de Lyon.", "et ça commence quand ?", "fair"),
            ("He redactado el escrito para el juzgado.", "gracias", ""),
            ("Le tissu Lina est noté.", "ok continue", ""),
        ],
    ),
]


@pytest.mark.parametrize(("notes", "talk"), TALKS, ids=["english", "german", "spanish and french"])
async def test_a_short_question_is_understood_with_the_answer_before_it(
    tmp_path: Path, model_cache: Path, notes: dict[str, str], talk: list[tuple[str, str, str]]
) -> None:
    world, folder = World(tmp_path / "vault", tmp_path / "state", model_cache), tmp_path / "claude"
    folder.mkdir()
    for name, text in notes.items():
        world.write(f"notes/fact/{name}.md", text)
    capture = CaptureConfig(folders={"claude-code": str(folder)})
    shown: list[tuple[str, str, str]] = []
    async with world.engine(embedder=EmbedderConfig(), capture=capture) as engine:
        await embedded(engine)
        for number, (answer, prompt, _) in enumerate(talk):
            file = folder / f"s-{number}.jsonl"
            file.write_bytes(line(1, "Look at this.") + (line(2, answer, role="assistant") if answer else b""))
            asked = {"session": f"claude-code/s-{number}", "transcript": str(file), "prompt": prompt}
            text = (await engine.perform("brief", {**asked, "within_ms": 20_000}))["text"]
            shown.append((answer, prompt, " ".join(name for name, note in notes.items() if note in text)))
    assert shown == talk


async def test_a_question_that_notes_answer_alone_keeps_them(tmp_path: Path, model_cache: Path) -> None:
    world, folder = World(tmp_path / "vault", tmp_path / "state", model_cache), tmp_path / "claude"
    folder.mkdir()
    port, base = "The quote tool listens on port 8123.", "The database of quotes is on the mini PC, in /srv/quotes."
    for name, text in {"port": port, "base": base}.items():
        world.write(f"notes/fact/{name}.md", text)
    capture = CaptureConfig(folders={"claude-code": str(folder)})
    async with world.engine(embedder=EmbedderConfig(), capture=capture) as engine:
        await embedded(engine)
        file = folder / "s.jsonl"
        answer = line(2, "The database of quotes is on the mini PC, below /srv.", role="assistant")
        file.write_bytes(line(1, "Look at this.") + answer)
        asked = {"session": "claude-code/s", "transcript": str(file), "prompt": "and which port does it listen on?"}
        assert port in (await engine.perform("brief", {**asked, "within_ms": 20_000}))["text"]
