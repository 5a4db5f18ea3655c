"""What a person says is off the record is recognized, in four languages, and what they say of a program isn't."""

from __future__ import annotations

import pytest

from mcp_memory.text.conversation.off_record import (
    OffRecord,
    off_record,
    on_record_again,
    open_sentences,
    without_private,
)

WISHES = """\
meine nächste Nachricht bitte nicht speichern
speicher meine nächste Nachricht bitte nicht
no guardes mi próximo mensaje
lo que diga ahora no lo guardes, que Rosa está negociando
is it possible that you don't keep this in your memory?
Don't make a note of that
no notes on this one pls: we never pay on time
You don't need to remember this, in fact please don't. Varga gets root
nur für deine Ohren: Wendt kündigt
for your eyes only: Bob leaves
rien que pour tes oreilles : Luc part
solo para tus oídos: Ana se va
Strictly confidential
Vertraulich: das Gehalt von Eva ist 5000
Bitte nicht speichern
C'est confidentiel, ne garde aucune trace
C'est confidentiel
Que no quede registrado
Don't put this in memory: the rent is 900
Please don't keep a note of this
Do not log this: Bob drinks
that's private btw
Das ist vertraulich
No guardar: la clave es 1
Can I tell you something off the record?
don't remember what I just said
forget that, it was confidential
keep this between us
just between you and me
entre nous
entre nosotros
nicht merken
ne retiens pas ça
no lo guardes
Off the record
don't store this
das ist privat
das bleibt unter uns
Off the record: we fire Bob on Friday.
Please don't save that.
please do not remember this, ok?
Between us, the CTO leaves in May.
My salary is 5k. Don't store that please
I don't want you to remember this
I'd rather you didn't save that.
could you not store this please
This should not be stored anywhere.
don't write this down
Never log that anywhere
keep it to yourself
don't tell anyone
Merk dir das nicht
Speicher das bitte nicht ab
das sollst du dir nicht merken
Schreib das nicht auf
ich möchte nicht, dass du das speicherst
Das bitte nicht speichern: Tom ist krank
Im Vertrauen: Tom ist krank
behalt das für dich
nur unter uns, der Chef geht
unter uns gesagt ist das Projekt tot
ne note pas ça
N'enregistre pas cela s'il te plaît
retiens pas ça stp
ne le note pas
ça reste entre nous
garde ça pour toi
Confidentiel : on licencie Paul
Entre nous, le projet est mort
merci de ne pas enregistrer
no guardes esto por favor
Esto es confidencial
Confidencial: despedimos a Ana
que quede entre nosotros
esto queda entre tú y yo
no anotes nada de esto
Por favor, no lo registres
Entre nosotros, el jefe se va
olvida lo que acabo de decir
Don't store anything from this conversation
nothing of this goes into memory
leave that out of your notes
this is off-the-record
No notes on this please
The rent is 900, that's private.
not for the record, but I hate this job
what I told you about my divorce is private
don't save this to memory
Please don't store my next message
Das war vertraulich, bitte vergiss das
c'est privé
This stays between us.
don't add this to your memory
this must not be recorded
don't log this conversation
off record - we leave in May
Do not persist any of what follows
please forget this message
scratch that from the record
erase what I told you about my illness
make sure this isn't saved
not to be stored: my PIN is 1234
could you please avoid storing this?
sensitive, do not store
this never leaves this chat
nobody else may know this
you didn't hear this from me
that part isn't for your notes
Bitte merk dir nichts davon
Das geht niemanden etwas an
Nicht weitersagen
Streng geheim: Eva geht im Mai
Behandle das vertraulich
Bitte lösch das wieder aus deinem Gedächtnis
Kein Wort davon in die Notizen
à ne pas noter
n'écris ça nulle part
ne le répète à personne
efface ça de ta mémoire
que ça reste entre toi et moi
oublie ce message
no tomes nota de esto
bórralo de tu memoria
que no salga de aquí
keep this one out of the notes please.
pls dont remember this: Bob drinks
scratch that, don't store it
nothing from this chat should be saved
das gehört nicht ins Protokoll: Tom ist krank
esto no va en las notas
ça n'a rien à faire dans tes notes
this doesn't belong in your notes
OTR: Bob leaves
Bitte nicht speichern, wenn das geht
bitte nicht speichern, wenn ein anderer mitliest
Bitte nicht speichern, falls das möglich ist
forget what I said about Grubwort
Erase what I wrote earlier about the Grubwort deal.
vergiss bitte alles, was ich dir zu Grubwort erzählt habe!
Oublie tout ce que je t'ai dit de Grubwort stp
olvida todo lo que te dije de Grubwort, por favor
you shouldn't have stored that
don't keep what I told you about Quentin
mum's the word: Ostrix sells the company
My lips are sealed and so are yours. We drop Brixa in May.
keep it under your hat, we always overcharge Tolvan
this goes no further: Bob leaves
not a soul may know: Bob leaves
don't breathe a word of this: Bob leaves
keep this on the down-low, Bob leaves
this stays within these four walls: Bob leaves
between you, me and the lamp post, Bob leaves
pls dont remember this lol: Bob leaves
off teh record: Bob leaves
Kein Wort davon zu niemandem: Bob geht
das bleibt in diesen vier Wänden: Bob geht
Das darf niemand erfahren: Bob geht
Halt dicht: Bob geht
motus et bouche cousue : Bob part
ça ne sort pas d'ici : Bob part
personne ne doit le savoir : Bob part
de esto ni una palabra: Bob se va
Nochmal was anderes, unter uns und bitte nirgends speichern: Bob geht.
Das merkst du dir bitte nicht, Bob geht.
Bitte das Folgende weder speichern noch weitergeben: Bob geht.
Bob geht (bitte unter uns und nirgends speichern). Wer vertritt ihn?
Kurze Frage, die du dir bitte nicht merkst: wie kündige ich Bob?
Wie sag ich es ihm? Ach, und gespeichert wird davon bitte nichts, Bob ist mein Ex.
Bob geht, also lass das bitte aus deinen Notizen raus und fix den Lint.
Können wir kurz unter uns und ohne Notizen reden?
One more thing, between us and please don't save it anywhere: Bob leaves.
Bob leaves, which is strictly between us and shouldn't be saved, please.
This you please don't remember: Bob leaves.
I'd ask you to neither save nor pass on the following: Bob leaves.
I want to tell you something that you mustn't store: Bob leaves.
Just so you know, and this must not end up in any notes, Bob leaves.
Between us: the server must be replaced, Bob broke it.
Would you mind not saving this? Bob leaves.
Autre chose, entre nous et à ne noter nulle part : Bob part.
Ça, tu ne le retiens pas s'il te plaît, Bob part.
Une chose encore, que tu ne dois pas enregistrer : Bob part.
Que ça ne soit noté nulle part, s'il te plaît : Bob part.
Bob part, alors laisse ça hors de tes notes et corrige le lint.
Pas besoin de le retenir, et s'il te plaît ne le fais pas : Bob part.
Otra cosa, entre nosotros y por favor no lo guardes en ningún sitio: Bob se va.
Esto no lo recuerdes por favor, Bob se va.
Te pido que no memorices lo siguiente ni se lo cuentes a nadie: Bob se va.
Que no se guarde en ningún lado, por favor: Bob se va.
Trata lo siguiente como confidencial y no lo añadas a tu memoria: Bob se va.
Bob se va (en confianza), ¿qué hago?
que quede entre estas cuatro paredes: Bob se va
nadie debe enterarse: Bob se va
"""
OTHERS = """\
the off record flag of a log
don't remember this user's session
don't save this: write to temp instead
make the method private
private repo
the function must not store this value
log off the record player
make this private
that's a private method
it is a private repo
the field is private by default
don't log this user's email in the handler
we don't store this value
Do not store passwords in plain text
don't save the file yet
The server does not log that.
split the work between us and Acme
the contract between us and Acme
private: true
add a private key
don't commit this file
never store secrets in the repo
the session isn't stored
don't forget that we use uv
remember this: we use uv
don't keep this branch
das Repo ist privat
die Funktion darf den Wert nicht speichern
Speichere die Datei nicht unter /tmp
der Cache darf das nicht speichern
mach die Methode privat
ne garde pas ce fichier
n'enregistre pas le fichier avant la fin
rends la méthode privée
la différence entre nous et eux
no guardes el archivo
haz el método privado
el repositorio es privado
save this as a note
always use uv
Scrap that, we use Postgres
forget that, use SQLite
does the record have an off switch
we decided to keep Redis
this is the private API of the module
don't take that approach
don't make that mistake
don't put that function in utils
the data must be kept for ten years
this must be kept secret by the vault service
Why is this not saved?
it isn't saved to disk
why do we not log that
speichere das nicht in der Session
ne stocke pas ça dans la base
no lo guardes en la base de datos
keep it between us-east-1 and eu-west-1
avoid storing this in localStorage
make sure this isn't saved twice
don't save, just validate
no one should know the salt
this should not leave the try block
lösch das aus dem Index
supprime ça de la liste
bórralo de la caché
don't write this in Java
do not add that dependency
Don't repeat that
never commit that
you should not add this
don't index this column
don't archive these
please don't add it
das gehört nicht in den Speicher
OTR messaging is a protocol
the OTR: a protocol
nothing from this function should be saved
das Feld gehört nicht ins Protokoll
nicht speichern, wenn das Formular ungültig ist: das gilt ab jetzt immer für alle Masken
Nicht speichern, solange ein Feld leer ist.
ne pas enregistrer si le formulaire est invalide
no guardar si el formulario no es válido
forget what I said about tabs, we use spaces
don't forget what I said about tabs
did you forget what I said about tabs?
n'oublie pas ce que j'ai dit sur les onglets
no olvides lo que dije sobre tabs
vergiss nicht, was ich über Tabs gesagt habe
he said "off the record" to the reporter
In the game the word is mum's name
you shouldn't have saved the file
The tooltip says 'keep it under your hat'.
The lipsync module is sealed
this goes no further than 100 rows
keep the socket on the down-low priority queue
no word may be split: always wrap whole words
the mute button hushes everything
wrap between these four walls of the map
Das Fenster bleibt in diesem Raum offen
kein Wort im Titel wird übersetzt
niemand darf die Datei ändern
pas un mot de plus de 80 caractères par ligne
ni una palabra más de 30 letras
Never store passwords in the repo, and don't log them either.
Keep it between the lines, please.
Add a dialog with Save, Don't save and Cancel.
Don't store tokens in localStorage, use a cookie.
The form validates, but it does not save anything.
Please don't write the results to disk, just print them.
The methods are public, private, or protected.
He wrote "please don't save this" in the ticket, what does he want?
Passwörter nie im Repo speichern, und auch nicht loggen.
Die Datei wird angezeigt, aber nicht gespeichert.
Die Methode ist privat und soll das nicht loggen.
Er schrieb „bitte nirgends speichern“ ins Ticket, was meint er?
Den Vertrag haben wir unter uns aufgeteilt, Tom macht die Tests.
La méthode est privée et ne doit pas journaliser ça.
Le bouton dit « Ne pas enregistrer », mets-le en rouge.
Répartis le travail entre nous et le client.
El formulario valida pero no guarda nada en la base.
El botón dice "No guardar", ponlo en rojo.
Reparte el trabajo entre nosotros y el cliente.
Vergiss das mit den Tabs, wir nehmen Spaces.
vergiss, was ich über Tabs gesagt habe, wir nehmen Spaces
il ne faut pas oublier ce que j'ai dit sur les onglets
olvida lo que dije sobre tabs, usamos espacios
what does `don't store this` do?
No. P05 since December. Is that not in your memory?
so don't you have that in your memory?
n'est-ce pas dans ta mémoire ?
die nächste Nachricht in der Queue nicht speichern
no guardes el mensaje de error en el log
meine nächste Nachricht an den Kunden ist noch nicht fertig
> off the record
"""


