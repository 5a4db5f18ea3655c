"""Determines the common subject of notes: the first of a note's tags, which agents choose like the name of a folder."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from mcp_memory.text.language.terms import content_words, fold

_GENERIC = """
able absolutely actually admire agree ah almost always amazing another anyway appreciate attitude awesome back bad
beautiful became become believe best better big biggest bit blast brave bunch bye calm calming came caring cause change
cherish come comfort coming conclusion congrats cool curious day days definitely delicious deserve details difference
due easy encourage encouragement encouraging enjoy enjoyable enjoying especially etc even example examples excited
excitement exciting experience fantastic far favorite favourite feel feeling feels felt find folks forward found fresh
friday fun gave get gets getting give glad go goes going gonna good gorgeous got gotta grateful great guess guy guys
haha happen happened happiness happy hard harder hear heard hello help helped helping hesitate hey hi holding honest
hope hopeful huge idea image impact important impressive incredible inspiration inspire inspired inspiring interested
interesting introduction joy keep keeping kept kind kindness know large last lately later laugh laughing laying learn
learned least left let lets life like little lol long look looking looks lot lots love loved luck lucky made make makes
making man maybe mean means meant memorable men moment monday month months more morning most motivate motivated
motivating need needed needs nervous new next nice night now oh ok okay old ones ongoing opportunity other others out
overview part passion passionate people person photo pic picture place positive positivity powerful pretty probably
proud put quite reaction ready real realized really recap recently refreshing relax relaxing remember remind reminded
reminder reminds rewarding right sad said saturday saw say saying see seeing seem seems seen share sharing show showed
sitting small soon sorry sort sound sounds special standing start started stay stuff summary sunday super support
supportive sure sweet take taken taking talk tell terrific thank thankful thanks thing things think thinking thought
thoughtful thrilled thursday time times tiny tip tips today told tomorrow ton tonight tons took totally tough tried true
try trying tuesday understand unforgettable use used using usually vibe vibes wait wanna want wanted wants watch way
ways wearing wednesday week weekend weeks well went whole wish woman women won wonderful words work worked working works
world worried worries worry worth worthwhile wow ya yea yeah year years yep yes yesterday
"""
GENERIC_WORDS = frozenset(map(fold, _GENERIC.split()))
"""Folded English words that name no subject, however frequent in a conversation: words of greeting, thanks, praise,
feeling and time. Other languages need none, because words common in memory have little weight anyway."""

_VALUES = """
one two three four five six seven eight nine ten eleven twelve twenty thirty hundred first second third half once twice
zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig dreißig hundert erste zweite dritte halb einmal
deux trois quatre cinq sept huit neuf dix onze douze vingt trente cent premier première deuxième troisième fois
dos tres cuatro cinco seis siete ocho nueve diez once doce quince veinte treinta cien primero segunda tercero vez veces
january february march april june july august september october november december jan feb mar apr jun jul aug sep oct
nov dec januar februar märz mai juni juli oktober dezember okt dez janvier février mars avril juin juillet août
septembre octobre novembre décembre enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre
diciembre montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi
dimanche lunes martes miércoles jueves viernes sábado domingo second seconds minute minutes hour hours sekunde sekunden
minuten stunde stunden tag tage tagen woche wochen monat monate jahr jahre heure heures jour jours semaine mois ans
année segundos minutos hora horas día días semana mes meses año años euro euros eur usd percent prozent mm cm km kg mg
ml mr mrs ms herr herrn frau madame monsieur señor señora ab pro nr
"""
EMPTY_WORDS = GENERIC_WORDS | frozenset(map(fold, _VALUES.split()))
"""Folded words that name no topic: also numbers, days, months, units and forms of address."""

_LABELS = """
note notes decision decisions fact fix fixes lesson idea workflow reference preference error errors symptom cause reason
problem todo update open question warning rule info tip wip done rejected
"""
LABELS = frozenset(map(fold, _LABELS.split()))
"""Leads that name the type of a note."""

SHARED = 0.35
"""The minimum share of the notes with a subject for the subject to represent them all. Chosen on ten people's topics,
where most names above it and few below were acceptable (`tests/eval/topics`)."""

_JOINTS = re.compile(r"[-_/]+")
_LEAD = re.compile(r"(?:#{1,6} +|[-*] +)?([^\s:`#][^:`\n]{1,40}): +\S")


def subject_of(tags: Sequence[str], project: str) -> str:
    """Return the first tag that names a subject, in plain words; empty without such a tag. The project's name and the
    kind of the note aren't subjects."""
    return next(iter(subjects_of(tags, project)), "")


def subjects_of(tags: Sequence[str], above: str) -> tuple[str, ...]:
    """Return the tags that name subjects, in plain words, broadest first. What is named `above` them, such as a
    project, and the kind of the note aren't subjects."""
    subjects = (" ".join(_JOINTS.sub(" ", tag).split()) for tag in tags)
    known = LABELS | GENERIC_WORDS | content_words(above)
    return tuple(one for one in subjects if any(not word.isdigit() for word in content_words(one) - known))


def lead_of(line: str) -> str:
    """Return the words before a line's colon, as in `Japan trip, food: no raw egg`; empty without any."""
    found = _LEAD.match(line)
    return found[1].strip("*_ ") if found else ""


def shared_subject(subjects: Sequence[str], least: float = SHARED) -> str:
    """Return the subject of most notes in its most frequent spelling; empty unless at least two notes and a share
    `least` of them have it. `subjects` has an entry for each note, empty without a subject."""
    spelled = _most_named(subjects)
    if spelled.total() < max(2, least * len(subjects)):
        return ""
    return max(spelled, key=lambda spelling: (spelled[spelling], spelling))


def is_outgrown(name: str, subjects: Sequence[str]) -> bool:
    """Return whether more than half of the notes have a common subject that `name` doesn't mention."""
    spelled = _most_named(subjects)
    return 2 * spelled.total() > len(subjects) and not content_words(" ".join(spelled)) & content_words(name)


def _most_named(subjects: Sequence[str]) -> Counter[str]:
    """Count the spellings of the most frequent subject."""
    spelled: defaultdict[frozenset[str], Counter[str]] = defaultdict(Counter)
    for subject in subjects:
        if words := content_words(subject):
            spelled[words][subject] += 1
    ranked = sorted(spelled, key=lambda words: (spelled[words].total(), sorted(words)))
    return spelled[ranked[-1]] if ranked else Counter()
