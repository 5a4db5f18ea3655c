"""Vague words: English ones that name no subject, however often a conversation has them: they greet and thank,
praise and feel, tell the time. Other languages need none: what all of memory says counts little anyway.
"""

from __future__ import annotations

from mcp_memory.text.language.terms import fold

_WORDS = """
able absolutely actually admire agree ah almost always amazing another anyway appreciate attitude awesome back bad
beautiful became become believe best better big biggest bit blast brave bunch bye calm calming came caring cause
change cherish come comfort coming conclusion congrats cool curious day days definitely delicious deserve details
difference due easy encourage encouragement encouraging enjoy enjoyable enjoying especially etc even example examples
excited excitement exciting experience fantastic far favorite favourite feel feeling feels felt find folks forward
found fresh friday fun gave get gets getting give glad go goes going gonna good gorgeous got gotta grateful great
guess guy guys haha happen happened happiness happy hard harder hear heard hello help helped helping hesitate hey hi
holding honest hope hopeful huge idea image impact important impressive incredible inspiration inspire inspired
inspiring interested interesting introduction joy keep keeping kept kind kindness know large last lately later laugh
laughing laying learn learned least left let lets life like little lol long look looking looks lot lots love loved
luck lucky made make makes making man maybe mean means meant memorable men moment monday month months more morning
most motivate motivated motivating need needed needs nervous new next nice night now oh ok okay old ones ongoing
opportunity other others out overview part passion passionate people person photo pic picture place positive
positivity powerful pretty probably proud put quite reaction ready real realized really recap recently refreshing
relax relaxing remember remind reminded reminder reminds rewarding right sad said saturday saw say saying see seeing
seem seems seen share sharing show showed sitting small soon sorry sort sound sounds special standing start started
stay stuff summary sunday super support supportive sure sweet take taken taking talk tell terrific thank thankful
thanks thing things think thinking thought thoughtful thrilled thursday time times tiny tip tips today told tomorrow
ton tonight tons took totally tough tried true try trying tuesday understand unforgettable use used using usually vibe
vibes wait wanna want wanted wants watch way ways wearing wednesday week weekend weeks well went whole wish woman
women won wonderful words work worked working works world worried worries worry worth worthwhile wow ya yea yeah year
years yep yes yesterday
"""
VAGUE_WORDS = frozenset(map(fold, _WORDS.split()))
"""Folded."""
