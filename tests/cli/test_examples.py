"""Every program under examples/ runs; each ends in assertions of its own."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import spector

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_there_are_examples_and_the_readme_names_each() -> None:
    readme = (Path(__file__).parents[2] / "examples" / "README.md").read_text()
    assert len(EXAMPLES) >= 4
    for example in EXAMPLES:
        assert f"`{example.name}`" in readme


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


def test_the_agent_stores_what_was_said_and_never_what_it_quoted() -> None:
    """Three sessions: an answer that quotes a memory, stored again, would be quoted in the next."""
    loop = runpy.run_path(str(EXAMPLES[0].parent / "agent_loop.py"))
    told = ("I am allergic to walnuts.", "My sister Ayla lives in Kars.", "I sail on Sundays.")
    asked = ("Which nuts must I avoid?", "Where does Ayla live?", "When do I sail?")
    with spector.open(":memory:") as memory:
        for session, cues in (("one", told), ("two", asked), ("three", asked)):
            for cue in cues:
                reply = loop["turn"](memory, "maya", session, cue)
                assert session == "one" or reply.quoted, cue
        texts = [record.text for record in memory]
        for words in ("allergic to walnuts", "sister Ayla", "sail on Sundays"):
            assert sum(words in text for text in texts) == 1, words
        assert not [text for text in texts if '"' in text or text.startswith("- ")]
        assert len(texts) == 2 * (len(told) + 2 * len(asked))
        said = {(each.role, each.session_id) for each in memory}
        assert said == {(r, s) for r in ("user", "assistant") for s in ("one", "two", "three")}
