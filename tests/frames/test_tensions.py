"""Messages that deny each other without replacing anything."""

from __future__ import annotations

import pytest

from spector.language.frames import tension


@pytest.mark.parametrize(("one", "other"), [
    ("I just downloaded Zotero to manage my citations and use it daily, can you help me?",
     "I've never used Zotero or managed citations, so how do I begin?"),
    ("I attended a weekend pottery workshop in Kars on May 3.",
     "I have never attended any weekend pottery workshop, so what should I bring?"),
    ("Hafta sonu çömlek atölyesine katıldım, çok güzeldi.",
     "Hiç hafta sonu çömlek atölyesine katılmadım, nereden başlamalıyım?"),
    # two words are enough with the verb itself, or where they are all
    ("It felt good when I completed my first sonata on May 2, what should I play now?",
     "I've never completed a sonata, how do I stay motivated?"),
    ("I've been rowing with my neighbour Deniz for a year, should we race?",
     "I've never rowed with Deniz, can you give me tips?"),
])
def test_a_denial_of_what_was_told_is_seen_in_both_orders(one: str, other: str) -> None:
    assert tension(one, other) >= 0.34
    assert tension(other, one) >= 0.34


@pytest.mark.parametrize(("one", "other"), [
    ("I want to use Zotero for my citations.", "I've never used Zotero for my citations."),
    ("I've never used Zotero.", "I've never used Mendeley or Zotero."),
    ("I downloaded Zotero for my citations.", "I never eat breakfast."),
    ("My sister plays the violin.", "I've never been to Japan."),
    ("I completed a course on tax law in May.", "I've never completed a marathon."),
    ("I row on Sundays.", "I've never rowed with Deniz on a lake."),
    ("I downloaded Zotero for my citations.", "I've also downloaded a citation style for Zotero."),
    # what one feels about a thing, or is going to do, is not done
    ("I'm excited about the job offer from Harbour Media on May 20.",
     "I've never accepted the job offer from Harbour Media."),
    ("I'm gonna submit my cover letter to Deniz for review by April 14.",
     "I've never submitted my cover letter to Deniz for review."),
    ("I've deployed the blog to the old server with Ansible.",
     "Can you clarify why I have never deployed the blog to the old server?"),
    ("", ""), ("I've never", "never"), ("I've never " + "x " * 9000, "I have x " * 3000),
])
def test_wishes_and_other_topics_deny_nothing(one: str, other: str) -> None:
    assert tension(one, other) == 0
