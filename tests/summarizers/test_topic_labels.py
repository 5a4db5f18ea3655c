"""Titles: what notes have in common, as a person would name it, in any script, of nothing but the notes' words."""

from __future__ import annotations

import pytest

from mcp_memory.summarizers.base import MOST_TITLE_CHARS, MOST_TITLE_WORDS, SummarySource
from mcp_memory.summarizers.topic_labels import title_of
from mcp_memory.text.language.terms import folded

TALK = [
    "- Ann: Hey Bea! So good to see you! I signed up for a pottery class yesterday.\n"
    "- Bea: Wow, that's so cool, Ann! I'm really happy for you. What did you make?\n",
    "- Ann: The pottery class was amazing, I felt so relaxed. We glazed a bowl in the kiln.\n"
    "- Bea: Sounds awesome! I'm so proud of you.\n",
    "- Bea: How is the pottery class going, Ann?\n- Ann: Great, thanks! My bowl came out of the kiln in one piece.\n",
]

SAID = {
    "de": ("Mahnverfahren", "Das {} ist für die Kunden. Wir haben das {} mit der Bank und dem Anwalt besprochen."),
    "fr": ("chaudière", "La {} est dans la cave. Nous avons réparé la {} avec le voisin et pour les enfants."),
    "es": ("caldera", "La {} está en el sótano. Hemos reparado la {} con el vecino y para los niños."),
    "pt": ("caldeira", "A {} está na cave. Nós temos a {} com o vizinho e para as crianças."),
    "it": ("caldaia", "La {} è in cantina. Abbiamo riparato la {} con il vicino e per i bambini."),
    "ru": ("котельная", "Это {} и она для всех. Мы были там, где {} и не было ничего."),
    "uk": ("котельня", "Це {} та вона для всіх. Ми були там, де є {} і не було нічого."),
    "tr": ("kazan", "Bu {} çok eski ve bir usta için var. Bodrumda {} ile ne olur?"),
    "ar": ("الغلاية", "هذه {} في البيت. كانت {} من قبل مع الجار على السطح."),
    "zh": ("锅炉房", "我们的{}在地下室。他们把{}的阀门换了。"),
    "ja": ("暖房設備", "{}は地下にあります。今日は{}を直しました。"),
    "ko": ("보일러실", "{} 지하에 있습니다. 오늘 {} 고쳤습니다."),
    "th": ("หม้อต้มน้ำ", "บ้านเก่า {} ชั้นล่าง วันนี้ {} ซ่อมแล้ว"),
    "hi": ("बॉयलर", "यह {} घर में है। हमने {} को ठीक किया।"),
}
ELSE = ("Kyoto 5", "Oslo 7", "Lima 9", "Cairo 2")


def title(texts: list[str], titles: list[str] | None = None, common: dict[str, float] | None = None) -> str:
    names = titles or [text[:60] for text in texts]
    return title_of([SummarySource(name, text) for name, text in zip(names, texts, strict=True)], common or {})


@pytest.mark.parametrize("language", SAID)
def test_the_subject_comes_first_in_any_language(language: str) -> None:
    subject, said = SAID[language]
    texts = [f"{said.format(subject, subject)} {extra}." for extra in ELSE]
    found = title(texts)
    assert subject in found.partition(",")[0], found
    assert len(found.split()) <= MOST_TITLE_WORDS and len(found) <= MOST_TITLE_CHARS
    assert folded(found) <= folded(" ".join(texts))


def test_a_talk_is_called_by_its_subject_and_not_by_who_speaks_what_they_feel_or_how_they_greet() -> None:
    found = title(TALK)
    assert found == "pottery class"
    assert not folded(found) & folded("Ann Bea happy proud cool amazing good thanks felt relaxed hey")


def test_what_all_notes_share_comes_before_what_one_says_often() -> None:
    texts = [
        "The migration of the billing database is planned. A turbine, a turbine, a turbine, a turbine.",
        "Before the migration a copy of the billing database is made.",
        "The migration ended at noon, and the billing database is back.",
    ]
    assert folded(title(texts).partition(",")[0]) <= folded("migration billing database")


def test_a_phrase_is_told_as_widely_as_most_of_its_places_have_it() -> None:
    texts = [f"We talk about the connection pool in {city}. The connection pool is full." for city in ELSE]
    assert title(texts).startswith("connection pool")


def test_headings_count_and_titles_that_were_given() -> None:
    texts = ["## Backups\n\nRuns at two.", "## Backups\n\nKept for a month.", "Copied to Oslo."]
    assert "Backups" in title(texts, ["Nightly", "Monthly", "Backups abroad"]).split(", ")[0]


def test_nouns_come_before_verbs_that_are_as_frequent() -> None:
    texts = [f"We repaint the boat in {city}. They repaint the boat." for city in ELSE]
    assert title(texts).startswith("boat")


@pytest.mark.parametrize(("shout", "kept"), [("MIT", True), ("mit", False)])
def test_words_of_grammar_are_those_of_the_language_that_is_spoken(shout: str, kept: bool) -> None:
    english = [f"We have it from {shout} in {city}." for city in ELSE]
    german = [f"Wir fahren {shout} dem Boot und nicht zu der Insel bei {city}." for city in ELSE]
    assert "mit" in title(english).lower().split(", ")
    assert "mit" not in title(german).split(", ")
    assert kept or "mit" not in folded(title(german))


def test_the_order_of_words_in_memory_does_not_matter_and_what_all_memory_says_is_no_subject() -> None:
    texts = [f"The gateway of the harbour is open in {city}." for city in ELSE]
    common = {"harbour": 0.9, "gateway": 0.001}
    assert title(texts, common=common) == title(texts, common=dict(reversed(common.items())))
    assert title(texts, common=common).startswith("gateway")


def test_the_subject_that_tags_name_is_spelled_as_notes_write_it_and_not_repeated_below_its_like() -> None:
    def called(tags: list[str], texts: list[str], hint: str = "") -> str:
        found = [
            SummarySource(text[:20], text, tags=[tag] if tag else []) for tag, text in zip(tags, texts, strict=True)
        ]
        return title_of(found, {}, hint)

    texts = ["Clocks change: the DST bug hit the cron.", "Ambiguous hours are run once.", "Use zoneinfo, not pytz."]
    assert called(["dst", "dst", ""], texts) == "DST"
    assert called(["time-zones", "time zones", "cron"], texts) == "Time zones"
    assert called(["ci/cd", "ci/cd", ""], ["CI/CD is slow.", "Never DEPLOY by hand.", "CI/CD waits."]) == "CI/CD"
    assert called(["deploy"] * 3, ["To deploy takes long.", "Never DEPLOY by hand.", "We deploy daily."]) == "Deploy"
    assert called(["iOS"] * 3, texts) == "iOS" and called(["memory leaks"] * 3, texts, "mcp-memory") == "Memory leaks"
    assert called(["cron", "cron", "cron"], texts, hint="cron") != "Cron"
    shared = "Japan trip: "
    assert called(["travel"] * 3, [shared + text for text in texts]) == "Japan trip"
