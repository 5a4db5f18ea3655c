"""Recognizes sentences that relay another person's words, in English, German, French and Spanish. Pure."""

import re


def relays(view: str) -> bool:
    """Return whether a sentence, as `masked` shows it, relays another person's words: `Bob just messaged me: …`."""
    head = _RELAYED_HEAD.match(view)
    if head and _RELAYS.search(head[0]) and not _SAYS_ITSELF.search(head[0]):
        return True
    return _RELAYS_PLAINLY.match(view) is not None and not _SAYS_ITSELF.match(view)


_RELAYED_HEAD = re.compile(r"[^.!?\n]{0,120}?\S ?(?::(?=\s|▪|$)| [-–—](?= ))")
_RELAYS = re.compile(
    r"\b(?:messaged|pinged|texted|(?:e-?)?mailed|dm(?:’?e)?d|slacked|rang|called (?:me|us|in)|(?:just )?called(?= ?:)|"
    r"wrote|posted|announced|replied|answered|commented|reported|(?<!bug )(?<!error )(?<!status )reports|"
    r"said|says|writes|tells|told|asked|asks|announces|claims|reads|insists|"
    r"quoting|quote from|(?:his|her|their|\w+’s) (?:words|message|mail|e-?mail|note|reply|answer|feedback|request)|"
    r"(?:message|mail|e-?mail|note|word|news|letter|ticket|slack|teams|comment|voicemail|text|dm|request|feedback|"
    r"instructions|order|fyi|fwd|forward(?:ed|ing)?|cop(?:y|ied|ying)|past(?:ed|ing)|straight|direct|in|this|"
    r"that) from|got (?:this|that|told|it (?:from|on|by|via|in))|heard|received|was told|i read|as per|\(via|"
    r"got an? (?:\w+ )?(?:message|mail|e-?mail|call|note|ticket|text|dm|ping|letter)|"
    r"(?:on|over|in|through) (?:slack|teams|jira|discord|whatsapp)|in #[\w-]+|"
    r"(?:in|from|per|on) (?:the|this|a|our|my) (?:\w+ )?(?:ticket|issue|handbook|wiki|readme|(?:e-?)?mail|thread|memo|"
    r"chat|boss|client|customer|vendor|lead|cto|ceo)|(?:ticket|issue) (?:no\.? ?)?#?\d+|"
    r"schreibt|schrieb|geschrieben|sagte?|gesagt|meinte?|heißt es|steht(?! fest)|rief an|ruft an|angerufen|ausrichten|"
    r"ausgerichtet|(?:nachricht|(?:e-?)?mail|anruf|sms|ansage|info|zitat|wunsch) vo[nm]|bekommen|erhalten|gelesen|"
    r"gehört(?= ?:)|laut|gemäß|zufolge|(?:aus|per|über|via) (?:dem |der |einer )?"
    r"(?:slack|teams|ticket|mail|e-?mail|chat|wiki|handbuch)|"
    r"weitergeleitet|forwarded|fwd|écrit|vient (?:de |d’)(?:m’|nous |me )?(?:écrire|dire|appeler)|dit|posté|appelé|"
    r"envoyé|(?:m’|nous )envoie|annonce|annoncé|reçu|reçois|selon|d’après|"
    r"escribe|escribió|escrito|acaba de (?:decir\w*|escribir\w*)|dice|dijo|ha(?:n)? dicho|comenta|"
    r"(?:me|nos) (?:cuentan?|avisan?|mandan?|mandó|pasan?|pasó|llamó)|"
    r"recib(?:ido|í|imos)|llegó|según)\b"
    r"|\b(?:message|mail|courriel|sms|consigne|mensaje|correo|recado|aviso) (?:de |del |du |d’)"
    r"(?!commit|valid|erreur|error|bienv|confirm)"
)
_SAYS_ITSELF = re.compile(
    r"\b(?:i|we)(?:’ve|’d|’m| have| had| am)? (?:(?:just|already|also|then|now|hereby|all) )*(?:told|said|say|wrote|"
    r"write|messaged|pinged|texted|(?:e-?)?mailed|called|posted|announced?|replied|answered|asked|reported|decided?|agreed?|"
    r"mean|meant|want)\b|\b(?:decided|agreed)\b|"
    r"\b(?:ich|wir) (?:hab\w*|sag\w*|schr\w+|mein\w*)\b(?!.*\b(?:bekommen|erhalten|gelesen|gehört)\b)|"
    r"\bhab(?:e|en)? (?:ich|wir)\b(?!.*\b(?:bekommen|erhalten|gelesen|gehört)\b)|\b(?:entschieden|beschlossen)\b|"
    r"\b(?:j’ai|je|nous avons|on (?:a|avait)) (?:\w+ )?(?:dit|écrit|posté|annoncé|décidé|envoyé)\b|\bje (?:dis|veux)\b|"
    r"\bdécidé\b|"
    r"\b(?:dije|dijimos|escribí|escribimos|digo|decid\w+|acordamos|h(?:e|emos) (?:dicho|escrito|decidido))\b|"
    r"\b(?:as|like) i\b"
    r"|^(?:(?:so|and|ok|und|et|y) )?(?:when|if|once|before|after|wenn|falls|sobald|quand|si|cuando)\b"
    r"|^(?:from now on|always|never|whenever|ab jetzt|ab sofort|immer|nie|désormais|toujours|siempre|nunca|a partir)\b"
)
"""Matches relayed words of the person's own, which are statements: `I told Bob: …`."""
_RELAYS_PLAINLY = re.compile(
    r"(?:(?:ok(?:ay)?|so|and|also|hey|well|fyi|btw),? ){0,3}(?:"
    r"as per [^,]{1,40}, |apparently [^,:]{1,30} (?:wants?|expects?|says?|said|told)\b|"
    r"(?!i |we )[^,:]{1,50}? (?:just |has |have ){0,2}(?:messaged|pinged|texted|(?:e-?)?mailed|dm(?:’?e)?d) "
    r"(?:me|us)\b|(?:the|my|our|a) (?:\w+ )?(?:clients?|customers?|boss|manager|vendor|supplier|cto|ceo|pm|lead) "
    r"(?:just )?(?:called|rang|wrote|phoned)\b|"
    r"(?!ich |wir )[^,:]{1,50}? (?:schreibt|schrieb|ruft|rief) (?:mir |uns )?(?:gerade|eben|an)\b|"
    r"(?!je |on )[^,:]{1,50}? (?:vient de m’écrire|m’écrit|m’a (?:écrit|appelé))\b|"
    r"(?:me|nos) (?:acaba de escribir|escribe|escribió|llamó) )"
)
