"""Separates a person's own words in a message from pasted text and from text that a program added.

A message may also contain logs, mails and pages, code, quotations, chats, additions of a client, and notes recalled
from memory. If in doubt, a part is treated as pasted, since typed words are stored as the person's own.
"""

import re

from mcp_memory.text.conversation.typed_words import typed_words

MASK = "▪"
"""Replaces each character of a quotation or code within a sentence."""


def own_words(message: str) -> str:
    """Return the message at the same length, with spaces for everything except the person's own words. Lines end with
    LF."""
    if not typed_words(message).strip():
        return covered(message, " ")
    mail = _MAIL.search(message)
    text = message if mail is None else message[: mail.start()] + covered(message[mail.start() :], " ")
    for pattern in _FOREIGN:
        text = pattern.sub(lambda foreign: covered(foreign[0], " "), text)
    return _without_handed_over(text)


def pasted_words(message: str) -> str:
    """Return the words that aren't the person's own, with spaces for the others."""
    message = message.replace("\r\n", "\n").replace("\r", "\n")
    own = own_words(message)
    start = pasted_from(message, own)
    return "".join(c if at >= start or own[at].isspace() else " " for at, c in enumerate(message))


def masked(text: str) -> str:
    """Return the text in lower case at the same length, with quotations and code masked."""
    return lowered(_QUOTED.sub(lambda quoted: covered(quoted[0], MASK), text))


def lowered(text: str) -> str:
    """Return the text in lower case at the same length, with typographic apostrophes."""
    lower = "".join(small if len(small := c.lower()) == 1 else c for c in text)
    return lower.replace("'", "’").replace("‘", "’").replace("\u00a0", " ").replace("\u202f", " ")


def covered(text: str, cover: str) -> str:
    """Replace every character except line ends with `cover`."""
    return re.sub(r"[^\n]", cover, text)


def pasted_from(message: str, typed: str) -> int:
    """Return the place where pasted text may begin. Openings in text that `typed` masks as foreign are skipped, since
    the person continues after such text."""
    return min(_first(_HEADING, message, typed), handed_from(message, typed))


def handed_from(message: str, typed: str) -> int:
    """Return the place from which a message has text after a question, or text that it says comes from elsewhere."""
    return _first(_HANDING, message, typed)


def _first(openings: re.Pattern[str], message: str, typed: str) -> int:
    for opening in openings.finditer(message):
        if not typed[opening.start()].isspace() and not typed[opening.end()].isspace():
            return opening.end()
    return len(message)


def _without_handed_over(text: str) -> str:
    """Mask the text that a line above or below asks to explain, correct, translate or sum up: `explain this`."""
    view = lowered(text)
    for wish in _HANDS_OVER.finditer(view):
        above, below = text[: wish.start()], text[wish.end() :]
        if wish["colon"] and below.strip():
            return text[: wish.end()] + covered(below, " ")
        if not below.strip():
            return covered(above, " ") + text[wish.start() :]
        if not above.strip() and not wish["opinion"]:  # the text after a question may be a person's own
            return text[: wish.end()] + covered(below, " ")
    return text


_HEADING = re.compile(
    r"[^\s.!…][*_\"'”’)]{0,4}[ \t]{0,20}\n[ \t]{0,20}\n\s*(?=\S)|:[*_\"'”’)]{0,4}[ \t]{0,20}\n\s*(?=\S)"
)
"""Matches a line that ends with a colon, and a paragraph that doesn't end like a sentence, such as a heading or `I
fetched it and got`. People also type like that, so the rest waits for review, unless a language model reads it."""
_HANDING = re.compile(
    r"\?[*_\"'”’)]{0,4}[ \t]{0,20}\n\s*(?=\S)|"
    r"(?i:\b(?:i paste|pasted|sent (?:me|us|this|it|out|round|over)|forwarded|dropped (?:this|it)|wrote back|"
    r"wrote (?:to )?(?:me|us)|"
    r"(?:this|the|an?) (?:\w+ )?(?:mail|e-?mail|letter|memo|log)|geschickt|geschrieben|"
    r"(?:die|der|diese|eine) \w*mail|envoyé|reçu|(?:ce|le|un) (?:courriel|mail)|mandó|mandaron|envió|enviaron|"
    r"llegó|(?:el|este|un) correo)\b)[^\n]{0,80}\n\s*(?=\S)|"
    r"(?i:\b(?:got (?:this|that|it) (?:in the|from)|here(?:[’']s|s| is) what|(?:look|found)[^\n]{0,20} what|"
    r"from (?:the|our|their|his|her) [^\n]{0,30}\b(?:mail|letter|brochure|docs|ticket|contract))\b)"
    r"[^\n]{0,80}(?<![.!])[ \t]{0,20}\n\s*(?=\S)"
)
"""Matches a line that ends with a question mark or is about something from elsewhere."""

