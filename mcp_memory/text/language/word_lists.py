"""Lists words that name nothing: function words by language, and generic English words.

The languages are those that put spaces between words and are common in notes. The language of a text is the language
with the most function words in the text, so that English `war` and `son` aren't lost to German and French.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

_GRAMMAR = """
a about all also am an and any are as at be been being both but by can could d did didn do does doesn doing don
done each for from had has hasn have haven having he her here hers him his how i if in into is isn it its just ll
m may me might mine must my no nor not of on only or our ours own re s same shall she should shouldn so some such
t than that the their theirs them then there these they this those to too us ve very was wasn we were weren what
when where which who whom whose why will with would wouldn you your yours
"""
STOP_WORDS = frozenset(_GRAMMAR.split())
"""English function words, and the remains of contractions (`didn`, `ll`)."""

_ARTICLES = "a an the my your his her its our their this that these those"
_PREPOSITIONS = """
about above across after against along amid among around as at before behind below beneath beside besides between beyond
by concerning despite down during except for from in inside into near of off on onto outside over past per regarding
round since through throughout till toward towards under underneath unlike until up upon via with within without
"""
_ENGLISH = """
according again ago alone already although anybody anyone anything anywhere apart aside away because cannot either else
elsewhere enough ever every everybody everyone everything everywhere few fewer first five four however instead less
likewise many meanwhile moreover much neither never nine nobody none nothing notwithstanding nowhere one oneself
otherwise please rather second seven several six somebody someone something somewhere still ten therefore third though
three together twice two unless unto versus whatever whenever whereas wherever whether whichever while whoever yet
herself himself itself myself ourselves themselves yourself yourselves once eight half
"""
_OTHERS = {
    "de": """der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine keinen ist sind war
waren wird werden wurde wurden worden sein hat haben hatte kann können konnte muss müssen soll sollen sollte darf wollen
von vom mit zu zum zur auf für aus bei nach über unter vor durch ohne gegen um im in am an ins als wie wenn dass weil
damit dann auch noch nur schon sehr mehr so hier dort da dies diese dieser dieses diesem diesen jede jeder jedes alle
alles man ich du er sie es wir ihr ihre ihren ihrem sich mich dich uns euch mein dein unser was wer wo wann warum welche
welcher welches welchen welchem werde sowie bzw etwa dabei dazu daher bin bist seid habe hast habt hattest wäre wären
würde würden könnte könnten müsste sollte sollten dürfen kannst musst willst will mag mir dir ihm ihn ihnen meine meinen
meinem meiner deine deinen deinem deiner seine seinen seinem seiner unsere unseren unserem unserer wem wen wessen woher
wohin wieso weshalb womit wofür bis seit zwischen denn doch ob oben also""",
    "fr": """le la les un une des du de au aux et ou mais ne pas plus est sont était être été avoir a ont avait peut
peuvent doit dans sur sous avec sans pour par entre vers chez que qui quoi dont où quand comme si ce cet cette ces son
sa ses mon ma mes ton ta tes notre nos votre vos leur leurs je tu il elle on nous vous ils elles se en y aussi très tout
tous toute toutes même fait faire donc alors ainsi lorsque puis ai avons avez suis sommes êtes étaient sera seront
avaient as es qu quel quelle quels quelles pourquoi comment combien où ça cela celui celle ceux celles lui moi toi eux
peux veux veut dois doivent faut était serait jusque jusqu avant après depuis""",
    "es": """el la los las un una unos unas de del al a y e o u pero no es son era ser sido está están hay ha han había
puede pueden debe en con sin sobre bajo desde hasta para por entre que quien cual cuando donde como si este esta esto
estos estas ese esa eso su sus mi mis tu tus nuestro nuestra yo él ella ellos ellas nosotros usted lo se me te le les
más muy también todo todos toda todas ya así porque cada otro otra he has hemos eran soy somos fue fueron estaba
estaban qué quién quiénes cuál cuáles cuándo cuánto cuánta cuántos dónde cómo quienes cuales cuanto aunque eres estoy
estás tengo tiene tienen tienes hace hacer deben puedo puedes mí ti nos les lo esa esos esas aquel ante tras según
durante""",
    "pt": """o a os as um uma uns umas de do da dos das no na nos nas ao aos à às e ou mas não é são foi ser está estão
tem têm pode podem deve em com sem para por pelo pela entre que quem qual quando onde como se este esta isto esse essa
isso seu sua seus suas meu minha nós você eles elas mais muito também todo todos toda todas já então porque cada outro
outra tenho temos eram somos estava estavam tinha foram""",
    "it": """il lo la i gli le un uno una di del dello della dei degli delle a al alla in nel nella nei nelle su sul
