"""Stop words, and words that identify the language of a text."""

from __future__ import annotations

from typing import Final

#: includes the parts of words with an apostrophe (don't: don, t)
ENGLISH_STOP: Final = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could
    did do does doing for from had has have having he her here hers him his how i if in into is it
    its itself just let me more most my no nor not now of off on once only or other our out over own
    please same she should so some such tell than that the their them then there these they this
    those through to too under until up us very was we were what when where which while who whom
    whose why will with would you your yours ve ll re don didn doesn isn wasn aren won s t m
    d""".split()
)

TURKISH_STOP: Final = frozenset(
    """acaba ama ancak artık aslında az bana bazı belki ben benden beni benim beri bile bir biraz
    birçok biri birkaç birşey biz bizden bize bizi bizim böyle bu buna bunda bundan bunlar bunu
    bunun burada çok çünkü da daha de defa değil diye dolayı en fakat gibi göre hani hatta hem hep
    hepsi her herkes hiç için ile ise işte kadar ki kim kime kimin mi mı mu mü nasıl ne neden nerede
    nereye niçin niye o olan olarak oldu on ona ondan onlar onları onların onu onun orada oysa öyle
    pek rağmen sana sanki sen senden seni senin siz sizden size sizi sizin sonra şey şimdi şöyle şu
    şuna şunda şundan şunu şunun tüm ve veya ya yani yine çünku icin cok degil nasil nicin simdi
    hangi var yok""".split()
)

#: Turkish words that are neither English words nor names (unlike "her", "on", "o", "ve")
TURKISH_MARKERS: Final = frozenset(
    """acaba ancak artık aslında bazı belki beni benim bir biraz birçok birkaç bizim böyle buna bunu
    bunun bugün burada çok cok çünkü cunku değil degil diye evet fakat gibi göre hangi hayır hayir
    hiç için icin işte kadar merhaba mı mü nasıl nasil neden nerede nereye niçin nicin olarak oldu
    onlar onun senin sizin şey şimdi simdi sonra şu teşekkürler tüm veya yarın yarin yok lütfen
    lutfen""".split()
)
#: weaker evidence of Turkish; two of them are needed
TURKISH_HINTS: Final = frozenset("ama bana bile bu daha dün hem hep hic ile olan sana var".split())
