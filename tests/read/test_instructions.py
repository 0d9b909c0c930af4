"""Instructions that hold: which texts are one, and what they are about.

Mechanism: the wording of a text decides whether it leaves the hits and stands beside them, and for
which cues. Damage: a rule of the user is never heeded, or heeded always; a story that begins with
"never" is no hit any more; the fact in "I moved to Ankara. From now on answer in Turkish" is lost.
Guard: tables in two languages, and texts that look alike and are none.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spector.read.instructions import Instruction, instruction


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("Always answer in metric units.", None),
        ("Please never call me Annie", None),
        ("From now on be brief", None),
        ("don't use emojis", None),
        ("Hi! From now on, answer briefly. Thanks!", None),
        ("Whenever possible, use tables", None),
        ("Never book a flight if it leaves before nine.", None),
        ("user: Always use tabs", None),
        ("You should always cite a source.", None),
        ("In the future, please skip the summary", None),
        ("Use metric units from now on", None),
        ("When I ask about code, show Python.", "code"),
        ("Whenever I ask for a recipe, list the calories.", "a recipe"),
        ("Always use grams when I ask about cooking, baking, or grilling.",
         "cooking, baking, or grilling"),
        ("Always, when I mention my sister, be kind.", "my sister"),
        ("I want you to always use tables when I ask for data", "data"),
        ("I prefer tables when I ask for data.", "data"),
        ("If I ask for a summary, can you use bullets?", "a summary"),
        ("Always be careful when it comes to nuts.", "nuts"),
        ("Whenever I am stressed, be gentle", "stressed"),
        ("Never take the motorway when you plan trips", "plan trips"),
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
)  # fmt: skip
def test_an_instruction_says_what_it_is_about(text: str, condition: str | None) -> None:
    assert instruction(text) == Instruction(True, condition)
    assert instruction(text.upper().replace("İ", "I")) is not None


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("I moved to Ankara in May and work at the port. From now on answer in Turkish.", None),
        ("I would really like tables. Whenever I request a plan, add costs.", "a plan"),
        ("I'm vegan, so suggest vegan food when I ask for recipes.", "recipes"),
        ("Always use metric units. My height is 180 cm by the way.", None),
        ("Keep in mind that I am vegan", None),
        ("Remember to call the dentist on Friday", None),
        ("Asla et önerme. Geçen yıl vegan oldum ve mutluyum.", None),
    ],
)
def test_what_says_more_than_an_instruction_stays_a_memory(
    text: str, condition: str | None
) -> None:
    assert instruction(text) == Instruction(False, condition)


@pytest.mark.parametrize(
    "text",
    [
        "", "I always loved the sea.", "She never called.", "What should I do?", "They asked when",
        "The house that we will always remember", "Onu asla unutmam", "Biz hep birlikte gittik",
        "Never been to Paris.", "Never heard of it, but it sounds fine.", "Always happy to help!",
        "Don't worry, it was routine.", "Don't know what to do today", "Always wanted a piano",
        "You should never have told her", "In the future I want to live in Rome",
        "Never tried it? It is a northern thing.", "My boss laughs when I mention golf.",
        "When I mention golf, my boss laughs.", "I cry whenever I say his name.",
        "hmm, if I mention the gap, how can I make sure they like me?",
        "When I ask about code, what do you say?", "From now on I live in Ankara.",
        "I live in Ankara from now on.", "Whenever I travel, I get sick.", "Asla mı dedin?",
    ],
)  # fmt: skip
def test_a_story_and_a_question_are_no_instruction(text: str) -> None:
    assert instruction(text) is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    told = instruction(text)
    assert told is None or told.condition is None or 0 < len(told.condition) <= 200


@pytest.mark.parametrize(
    "unit", ["always ", "when i ask about ", "from now on ", "i ", ". ", ", so ", "her zaman ",
             "sorduğumda ", "when i ", "i prefer ", "please "],
)  # fmt: skip
def test_a_long_text_takes_a_moment(unit: str) -> None:
    text = f"Always {unit * 100_000} when I ask about tea"
    start = time.process_time()
    instruction(text)
    assert time.process_time() - start < 3
