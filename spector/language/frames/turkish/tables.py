"""Frames of Turkish verbs, nouns that name slots, and closed classes of words, as tables."""

from __future__ import annotations

from typing import Final, NamedTuple

from spector.language.frames.turkish.suffixes import Form, person_forms, possessed, verb_forms
from spector.language.words import plain


class VerbFrame(NamedTuple):
    """A verb, the case of what stands before it, and the predicate that both state.

    Attributes:
        preverb: a noun that belongs to the verb: "nefret" of "nefret et".
        case: of the object; ``bare`` for none, ``olarak`` for "as".
        kind: place, role, org, name, language, thing, any.
    """

    preverb: str
    predicate: str
    case: str
    kind: str
    polarity: bool = True
    changes: bool = False
    past: bool = False
    now: bool = False


#: verb, its aorist | preverb | predicate | case of the object | kind | flags
_TABLE: Final = """
yaşa yaşar         | -       | lives_in     | loc    | place    |
otur oturur        | -       | lives_in     | loc    | place    |
ikamet-et eder     | ikamet  | lives_in     | loc    | place    |
taşın taşınır      | -       | lives_in     | dat    | place    | changes past
yerleş yerleşir    | -       | lives_in     | dat    | place    | changes past
çalış çalışır      | -       | works_as     | olarak | role     |
çalış çalışır      | -       | works_at     | loc    | org      |
beslen beslenir    | -       | diet         | bare   | diet     |
et eder            | tercih  | prefers      | acc    | thing    |
et eder            | nefret  | likes        | abl    | thing    | denies
sev sever          | -       | likes        | acc    | thing    |
sev sever          | -       | likes        | bare   | thing    |
beğen beğenir      | -       | likes        | acc    | thing    |
kullan kullanır    | -       | uses         | acc    | thing    |
kullan kullanır    | -       | uses         | bare   | thing    |
geç geçer          | -       | uses         | dat    | name     | changes past
iç içer            | -       | drinks       | bare   | thing    |
ye yer             | -       | eats         | bare   | thing    |
oyna oynar         | -       | plays        | bare   | thing    |
çal çalar          | -       | plays        | bare   | thing    |
konuş konuşur      | -       | speaks       | bare   | language |
bil bilir          | -       | speaks       | bare   | language |
"""

#: verbs without a frame, and their aorists
_OTHERS: Final = """doğ doğar, bulun bulunur, al alır, büyü büyür, gir girer, başla başlar, hoşlan hoşlanır, bayıl
    bayılır, öğren öğrenir, oku okur, izle izler, yaz yazar, sat satar, kazan kazanır, katıl
    katılır, git gider, gez gezer, bırak bırakır, sahiplen sahiplenir, besle besler, evlen
    evlenir, destekle destekler, ol olur, değiştir değiştirir, değiş değişir, dinle dinler, boşan
    boşanır, dur durur, ertele erteler, ertelen ertelenir"""

#: predicate | nouns that name it, with the stem before vowels behind a slash
_NOUNS: Final = """
is_named       | ad isim/ism
age            | yaş
works_as       | iş meslek
works_at       | işveren işyer
scheduled_for  | tarih
nationality    | uyruk vatandaşlık
native_language | anadil
lives_in       | ev
lives_in       | şehir/şehr
address        | adres
email          | e-posta eposta mail
phone          | telefon numara
version        | sürüm versiyon
port           | port
deadline       | teslim-tarih son-tarih son-gün teslim-gün
status         | durum
marital_status | medeni-hal medeni-durum
price          | fiyat ücret
budget         | bütçe
diet           | diyet
birthday       | doğum-gün doğum-tarih
born_in        | doğum-yer memleket
located_in     | konum
password       | şifre parola
username       | kullanıcı-ad
database       | veritaban
language       | dil
colour         | renk/reng
size           | beden boyut
height         | boy
weight         | kilo ağırlık
capacity       | kapasite
limit          | limit
owner          | sahip/sahib
host           | sunucu
capital        | başkent
manager        | müdür yönetici patron
salary         | maaş
spouse         | eş
team           | takım
blood_type     | kan-grup/kan-grub
shoe_size      | ayakkabı-numara
start_time     | başlangıç-saat
"""

