"""Texts on which a compiled model is compared with its original: short and long, prose and code, many scripts."""

from __future__ import annotations

_PROSE = (
    "The team met on Thursday to decide how releases are cut. From now on a branch is made on the first Monday of "
    "each month, fixes are picked onto it for two weeks, and nothing else goes in. Whoever cuts the release writes "
    "the notes, asks a second person to read them, and tags the commit only when both have run the installer. "
)

SAMPLES: tuple[str, ...] = (
    "",
    "tea",
    "Where are the release notes?",
    "Ana prefers tabs, Bo prefers spaces; the formatter decides.",
    "Decision: we keep SQLite. Reason: one file, one transaction, no server to run.",
    "The flight to Osaka leaves at 09:40 on 14 March from gate B22, with a stop in Helsinki.",
    "- [ ] call the dentist\n- [x] pay the rent\n- [ ] renew the passport before May",
    "def area(radius: float) -> float:\n    return math.pi * radius**2",
    "ERROR 2026-02-11T08:15:02Z worker-3 connection reset by peer (attempt 4 of 5)",
    "git rebase --onto main topic~3 topic && git push --force-with-lease",
    "SELECT name, count(*) FROM orders WHERE paid = 0 GROUP BY name HAVING count(*) > 3;",
    "| city | rain in mm |\n|---|---|\n| Bergen | 2,250 |\n| Almería | 196 |",
    "Der Schlüssel liegt unter der Fußmatte, aber nur dienstags.",
    "La réunion est déplacée à jeudi, parce que la salle était déjà réservée.",
    "会议改到星期四下午三点,请大家带上各自的笔记。",
    "サーバーは毎晩二時に再起動します。",
    "Встреча перенесена на четверг, потому что зал уже занят.",
    "الاجتماع تأجل إلى يوم الخميس لأن القاعة محجوزة.",
    "🎂 Mia turns seven on Saturday 🎈 bring candles!",
    "https://example.org/docs/install?version=2.1#troubleshooting",
    "0x7fff5fbff8c0 3.14159 1e-9 192.0.2.17 550e8400-e29b-41d4-a716-446655440000",
    "WHY IS THE BUILD RED AGAIN? Because the certificate of the mirror ran out at midnight.",
    _PROSE,
    _PROSE * 12,
)
