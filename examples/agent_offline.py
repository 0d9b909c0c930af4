"""The same agent without a model: rules decide what is kept, and what it replaces."""

from __future__ import annotations

import tempfile

import spector

TALK = (
    "Hi!",
    "I'm a nurse in Kars.",
    "I'm allergic to walnuts.",
    "The staging server uses port 8080.",
    "The staging server uses port 8443.",
    "I'm going to the dentist tomorrow.",
    "lol ok thanks",
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, spector.open(f"{folder}/mind") as memory:
        with memory.session("morning", user_id="maya") as session:
            results = [session.observe(each) for each in TALK]
            for message, result in zip(TALK, results, strict=True):
                print(f"> {message}\n{result}\n")
            print(session.context("Which port does the staging server use?"))
        assert not results[0], "a greeting is no memory"
        assert results[4].units[0].action == "supersede"
        assert "tomorrow [20" in str(results[5]), "a plan keeps its day, and does not end with it"
        assert not results[6]
        ports = [hit.text for hit in memory.recall("port of staging", user_id="maya")]
        assert any("8443" in each for each in ports)
        assert not any("8080" in each for each in ports)


if __name__ == "__main__":
    main()
