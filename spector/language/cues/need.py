"""Whether a cue needs memory, a value or what holds now; small talk, and long cues."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

from spector.language.statements import ASKS_TR, ASSISTANTS, NOW, NOW_TR
from spector.language.words import Token, compose, is_turkish, plain, tokens
from spector.process import keeps

# Phrases that need no memory: greetings, thanks, confirmations, acknowledgements.
#
# Complete for English and Turkish, only the most common ones of other languages. Lines are phrases
# separated by commas, folded by `plain` when they are read. A phrase belongs here if a cue of only
# this phrase is never a question about memories: "how are you", but not "tell me more".

PHRASES: Final[dict[str, str]] = {
    "greeting": """
        hi, hii, hello, hey, heya, hiya, yo, howdy, greetings, good morning, morning,
        good afternoon, good evening, good day, gm, welcome back, nice to meet you,
        nice to see you, good to see you, great to see you, long time no see, how are you,
        how are you doing, how are you today, how are you doing today, how is it going,
        how's it going, how are things, how have you been, how do you do, what's up, whats up,
        wassup, sup, are you there, you there, anyone there, hello there, ping, test, testing,
        hope you are well, hope you're well, merhaba, merhabalar, mrb, selam, selamlar, slm,
        selamün aleyküm, aleyküm selam, günaydın, tünaydın, iyi günler, iyi akşamlar,
        iyi sabahlar, hoş geldin, hoş geldiniz, hoşgeldin, hoş bulduk, nasılsın, nasılsınız,
        naber, ne haber, n'aber, nasıl gidiyor, ne var ne yok, iyi misin, iyi misiniz,
        orada mısın, kolay gelsin, tanıştığımıza memnun oldum, hallo, guten morgen, guten tag,
        guten abend, moin, servus, grüß gott, wie geht's, wie geht es, bonjour, bonsoir, salut,
        coucou, ça va, comment ça va, hola, buenos días, buenas tardes, buenas noches, qué tal,
        cómo estás, ciao, buongiorno, buonasera, salve, come stai, come va, olá, oi, bom dia,
        boa tarde, boa noite, tudo bem, hej, hei, god morgen, god morgon, hoi, goedemorgen,
        goedemiddag, goedenavond, cześć, dzień dobry, привет, здравствуйте, здравствуй,
        доброе утро, добрый день, добрый вечер, как дела, привіт, добрий день, γεια, γεια σου,
        καλημέρα, שלום, مرحبا, السلام عليكم, أهلا, 你好, 您好, 早上好, 晚上好, 嗨, こんにちは,
        こんばんは, おはよう, おはようございます, 안녕, 안녕하세요, xin chào, halo, selamat pagi
        """,
    "farewell": """
        bye, bye bye, goodbye, good bye, see you, see ya, see you later, see you soon,
        see you tomorrow, see you then, talk to you later, talk to you soon, talk soon, ttyl,
        later, take care, good night, goodnight, night night, gn, sleep well, sweet dreams,
        farewell, cya, have a nice day, have a good day, have a great day, have a good one,
        have a nice weekend, have a good weekend, have a great weekend, have fun, until next time,
        catch you later, that's all, that is all, that's it, that will be all, i'm done, gotta go,
        got to go, i have to go, hoşça kal, hoşça kalın, hoşçakal, hoşçakalın, görüşürüz,
        görüşmek üzere, güle güle, bay bay, bb, baybay, iyi geceler, kendine iyi bak,
        allaha emanet ol, allahaısmarladık, sonra görüşürüz, yarın görüşürüz, iyi hafta sonları,
        iyi tatiller, iyi uykular, bu kadar, hepsi bu, hepsi bu kadar, tschüss, tschüs,
        auf wiedersehen, bis bald, bis später, gute nacht, au revoir, à bientôt, bonne nuit,
        bonne journée, adiós, hasta luego, hasta mañana, chao, arrivederci, buonanotte, a presto,
        tchau, até logo, пока, до свидания, спокойной ночи, 再见, 晚安, さようなら, おやすみ,
        안녕히 계세요, مع السلامة
        """,
    "thanks": """
        thanks, thank you, thankyou, thx, tnx, ty, tysm, tyvm, many thanks, thanks a lot,
        thanks a bunch, thanks a million, thanks so much, thank you so much, thank you very much,
        thanks for your help, thank you for your help, thanks for the help, thanks for that,
        thanks for everything, thanks for sharing, thanks for the info, thanks for asking,
        thank you for asking, thanks for the tip, thanks for the advice, cheers, much appreciated,
        appreciated, appreciate it, i appreciate it, i appreciate that, i really appreciate it,
        much obliged, grateful, you're welcome, you are welcome, youre welcome, yw, my pleasure,
        don't mention it, no problem, no problem at all, np, no worries, anytime, any time,
        glad to help, happy to help, you're the best, you are the best, you rock, teşekkürler,
        teşekkür ederim, teşekkür ederiz, teşekkür, çok teşekkürler, çok teşekkür ederim, tşk,
        tşkler, tşkrlr, tesekkurler, sağ ol, sağol, sağ olun, sağolun, çok sağ ol, çok sağol,
        eyvallah, minnettarım, eline sağlık, ellerine sağlık, yardımın için teşekkürler,
        yardımınız için teşekkürler, rica ederim, bir şey değil, ne demek, önemli değil,
        sorun değil, sorun yok, estağfurullah, danke, danke schön, danke sehr, vielen dank,
        bitte schön, gern geschehen, merci, merci beaucoup, de rien, gracias, muchas gracias,
        de nada, grazie, grazie mille, prego, obrigado, obrigada, muito obrigado, muito obrigada,
        tack, takk, bedankt, dank je, dziękuję, спасибо, большое спасибо, пожалуйста, дякую,
        ευχαριστώ, תודה, شكرا, شكرا جزيلا, 谢谢, 多谢, 不客气, ありがとう, ありがとうございます,
        감사합니다, 고마워, 고마워요, terima kasih, cảm ơn
        """,
    "confirmation": """
        yes, yeah, yea, yep, yup, yah, ya, ye, aye, yes please, please do, sure, sure thing,
        of course, certainly, absolutely, definitely, totally, exactly, precisely, correct, right,
        that's right, that is right, that's correct, that is correct, you're right, you are right,
        true, that's true, indeed, agreed, i agree, deal, ok, okay, okey, okie, oki, k, kk,
        okay then, alright, all right, fine, that's fine, that is fine, fine by me, fine with me,
        good, all good, sounds good, sounds great, sounds fine, sounds good to me,
        sounds like a plan, looks good, looks great, looks good to me, lgtm, works for me,
        that works, that works for me, go ahead, go for it, do it, do that, please go ahead,
        proceed, please proceed, continue, please continue, go on, carry on, keep going, let's go,
        let's do it, let's do that, confirmed, confirm, approved, done, ready, i'm ready, no,
        nope, nah, no thanks, no thank you, not now, not yet, not really, not sure, i'm not sure,
        i don't know, dunno, idk, never mind, nevermind, nvm, maybe, perhaps, probably, possibly,
        maybe later, i think so, i guess, i guess so, i hope so, hopefully, i don't think so,
        stop, cancel, enough, wait, one moment, one second, one sec, just a moment, hold on, brb,
        evet, hayır, yok, yo, tamam, tamamdır, tmm, tmam, olur, olmaz, peki, pekala, elbette,
        tabii, tabi, tabii ki, tabi ki, kesinlikle, mutlaka, doğru, çok doğru, haklısın,
        haklısınız, aynen, aynen öyle, kabul, kabul ediyorum, katılıyorum, anlaştık, onaylıyorum,
        onaylandı, uygun, bana uyar, uyar, devam, devam et, devam edin, devam edelim, yap,
        yapalım, hadi, haydi, hadi bakalım, hazırım, oldu, oldu o zaman, belki, sanırım, galiba,
        herhalde, olabilir, bilmiyorum, bilmem, emin değilim, sanmıyorum, boş ver, boşver,
        vazgeçtim, iptal, dur, bekle, bir dakika, bir saniye, istemiyorum, gerek yok,
        hayır teşekkürler, şimdi değil, henüz değil, ja, nein, genau, gut, alles klar, in ordnung,
        passt, jawohl, natürlich, oui, non, d'accord, bien sûr, très bien, parfait, sí, vale,
        claro, de acuerdo, perfecto, certo, va bene, sim, não, claro que sim, está bem, да, нет,
        хорошо, ладно, конечно, так, ні, ναι, όχι, כן, לא, نعم, لا, حسنا, تمام, 好, 好的, 是,
        是的, 对, 不, 行, 可以, はい, いいえ, うん, わかりました, 네, 예, 아니요, 좋아요,
        알겠습니다, tak, nie, dobrze, da, nu
        """,
    "acknowledgement": """
        i see, i understand, understood, got it, gotcha, roger, roger that, copy that, noted,
        makes sense, that makes sense, fair enough, good to know, good point, good idea,
        great idea, interesting, that's interesting, very interesting, cool, very cool, so cool,
        that's cool, nice, very nice, so nice, that's nice, great, that's great, that is great,
        that's good, very good, well done, good job, great job, nice work, great work, awesome,
        that's awesome, amazing, that's amazing, excellent, perfect, that's perfect, wonderful,
        that's wonderful, fantastic, brilliant, lovely, super, superb, splendid, beautiful, wow,
        woah, whoa, yay, woohoo, hooray, hurray, congrats, congratulations, oh, ooh, ah, aha, aah,
        oh no, oh wow, oh well, oh my, omg, my god, oh my god, hm, hmm, mm, mhm, m, uh, um,
        uh huh, huh, eh, well, lol, lmao, rofl, xd, really, oh really, is that so, seriously,
        no way, same, same here, me too, me neither, sorry, i'm sorry, my bad, oops, whoops, sad,
        so sad, too bad, that's sad, sorry to hear that, i'm sorry to hear that, love it,
        i love it, i like it, i like that, wicked, sweet, neat, dope, anladım, anlaşıldı,
        anladım teşekkürler, öyle mi, gerçekten mi, cidden mi, hadi ya, yapma ya, ilginç, güzel,
        çok güzel, ne güzel, harika, süper, mükemmel, muhteşem, şahane, müthiş, iyi, çok iyi,
        iyiyim, bravo, aferin, tebrikler, tebrik ederim, helal, vay, vay be, vay canına, aa, aaa,
        ay, ya, yaa, ha, haa, hı, hıı, hı hı, oh be, eh işte, of, off, üzgünüm, özür dilerim,
        pardon, kusura bakma, kusura bakmayın, inşallah, maşallah, hayırlısı, ben de, bende,
        iyi fikir, mantıklı, çok mantıklı, not ettim, hallettim, yaşasın, tüh, eyvah, toll, super,
        schön, verstanden, ach so, compris, je vois, génial, entiendo, genial, capito, capisco,
        bello, entendi, legal, понятно, ясно, отлично, 明白, 明白了, 知道了, 哦, 嗯, なるほど,
        그렇군요
        """,
}

#: words that may accompany a phrase without adding content
FILLERS: Final = """
    a, an, the, and, so, very, really, much, a lot, lot, again, then, now, too, also, just,
    please, there, all, everyone, everybody, guys, folks, team, friend, my friend, buddy,
    mate, dude, man, bro, sir, madam, dear, boss, bot, assistant, for that, for this, this,
    that, it, indeed, actually, you, to, me, but, well, oh, ah, and you, çok, ve, de, da, o,
    bu, şimdi, yine, tekrar, gerçekten, lütfen, dostum, arkadaşım, kanka, abi, abla, hocam,
    hoca, canım, kardeşim, efendim, herkese, arkadaşlar, size, sana, ya, ama, ki, sehr, bitte,
    beaucoup, muy, molto, muito, очень
    """

#: words of questions, which are not names, however they are written
ASKING: Final = frozenset(
    """what when where who whom whose which why how is are was were do does did can could would will
    should have has had any tell show find list remember recall ne kim nerede nereye hangi nasil
    neden nicin niye kac mi mu bul goster anlat hatirla""".split()
)


# Shortens a cue that takes too long to embed during a recall.

_SENTENCE_END: Final = re.compile(r"[.!?\u3002\uff01\uff1f\u061f]+(?=\s|$)|[\u3002\uff01\uff1f]|\n")
#: the first sentence gets at most one part in this many; a longer one is cut after a word
_SHARE: Final = 4
_GAP: Final = " \u2026 "
#: below this many bytes only one piece is kept
_LEAST: Final = 64
#: most characters of a partial word that is dropped at the start of the end
_WORD: Final = 64


def shorten_cue(cue: str, most_bytes: int) -> str:
    """The first sentence and the end of a cue, in at most ``most_bytes`` of UTF-8.

    The question is usually before or after a pasted text. Linear time.
    """
    cue = cue.strip()
    room = max(1, most_bytes)
    if len(cue.encode()) <= room:
        return cue
    if room < _LEAST:
        return _end(cue, room) or _start(cue, room)
    first = _start(cue, room // _SHARE)
    sentence = _SENTENCE_END.search(first)
    if sentence is not None:
        first = first[: sentence.end()].strip()
    elif " " in first:
        first = first.rsplit(None, 1)[0]
    return first + _GAP + _end(cue, room - len((first + _GAP).encode()))


def _start(text: str, room: int) -> str:
    return text[:room].encode()[:room].decode(errors="ignore")


def _end(text: str, room: int) -> str:
    """As much of the end as fits, starting at a word if possible."""
    end = text[-room:].encode()[-room:].decode(errors="ignore")
    if len(end) < len(text) and not text[-len(end) - 1].isspace():
        cut = re.search(r"\s", end[:_WORD])
        end = end[cut.end() :] if cut else end
    return end.lstrip()


# Tells whether a cue asks how things are now, or when something was.

_LONGEST_CUE: Final = 2_000
_PHRASE_WORDS: Final = 6

_BEFORE: Final = re.compile(
    r"\b(?:did|was|were|had|been|used to|before|previous|previously|former|formerly|origin\w{2,6}"
    r"|earlier|earliest|once|ago|yesterday|last|old|older|oldest|past|back then|history|ever"
    r"|initial\w{0,2}|first|(?:19|20)\d\d)\b|\b(?:have|has) (?:i|we|you|he|she|they|it)\b"
)
_PRESENT: Final = re.compile(r"(?:\b|')(?:is|am|are|do|does|s|re|may|can|must)\b|n't\b")
_ASKS: Final = re.compile(
    r"(?:what|who|whom|whose|where|which|when|how|why|is|are|am|do|does|may|can|must)\b"
)
_PHRASE: Final = re.compile(r"(?:my|our)\b")

_BEFORE_TR: Final = re.compile(
    r"\b(?:eskiden|eski|once|onceden|onceki|ilk|gecen|dun|vaktiyle|eskisi|(?:19|20)\d\d)\b"
)
#: the verb of a Turkish sentence is its last word, but for the particle of a question
_PAST_TR: Final = re.compile(
    r"(?:[dt][iu]|m[iu]s(?:t[iu])?)(?:m|n|k|niz|nuz|ler|lar)?(?: m[iu]\w{0,4})?[ ?!.]*$"
)
#: a question for the time of something that was
_WHEN: Final = re.compile(
    r"\b(?:when|how long ago|(?:on |at |in )?(?:what|which) (?:day|date|time|week|month|year))"
    r" (?:did|was|were|had)\b"
)
_WHEN_TR: Final = re.compile(
    r"\bne zaman|\bkac (?:gun|hafta|ay|yil) once|\bhangi (?:gun|tarih|saat|hafta|ay|yil)"
)


@keeps(256)
def asks_when(cue: str) -> bool:
    """Whether a cue asks at what time something was."""
    if len(cue) > _LONGEST_CUE:
        return False
    folded = plain(cue).strip()
    return bool(_WHEN.search(folded) or (_WHEN_TR.search(folded) and _PAST_TR.search(folded)))


@keeps(256)
def asks_for_now(cue: str) -> bool:
    """Whether a cue asks how things are: a question in the present tense, or with "now"."""
    if len(cue) > _LONGEST_CUE or "\n" in cue.strip():
        return False
    folded = plain(cue).strip()
    if is_turkish(cue, folded) or ASKS_TR.search(folded):
        if _BEFORE_TR.search(folded) or _PAST_TR.search(folded):
            return False
        if NOW_TR.search(folded) or ASKS_TR.search(folded):
            return True
    if _BEFORE.search(folded):
        return False
    if folded.endswith("?") or _ASKS.match(folded):
        return bool(_PRESENT.search(folded) or NOW.search(folded))
    is_phrase = _PHRASE.match(folded) or NOW.search(folded)
    return bool(is_phrase) and len(folded.split()) <= _PHRASE_WORDS


# Tells whether a cue asks for a number, a day or an hour as it is now.

_LONGEST_VALUE_CUE: Final = 400
_ASKS_VALUE: Final = re.compile(
    r"\b(?:how (?:many|much|often|old|long|far|tall|big)|what time|when (?:is|are|do|does|should"
    r"|will)"
    r"|what(?:'s| is| are) (?:the|my|our|his|her|their)|what \w+ should|which (?:day|date|time)"
    r"|kac(?:ta|a)?|ne kadar|ne zaman|hangi (?:gun|saat|tarih)\w*)\b"
)
#: asks how things were, or about a stretch of time
_BEFORE_VALUE: Final = re.compile(
    r"\b(?:did|was|were|had|used to|before|previous\w*|former\w*|origin\w{2,6}|initial\w{0,2}"
    r"|at first|first time|earlier|once|ago|yesterday|last (?:week|month|year|time)|old|older"
    r"|back then"
    r"|history|ever|between|in total|across|altogether|combined|passed|elapsed|apart"
    r"|how long ago|what year|change[ds]?|differ\w*"
    r"|compare\w*"
    r"|eskiden|eski|once|onceden|onceki|ilk|gecen|dun|degis\w+)\b"
    r"|\w(?:[dt][iu]|m[iu]s(?:t[iu])?)(?:m|n|k|niz|nuz|ler|lar)?[ ?!.]*$"
)


def asks_for_value(cue: str) -> bool:
    """Whether a cue asks for a value, and not for an old one."""
    folded = plain(cue[:_LONGEST_VALUE_CUE])
    return bool(_ASKS_VALUE.search(folded)) and not _BEFORE_VALUE.search(folded)


#: longer cues are never small talk
_MOST_CHARS: Final = 400
#: names that may stand beside a greeting ("Hi Ann Lee!")
_MOST_NAMES: Final = 2
_COMMAND: Final = re.compile(r"\s*/([a-z][a-z0-9_:-]{0,63})(?=\s|$)", re.IGNORECASE)
#: more arguments than this are a message of its own
_MOST_ARGUMENTS: Final = 4
_DRAWN_OUT: Final = re.compile(r"(.)\1{2,}")
_LAUGHTER: Final = tuple(map(frozenset, ("ha", "he", "hi", "ho", "ja", "xd")))
#: phrases after which a capitalised word is the name of the addressee
_ADDRESSED: Final = frozenset(("greeting", "farewell", "thanks"))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether memory is needed, and the rule that decided it."""

    needed: bool
    reason: str


