"""Instructions that hold: which texts are one, and what they are about.

Mechanism: the wording of a text decides whether it leaves the hits and stands beside them, and for
which cues. Damage: a rule of the user is never heeded, or heeded always; a story that begins with
"never" is no hit any more; the fact in "I moved to Ankara. From now on answer in Turkish" is lost.
Guard: tables in two languages, and texts that look alike and are none.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spector
from spector.language.statements.instructions import Instruction, find_instruction, is_prohibition
from spector.language.words.folding import plain


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("Always answer in metric units.", None),
        ("Please never call me Annie", None),
        ("From now on be brief", None),
        ("don't use emojis", None),
        ("Hi! From now on, answer briefly. Thanks!", None),
        ("Whenever possible, use tables", None),
        ("user: Always use tables", None),
        ("Please be brief.", None),
        ("No emojis please", None),
        ("Stop using emojis.", None),
        ("Please keep your answers short", None),
        ("I want you to be concise.", None),
        ("Reply only in Portuguese.", None),
        ("Speak Turkish to me please", None),
        ("Write in British English.", None),
        ("Talk to me like a friend", None),
        ("Avoid spoilers", None),
        ("Always answer my questions in full", None),
        ("All answers should have a source", None),
        ("Never tell me how a film ends", None),
        ("Always use metric units. Never use emojis.", None),
        ("Emoji kullanma.", None),
        ("Emoji kullanmayın lütfen", None),
        ("Cevapların kısa olsun.", None),
        ("Yanıtlarınız daha resmî olsun", None),
        ("Bana Jo de.", None),
        ("Türkçe yaz", None),
        ("Asla et önerme", None),
        ("You should always cite a source.", None),
        ("In the future, please skip the summary", None),
        ("Use metric units from now on", None),
        ("When I ask about code, show Python.", "code"),
        ("Whenever I ask for a recipe, list the calories.", "a recipe"),
        (
            "Always use grams when I ask about cooking, baking, or grilling.",
            "cooking, baking, or grilling",
        ),
        ("Always, when I mention my sister, be kind.", "my sister"),
        ("I want you to always use tables when I ask for data", "data"),
        ("I prefer tables when I ask for data.", "data"),
        ("If I ask for a summary, can you use bullets?", "a summary"),
        ("Whenever I am stressed, be gentle", "stressed"),
        ("Bundan sonra kısa cevap ver.", None),
        ("Lütfen asla emoji kullanma.", None),
        ("Her zaman Türkçe yaz", None),
        ("Tarif sorduğumda kalori de yaz.", "tarif"),
        ("Yemek hakkında bir şey sorduğumda, vegan öner.", "yemek"),
        ("Tarif sordugumda kalori yaz", "tarif"),
        ("Ne zaman hava durumu sorsam rüzgârı da söyle", "hava durumu"),
        ("Film istediğim zaman kısa olsun", "film"),
        ("Her zaman, mesafe sorduğumda, kilometre kullan.", "mesafe"),
        ("Lütfen bana film sorarsam kısa filmleri öne al", "film"),
    ],
)
def test_an_instruction_says_what_it_is_about(text: str, condition: str | None) -> None:
    assert find_instruction(text) == Instruction(True, condition)
    assert find_instruction(text.upper().replace("İ", "I")) is not None


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("I moved to Ankara in May and work at the port. From now on answer in Turkish.", None),
        ("I would really like tables. Whenever I request a plan, add costs.", "a plan"),
        ("I'm vegan, so suggest vegan food when I ask for recipes.", "recipes"),
        ("Always use metric units. My height is 180 cm by the way.", None),
        ("Keep in mind that I want short answers", None),
        ("Don't forget to answer in Dutch", None),
        ("Asla et önerme. Geçen yıl vegan oldum ve mutluyum.", None),
    ],
)
def test_what_says_more_than_an_instruction_stays_a_memory(
    text: str, condition: str | None
) -> None:
    assert find_instruction(text) == Instruction(False, condition)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("Never lend Tom money again.", None),
        ("Always order the ramen at Takumi.", None),
        ("Always wake up at six", None),
        ("Never book a flight if it leaves before nine.", None),
        ("user: Always use tabs", None),
        ("From now on use the back door", None),
        ("Always answer the door in slippers", None),
        ("Don't answer calls from Tom", None),
        ("Always reply to Ann within a day", None),
        ("Never be unkind to Ann", None),
        ("Don't tell Ayla about the party", None),
        ("Always be careful when it comes to nuts.", "nuts"),
        ("Never take the motorway when you plan trips", "plan trips"),
        ("Asla Ali'ye güvenme.", None),
    ],
)
def test_a_rule_that_may_be_one_of_life_stays_a_memory(text: str, condition: str | None) -> None:
    assert find_instruction(text) == Instruction(False, condition)


@pytest.mark.parametrize(
    "text", ["Call me Jo.", "Please call me Captain", "just call me Zoë", "You can call me Jo"]
)
def test_a_name_to_be_called_by_has_a_capital(text: str) -> None:
    assert find_instruction(text) == Instruction(True, None)
    told = find_instruction(text.lower())
    assert told is None or not told.whole


@pytest.mark.parametrize(
    "text",
    [
        "You may use emojis again.",
        "You can answer in German again",
        "Emojis are fine again",
        "You don't have to list sources any more.",
        "Emojileri tekrar kullanabilirsin",
        "Emoji kullanabilirsin artık",
        "Kısa cevap vermek zorunda değilsin",
    ],
)
def test_leave_tells_nothing_and_is_a_memory(text: str) -> None:
    assert find_instruction(text) == Instruction(False, None, lifts=True)


@pytest.mark.parametrize(
    ("text", "no"),
    [
        ("Never use emojis.", True),
        ("Use emojis.", False),
        ("Stop using emojis", True),
        ("You needn't use emojis", True),
        ("You may use emojis again", False),
        ("Don't avoid jargon", False),
        ("Emoji kullanma", True),
        ("Asla emoji kullanma", True),
        ("Emoji kullan", False),
        ("Cevaplar uzun olmasın", True),
        ("Always be brief", False),
    ],
)
def test_what_forbids_is_told_from_what_orders(text: str, no: bool) -> None:
    assert is_prohibition(plain(text)) == no


@pytest.mark.parametrize(
    "text",
    [
        "Don't forget that Ayla's wedding is on 12 June.",
        "Keep in mind that I am vegan",
        "Remember to call the dentist on Friday",
        "From now on Anna is my manager.",
        "From now on dinner starts at seven",
        "From now on Eve works at Shell",
        "Hep Ankara'da yaşadım.",
        "Asla balık yemem.",
        "Bundan sonra İzmir'de yaşıyorum.",
        "Her zaman annem bana bakar",
        "Unutma, yarın dişçi var",
        "Annem sorduğumda güldü.",
        "Denize girmek istediğim zaman Ayvalık'a giderim.",
        "Call me tomorrow.",
        "Call me back",
        "Call me Tuesday",
        "Write me a poem.",
        "Explain photosynthesis.",
        "Be careful with the dog",
        "Translate this to French.",
        "No milk in the fridge",
        "No answer from Tom.",
        "Reply to Ann",
        "Use the back door",
        "Keep the soup simple",
        "Be home by six",
        "Short answers test today",
        "You can borrow my car again.",
        "You can see the sea from here",
        "Write to Ann in French",
        "Speak to Ann about the rent",
        "I prefer short answers",
        "Geri gelebilirsin artık",
    ],
)
def test_a_fact_and_a_task_are_no_instruction(text: str) -> None:
    assert find_instruction(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I always loved the sea.",
        "She never called.",
        "What should I do?",
        "They asked when",
        "The house that we will always remember",
        "Onu asla unutmam",
        "Biz hep birlikte gittik",
        "Never been to Paris.",
        "Never heard of it, but it sounds fine.",
        "Always happy to help!",
        "Don't worry, it was routine.",
        "Don't know what to do today",
        "Always wanted a piano",
        "You should never have told her",
        "In the future I want to live in Rome",
        "Never tried it? It is a northern thing.",
        "My boss laughs when I mention golf.",
        "When I mention golf, my boss laughs.",
        "I cry whenever I say his name.",
        "hmm, if I mention the gap, how can I make sure they like me?",
        "When I ask about code, what do you say?",
        "From now on I live in Ankara.",
        "I live in Ankara from now on.",
        "Whenever I travel, I get sick.",
        "Asla mı dedin?",
    ],
)
def test_a_story_and_a_question_are_no_instruction(text: str) -> None:
    assert find_instruction(text) is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    told = find_instruction(text)
    assert told is None or told.condition is None or 0 < len(told.condition) <= 200


@pytest.mark.sampled
@pytest.mark.parametrize(
    "unit",
    [
        "always ",
        "when i ask about ",
        "from now on ",
        "i ",
        ". ",
        ", so ",
        "her zaman ",
        "sorduğumda ",
        "when i ",
        "i prefer ",
        "please ",
        "never use ",
        "be very ",
        "don't ",
        "you may ",
        "bana ",
    ],
)
def test_a_long_text_takes_a_moment(unit: str) -> None:
    text = f"Always {unit * 100_000} when I ask about tea"
    start = time.process_time()
    find_instruction(text)
    assert time.process_time() - start < 3


# -- Mechanism: of two orders about one matter the newer stands, or ends the older -----------------
#
# Damage: a prompt with two orders that no answer can follow, or with one that was taken back.
# Guard: pairs whose words no rule was written for; what is compatible stays beside each other.


START = datetime(2026, 3, 2, 9, tzinfo=UTC)
#: an older order and a newer one that takes its place
REPLACED = (
    ("Please answer in Polish.", "I want you to write to me in Italian from now on."),
    ("Call me Captain.", "Please call me Bea again."),
    ("Keep your replies under 50 words.", "From now on write longer replies."),
    ("Always give distances in miles.", "Give distances in kilometres from now on."),
    ("Write in American English.", "Going forward use British English."),
    ("Don't use headings.", "Always use headings from now on."),
    ("Always recommend vegetarian dishes.", "From now on recommend vegan dishes."),
)
#: an older order and words that end it
ENDED = (
    ("Always give me three options.", "You don't have to give me three options any longer."),
    ("Never recommend podcasts.", "Feel free to recommend podcasts again."),
    ("Always close with a proverb.", "Enough with the proverbs."),
    ("Make sure to ask how I slept.", "Stop asking how I slept."),
    ("Never use exclamation marks.", "Exclamation marks are okay again."),
    ("Always use bullet points.", "No more bullet points."),
)
#: two orders that one answer can follow
COMPATIBLE = (
    ("Always cite your sources.", "Call me Bea."),
    ("Never use passive voice.", "Keep answers short."),
    ("Always show prices in pounds.", "Never use slang."),
    ("Never use semicolons.", "Never use exclamation marks."),
    ("Always sign off with my initials.", "Use metric units."),
)


def standing(*said: str) -> list[str]:
    with spector.open(":memory:") as memory:
        for day, text in enumerate(said):
            at = START + timedelta(days=day)
            memory.observe({"role": "user", "content": text, "timestamp": at}, user_id="u")
        return [hit.text for hit in memory.context("Where is the harbour?", user_id="u").standing]


@pytest.mark.parametrize(("old", "new"), REPLACED)
def test_the_newer_of_two_contrary_orders_stands(old: str, new: str) -> None:
    assert standing(old, new) == [new]


@pytest.mark.parametrize(("old", "new"), ENDED)
def test_an_order_that_was_taken_back_does_not_stand(old: str, new: str) -> None:
    assert old not in standing(old, new)


@pytest.mark.parametrize(("old", "new"), COMPATIBLE)
def test_orders_that_one_answer_can_follow_both_stand(old: str, new: str) -> None:
    assert sorted(standing(old, new)) == sorted((old, new))


def test_conditions_of_their_own_are_two_matters() -> None:
    with spector.open(":memory:") as memory:
        for thing, kind in (("wine", "a red"), ("tea", "oolong")):
            text = f"When I ask about {thing}, suggest {kind}."
            memory.observe({"role": "user", "content": text}, user_id="u")
        (found,) = memory.recall("Which wine goes with fish?", user_id="u").standing
        assert "red" in found.text
