"""Phrases that need no memory: greetings, thanks, confirmations, acknowledgements.

Complete for English and Turkish, only the most common ones of other languages. Lines are phrases
separated by commas, folded by `plain` when they are read. A phrase belongs here if a cue of only
this phrase is never a question about memories: "how are you", but not "tell me more".
"""

from __future__ import annotations

from typing import Final

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
