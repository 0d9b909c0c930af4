"""Turkish suffixes, frames of verbs, nouns of slots and closed classes of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from spector.language.frames.sentences import Modality, Tense
from spector.language.words import plain

# Turkish suffixes: vowel harmony, cases, possessives, forms of verbs.
#
# Forms are made from stems in their proper spelling and compared folded, so that "yasiyorum" typed
# without its letters is found as well.

Case = Literal["acc", "dat", "loc", "abl", "gen", "ins"]

VOWELS: Final = "aeıioöuü"
_UNVOICED: Final = "fstkçşhp"
#: endings of each case after a consonant, a vowel, or a possessive of the third person; folded
_CASES: Final[dict[str, frozenset[str]]] = {
    "acc": frozenset("i u yi yu ni nu".split()),
    "dat": frozenset("e a ye ya ne na".split()),
    "loc": frozenset("de da te ta nde nda".split()),
    "abl": frozenset("den dan ten tan nden ndan".split()),
    "gen": frozenset("in un nin nun".split()),
    "ins": frozenset("le la yle yla".split()),
}
#: borrowed words whose last consonant is soft: saat, saate
_PALATAL: Final = (
    "saat",
    "kalp",
    "harf",
    "hayal",
    "rol",
    "gol",
    "alkol",
    "petrol",
    "kontrol",
    "kabul",
    "usul",
    "ihtimal",
    "festival",
    "sadakat",
    "dikkat",
)
#: nouns that end in n themselves: "ürünün" is of ürün
_N_FINAL: Final = tuple(
    """insan urun telefon patron kadin gun din plan ekran zaman orman dugun oyun sezon salon balkon
    alan uzman asistan restoran mekan ogretmen barmen sistem tren istasyon fen nisan
    divan dukkan mudurun bilisim torun yegen ceyhan lisan vatan dusman hayvan koyun kitaplin son
    ton buton avon kulon veren yonetmen danisman calisan altin yayin yakin ucgen iletisim versiyon
    fonksiyon polen televizyon organizasyon""".split()
)
#: end in a close vowel without any case
_BARE: Final = frozenset(
    """mavi sari kirmizi gri eflatuni turuncu kedi hobi deri tarihi futbolcu yeni eski
    iyi su bamyali manti cacik pasta simidi tursu turlu salı sali cani kuru dolu sulu
    aci tatli zeytinyagli resmi milli ruhi ali veli""".split()
)
_COPULAS: Final = ("dir", "dur", "tir", "tur")


class Form(NamedTuple):
    """What a form of a verb says: 1, 2 or 3 for its person, plural or not, and how it is meant."""

    stem: str
    person: int
    tense: Tense
    polarity: bool
    modality: Modality
    plural: bool = False


def last_vowel(stem: str) -> str:
    return next((char for char in reversed(stem) if char in VOWELS), "a")


def close(stem: str) -> str:
    """ı, i, u or ü: the vowel of a suffix such as -im, by four-way harmony."""
    return {"a": "ı", "ı": "ı", "e": "i", "i": "i", "o": "u", "u": "u", "ö": "ü", "ü": "ü"}[
        last_vowel(stem)
    ]


def broad(stem: str) -> str:
    """a or e: the vowel of a suffix such as -de, by two-way harmony."""
    return "a" if last_vowel(stem) in "aıou" else "e"


def has_harmony(stem: str, suffix: str) -> bool:
    """Whether a suffix can follow a stem, as far as the letters that are there can tell.

    A stem typed without the letters of Turkish does not tell ı from i or ö from o, so it clashes
    with less; one without any vowel (numbers, initials) with nothing.
    """
    stem = stem.replace("İ", "i").lower()
    before = next((char for char in reversed(stem) if char in VOWELS), "")
    after = next((char for char in plain(suffix) if char in VOWELS), "")
    if not before or not after or stem[-1:].isdigit() or plain(stem).endswith(_PALATAL):
        return True
    if after in "ae":
        if before in "iou" and stem.isascii():
            return True
        return after == ("a" if before in "aıou" else "e")
    return (after == "u") == (before in "oöuü")


def strip_case(raw: str, suffix: str, case: Case) -> str | None:
    """A noun without the ending of a case; None where it has none.

    Args:
        suffix: what stands behind an apostrophe, folded; "" where there is no apostrophe.
    """
    if suffix:
        # names of other languages are written one way and spoken another
        return raw if suffix in _CASES[case] else None
    folded = plain(raw)
    if len(folded) != len(raw) or (case == "acc" and folded in _BARE):
        return None
    for length in (4, 3, 2, 1):
        ending = folded[-length:]
        if ending not in _CASES[case] or len(folded) - length < 2:
            continue
        stem = folded[:-length]
        if not any(char in VOWELS for char in stem) or not has_harmony(raw[:-length], ending):
            continue
        vowel = stem[-1] in VOWELS
        if (ending[0] in "yn" and not vowel) or (ending[0] in "aeiou" and vowel):
            continue
        if ending[0] == "n" and f"{stem}n".endswith(_N_FINAL):
            continue
        if ending[0] == "y" and len(stem) < 3 and stem != "su":
            continue
        if case in ("loc", "abl") and ending[0] == "n" and not vowel:
            continue
        return _restored(raw[:-length], ending)
    return None


def _restored(stem: str, ending: str) -> str:
    """A stem whose last consonant was softened before a vowel: "çocuğ" is "çocuk"."""
    if ending[0] in "aeiou" and stem.endswith("ğ") and len(stem) > 3:
        return stem[:-1] + "k"
    return stem


def strip_copula(raw: str, suffix: str) -> str:
    """A word without -dir; the word itself where it has none."""
    if suffix:
        return raw
    folded = plain(raw)
    if (
        len(folded) == len(raw)
        and len(folded) > 5
        and folded.endswith(_COPULAS)
        and (has_harmony(folded[:-3], folded[-3:]))
    ):
        return raw[:-3]
    return raw


def possessed(noun: str) -> Iterator[tuple[int, str]]:
    """(person, form) of a noun with the possessives of all persons, folded: my N, your N, his N.

    A second stem behind a slash is the one before vowels: "isim/ism".
    """
    base, _, before_vowel = noun.partition("/")
    stem = before_vowel or base
    if not before_vowel and base[-1] in "kçpt" and sum(char in VOWELS for char in base) > 1:
        stem = base[:-1] + {"k": "ğ", "ç": "c", "p": "b", "t": "t"}[base[-1]]
    if not before_vowel and base.endswith("nk"):
        stem = base[:-1] + "g"
    vowel = close(base)
    if base[-1] in VOWELS:
        endings = ((1, "m"), (1, f"m{vowel}z"), (2, "n"), (2, f"n{vowel}z"), (3, f"s{vowel}"))
        stem = base
    else:
        endings = (
            (1, f"{vowel}m"),
            (1, f"{vowel}m{vowel}z"),
            (2, f"{vowel}n"),
            (2, f"{vowel}n{vowel}z"),
            (3, vowel),
        )
    for person, ending in endings:
        yield person, plain(stem + ending)


def person_forms(stem: str) -> Iterator[str]:
    """ "I am N" of a noun or adjective, folded: öğretmenim, hemşireyim."""
    joint = "y" if stem[-1] in VOWELS else ""
    softened = stem
    if stem[-1] in "kç" and sum(char in VOWELS for char in stem) > 1:
        softened = stem[:-1] + {"k": "ğ", "ç": "c"}[stem[-1]]
    yield plain(f"{softened}{joint}{close(stem)}m")


def verb_forms(stem: str, aorist: str) -> Iterator[tuple[str, Form]]:
    """(form, what it says) of a verb, folded; an aorist is given as its third person."""
    soft = {"git": "gid", "et": "ed"}.get(stem, stem)
    vowel = stem[-1] in VOWELS
    narrow = stem[:-1] if vowel else soft
    present = f"{narrow}{close(narrow if any(c in VOWELS for c in narrow) else stem)}yor"
    present = {"ye": "yiyor", "de": "diyor"}.get(stem, present)
    joint = f"{soft}y" if vowel else soft
    joint = {"ye": "yiy"}.get(stem, joint)
    negative = stem + "m" + broad(stem)
    hard = "t" if stem[-1] in _UNVOICED else "d"
    yield from _persons(stem, present, "yor", "present", True)
    yield from _persons(stem, f"{stem}m{close(stem)}yor", "yor", "present", False)
    yield from _persons(stem, aorist, "yor", "present", True)
    yield from _aorist_negative(stem, negative)
    for base, polarity in ((stem, True), (negative, False)):
        consonant = hard if polarity else "d"
        yield from _persons(stem, f"{base}{consonant}{close(base)}", "past", "past", polarity)
    yield from _persons(stem, f"{present}du", "past", "past", True)
    yield from _persons(stem, f"{stem}m{close(stem)}yordu", "past", "past", False)
    for base, polarity in ((joint, True), (negative + "y", False)):
        a = broad(base)
        yield from _persons(stem, f"{base}{a}c{a}k", "yor", "future", polarity, "planned")
        for ending in ("m", "z"):
            yield (
                plain(f"{base}{a}c{a}ğ{close(base + a)}{ending}"),
                Form(stem, 1, "future", polarity, "planned", ending == "z"),
            )
        yield (
            plain(f"{base.rstrip('y') if base != joint or vowel else stem}m{close(base)}ş"),
            Form(stem, 3, "past", polarity, "reported"),
        )


def _persons(
    stem: str, base: str, kind: str, tense: Tense, polarity: bool, modality: Modality = "asserted"
) -> Iterator[tuple[str, Form]]:
    vowel = close(base)
    if kind == "past":
        endings = (
            ("m", 1, False),
            ("n", 2, False),
            ("", 3, False),
            ("k", 1, True),
            (f"n{vowel}z", 2, True),
            (f"l{broad(base)}r", 3, True),
        )
    else:
        endings = (
            (f"{vowel}m", 1, False),
            (f"s{vowel}n", 2, False),
            ("", 3, False),
            (f"{vowel}z", 1, True),
            (f"s{vowel}n{vowel}z", 2, True),
            (f"l{broad(base)}r", 3, True),
        )
    for ending, person, plural in endings:
        yield plain(base + ending), Form(stem, person, tense, polarity, modality, plural)


def _aorist_negative(stem: str, negative: str) -> Iterator[tuple[str, Form]]:
    vowel = close(negative)
    for ending, person, plural in (
        ("m", 1, False),
        ("z", 3, False),
        (f"zs{vowel}n", 2, False),
        (f"y{vowel}z", 1, True),
        (f"zl{broad(negative)}r", 3, True),
    ):
        yield plain(negative + ending), Form(stem, person, "present", False, "asserted", plural)


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