def test_each_wish_is_recognized() -> None:
    assert [text for text in WISHES.splitlines() if not off_record(text)] == []


def test_what_is_said_of_a_program_is_no_wish() -> None:
    assert [text for text in OTHERS.splitlines() if off_record(text)] == []


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("Off the record: we fire Bob on Friday.", OffRecord.THIS),
        ("My salary is 5k. Don't store that please", OffRecord.THIS),
        ("Can I tell you something off the record?", OffRecord.THIS | OffRecord.NEXT),
        ("Können wir kurz unter uns und ohne Notizen reden?", OffRecord.THIS | OffRecord.NEXT),
        ("don't remember what I just said", OffRecord.THIS | OffRecord.BEFORE),
        ("what I say next is not for your memory", OffRecord.THIS | OffRecord.NEXT),
        ("what I say next is off the record", OffRecord.THIS | OffRecord.NEXT),
        ("Was ich dir gleich sage, bleibt unter uns.", OffRecord.THIS | OffRecord.NEXT),
        ("ce que je vais te dire est confidentiel, ça reste entre nous", OffRecord.THIS | OffRecord.NEXT),
        ("lo que te voy a decir es confidencial", OffRecord.THIS | OffRecord.NEXT),
        ("lo que te voy a decir no lo guardes: doña Rosa vende el despacho", OffRecord.THIS),
        ("don't save what I'm about to tell you. Anna leaves the company", OffRecord.THIS),
        ("was ich dir jetzt sage, bitte nicht speichern: Bea kündigt im März", OffRecord.THIS),
        ("ce que je vais te dire, ne l'enregistre pas : Léa démissionne en mars", OffRecord.THIS),
        ("lo que te voy a decir no lo guardes: es un tema delicado de familia", OffRecord.THIS | OffRecord.NEXT),
        ("don't save what I'm about to tell you. first run the tests", OffRecord.THIS | OffRecord.NEXT),
        ("don't store my next message: Anna leaves the company", OffRecord.THIS | OffRecord.NEXT),
        ("forget that, it was confidential", OffRecord.THIS | OffRecord.BEFORE),
        ("scratch that, you shouldn't have kept it. don't store it", OffRecord.THIS | OffRecord.BEFORE),
        (
            "Right. One more thing: forget what I said about Quentin, it was a joke.",
            OffRecord.THIS | OffRecord.BEFORE | OffRecord.ALL,
        ),
        ("forget what I said about it", OffRecord.THIS | OffRecord.BEFORE),
        ("don't keep what I told you about Quentin", OffRecord.THIS | OffRecord.BEFORE | OffRecord.ALL),
        ("das bleibt unter uns, ok?", OffRecord.THIS | OffRecord.BEFORE),
        ("that's private btw. Now fix the failing test in main.py", OffRecord.THIS | OffRecord.BEFORE),
        ("no guardes esto por favor", OffRecord.THIS | OffRecord.BEFORE | OffRecord.NEXT),
        ("Bitte nicht speichern", OffRecord.THIS | OffRecord.BEFORE | OffRecord.NEXT),
        ("Vertraulich: das Gehalt von Eva ist 5000", OffRecord.THIS),
    ],
)
def test_what_a_wish_is_about(message: str, meant: OffRecord) -> None:
    assert off_record(message) == meant