KIN: Final[dict[str, str]] = {
    form: noun.partition("/")[0].replace("-", " ")
    for noun in """anne baba eş karı koca kardeş kız-kardeş erkek-kardeş abla abi ağabey oğul/oğl
        kız kuzen teyze hala dayı amca dede nine anneanne babaanne yeğen nişanlı sevgili arkadaş
        ev-arkadaş iş-arkadaş komşu patron müdür kedi köpek ortak çocuk torun ekip takım şirket
        aile""".split()
    for person, form in possessed(noun.replace("-", " "))
    if person == 1
}

KIN_OF_OTHERS: Final = frozenset(
    form
    for noun in """anne baba eş karı koca kardeş abla abi oğul/oğl kız kuzen teyze hala dayı amca
        dede nine yeğen arkadaş komşu""".split()
    for person, form in possessed(noun)
    if person == 3
)
#: first words of the names of places: "New York'a" has no subject
PLACE_PARTS: Final = frozenset(
    """new san santa los las st saint el al la le de da guney kuzey dogu bati orta tel
    hong kuala rio buenos port cape fort yeni sri abu kara ak buyuk kucuk asagi yukari""".split()
)
ROLES: Final = frozenset(
    """öğretmen doktor hemşire avukat mühendis aşçı garson şoför pilot polis asker hakim
    savcı mimar eczacı veteriner diş-hekimi hekim gazeteci yazar şair ressam müzisyen
    oyuncu yönetmen fotoğrafçı tasarımcı programcı yazılımcı geliştirici analist
    danışman muhasebeci bankacı öğrenci akademisyen profesör psikolog terapist sekreter
    berber kuaför terzi marangoz tesisatçı elektrikçi çiftçi bahçıvan balıkçı fırıncı
    kasap tercüman çevirmen editör antrenör emekli esnaf müteahhit emlakçı itfaiyeci
    kurye kasiyer temizlikçi güvenlik-görevlisi stajyer araştırmacı bilim-insanı biyolog
    kimyager fizikçi matematikçi tarihçi müdür yönetici mühendisi uzmanı danışmanı
    analisti geliştiricisi tasarımcısı öğretmeni teknisyeni memur memuru operatörü
    barista serbest-çalışan""".split()
)
MARITAL: Final = {
    "evli": "evli",
    "bekar": "bekar",
    "bekâr": "bekar",
    "nişanlı": "nişanlı",
    "boşanmış": "boşanmış",
    "dul": "dul",
}
DIETS: Final = frozenset("vegan vejetaryen vejeteryan pesketaryen glutensiz".split())