_TIME = (
    r"\[?(?:[0-9]{1,4}[./-][0-9]{1,2}(?:[./-][0-9]{2,4})?,? )?"
    r"[0-9]{1,2}[:.][0-9]{2}(?::[0-9]{2})?(?: ?[APap]\.?[Mm]\.?)?\]?"
)
_NAME = r"[^\W\d_a-z][\w.’-]{0,30}(?: [\w.’-]{1,30}){0,2}"
_ANY_NAME = r"@?[^\W\d_][\w.’-]{0,30}(?: [\w.’-]{1,30}){0,2}"
_TIMED = rf"(?:{_TIME}[ \t]?(?:[-–] )?{_ANY_NAME} ?:|{_ANY_NAME}[ ,(]{{1,3}}{_TIME}\)? ?:)"

_FOREIGN = (
    re.compile(r"^(?: {4}|\t)[^\n]*", re.MULTILINE),  # code; first, because masked text looks like it
    re.compile(r"^[ \t]*(`{3,32}|~{3,32})[^\n]*\n.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE),
    re.compile(r"<!--.*?(?:-->|\Z)|/\*.*?(?:\*/|\Z)|%%\n.*?(?:%%|\Z)", re.DOTALL),  # comments
    re.compile(r"\A.*-->[ \t]*$", re.DOTALL | re.MULTILINE),
    re.compile(r"<<<([0-9a-zA-Z_]{3,64})\b[^\n]*\n.*?(?:\1>>>|\Z)", re.DOTALL),  # notes, as recall quotes them
    re.compile(r"\A.*(?<!\w)[0-9a-zA-Z_]{3,64}>>>", re.DOTALL),  # only the end of a recalled note
    re.compile(r"<\|[\w/ ]{1,40}\|>.*|\[/?(?:INST|SYS|SYSTEM)\b[^\]\n]{0,80}\].*", re.DOTALL),  # a model's own marks
    re.compile(r"<([A-Za-z][\w.:-]*)(?:\s[^<>\n]*)?>.*?(?:</\1\s*>|\Z)", re.DOTALL),
    re.compile(r"\A.*(?<!`)</[A-Za-z][\w.:-]*\s{0,9}>(?!`)", re.DOTALL),  # the closing tag of nested tags
    re.compile(
        r"^(?![ \t]*>)[^\n]{1,60}[ \t]\[?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[APap]\.?[Mm]\.?)?\]?[ \t]*\n.*",
        re.DOTALL | re.MULTILINE,
    ),  # a chat, unless it is marked as a quotation, which has an end
    re.compile(
        rf"^(?:{_TIME}[ \t]?(?:[-–] )?(?:{_NAME}:|<[^\n<>]{{1,40}}>)|{_NAME}[ ,(]{{1,3}}{_TIME}\)?:|"
        rf"<[^\W\d_][\w.-]{{0,30}}>) .*",
        re.DOTALL | re.MULTILINE,
    ),  # a chat in which each line begins with the time or the speaker
    re.compile(
        rf"^(?:(?=\[){_TIMED}|{_TIMED} [^\n]*\n{_TIMED}) .*", re.DOTALL | re.MULTILINE
    ),  # a chat with names in small letters
    re.compile(r"^commit [0-9a-f]{6,40}\b.*", re.DOTALL | re.MULTILINE),
    re.compile(r"^[ \t]*([=~+-])\1{2,40} [^\n]{1,80} \1{3,40}[ \t]*$.*", re.DOTALL | re.MULTILINE),  # a banner
    re.compile(r"\{\{#[ \t]{0,9}([\w-]{1,40})[^{}\n]{0,80}\}\}.*?(?:\{\{/[ \t]{0,9}\1\b|\Z)", re.DOTALL),
    re.compile(r"^[ \t]*>[^\n]*(?:\n(?!\s*\n)[^\n]+)*", re.MULTILINE),  # with its lazy continuation
    re.compile(r"^#{1,6} [^\n]*(?:\n(?!#{1,6} )[^\n]*\S[^\n]*)*", re.MULTILINE),
    re.compile(
        r"^(?:[^\W\d_][\w.-]*(?: [\w.-]+)?: [^\n]+\n){2,}(?:[^\W\d_][\w.-]*: [^\n]*)?", re.MULTILINE
    ),  # a conversation
    re.compile(r"^(?:system|assistant|user|human|developer|tool)[ \t]*:.*", re.IGNORECASE | re.DOTALL | re.MULTILINE),
    re.compile(r"^Traceback \(most recent call last\):[^\n]*(?:\n[^\n]+)*", re.MULTILINE),
    re.compile(r"^[^\n]*\|[^\n]*\|[^\n]*$", re.MULTILINE),
    re.compile(r"^[^\n]*\{\s{0,9}\"[^\"\n]*\"\s{0,9}:[^\n]*$", re.MULTILINE),  # JSON
    re.compile(
        r"^[ \t]*(?:[$%] |>>> |@@ |diff --git |\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:|\[?[0-9]{2}:[0-9]{2}:[0-9]{2}"
        r"|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|TRACE|DETAIL|HINT|NOTICE|CONTEXT)\b"
        r"|at:? [\w.$]+ ?\(|File \")[^\n]*",
        re.MULTILINE,
    ),
    re.compile(
        r"\A.*^(?:(?:kind|best|warm) regards|sincerely|mit (?:freundlichen|besten|lieben) grüßen|"
        r"(?:viele|liebe|beste) grüße|cordialement|bien à vous|saludos(?: cordiales)?|atentamente)\b[^\n]{0,40}$",
        re.IGNORECASE | re.DOTALL | re.MULTILINE,
    ),  # a letter, up to its end
)
_MAIL = re.compile(
    r"^(?:From|Subject|Von|Betreff|De|Objet|Asunto|Sent|Gesendet): |"
    r"^(?:On|Am|Le|El) [^\n]{4,120}\b(?:wrote|schrieb|a écrit|escribió)\b[^\n]{0,80}:[ \t]*$|"
    r"^-{3,} ?(?:Original|Forwarded|Ursprüngliche|Weitergeleitete|Message|Mensaje)\b|^Begin forwarded message",
    re.MULTILINE,
)
_QUOTED = re.compile(
    r"`[^`\n]+`|\"[^\"]{1,2000}\"|“[^”]{1,2000}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|(?<!\w)'[^'\n]{2,400}'(?!\w)"
)
_POLITE = (
    r"(?:(?:hey|hi|ok|please|pls|bitte|kurz|now|and|so|can you|could you|would you|kannst du|könntest du|peux-tu|"
    r"pouvez-vous|puedes|podrías|me|mir|s’il te plaît|por favor),? ){0,4}"
)
_KIND_OF_TEXT = (
    r"(?:text|prompt|message|mail|e-?mail|letter|memo|draft|paragraph|sentence|passage|snippet|post|tweet|announcement|"
    r"reply|comment|wording|article|policy|rule|guideline|instruction|ticket|description|page|log|thread|nachricht|"
    r"brief|"
    r"entwurf|absatz|satz|abschnitt|beitrag|ankündigung|antwort|kommentar|formulierung|artikel|richtlinie|regel|"
    r"anleitung|"
    r"texte|courriel|lettre|brouillon|paragraphe|phrase|annonce|réponse|commentaire|consigne|texto|mensaje|correo|"
    r"carta|"
    r"borrador|párrafo|frase|anuncio|respuesta|comentario|artículo|regla|instrucci[oó]n)(?:e?s|e?n)?"
)
_THE_TEXT = (
    r"(?:(?:this|that|these|those|the following|dies\w*|(?:den|die|das) folgenden?|folgenden?|cet?(?:te)?|es[et]e|"
    r"est[ae])"
    rf"(?: [\w-]{{2,20}})? {_KIND_OF_TEXT}(?!\w)|"
    r"(?:the|my|our|den|die|mein\w*|unser\w*|le|mon|notre|el|mi|nuestro) "
    r"(?:text|mail|e-?mail|message|page|log|thread|draft|prompt|nachricht|entwurf|texte|brouillon|texto|"
    r"borrador)(?!\w)|"
    r"(?:this|that|it|these|those|the (?:following|above|below)|what this says|das|dies\w*|ça|cela|ceci|esto|"
    r"eso)(?!\w))"
)
_DO_WITH_IT = (
    r"(?:explain|summari[sz]e|translate|proofread|rewrite|rephrase|reword|paraphrase|shorten|polish|simplify|review|"
    r"correct|edit|improve|decode|tidy up|clean up|condense|interpret|analy[sz]e|comment on|reply to|respond to|"
    r"tighten|"
    r"enhance|refine|critique|format|erkläre?|übersetze?|korrigiere?|verbessere?|kürze?|formuliere?|überarbeite?|"
    r"optimiere?|prüfe?|fasse?|explique[zs]?|traduis|traduire|corrige[zs]?|résume[zs]?|reformule[zs]?|améliore[zs]?|"
    r"relis|relire|simplifie[zs]?|explica(?:me)?|traduce|traducir|resume|mejora|corrige|reescribe|revisa|simplifica)"
    r"(?: (?:me|mir|uns|moi|nous))?"
)
_MORE = (
    r"(?!(?:immer|hier|nie|weiter|wieder|unter|über|aber|oder|später|sicher|lieber|never|ever|over|under|after|other|either|"
    r"together|later|however|per|user|server|number|parameter|filter|header|footer|folder|layer|container|helper|wrapper|"
    r"order|router|docker|parser|controller|handler)\b)\w{2,20}er\b"
)
"""Matches a comparative, such as `shorter`."""
_DO_IT_GERMAN = (
    rf"{_THE_TEXT}(?: (?:bitte|mal|kurz|etwas)){{0,2}} (?:erklären|übersetzen|korrigieren|zusammenfassen|"
    r"kürzen|verbessern|umformulieren|überarbeiten|"
    rf"{_MORE} (?:machen|formulieren|ausdrücken))"
)
_MAKE_IT = (
    rf"(?:(?:turn|convert|put|rewrite) {_THE_TEXT} into (?:an? |the )?(?:[\w-]+ )?(?:e-?mail|letter|message|post|tweet|"
    r"announcement|note|memo|list|table|bullets?|bullet points|prose|poem|english|german|french|spanish)\b|"
    rf"make {_THE_TEXT} (?:(?:sound|read|look|be|a bit|a little|a lot|much) ){{0,2}}(?:{_MORE}|more \w+|less \w+)|"
    rf"mach(?:e|t|en sie)? {_THE_TEXT}(?: (?:bitte|mal|etwas|ein bisschen|viel)){{0,2}} {_MORE}|"
    rf"(?:rends|rendez|fais|faites) {_THE_TEXT} (?:un peu )?(?:plus|moins) \w+|"
    rf"(?:haz|haga) {_THE_TEXT} (?:un poco )?(?:más|menos) \w+|(?:haz|házme)l[oa] (?:un poco )?(?:más|menos) \w+)"
)
_GRAMMAR = (
    r"(?:fix|check|correct|korrigiere?|prüfe?|corrige[zs]?|vérifie[zs]?|revisa) (?:the |my |die |la |les |el |los )?"
    r"(?:grammar|spelling|typos?|wording|english|rechtschreibung|grammatik|tippfehler|orthographe|grammaire|fautes|"
    r"ortografía|gramática|redacción)(?: (?:of|in|von|im|de|du|del) (?:this|the|that|diesem|dem|ce|este|el) \w{1,20})?"
)
_SUM_UP = (
    r"(?:tl;?dr|eli5|zusammenfassung|résumé|resumen|what does (?:this|that|it) (?:mean|say)|was (?:heißt|bedeutet) das|"
    r"que veut dire ça|qué significa(?: (?:esto|eso))?)"
)
_OPINION = (
    r"(?:(?:any )?thoughts|what do you (?:think|make) of (?:this|that|it)|is (?:this|that) (?:right|true|correct)|"
    r"what(?:’s| is) (?:this|that) about|(?:is|does) (?:this|that|it) (?:sound )?(?:good|correct|proper|ok|okay)"
    r"(?: (?:english|german|french|spanish|grammar|style))?|\^+ ?what does (?:this|that|it) mean|"
    r"klingt das (?:gut|so gut|richtig)|"
    r"was hältst du davon|stimmt das|qu’en penses-tu|c’est vrai|qué opinas)"
)
_MANNER = (
    r"(?: (?:please|pls|bitte|a bit|up|more clearly|s’il te plaît|por favor|zusammen|mal|kurz|"
    r"(?:for|für|to|in|into|auf|ins|en|al|like) [^\n.:]{1,30})){0,2}"
)
_HANDS_OVER = re.compile(
    rf"(?:^[ \t]{{0,20}}|(?<=[.!?…,:] )){_POLITE}"
    rf"(?:(?:{_DO_WITH_IT} {_THE_TEXT}|{_GRAMMAR}|{_SUM_UP}|"
    rf"{_DO_IT_GERMAN}){_MANNER}[ \t]{{0,9}}[.!?…]{{0,3}}[ \t]{{0,9}}$|"
    rf"(?P<colon>(?:{_DO_WITH_IT} {_THE_TEXT}|{_GRAMMAR}|{_SUM_UP}|{_DO_IT_GERMAN}|{_MAKE_IT})[^\n.:!?]{{0,60}}:))"
    rf"|^[ \t]{{0,20}}(?P<opinion>{_OPINION}|{_POLITE}{_MAKE_IT}(?: please| pls|"
    rf" bitte)?)[ \t]?[.!?…]{{0,3}}[ \t]{{0,9}}$",
    re.MULTILINE,
)
"""Matches a line that asks for work on a text, which the person therefore didn't write."""