sulla da dal dalla e ed o ma non è sono era essere stato avere ha hanno può possono deve con senza per tra fra che chi
cui quale quando dove come se questo questa questi queste quello quella suo sua suoi mio mia nostro io lui lei noi voi
loro si più molto anche tutto tutti già così perché ogni altro altra ho hai abbiamo avete aveva erano siamo sarà stata
stati""",
    "nl": """de het een en of maar niet geen is zijn was waren wordt worden heeft hebben had kan kunnen moet moeten van
voor met zonder op aan bij naar uit over onder door om in dat die dit deze wie wat waar wanneer hoe als ook nog meer
zeer alle ik jij hij zij wij jullie ze je mijn jouw hun er te dan dus omdat""",
    "pl": """i w we z ze na do nie się to jest są że jak ale po od za przez przy dla lub czy tak już tylko oraz który
która które których być był była było może a o u tym tego ten ta te co gdy""",
    "ru": """и в во не на я с со как а то все всё она так его но да ты к у же вы за бы по только ее её мне было вот от
меня еще ещё нет о об из ему теперь когда даже ли если уже или ни быть был была были будет до вас там потом себя они тут
где есть надо для мы их чем сам чтобы без чего тоже под кто что этот эта это эти этого этой этом того той том тем также
можно нужно при между через после перед который которая которое которые свой своя свои ваш ваша ваше ваши наш""",
    "uk": """і й та у в на не з із зі до від про що як це цей ця ці цього цієї він вона воно вони ми ви я є був була
було були буде може можна треба також або але якщо коли де який яка яке які за над під між через після перед для без при
ваш ваша ваше ваші свій своя вже чи щоб""",
    "tr": """ve veya ya ile bir bu şu o için gibi kadar daha çok en de da ki mi mı mu mü ne nasıl neden değil var yok
olan olarak olur olduğu ise ama fakat ancak hem her bazı tüm ben sen biz siz onlar bunu onu şey sonra önce""",
    "hi": """है हैं था थी थे हो होता होती होते हुआ हुई गया गई गए रहा रही रहे का की के को से में पर ने और या लेकिन कि जो
तो भी ही यह ये वह वे इस इसे इसके इसका इसकी उस उसे उन इन एक कोई कुछ सब सभी हम आप मैं तुम अपने अपनी अपना नहीं न अगर जब तब
तक लिए साथ बाद पहले कर करता करते करें करने किया कैसे क्या क्यों जैसे यहाँ वहाँ दो फिर बस सकते सकता""",
    "ar": """في من على إلى عن مع هذا هذه ذلك تلك التي الذي الذين أن إن كان كانت لا ما لم لن هو هي هم نحن أنا أنت كل بعض
أو ثم قد بعد قبل عند حتى إذا كما بين و""",
}

_AMBIGUOUS = """
also am as chat come die do fait fin fur man mi on pas per plus pour se sera si son war was
"""
"""Words of other languages that may be English, and show no language by themselves."""

ARTICLES = frozenset(_ARTICLES.split())
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
"""English prepositions. The word after a preposition or an article is mostly a noun."""

ENGLISH = STOP_WORDS | ARTICLES | PREPOSITIONS | frozenset(_ENGLISH.split())
_LANGUAGES = {"en": ENGLISH} | {code: frozenset(words.split()) for code, words in _OTHERS.items()}

_BY_WORD = defaultdict[str, list[str]](list)
for _code, _known in _LANGUAGES.items():
    for _word in _known:
        _BY_WORD[_word].append(_code)
_ALSO_ENGLISH = frozenset(_AMBIGUOUS.split())


def function_words(words: Iterable[str]) -> frozenset[str]:
    """Return the function words of the language of these words."""
    return _LANGUAGES[language_of(words)]


def stop_words(words: Sequence[str]) -> frozenset[str]:
    """Return the words of a text that name nothing: English ones, and those of its language."""
    code = language_of(word for word in words if len(word) > 1 and word not in _ALSO_ENGLISH)
    return STOP_WORDS if code == "en" else STOP_WORDS | _LANGUAGES[code]


def language_of(words: Iterable[str]) -> str:
    """Return the code of the most likely language of these words; `en` without any sign of a language."""
    found = [code for word in words for code in _BY_WORD.get(word, ())]
    return max(_LANGUAGES, key=found.count)
