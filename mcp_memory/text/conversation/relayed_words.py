"""Recognizes sentences that relay another person's words, in English, German, French and Spanish. Pure."""

import re


def relays(view: str) -> bool:
    """Return whether a sentence, as `masked` shows it, relays another person's words: `Bob just messaged me: …`."""
    head = _RELAYED_HEAD.match(view)
    if head and (_RELAYS.search(head[0]) or _IS_A_SOURCE.search(head[0])) and not _SAYS_ITSELF.search(head[0]):
        return True
    if _CHAT_LINE.match(view) or _SAYS_SO_AFTERWARDS.search(view):
        return True
    return _RELAYS_PLAINLY.match(view) is not None and not _SAYS_ITSELF.match(view)


def asks_whether_it_is_true(view: str) -> bool:
    """Return whether a question is about the truth of the text before it: `Is that right?`."""
    return _IS_IT_TRUE.search(view) is not None


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
_SOURCE = (
    r"(?:stack ?overflow|stackexchange|reddit|hacker news|hn|quora|chatgpt|gpt(?:-[\w.]+)?|gemini|copilot|perplexity|"
    r"wikipedia|github|gitlab|medium|twitter|youtube)"
)
_IS_A_SOURCE = re.compile(
    rf"^(?:(?:the|an?|this|top|accepted|best|another|die|eine?|une?|la|una) )*{_SOURCE}(?:’s)?(?:[ -](?:top|accepted|"
    rf"best|"
    r"answer|antwort|comment|kommentar|post|beitrag|thread|issue|reply|advice|suggestion|says|meint|dit|dice))* ?:|"
    r"\b(?<!my )(?<!our )(?:answer|comment|post|thread|reply|advice|tip|article|snippet|excerpt|antwort|kommentar|"
    r"beitrag|tipp|"
    r"ratschlag|artikel|réponse|commentaire|conseil|extrait|respuesta|comentario|consejo|artículo|extracto) "
    r"(?:on|from|in|at|by|under|auf|aus|von|vom|bei|unter|sur|sous|de|du|d’|en|bajo)\b|"
    r"\b(?:review|pr|mr|reviewer|code|github|gitlab|jira) (?:comment|thread|note|feedback|discussion)s? ?:|"
    r"\bfrom (?:(?:the|a|an|this|their|its|some|another) )?(?:[\w.’-]+ ){0,2}(?:docs?|documentation|readme|manual|faq|"
    r"blog\w*|"
    r"article|tutorial|book|guide|website|forum|spec|rfc|newsletter|video|paper|post)\b|"
    r"\baus (?:(?:dem|der|den|einem|einer) )?(?:[\w.-]+ ){0,2}(?:doku\w*|handbuch|blog\w*|artikel|forum|buch|video|"
    r"readme)\b|"
    r"\b(?:dans|trouvé sur|lu sur|lu dans) (?:la|le|les|un|une|l’) ?(?:[\w.-]+ ){0,2}(?:doc\w*|blog\w*|article|forum|"
    r"livre)\b|"
    r"\b(?:de|en) (?:la|el|un|una) (?:[\w.-]+ ){0,2}(?:documentación|blog\w*|artículo|foro|libro)\b"
)
"""Matches a label that names where the words after it are from: `Stack Overflow answer: …`, `from the docs: …`."""
_CHAT_LINE = re.compile(
    r"\[?[0-9]{1,2}[:.h][0-9]{2}(?::[0-9]{2})?\]?[ \t]?(?:[-–] )?(?!from\b|ab\b)@?[^\W\d_][\w.’-]{0,30} ?: |"
    r"@?[^\W\d_][\w.’-]{0,30} ?[\[(][0-9]{1,2}[:.h][0-9]{2}(?::[0-9]{2})?[\])] ?: "
)
"""Matches a line with a time and a speaker. A single such line may be a person's own: `10:00 standup: …`."""
_IS_IT_TRUE = re.compile(
    r"\b(?:is|was) (?:it|this|that|he|she|the \w+) (?:really |still |even |actually )*(?:right|true|correct|accurate|"
    r"valid|wrong|legit|"
    r"a good (?:idea|advice)|good advice)\b|\b(?:does|do) (?:this|that|it|these|they) (?:really |still |"
    r"also )*(?:apply|hold)\b|"
    r"^(?:is )?(?:true|correct|agree|right)\W*$|\b(?:is|was) (?:he|she) right\b|\b(?:do|would) you agree\b|"
    r"\bstimmt (?:das|es|dies)\b|\b(?:ist|war) (?:das|dies|es) (?:wirklich |noch |so |denn )*(?:richtig|wahr|korrekt|"
    r"falsch)\b|"
    r"\bhat (?:er|sie) (?:da )?recht\b|\bgilt (?:das|es|dies)\b|"
    r"\bc’est (?:vrai|juste|correct|exact)\b|\best-ce (?:que c’est )?(?:vrai|juste|correct|exact)\b|\ba-t-(?:il|"
    r"elle) raison\b|"
    r"\b(?:es|son) (?:esto |eso )?(?:verdad|ciert[oa]|correct[oa])\b|\btiene razón\b"
)
"""Matches a question whether what was said before it is true, which a person rarely asks about an own decision."""
_SAYS_ITSELF = re.compile(
    r"\b(?:i|we)(?:’ve|’d|’m| have| had| am)? (?:(?:just|already|also|then|now|hereby|all) )*(?:told|said|say|wrote|"
    r"write|messaged|pinged|texted|(?:e-?)?mailed|called|posted|announced?|replied|answered|asked|reported|decided?|"
    r"agreed?|"
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
    r"(?:laut|gemäß|selon|d’après|según|according to) (?!mir\b|uns\b|moi\b|nous\b|mí\b|me\b|us\b)\w|"
    r"as per [^,]{1,40}, |apparently [^,:]{1,30} (?:wants?|expects?|says?|said|told)\b|"
    r"(?!i |we )[^,:]{1,50}? (?:just |has |have ){0,2}(?:messaged|pinged|texted|(?:e-?)?mailed|dm(?:’?e)?d) "
    r"(?:me|us)\b|(?:the|my|our|a) (?:\w+ )?(?:clients?|customers?|boss|manager|vendor|supplier|cto|ceo|pm|lead) "
    r"(?:just )?(?:called|rang|wrote|phoned)\b|"
    r"(?!ich |wir )[^,:]{1,50}? (?:schreibt|schrieb|ruft|rief) (?:mir |uns )?(?:gerade|eben|an)\b|"
    r"(?!je |on )[^,:]{1,50}? (?:vient de m’écrire|m’écrit|m’a (?:écrit|appelé))\b|"
    r"(?:me|nos) (?:acaba de escribir|escribe|escribió|llamó) |"
    r"(?!(?:ich|wir|man|es|das) )[^,:.]{1,30} (?:meint|sagt|findet|glaubt|behauptet|denkt|schreibt)(?: ja| immer|"
    r" auch| halt)?, |"
    r"(?:(?!(?:i|we|you|it|that|this|as|like|when|if) )\w+ ){1,3}?(?:says|said|thinks|reckons|claims|insists|believes|"
    r"keeps saying),? "
    r"(?:that )?(?!to\b)(?=\w)|"
    r"(?!(?:je|on|nous|il|ça) )[^,:.]{1,30} (?:dit|pense|trouve|affirme|prétend|estime) qu|"
    r"[^,:.]{1,30} (?:dice|cree|piensa|opina|afirma) que )"
)
_SAYS_SO_AFTERWARDS = re.compile(
    r", (?:(?:or )?so )?(?:says|said|thinks|claims) (?!i\b|we\b)\w+|, (?!i\b|we\b)\w+ (?:says?|said|thinks?|"
    r"claims?)\W*$|"
    r", (?:so )?(?:sagt|meint|findet|behauptet)(?:e|en)? (?!ich\b|wir\b)(?:\w+ )?\w+\W*$|, (?:dit|"
    r"pense)(?:nt)?[ -](?:t-)?\w+\W*$|"
    r", (?:dice|según) (?:\w+ )?\w+\W*$"
)
"""Matches a speaker who is named after the words: `…, says Bob`."""
