"""What a text says of itself: that it is a joke, wrong, or someone else's words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from spector.language.frames import english
from spector.language.frames.sentences import Statement, Word, sentences
from spector.language.statements import says_i
from spector.language.tables import table_of, word_lists
from spector.language.words import plain
from spector.process import keeps

#: words of a remark on what is said
_FEW: Final = 4
#: signs within one, and behind the last one of a sentence
_WITHIN: Final = frozenset("'’*")
_ENDS: Final = frozenset(".!?…:")
#: a line that ends in a colon
_LED: Final = re.compile(r"^[ \t>*#-]{0,16}([^\n]{1,120}?)[ \t]*:[ \t]*\n", re.MULTILINE)
_HEADS: Final = word_lists("speakers")["heads"]


def is_stated(text: str, statement: Statement, speaker: str) -> bool:
    """Whether a text stands by a statement that is read in it.

    It does not by what it takes back or denies; nor by what is said of the one who speaks on lines
    behind one that ends in a colon and is no heading of the speaker's own: whose "I" that is, is
    not known.
    """
    at = statement.object_span[0]
    if at < _taken_back(text):
        return False
    named = (statement.subject, statement.kin)
    if speaker not in named and not any(each.startswith(f"{speaker}'s ") for each in named):
        return True
    return not any(
        found.end() <= at and not (says_i(found[1]) or plain(found[1]).strip() in _HEADS)
        for found in _LED.finditer(text)
    )


@keeps(64)
def _taken_back(text: str) -> int:
    """Where a text ends to be taken back or denied: all before a remark that does so, all of it
    behind a label that does.

    A remark is a few words between signs that say that something is unreal or wrong, and no
    more: "just kidding", "scratch that"; a label has no verb: "NOT TRUE:".
    """
    out = 0
    for part in sentences(text):
        remark: list[Word] = []
        for word in (*part.words, None):
            if word is not None and (word.kind != "sign" or word.text in _WITHIN):
                remark.append(word)
                continue
            sign = "." if word is None else word.text
            if 0 < len(remark) <= _FEW and (denied := _denial(remark, is_last=sign in _ENDS)):
                if sign == ":" and denied == "label":
                    return len(text)
                out = remark[-1].end
            remark = []
    return out


def _denial(words: Sequence[Word], *, is_last: bool) -> str:
    """Whether words deny what stands beside them, as a "label" or in a "clause"; "" for neither."""
    said = [word.text for word in words]
    if english.is_unreal(said) or (
        is_last and "not" in said and english.ADVERBS.issuperset({*said} - {"not"})
    ):
        return "label"
    text = " ".join(said).replace(" n't", "n't").replace(" '", "'")
    wrong = table_of("en", "observing").patterns["correction"]
    found = [each for each in wrong if each.search(f"it is {text}")]
    if any(each.search(text) for each in found):
        return "clause"
    return "label" if found and said[0] not in english.PRONOUNS else ""