def test_a_session_is_off_the_record_until_the_person_ends_it() -> None:
    assert OffRecord.SESSION in off_record("Don't store anything from this conversation")
    assert OffRecord.SESSION in off_record("From now on this is off the record")
    assert OffRecord.SESSION in off_record("Ab jetzt bitte nichts mehr speichern.")
    assert OffRecord.SESSION in off_record("nothing from this chat should be saved")
    assert OffRecord.SESSION in off_record("Nichts aus diesem Chat soll gespeichert werden")
    assert OffRecord.SESSION in off_record("rien de cette conversation ne doit être enregistré")
    assert OffRecord.SESSION in off_record("nada de este chat debe guardarse")
    assert OffRecord.SESSION not in off_record("unter uns gesagt, wir nutzen ab jetzt immer Postgres")
    assert OffRecord.SESSION not in off_record("between you and me, we deploy on Tuesdays from now on")
    assert on_record_again("ok, back on the record") and not on_record_again("the record is on disk")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>x</private> b", "a  b"),
        ("a <Private>x <private>y</private> z</PRIVATE> b", "a  b"),
        ('a <private reason="pay">\nx\n</private>\nb', "a \nb"),
        ("a <private>x", "a "),
        ("a <privat>x</privat> <privé>x</privé> <Privado>x</Privado> b", "a    b"),
        ("x</private> b", " b"),
        ("what does `<private>` do?", "what does `<private>` do?"),
        ("private <b>x</b>", "private <b>x</b>"),
    ],
)
def test_what_is_between_the_tags_is_left_out(text: str, left: str) -> None:
    assert without_private(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("My hint is <private>a</private>, and <private>b</private>. Fix main.py, please.", " Fix main.py, please."),
        ("Fix it.\n<private>x. y.</private>\nThen push.", "Fix it.\n\nThen push."),
        ("Use v1.2 <private>x", ""),
        ("<private>x</private> is my hint! Go on… now", " Go on… now"),
        ("what does `<private>` do? And... so\n\non", "what does `<private>` do? And... so\n\non"),
    ],
)
def test_no_broken_sentence_is_left(text: str, left: str) -> None:
    assert open_sentences(text) == left