def need_gate(cue: str) -> Decision:
    """Decide whether a cue is worth a recall.

    Skipped are: cues without a letter or digit ("...", emoji); a slash command with at most four
    words that ask nothing; known phrases, fillers and the addressee's name of up to two words.
    """
    command = _COMMAND.match(cue)
    if command:
        return _of_command(command.group(1), cue[command.end() :])
    if not any(char.isalnum() for char in cue):
        return Decision(False, "nothing but signs")
    if len(cue) > _MOST_CHARS:
        return Decision(True, "longer than small talk is")
    found = tokens(compose(cue).replace("\n", " . "))  # a line is a sentence
    return _of_phrases(found)


def skip_reason(decision: Decision) -> str:
    """The reason that a recall gives for skipping the search."""
    return f"small talk: {decision.reason}; memory was not consulted"


def _of_command(name: str, rest: str) -> Decision:
    arguments = [token.text for token in tokens(compose(rest[:2000])) if not token.sign]
    if len(arguments) > _MOST_ARGUMENTS or "?" in rest or ASKING & set(arguments):
        return Decision(True, f"the command /{name} carries a message")
    return Decision(False, f"slash command /{name}")


def _of_phrases(found: list[Token]) -> Decision:
    """Small talk if phrases cover every word; the reason names the first one's class."""
    phrases, longest_from = _phrases()
    words = [_undraw(token.text) for token in found]
    shouted = all(token.raw.isupper() for token in found if token.raw.isalpha())
    said: list[str] = []
    at = 0
    while at < len(found):
        if found[at].sign:
            at += 1
            continue
        length, what = _phrase_at(phrases, longest_from.get(words[at], 0), words, at)
        if what is None and _is_laughter(words[at]):
            length, what = 1, "acknowledgement"
        if what is None:
            length, what = _names_at(found, at, said, shouted), "name"
            if not length:
                return Decision(True, f'says "{found[at].raw[:40]}"')
        if what != "filler" or not said:
            said.append(what)
        at += length
    classes = [each for each in said if each not in ("filler", "name")]
    if not classes:
        return Decision(True, "no phrase of small talk")
    return Decision(False, classes[0])