ADVERBS: Final = frozenset(
    """sabahlari aksamlari geceleri gunduzleri sonlari artik simdi su an anda aralar bu
    hala halen genelde genellikle her zaman hep sik siklikla bazen cok daha en aslinda
    evet hayir yani gecen hafta ay yil sene dun bugun gecenlerde zaten sadece de da
    ayrica bir gun yeni yeniden sonunda nihayet once sonra once ben biz benim bizim
    belki galiba sanirim herhalde muhtemelen bence lutfen duzeltme not bilgi suan suanda
    bundan boyle sonrasi itibariyla itibaren uzun zamandir yillardir hicbir hic asla
    tabii tabi iste neyse oncelikle kesinlikle gercekten ozellikle pek onceden eskiden
    haftada ayda gunde yilda beri yazin kisin yazlari kislari ilkbaharda sonbaharda gunduzleri
    pazartesileri salilari carsambalari persembeleri cumalari cumartesileri""".split()
)
CHANGES: Final = frozenset("artik simdi bundan itibariyla itibaren".split())
CONJUNCTIONS: Final = frozenset("ve ama fakat ancak cunku oysa lakin yoksa hem ya veya".split())
PRONOUNS: Final = frozenset(
    """o bu su onlar bunlar sunlar bunu onu sunu buna ona suna orada burada surada sey
    seyi seyler her hersey herkes kimse biri birisi hicbiri hepsi bazilari hicbirimiz
    hepimiz ikimiz bazilarimiz cogumuz birimiz kendi kendim
    siz sen seni sizi beni bizi bana sana ne kim""".split()
)
QUESTIONS: Final = frozenset(
    """mi mu misin musun miyim muyum misiniz musunuz miyiz muyuz midir mudur ne neden
    nicin niye nerede nereye nereden kim kime kimin hangi hangisi nasil kac kaci kacta
    neler""".split()
)
CONDITIONS: Final = frozenset("eger sayet keske olsa olsaydi olursa diyelim varsayalim".split())
REPORTS: Final = frozenset(
    """demistir demisti diye anlatir soyler diyor dedi diyorlar dediler soyledi soyluyor
    soylemis demis iddia duydum duymus gore saniyor dusunuyor anlatti anlatiyor belirtti
    acikladi""".split()
)
HEDGES: Final = frozenset(
    """belki galiba sanirim herhalde muhtemelen olabilir sanki umarim bence zannederim""".split()
)
POSTPOSITIONS: Final = frozenset("icin ile gibi kadar gore dogru karsi ragmen uzere diye".split())
NUMBERS: Final = frozenset(
    """bir iki uc dort bes alti yedi sekiz dokuz on yirmi otuz kirk elli""".split()
)
#: objects that say nothing, or make another verb of it: "karar aldım"
EMPTY: Final = frozenset(
    """sey seyi seyler seyleri bunu onu sunu karar nefes zevk keyif haber not ders izin
    duş dus yol rol yer hiz is ise iste gerek zorunda cok daha az seni sizi beni bizi
    onlari kendimi hepsini bunlari hic bir biraz hepsi geri""".split()
)


def _frames() -> dict[str, tuple[VerbFrame, ...]]:
    out: dict[str, tuple[VerbFrame, ...]] = {}
    for line in _TABLE.strip().splitlines():
        verb, preverb, predicate, case, kind, flags = (cell.strip() for cell in line.split("|"))
        stem = verb.split()[0].rpartition("-")[2]
        frame = VerbFrame(
            preverb.strip("-"),
            predicate,
            case,
            kind,
            "denies" not in flags,
            "changes" in flags,
            "past" in flags,
            "now" in flags,
        )
        out[stem] = (*out.get(stem, ()), frame)
    return out


def _verb_forms() -> dict[str, Form]:
    out: dict[str, Form] = {}
    stems = {
        line.split()[0].rpartition("-")[2]: line.split()[1] for line in _TABLE.strip().splitlines()
    }
    stems |= dict(pair.split() for pair in _OTHERS.split(","))
    for stem, aorist in stems.items():
        for form, says in verb_forms(stem, aorist):
            out.setdefault(form, says)
    for form in ("yer", "cok", "al", "git", "gec", "oku", "yaz", "gez", "yazar", "yasar"):
        out.pop(form, None)  # nouns and names, or orders
    return out


def _noun_forms() -> dict[str, tuple[int, str, str]]:
    """Form of a noun with a possessive -> (person, predicate, noun); longer names with spaces."""
    out: dict[str, tuple[int, str, str]] = {}
    for line in _NOUNS.strip().splitlines():
        predicate, nouns = (cell.strip() for cell in line.split("|"))
        for noun in nouns.split():
            base = noun.partition("/")[0].replace("-", " ") if "-post" not in noun else noun
            source = noun.replace("-", " ") if "-post" not in noun else noun
            for person, form in possessed(source):
                out.setdefault(form, (person, predicate, base))
    return out


VERBS: Final = _frames()
VERB_FORMS: Final = _verb_forms()
NOUNS: Final = _noun_forms()
#: folded name of an occupation, and "I am" one -> the word
ROLE_FORMS: Final[dict[str, int]] = {
    **{plain(role.replace("-", " ")): 3 for role in ROLES},
    **{form: 1 for role in ROLES for form in person_forms(role.replace("-", " "))},
}