def _phrase_at(
    phrases: dict[tuple[str, ...], str], longest: int, words: list[str], at: int
) -> tuple[int, str | None]:
    for length in range(min(longest, len(words) - at), 0, -1):
        what = phrases.get(tuple(words[at : at + length]))
        if what is not None:
            return length, what
    return 0, None


def _names_at(found: list[Token], at: int, said: list[str], shouted: bool) -> int:
    """How many words from a token on are the name of the addressee.

    An assistant; or, after a greeting, thanks or a farewell and at most a comma, up to two
    capitalised words at the end of a sentence that is not a question.
    """
    if not said:
        return 0
    if found[at].text in ASSISTANTS:
        return 1
    before = found[at - 1]
    if said[-1] not in _ADDRESSED or shouted or (before.sign and before.text != ","):
        return 0
    end = at
    while end < len(found) and found[end].raw[:1].isupper() and found[end].text not in ASKING:
        end += 1
    ended = end == len(found) or (found[end].sign and found[end].text != "?")
    return end - at if ended and end - at <= _MOST_NAMES else 0


def _undraw(word: str) -> str:
    """ "heyyyy" as "hey"."""
    return _DRAWN_OUT.sub(r"\1", word) if len(word) > 2 else word


def _is_laughter(word: str) -> bool:
    return len(word) >= 3 and any(set(word) <= letters for letters in _LAUGHTER)


@functools.cache
def _phrases() -> tuple[dict[tuple[str, ...], str], dict[str, int]]:
    """Folded words of each phrase -> its class, and first word -> longest phrase; made once."""
    listed: dict[tuple[str, ...], str] = {}
    for what, text in (*PHRASES.items(), ("filler", FILLERS)):
        for phrase in text.split(","):
            words = tuple(
                _undraw(token.text) for token in tokens(compose(" ".join(phrase.split())))
            )
            if words:
                listed.setdefault(words, what)
    longest: dict[str, int] = {}
    for words in listed:
        longest[words[0]] = max(len(words), longest.get(words[0], 0))
    return listed, longest
